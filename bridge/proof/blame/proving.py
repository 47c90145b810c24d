"""The proof of one entry: what it does to the shadows is the transpose of what it does to tangents.

Let `u` be a tangent of the memory before an entry and `T u` the tangent of the memory after it. Then the shadows before
and after its pull fulfil  <shadow before the pull, T u> = <shadow after the pull, u>  for every `u`. The left side is
taken with differences of the entry's own function and NumPy's indexing, the right side is what the engine did. So a
wrong pull, a lost index and a cotangent that went to the wrong place are all seen, each at its entry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bridge.proof.blame.observing import Step
from bridge.proof.blame.references import NoReference, Tangents, moved_outputs, reach
from bridge.proof.blame.regions import blank, laid, random_tangent, read, write
from bridge.proof.numerics.arrays import inner, wide
from bridge.proof.numerics.finite_differences import Slope, precision, slope
from bridge.rewind.log import Entry
from bridge.rewind.memory import grounded
from bridge.rewind.places import Root, places_in

DIRECTIONS = 2
TOLERANCES = {"e": 3e-2, "f": 2e-3, "F": 2e-3}


@dataclass
class Proof:
    """What was found at one entry: the pull's figure against the reference's, along one direction."""

    number: int
    entry: Entry
    got: float
    expected: float
    largest: float
    slope: Slope
    agrees: bool | None
    where_zero: bool = False
    """Whether the pull gave zeros (or nothing) where the reference is not zero."""


def prove(
    number: int, entry: Entry, step: Step | None, roots: list[Root], woken: list[Root], before: dict[Root, Any],
    rng: np.random.Generator,
) -> list[Proof]:  # fmt: skip
    """One proof, of the direction that says most; none where the entry has no reference."""
    after = {root: None if root.shadow is None else np.array(grounded(root.shadow)) for root in roots}
    made = []
    for _ in range(DIRECTIONS):
        try:
            proof = _proof(number, entry, step, roots, woken, before, after, rng)
        except (NoReference, ArithmeticError, ValueError, TypeError, IndexError):
            return []
        if proof.agrees is not False:
            return [proof]
        made.append(proof)
    return [max(made, key=lambda proof: proof.largest)]


def _proof(
    number: int, entry: Entry, step: Step | None, roots: list[Root], woken: list[Root], before: dict[Root, Any],
    after: dict[Root, Any], rng: np.random.Generator,
) -> Proof:  # fmt: skip
    outs = list(places_in(entry.out))
    how = reach(entry)
    born = {place.root for place in outs} if how == "born" else set()
    still = set(woken) | born
    tangents: Tangents = {root: blank(root) if root in still else random_tangent(root, rng) for root in roots}
    moved = moved_outputs(entry, step, tangents)
    center = moved(0.0)
    positions = _positions(entry, center)

    def change(h: float) -> float:
        with np.errstate(all="ignore"):
            outputs = moved(h)
            total = 0.0
            after_it = {root: blank(root) for root in {place.root for place in outs}}
            for place, k in positions:
                array = after_it[place.root]
                value = np.asarray(outputs[k]) - np.asarray(center[k])
                if place.dtype.kind != "c":
                    value = np.real(value)
                if how == "added":
                    np.add.at(read(place.parent, array), place.key, value)
                else:
                    write(place, array, value)
            for root, array in after_it.items():
                total += _product(before[root], array)
        return total

    carried = 0.0
    for root in roots:
        if root in born or before[root] is None:
            continue
        array = laid(root, tangents[root])
        if how == "written":
            for place in outs:
                if place.root is root:
                    write(place, array, 0)
        carried += _product(before[root], array)
    pulled = sum(
        _product(after[root], tangents[root]) for root in roots if after[root] is not None and root not in born
    )
    size = sum(_product(_magnitude(after[root]), np.abs(tangents[root])) for root in roots if root not in born)
    # A derivative far below its cotangent (a saturated tanh) is rounded where the two were multiplied.
    size += abs(carried) + sum(
        _product(_magnitude(read(p, before[p.root])), 1.0) for p in outs if before[p.root] is not None
    )
    magnitude = sum(_weight(before[p.root], center[k]) for p, k in positions)
    epsilon = precision(*(np.asarray(x).dtype for x in center))
    steepness = slope(change, magnitude, epsilon)
    got = pulled - carried
    coarse = max((root.dtype for root in roots if root.dtype.kind in "fc"), key=lambda d: np.finfo(d).eps, default=None)
    tolerance = 1e-6 if coarse is None else TOLERANCES.get(coarse.char, 1e-6)
    floor = (0.0 if coarse is None else 64 * float(np.finfo(coarse).eps)) * (size if math.isfinite(size) else 0.0)
    came_finite = all(shadow is None or np.isfinite(shadow).all() for shadow in before.values())
    agrees: bool | None = None
    if math.isfinite(got):
        agrees = steepness.admits(got, tolerance, abs(got), floor)
    elif came_finite and steepness.kind == "smooth":
        # The differences converge, and the pull makes what is not finite out of what is.
        agrees = False
    expected = steepness.central
    largest = abs(got - expected) / max(abs(got), abs(expected), 1e-300) if math.isfinite(got - expected) else math.inf
    nothing = abs(got) <= floor and math.isfinite(expected) and abs(expected) > floor
    return Proof(number, entry, got, expected, largest, steepness, agrees, nothing)


def _positions(entry: Entry, center: list[Any]) -> list[tuple[Any, int]]:
    """Output places with the position of their value among the outputs."""
    out = entry.out if isinstance(entry.out, (tuple, list)) else (entry.out,)
    if len(out) != len(center):
        raise NoReference
    return [(place, k) for k, place in enumerate(out) if place is not None and place.dtype.kind in "fc"]


def _product(shadow: Any, tangent: Any) -> float:
    return 0.0 if shadow is None else inner([np.asarray(shadow, wide(shadow))], [np.asarray(tangent)])


def _magnitude(shadow: Any) -> Any:
    return None if shadow is None else np.abs(shadow)


def _weight(shadow: Any, value: Any) -> float:
    if shadow is None:
        return 0.0
    values = np.abs(np.asarray(value))
    largest = float(np.max(values, initial=0.0, where=np.isfinite(values)))
    finite = np.abs(shadow)
    return float(np.sum(finite, where=np.isfinite(finite))) * largest / max(1, np.size(shadow)) * max(1, values.size)
