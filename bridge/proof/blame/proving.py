"""The proof of one entry: what it does to the shadows is the transpose of what it does to tangents.

Let `u` be a tangent of the memory before an entry and `T u` the tangent of the memory after it. Then the shadows before
and after its pull fulfil  <shadow before the pull, T u> = <shadow after the pull, u>  for every `u`. The left side is
taken with differences of the entry's own function and NumPy's indexing, the right side is what the engine did. So a
wrong pull, a lost index and a cotangent that went to the wrong place are all seen, each at its entry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bridge.proof.blame.observing import Step
from bridge.proof.blame.references import (
    NoReference,
    Tangents,
    blank,
    laid,
    moved_outputs,
    random_tangent,
    reach,
    read,
    write,
)
from bridge.proof.numerics.arrays import inner, wide
from bridge.proof.numerics.finite_differences import Slope, slope
from bridge.proof.numerics.tolerances import precision, tolerance_of
from bridge.rewind.log import Entry
from bridge.rewind.memory import grounded
from bridge.rewind.places import places_in
from bridge.rewind.roots import Root

DIRECTIONS = 2

Shadows = dict[Root, Any]


@dataclass
class Visited:
    """An entry that a walk has just passed: memory is as before it ran, shadows are as after its pull.

    `roots` are those that it reaches, `woken` those that it was the first to give a value that carries a gradient,
    `before` the shadows before its pull.
    """

    number: int
    entry: Entry
    step: Step | None
    roots: list[Root]
    woken: list[Root]
    before: Shadows


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
    operands: tuple[int, ...] = ()
    """Of an entry that disagrees, the operands whose cotangents do so by themselves."""


def prove(visited: Visited, rng: np.random.Generator) -> list[Proof]:
    """One proof, of the direction that says most; none where the entry has no reference."""
    after = {root: None if root.shadow is None else np.array(grounded(root.shadow)) for root in visited.roots}
    made = []
    for _ in range(DIRECTIONS):
        try:
            proof = _proof(visited, _Sides(visited, after, rng))
        except (NoReference, ArithmeticError, ValueError, TypeError, IndexError):
            # The entry's own function cannot be run at moved operands.
            return []
        if proof.agrees is not False:
            return [proof]
        made.append(proof)
    worst = max(made, key=lambda proof: proof.largest)
    worst.operands = tuple(_wrong_operands(visited, after, rng))
    return [worst]


def _wrong_operands(visited: Visited, after: Shadows, rng: np.random.Generator) -> Iterator[int]:
    """The positions of the operands along which alone the identity does not hold."""
    call = visited.entry.call
    for position, place in enumerate(() if call is None else call.inputs):
        moving = [one for one in (place if isinstance(place, (list, tuple)) else (place,)) if one is not None]
        if moving and _proof(visited, _Sides(visited, after, rng, moving)).agrees is False:
            yield position


class _Sides:
    """Both sides of the identity along a random tangent of the memory before the entry, or of what lies at `moving`."""

    def __init__(
        self, visited: Visited, after: Shadows, rng: np.random.Generator, moving: Sequence[Any] | None = None
    ) -> None:
        entry, roots = visited.entry, visited.roots
        self.before, self.after = visited.before, after
        self.outs, self.how = list(places_in(entry.out)), reach(entry)
        born = {place.root for place in self.outs} if self.how == "born" else set()
        still = set(visited.woken) | born
        fixed = still if moving is None else set(roots)
        self.tangents: Tangents = {root: blank(root) if root in fixed else random_tangent(root, rng) for root in roots}
        for place in () if moving is None else moving:
            if place.root not in still:
                write(place, self.tangents[place.root], read(place, random_tangent(place.root, rng)))
        self.old = [root for root in roots if root not in born]
        self.moved = moved_outputs(entry, visited.step, self.tangents)
        self.center = self.moved(0.0)
        self.positions = _positions(entry, self.center)

    def change(self, h: float) -> float:
        """<shadow before the pull, what the entry adds to the tangent after it>, for a step `h`."""
        with np.errstate(all="ignore"):
            outputs = self.moved(h)
            after = {root: blank(root) for root in {place.root for place in self.outs}}
            for place, k in self.positions:
                array = after[place.root]
                value = np.asarray(outputs[k]) - np.asarray(self.center[k])
                if place.dtype.kind != "c":
                    value = np.real(value)
                if self.how == "added":
                    np.add.at(read(place.parent, array), place.key, value)
                else:
                    write(place, array, value)
            return sum(_product(self.before[root], array) for root, array in after.items())

    def carried(self) -> float:
        """<shadow before the pull, what of the tangent stays where it is>."""
        total = 0.0
        for root in self.old:
            if self.before[root] is None:
                continue
            array = laid(root, self.tangents[root])
            if self.how == "written":
                for place in self.outs:
                    if place.root is root:
                        write(place, array, 0)
            total += _product(self.before[root], array)
        return total

    def pulled(self) -> float:
        """<shadow after the pull, tangent>."""
        return sum(_product(self.after[root], self.tangents[root]) for root in self.old)

    def size(self) -> float:
        """The size of the terms that `pulled` adds, and of the cotangents that the pull multiplied."""
        terms = sum(_product(_magnitude(self.after[root]), np.abs(self.tangents[root])) for root in self.old)
        # A derivative far below its cotangent (a saturated tanh) is rounded where the two were multiplied.
        shadows = [read(p, self.before[p.root]) for p in self.outs if self.before[p.root] is not None]
        return terms + sum(_product(_magnitude(shadow), 1.0) for shadow in shadows)


def _proof(visited: Visited, sides: _Sides) -> Proof:
    carried, before = sides.carried(), visited.before
    magnitude = sum(_weight(before[place.root], sides.center[k]) for place, k in sides.positions)
    steepness = slope(sides.change, magnitude, precision(*(np.asarray(x).dtype for x in sides.center)))
    got, expected = sides.pulled() - carried, steepness.central
    dtypes = [root.dtype for root in visited.roots if root.dtype.kind in "fc"]
    size = sides.size() + abs(carried)
    floor = (64 * precision(*dtypes) if dtypes else 0.0) * (size if math.isfinite(size) else 0.0)
    agrees: bool | None = None
    if math.isfinite(got):
        agrees = steepness.admits(got, tolerance_of(*dtypes).entry, abs(got), floor)
    elif steepness.kind == "smooth" and all(shadow is None or np.isfinite(shadow).all() for shadow in before.values()):
        # The differences converge, and the pull makes what is not finite out of what is.
        agrees = False
    gap = abs(got - expected)
    largest = gap / max(abs(got), abs(expected), 1e-300) if math.isfinite(gap) else math.inf
    nothing = abs(got) <= floor and math.isfinite(expected) and abs(expected) > floor
    return Proof(visited.number, visited.entry, got, expected, largest, steepness, agrees, nothing)


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
