"""How arrays and numbers from outside enter a context; those that share memory end up on one root."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bridge.arrays.buffer import Buffer, Scalar, is_weak
from bridge.arrays.operands import changed_meaning
from bridge.errors import ArgumentError
from bridge.rewind.borrowed import Borrowed, may_be_borrowed
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.memory import Strides, address, grounded, numpy_number, overlaps_itself
from bridge.rewind.ownership import weak_scalar
from bridge.rewind.places import Alias
from bridge.rewind.roots import Root
from bridge.source.subclasses import entered_as
from bridge.transforms.kinds import check_shared, entered_in, is_of_another_library


class Entering(NamedTuple):
    """A leaf of the arguments: whether it is differentiated, its name, and the number of its argument.

    `among_objects` says that objects were taken apart in that argument.
    """

    leaf: Any
    wanted: bool
    name: str
    argument: int
    among_objects: bool


def is_differentiable(leaf: Any) -> bool:
    """Whether a leaf is a float or complex array or number."""
    kind = type(leaf)
    if kind is np.ndarray:
        return leaf.dtype.kind in "fc"
    if kind is float or kind is complex:
        return True
    # Sparse matrices of SciPy have a dtype, but are no arrays.
    return getattr(getattr(leaf, "dtype", None), "kind", "") in ("f", "c") and not hasattr(kind, "tocsr")


def enter(context: Any, flat: list[Entering]) -> list[Any]:
    """The leaves as the function gets them; arrays whose memory overlaps end up on one root."""
    entered: list[Any] = [entry.leaf for entry in flat]
    arrays = []
    for k, (leaf, wanted, _, _, among_objects) in enumerate(flat):
        if type(leaf) is float:
            if wanted:
                entered[k] = _number(context, leaf)
        elif among_objects and not is_differentiable(leaf) and isinstance(leaf, np.generic):
            continue
        elif among_objects and _stays_plain(leaf, wanted):
            entered[k] = leaf.copy()
        elif isinstance(leaf, np.ndarray) or type(leaf) is Buffer:
            if type(leaf) is not np.ndarray and (context.home.is_abstract or among_objects):
                _refuse_subclasses(leaf)
            arrays.append(k)
        elif wanted and is_of_another_library(leaf):
            entered[k] = entered_in(context, leaf)
            if type(entered[k]) is ARRAYS.labelled:
                check_shared(k, flat, entered)
        elif wanted and is_differentiable(leaf):
            entered[k] = _number(context, leaf)
    for group in _groups([flat[k][0] for k in arrays]) if arrays else ():
        _enter_group(context, [arrays[member] for member in group], flat, entered)
    for k in arrays:
        leaf = flat[k].leaf
        is_plain = type(leaf) is np.ndarray or type(leaf) is Buffer
        if not (is_plain or context.home.is_abstract or flat[k].among_objects):
            entered[k] = entered_as(leaf, entered[k])
    return entered


def _stays_plain(leaf: Any, wanted: bool) -> bool:
    """Whether an array that an object holds is of a kind that is not tracked: the object gets a plain copy of it."""
    if not isinstance(leaf, np.ndarray):
        return False
    return leaf.dtype.kind not in "fciub" or (not wanted and isinstance(leaf, (np.ma.MaskedArray, np.matrix)))


def _refuse_subclasses(leaf: Any) -> None:
    if isinstance(leaf, (np.ma.MaskedArray, np.matrix)) or changed_meaning(type(leaf)):
        raise ArgumentError(
            f"an argument is a {type(leaf).__name__}, which changes what operations mean",
            remedy="pass a plain array (np.asarray), with np.where for a mask and @ for products",
        )


def _number(context: Any, leaf: Any) -> Scalar:
    """A differentiated number: Python's own stays weak in promotion, as NumPy has it."""
    if isinstance(leaf, Scalar):
        value = leaf if is_weak(leaf) else context.own_copy(leaf)
        return Scalar(value, context.entering(value, True))
    if type(leaf) in (float, complex):
        if context.outer is None:
            return ARRAYS.weak_scalar(leaf, context.entering(numpy_number(leaf), True))
        value = weak_scalar(context.outer, leaf)
    else:
        value = leaf if context.outer is None else Scalar(leaf, Root(context.outer, leaf, False))
    return Scalar(value, context.entering(value, True))


def _groups(arrays: list[Any]) -> list[list[int]]:
    """Indices of arrays, grouped by shared memory; groups in the order of the arrays, wherever their memory lies.

    What is done for arguments is part of what a run did, and a run that is tried again is to do the same.
    """
    if len(arrays) < 2:
        return [[0]] * len(arrays)
    spans = []
    for k, array in enumerate(arrays):
        low, high = np.lib.array_utils.byte_bounds(grounded(array))
        spans.append((low, max(high, low + 1), k))
    groups: list[list[int]] = []
    end = -1
    for low, high, k in sorted(spans):
        if low < end:
            groups[-1].append(k)
            end = max(end, high)
        else:
            groups.append([k])
            end = high
    return sorted(groups, key=min)


def sharing(arrays: list[Any]) -> list[list[int]]:
    """Indices of arrays, grouped by shared memory; arrays that lie between each other's elements are apart."""
    found = []
    for group in _groups(arrays):
        parts = [[0]] if len(group) == 1 else _connected([arrays[k] for k in group])
        found += [[group[k] for k in part] for part in parts]
    return found


def _enter_group(context: Any, members: list[int], flat: list[Entering], entered: list[Any]) -> None:
    first = flat[members[0]][0]
    if len(members) == 1:
        entered[members[0]] = _alone(context, first, flat[members[0]][1])
        return
    differentiated = [k for k in members if flat[k][1] and is_differentiable(flat[k][0])]
    if any(not np.shares_memory(grounded(flat[a][0]), grounded(flat[b][0])) for a in members for b in members if a < b):
        apart = _connected([flat[k][0] for k in members])
        if len(apart) > 1:
            for group in apart:
                _enter_group(context, [members[k] for k in group], flat, entered)
            return
    if len(differentiated) > 1 and not _one_holds_all([flat[k] for k in differentiated]):
        names = tuple(flat[k][2] for k in differentiated)
        for k in members:
            entered[k] = _alone(context, flat[k][0], flat[k][1])
            entered[k].place.root.shared_by = names
        return
    _one_root(context, members, flat, entered, differentiated)


def refuse_shared_writes(wanted: list[Any], tracked: list[Any], others: list[Any], entered: list[Any]) -> None:
    """Make writes raise AliasError, if they go into memory that differentiated arguments share with other arguments.

    `tracked` and `entered` are the copies of `wanted` and `others` that the function gets.
    """
    for one, part in zip(wanted, tracked, strict=True):
        for other, constant in zip(others, entered, strict=True):
            arrays = [x for x in (part, constant) if type(x) is Buffer]
            if len(arrays) == 2 and np.shares_memory(grounded(one), grounded(other)):
                for x in arrays:
                    x.place.root.shared_by = ("what is differentiated", "another argument")


def _one_holds_all(entering: list[Entering]) -> bool:
    """Whether one object holds some memory and views of it: then the gradient of each is that of its memory."""
    if not all(entry.among_objects and entry.argument == entering[0].argument for entry in entering):
        return False
    return whole_of([entry.leaf for entry in entering]) is not None


def whole_of(arrays: list[Any]) -> int | None:
    """The number of the array, without gaps, in which all of the others lie; None if there is none."""
    largest = max(range(len(arrays)), key=lambda k: arrays[k].size)
    whole = grounded(arrays[largest])
    low, high = np.lib.array_utils.byte_bounds(whole)
    bounds = [np.lib.array_utils.byte_bounds(grounded(array)) for array in arrays]
    inside = all(low <= one and other <= high for one, other in bounds)
    return largest if inside and high - low == whole.nbytes and len({a.dtype for a in arrays}) == 1 else None


def _connected(arrays: list[Any]) -> list[list[int]]:
    groups: list[list[int]] = []
    for k, array in enumerate(arrays):
        near = [g for g in groups if any(np.shares_memory(grounded(array), grounded(arrays[m])) for m in g)]
        groups = [g for g in groups if g not in near] + [[*(m for g in near for m in g), k]]
    return groups


def _alone(context: Any, array: Any, wanted: bool) -> Buffer:
    ground = grounded(array)
    if context.borrows_arguments and context.lean and may_be_borrowed(array):
        root = Borrowed(context, array.view(), wanted)
        context.roots.append(root)
        borrowed = Buffer(root.original, root)
        root.note(borrowed)
        context.originals.append((ground, borrowed))
        return borrowed
    buffer = context.buffer(array, active=wanted) if copies_alike(ground) else _strided(context, array, wanted)
    _lock_overlapping(ground, buffer)
    context.originals.append((ground, buffer))
    return buffer


def _lock_overlapping(array: np.ndarray, buffer: Any) -> None:
    """An array that overlaps itself may only be read: one write would change several elements of the original."""
    if not array.flags.c_contiguous and overlaps_itself(array):
        grounded(buffer).flags.writeable = False


def copies_alike(array: np.ndarray) -> bool:
    """Whether a plain copy lies as `array` does, so that reshapes of both alias or copy alike.

    NumPy computes functions of float32 in another way where a stride is negative, also of a single element.
    """
    if array.size == 1:
        return min(array.strides, default=0) >= 0
    if array.flags.c_contiguous or array.flags.f_contiguous or overlaps_itself(array):
        return True
    return np.empty_like(array, order="K", subok=False).strides == array.strides


def _strided(context: Any, array: Any, wanted: bool) -> Buffer:
    """A copy of a strided array that lies in its root as the array lies in its memory."""
    ground = grounded(array)
    low, high = np.lib.array_utils.byte_bounds(ground)
    if (high - low) % ground.itemsize or (address(ground) - low) % ground.itemsize:
        return context.buffer(array, active=wanted)
    whole = context.buffer(np.zeros((high - low) // ground.itemsize, ground.dtype), active=wanted)
    view = whole.view_as(address(ground) - low, Strides(ground.shape, ground.strides, ground.dtype))
    view.value[...] = array
    return view


def _one_root(context: Any, members: list[int], flat: list[Any], entered: list[Any], differentiated: list[int]) -> None:
    """Arrays on shared memory, at most one of them differentiated unless it holds all others: one root over them."""
    arrays = [flat[k][0] for k in members]
    kinds = {array.dtype for array in arrays}
    if len(kinds) > 1:
        raise ArgumentError("arguments share memory under different dtypes", remedy="pass copies (x.copy())")
    low = min(np.lib.array_utils.byte_bounds(grounded(array))[0] for array in arrays)
    high = max(np.lib.array_utils.byte_bounds(grounded(array))[1] for array in arrays)
    item = arrays[0].dtype.itemsize
    if any((address(array) - low) % item for array in arrays):
        raise ArgumentError("arguments share memory at odd offsets", remedy="pass copies (x.copy())")
    whole = np.zeros((high - low) // item, arrays[0].dtype)
    root = context.buffer(whole, active=bool(differentiated))
    # Those that carry an outer context's gradient come last: what the others hold of the same elements is constant.
    for k, array in sorted(zip(members, arrays, strict=True), key=lambda one: _carries(one[1])):
        ground = grounded(array)
        view = root.view_as(address(array) - low, Strides(ground.shape, ground.strides, ground.dtype))
        view.value[...] = array
        _lock_overlapping(ground, view)
        context.originals.append((ground, view))
        if differentiated and k not in differentiated:
            view.place.parent = view.place.top = Alias(root.place, None, root.value)
        entered[k] = view


def _carries(array: Any) -> bool:
    """Whether an array carries a gradient of an outer context."""
    if not hasattr(array, "place") or not array.place.context.differentiates:
        return False
    return bool(array.place.active) or _carries(array.value)
