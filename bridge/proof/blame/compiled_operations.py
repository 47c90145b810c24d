"""Which operation is to blame under `engine="xla"`: each entry of an observed run is compiled as a small program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from bridge.errors import BridgeError
from bridge.options import Engine
from bridge.proof.blame.blaming import Blame, of_step
from bridge.proof.blame.observing import Step
from bridge.proof.blame.recorded import Recorded
from bridge.proof.numerics.arrays import short
from bridge.proof.numerics.tolerances import Tolerance, apart
from bridge.rewind.log import Copy, Entry, Operation
from bridge.rewind.memory import grounded
from bridge.rewind.places import Picked, View
from bridge.rewind.roots import Root
from bridge.rewind.values import Shaped
from bridge.rewind.writes import Scatter, Update, Write
from bridge.transforms.grad import value_and_grad

# How many small programs are compiled at most; operations of the same signature count once.
MOST_PROGRAMS = 64


@dataclass
class Small:
    """One operation as a program of the arrays through which its gradient passes."""

    function: Callable[..., list[Any]]
    inputs: list[Any]
    cotangents: list[Any] | None


class Search:
    """Compiles operations one by one on the way back, and keeps the first whose gradient or value is another."""

    def __init__(self, tolerance: Tolerance) -> None:
        self.tolerance = tolerance
        self.tried: set[Any] = set()
        self.value: Blame | None = None
        self.gradient: Blame | None = None

    def visit(self, number: int, entry: Entry, step: Step | None, ct: Any) -> None:
        """Try one entry; memory is as it was before it ran."""
        if step is None or self.gradient is not None or len(self.tried) >= MOST_PROGRAMS:
            return
        small = _small(entry, step, ct)
        if small is None or not small.inputs:
            return
        looks = tuple((np.shape(x), str(np.asarray(x).dtype)) for x in small.inputs)
        kwargs = None if entry.call is None else entry.call.kwargs
        signature = (step.kind, step.name, looks, repr(kwargs), repr(step.key)[:200])
        if signature in self.tried:
            return
        self.tried.add(signature)
        try:
            expected = _run(small, "native")
            found = _run(small, "xla")
        except (BridgeError, TypeError, ValueError, ArithmeticError, IndexError):
            return
        tolerance = self.tolerance
        for a, b in zip(found[1], expected[1], strict=True):
            if apart(a, b, tolerance.value, tolerance.absolute)[0]:
                detail = f"compiled by itself it gives {short(a)}, and NumPy gives {short(b)}"
                self.value = of_step(step, "primal", detail)
                return
        for a, b in zip(found[0], expected[0], strict=True):
            if apart(a, b, tolerance.gradient, tolerance.absolute)[0]:
                kind = "index" if step.indexes else "mismatch"
                detail = f"compiled by itself its pull gives {short(a)}, and that of the rule book {short(b)}"
                self.gradient = of_step(step, kind, detail)
                return


def blamed_under_xla(recorded: Recorded, tolerance: Tolerance) -> Blame | None:
    """The operation whose compiled value is another than NumPy's, or whose compiled gradient is another than ours."""
    search = Search(tolerance)
    try:
        recorded.walk(proofs=False, visit=search.visit)
    except BridgeError:
        return None
    return search.value or search.gradient


def _run(small: Small, engine: str) -> tuple[list[Any], list[Any]]:
    """Cotangents of the inputs, and the values."""

    def loss(*xs: Any) -> Any:
        outputs = small.function(*xs)
        weights = small.cotangents or [1.0] * len(outputs)
        terms = [np.sum(np.real(np.conj(ct) * out)) for ct, out in zip(weights, outputs, strict=True) if ct is not None]
        return sum(terms[1:], terms[0]), outputs

    copies = [np.array(x) if np.ndim(x) else x for x in small.inputs]
    positions = tuple(range(len(copies)))
    (_, values), gradients = value_and_grad(loss, positions, has_aux=True, engine=cast(Engine, engine))(*copies)
    return list(gradients), list(values)


def _small(entry: Entry, step: Step, ct: Any) -> Small | None:
    if isinstance(entry, Operation) and step.function is not None:
        return _small_operation(entry, step, ct)
    if isinstance(entry, Copy):
        return _small_read(entry, step, ct)
    if isinstance(entry, Write) and entry.source is not None and not hasattr(step.target, "place"):
        return _small_write(entry, step)
    return None


def _small_operation(entry: Operation, step: Step, ct: Any) -> Small | None:
    held = [_held(x) for x in step.args]
    if any(isinstance(x, Shaped) for x in held):
        return None
    chosen = [(k, j) for k, place in enumerate(entry.call.inputs) if place is not None for j in _parts(place)]
    inputs = [held[k] if j is None else held[k][j] for k, j in chosen]
    old = np.array(grounded(step.target)) if isinstance(entry, Update) else None

    def function(*xs: Any) -> list[Any]:
        every = [list(x) if isinstance(x, (list, tuple)) else x for x in held]
        for (k, j), x in zip(chosen, xs, strict=True):
            if j is None:
                every[k] = x
            else:
                every[k][j] = x
        args, kwargs = entry.call.spelled(tuple(every))
        result = step.function(*args, **kwargs)
        if isinstance(entry, Update) and entry.mask is not None:
            result = np.where(entry.mask, result, old)
        return list(result) if isinstance(result, (list, tuple)) else [result]

    return Small(function, inputs, list(ct) if isinstance(ct, tuple) else [ct])


def _small_read(entry: Copy, step: Step, ct: Any) -> Small | None:
    keys: list[Any] = []
    place = entry.source
    while not isinstance(place, Root):
        if not isinstance(place, (View, Picked)):
            return None
        keys.insert(0, place.key)
        place = place.parent
    memory = np.random.default_rng(0).standard_normal(place.shape).astype(place.dtype)

    def function(x: Any) -> list[Any]:
        for key in keys:
            x = x[key]
        return [x.astype(entry.out.dtype)]

    return Small(function, [memory], [ct])


def _small_write(entry: Write, step: Step) -> Small:
    target = np.array(grounded(step.target))
    sign = -1 if isinstance(entry, Scatter) and entry.negative else 1
    weight = np.random.default_rng(0).standard_normal(target.shape).astype(target.dtype)

    def function(memory: Any, x: Any) -> list[Any]:
        memory = memory.copy()
        if isinstance(entry, Scatter):
            np.add.at(memory, entry.key, sign * x)
        else:
            memory[entry.key] = x
        return [memory]

    return Small(function, [target, step.operands[0]], [weight])


def _held(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [_held(part) for part in x]
    value = grounded(x)
    return np.array(value) if isinstance(value, np.ndarray) else value


def _parts(place: Any) -> list[Any]:
    return [j for j, one in enumerate(place) if one is not None] if isinstance(place, (list, tuple)) else [None]
