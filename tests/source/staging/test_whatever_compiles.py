"""Whatever Python compiles is staged, function by function; where it is not, that is told."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeWarning
from bridge.source.reading import Staging, is_rewritten, reading_of
from bridge.source.staging.control import READER

TEXTS = {
    "a generator that leaves a loop": """
def program(n):
    for k in range(n):
        yield k
    for k in range(n):
        for j in range(n):
            if j == 2:
                break
        else:
            break
        if k == 1:
            continue
        yield k * j
    while True:
        n -= 1
        if n < 0:
            return
        yield -n
""",
    "a generator whose loop asks and binds": """
def program(n):
    rest = list(range(n))
    while (k := len(rest)):
        rest.pop()
        if k == 2:
            continue
    yield k
""",
    "a loop that a coroutine leaves": """
async def told(n):
    for k in range(n):
        if k == 2:
            break
    return k

def program(n):
    try:
        told(n).send(None)
    except StopIteration as answer:
        return [answer.value]
""",
    "lambdas that no run reaches": """
def program(n):
    key = lambda k: -k
    return sorted(range(n), key=key)
    return sorted(range(n), key=lambda k: k), [k for k in range(n)], (lambda: 0)
""",
    "lambdas of one line, of which one is never made": """
def program(n):
    if n > 100: raise ValueError; n = (lambda k: 1)(n)
    return [(lambda k: k + 1)(n), (lambda k: k + 2)(n)] if 1 else (lambda k: k + 3)(n)
""",
    "what is behind a jump binds names": """
def program(n):
    with open(__file__) as file:
        return [n, inner_of(n)(), file is None]
        late = n

def inner_of(n):
    for k in range(n):
        break
        later = [j for j in range(k)]
    def inner():
        nonlocal later
        later = k
        return later
    return inner
""",
    "a loop that asks for its frame where no run comes": """
def program(n):
    for k in range(n):
        if k == 1:
            break
        continue
        assert k, locals()
    return [k]
""",
    "constant tests": """
def program(n):
    assert 1, [k for k in range(n)]
    while 1:
        return [f"{n!r:>{n}}", *(k for k in range(n))]
        n = {k: k for k in range(n)}
    if 0:
        def never(k): return lambda: k
    else:
        n = 1
""",
    "a class in a loop, of which one is never made": """
def program(n):
    made = []
    for k in range(n):
        class Thing:
            def value(self): return [k for k in range(n)]
        made.append(Thing().value())
        continue
        class Thing:
            def value(self): return 0
    return made
""",
    "everything of try": """
def program(n):
    said = []
    for k in range(n):
        try:
            if k == 1:
                raise KeyError(k)
            elif k == 2:
                continue
        except (KeyError, ValueError) as error:
            said.append([type(error) for _ in range(2)])
        else:
            said.append((lambda: k)())
        finally:
            said += [(lambda k=k: k)() for k in range(1)]
    return said
""",
    "patterns": """
def program(n):
    said = []
    for one in ([1, 2, 3], {"a": 1, "b": 2}, 4, 2.5, "x", (n,)):
        match one:
            case [first, *rest] if first < 2:
                said.append((first, rest))
            case {"a": value, **others}:
                said.append([value for _ in others])
            case int(real) | float(real):
                said.append((lambda: real)())
            case str() as text:
                continue
            case _:
                break
    return said
""",
    "defaults of a lambda of a class": """
a, b = 5, 0
def program(n):
    class Thing:
        a, b = 2, 3
        value = lambda self, c=(a if b > 1 else 0), d=0 < a < b, *, e=a and b: (c, d, e)
        many = [(lambda k=k: [k if k > j else j for j in range(2)])() for k in range(n)]
    return [Thing().value(), Thing.many]
""",
    "comprehensions of comprehensions": """
def program(n):
    found = [any((k if k > 1 else {j: k for j in range(n)}) for k in range(m) if m > 1 and k) for m in range(n)]
    return [found, {k: [j for j in range(k) if j < 2 < k or {j for _ in range(2)}] for k in range(n)}]
""",
    "annotations that name variables": """
def program(n):
    kind = int
    def inner(k):
        a: kind = k
        b: list[kind]
        for j in range(2):
            c: kind = j
        return a + c
    return [inner(n), inner.__code__.co_freevars]
""",
    "a declaration in a loop": """
total = 0
def program(n):
    last = 0
    def inner():
        for k in range(n):
            global total
            nonlocal last
            if k == 2: break
        total += k
        last = (total := total + 1)
    inner()
    return [total, globals()["total"], last]
""",
    "names of other scopes": """
count = 0
def program(n):
    global count
    total = 0
    def add(k, *more, by=lambda k: k + 1, **named):
        nonlocal total
        global count
        total += by(k)
        count += 1
        return total
    found = [last := add(k, k, by=lambda k: -k if k % 2 else k) for k in range(n)]
    del last
    a = b = [c for c in found if (d := c) > -3]
    return [*a, *b, d, count]
""",
}
if sys.version_info >= (3, 12):
    TEXTS["type parameters"] = """
type Many[T] = list[T]
def program[T: int, *Ts, **P](n: T) -> Many[T]:
    def inner[S](k: S) -> S:
        type Own = S
        return [j for j in range(k) if j != 1]
    class Box[U]:
        def get[V](self, v: V) -> V:
            for _ in range(3):
                if v > 1: break
            return v
    return [*inner(n), Box[int]().get(n), f"{f"{n}" + "a"}"]
"""


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(text: str) -> ModuleType:
        (tmp_path / "what_compiles.py").write_text(text)
        sys.modules.pop("what_compiles", None)
        importlib.invalidate_caches()
        return importlib.import_module("what_compiles")

    yield load
    sys.modules.pop("what_compiles", None)


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_staged_and_means_the_same(name: str, imported: Callable[[str], ModuleType]) -> None:
    expected = list(imported(TEXTS[name]).program(4))
    program = imported(TEXTS[name]).program
    assert reading_of(program).reason == ""
    twin = READER.of(program)
    assert twin.__code__ is not reading_of(program).code
    assert is_rewritten(twin.__code__)
    assert list(twin(4)) == expected


def test_what_does_not_compile_is_told(imported: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax")
    module = imported("import numpy as np\n\n\ndef program(x):\n    return np.sum(x * x)\n")

    def broken(tree: ast.stmt) -> Any:
        return ast.copy_location(ast.Break(), tree)

    monkeypatch.setattr(Staging, "staged", staticmethod(broken))
    with pytest.warns(BridgeWarning, match=r"(?s)program at .*what_compiles\.py:4 .*'break' outside loop.*report it"):
        found = bridge.grad(module.program, engine="xla")(np.arange(3.0))
    assert found.tolist() == [0.0, 2.0, 4.0]
