"""Which variables leave a loop, and which a turn reads: those that are carried."""

from __future__ import annotations

import ast

import pytest

from bridge.source.staging.liveness import Liveness

CASES = {
    "read after": ("for i in a:\n    t = i\nprint(t)", {"t"}, set()),
    "read by the next turn": ("for i in a:\n    s = s + i", set(), {"s"}),
    "kept from before by some turns": ("for i in a:\n    if i:\n        t = i\nprint(t)", {"t"}, {"t"}),
    "kept by a loop without a turn": ("for i in a:\n    for j in i:\n        t = j\nprint(t)", {"t"}, {"t"}),
    "scratch": ("for i in a:\n    t = i\n    print(t)", set(), set()),
    "captured": ("for i in a:\n    t = i\nf = lambda: t\nprint(f)", {"t"}, {"t"}),
}


@pytest.mark.parametrize("name", CASES)
def test_liveness(name: str) -> None:
    text, after, exposed = CASES[name]
    body = ast.parse(text).body
    found = Liveness(body, {})
    bound = {"s", "t"}
    assert found.after[body[0]] & bound == after
    assert found.exposed[body[0]] & bound == exposed


def test_nests_are_walked_in_polynomial_time(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[ast.AST] = []
    statement = Liveness.statement

    def counted(self: Liveness, node: ast.AST, live: set[str]) -> set[str]:
        walked.append(node)
        return statement(self, node, live)

    monkeypatch.setattr(Liveness, "statement", counted)
    depth = 8
    text = "".join(f"{'    ' * k}for i{k} in a:\n" for k in range(depth)) + "    " * depth + "s = s + i0"
    Liveness(ast.parse(text).body, {})
    assert len(walked) < 4 * depth**2
