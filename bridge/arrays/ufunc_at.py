"""`ufunc.at` on tracked arrays: an element that is named several times is written as often."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bridge.arrays.operands import context_of, into_plain, operand, unwrapped
from bridge.arrays.ufunc_steps import in_segments
from bridge.rewind.facts import facts_of
from bridge.rewind.indices import ADVANCED, frozen, kind_of, surviving
from bridge.rewind.interpreter import ARRAYS, Call
from bridge.rewind.interrupted import silently
from bridge.rewind.memory import grounded
from bridge.rewind.values import concrete

_FEW = 4
"""Times that an element may be named by `at` before its operands are taken together."""


def at(ufunc: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """`ufunc.at(a, indices, b)`: unbuffered, so that an index named twice counts twice."""
    target, key, *operands = args
    if not hasattr(target, "place"):
        context = context_of((key, *operands))
        own = into_plain(context, ufunc, operands, target)
        if own is not target:
            ufunc.at(own, key, *map(ARRAYS.seen, operands))
            return
        name = f"{ufunc.__name__}.at"
        ufunc.at(target, concrete(key, name), *(concrete(x, name) for x in operands))
        return
    key = frozen(target.place.context.home.key(key, target.shape))
    operands = [operand(x) for x in operands]
    if facts_of(ufunc).adds and kind_of(key, target.ndim) is ADVANCED:
        context = target.place.context
        context.scatter_add(Call(ufunc, None, *unwrapped(context, tuple(operands[:1]))[:2]), target, key)
        return
    shape = np.shape(grounded(target)[key])
    rounds = _rounds(key, target.shape)
    times = 1 if rounds is None else int(rounds.max()) + 1
    if times > _FEW and len(operands) == 1 and np.result_type(target, *operands) == target.dtype:
        _all_written(partial(_at_often, ufunc, target, key, np.broadcast_to(operands[0], shape)))
        return
    own = [np.copy(x) if np.may_share_memory(grounded(x), grounded(target)) else x for x in operands]
    # Copies: elements of a broadcast array cannot be written apart, nor can their cotangents.
    spread = [x if np.shape(x) == shape else np.broadcast_to(x, shape).copy() for x in own]
    parts: list[Any] = [(key, operands)]
    if rounds is not None:
        full = _full_key(key, target.shape)
        chosen = [rounds == k for k in range(times)]
        parts = [(tuple(axis[one] for axis in full), [x[one] for x in spread]) for one in chosen]

    def write(part: Any, values: list[Any]) -> None:
        target[part] = ufunc(target[part], *values)

    _all_written(*(partial(write, *part) for part in parts))


def _all_written(*writes: Callable[[], None]) -> None:
    """Make all writes, and raise then what floating point has to complain of, as NumPy does."""
    complaint = None
    for write in writes:
        try:
            write()
        except (FloatingPointError, RuntimeWarning) as error:
            complaint = complaint or error
            with silently():
                write()
    if complaint is not None:
        raise complaint


def _at_often(ufunc: np.ufunc, target: Any, key: Any, operand: Any) -> None:
    """What is named often goes through its operands as one row, with what it is before them in front."""
    named = np.ravel_multi_index(_full_key(key, target.shape), target.shape).ravel()
    order = np.argsort(named, kind="stable")
    elements, counts = np.unique(named, return_counts=True)
    place = np.unravel_index(elements, target.shape)
    count = elements.size
    starts = np.cumsum(counts + 1) - (counts + 1)
    picked = np.empty(count + named.size, np.intp)
    picked[starts] = np.arange(count)
    picked[np.delete(np.arange(picked.size), starts)] = count + order
    before = target[place]
    target[place] = in_segments(ufunc, np.concatenate([before, np.reshape(operand, -1)]), picked, starts)


def _full_key(key: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    size = int(np.prod(shape))
    return np.unravel_index(np.arange(size).reshape(shape)[key], shape)


def _rounds(key: Any, shape: tuple[int, ...]) -> Any:
    """For each place of the picked region how often its element was named before; None if all are named once."""
    if kind_of(key, len(shape)) is not ADVANCED or surviving(key, shape) is None:
        return None
    picked = np.ravel_multi_index(_full_key(key, shape), shape)
    flat = picked.ravel()
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]]
    start = np.maximum.accumulate(np.where(first, np.arange(flat.size), 0))
    count = np.empty(flat.size, np.intp)
    count[order] = np.arange(flat.size) - start
    number = count.reshape(picked.shape)
    return number
