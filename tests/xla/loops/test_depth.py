"""Loops inside of each other: how often bodies are run while a program is traced does not double with each of them."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

from bridge.errors import TraceError
from bridge.xla.tracing.context import TraceContext
from bridge.xla.tracing.length import Length

# Of each nest: what comes first, before each loop, the loop, the innermost body, after each loop, and the result; d is
# the number of a loop, and e of the one around it.
NESTS = {
    "bounds from outside": ("", "", "for i{d} in range(i{e}, 10):", "y[i{d}] += np.sin(x[i0])", "", "np.sum(y)"),
    "a sum per loop": (
        "z = 0.0",
        "s{d} = 0.0",
        "for i{d} in range(10):",
        "s{d} += np.sin(x[i{d}])",
        "{outer} += s{d} * x[i{d}]",
        "z",
    ),
    "an integer": (
        "c = 0",
        "",
        "for i{d} in range(10):",
        "y[c % 10] += np.sin(x[i{d}]); c = (3 * c + 1) % 7",
        "",
        "np.sum(y)",
    ),
    "memory per loop": (
        "z = np.zeros(10)",
        "s{d} = np.zeros(10)",
        "for i{d} in range(10):",
        "s{d}[i{d}] += np.sin(x[i{d}])",
        "{outer}[0] += np.sum(s{d})",
        "np.sum(z)",
    ),
    "counts": (
        "c = np.zeros(10, dtype=int)",
        "",
        "for i{d} in range(10):",
        "c[i{d}] += 1; y[i{d}] += np.sin(x[c[i0] % 10])",
        "",
        "np.sum(y)",
    ),
    "another array": (
        "u = y * 1.0",
        "",
        "for i{d} in range(10):",
        "u = u * 0.9 + 0.1 * u[::-1] * x[i0]",
        "",
        "np.sum(u)",
    ),
    "counted whiles": (
        "",
        "i{d} = 0",
        "while i{d} < 10:",
        "y[i{d}] += np.sin(x[i{d}]); i{d} += 1",
        "i{e} += 1",
        "np.sum(y)",
    ),
    "whiles": (
        "",
        "i{d} = 0",
        "while i{d} < 10 and y[i{d}] < 100:",
        "y[i{d}] += np.sin(x[i{d}]); i{d} += 1",
        "i{e} += 1",
        "np.sum(y)",
    ),
}
X, Y = np.linspace(0.1, 0.5, 10), np.linspace(0.2, 0.6, 10)


def read(name: str, lines: list[str]) -> Any:
    """The function `program` of some lines, which have a source that can be read."""
    source, file = "\n".join(lines) + "\n", f"<{name}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    names: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), names)
    return names["program"]


def nest(name: str, depth: int) -> Any:
    """A program of so many loops inside of each other, the first of which runs by itself."""
    first, before, loop, body, after, result = NESTS[name]
    lines = ["def program(x, y):", "    y = y.copy()", "    i0 = 0", f"    {first}"]
    words: dict[int, dict[str, Any]] = {
        d: {"d": d, "e": d - 1, "outer": f"s{d - 1}" if d > 1 else "z"} for d in range(1, depth + 1)
    }
    for d in range(1, depth + 1):
        lines += ["    " * d + part.format(**words[d]) for part in (before, loop)]
    lines.append("    " * (depth + 1) + body.format(**words[depth]))
    lines += ["    " * d + after.format(**words[d]) for d in range(depth, 0, -1)]
    return read(f"{name}, {depth}", [*lines, f"    return {result}"])


def returns(depth: int) -> Any:
    """A program of so many branches inside of each other in a loop, from each of which it may return."""
    lines = ["def program(x):", "    for k in range(20):"]
    for d in range(depth):
        texts = f"if x[{d}] > 0:", f"    x[{d}] *= 0.5", f"    if x[{d}] > 3:", f"        return np.sum(x) * {d}.5"
        lines += ["    " * (d + 2) + text for text in texts]
    return read(f"returns, {depth}", [*lines, "    return np.sum(x)"])


@pytest.mark.ci
@pytest.mark.parametrize("name", tuple(NESTS))
def test_tracing_does_not_double_with_depth(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operations = 0
    count = TraceContext.count

    def counted(self: Any) -> None:
        nonlocal operations
        operations += 1
        count(self)

    monkeypatch.setattr(TraceContext, "count", counted)

    def traced(depth: int) -> int:
        nonlocal operations
        operations = 0
        bridge.xla(bridge.grad(nest(name, depth))).lower(X, Y)
        return operations

    assert traced(5) < 1.95 * traced(4)


@pytest.mark.ci
@pytest.mark.parametrize("name", NESTS)
def test_loops_in_loops_are_right(name: str) -> None:
    program = nest(name, 2)
    found = bridge.grad(program, argnums=(0, 1), engine="xla")(X, Y)
    for one, other in zip(found, bridge.grad(program, argnums=(0, 1))(X, Y), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.ci
@pytest.mark.parametrize(
    "transformed",
    [pytest.param(lambda f: f, id="value"), pytest.param(bridge.grad, id="gradient", marks=pytest.mark.ci)],
)
def test_branches_in_branches_are_not_traced_twice_as_often(transformed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = lengths(monkeypatch)
    for depth in (4, 5):
        bridge.xla(transformed(returns(depth))).lower(X)
    first, second = found
    assert second.tried < 1.85 * first.tried


@pytest.mark.ci
def test_returns_from_branches_in_branches_are_right() -> None:
    for x in (X, X + 5):
        np.testing.assert_allclose(bridge.grad(returns(3), engine="xla")(x), bridge.grad(returns(3))(x), rtol=1e-12)


def lengths(monkeypatch: pytest.MonkeyPatch) -> list[Length]:
    """The counters of the programs that are traced from here on."""
    found: list[Length] = []

    class Counted(Length):
        def __init__(self) -> None:
            super().__init__()
            found.append(self)

    monkeypatch.setattr("bridge.xla.tracing.context.Length", Counted)
    return found


def bodies(depth: int) -> Any:
    """A program of so many loops of `bridge.fori_loop` inside of each other."""

    def innermost(i: Any, u: Any) -> Any:
        return u * 0.9 + 0.1 * u[::-1] * u[i]

    def around(inner: Any) -> Any:
        return lambda i, u: bridge.fori_loop(0, 5, inner, u) * 0.99

    body: Any = innermost
    for _ in range(depth - 1):
        body = around(body)
    return lambda x: np.sum(bridge.fori_loop(0, 5, body, x))


def test_bodies_in_bodies_are_traced_as_often_as_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lengths(monkeypatch)
    for depth in (4, 5):
        bridge.xla(bridge.grad(bodies(depth))).lower(X)
    first, second = found
    assert second.tried < 1.85 * first.tried


def test_bodies_in_bodies_are_right() -> None:
    np.testing.assert_allclose(bridge.grad(bodies(3), engine="xla")(X), bridge.grad(bodies(3))(X), rtol=1e-12)


def test_tracing_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.xla.tracing.length.MOST_TRIED", 20)
    with pytest.raises(
        TraceError, match=r"more than 20 operations in loops and branches(.|\n)*test_depth.py"
    ) as raised:
        bridge.xla(bodies(2))(X)
    assert 'engine="native"' in str(raised.value)
