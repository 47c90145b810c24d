"""Derivatives by finite differences: extrapolated, from both sides, with an error estimate.

Central and one-sided quotients at steps that shrink by four are extrapolated by Richardson's
scheme; as in Ridders' method (Advances in Engineering Software 4, 1982) the entry of the tableau
with the smallest estimated error wins, so that kinks and domain edges near the point only cost
the steps that cross them. The one-sided slopes tell a kink from a wrong gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

RATIO = 4.0
STEADY = 1.2
NOTHING = 1e-24
JUMP = 3.5

Kind = Literal["smooth", "kink", "edge", "jump", "infinite", "unknown"]


@dataclass(frozen=True, slots=True)
class Slope:
    """The derivative of a function of one real number at 0, as finite differences see it.

    `kind` says what was found: `smooth`; `kink` (one-sided slopes differ); `edge` (defined on one side only,
    both slopes are that side's); `jump` (the same, at a discontinuity); `infinite` (quotients grow without
    bound, `right` and `left` carry the sign); `unknown` (no convergence, or nothing finite).
    """

    left: float
    right: float
    central: float
    error: float
    kind: Kind

    @property
    def is_clear_kink(self) -> bool:
        """Whether the one-sided slopes differ by more than numerical doubt."""
        gap = abs(self.right - self.left)
        return self.kind == "kink" and gap > 1e-3 * max(abs(self.right), abs(self.left))

    def admits(self, got: float, tolerance: float, scale: float, floor: float = 0.0) -> bool | None:
        """Whether `got` is this derivative, or a subgradient at a kink; None where nothing can be said."""
        if self.kind == "unknown":
            return None
        if self.kind == "infinite":
            return math.isinf(got) and got in (self.left, self.right)
        if self.kind == "jump" and not math.isfinite(got):
            return True
        low, high = min(self.left, self.right), max(self.left, self.right)
        if self.kind == "smooth":
            low = high = self.central
        allowed = tolerance * max(scale, abs(low), abs(high)) + 10 * self.error + floor + NOTHING
        return low - allowed <= got <= high + allowed


def slope(change: Callable[[float], float], magnitude: float, epsilon: float = 2.0**-52) -> Slope:
    """Derivative at 0 of a function whose `change(h)` is its value at h less its value at 0.

    Parameters
    ----------
    change : may return NaN or infinity outside the function's domain.
    magnitude : size of the values whose difference `change` is, from which rounding noise follows.
    epsilon : machine epsilon of the arithmetic; sets the steps.
    """
    exponent = round(-math.log2(epsilon))
    step, levels = 2.0 ** -(exponent // 8), max(3, exponent // 4 - 1)
    floor = math.sqrt(epsilon) * magnitude
    left, right, central = _Tableau(1, floor), _Tableau(1, floor), _Tableau(2, floor)
    for level in range(levels):
        h = step * RATIO**-level
        forward, backward = change(h), -change(-h)
        if level == 0 and math.isfinite(forward) and math.isfinite(backward):
            magnitude += abs(forward) + abs(backward)
        noise = 2 * epsilon * magnitude / h
        right.add(forward / h, noise)
        left.add(backward / h, noise)
        central.add((forward + backward) / (2 * h), noise)
        exact = central.error <= 1e-9 * abs(central.value) + 4 * noise
        if level >= 2 and exact and left.converged and right.converged and _one_slope(left, right):
            break
    return _verdict(left, right, central)


def _verdict(left: _Tableau, right: _Tableau, central: _Tableau) -> Slope:
    for tableau in (left, right, central):
        tableau.settle()
    if left.converged and right.converged:
        if _one_slope(left, right) and central.converged:
            return Slope(left.value, right.value, central.value, central.error, "smooth")
        return Slope(left.value, right.value, (left.value + right.value) / 2, left.error + right.error, "kink")
    for side, other in ((right, left), (left, right)):
        if side.converged and (not other.rows or other.growth >= JUMP):
            return Slope(side.value, side.value, side.value, side.error, "jump" if other.rows else "edge")
    if any(STEADY <= side.growth < JUMP for side in (left, right)):
        return Slope(left.limit, right.limit, math.nan, math.inf, "infinite")
    return Slope(left.value, right.value, central.value, math.inf, "unknown")


def _one_slope(left: _Tableau, right: _Tableau) -> bool:
    gap = abs(right.value - left.value)
    return gap <= 10 * (left.error + right.error) + 1e-7 * max(abs(left.value), abs(right.value))


class _Tableau:
    """Richardson's extrapolation of quotients whose error is a series in h**power; keeps the best entry."""

    def __init__(self, power: int, floor: float) -> None:
        self.power, self.floor = power, floor
        self.rows: list[list[float]] = []
        self.value, self.error = math.nan, math.inf

    def add(self, quotient: float, noise: float) -> None:
        if not math.isfinite(quotient):
            self.rows.clear()
            return
        row = [quotient]
        previous = self.rows[-1] if self.rows else []
        for column, old in enumerate(previous[:5]):
            factor = RATIO ** (self.power * (column + 1))
            better = row[-1] + (row[-1] - old) / (factor - 1)
            error = max(abs(better - row[-1]), abs(better - old), noise)
            row.append(better)
            if error <= self.error:
                self.value, self.error = better, error
        self.rows.append(row)

    def settle(self) -> None:
        """Take 0 for the limit of quotients that shrink steadily but too slowly to converge (x**1.5 at 0)."""
        if not self.converged and 0 < self.growth <= 1 / STEADY:
            self.value, self.error = 0.0, abs(self.rows[-1][0])
            self.floor = self.error

    @property
    def converged(self) -> bool:
        return bool(self.rows) and self.error <= 1e-3 * abs(self.value) + self.floor

    @property
    def growth(self) -> float:
        """The factor by which the last quotients grow (or shrink) from step to step; 0 if it is not steady."""
        last = [abs(row[0]) for row in self.rows[-4:]]
        if len(last) < 4 or 0.0 in last:
            return 0.0
        ratios = [b / a for a, b in pairwise(last)]
        return ratios[-1] if max(ratios) <= 1.2 * min(ratios) else 0.0

    @property
    def limit(self) -> float:
        if STEADY <= self.growth < JUMP:
            return math.copysign(math.inf, self.rows[-1][0])
        return self.value if self.converged else math.nan
