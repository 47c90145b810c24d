"""`ufunc.at` on tracked arrays: an element that is named several times is written as often."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bridge.arrays.operands import context_of, into_plain, operand, unwrapped
from bridge.arrays.ufunc_steps import in_segments
from bridge.rewind.indices import ADVANCED, frozen, is_unique_by_type, kind_of
from bridge.rewind.interpreter import ARRAYS, Call
from bridge.rewind.interrupted import completed
from bridge.rewind.memory import grounded
from bridge.rewind.tape import NOT_RECORDED, OPEN, recorded
from bridge.rewind.values import concrete
from bridge.rulebook.facts import facts_of

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
    if OPEN and recorded(at, ufunc, args, kwargs) is not NOT_RECORDED:
        return
    key = frozen(target.place.context.home.key(key, target.shape))
    operands = [operand(x) for x in operands]
    if facts_of(ufunc).adds and kind_of(key, target.ndim) is ADVANCED:
        context = target.place.context
        context.scatter_add(Call(ufunc, None, *unwrapped(context, tuple(operands[:1]))[:2]), target, key)
        if context.followers is not None:
            context.followers.written(target, key)
        return
    shape = np.shape(grounded(target)[key])
    named = _named(key, target.shape)
    times = 1 if named is None else int(np.bincount(named.ravel()).max(initial=1))
    if times > _FEW and len(operands) == 1 and np.result_type(target, *operands) == target.dtype:
        _all_written(partial(_at_often, ufunc, target, named.ravel(), np.broadcast_to(operands[0], shape)))
        return
    own = [np.copy(x) if np.may_share_memory(grounded(x), grounded(target)) else x for x in operands]
    # Copies: elements of a broadcast array cannot be written apart, nor can their cotangents.
    spread = [x if np.shape(x) == shape else np.broadcast_to(x, shape).copy() for x in own]
    parts: list[Any] = [(key, operands)]
    if times > 1:
        rounds, full = _rounds(named), np.unravel_index(named, target.shape)
        chosen = [rounds == k for k in range(times)]
        parts = [(tuple(axis[one] for axis in full), [x[one] for x in spread]) for one in chosen]

    def write(part: Any, values: list[Any]) -> None:
        target[part] = ufunc(target[part], *values)

    _all_written(*(partial(write, *part) for part in parts))


def _all_written(*writes: Callable[[], None]) -> None:
    """Make all writes, and raise then what floating point has to complain of, as NumPy does."""
    errors = [error for _, error in map(completed, writes) if error is not None]
    if errors:
        raise errors[0]


def _at_often(ufunc: np.ufunc, target: Any, named: np.ndarray, operand: Any) -> None:
    """What is named often goes through its operands as one row, with what it is before them in front."""
    order = _stable_order(named)
    counted = np.bincount(named)
    (elements,) = np.nonzero(counted)
    lengths = counted[elements] + 1
    starts = np.cumsum(lengths) - lengths
    place = np.unravel_index(elements, target.shape)
    is_first = np.zeros(elements.size + named.size, bool)
    is_first[starts] = True
    picked = np.empty(is_first.size, np.intp)
    picked[is_first] = np.arange(elements.size)
    picked[~is_first] = elements.size + order
    before = target[place]
    target[place] = in_segments(ufunc, np.concatenate([before, np.reshape(operand, -1)]), picked, starts)


def _named(key: Any, shape: tuple[int, ...]) -> Any:
    """The numbers of the elements that are named; None where no key can name one twice."""
    if kind_of(key, len(shape)) is not ADVANCED or is_unique_by_type(key):
        return None
    return np.arange(math.prod(shape)).reshape(shape)[key]


def _rounds(named: np.ndarray) -> Any:
    """For each place of the picked region how often its element was named before."""
    flat = named.ravel()
    order = _stable_order(flat)
    ordered = flat[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]]
    start = np.maximum.accumulate(np.where(first, np.arange(flat.size), 0))
    count = np.empty(flat.size, np.intp)
    count[order] = np.arange(flat.size) - start
    return count.reshape(named.shape)


def _stable_order(numbers: np.ndarray) -> np.ndarray:
    """What sorts numbers from 0 on: NumPy sorts those of 16 bits without comparing them."""
    order, rest = np.argsort(numbers.astype(np.uint16), kind="stable"), numbers >> 16
    while rest.size and rest.max():
        order = order[np.argsort(rest[order].astype(np.uint16), kind="stable")]
        rest = rest >> 16
    return order
