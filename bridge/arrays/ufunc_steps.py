"""What methods of ufuncs do step by step, and their derivatives without a step for each element.

A ufunc that goes along an axis is a recurrence, `out[k] = f(out[k - 1], x[k])`. Its partial derivatives are taken for
all steps at once, and what is left, a linear recurrence backwards, by doubling. Segments (`reduceat`, `at` with indices
that are named often) are rows of matrices, one for each power of two of their lengths, along which the ufunc goes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.cotangents import zeros
from bridge.rulebook.book import ZERO_PULL, find
from bridge.signatures import operation_name


def has_partials(ufunc: np.ufunc) -> bool:
    """Whether the derivatives of a ufunc are known apart from an engine's."""
    return ufunc in ZERO_PULL or find(ufunc) is not None


def must_go_in_turn(ufunc: np.ufunc, dtype: Any) -> None:
    """Raise where this NumPy's `reduce` may give something else than its steps, for who cannot see its value.

    Whether it does depends on how the array lies in memory too.
    """
    if not goes_in_turn(ufunc, np.dtype(dtype)):
        name = operation_name(ufunc)
        raise RefusedError(
            f"{name}.reduce of this NumPy leaves elements out on this processor: its value is not that of its steps",
            where=resolve(here()),
            remedy=f"take the last one of {name}.accumulate, which goes through all",
        )


@cache
def goes_in_turn(ufunc: np.ufunc, dtype: np.dtype[Any]) -> bool:
    """Whether this NumPy's `reduce` of a row goes through its elements in turn.

    The loops of `power` and `arctan2` for processors with AVX512 leave all out but the first and each eighth.
    """
    row = np.linspace(1.25, 1.75, 3).astype(dtype)
    with np.errstate(all="ignore"):
        return bool(np.isclose(ufunc.reduce(row), ufunc(ufunc(row[0], row[1]), row[2]), 1e-2, equal_nan=True))


def accumulated_back(ufunc: np.ufunc, ct: Any, out: Any, x: Any) -> Any:
    """The cotangent of `x`, where `out` is `ufunc.accumulate(x)` along the first axis and `ct` its cotangent."""
    if ct.shape[0] < 2:
        return ct
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        before, own = _partials(ufunc, out[:-1], x[1:], out[1:])
        arrived = _recurred_back(before, ct)
        return np.concatenate([arrived[:1], _times(own, arrived[1:])])


def reduced_back(ufunc: np.ufunc, ct: Any, x: Any) -> Any:
    """The cotangent of `x`, where `ct` is that of `ufunc.reduce(x)` along the first axis: products, no recurrence."""
    if x.shape[0] < 2:
        return np.broadcast_to(ct, x.shape)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        out = ufunc.accumulate(x)
        before, own = _partials(ufunc, out[:-1], x[1:], out[1:])
        # As in `_times`: where a factor is zero nothing passes, whatever the others are.
        blocked = before == 0
        after = np.cumprod(np.where(blocked, 1, before)[::-1], axis=0)[::-1]
        after = np.where(np.logical_or.accumulate(blocked[::-1])[::-1], 0, after)
        ending = np.concatenate([after[1:], np.ones_like(after[:1])])
        return np.concatenate([_times(after[:1], np.expand_dims(ct, 0)), _times(own * ending, np.expand_dims(ct, 0))])


def _partials(ufunc: np.ufunc, before: Any, own: Any, out: Any) -> tuple[Any, Any]:
    rule = find(ufunc)
    nothing = np.zeros(out.shape, out.dtype)
    if rule is None:
        return nothing, nothing
    found = dict(rule.pull(np.ones(out.shape, out.dtype), out, (before, own), {}, (0, 1)))
    first, second = (nothing if found.get(k) is None else found[k] for k in (0, 1))
    return first, second


def _recurred_back(factors: Any, ct: Any) -> Any:
    """What solves `g[k] = ct[k] + factors[k] * g[k + 1]`."""
    if ct.shape[0] > 1 and type(ct) is np.ndarray and type(factors) is np.ndarray:
        return _recurred_in_blocks(factors, ct)
    found, count, distance = ct, ct.shape[0], 1
    while distance < count:
        rest = count - distance
        found = np.concatenate([found[:rest] + _times(factors, found[distance:]), found[rest:]])
        if 2 * distance < count:
            factors = factors[: count - 2 * distance] * factors[distance:]
        distance *= 2
    return found


def _recurred_in_blocks(factors: np.ndarray, ct: np.ndarray) -> np.ndarray:
    """The same of plain arrays: all blocks step by step together, and then what passes from a block to the one before.

    A few passes over memory, and steps that are each long enough to be worth a call of NumPy.
    """
    count, each = ct.shape[0], max(1, math.prod(ct.shape[1:]))
    steps = min(count, max(_FEW_STEPS, math.isqrt(count * each) // 4))
    blocks = -(-count // steps)
    missing = blocks * steps - count
    # What is missing of the first block stands before it, so that the last step of each block is the last row.
    g = np.concatenate([np.zeros((missing, *ct.shape[1:]), ct.dtype), ct]).reshape(blocks, steps, *ct.shape[1:])
    ones = np.ones((missing, *ct.shape[1:]), factors.dtype)
    f = np.concatenate([ones, factors, ones[:1] if missing else np.ones_like(factors[:1])])
    f = f.reshape(blocks, steps, *ct.shape[1:])
    g, f = np.array(np.swapaxes(g, 0, 1), order="C"), np.array(np.swapaxes(f, 0, 1), order="C")
    for k in range(steps - 2, -1, -1):
        g[k] += _times(f[k], g[k + 1])
        f[k] *= f[k + 1]
    if blocks > 1:
        found = _recurred_in_blocks(f[0, :-1], g[0])
        g[:, :-1] += _times(f[:, :-1], found[1:])
    return np.swapaxes(g, 0, 1).reshape(blocks * steps, *ct.shape[1:])[missing:]


_FEW_STEPS = 16


def _times(factor: Any, ct: Any) -> Any:
    """A product in which nothing passes where the factor is zero; linear in `ct`, as forward mode needs it."""
    return factor * np.where(factor == 0, 0, ct)


def in_segments(ufunc: np.ufunc, x: Any, at: np.ndarray, starts: np.ndarray) -> Any:
    """For each segment the ufunc along it: the elements `x[at[starts[s] : starts[s + 1]]]` of the first axis of `x`.

    No segment is empty.
    """
    rows, order = [], []
    for chosen, within, last in by_length(at.size, starts):
        matrix = np.take(x, at[within], 0)
        with np.errstate(all="ignore"):
            along = matrix if within.shape[1] == 1 else ufunc.accumulate(matrix, axis=1)
        rows.append(along[np.arange(chosen.size), last])
        order.append(chosen)
    return np.take(np.concatenate(rows), np.argsort(np.concatenate(order)), 0)


def by_length(size: int, starts: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Segments of about one length: which they are, their places as rows of a matrix, and where each of these ends."""
    lengths = np.diff(np.append(starts, size))
    kinds = np.ceil(np.log2(lengths)).astype(int)
    for kind in np.unique(kinds):
        (chosen,) = np.nonzero(kinds == kind)
        last = lengths[chosen] - 1
        # What is beyond the end of a row is its last element again, and nobody looks at what comes of it.
        within = np.minimum(np.arange(last.max() + 1), last[:, None])
        yield chosen, starts[chosen][:, None] + within, last


def added_back(ct: Any, first: np.ndarray, length: int) -> Any:
    """The cotangent of what `np.add.reduceat` adds up along the first axis: each segment's own for all its elements."""
    lengths = np.maximum(np.append(first[1:], length)[: first.size], first + 1) - first
    if first.size and np.all(first[1:] > first[:-1]):
        spread = np.repeat(ct, lengths, axis=0)
        ahead = np.zeros((length - spread.shape[0], *spread.shape[1:]), spread.dtype)
        return np.concatenate([ahead, spread]) if ahead.shape[0] else spread
    result = zeros((length, *ct.shape[1:]), like=ct)
    if np.sum(lengths) > LONG * first.size:
        for number, (start, count) in enumerate(zip(first.tolist(), lengths.tolist(), strict=True)):
            result[start : start + count] += ct[number]
        return result
    picked, _ = segments_of(first, length)
    np.add.at(result, picked, np.repeat(ct, lengths, axis=0))
    return result


def chosen_back(ct: Any, out: Any, x: np.ndarray, first: np.ndarray) -> Any:
    """The cotangent of `x`, where `out` is `reduceat` along the first axis of a ufunc that gives one of its operands.

    Elements are compared with the value of their segment, so that there are no steps. They share as they do step by
    step: each that is equal takes half from those before it, and the first NaN takes all.
    """
    count, width = first.size, math.prod(x.shape[1:])
    lengths = np.append(first[1:], x.shape[0])[:count] - first
    apart = bool(np.all(lengths > 0))
    lengths = np.maximum(lengths, 1)
    starts = np.cumsum(lengths) - lengths
    if apart:
        rows = x[first[0] :]
    elif np.sum(lengths) > LONG * count:
        rows = np.concatenate([x[start : start + length] for start, length in zip(first, lengths, strict=True)])
    else:
        rows = x[segments_of(first, x.shape[0])[0]]
    highest = np.repeat(out, lengths, axis=0)
    chosen = rows == highest
    if np.any(out != out):
        chosen |= (rows != rows) & (highest != highest)
    column, row = np.nonzero(chosen.reshape(len(rows), width).T)
    segment = np.searchsorted(starts, row, "right") - 1
    group = segment + column * count
    ties = np.bincount(group, minlength=count * width)
    rank = np.arange(row.size) - (np.cumsum(ties) - ties)[group]
    share = 0.5 ** (ties[group] - np.maximum(rank, 1))
    share = np.where((out != out).reshape(count, width).T.ravel()[group], rank == 0, share)
    given = np.take(np.reshape(ct, (count, width)).T, group) * share.astype(ct.real.dtype)
    found = zeros((x.shape[0], width), like=ct)
    key = first[segment] + row - starts[segment], column
    if apart:
        found[key] = given
    else:
        np.add.at(found, key, given)
    return np.reshape(found, x.shape)


LONG = 256
"""Elements of a segment for which one addition of a slice is cheaper than one of each element."""


def segments_of(indices: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The elements of all segments of `reduceat`, one after another, and where each segment starts among them."""
    first = np.asarray(indices, np.intp)
    last = np.maximum(np.append(first[1:], length), first + 1)[: first.size]
    starts = np.cumsum(last - first) - (last - first)
    return np.arange(int(np.sum(last - first))) - np.repeat(starts - first, last - first), starts
