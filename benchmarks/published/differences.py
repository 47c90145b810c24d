"""Whether a gradient is right: against finite differences along random directions, in double precision."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.published.loss import Loss, typical
from benchmarks.published.program import Array, in_precision
from bridge.proof.numerics.finite_differences import Slope, slope

TOGETHER = 3
SIZES = (1.0, 1e-3, 1e-6)
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class Direction:
    """One direction in which arguments are moved: all of them, or the one that it is named after."""

    name: str
    moves: Mapping[str, Array]


@dataclass(frozen=True)
class Difference:
    """A derivative along a direction, by the gradient and by finite differences.

    `error` is their difference, and `doubt` what finite differences leave open, both relative to the largest of the two
    derivatives, of what the gradient lets expect of a random direction, and of a millionth of the loss. `kind` is what
    finite differences met: anything but `smooth` (a kink, a jump) leaves the derivative open.
    """

    direction: str
    gradient: float
    differences: float
    error: float
    doubt: float
    kind: str

    def leaves_doubt(self, tolerance: float) -> bool:
        """Whether more exact differences could tell more."""
        return self.kind != "smooth" or tolerance / 10 < self.error <= 10 * self.doubt

    def verdict(self, tolerance: float) -> str:
        """`right`, `wrong`, or `not proved` where finite differences cannot tell."""
        if self.error <= tolerance and self.kind == "smooth":
            return "right"
        return "wrong" if self.kind == "smooth" and not self.error <= 10 * self.doubt else "not proved"


def compare(loss: Loss, gradient: Mapping[str, Any], tolerance: float, seed: int = 1) -> Iterator[Difference]:
    """Compare a gradient, by names of arguments, along a direction for each of them and some through all of them.

    Where double precision leaves it open, as it does if the program subtracts nearly equal numbers, differences are
    taken once more in NumPy's long double.
    """
    random = np.random.default_rng(seed)
    double, extended = Point(loss, np.float64), Point(loss, np.longdouble)
    alone = [Direction(name, {name: move(double.arguments[name], random)}) for name in gradient]
    # An argument without influence, such as one that only selects bins, is moved alone: along with others it would
    # limit the steps to those in which nothing changes its bin.
    moved = [name for name in gradient if np.any(gradient[name])]
    together = [
        Direction("all", {name: move(double.arguments[name], random) for name in moved})
        for _ in range(TOGETHER if moved else 0)
    ]
    for direction in (*alone, *together):
        found = difference(double, gradient, direction)
        if found.leaves_doubt(tolerance) and np.finfo(np.longdouble).eps < np.finfo(float).eps:
            with suppress(TypeError):  # what numpy.linalg says of long doubles
                found = difference(extended, gradient, direction)
        yield found


def difference(point: Point, gradient: Mapping[str, Any], direction: Direction) -> Difference:
    """Compare a gradient along one direction."""
    terms = [np.real(np.conj(gradient[name]) * move) for name, move in direction.moves.items()]
    along = float(sum(np.sum(term) for term in terms))
    expected = math.sqrt(float(sum(np.sum(term**2) for term in terms)))
    found = point.slope(direction)
    scale = max(abs(found.central), abs(along), expected, NEGLIGIBLE * point.loss.magnitude)
    error, doubt = (abs(along - found.central) / scale, found.error / scale) if scale > 0 else (0.0, 0.0)
    return Difference(direction.name, along, found.central, error, doubt, found.kind)


class Point:
    """The program's own arguments in some precision, from where the loss is looked at along directions."""

    def __init__(self, loss: Loss, dtype: type[np.floating[Any]]) -> None:
        self.loss, self.dtype = loss, dtype
        self.arguments = {name: in_precision(value, dtype) for name, value in loss.program.arguments.items()}

    @cached_property
    def results(self) -> list[Array]:
        """The program's results at this point."""
        return self.loss.program.results_in_double(tuple(self.arguments.values()))

    def change(self, direction: Direction, h: float) -> float:
        """The loss at a distance along the direction less that at the point; NaN where the program has no value."""
        arguments = [
            value + self.dtype(h) * direction.moves[name] if name in direction.moves else value
            for name, value in self.arguments.items()
        ]
        try:
            moved = self.loss.program.results_in_double(arguments)
        except (np.linalg.LinAlgError, ZeroDivisionError):
            return math.nan
        changes = [after - before for after, before in zip(moved, self.results, strict=True)]
        return float(self.loss.weighted(changes))

    def slope(self, direction: Direction) -> Slope:
        """The slope of the loss along a direction, with shorter steps where longer ones meet kinks or jumps."""
        best: Slope | None = None
        for size in SIZES:
            found = slope(
                lambda h, size=size: self.change(direction, h * size),
                self.loss.magnitude,
                float(np.finfo(self.dtype).eps),
            )
            found = Slope(found.left / size, found.right / size, found.central / size, found.error / size, found.kind)
            if best is None or best.kind != "smooth" or (found.kind == "smooth" and found.error < best.error):
                best = found
            if best.kind == "smooth" and (best.error <= 1e-8 * abs(best.central) or best.central == 0):
                break
        assert best is not None
        return best


def move(value: Any, random: np.random.Generator) -> Array:
    """A random change of an argument, of every element in proportion to itself: what is positive stays so for a while.

    Elements that are zero move by the size of the others.
    """
    size = np.where(value == 0, typical(value), np.abs(value))
    step = size * random.standard_normal(np.shape(value))
    return np.asarray(step + 1j * size * random.standard_normal(np.shape(value)) if np.iscomplexobj(value) else step)
