"""NumPy functions that the core handles itself: writes lowered to assignments, and questions about shape."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bridge.arrays import creation
from bridge.arrays.buffer import is_weak
from bridge.arrays.call_forms import known_options
from bridge.arrays.dispatch import HANDLED, call_by_rule
from bridge.arrays.operands import context_of, into_plain, operand
from bridge.arrays.outputs import IN_PARTS
from bridge.arrays.overlapping import as_read, is_unbuffered, shares
from bridge.arrays.views import view_at
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.indices import VIEW
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.memory import grounded
from bridge.rewind.values import concrete, is_abstract, settled


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """`dst[...] = src`, where the mask says so."""
    if not hasattr(dst, "place"):
        own = into_plain(context_of((src, where)), np.copyto, (src,), dst)
        if own is not dst:
            copyto(own, src, casting, where)
            return
        np.copyto(dst, concrete(src, "np.copyto"), casting, concrete(where, "np.copyto"))
        return
    _let_numpy_refuse(lambda one, values: np.copyto(np.empty(np.shape(values), one.dtype), values, casting), dst, src)
    src = operand(src)
    kind = getattr(src, "dtype", None)
    if kind is not None and not np.can_cast(kind, dst.dtype, casting):
        raise TypeError(f"Cannot cast array data from {kind!r} to {dst.dtype!r} according to the rule {casting!r}")
    if where is True:
        dst[...] = creation.as_memory(src, dst.dtype)
        return
    if is_abstract(where):
        dst[...] = np.where(where, src, dst)
        return
    where = grounded(where)
    where = where if isinstance(where, np.ndarray) else np.array(where, bool)
    if where.dtype != bool:
        np.copyto(np.empty(dst.shape), 0, where=where)
    mask = np.broadcast_to(where, dst.shape)
    if type(src) is ARRAYS.buffer and is_unbuffered(VIEW, ..., dst, dst, src) and shares(dst, src):
        dst[mask] = as_read(dst, src, partial(np.copyto, casting=casting, where=mask), mask)
    else:
        dst[mask] = np.broadcast_to(src, dst.shape)[mask]


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """`a.flat[ind] = v`, values repeated as needed."""
    a = _must_be_tracked(a, v, np.put)
    _let_numpy_refuse(lambda one, values: np.put(one, [0], values), a, v)
    a = a if a.shape else a[None]
    indices = np.ravel(settled(operand(ind)))
    if mode != "raise":
        indices = indices % a.size if mode == "wrap" else np.clip(indices, 0, a.size - 1)
    elif not is_abstract(indices):
        outside = np.flatnonzero((indices < -a.size) | (indices >= a.size))
        if outside.size:
            before = int(outside[0])
            if grounded(a).flags.c_contiguous and not (type(v) is ARRAYS.buffer and shares(a, v)):
                # NumPy looks at an index when it has written at the ones before it, but for copies of its own.
                put(a, indices[:before], _repeated(v, indices.size)[:before] if np.ndim(v) else v)
            raise IndexError(f"index {indices[before]} is out of bounds for axis 0 with size {a.size}")
    if indices.size:
        a[_unravelled(np.where(indices < 0, indices + a.size, indices), a.shape)] = _repeated(v, indices.size)


def _unravelled(indices: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    if not is_abstract(indices):
        return np.unravel_index(indices, shape)
    found: list[Any] = []
    for length in reversed(shape):
        found.insert(0, indices % length)
        indices = indices // length
    return tuple(found)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """`arr[mask] = vals`, values repeated as needed."""
    arr = _must_be_tracked(arr, vals, np.place)
    chosen = np.asarray(concrete(mask, "np.place"), bool).reshape(arr.shape)
    count = int(np.count_nonzero(chosen))
    _let_numpy_refuse(lambda one, values: np.place(one, [count > 0], values), arr, vals)
    if count:
        if type(vals) is ARRAYS.buffer and shares(arr, vals):
            vals = as_read(arr, vals, lambda ours, theirs: np.place(ours, chosen, theirs), chosen)
        elif arr.dtype.kind == "i" and creation.tracked_inside(vals):
            vals = creation.array(vals, arr.dtype, copy=None)
        arr[chosen] = _repeated(vals, count)


def putmask(a: Any, mask: Any, values: Any) -> None:
    """`a.flat[n] = values[n % values.size]` where the mask is true."""
    a = _must_be_tracked(a, values, np.putmask)
    _let_numpy_refuse(lambda one, given: np.putmask(one, [True], given), a, values)
    spread = _repeated(values, a.size)
    if is_abstract(mask):
        a[...] = np.where(mask, np.reshape(spread, a.shape) if getattr(spread, "shape", ()) else spread, a)
        return
    chosen = np.asarray(grounded(mask), bool).reshape(a.shape)
    a[chosen] = spread.reshape(a.shape)[chosen] if getattr(spread, "shape", ()) else spread


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write the main diagonal."""
    if isinstance(val, (list, tuple)) and creation.tracked_inside(val):
        val = creation.array(val, copy=None)
    a = _must_be_tracked(a, val, np.fill_diagonal)
    _let_numpy_refuse(lambda one, values: np.fill_diagonal(one[None], values), a, val)
    sample = np.zeros(a.shape, bool)
    np.fill_diagonal(sample, True, wrap)
    picked = np.nonzero(sample)
    if type(val) is ARRAYS.buffer and shares(a, val):
        val = as_read(a, val, partial(np.fill_diagonal, wrap=wrap), picked)
    if picked[0].size:
        a[picked] = _repeated(val, picked[0].size)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    """Write values at the indices along one axis."""
    arr = _must_be_tracked(arr, values, np.put_along_axis)
    chosen = settled(indices)
    if axis is None:
        arr[np.unravel_index(np.ravel(chosen), arr.shape)] = values
        return
    axis = axis % arr.ndim
    grid = [np.arange(n).reshape((-1,) + (1,) * (arr.ndim - k - 1)) for k, n in enumerate(arr.shape)]
    grid[axis] = chosen
    arr[tuple(grid)] = values


def _must_be_tracked(target: Any, values: Any, function: Any) -> Any:
    """What is written into; raises if it is a plain array that stays one."""
    if not hasattr(target, "place"):
        own = into_plain(context_of((values,)), function, (values,), target)
        if own is not target:
            return own
        raise RefusedError(
            f"np.{function.__name__} into a plain array with a tracked index or mask",
            where=resolve(here()),
            remedy="use bridge.detach for the index, or a tracked target",
        )
    return target


def _let_numpy_refuse(write: Callable[[np.ndarray, Any], Any], target: Any, values: Any) -> None:
    """Raise what NumPy raises where values do not fit an array of integers: it is asked to `write` them into one."""
    is_tracked = hasattr(values, "place")
    if target.dtype.kind not in "iub" or (is_weak(values) if is_tracked else context_of((values,)) is not None):
        return
    given = values
    if is_tracked and not hasattr(values, "view_as"):
        given = values.dtype.type(0)  # NumPy lets a number of another dtype pass where it refuses an array of them
    elif is_tracked or isinstance(values, np.ndarray):
        given = np.zeros(1, values.dtype)
    write(np.empty(1, target.dtype), given)


def _repeated(values: Any, count: int) -> Any:
    values = operand(values)
    if not getattr(values, "shape", ()):
        return values
    flat = np.ravel(values)
    return flat if flat.shape[0] == count else np.take(flat, np.arange(count) % flat.shape[0])


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """Read-only views of the arguments, broadcast against each other."""
    shape = np.broadcast_shapes(*(np.shape(x) for x in args))
    return tuple(np.broadcast_to(x, shape) for x in args)


def array_function(name: str) -> Callable[..., Any]:
    """The NumPy function of this name, asked of the plain values."""

    def ask(a: Any, *args: Any, **kwargs: Any) -> Any:
        plain = grounded(a) if hasattr(a, "place") else [grounded(part) for part in a]
        return getattr(np, name)(plain, *args, **kwargs)

    return ask


def as_strided(buffer: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True) -> Any:
    """`np.lib.stride_tricks.as_strided` of a Buffer; self-overlapping views may only be read."""
    context = buffer.place.context
    context.check_usable()
    base = grounded(buffer)
    view = np.lib.stride_tricks.as_strided(base, shape, strides, writeable=writeable)
    if context.outer is None:
        return view_at(buffer, view)
    return buffer.view_as(0, view)


def sliding_window_view(x: Any, *args: Any, **kwargs: Any) -> Any:
    """`np.lib.stride_tricks.sliding_window_view` of a Buffer; such a view may only be read."""
    x.place.context.check_usable()
    if is_abstract(x):
        (_, *known), kwargs = known_options(np.lib.stride_tricks.sliding_window_view, (x, *args), kwargs)
        args = tuple(known)
    kwargs.pop("writeable", None)
    kwargs.pop("subok", None)
    return view_at(x, np.lib.stride_tricks.sliding_window_view(x.value, *args, **kwargs))


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """`np.nan_to_num`; with copy=False the result is written into `x`."""
    given: dict[str, tuple[Callable[..., Any], Any]]
    given = {"nan": (np.isnan, nan), "posinf": (np.isposinf, posinf), "neginf": (np.isneginf, neginf)}
    tracked = [name for name, (_, value) in given.items() if context_of((value,)) is not None]
    if tracked and np.iscomplexobj(x):
        raise RefusedError(
            f"np.nan_to_num of complex numbers with a tracked {tracked[0]}=",
            where=resolve(here()),
            remedy="replace them by np.where in the real and the imaginary parts",
        )
    others = {name: value for name, (_, value) in given.items() if name not in tracked}
    is_plain = context_of((x,)) is None
    result: Any = np.nan_to_num(x, **others) if is_plain else call_by_rule(np.nan_to_num, (x,), others)
    for name in tracked:
        is_one, value = given[name]
        result = np.where(is_one(x), value, result)
    if copy:
        return result
    x[...] = result
    return x


def concatenate_into(arrays: Any, axis: Any = 0, *, out: Any, dtype: Any = None, casting: str = "same_kind") -> None:
    """`np.concatenate` with `out=`: array after array is written, and the next one read from what memory holds then."""
    parts = [np.ravel(x) for x in arrays] if axis is None else arrays
    start, before = 0, (slice(None),) * (0 if axis is None else axis % out.ndim)
    for part in parts:
        stop = start + part.shape[len(before)]
        out[(*before, slice(start, stop))] = part
        start = stop


def stack_into(arrays: Any, axis: int = 0, *, out: Any, dtype: Any = None, casting: str = "same_kind") -> None:
    """`np.stack` with `out=`, likewise."""
    before = (slice(None),) * (axis % out.ndim)
    for k, part in enumerate(arrays):
        out[(*before, slice(k, k + 1))] = np.expand_dims(part, axis % out.ndim)


IN_PARTS |= {np.concatenate: concatenate_into, np.stack: stack_into}

HANDLED |= {
    np.copyto: copyto,
    np.put: put,
    np.place: place,
    np.putmask: putmask,
    np.fill_diagonal: fill_diagonal,
    np.put_along_axis: put_along_axis,
    np.lib.stride_tricks.sliding_window_view: sliding_window_view,
    np.broadcast_arrays: broadcast_arrays,
    np.nan_to_num: nan_to_num,
    np.shape: array_function("shape"),
    np.ndim: array_function("ndim"),
    np.size: array_function("size"),
    np.zeros_like: creation.zeros_like,
    np.ones_like: creation.ones_like,
    np.empty_like: creation.empty_like,
    np.full_like: creation.full_like,
    np.copy: creation.copy,
}
