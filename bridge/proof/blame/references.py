"""The derivative of one entry of the log, as its own function's differences give it.

`bridge.rewind.places` says where cotangents go; `read` and `write` say where *tangents* go, with NumPy's own indexing
on arrays of our own. The two are each other's transpose, which is how an entry is proved.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.proof.blame.observing import Step
from bridge.proof.numerics.arrays import wide
from bridge.rewind.log import Copy, Entry, Operation
from bridge.rewind.memory import ArrayMemory, grounded
from bridge.rewind.places import Alias, Layout, Picked, View
from bridge.rewind.roots import Root
from bridge.rewind.values import Shaped
from bridge.rewind.writes import MutatingCall, Scatter, Update, Write

_MEMORY = ArrayMemory()


def blank(root: Root) -> np.ndarray:
    """Zeros that lie as the memory of a root does."""
    if root.strides is None:
        return np.zeros(root.shape, root.dtype)
    order = sorted(range(len(root.shape)), key=lambda axis: -root.strides[axis])  # type: ignore[index]
    packed = np.zeros(tuple(root.shape[axis] for axis in order), root.dtype)
    return np.transpose(packed, np.argsort(order))


def laid(root: Root, values: Any) -> np.ndarray:
    """Values (None for zeros) in memory that lies as that of a root does."""
    array = blank(root)
    if values is not None:
        array[...] = values
    return array


def read(place: Any, array: np.ndarray) -> Any:
    """What lies at a place, if the root's memory were `array`."""
    if isinstance(place, Root):
        return array
    base = read(place.parent, array)
    if isinstance(place, (View, Picked)):
        return base[place.key]
    if isinstance(place, Layout):
        return _MEMORY.view(base, *place.key)
    assert isinstance(place, Alias)
    return base


def write(place: Any, array: np.ndarray, value: Any) -> None:
    """Assign at a place of `array`, as NumPy does: of duplicates the last one stays."""
    if isinstance(place, Picked):
        read(place.parent, array)[place.key] = value
    else:
        read(place, array)[...] = value


def random_tangent(root: Root, rng: np.random.Generator) -> np.ndarray:
    """Normal random numbers that lie as the memory of a root does."""
    array = blank(root)
    array[...] = rng.standard_normal(root.shape)
    if root.dtype.kind == "c":
        array[...] += 1j * rng.standard_normal(root.shape)
    return array


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
