"""Index keys: which are basic, what they freeze to, and which writes survive duplicates."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.memory import grounded

VIEW, ELEMENT, ADVANCED = "view", "element", "advanced"

_SLICES = frozenset({slice, type(None), type(Ellipsis)})


def kind_of(key: Any, ndim: int) -> str:
    """Whether indexing an array of `ndim` axes with `key` gives a view, an element, or a gathered copy."""
    kind = type(key)
    if kind is slice:
        return VIEW
    if kind is int:
        return ELEMENT if ndim == 1 else VIEW
    if kind is not tuple:
        if kind in _SLICES:
            return VIEW
        return ADVANCED if not _is_integer(key) else ELEMENT if ndim == 1 else VIEW
    integers = 0
    for part in key:
        kind = type(part)
        if kind is int:
            integers += 1
        elif kind not in _SLICES:
            if not _is_integer(part):
                return ADVANCED
            integers += 1
    return ELEMENT if integers == ndim == len(key) else VIEW


def frozen(key: Any) -> Any:
    """The same key, with arrays and lists copied, so that later changes of theirs do not reach the log."""
    if type(key) in _SLICES or type(key) is int:
        return key
    if type(key) is tuple:
        return tuple(map(frozen, key))
    if type(key) is list:
        return np.array([grounded(part) for part in key]) if key else np.empty(0, np.intp)
    ground = grounded(key)
    if isinstance(ground, np.ndarray):
        return ground.copy()
    return ground


def is_unique_by_type(key: Any) -> bool:
    """Whether a frozen advanced key cannot name an element twice: its only arrays are boolean masks."""
    parts = key if type(key) is tuple else (key,)
    return not any(isinstance(part, np.ndarray) and part.dtype != np.bool_ for part in parts)


def surviving(key: Any, shape: tuple[int, ...]) -> Any:
    """Where in the picked region a write with this frozen key survives; None if all of it does.

    A repeated index keeps the value that was written last. The answer broadcasts against the region.
    Costs the elements picked, not the array.
    """
    if is_unique_by_type(key):
        return None
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
    return isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_))
