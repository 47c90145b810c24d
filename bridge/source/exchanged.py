"""Functions of Python's and NumPy's that are called in another way in a program that is read.

Arrays that the program makes stay plain until a tracked value is written into them; only a program that is compiled
makes them tracked at once. Lists of tracked numbers become tracked arrays.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import bridge.numpy as tracked_numpy
from bridge.arrays import creation
from bridge.arrays.buffer import WeakScalar
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.escapes import detach
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.memory import grounded
from bridge.rewind.values import is_abstract
from bridge.source import borrowing, callees, lending
from bridge.source.callees import METHODS, OF_KIND, SPECIAL
from bridge.source.floats import as_float
from bridge.source.keeping import Attributes, Contents, holds_tracked
from bridge.source.special_methods import with_operand

_CREATORS = (
    "arange", "bartlett", "blackman", "empty", "eye", "frombuffer", "fromfunction", "fromstring", "full", "genfromtxt",
    "hamming", "hanning", "identity", "indices", "kaiser", "load", "loadtxt", "ones", "tri", "tril_indices",
    "triu_indices", "zeros", "empty_like", "full_like", "ones_like", "zeros_like", "geomspace", "linspace", "logspace",
)  # fmt: skip
_JOIN = ("concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack")
_CONVERTERS = ("array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite")


def _any_tracked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return any(map(holds_tracked, args)) or (bool(kwargs) and any(map(holds_tracked, kwargs.values())))


def _creator(plain: Callable[..., Any], tracked: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain, updated=())
    def create(*args: Any, **kwargs: Any) -> Any:
        context = current_context()
        if context is None or not (context.home.is_abstract or _any_tracked(args, kwargs)):
            return plain(*args, **kwargs)
        return tracked(*args, **kwargs)

    return create


def _converter(plain: Callable[..., Any], tracked: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain, updated=())
    def convert(x: Any, *args: Any, **kwargs: Any) -> Any:
        context = current_context()
        if context is None:
            return plain(x, *args, **kwargs)
        if lending.LENT:
            x = _with_lent(x)
        if context.home.is_abstract or creation.tracked_inside(x):
            return tracked(x, *args, **kwargs)
        return plain(x, *args, **kwargs)

    return convert


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


def _fromiter(values: Any, dtype: Any = float, count: int = -1, **kwargs: Any) -> Any:
    if current_context() is None:
        return np.fromiter(values, dtype, count, **kwargs)
    listed = list(values if count < 0 else itertools.islice(values, count))
    if not listed or not holds_tracked(listed):
        return np.fromiter(listed, dtype, count, **kwargs)
    return creation.array(listed, dtype)


def _complex(*args: Any, **kwargs: Any) -> Any:
    """`complex(re, im)`."""
    if not _any_tracked(args, kwargs):
        return complex(*args, **kwargs)
    given = dict(zip(("real", "imag"), args, strict=False)) | kwargs
    return given.get("real", 0.0) + 1j * given.get("imag", 0.0)


def _isinstance(value: Any, kinds: Any) -> bool:
    """`isinstance`: a Buffer is an array, and a Scalar is a number, to a program that checks its arguments."""
    if isinstance(value, kinds):
        return True
    if not hasattr(value, "place"):
        return False
    listed = kinds if isinstance(kinds, tuple) else getattr(kinds, "__args__", (kinds,))
    stands_for = _stands_for(value)
    return any(_isinstance(value, kind) if isinstance(kind, tuple) else issubclass(stands_for, kind) for kind in listed)


def _stands_for(value: Any) -> type:
    """The type of what a tracked value stands for."""
    if hasattr(value, "view_as"):
        return np.ndarray
    if isinstance(value, WeakScalar):
        return complex if value.dtype.kind == "c" else float
    kind: type = value.dtype.type
    return kind


def _type(*args: Any, **kwargs: Any) -> Any:
    """`type(x)` of a tracked value: what it would be in the program."""
    if len(args) == 1 and not kwargs and hasattr(args[0], "place"):
        return _stands_for(args[0])
    return type(*args, **kwargs)


def _repr(value: Any) -> str:
    """`repr(x)` of a tracked value: of what it holds."""
    return repr(detach(value) if holds_tracked(value) else value)


def _int(*args: Any, **kwargs: Any) -> Any:
    """`int(x)` of a tracked number: its derivative is zero wherever it has one, as that of `astype(int)` is."""
    if len(args) == 1 and hasattr(args[0], "place") and args[0].size == 1 and not is_abstract(args[0]):
        context = args[0].place.context
        context.check_usable()
        context.left(args[0], "int(...)")
        return int(grounded(args[0]))
    return int(*args, **kwargs)


def _isscalar(element: Any) -> bool:
    """`np.isscalar`: of a tracked number, too."""
    return bool(np.isscalar(element)) or (hasattr(element, "place") and not hasattr(element, "view_as"))


def _ndenumerate(array: Any) -> Any:
    """`np.ndenumerate`."""
    return ((at, array[at]) for at in np.ndindex(array.shape)) if hasattr(array, "view_as") else np.ndenumerate(array)


def _generator_manager(function: Any, args: Any, kwargs: Any) -> Any:
    """What a function decorated by `contextlib.contextmanager` returns, of a generator that is read."""
    return contextlib._GeneratorContextManager(callees.of(function), args, kwargs)


def _cached(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of what `functools.lru_cache` made: tracked values are no keys."""
    if _any_tracked(args, kwargs):
        return callees.of(function.__wrapped__)(*args, **kwargs)
    return ARRAYS.seen(function(*args, **kwargs))


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


def _with_functions(plain: Callable[..., Any], *where: int | str) -> Callable[..., Any]:
    """A function that takes functions, at these positions or under these names: they are read."""

    @functools.wraps(plain, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        args = tuple(callees.of(x) if k in where and callable(x) else x for k, x in enumerate(args))
        kwargs = {name: callees.of(x) if name in where and callable(x) else x for name, x in kwargs.items()}
        return plain(*args, **kwargs)

    return call


def _vectorize(*args: Any, **kwargs: Any) -> Any:
    """`np.vectorize(f)` in the program itself."""
    made = np.vectorize(*args, **kwargs)
    return functools.partial(_vectorized, made) if hasattr(made, "pyfunc") and callable(made.pyfunc) else made


def _vectorized(made: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of `np.vectorize(f)`: element by element, in NumPy's order."""
    if current_context() is None or not callable(made.pyfunc):
        return made(*args, **kwargs)
    if made.signature is not None or made.excluded or kwargs:
        if _any_tracked(args, kwargs):
            raise RefusedError(
                "np.vectorize with signature=, excluded= or keywords, of tracked arrays",
                where=resolve(here()),
                remedy="write the loop, or give it positional arguments only",
            )
        return made(*args, **kwargs)
    f = callees.of(made.pyfunc)
    arrays = np.broadcast_arrays(*(x if hasattr(x, "place") else tracked_array(x) for x in args))
    shape = np.shape(arrays[0])
    rows = [f(*(x[at] for x in arrays)) for at in np.ndindex(*shape)]
    if not rows:
        return made(*map(np.empty_like, arrays))
    if isinstance(rows[0], tuple):
        return tuple(_gathered(made, list(column), shape, k) for k, column in enumerate(zip(*rows, strict=True)))
    return _gathered(made, rows, shape, 0)


def tracked_array(x: Any) -> Any:
    """Anything as an array: tracked, if there is something tracked in it."""
    return creation.array(x, copy=None) if creation.tracked_inside(x) else np.asanyarray(x)


def _gathered(made: Any, values: list[Any], shape: tuple[int, ...], k: int) -> Any:
    dtype = made.otypes[k] if made.otypes else None
    first = values[0]
    if dtype is None and not holds_tracked(values):
        dtype = np.asarray(first).dtype
    found = creation.array(values, dtype) if holds_tracked(values) else np.array(values, dtype)
    return np.reshape(found, shape)[()] if shape == () else np.reshape(found, shape)


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


def _changing(kind: type, name: str) -> Callable[..., Any]:
    """A method that changes a container: what it held is remembered if tracked values come in."""
    plain = getattr(kind, name)

    def call(container: Any, *args: Any, **kwargs: Any) -> Any:
        context = current_context()
        if context is not None and context.loan is not None:
            context.loan.keep(Contents, container, None, [*args, *kwargs.values()])
        return ARRAYS.seen(plain(container, *args, **kwargs))

    return call


def _filled(array: np.ndarray, value: Any) -> None:
    """`array.fill(value)`."""
    target: Any = own(array, value)
    target.fill(value)


def _put(array: np.ndarray, indices: Any, values: Any, mode: str = "raise") -> None:
    """`array.put(indices, values)`."""
    target: Any = own(array, values)
    target.put(indices, values, mode=mode)


def _method(name: str) -> Callable[..., Any]:
    """A method of plain arrays, which the function of NumPy does if it gets tracked values."""
    function, plain = getattr(np, name), getattr(np.ndarray, name)

    def call(array: np.ndarray, *args: Any, **kwargs: Any) -> Any:
        return (function if _any_tracked(args, kwargs) else plain)(array, *args, **kwargs)

    return call


def _draw(name: str) -> Callable[..., Any]:
    """A method of NumPy's generators: what it draws carries no gradient to the parameters."""

    def call(generator: Any, *args: Any, **kwargs: Any) -> Any:
        if name != "shuffle" and any(map(borrowing.carries, (*args, *kwargs.values()))) and name not in _RESAMPLED:
            raise RefusedError(
                f"{name}() of a generator of NumPy's with a tracked parameter: what it draws carries no gradient to it",
                where=resolve(here()),
                remedy="draw standard numbers and transform them (mu + sigma * rng.standard_normal(n)), use "
                "bridge.random, whose draws have one, or bridge.detach the parameter",
            )
        return getattr(generator, name)(*args, **kwargs)

    return call


_RESAMPLED = frozenset({"choice", "permutation", "permuted"})


def _setattr(thing: Any, name: str, value: Any) -> None:
    """`setattr(thing, name, value)`."""
    context = current_context()
    if context is not None and context.loan is not None and not hasattr(thing, "place"):
        context.loan.keep(Attributes, thing, name, value)
    setattr(thing, name, value)


def own(target: np.ndarray, value: Any, is_alone: bool = False) -> Any:
    """A plain array that is written into, or the Buffer that stands for it from now on."""
    found = lending.lent_to(target) if lending.LENT else None
    if found is not None:
        return found
    if not borrowing.carries(value):
        context = current_context()
        if context is not None and context.loan is not None and not holds_tracked(value):
            context.loan.touch(target)
        return target
    loan = borrowing.loan_for(value)
    if loan is None:
        return target
    if not target.flags.writeable:
        raise ValueError("assignment destination is read-only")
    return loan.lend(target, value, is_alone)


SPECIAL.update({getattr(np, name): _creator(getattr(np, name), getattr(tracked_numpy, name)) for name in _CREATORS})
SPECIAL.update({getattr(np, name): _converter(getattr(np, name), getattr(creation_of, name))
                for creation_of in (tracked_numpy,) for name in _CONVERTERS})  # fmt: skip
SPECIAL.update(
    {kind: _number_type(kind) for kind in (np.float64, np.float32, np.complex128, np.complex64, np.longdouble)}
)
SPECIAL.update({getattr(np, name): _joining(getattr(np, name)) for name in _JOIN})
SPECIAL[np.append] = _joining(np.append, 0, 1)
SPECIAL.update({
    np.ndarray: _new_array,
    np.fromiter: _fromiter,
    np.vectorize: _vectorize,
    np.r_: _Joined(np.r_, columns=False),
    np.c_: _Joined(np.c_, columns=True),
    np.lib.stride_tricks.as_strided: tracked_numpy.lib.stride_tricks.as_strided,
    builtins.float: as_float,
    builtins.complex: _complex,
    builtins.int: _int,
    np.isscalar: _isscalar,
    np.ndenumerate: _ndenumerate,
    contextlib._GeneratorContextManager: _generator_manager,
    builtins.isinstance: _isinstance,
    builtins.type: _type,
    builtins.setattr: _setattr,
    builtins.repr: _repr,
    builtins.map: _with_functions(map, 0),
    builtins.filter: _with_functions(filter, 0),
    builtins.sorted: _with_functions(sorted, "key"),
    builtins.min: _with_functions(min, "key"),
    builtins.max: _with_functions(max, "key"),
    functools.reduce: _with_functions(functools.reduce, 0),
    functools.partial: _with_functions(functools.partial, 0),
    itertools.accumulate: _with_functions(itertools.accumulate, 1, "func"),
    itertools.starmap: _with_functions(itertools.starmap, 0),
    np.apply_along_axis: _with_functions(np.apply_along_axis, 0, "func1d"),
    np.apply_over_axes: _with_functions(np.apply_over_axes, 0, "func"),
})  # fmt: skip
SPECIAL.update({function: with_operand(function) for function in (len, abs, iter, next, reversed, round, divmod, bool,
                                                                  list, tuple, sum)})  # fmt: skip
OF_KIND[np.vectorize] = _vectorized
OF_KIND[functools._lru_cache_wrapper] = _cached
METHODS.update({
    (kind, name): _changing(kind, name)
    for kind, names in {
        list: ("append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort", "__setitem__", "__delitem__"),
        dict: ("update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__"),
        set: ("add", "update", "discard", "remove", "pop", "clear"),
        collections.OrderedDict: ("update", "setdefault", "pop", "popitem", "clear", "move_to_end"),
        collections.defaultdict: ("update", "setdefault", "pop", "popitem", "clear"),
        collections.deque: (
            "append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "rotate", "remove", "clear",
        ),
    }.items()
    for name in names
})  # fmt: skip
METHODS.update(
    {(np.ndarray, name): _method(name) for name in ("dot", "clip", "compress", "choose", "searchsorted", "take")}
)
METHODS.update({
    (kind, name): _draw(name)
    for kind in (np.random.Generator, np.random.RandomState)
    for name in dir(kind)
    if not name.startswith("_") and name not in ("bit_generator", "spawn", "get_state", "set_state", "seed")
})  # fmt: skip
METHODS[np.ndarray, "fill"] = _filled
METHODS[np.ndarray, "put"] = _put
