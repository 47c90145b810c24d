"""Whether a gradient is right: against finite differences along random directions, in double precision or more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.published.loss import Loss, typical
from benchmarks.published.program import Array, in_precision, is_inexact
from bridge.proof.numerics.finite_differences import Slope, slope

TOGETHER = 3
SIZES = (1.0, 1e-3, 1e-6, 1e-9)
NEGLIGIBLE = 1e-6
ROUNDED = 4
ROUNDING_AT_MOST = 1e-3

Gradient = Mapping[str, Any]


@dataclass(frozen=True)
class Direction:
    """One direction in which arguments are moved: all of them, or the one that it is named after."""

    name: str
    moves: Mapping[str, Array]

    def terms(self, gradient: Gradient) -> list[Array]:
        """The products of a gradient and the direction, of which the derivative is the sum."""
        return [np.real(np.conj(gradient[name]) * move) for name, move in self.moves.items()]

    def along(self, gradient: Gradient) -> float:
        """The derivative along the direction by a gradient."""
        return float(sum(np.sum(term) for term in self.terms(gradient)))


@dataclass(frozen=True)
class Difference:
    """A derivative along a direction, by the gradient and by finite differences.

    `error` is their difference, and `doubt` what finite differences leave open, both relative to `scale`: the largest
    of the two derivatives, of what the gradient lets expect of a random direction, and of a millionth of the loss.
    `kind` is what finite differences met: anything but `smooth` (a kink, a jump) leaves the derivative open. `rounding`
    is how far the gradient itself moves when the arguments are rounded differently, where that was asked.
    """

    direction: str
    gradient: float
    differences: float
    scale: float
    error: float
    doubt: float
    kind: str
    rounding: float = 0.0

    def leaves_doubt(self, tolerance: float) -> bool:
        """Whether more exact differences could tell more."""
        return self.kind != "smooth" or not self.error <= tolerance / 10

    def verdict(self, tolerance: float) -> str:
        """`right`, `wrong`, or `not proved` where finite differences cannot tell."""
        if self.error <= max(tolerance, self.rounding) and self.kind == "smooth":
            return "right"
        return "wrong" if self.kind == "smooth" and not self.error <= 10 * self.doubt else "not proved"


def compare(
    loss: Loss, differentiate: Callable[..., Gradient], gradient: Gradient, tolerance: float, seed: int = 1
) -> Iterator[Difference]:
    """Compare a gradient, by names of arguments, along a direction for each of them and some through all of them.

    Where double precision leaves doubt, as it does if the program subtracts nearly equal numbers or is chaotic,
    differences are taken once more in NumPy's long double. Where they still differ, the gradient is asked for again
    (`differentiate` takes the arguments by position), at arguments that are rounded differently.
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
        if found.verdict(tolerance) != "right":
            others = [differentiate(*rounded(loss.program.arguments, random)) for _ in range(ROUNDED)]
            spread = max(abs(direction.along(other) - found.gradient) for other in others)
            found = replace(found, rounding=min(spread / found.scale, ROUNDING_AT_MOST))
        yield found


def difference(point: Point, gradient: Gradient, direction: Direction) -> Difference:
    """Compare a gradient along one direction."""
    along = direction.along(gradient)
    expected = math.sqrt(float(sum(np.sum(term**2) for term in direction.terms(gradient))))
    # Where the gradient says that nothing changes, the shortest steps come first: longer ones may meet jumps.
    found = point.slope(direction, SIZES if expected > 0 else SIZES[::-1])
    scale = max(abs(found.central), abs(along), expected, NEGLIGIBLE * point.loss.magnitude)
    scale = scale or 1.0
    error, doubt = abs(along - found.central) / scale, found.error / scale
    return Difference(direction.name, along, found.central, scale, error, doubt, found.kind)


def rounded(arguments: Mapping[str, Any], random: np.random.Generator) -> list[Any]:
    """The arguments with every float moved to one of its neighbours."""

    def neighbour(value: Any) -> Any:
        if not is_inexact(value):
            return value
        if np.iscomplexobj(value):
            return neighbour(np.real(value)) + 1j * neighbour(np.imag(value))
        found = np.nextafter(value, random.choice([-np.inf, np.inf], np.shape(value)).astype(np.asarray(value).dtype))
        return found if isinstance(value, (np.ndarray, np.generic)) else float(found)

    return [neighbour(value) for value in arguments.values()]


class Point:
    """The program's own arguments in some precision, from where the loss is looked at along directions."""

    def __init__(self, loss: Loss, dtype: type[np.floating[Any]]) -> None:
        self.loss, self.dtype = loss, dtype
        self.arguments = {name: in_precision(value, dtype) for name, value in loss.program.arguments.items()}

    @cached_property
    def results(self) -> list[Array]:
        """The program's results at this point."""
        return self.loss.program.results(tuple(self.arguments.values()), self.dtype)

    def change(self, direction: Direction, h: float) -> float:
        """The loss at a distance along the direction less that at the point; NaN where the program has no value."""
        arguments = [
            value + self.dtype(h) * direction.moves[name] if name in direction.moves else value
            for name, value in self.arguments.items()
        ]
        try:
            moved = self.loss.program.results(arguments, self.dtype)
        except (np.linalg.LinAlgError, ZeroDivisionError):
            return math.nan
        return self.loss.changed(self.results, moved)

    def slope(self, direction: Direction, sizes: Sequence[float]) -> Slope:
        """The slope of the loss along a direction, with steps of other sizes where the first ones leave doubt."""
        best: Slope | None = None
        for size in sizes:
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
