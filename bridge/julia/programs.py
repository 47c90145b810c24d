"""Julia functions inside NumPy programs: one entry of the log, whose pull is the pullback kept from the forward run.

The operations here are closed under differentiation up to the second order: the pull of a call is an operation
(its value the Julia pullback, its derivatives Julia's forward mode, alone and over the pullback).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bridge.arrays.operands import context_of, unwrapped
from bridge.code_position import here, resolve
from bridge.engines.protocol import EngineRule
from bridge.errors import RefusedError
from bridge.julia.plans import Flattened, filled
from bridge.julia.runs import Run
from bridge.rewind import interpreter
from bridge.rewind.memory import grounded

if TYPE_CHECKING:
    from bridge.julia.function import JuliaFunction


class Operation(EngineRule):
    """An operation of this module as the context logs it: a rule whose pull is Julia's."""

    def __init__(self, run: Run, count: int) -> None:
        super().__init__(self.value, f"the Julia function {run.function.name}", None)
        self.run = run
        self.all = frozenset(range(count))

    def value(self, *operands: Any) -> Any:
        """Its value on plain operands."""
        raise NotImplementedError

    def needs(self, wanted: tuple[int, ...]) -> tuple[bool, frozenset[Any]]:
        """The output is not read; all operands are."""
        return False, self.all

    def cotangents(self, cts: tuple[Any, ...], operands: tuple[Any, ...], wanted: tuple[int, ...]) -> dict[int, Any]:
        """Cotangents by operand, given those of the outputs (None where there is none)."""
        raise NotImplementedError

    def tangents(self, tangents: tuple[Any, ...], operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Tangents of the outputs, given those of the operands (None where there is none)."""
        raise NotImplementedError

    def pull(
        self, ct: Any, out: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[int, ...]
    ) -> Iterator[tuple[int, Any]]:
        """Yield `(position, cotangent)` for the operands at the `wanted` positions."""
        found = self.cotangents(ct if isinstance(ct, tuple) else (ct,), args, wanted)
        for position in wanted:
            yield position, found.get(position)

    def pushed(self, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tangents: tuple[Any, ...]) -> Any:
        """The tangent of the output in forward mode."""
        found = self.tangents(tangents, args)
        return found if isinstance(value, tuple) else found[0]

    def refuse(self) -> None:
        raise RefusedError(
            f"a third derivative through {self.name}",
            where=resolve(here()),
            remedy="derivatives up to the second order pass through Julia functions inside NumPy programs; "
            "write this part with NumPy functions, or differentiate inside Julia",
        )


class Call(Operation):
    """The function itself: leaves → outputs."""

    def value(self, *operands: Any) -> Any:
        return self.run.forward(operands)

    def cotangents(self, cts: tuple[Any, ...], operands: tuple[Any, ...], wanted: tuple[int, ...]) -> dict[int, Any]:
        return dict(zip(self.run.wanted, apply(Pull(self.run, cts), operands), strict=True))

    def tangents(self, tangents: tuple[Any, ...], operands: tuple[Any, ...]) -> tuple[Any, ...]:
        along = [_or_zeros(tangents[k], operands[k]) for k in self.run.wanted]
        return apply(Push(self.run, len(along)), (*along, *operands))


class Pull(Operation):
    """The pull of a call: cotangents of the outputs that have one, leaves → cotangents of the wanted leaves."""

    def __init__(self, run: Run, cts: tuple[Any, ...]) -> None:
        super().__init__(run, len(cts))
        self.cts = cts
        self.present = tuple(k for k, ct in enumerate(cts) if ct is not None)

    def __call__(self, operands: Any) -> Any:
        return (*(self.cts[k] for k in self.present), *operands)

    def split(self, operands: tuple[Any, ...]) -> tuple[list[Any], tuple[Any, ...]]:
        cts: list[Any] = [None] * len(self.cts)
        for k, ct in zip(self.present, operands, strict=False):
            cts[k] = ct
        return cts, operands[len(self.present) :]

    def value(self, *operands: Any) -> Any:
        return self.run.pull(self.split(operands)[0])

    def cotangents(self, cts: tuple[Any, ...], operands: tuple[Any, ...], wanted: tuple[int, ...]) -> dict[int, Any]:
        count = len(self.present)
        own, leaves = self.split(operands)
        along = [_or_zeros(ct, leaves[k]) for ct, k in zip(cts, self.run.wanted, strict=True)]
        found: dict[int, Any] = {}
        if any(k < count for k in wanted):
            pushed = apply(Push(self.run, len(along)), (*along, *leaves))
            found |= {position: pushed[k] for position, k in enumerate(self.present)}
        if any(k >= count for k in wanted):
            second = apply(Along(self.run, len(along), own), (*along, *_given(own), *leaves))
            found |= {count + k: ct for k, ct in zip(self.run.wanted, second, strict=True)}
        return found

    def tangents(self, tangents: tuple[Any, ...], operands: tuple[Any, ...]) -> tuple[Any, ...]:
        own, leaves = self.split(operands)
        moved, along = self.split(tangents)
        total: list[Any] = [None] * len(self.run.wanted)
        if any(ct is not None for ct in moved):
            total = list(apply_pull(self.run, tuple(moved), leaves))
        if any(t is not None for t in along):
            directions = [_or_zeros(along[k], leaves[k]) for k in self.run.wanted]
            second = apply(Along(self.run, len(directions), own), (*directions, *_given(own), *leaves))
            total = [b if a is None else a + b for a, b in zip(total, second, strict=True)]
        return tuple(total)


class Push(Operation):
    """Forward mode of a call: tangents of the wanted leaves, leaves → tangents of the outputs."""

    def __init__(self, run: Run, count: int) -> None:
        super().__init__(run, count)
        self.count = count

    def value(self, *operands: Any) -> Any:
        return self.run.push(operands[self.count :], operands[: self.count])

    def cotangents(self, cts: tuple[Any, ...], operands: tuple[Any, ...], wanted: tuple[int, ...]) -> dict[int, Any]:
        along, leaves = operands[: self.count], operands[self.count :]
        found: dict[int, Any] = {}
        if any(k < self.count for k in wanted):
            found |= dict(enumerate(apply_pull(self.run, cts, leaves)))
        if any(k >= self.count for k in wanted):
            second = apply(Along(self.run, self.count, list(cts)), (*along, *_given(cts), *leaves))
            found |= {self.count + k: ct for k, ct in zip(self.run.wanted, second, strict=True)}
        return found

    def tangents(self, tangents: tuple[Any, ...], operands: tuple[Any, ...]) -> tuple[Any, ...]:
        if any(t is not None for t in tangents[self.count :]):
            self.refuse()
        leaves = operands[self.count :]
        along = [_or_zeros(t, leaves[k]) for t, k in zip(tangents, self.run.wanted, strict=False)]
        return apply(Push(self.run, self.count), (*along, *leaves))


class Along(Operation):
    """The derivative of the pull along tangents: tangents, cotangents, leaves → cotangents of the wanted leaves."""

    def __init__(self, run: Run, count: int, cts: Sequence[Any]) -> None:
        super().__init__(run, count)
        self.count = count
        self.present = tuple(k for k, ct in enumerate(cts) if ct is not None)
        self.outputs = len(cts)

    def split(self, operands: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any], tuple[Any, ...]]:
        cts: list[Any] = [None] * self.outputs
        start = self.count + len(self.present)
        for k, ct in zip(self.present, operands[self.count : start], strict=True):
            cts[k] = ct
        return operands[: self.count], cts, operands[start:]

    def value(self, *operands: Any) -> Any:
        along, cts, leaves = self.split(operands)
        return self.run.pull_along(leaves, along, cts)

    def cotangents(self, cts: tuple[Any, ...], operands: tuple[Any, ...], wanted: tuple[int, ...]) -> dict[int, Any]:
        if any(k >= self.count for k in wanted):
            self.refuse()
        _, own, leaves = self.split(operands)
        directions = [_or_zeros(ct, leaves[k]) for ct, k in zip(cts, self.run.wanted, strict=True)]
        return dict(enumerate(apply(self, (*directions, *_given(own), *leaves))))

    def tangents(self, tangents: tuple[Any, ...], operands: tuple[Any, ...]) -> tuple[Any, ...]:
        if any(t is not None for t in tangents[self.count :]):
            self.refuse()
        _, own, leaves = self.split(operands)
        directions = [_or_zeros(t, leaves[k]) for t, k in zip(tangents, self.run.wanted, strict=False)]
        return apply(self, (*directions, *_given(own), *leaves))


def apply(operation: Operation, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Run an operation: logged by the innermost context among its operands, and by those around it."""
    given = operation(operands) if isinstance(operation, Pull) else tuple(operands)
    return _applied(operation, given)


def apply_pull(run: Run, cts: tuple[Any, ...], leaves: Sequence[Any]) -> tuple[Any, ...]:
    """The pull of a call as an operation."""
    return apply(Pull(run, cts), leaves)


def _applied(operation: Operation, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    context = context_of(operands)
    if context is None:
        return tuple(operation.value(*operands))
    values, inputs, plain = unwrapped(context, operands)
    kept = tuple(context.snapshots.kept(value, True, k in plain) for k, value in enumerate(values))
    outputs = _applied(operation, kept)
    operation.all = frozenset(range(len(kept)))
    return tuple(context.result(interpreter.Call(operation.function, operation, kept, inputs), outputs))


def call(function: JuliaFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a Julia function with tracked arguments: the value in Julia's containers, its leaves tracked."""
    run, outputs = run_tracked(function, Flattened(args, kwargs))
    return filled(run.layout, outputs)


def run_tracked(function: JuliaFunction, flat: Flattened, written: tuple[int, ...] = ()) -> tuple[Run, tuple[Any, ...]]:
    """Run a function on tracked leaves; returns the run and the tracked leaves of its value."""
    run = Run(function, flat, written)
    return run, apply(Call(run, len(flat.leaves)), flat.leaves)


def _or_zeros(ct: Any, leaf: Any) -> Any:
    if ct is not None:
        return ct
    plain = np.asarray(grounded(leaf))
    return np.zeros(plain.shape, plain.dtype)


def _given(cts: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(ct for ct in cts if ct is not None)
