"""Arrays that a program which is read makes: NumPy's creators, converters and joins.

They stay plain until a tracked value is written into them; only a program that is compiled makes them tracked at once.
Lists of tracked numbers become tracked arrays. Functions that hide arguments from NumPy's dispatch are dispatched here.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

import bridge.numpy as tracked_numpy
from bridge.arrays import creation, dispatch
from bridge.arrays.buffer import is_weak
from bridge.arrays.tracked import is_tracked
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.interpreter import current_context
from bridge.rewind.values import is_abstract
from bridge.source import callees, lending
from bridge.source.callees import SPECIAL
from bridge.source.keeping import any_tracked, holds_tracked
from bridge.source.targets import carries

_CREATORS = (
    "arange", "bartlett", "blackman", "empty", "eye", "frombuffer", "fromfunction", "fromstring", "full", "genfromtxt",
    "hamming", "hanning", "identity", "indices", "kaiser", "load", "loadtxt", "ones", "tri", "tril_indices",
    "triu_indices", "zeros", "empty_like", "full_like", "ones_like", "zeros_like", "geomspace", "linspace", "logspace",
)  # fmt: skip
_CONVERTERS = ("array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite")
_SHOWING_SOME = (np.fill_diagonal, np.interp, np.nan_to_num, np.pad, np.repeat, np.roll, np.take)
_PLAIN_SEQUENCES = frozenset({list, tuple, str, bytes, bytearray, memoryview, range})
_JOIN = ("concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack")


def _creator(plain: Callable[..., Any], tracked: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain, updated=())
    def create(*args: Any, **kwargs: Any) -> Any:
        context = current_context()
        if any_tracked(args, kwargs) and context is not None:
            return tracked(*args, **kwargs)
        if context is None:
            return plain(*args, **kwargs)
        if not context.home.is_abstract:
            made = plain(*args, **kwargs)
            return made if context.loan is None else context.loan.made(made)
        if plain is np.arange:
            # Indices are best known while a program is compiled.
            made = plain(*args, **kwargs)
            return made if made.dtype.kind in "iu" else tracked(*args, **kwargs)
        return tracked(*args, **kwargs)

    return create


def _converter(plain: Callable[..., Any], tracked: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain, updated=())
    def convert(x: Any, *args: Any, **kwargs: Any) -> Any:
        context = current_context()
        if context is None:
            return plain(x, *args, **kwargs)
        x = _converted(x)
        if lending.COUNT.number:
            x = _with_lent(x)
        if context.home.is_abstract or creation.tracked_inside(x):
            return tracked(x, *args, **kwargs)
        return plain(x, *args, **kwargs)

    return convert


def _converted(x: Any) -> Any:
    """What an object of the program's converts itself into, and a list of what is in another sequence."""
    method = None if is_tracked(x) else getattr(type(x), "__array__", None)
    if type(method) is FunctionType:
        called = callees.of(method)
        return x if called is method else called(x)
    is_listed = isinstance(x, Sequence) and type(x) not in _PLAIN_SEQUENCES
    return list(x) if is_listed and any_tracked(x, {}) else x


def _require(a: Any, dtype: Any = None, requirements: Any = None, **kwargs: Any) -> Any:
    """`np.require`, of what carries a gradient."""
    if not carries(a) or kwargs:
        return np.require(a, dtype, requirements, **kwargs)
    names = {requirements} if isinstance(requirements, str) else set(requirements or ())
    # NumPy's own errors, of what is not asked for together or is not known.
    np.require(0.0, requirements=requirements)
    wanted = {one.upper()[0] for one in names}
    made = tracked_numpy.asarray(a, dtype, order="F" if "F" in wanted else "C" if "C" in wanted else "K")
    return made.copy() if "O" in wanted and made.place.root is not made.place else made


def _with_lent(x: Any) -> Any:
    """A list with what stands for the arrays in it that are lent."""
    if type(x) in (list, tuple):
        return [_with_lent(part) for part in x]
    found = lending.lent_to(x) if type(x) is np.ndarray else None
    return x if found is None else found


def _new_array(*args: Any, **kwargs: Any) -> Any:
    """`np.ndarray(shape, dtype)`."""
    context = current_context()
    given = dict(zip(("shape", "dtype", "buffer", "offset", "strides", "order"), args, strict=False)) | kwargs
    if context is None or not context.home.is_abstract or not given.keys() <= {"shape", "dtype", "order"}:
        return np.ndarray(*args, **kwargs)
    return tracked_numpy.empty(given["shape"], given.get("dtype", float), given.get("order") or "C")


def _number_type(kind: Any) -> Callable[..., Any]:
    """`np.float64(x)` and its kin."""

    @functools.wraps(kind, updated=())
    def convert(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and holds_tracked(args[0]):
            x = creation.array(args[0], copy=None) if isinstance(args[0], (list, tuple)) else args[0]
            return x.astype(kind)
        return kind(*args, **kwargs)

    return convert


def _integer_type(kind: Any) -> Callable[..., Any]:
    """`np.int8(x)` and its kin; where the number is known, they make a plain one of it."""

    @functools.wraps(kind, updated=())
    def convert(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and is_abstract(args[0]):
            x = args[0]
            return creation.array([x], kind)[0] if is_weak(x) else x.astype(kind)
        return kind(*args, **kwargs)

    return convert


def _fromiter(values: Any, dtype: Any = float, count: int = -1, **kwargs: Any) -> Any:
    if current_context() is None:
        return np.fromiter(values, dtype, count, **kwargs)
    listed = list(values if count < 0 else itertools.islice(values, count))
    if not listed or not holds_tracked(listed):
        return np.fromiter(listed, dtype, count, **kwargs)
    return creation.array(listed, dtype)


def _joining(plain: Callable[..., Any], *where: int) -> Callable[..., Any]:
    """A function that joins arrays: lists of tracked numbers among them become arrays."""

    @functools.wraps(plain, updated=())
    def join(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], (list, tuple)) and holds_tracked(args[0]):
            args = ([creation.array(x) if _is_list(x) else x for x in args[0]], *args[1:])
        args = tuple(creation.array(x) if k in where and _is_list(x) else x for k, x in enumerate(args))
        return plain(*args, **kwargs)

    return join


def _is_list(x: Any) -> bool:
    return isinstance(x, (list, tuple)) and holds_tracked(x) and creation.tracked_inside(x)


class _Joined:
    """`np.r_` or `np.c_` with tracked values among what is joined."""

    def __init__(self, plain: Any, columns: bool) -> None:
        self.plain = plain
        self.columns = columns

    def __getitem__(self, key: Any) -> Any:
        parts = key if type(key) is tuple else (key,)
        if not holds_tracked(list(parts)):
            return self.plain[key]
        if any(isinstance(part, str) for part in parts):
            raise RefusedError(
                f"np.{'c' if self.columns else 'r'}_ with {parts[0]!r} of tracked arrays",
                where=resolve(here()),
                remedy="write np.concatenate, np.stack or np.column_stack",
            )
        arrays = [np.r_[part] if isinstance(part, slice) else tracked_array(part) for part in parts]
        if self.columns:
            arrays = [np.reshape(x, (-1, 1)) if len(np.shape(x)) < 2 else x for x in arrays]
            return np.concatenate(arrays, axis=-1)
        return np.concatenate([np.reshape(x, (1,)) if np.shape(x) == () else x for x in arrays], axis=0)


def tracked_array(x: Any) -> Any:
    """Anything as an array: tracked, if there is something tracked in it."""
    return creation.array(x, copy=None) if creation.tracked_inside(x) else np.asanyarray(x)


def _with_all_arguments(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A function that shows only some of its arguments to `__array_function__`, dispatched on all of them.

    NumPy would run `np.pad(plain, 1, constant_values=x)`, `np.fill_diagonal(plain, x)` or `np.take(plain, traced)`
    on the tracked value itself.
    """

    @functools.wraps(plain, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if any_tracked(args, kwargs) and current_context() is not None:
            return dispatch.call(plain, args, kwargs)
        return plain(*args, **kwargs)

    return call


SPECIAL.update({getattr(np, name): _creator(getattr(np, name), getattr(tracked_numpy, name)) for name in _CREATORS})
SPECIAL.update({getattr(np, name): _converter(getattr(np, name), getattr(tracked_numpy, name)) for name in _CONVERTERS})
SPECIAL.update(
    {kind: _number_type(kind) for kind in (np.float64, np.float32, np.complex128, np.complex64, np.longdouble)}
)
SPECIAL.update({kind: _integer_type(kind) for kind in {np.dtype(code).type for code in np.typecodes["AllInteger"]}})
SPECIAL.update({getattr(np, name): _joining(getattr(np, name)) for name in _JOIN})
SPECIAL.update(
    {
        np.require: _require,
        np.append: _joining(np.append, 0, 1),
        np.ndarray: _new_array,
        np.fromiter: _fromiter,
        np.r_: _Joined(np.r_, columns=False),
        np.c_: _Joined(np.c_, columns=True),
        np.lib.stride_tricks.as_strided: tracked_numpy.lib.stride_tricks.as_strided,
    }
)
SPECIAL.update({plain: _with_all_arguments(plain) for plain in _SHOWING_SOME})
