"""Index keys: which are basic, what they freeze to, and which writes survive duplicates."""

from __future__ import annotations

import operator
from contextlib import suppress
from typing import Any

import numpy as np

from bridge.rewind.memory import copied_alike, grounded
from bridge.rewind.values import ground_floor, is_abstract, is_abstract_integer, note_plain, settled

VIEW, ELEMENT, ADVANCED = "view", "element", "advanced"

BOUNDS = frozenset({int, type(None), *(np.dtype(code).type for code in np.typecodes["AllInteger"])})
_NOTHING_PICKED = frozenset({type(None), type(Ellipsis)})


def kind_of(key: Any, ndim: int) -> str:
    """Whether indexing an array of `ndim` axes with `key` gives a view, an element, or a gathered copy."""
    kind = type(key)
    if kind is int:
        return ELEMENT if ndim == 1 else VIEW
    if kind is not tuple:
        if kind in _NOTHING_PICKED or _is_plain_slice(key):
            return VIEW
        return ADVANCED if not _is_integer(key) else ELEMENT if ndim == 1 else VIEW
    integers = 0
    for part in key:
        kind = type(part)
        if kind is int:
            integers += 1
        elif kind not in _NOTHING_PICKED and not _is_plain_slice(part):
            if not _is_integer(part):
                return ADVANCED
            integers += 1
    return ELEMENT if integers == ndim == len(key) else VIEW


def is_of_integers(key: Any) -> bool:
    """Whether a key is a plain integer, or a tuple of these."""
    if type(key) is int:
        return True
    if type(key) is not tuple or not key:
        return False
    if len(key) == 2:
        return type(key[0]) is type(key[1]) is int
    return all([type(part) is int for part in key])


def _is_plain_slice(part: Any) -> bool:
    """Whether a slice has bounds that cannot change: 0-d arrays and objects with `__index__` can."""
    return type(part) is slice and _is_bound(part.start) and _is_bound(part.stop) and type(part.step) in BOUNDS


def _is_bound(bound: Any) -> bool:
    return type(bound) in BOUNDS or is_abstract_integer(bound)


def is_known(key: Any) -> bool:
    """Whether a basic key holds no number that is known only when a compiled program runs."""
    parts = key if type(key) is tuple else (key,)
    bounds = [bound for part in parts if type(part) is slice for bound in (part.start, part.stop)]
    return not any(map(is_abstract, (*parts, *bounds)))


def frozen(key: Any) -> Any:
    """The same key as integers, slices of integers and fresh arrays: later changes do not reach the log."""
    return tuple(map(_frozen_part, key)) if type(key) is tuple else _frozen_part(key)


def _frozen_part(part: Any) -> Any:
    if type(part) is int or type(part) in _NOTHING_PICKED:
        return part
    if type(part) is slice:
        return slice(_bound(part.start), _bound(part.stop), _bound(part.step))
    if is_abstract(part):
        return settled(part)
    if isinstance(part, (list, tuple)) and any(map(is_abstract, part)):
        return settled(np.stack(part))
    ground = [grounded(one) for one in part] if isinstance(part, (list, tuple)) else grounded(part)
    if isinstance(ground, np.ndarray):
        note_plain(ground)
        # NumPy lays out what it picks as the index lies.
        return copied_alike(ground)
    if not isinstance(ground, (bool, np.bool_)) and hasattr(ground, "__index__"):
        with suppress(TypeError):  # an array of another library
            return operator.index(ground)
    if not hasattr(ground, "__len__") and not hasattr(ground, "__array__"):
        return ground
    array = np.array(ground)
    return array if array.size else array.astype(np.intp)


def _bound(bound: Any) -> Any:
    if type(bound) in BOUNDS:
        return bound
    return ground_floor(bound) if is_abstract_integer(bound) else operator.index(bound)


def is_unique_by_type(key: Any) -> bool:
    """Whether a frozen advanced key cannot name an element twice: its only arrays are boolean masks."""
    parts = key if type(key) is tuple else (key,)
    return not any(hasattr(part, "shape") and part.dtype != np.bool_ for part in parts)


def surviving(key: Any, shape: tuple[int, ...]) -> Any:
    """Where in the picked region a write with this frozen key survives; None if all of it does.

    A repeated index keeps the value that was written last. The answer broadcasts against the region.
    Costs the elements picked, not the array.
    """
    if is_unique_by_type(key):
        return None
    for part in key if type(key) is tuple else (key,):
        if is_abstract(part):
            return part.place.context.home.survivors(key, shape)
    codes, position, ndim = _codes(key, shape)
    flat = codes.ravel()
    order = np.unique(flat, return_inverse=True)[1]
    count = int(order.max(initial=-1)) + 1
    if count == flat.size:
        return None
    winner = np.empty(count, np.intp)
    winner[order] = np.arange(flat.size)
    survives = np.zeros(flat.size, bool)
    survives[winner] = True
    return survives.reshape(codes.shape + (1,) * (ndim - position - codes.ndim))


def _codes(key: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, int, int]:
    """One number for each tuple of advanced indices, where its axes start in the result, and the result's ndim."""
    parts = list(key) if type(key) is tuple else [key]
    if not any(part is Ellipsis for part in parts):
        parts.append(Ellipsis)
    taken = sum(_axes_of(part) for part in parts)
    at = next(k for k, part in enumerate(parts) if part is Ellipsis)
    width = len(shape) - taken
    parts[at : at + 1] = [slice(None)] * width
    arrays: list[np.ndarray] = []
    sizes: list[int] = []
    places: list[int] = []
    axis = 0
    basic_before: list[int] = []
    basic = 0
    for number, part in enumerate(parts):
        if part is None or isinstance(part, slice):
            basic += 1
            axis += part is not None
            continue
        picked = np.asarray(part)
        if picked.dtype == np.bool_ and picked.ndim == 0:
            arrays.append(np.zeros(int(picked), np.intp))
            sizes.append(1)
        else:
            for index in picked.nonzero() if picked.dtype == np.bool_ else (picked,):
                arrays.append(np.where(index < 0, index + shape[axis], index))
                sizes.append(shape[axis])
                axis += 1
        places.append(number + (width == 0 and number >= at))  # an ellipsis separates also where it stands for no axis
        basic_before.append(basic)
    broadcast = np.broadcast_arrays(*arrays)
    codes = np.ravel_multi_index(tuple(broadcast), tuple(sizes))
    adjacent = places == list(range(places[0], places[0] + len(places)))
    return codes, basic_before[0] if adjacent else 0, basic + codes.ndim


def _axes_of(part: Any) -> int:
    if part is None or part is Ellipsis or isinstance(part, (bool, np.bool_)):
        return 0
    if isinstance(part, np.ndarray) and part.dtype == np.bool_:
        return part.ndim
    return 1


def _is_integer(part: Any) -> bool:
    return (isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_))) or is_abstract_integer(part)


def scatter(function: np.ufunc, array: Any, key: Any, value: Any, shape: tuple[int, ...] | None = None) -> None:
    """`function.at`; `shape` is that of the picked region, if it is known.

    NumPy 2.4 reads beyond the memory of values that have fewer axes than their index, so they are given all axes.
    """
    if isinstance(value, np.ndarray) and isinstance(array, np.ndarray) and value.ndim:
        shape = array[key].shape if shape is None else shape
        value = np.broadcast_to(value, shape) if value.ndim < len(shape) else value
    function.at(array, key, value)
