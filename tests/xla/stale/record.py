"""Programs, and changes of what they read from outside, after each of which a compiled call has to be the plain one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import bridge

X = np.array([1.0, 2.0, 3.0])
Program = Callable[[Any], Any]
Made = tuple[Program, Sequence[Callable[[], Any]]]
Make = Callable[[], Made]


def records() -> tuple[dict[str, Make], Callable[[Make], Make]]:
    """A table of records by name, and a decorator that puts one into it."""
    table: dict[str, Make] = {}

    def record(make: Make) -> Make:
        table[make.__name__] = make
        return make

    return table, record


def values(program: Program) -> Program:
    """A compiled program, as a function that returns its values."""
    return bridge.xla(program)


def gradients(program: Program) -> Program:
    """The same by the value of a compiled gradient."""
    found = bridge.value_and_grad(lambda x, w: np.sum(program(x) * w), engine="xla", argnums=1)
    return lambda x: found(x, np.ones(3))[1]


WAYS = (values, gradients)


def check(make: Make, way: Callable[[Program], Program]) -> None:
    """Raise unless a compiled program is right after each change."""
    program, changes = make()
    run, shown = way(program), []
    for change in (lambda: None, *changes):
        change()
        expected = np.asarray(program(X.copy()))
        np.testing.assert_allclose(run(X), expected, rtol=1e-13)
        shown.append(expected.tobytes())
    assert all(a != b for a, b in pairwise(shown)), "the record shows nothing"


def programs_made(run: Any, *changes: Callable[[], Any]) -> int:
    """How many programs a compiled function makes when it is called after each change; it keeps the last alone."""
    made = []
    for change in changes:
        change()
        run(X.copy())
        made.append(next(iter(run._programs.values()))[0])
    return len(set(map(id, made)))
