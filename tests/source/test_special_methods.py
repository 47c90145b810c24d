"""Special methods and setters of a program's classes, which statements call without a name, are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import RefusedError

X = np.array([0.7, 0.2, 0.4])


class Grid:
    """Writes into scratch of its own wherever Python lets it."""

    def __init__(self) -> None:
        self.h = np.zeros(3)

    def __add__(self, other: Any) -> Any:
        return other * 2 if isinstance(other, np.ndarray) else other

    def __setitem__(self, key: Any, value: Any) -> None:
        self.h[key] = value

    def __getitem__(self, key: Any) -> Any:
        part = np.zeros(3)
        part[key] = self.h[key]
        return part

    def __bool__(self) -> bool:
        return bool(self.h[0] > 0.5)

    def __iter__(self) -> Any:
        for i in range(3):
            one = np.zeros(2)
            one[0] = self.h[i]
            yield one.sum()

    def __enter__(self) -> Any:
        self.first = np.zeros(1)
        self.first[0] = self.h[0]
        return self

    def __exit__(self, *error: Any) -> None:
        self.first = None

    def __iadd__(self, other: Any) -> Any:
        self.h[:] += other
        return self

    def __contains__(self, value: Any) -> bool:
        return bool(self.h.max() > value)

    def __lt__(self, other: Any) -> bool:
        return bool(self.h[0] < other)

    def __neg__(self) -> Any:
        negative = np.zeros(3)
        negative[:] = -self.h
        return negative

    def __len__(self) -> int:
        return 3

    def __call__(self, x: Any) -> Any:
        pair = np.zeros(2)
        pair[1] = x
        return pair.sum()

    @property
    def u(self) -> Any:
        return self._u

    @u.setter
    def u(self, value: Any) -> None:
        self._u = np.zeros(3)
        self._u[:] = value


def filled(x: Any) -> Grid:
    grid = Grid()
    grid[:] = x
    return grid


def looped(x: Any) -> Any:
    grid, total = filled(x), x[0]
    for value in grid:
        total = total + value * value
    return total + sum(value for value in grid)


def managed(x: Any) -> Any:
    with filled(x) as grid:
        return grid.first[0] * 3


def changed(x: Any) -> Any:
    grid = filled(x)
    grid += x
    grid[1] = x[0] * x[1]
    return np.sum(grid.h)


def set_by_a_property(x: Any) -> Any:
    grid = Grid()
    grid.u = x * 3
    return np.sum(grid.u**2)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: np.sum(filled(x) + x),
    "element": lambda x: np.sum(filled(x)[1] ** 2),
    "truth": lambda x: x[0] * 2 if filled(x) else x[1],
    "negated truth": lambda x: x[0] * 2 if not filled(x) else x[1],
    "loop": looped,
    "with": managed,
    "in": lambda x: x[2] if 0.3 in filled(x) else x[0],
    "comparison": lambda x: x[2] if filled(x) < 0.5 else x[0],
    "sign": lambda x: np.sum(-filled(x)),
    "length": lambda x: len(filled(x)) * x[0],
    "call": lambda x: Grid()(x[0]) * x[1],
    "in place": changed,
    "property": set_by_a_property,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_gradient(name: str) -> None:
    f = PROGRAMS[name]
    value, gradient = bridge.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_allclose(gradient, [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)], atol=1e-8)


def test_a_subclass_is_asked_first_and_what_it_does_not_do_falls_to_the_other() -> None:
    class Left:
        def __add__(self, other: Any) -> Any:
            return NotImplemented

    class Right(Left):
        def __radd__(self, other: Any) -> Any:
            scratch = np.zeros(1)
            scratch[0] = type(other) is Left
            return scratch.sum()

    assert bridge.grad(lambda x: x * (Left() + Right()))(3.0) == 1.0


def test_its_errors_name_the_class() -> None:
    class Plain:
        def __sub__(self, other: Any) -> Any:
            return other

    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'Plain' and 'int'"):
        bridge.grad(lambda x: x * (Plain() + 1))(3.0)


class Elementwise:
    """NumPy asks it for each element of an array on its left."""

    def __radd__(self, other: Any) -> Any:
        return other * 10 if isinstance(other, np.ndarray) else other


class Whole(Elementwise):
    """NumPy asks it once, with the array."""

    __array_ufunc__ = None


class Sequence(Elementwise):
    """NumPy makes an array of it before it asks it for anything."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, k: int) -> float:
        return [1.0, 2.0, 3.0][k]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x + Whole()),
        lambda x: np.sum(x + Sequence()),
        lambda x: x[0] + Elementwise(),
        lambda x: np.sum(x * range(3)),
        lambda x: np.sum(x) if isinstance(x == None, bool) else x[0],  # noqa: E711
    ],
)
def test_an_object_on_the_right_is_asked_as_numpy_asks_it(f: Callable[[Any], Any]) -> None:
    value, gradient = bridge.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_allclose(gradient, [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)], atol=1e-8)


def test_one_that_would_be_asked_for_each_element_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"(?s)np\.add .*Elementwise\.__radd__ for each.*test_special.*priority"):
        bridge.grad(lambda x: np.sum(x + Elementwise()))(X)
