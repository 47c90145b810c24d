"""Objects of the program's classes stay themselves where they are compared, looked for, stored and passed on."""

from __future__ import annotations

import collections
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

import bridge

X = np.array([0.7, -1.3, 2.1, 0.4])


class Vec:
    """Has operators, and is compared by identity."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __add__(self, other: Vec) -> Vec:
        return Vec(self.x + other.x)


class Point:
    """Is compared by a number that carries no gradient, and is a key."""

    def __init__(self, x: Any, number: int) -> None:
        self.x, self.number = x, number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)

    def __lt__(self, other: Point) -> bool:
        return self.number < other.number

    def __add__(self, other: Any) -> Any:
        return self.x + (other.x if isinstance(other, Point) else other)

    __radd__ = __add__


class Path:
    """Gives out its parts."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)


class Table:
    """Special methods that are not bound to the object."""

    @staticmethod
    def __getitem__(key: Any) -> Any:
        return 3.0 * key

    @staticmethod
    def __add__(other: Any) -> Any:
        return 2.0 * other

    @classmethod
    def __contains__(cls, key: Any) -> bool:
        return cls is Table and key == 1.0

    @staticmethod
    def __lt__(other: Any) -> bool:
        return bool(other == 2.0)


class Keeper:
    """Keeps what its operators and its container methods are given."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def __mul__(self, other: Any) -> Keeper:
        self.kept.append(other)
        return self

    __rmul__ = __eq__ = __matmul__ = __or__ = __gt__ = __mul__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, other: Any) -> bool:
        self.kept.append(other)
        return True


class Ring:
    """Holds by elements alone."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def __getitem__(self, k: int) -> Any:
        return self.parts[k]

    def __len__(self) -> int:
        return len(self.parts)


def identity(x: Any) -> Any:
    a, b, s = Vec(x[0]), Vec(x[1]), x[2]
    for v in Path([a, b]):
        if v not in [a]:
            s = s + v.x**2
    return s + 5 * (a + b).x


def in_a_tuple(x: Any) -> Any:
    a, b = Vec(x[0]), Vec(x[1])
    return (a + b).x * (2.0 if a in (b, a) else 3.0) * (5.0 if b in (a,) else 7.0)


def in_a_variable(x: Any) -> Any:
    a, b, held = Vec(x[0]), Vec(x[1]), collections.deque()
    held.append(a)
    return (a + b).x * (2.0 if a in held and b not in held else 3.0)


def chained(x: Any) -> Any:
    a, b = Vec(x[0]), Vec(x[1])
    return (a + b).x * (2.0 if a is a in [a] else 3.0) * (5.0 if a is not b is b else 7.0)


def chained_order(x: Any) -> Any:
    a, b, c = (Point(x[k], k) for k in range(3))
    return (a + b) * (2.0 if a < b < c else 3.0) * (5.0 if a < b is b else 7.0) * (11.0 if a < c in {c: 1} else 13.0)


def keys(x: Any) -> Any:
    a, b = Point(x[0], 0), Point(x[1], 1)
    weights = {a: 2.0, b: 3.0}
    total = (a + b) * (weights[a] * 1.0 if a in weights else 0.0) + (7.0 if Point(x[2], 1) in {a, b} else 0.0) * x[1]
    return total + (x[2] if Point(x[0], 5) in weights else 0.0) + weights.get(Point(x[3], 1), 0.0)


def list_methods(x: Any) -> Any:
    points = [Point(x[k], k) for k in range(4)]
    found = points.index(Point(x[0], 2)) + points.count(Point(x[0], 1))
    points.remove(Point(x[0], 0))
    return sum(point.x for point in points) * found + points[0] + points[1]


def equal(x: Any) -> Any:
    a, b, c = Point(x[0], 0), Point(x[1], 1), Point(x[2], 0)
    return (a + b) * (2.0 if a == c else 3.0) * (5.0 if a != c else 7.0) * (11.0 if b == 1 else 13.0)


def equal_lists(x: Any) -> Any:
    a, b, c = Point(x[0], 0), Point(x[1], 1), Point(x[2], 0)
    return (a + b) * (2.0 if [a, b] == [c, b] else 3.0) * (5.0 if (a,) == (b,) else 7.0)


def by_identity(x: Any) -> Any:
    a, b = Vec(x[0]), Vec(x[1])
    return (a + b).x * (2.0 if a == a else 3.0) * (5.0 if a == b else 7.0) * (11.0 if a != b else 13.0)


def sorted_points(x: Any) -> Any:
    points = [Point(x[k], 3 - k) for k in range(4)]
    first, second, *_ = sorted(points)
    return (first + second) * x[0] + max(points).x + min(points, key=lambda point: point.number).x


def static(x: Any) -> Any:
    table = Table()
    return table[x[0]] + (table + x[1]) + (x[2] if 1.0 in table else 0.0) + (x[3] if table < 2.0 else 0.0)


def kept_by_an_operator(x: Any) -> Any:
    keeper, a = Keeper(), Vec(x[0])
    keeper * a
    a * keeper
    keeper @ a
    _ = keeper == a
    keeper | a
    _ = keeper > a
    found = a in keeper
    same = [one is a for one in keeper.kept]
    return (a + a).x * sum(same) + (x[1] if found and all(type(one) is Vec for one in keeper.kept) else 0.0)


def kept_by_a_library(x: Any) -> Any:
    a = Vec(x[0])
    kept = collections.UserList([]) + collections.UserList([a])
    kept += [a]
    other = collections.UserDict({1: a}) | {2: a}
    return (kept[0] + other[2]).x * sum(one is a for one in (*kept, *other.values()))


def through_an_array_of_objects(x: Any) -> Any:
    a = Point(x[0], 0)
    objects = np.array([None, None], object)
    objects[0], objects[1] = a, Point(x[1], 1)
    return (objects[0] + a) * (2.0 if objects[0] is a else 3.0) * (5.0 if a in list(objects) else 7.0)


def sequence(x: Any) -> Any:
    a, b = Vec(x[0]), Vec(x[1])
    ring = Ring([a, b])
    total = sum(v.x for v in ring if v is a) + sum(v.x for v in reversed(ring) if v in [b])
    return total * (2.0 if a in ring else 3.0) + (5.0 * x[2] if Vec(x[0]) in ring else 0.0) + len(ring) * (a + b).x


def augmented(x: Any) -> Any:
    a, held = Vec(x[0]), [Vec(x[1])]
    held += [a]
    point = Point(x[2], 0)
    point += a.x
    return (held[-1] + a).x * (2.0 if held[-1] is a else 3.0) * point


def returned_by_an_operator(x: Any) -> Any:
    class Same:
        def __add__(self, other: Any) -> Any:
            return self

        def __rsub__(self, other: Any) -> Any:
            return other

        def __neg__(self) -> Any:
            return self

        def __iadd__(self, other: Any) -> Any:
            return self

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> Any:
            raise StopIteration

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: Any) -> None:
            return None

    same, vec = Same(), Vec(x[0])
    total = x[1] * ((same + 1) is same) + x[2] * ((-same) is same) + x[3] * (iter(same) is same)
    with same as entered:
        total = total + x[0] * (entered is same)
    other = same
    other += 1
    return total + x[0] * (other is same) * 2.0 + x[1] * ((vec - same) is vec)


def in_sets(x: Any) -> Any:
    a, b = Vec(x[0]), Vec(x[1])
    weak, seen, counts = weakref.WeakSet([a]), {a}, collections.Counter([a, a])
    seen |= {a, b}
    return (a + b).x * len(seen) * counts[a] * (2.0 if a in weak else 3.0) * (5.0 if b in counts else 7.0)


def remembered(x: Any) -> Any:
    known: dict[Any, Any] = {}

    def square(v: Vec) -> Any:
        if v not in known:
            known[v] = v.x**2
        return known[v]

    a = Vec(x[0])
    return square(a) + 2.0 * square(a) + (a + a).x * len(known)


def equal_by_a_local_class(x: Any) -> Any:
    class Numbered(Vec):
        number = 1

        def __eq__(self, other: object) -> bool:
            return type(other) is Numbered and other.number == self.number

        __hash__ = None  # type: ignore[assignment]

    a, b = Numbered(x[0]), Numbered(x[1])
    return (a + b).x * (2.0 if a in [b] else 3.0) * ([b].index(a) + 5) * (7.0 if (b,).count(a) else 1.0)


def not_supported(x: Any) -> Any:
    a, texts = Vec(x[0]), []
    for operate in (lambda: a - a, lambda: a < a, lambda: a + 1.0, lambda: 1.0 @ a):
        try:
            operate()
        except (TypeError, AttributeError) as error:
            texts.append(str(error))
    try:
        a -= a
    except TypeError as error:
        texts.append(str(error))
    return x[0] * sum(len(text) for text in texts) + x[1] * len(texts)


PROGRAMS = [
    in_sets, remembered, equal_by_a_local_class, not_supported,
    identity, in_a_tuple, in_a_variable, chained, chained_order, keys, list_methods, equal, equal_lists, by_identity,
    sorted_points, static, kept_by_an_operator, kept_by_a_library, through_an_array_of_objects, sequence, augmented,
    returned_by_an_operator,
]  # fmt: skip


class Decay:
    """Is called by a solver, with attributes that others look at."""

    rate = 2.0
    terminal = True
    direction = -1

    def __call__(self, *args: Any) -> Any:
        return args[-1][0] - 0.5 if len(args) > 1 else -self.rate * args[0]


def slope(y: Any, t: Any, decay: Any) -> Any:
    return decay(y) * (2.0 if type(decay) is Decay else 1.0) * decay.rate


DECAY = Decay()
EXACT = {"rtol": 1e-9, "atol": 1e-9}
TIMES = np.linspace(0.0, 1.0, 3)


def residual(v: Any, x: Any, decay: Any, **named: Any) -> Any:
    assert all(one is DECAY for one in (decay, *named.values()))
    return v * decay.rate - x


SOLVERS: dict[str, Callable[[Any], Any]] = {
    "odeint": lambda x: integrate.odeint(slope, x[0], TIMES, args=(DECAY,), **EXACT)[-1, 0],
    "odeint by position": lambda x: integrate.odeint(slope, x[0], TIMES, (DECAY,), **EXACT)[-1, 0],
    "an event": lambda x: integrate.solve_ivp(lambda t, y: -y, (0, 5), [x[0]], events=DECAY, **EXACT).t[-1],
    "events": lambda x: integrate.solve_ivp(lambda t, y: -y, (0, 5), [x[0]], events=[DECAY], **EXACT).t[-1],
    "brentq": lambda x: optimize.brentq(residual, -9.0, 9.0, (x[0], DECAY)),
    "newton": lambda x: optimize.newton(residual, 1.0, None, (x[0], DECAY)),
    "fsolve": lambda x: optimize.fsolve(residual, 1.0, (x[0], DECAY))[0],
    "quad": lambda x: integrate.quad(residual, 0.0, 1.0, (x[0], DECAY))[0],
    "least_squares": lambda x: optimize.least_squares(residual, X, args=(x, DECAY), kwargs={"more": DECAY}).x @ x,
    "root": lambda x: optimize.root(residual, np.zeros(4), args=(x, DECAY)).x @ x,
}


def differences(f: Callable[[Any], Any]) -> list[Any]:
    return [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(4)]


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_value_and_gradient(program: Callable[[Any], Any], engine: Any) -> None:
    if engine == "xla":
        pytest.importorskip("jax")
    value, gradient = bridge.value_and_grad(program, engine=engine)(X)
    np.testing.assert_allclose(value, program(X), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(program), atol=1e-7)


@pytest.mark.parametrize("program", SOLVERS.values(), ids=SOLVERS)
def test_what_a_solver_passes_on_is_the_programs_object(program: Callable[[Any], Any]) -> None:
    value, gradient = bridge.value_and_grad(program)(X)
    np.testing.assert_allclose(value, program(X), rtol=1e-6)
    np.testing.assert_allclose(gradient, differences(program), rtol=1e-4, atol=1e-6)
