"""Arrays of subclasses of `np.ndarray` on tracked memory.

`Derived` substitutes `np.ndarray` as the base class: a twin of the subclass derives from it, has the methods of the
subclass as they are written, and holds a Buffer. `Derived` follows NumPy's rules for subclasses: `view`,
`__array_finalize__`, `__array_wrap__`, `__array_ufunc__` and `__array_priority__`.
"""

from __future__ import annotations

import dis
import functools
import operator
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
import optree

from bridge.arrays import creation
from bridge.arrays.buffer import Buffer
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.objects.levels import NAMESPACE
from bridge.rewind.escapes import note_text
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.memory import grounded
from bridge.rewind.values import TrackedObject
from bridge.signatures import operation_name

TWINS: dict[type, type] = {}
"""The twin of a subclass of `np.ndarray`; `bridge.source.subclasses` enters those of the program."""


def refused(what: str, remedy: str) -> RefusedError:
    """The error of an operation that is not followed; a program that catches it loses its gradient all the same."""
    error = RefusedError(what, where=resolve(here()), remedy=remedy)
    context = current_context()
    while context is not None:
        context.escaped = context.escaped or error
        context = context.outer
    return error


class _OfSubclass(type):
    """The class of twins: an array of the subclass itself counts as one of the twin."""

    library_class: Any

    def __instancecheck__(cls, x: Any) -> bool:
        real = cls.__dict__.get("library_class")
        return issubclass(type(x), cls) or (isinstance(real, type) and isinstance(x, real))


class Derived(TrackedObject, metaclass=_OfSubclass):
    """An array of a subclass: a Buffer, or an array that nothing tracked was written into, and attributes."""

    __slots__ = ("__bridge_array__",)
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 0.0
    library_class: Any = None
    is_array_of_subclass = True

    __bridge_array__: Any
    copy: Any
    dtype: Any
    diagonal: Any

    def __new__(cls, shape: Any = (), dtype: Any = float, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs.keys() - {"order"}:
            raise refused(f"{cls.__name__} is made of a buffer of memory", f"write np.asarray(x).view({cls.__name__})")
        return finalized(cls, as_buffer(np.empty(shape, dtype, **kwargs)), None)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __array_finalize__(self, obj: Any) -> None:
        """Nothing, as `np.ndarray` has it."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if type(array) is type(self):
            return array
        return finalized(type(self), _as_array(raw(array)), self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if (
            not kwargs
            and len(inputs) == 2
            and isinstance(inputs[0], (np.ndarray, np.generic))
            and ufunc in _REFLECTED
            and _is_of_operator()
        ):
            # Python gives an operator to the subclass on the right first.
            return getattr(self, _REFLECTED[ufunc])(inputs[0])
        outs = kwargs.get("out")
        outs = outs if isinstance(outs, tuple) else () if outs is None else (outs,)
        inputs = ARRAYS.met(inputs)
        result = getattr(ufunc, method)(*map(raw, inputs), **{name: raw(x) for name, x in kwargs.items()})
        if method == "at" or result is NotImplemented:
            return result
        results = result if isinstance(result, tuple) else (result,)
        wrapped = tuple(_wrapped(ufunc, method, inputs, outs, k, one) for k, one in enumerate(results))
        return wrapped if isinstance(result, tuple) else wrapped[0]

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if function in _NOT_FOLLOWED:
            raise _not_followed(function, self)
        handler = _FUNCTIONS.get(function)
        if handler is not None:
            return handler(function, args, kwargs)
        if type(implementation(function)) is FunctionType:
            return implementation(function)(*args, **kwargs)
        raise _not_followed(function, self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.__bridge_array__
        if isinstance(array, np.ndarray) or not array.place.active:
            return np.asarray(array, dtype=dtype)
        raise refused(
            f"an array of NumPy's is made of a {_name(self)} in code that is not read: its gradient would be lost",
            "use np.asarray(x) in your own code; x.filled(value) or x.data of a masked array; or bridge.detach",
        )

    @property
    def __array_interface__(self) -> Any:
        # NumPy's masked arrays compare addresses by it; NumPy itself would make an array of it, which is not tracked.
        if _is_asked_by_twin():
            return grounded(self.__bridge_array__).__array_interface__
        raise AttributeError("__array_interface__")

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__bridge_array__.__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return repr(self._noted())

    def __str__(self) -> str:
        return str(self._noted())

    def _noted(self) -> Any:
        if hasattr(self.__bridge_array__, "place"):
            note_text(self.__bridge_array__)
        return self.detached(grounded)

    def detached(self, plain: Callable[[Any], Any]) -> Any:
        """An array of the subclass itself, with plain values by a function that gives these."""
        made = np.array(plain(self.__bridge_array__)).view(self.library_class)
        attributes = {name: plain(x) for name, x in vars(self).items()}
        if "_baseclass" in attributes:
            attributes["_baseclass"] = np.ndarray
        vars(made).update({name: x.copy() if type(x) is np.ndarray else x for name, x in attributes.items()})
        return made

    def __len__(self) -> int:
        return len(self.__bridge_array__)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    def __bool__(self) -> bool:
        return bool(self.__bridge_array__)

    def __float__(self) -> float:
        return float(self.__bridge_array__)

    def __int__(self) -> int:
        return int(self.__bridge_array__)

    def __index__(self) -> int:
        return operator.index(self.__bridge_array__)

    def __format__(self, spec: str) -> str:
        return format(self._noted(), spec)

    def __getitem__(self, key: Any) -> Any:
        return _same_class(self, self.__bridge_array__[raw(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.__bridge_array__[raw(key)] = raw(value)

    def __pow__(self, other: Any) -> Any:
        ufunc = _POWERS.get(other) if type(other) in (int, float) and self.dtype.kind in "fc" else None
        return np.power(self, other) if ufunc is None else ufunc(self)

    def __divmod__(self, other: Any) -> Any:
        return np.divmod(self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return np.divmod(other, self)

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        return view(self, dtype, type)

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        return _reduced(self, "mean", args, kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Any:
        return _reduced(self, "var", args, kwargs)

    def std(self, *args: Any, **kwargs: Any) -> Any:
        return _reduced(self, "std", args, kwargs)

    def argmax(self, *args: Any, **kwargs: Any) -> Any:
        return _position(self, self.__bridge_array__.argmax(*args, **kwargs))

    def argmin(self, *args: Any, **kwargs: Any) -> Any:
        return _position(self, self.__bridge_array__.argmin(*args, **kwargs))

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
        given = {name: one for name, one in (("dtype", dtype), ("out", out)) if one is not None}
        return np.add.reduce(self.diagonal(offset, axis1, axis2), axis=-1, **given)

    def tolist(self) -> Any:
        return self.__bridge_array__.tolist()

    def item(self, *index: Any) -> Any:
        return self.__bridge_array__.item(*index)

    def searchsorted(self, *args: Any, **kwargs: Any) -> Any:
        return self.__bridge_array__.searchsorted(*map(raw, args), **kwargs)

    def dot(self, other: Any) -> Any:
        return np.dot(self, other)

    @property
    def shape(self) -> Any:
        return self.__bridge_array__.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        if tuple(np.atleast_1d(shape)) != self.shape:
            object.__setattr__(self, "__bridge_array__", _reshaped(self.__bridge_array__, shape))

    @property
    def flat(self) -> Any:
        return self.__bridge_array__.flat

    @flat.setter
    def flat(self, value: Any) -> None:
        self.__bridge_array__.flat = raw(value)

    @property
    def data(self) -> Any:
        raise refused(f".data of a {_name(self)}: its memory is not given out", "use np.asarray(x)")

    base = ctypes = data


def raw(x: Any) -> Any:
    """Arrays without their subclasses, also in lists and tuples."""
    if issubclass(type(x), Derived):
        return x.__bridge_array__
    if type(x) in (list, tuple) and any(issubclass(type(part), (Derived, list, tuple)) for part in x):
        return type(x)(map(raw, x))
    return x


def without_classes(tree: Any) -> Any:
    """Containers with the plain array in place of each array of a subclass; one without axes becomes a number.

    RefusedError for a masked array: its mask would be lost.
    """
    if not TWINS:
        return tree
    return optree.tree_map(
        _without_class,
        tree,
        is_leaf=lambda x: issubclass(type(x), Derived),
        none_is_leaf=True,
        namespace=NAMESPACE,
    )


def _without_class(x: Any) -> Any:
    if not issubclass(type(x), Derived):
        return x
    if hasattr(x, "_mask") and np.any(x._mask):
        raise refused(
            "the function returns a masked array: its mask would be lost",
            "return x.filled(value) or x.compressed(), and the mask as a second result",
        )
    return x.__bridge_array__[()]


def finalized(cls: type, array: Any, template: Any) -> Any:
    """An array of a subclass on memory that is there, made from `template`."""
    context = current_context()
    if context is not None and context.home.is_abstract:
        raise refused(
            f"a {cls.__name__}, a subclass of np.ndarray, in a program that is compiled",
            'use engine="native"; or leave the subclass out: np.where(mask, x, 0) for a masked array',
        )
    made: Any = object.__new__(cls)
    object.__setattr__(made, "__bridge_array__", array)
    if cls.__array_finalize__ is not Derived.__array_finalize__:  # type: ignore[attr-defined]
        made.__array_finalize__(template)
    return made


def view(x: Any, dtype: Any = None, kind: Any = None) -> Any:
    """`x.view(dtype, type)` of an array, tracked or not, of any class."""
    if kind is None and isinstance(dtype, type) and (issubclass(dtype, (np.ndarray, Derived))):
        dtype, kind = None, dtype
    kind = type(x) if kind is None else kind
    if issubclass(kind, np.ndarray) and kind is not np.ndarray and kind.__module__ != "bridge.arrays.masked":
        kind = ARRAYS.twin_of(kind)
    array = raw(x)
    if dtype is not None:
        array = array.view(dtype)
    if not issubclass(kind, Derived):
        return array
    return finalized(kind, array[...] if isinstance(array, Buffer) else as_buffer(array), x)


def implementation(function: Any) -> Any:
    """What NumPy runs if no argument has `__array_function__`, with conversions that keep subclasses tracked."""
    return converting(function._implementation)


@functools.lru_cache(maxsize=512)
def converting(function: Any) -> Any:
    """A function of NumPy's written in Python, with conversions that keep subclasses tracked."""
    if type(function) is not FunctionType:
        return function
    around = function.__globals__
    names = {name: one for name, one in (CONVERTERS | NAMES).items() if name in around}
    for name in function.__code__.co_names:
        one = around.get(name)
        if name.startswith("_") and type(one) is FunctionType and one is not function:
            names[name] = converting(one)
    made = FunctionType(
        function.__code__, {**around, **names}, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def asanyarray(x: Any, dtype: Any = None, order: Any = None, **options: Any) -> Any:
    """`np.asanyarray`."""
    if issubclass(type(x), Derived):
        return x if dtype is None or np.dtype(dtype) == x.dtype else x.astype(dtype)
    return _converted(np.asanyarray, x, dtype, order)


def asarray(x: Any, dtype: Any = None, order: Any = None, **options: Any) -> Any:
    """`np.asarray`."""
    return _converted(np.asarray, raw(x), dtype, order)


def array(x: Any, dtype: Any = None, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0) -> Any:
    """`np.array`."""
    given = {"dtype": dtype, "copy": copy, "order": order, "ndmin": ndmin}
    found = raw(x)
    if not creation.tracked_inside(found):
        return np.array(found, subok=subok, **given)
    made = creation.converted(np.array, found, **given)
    if not (subok and issubclass(type(x), Derived)):
        return made
    return x if made is found else finalized(type(x), made, x)


def _converted(plain: Any, x: Any, dtype: Any, order: Any) -> Any:
    given = {name: one for name, one in (("dtype", dtype), ("order", order)) if one is not None}
    x = raw(x)
    return creation.converted(plain, x, **given) if creation.tracked_inside(x) else plain(x, **given)


def _isscalar(x: Any) -> bool:
    """`np.isscalar`, of a tracked number, too."""
    return bool(np.isscalar(x)) or (hasattr(x, "place") and not isinstance(x, Buffer))


CONVERTERS: dict[str, Callable[..., Any]] = {
    "isscalar": _isscalar,
    "asanyarray": asanyarray,
    "asarray": asarray,
    "array": array,
}

NAMES: dict[str, Any] = {}
"""Other names of NumPy's code that get another value where it runs on tracked arrays."""


def _is_asked_by_twin() -> bool:
    """Whether the caller's caller is code of NumPy's that is executed on tracked arrays."""
    return bool(sys._getframe(2).f_globals.get("__bridge_twin__"))


def _is_of_operator() -> bool:
    """Whether an operator, not a call, has asked for the ufunc."""
    frame = sys._getframe(2)
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] in ("BINARY_OP", "COMPARE_OP")


def as_buffer(array: Any) -> Any:
    """A plain array as a Buffer on a copy of its memory."""
    context = current_context()
    if context is None or isinstance(array, Buffer):
        return array
    return context.constant_buffer(np.array(array, subok=False))


def _as_array(x: Any) -> Any:
    """A tracked number as an array without axes."""
    if isinstance(x, Buffer) or not (hasattr(x, "place") or isinstance(x, np.generic)):
        return x if isinstance(x, Buffer) else as_buffer(x)
    return np.reshape(x, (1,))[0, ...] if hasattr(x, "place") else as_buffer(np.asarray(x))


def _same_class(x: Any, found: Any) -> Any:
    """What a method gave for the array of `x`: arrays get the class of `x`, numbers are numbers."""
    if not isinstance(found, (np.ndarray, Buffer)):
        return found
    return finalized(type(x), found if isinstance(found, Buffer) else as_buffer(found), x)


def _position(x: Any, found: Any) -> Any:
    """Positions; a number, unless the class gives an array of one element axes."""
    made = _same_class(x, _as_array(found))
    return made if made.ndim else found


def _wrapped(ufunc: Any, method: str, inputs: Any, outs: Any, k: int, found: Any) -> Any:
    """What a ufunc gave, wrapped by the array of the highest priority."""
    if k < len(outs) and outs[k] is not None:
        out = outs[k]
        if not issubclass(type(out), Derived):
            return found
        return out.__array_wrap__(out, (ufunc, (*inputs, *outs), k) if method == "__call__" else None, False)
    winner = max((x for x in inputs if issubclass(type(x), Derived)), key=lambda x: x.__array_priority__)
    context = (ufunc, inputs, k) if method == "__call__" else None
    return winner.__array_wrap__(_as_array(found), context, np.shape(found) == ())


def _reduced(x: Any, name: str, args: Any, kwargs: Any) -> Any:
    out = kwargs.pop("out", None)
    found = getattr(x.__bridge_array__, name)(*map(raw, args), **kwargs)
    if out is not None:
        out[...] = found
        return out
    return x.__array_wrap__(_as_array(found), None, np.shape(found) == ())


def _reshaped(array: Any, shape: Any) -> Any:
    made = np.reshape(array, shape)
    if not np.may_share_memory(grounded(made), grounded(array)):
        raise AttributeError("Incompatible shape for in-place modification.")
    return made


def _name(x: Any) -> str:
    kind = type(x).library_class or type(x)
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def _not_followed(function: Any, x: Any) -> RefusedError:
    return refused(
        f"{operation_name(function)} of a {_name(x)}",
        "give it the array without its class: np.asarray(x), or x.filled(value) of a masked array",
    )


_NOT_FOLLOWED = frozenset({np.apply_along_axis, np.apply_over_axes, np.gradient, np.kron, np.percentile, np.quantile})


def _reduction(ufunc: np.ufunc) -> Callable[..., Any]:
    def method(self: Any, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Any:
        given = {name: one for name, one in (("dtype", dtype), ("out", out)) if one is not None}
        return ufunc.reduce(self, axis=axis, **given, **kwargs)

    return method


def _extremum(ufunc: np.ufunc) -> Callable[..., Any]:
    def method(self: Any, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
        return ufunc.reduce(self, axis=axis, **({} if out is None else {"out": out}), **kwargs)

    return method


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "order" in kwargs and kwargs["order"] is None:
            del kwargs["order"]
        found = getattr(self.__bridge_array__, name)(*map(raw, args), **{key: raw(x) for key, x in kwargs.items()})
        if isinstance(found, tuple):
            return found
        return _same_class(self, found)

    return method


def _attribute(name: str) -> Any:
    return property(lambda self: getattr(self.__bridge_array__, name))


def _array_attribute(name: str) -> Any:
    def put(self: Any, value: Any) -> None:
        setattr(self.__bridge_array__, name, raw(value))

    return property(lambda self: _same_class(self, getattr(self.__bridge_array__, name)), put)


def _binary(ufunc: np.ufunc) -> tuple[Any, Any, Any]:
    def leaves(other: Any) -> bool:
        return getattr(type(other), "__array_ufunc__", ...) is None

    return (
        lambda self, other: NotImplemented if leaves(other) else ufunc(self, other),
        lambda self, other: NotImplemented if leaves(other) else ufunc(other, self),
        lambda self, other: NotImplemented if leaves(other) else ufunc(self, other, out=(self,)),
    )


_POWERS: dict[float, Any] = {2: np.square, 1: np.positive, 0.5: np.sqrt, -1: np.reciprocal}
_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip
_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_REFLECTED = {ufunc: f"__r{name}__" for name, ufunc in _BINARY.items()} | {
    ufunc: f"__{_SWAPPED.get(name, name)}__" for name, ufunc in _COMPARISONS.items()
}
for _key, _ufunc in _BINARY.items():
    for _prefix, _made in zip(("", "r", "i"), _binary(_ufunc), strict=True):
        if (_prefix, _key) != ("", "pow"):
            setattr(Derived, f"__{_prefix}{_key}__", _made)
for _key, _ufunc in _COMPARISONS.items():
    setattr(Derived, f"__{_key}__", _binary(_ufunc)[0])
for _key, _ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
    setattr(Derived, f"__{_key}__", lambda self, ufunc=_ufunc: ufunc(self))
for _key, _ufunc in {"sum": np.add, "prod": np.multiply}.items():
    setattr(Derived, _key, _reduction(_ufunc))
for _key, _ufunc in {"max": np.maximum, "min": np.minimum, "any": np.logical_or, "all": np.logical_and}.items():
    setattr(Derived, _key, _extremum(_ufunc))
for _key in (
    "argsort", "astype", "choose", "clip", "compress", "conj", "conjugate", "copy", "cumprod",
    "cumsum", "diagonal", "fill", "flatten", "nonzero", "partition", "put", "ravel", "repeat", "reshape", "round",
    "sort", "squeeze", "swapaxes", "take", "tobytes", "transpose", "argpartition",
):  # fmt: skip
    setattr(Derived, _key, _method(_key))
for _key in ("dtype", "ndim", "size", "itemsize", "nbytes", "strides", "flags"):
    setattr(Derived, _key, _attribute(_key))
for _key in ("T", "mT", "real", "imag"):
    setattr(Derived, _key, _array_attribute(_key))


def _on_arrays(function: Any, args: Any, kwargs: Any) -> Any:
    return function(*map(_data, args), **{name: _data(x) for name, x in kwargs.items()})


def _data(x: Any) -> Any:
    """What NumPy's compiled code reads of an array of any class."""
    x = raw(x)
    return np.asarray(x) if isinstance(x, np.ndarray) else x


def _joined(function: Any, args: Any, kwargs: Any) -> Any:
    """NumPy joins into the class of the highest priority, if that is not zero."""
    made = _on_arrays(function, args, kwargs)
    parts = [x for x in args[0] if issubclass(type(x), Derived) and x.__array_priority__ > 0]
    if not parts or kwargs.get("out") is not None:
        return made
    return finalized(type(max(parts, key=lambda x: x.__array_priority__)), made, None)


def _made_like(function: Any, args: Any, kwargs: Any) -> Any:
    subok = kwargs.get("subok", True)
    made = _on_arrays(function, args, {name: x for name, x in kwargs.items() if name != "subok"})
    return _same_class(args[0], made) if subok and issubclass(type(args[0]), Derived) else made


def _product(function: Any, args: Any, kwargs: Any) -> Any:
    """NumPy gives a product the class of the operand of the higher priority."""
    made = _on_arrays(function, args, kwargs)
    if len(args) < 2 or kwargs or np.shape(made) == ():
        return made
    first, second = (x if issubclass(type(x), Derived) else None for x in args[:2])
    ranks = [getattr(x, "__array_priority__", 0.0) for x in (first, second)]
    template = first if type(first) is type(second) or ranks[1] <= ranks[0] else second
    return made if template is None else _same_class(template, made)


def _wrapping(position: int) -> Callable[..., Any]:
    """A function of linear algebra whose result is wrapped by one of its arguments."""

    def call(function: Any, args: Any, kwargs: Any) -> Any:
        made = _on_arrays(function, args, kwargs)
        wraps = args[position]
        return wraps.__array_wrap__(made, None, False) if issubclass(type(wraps), Derived) else made

    return call


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.concatenate: _joined,
    np.empty_like: _made_like,
    **{one: _on_arrays for one in (
        np.bincount, np.can_cast, np.copyto, np.cross, np.linalg.det, np.linalg.slogdet, np.may_share_memory,
        np.min_scalar_type, np.pad, np.putmask, np.result_type, np.shares_memory, np.vdot, np.where,
    )},
    np.dot: _product,
    np.inner: _product,
    np.linalg.inv: _wrapping(0),
    np.linalg.pinv: _wrapping(0),
    np.linalg.cholesky: _wrapping(0),
    np.linalg.solve: _wrapping(1),
}  # fmt: skip


def _is_subclass(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, (np.ndarray, Derived))


ARRAYS.of_subclass, ARRAYS.view = _is_subclass, view
