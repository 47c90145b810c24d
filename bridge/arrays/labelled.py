"""A tracked array of pandas or xarray, as a program has it: numbers that are tracked, and what they are labelled as.

What is done with it is done with its numbers, once its library has been asked whether that is the same
(`bridge.arrays.asking`); all else is refused. Whatever does not know of it finds nothing tracked in it, and no array.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import optree

from bridge.arrays.asking import Twins, ask, in_place, method, written
from bridge.arrays.buffer import Buffer
from bridge.arrays.labelled_calls import (
    called,
    check_caller,
    combine,
    labelled_as,
    note,
    number,
    operated,
    plain,
    spelled,
    view,
)
from bridge.arrays.operands import context_of
from bridge.code_position import frames_inside
from bridge.objects.levels import NAMESPACE
from bridge.rewind import labels
from bridge.rewind.escapes import note_text
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.memory import grounded
from bridge.rewind.values import TrackedObject
from bridge.signatures import operation_name


class Labelled(TrackedObject):
    """Numbers, a Buffer or an array, and an array of their library, of other numbers under their labels.

    Its own attributes have names that no label has: `s.label` is a number of a series that has such a label.
    """

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 2000.0
    __pandas_priority__ = 100_000

    def __init__(self, label: Any, array: Any) -> None:
        vars(self).update(__bridge_label__=label, __bridge_array__=array)
        ARRAYS.has_labels = True

    @property
    def library_class(self) -> Any:
        return type(self.__bridge_label__)

    # A program may ask what it was given, also in code that is not read.
    __class__ = library_class

    @property
    def values(self) -> Any:
        """The numbers without their labels; read-only where their library says so."""
        return self._numbers("values")

    def to_numpy(self, *args: Any, **kwargs: Any) -> Any:
        """The numbers without their labels; a copy, if that is asked."""
        if not hasattr(self.__bridge_label__, "to_numpy") or args or kwargs.keys() - {"copy"}:
            return self.__getattr__("to_numpy")
        numbers = self._numbers("to_numpy()")
        return numbers.copy() if kwargs.get("copy") else numbers

    def _numbers(self, how: str) -> Any:
        check_caller(f".{how}")
        note(self, "handed_out")
        return view(self.__bridge_array__, getattr(labels.values_of(self.__bridge_label__), "flags", None))

    shape = property(lambda self: self.__bridge_array__.shape)
    ndim = property(lambda self: self.__bridge_array__.ndim)
    size = property(lambda self: self.__bridge_array__.size)
    dtype = property(lambda self: self.__bridge_array__.dtype)
    nbytes = property(lambda self: self.__bridge_array__.nbytes)
    T = property(lambda self: called(".T", lambda x: x.T, (self,), {}))

    def __setattr__(self, name: str, value: Any) -> None:
        raise labels.refused(
            f".{name} = ... of a {labels.name_of(self)}, or of what comes of it",
            "it may get other labels, or other numbers, by that",
        )

    def __getattr__(self, name: str) -> Any:
        if name == "place" and any(one.f_code is context_of.__code__ for one in frames_inside()):
            # It is among the operands of a function that is not asked of it: perhaps in a list beside a tracked array.
            labels.refuse_operand(self, "a function")
        if name.startswith("__") or not hasattr(self.__bridge_label__, name):
            raise AttributeError(f"'{self.__class__.__name__}' object has no attribute {name!r}", name=name, obj=self)
        check_caller(f".{name}")
        if name == "data" and hasattr(self.__bridge_label__, "dims"):
            return self.values
        if not name.startswith("_") and hasattr(Buffer, name) and name not in _OF_MEMORY:
            if callable(getattr(self.__bridge_label__, name)):
                return lambda *args, **kwargs: called(
                    f".{name}({', '.join(kwargs)})", method(name), (self, *args), kwargs
                )
            return called(f".{name}", operator.attrgetter(name), (self,), {})
        raise labels.refused(
            f".{name} of a {labels.name_of(self)}, or of what comes of it",
            "where gradients are followed it is an array of NumPy's",
        )

    def __len__(self) -> int:
        return len(self.__bridge_array__)

    def __iter__(self) -> Iterator[Any]:
        if hasattr(self.__bridge_label__, "dims"):
            return (self[k] for k in range(len(self)))
        return map(ARRAYS.own_number, self.__bridge_array__)

    def __contains__(self, value: Any) -> bool:
        if hasattr(self.__bridge_label__, "coords"):
            return value in self.__bridge_array__
        raise labels.refused(f"`in` a {labels.name_of(self)}", "it may look among its labels")

    def __bool__(self) -> bool:
        return bool(number(self, "a condition"))

    def __float__(self) -> float:
        return float(number(self, "float()"))

    def __int__(self) -> int:
        return int(number(self, "int()"))

    def __complex__(self) -> complex:
        return complex(number(self, "complex()"))

    def __index__(self) -> int:
        return operator.index(number(self, "an index"))

    def __format__(self, spec: str) -> str:
        return format(number(self, "a text"), spec) if spec else repr(self)

    def __repr__(self) -> str:
        if hasattr(self.__bridge_array__, "place"):
            note_text(self.__bridge_array__)
        return repr(labels.around(self.__bridge_label__, grounded(self.__bridge_array__)))

    def _updated(self, function: Callable[..., Any], other: Any) -> Any:
        what = spelled(function)
        self._check_writable(what)
        ask(what, in_place(function), (self, other), {}, Twins())
        function(self.__bridge_array__, plain(other))
        return self

    def __divmod__(self, other: Any) -> Any:
        return operated(divmod, (self, other), {})

    def __rdivmod__(self, other: Any) -> Any:
        return operated(divmod, (other, self), {})

    def __getitem__(self, key: Any) -> Any:
        what, twins = f"[{_short(key)}]", Twins()
        check_caller(what)
        found = ask(what, operator.getitem, (self, key), {}, twins)
        key = plain(key)
        if hasattr(found, "dims") and not found.ndim:
            # An element of xarray's is a view.
            parts = key if type(key) is tuple else (key,)
            key = parts if any(part is ... for part in parts) else (*parts, ...)
        return labelled_as(what, found, self.__bridge_array__[key], [(self, twins(self)[0])])

    def __setitem__(self, key: Any, value: Any) -> None:
        what = f"[{_short(key)}] = ..."
        self._check_writable(what)
        ask(what, written, (self, key, value), {}, Twins())
        self.__bridge_array__[plain(key)] = plain(value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        check_caller("NumPy")
        if self.dtype.kind in "fc":
            raise labels.refused(
                f"an array of NumPy's is made of a {labels.name_of(self)}, or it meets arrays in a function of NumPy's "
                "that does not look for labels",
                "its gradient would be lost",
                "use its numbers there: x.values (np.asarray(x) in code that is read)",
            )
        return np.asarray(self.__bridge_array__, dtype=dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__":
            return operated(ufunc, inputs, kwargs)
        return called(f"np.{ufunc.__name__}.{method}", getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return called(operation_name(function), function, args, kwargs)

    def __copy__(self) -> Any:
        return Labelled(self.__bridge_label__, self.__bridge_array__.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return Labelled(self.__bridge_label__, self.__bridge_array__.copy())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__bridge_array__.__reduce_ex__(protocol)

    def _check_writable(self, what: str) -> None:
        check_caller(what)
        if "shared" in vars(self):
            raise labels.refused(
                f"{what} of a {labels.name_of(self)} that shares memory with another argument",
                "each of them has a copy, and the other would not follow",
                "pass copies (x.copy())",
            )
        if "handed_out" in vars(self) and not hasattr(self.__bridge_label__, "dims"):
            raise labels.refused(
                f"{what} of a {labels.name_of(self)} whose numbers were taken out before",
                "whether they change, too, is not known",
                "take a copy of them: np.array(x), x.to_numpy(copy=True)",
            )


def _binary(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: operated(function, (self, other), {})


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: operated(function, (other, self), {})


def _unary(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: operated(function, (self,), {})


def _inplace(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: self._updated(function, other)


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor")
for _name in _BINARY:
    _own, _part = getattr(operator, _name), _name.strip("_")
    setattr(Labelled, f"__{_part}__", _binary(_own))
    setattr(Labelled, f"__r{_part}__", _reflected(_own))
    setattr(Labelled, f"__i{_part}__", _inplace(getattr(operator, f"i{_part}")))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Labelled, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Labelled, f"__{_name}__", _unary(getattr(operator, _name)))


class _Kind:
    """How an array is labelled, where it is to transforms a container of its numbers, and containers are compared."""

    def __init__(self, label: Any) -> None:
        self.label = label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kind) and labels.same_labels(self.label, other.label)

    def __hash__(self) -> int:
        return hash(self.label.shape)


def _taken_apart(x: Any) -> Any:
    return (x.__bridge_array__,), _Kind(x.__bridge_label__), ("array",)


def _put_together(kind: Any, children: Any) -> Labelled:
    return Labelled(kind.label, *children)


optree.register_pytree_node(Labelled, _taken_apart, _put_together, namespace=NAMESPACE)


def without_labels(tree: Any) -> Any:
    """Containers with the numbers of labelled arrays in the place of these."""
    if not ARRAYS.has_labels:
        return tree
    return optree.tree_map(
        lambda x: x if type(x) is not Labelled else number(x, "") if not x.shape else x.__bridge_array__,
        tree,
        is_leaf=lambda x: type(x) is Labelled,
        none_is_leaf=True,
        namespace=NAMESPACE,
    )


ARRAYS.labelled, ARRAYS.combine = Labelled, combine


def _short(key: Any) -> str:
    text = repr(key)
    return text if len(text) < _LONG else text[:_LONG] + "..."


_LONG = 60
_OF_MEMORY = frozenset({"base", "ctypes", "data", "flags", "flat", "strides", "view"})
