"""Julia functions inside NumPy programs: one entry of the log, whose pull is the pullback kept from the forward run.

The operations here are closed under differentiation: derivatives of the function along any number of directions, and
gradients of their products with cotangents. Both are multilinear over the real numbers, also where numbers are complex
(the product is the real part of `conj(ct) * t`), and the order of the directions does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from bridge.arrays.operands import context_of, unwrapped
from bridge.engines.protocol import EngineRule
from bridge.julia.calls import Kept, entries, run
from bridge.julia.choosing import Prepared, chosen
from bridge.julia.convert import reversed_axes
from bridge.julia.plans import Flattened, filled, plan, run_plan
from bridge.rewind import interpreter
from bridge.rewind.memory import grounded

Directions = Sequence[Sequence[Any]]
"""Tangents of the wanted leaves, or None, for each direction along which a derivative is taken."""


class Run:
    """One run of a Julia function on leaves, and the pullback that it left."""

    def __init__(self, function: Prepared, flat: Flattened, written: tuple[int, ...] = ()) -> None:
        self.function = function
        self.flat = flat
        able = set(flat.differentiable())
        self.wanted = tuple(k for k in sorted(able) if hasattr(flat.leaves[k], "place"))
        self.plan = plan(function, _ground(flat), self.wanted, written)
        self.pullback: Kept | None = None
        self.layout: Any = 0
        self.outputs: tuple[Any, ...] = ()

    def forward(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Run the function; returns the leaves of its value."""
        key, outputs, self.layout = self._entry(entries().pullback, leaves, 1)
        self.pullback = Kept(key)
        self.outputs = tuple(outputs)
        return self.outputs

    def pull(self, cts: Sequence[Any]) -> tuple[Any, ...]:
        """Cotangents of the wanted leaves; memory is as it was when the function ran."""
        assert self.pullback is not None
        given = tuple(self._sent(ct) for ct in cts)
        pulled = self.pullback.key
        found = chosen(self.function, self.plan, lambda: run(entries().pull, pulled, given, self.function.name))
        return self._back(found)

    def push(self, leaves: Sequence[Any], directions: Directions) -> tuple[Any, ...]:
        """Derivatives of the outputs, once along each direction."""
        assert self.pullback is not None
        return self._back(self._entry(entries().jvp, leaves, self._placed(leaves, directions), self.pullback.key)[1])

    def pull_along(self, leaves: Sequence[Any], directions: Directions, cts: Sequence[Any]) -> tuple[Any, ...]:
        """The derivative of `pull(cts)`, once along each direction."""
        assert self.pullback is not None
        sent = tuple(self._sent(ct) for ct in cts)
        placed = self._placed(leaves, directions)
        return self._back(self._entry(entries().pull_along, leaves, placed, self.pullback.key, sent, 0))

    def _entry(self, entry: Any, leaves: Sequence[Any], *more: Any) -> Any:
        found = run_plan(self.function, entry, self.plan, leaves, *more)
        if self.function.order == "reversed" and entry is entries().pullback:
            return found[0], reversed_axes(found[1]), found[2]
        return found

    def _placed(self, leaves: Sequence[Any], directions: Directions) -> tuple[tuple[Any, ...], ...]:
        """Directions with a tangent, or None, for each leaf."""
        by_leaf = (dict(zip(self.wanted, direction, strict=True)) for direction in directions)
        return tuple(tuple(self._sent(found.get(k)) for k in range(len(leaves))) for found in by_leaf)

    def _sent(self, ct: Any) -> Any:
        if ct is None:
            return None
        plain = np.asarray(grounded(ct))
        return np.array(plain.T if self.function.order == "reversed" else plain, order="F")

    def _back(self, found: Any) -> tuple[Any, ...]:
        return tuple(reversed_axes(tuple(found)) if self.function.order == "reversed" else found)


def _ground(flat: Flattened) -> Flattened:
    made = Flattened((), {})
    made.leaves = [grounded(leaf) for leaf in flat.leaves]
    made.positional, made.keywords = flat.positional, flat.keywords
    made.named, made.positions = flat.named, flat.positions
    return made


Part = Sequence[Any]
"""A direction (tangents of the wanted leaves), or cotangents of the outputs; None where there is none."""


class Operation(EngineRule):
    """An operation of this module as the context logs it: a rule whose derivatives are such operations again.

    Its operands are what there is of the directions, then of the cotangents, and all leaves.
    """

    def __init__(self, run: Run, directions: Sequence[Part], cts: Part = ()) -> None:
        super().__init__(self.value, f"the Julia function {run.function.name}", None)
        self.run = run
        self.present = [[x is not None for x in part] for part in (*directions, cts)]
        self.all: frozenset[Any] = frozenset()

    def split(self, operands: Iterable[Any]) -> tuple[Sequence[Part], Part, Part]:
        """The operands, or what is given for each of them, as directions, cotangents and leaves."""
        given = iter(operands)
        *directions, cts = [[next(given) if there else None for there in part] for part in self.present]
        return directions, cts, list(given)

    def value(self, *operands: Any) -> Any:
        """Its value on plain operands."""
        raise NotImplementedError

    def needs(self, wanted: tuple[int, ...]) -> tuple[bool, frozenset[Any]]:
        """The output is not read; all operands are."""
        return False, self.all

    def cotangents(self, given: Part, operands: tuple[Any, ...], wanted: set[int]) -> dict[int, Any]:
        """Cotangents by operand, given those of the outputs (None where there is none)."""
        raise NotImplementedError

    def tangents(self, given: Part, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Tangents of the outputs, given those of the operands (None where there is none)."""
        raise NotImplementedError

    def pull(
        self, ct: Any, out: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[int, ...]
    ) -> Iterator[tuple[int, Any]]:
        """Yield `(position, cotangent)` for the operands at the `wanted` positions."""
        found = self.cotangents(ct if isinstance(ct, tuple) else (ct,), args, set(wanted))
        for position in wanted:
            yield position, found.get(position)

    def pushed(self, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tangents: tuple[Any, ...]) -> Any:
        """The tangent of the output in forward mode."""
        found = self.tangents(tangents, args)
        return found if isinstance(value, tuple) else found[0]


class Push(Operation):
    """The derivative of the outputs once along each direction; without directions, the function itself."""

    def value(self, *operands: Any) -> Any:
        directions, _, leaves = self.split(operands)
        return self.run.push(leaves, directions) if directions else self.run.forward(leaves)

    def cotangents(self, given: Part, operands: tuple[Any, ...], wanted: set[int]) -> dict[int, Any]:
        directions, _, leaves = self.split(operands)
        of_directions, _, of_leaves = self.split(range(len(operands)))
        found: dict[int, Any] = {}
        for k, places in enumerate(of_directions):
            if not wanted.isdisjoint(places):
                found |= zip(places, along(self.run, _replaced(directions, k), given, leaves), strict=True)
        if not wanted.isdisjoint(of_leaves):
            places = [of_leaves[k] for k in self.run.wanted]
            found |= zip(places, along(self.run, directions, given, leaves), strict=True)
        return found

    def tangents(self, given: Part, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        directions, _, leaves = self.split(operands)
        of_directions, _, of_leaves = self.split(given)
        further = [of_leaves[k] for k in self.run.wanted]
        terms = [push(self.run, [*directions, further], leaves)]
        terms += [push(self.run, _replaced(directions, k, part), leaves) for k, part in enumerate(of_directions)]
        return _sum(terms)


class Along(Operation):
    """The gradient by the wanted leaves of cotangents times what `Push` gives; without directions, the pull."""

    def value(self, *operands: Any) -> Any:
        directions, cts, leaves = self.split(operands)
        return self.run.pull_along(leaves, directions, cts) if directions else self.run.pull(cts)

    def cotangents(self, given: Part, operands: tuple[Any, ...], wanted: set[int]) -> dict[int, Any]:
        directions, cts, leaves = self.split(operands)
        of_directions, of_cts, of_leaves = self.split(range(len(operands)))
        found: dict[int, Any] = {}
        for k, places in enumerate(of_directions):
            if not wanted.isdisjoint(places):
                found |= zip(places, along(self.run, _replaced(directions, k, given), cts, leaves), strict=True)
        if not wanted.isdisjoint(of_cts):
            found |= zip(of_cts, push(self.run, [*directions, given], leaves), strict=True)
        if not wanted.isdisjoint(of_leaves):
            places = [of_leaves[k] for k in self.run.wanted]
            found |= zip(places, along(self.run, [*directions, given], cts, leaves), strict=True)
        return found

    def tangents(self, given: Part, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        directions, cts, leaves = self.split(operands)
        of_directions, of_cts, of_leaves = self.split(given)
        further = [of_leaves[k] for k in self.run.wanted]
        terms = [along(self.run, directions, of_cts, leaves), along(self.run, [*directions, further], cts, leaves)]
        terms += [along(self.run, _replaced(directions, k, part), cts, leaves) for k, part in enumerate(of_directions)]
        return _sum(terms)


def push(run: Run, directions: Sequence[Part], leaves: Part) -> tuple[Any, ...]:
    """The derivative of the outputs once along each direction, as an operation; None where there is none."""
    if any(_is_absent(direction) for direction in directions):
        return (None,) * len(run.outputs)
    return _applied(Push(run, directions), (*_given(directions), *leaves))


def along(run: Run, directions: Sequence[Part], cts: Part, leaves: Part) -> tuple[Any, ...]:
    """The gradient by the wanted leaves of `push(run, directions, leaves)` times `cts`, as an operation."""
    if any(_is_absent(part) for part in (*directions, cts)):
        return (None,) * len(run.wanted)
    return _applied(Along(run, directions, cts), (*_given([*directions, cts]), *leaves))


def _applied(operation: Operation, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run an operation: logged by the innermost context among its operands, and by those around it."""
    context = context_of(operands)
    if context is None:
        return tuple(operation.value(*operands))
    values, inputs, plain = unwrapped(context, operands)
    kept = tuple(context.snapshots.kept(value, True, k in plain) for k, value in enumerate(values))
    outputs = _applied(operation, kept)
    operation.all = frozenset(range(len(kept)))
    return tuple(context.result(interpreter.Call(operation.function, operation, kept, inputs), outputs))


def call(function: Prepared, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a Julia function with tracked arguments: the value in Julia's containers, its leaves tracked."""
    run, outputs = run_tracked(function, Flattened(args, kwargs))
    return filled(run.layout, outputs)


def run_tracked(function: Prepared, flat: Flattened, written: tuple[int, ...] = ()) -> tuple[Run, tuple[Any, ...]]:
    """Run a function on tracked leaves; returns the run and the tracked leaves of its value."""
    run = Run(function, flat, written)
    return run, push(run, [], flat.leaves)


def _replaced(directions: Sequence[Part], k: int, *by: Part) -> list[Part]:
    return [*directions[:k], *by, *directions[k + 1 :]]


def _sum(terms: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    total = terms[0]
    for term in terms[1:]:
        total = tuple(a if b is None else b if a is None else a + b for a, b in zip(total, term, strict=True))
    return total


def _is_absent(part: Part) -> bool:
    return all(x is None for x in part)


def _given(parts: Sequence[Part]) -> list[Any]:
    return [x for part in parts for x in part if x is not None]
