"""The derivative of one entry of the log, as its own function's differences give it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.proof.blame.observing import Step
from bridge.proof.blame.regions import read
from bridge.proof.numerics.arrays import wide
from bridge.rewind.log import Copy, Entry, Operation
from bridge.rewind.memory import grounded
from bridge.rewind.roots import Root
from bridge.rewind.values import Shaped
from bridge.rewind.writes import MutatingCall, Scatter, Update, Write

Tangents = dict[Root, np.ndarray]
# The outputs of an entry, in the order of its places, moved by a step along tangents of its roots.
Moved = Callable[[float], list[Any]]


class NoReference(Exception):
    """An entry whose function cannot be run by itself."""


def moved_outputs(entry: Entry, step: Step | None, tangents: Tangents) -> Moved:
    """The values that an entry writes, if the memory that it reads were moved along `tangents`.

    Memory must hold what it held when the entry ran. Values are in double precision where the function allows.
    """
    if isinstance(entry, Copy):
        tangent = read(entry.source, tangents[entry.source.root])
        tangent = np.real(tangent) if entry.out.dtype.kind != "c" else tangent
        return lambda h: [h * np.asarray(tangent, wide(tangent))]
    if isinstance(entry, Write):
        if isinstance(entry, Scatter) and entry.negative:
            return lambda h: [-_moved(step.operands[0] if step else 0.0, entry.source, tangents, h)]
        return lambda h: [_moved(step.operands[0] if step else 0.0, entry.source, tangents, h)]
    if isinstance(entry, MutatingCall):
        return _moved_call(entry, tangents)
    if isinstance(entry, Operation) and step is not None and step.function is not None:
        return _moved_operation(entry, step, tangents)
    raise NoReference


def _moved_operation(entry: Operation, step: Step, tangents: Tangents) -> Moved:
    call = entry.call
    old = np.array(grounded(step.target), copy=True) if isinstance(entry, Update) else None

    def moved(h: float) -> list[Any]:
        every = (_moved(x, place, tangents, h) for x, place in zip(step.args, call.inputs, strict=True))
        args, kwargs = call.spelled(tuple(every))
        result = step.function(*args, **kwargs)
        if isinstance(entry, Update):
            if entry.mask is not None:
                base = _moved(old, entry.out, tangents, h)
                result = np.where(entry.mask, result, base)
            return [result]
        return list(result) if isinstance(result, (tuple, list)) else [result]

    return moved


def _moved_call(entry: MutatingCall, tangents: Tangents) -> Moved:
    call, rule = entry.call, entry.call.rule
    written = [list(rule.parameters).index(name) for name in rule.mutates]

    def moved(h: float) -> list[Any]:
        every = [_moved(_own(x), place, tangents, h) for x, place in zip(call.args, call.inputs, strict=True)]
        every = [np.array(x) if isinstance(x, np.ndarray) else x for x in every]
        if rule.signature is None:
            rule.function(*every)
        else:
            named = dict(zip(rule.parameters, every, strict=True))
            bound = inspect.BoundArguments(rule.signature, named)
            rule.function(*bound.args, **bound.kwargs)
        return [every[k] for k in written]

    return moved


def _own(x: Any) -> Any:
    return np.array(x) if isinstance(x, np.ndarray) else x


def _moved(x: Any, place: Any, tangents: Tangents, h: float) -> Any:
    """An operand moved along the tangent of its place, in double precision."""
    if isinstance(x, Shaped):
        raise NoReference
    if isinstance(x, (list, tuple)):
        places = place if isinstance(place, (list, tuple)) else [None] * len(x)
        parts = [_moved(part, one, tangents, h) for part, one in zip(x, places, strict=True)]
        return type(x)(parts) if not hasattr(x, "_fields") else type(x)(*parts)
    value = grounded(x)
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc":
        value = _wide(value)
    if place is None or h == 0.0:
        return value
    tangent = read(place, tangents[place.root])
    return value + h * np.asarray(tangent, wide(tangent))


def _wide(value: Any) -> Any:
    array = np.asarray(value)
    return array.astype(wide(array))[()] if array.dtype.kind in "fc" else value


def roots_of(entry: Entry) -> list[Root]:
    """The roots whose shadows an entry reads or writes."""
    return list(dict.fromkeys(place.root for place in (*entry.writes(), *entry.reads())))


def reach(entry: Entry) -> str:
    """How an entry's output gets to its place: "born", "added" or "written"."""
    if isinstance(entry, Scatter):
        return "added"
    return "written" if entry.overwrites else "born"
