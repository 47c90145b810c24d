"""Writes of which the order counts in which NumPy goes from element to element.

A value may lie in the memory that is written: then NumPy may read elements that it has just overwritten.
NumPy copies such a value first almost everywhere. Where it does not (masks, `.flat`, one axis at two steps, complex
memory read as floats), it is asked which element it reads, on memory whose elements hold their own numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import AliasError
from bridge.rewind.indices import ADVANCED, surviving
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.memory import ArrayMemory, Strides, address, grounded, owner
from bridge.rewind.places import Layout
from bridge.rewind.values import is_abstract

_EXACT = {"f": {2: 11, 4: 24, 8: 53}, "b": {1: 1}, "i": {1: 7, 2: 15, 4: 31}, "u": {1: 8, 2: 16, 4: 32}}
"""How many bits of whole numbers a dtype holds, by its kind and the bytes of a real number; 53 where it is not here."""


def shares(target: Any, value: Any) -> bool:
    """Whether a Buffer may show memory that another one shows."""
    return value.place.root is target.place.root and np.may_share_memory(grounded(target), grounded(value))


def is_unbuffered(kind: str, key: Any, target: Any, shown: Any, value: Any) -> bool:
    """Whether NumPy may read elements that it has written, in `target[key] = value`; `shown` is `target[key]`."""
    if kind is ADVANCED:
        only = key[0] if type(key) is tuple and len(key) == 1 else key
        return getattr(only, "dtype", None) == np.bool_ and len(only.shape) == len(target.shape)
    if len(shown.shape) != 1:
        return False
    ours, theirs = grounded(shown), grounded(value)
    if not theirs.shape:
        return ours.dtype != theirs.dtype
    return ours.dtype != theirs.dtype or ours.strides[0] not in (theirs.strides[-1], -theirs.strides[-1])


def as_read(target: Any, value: Any, write: Callable[[Any, Any], None], key: Any) -> Any:
    """What `target[key]` holds after `write(target, value)`, of a value in the same memory, as a copy of its own."""
    if not (_is_known(target.place) and _is_known(value.place) and _is_known_key(key)):
        raise order_is_unknown(f"of shape {value.shape}")
    ours, theirs = grounded(target), grounded(value)
    unit = theirs.dtype
    memory = owner(ours)
    starts = address(ours) - address(memory), address(theirs) - address(memory)
    count = memory.nbytes // unit.itemsize
    if any(start % unit.itemsize for start in starts):
        raise AliasError(
            f"a write of shape {value.shape} into complex memory that it is read from, half an element apart",
            where=resolve(here()),
            remedy="copy what is read first: x[...] = y.copy()",
        )
    numbers = np.zeros(ours[key].shape, np.intp)
    for place, digits in _digits(count, unit):
        numbered = digits.astype(unit)
        views = [
            ArrayMemory().view(numbered, start, Strides(array.shape, array.strides, array.dtype))
            for start, array in zip(starts, (ours, theirs), strict=True)
        ]
        write(*views)
        numbers += place * np.real(views[0][key]).astype(np.intp)
    found = _all_of(target, Strides((count,), (unit.itemsize,), unit))[np.maximum(numbers - 1, 0)]
    return found if np.all(numbers) else np.where(numbers > 0, found, np.zeros((), unit))


def order_is_unknown(look: str) -> AliasError:
    """The error of a write whose order counts, where it is not known which elements are written."""
    return AliasError(
        f"a write {look} into memory that it is read from, at places that are not known while the "
        "program is compiled: NumPy may read elements that it has just overwritten",
        where=resolve(here()),
        remedy="copy what is read first: x[i:j] = x[k:l:2].copy()",
    )


def _all_of(buffer: Any, like: Strides) -> Any:
    """The memory of a Buffer's root, on one axis."""
    root, inner = buffer.place.root, buffer.value
    if hasattr(inner, "place"):
        value = _all_of(inner, like)
    else:
        value = root.context.memory.view(inner, address(owner(inner)) - address(inner), like)
    return ARRAYS.shown(value, Layout(root, (0, like), value))


def _digits(count: int, unit: np.dtype[Any]) -> Iterator[tuple[int, np.ndarray]]:
    """The numbers from 1 to `count`, in digits that a dtype holds; 0 is what memory gets that holds no element."""
    bits = _EXACT.get("f" if unit.kind == "c" else unit.kind, {}).get(unit.itemsize // (1 + (unit.kind == "c")), 53)
    numbers, place = np.arange(1, count + 1), 1
    while np.any(numbers):
        yield place, numbers % (1 << bits)
        numbers >>= bits
        place <<= bits


def is_reordered(key: Any, value: Any) -> bool:
    """Whether NumPy may write at indices in another order than theirs: it goes along memory."""
    parts = key if type(key) is tuple else (key,)
    return any(map(_goes_its_own_way, (*parts, value))) and not any(map(is_abstract, parts))


def _goes_its_own_way(part: Any) -> bool:
    ground = grounded(part)
    if not isinstance(ground, np.ndarray) or not ground.ndim:
        return False
    return ground.strides[0] < 0 if ground.ndim == 1 else not ground.flags.c_contiguous


def last_written(array: np.ndarray, given: Any, key: Any, value: Any) -> Any:
    """The value of `array[given] = value`, with the element that wins at every index that names the same one."""
    ours = grounded(value)
    if not np.ndim(ours) or surviving(key, array.shape) is None:
        return value
    turned = tuple(slice(None, None, -1 if step < 0 else 1) for step in ours.strides)
    numbers = np.empty_like(ours[turned], np.intp, subok=False)[turned]
    numbers[...] = np.arange(ours.size).reshape(ours.shape)
    winners = np.zeros(array.shape, np.intp)
    winners[tuple(map(grounded, given)) if type(given) is tuple else grounded(given)] = numbers
    return np.ravel(value)[winners[key]]


def _is_known(place: Any) -> bool:
    """Whether it is known where in its root a place lies."""
    while hasattr(place, "parent"):
        if not _is_known_key(place.key):
            return False
        place = place.parent
    return True


def _is_known_key(key: Any) -> bool:
    return not any(map(_is_abstract, key if type(key) is tuple else (key,)))


def _is_abstract(part: Any) -> bool:
    return is_abstract(part.start) or is_abstract(part.stop) if type(part) is slice else is_abstract(part)
