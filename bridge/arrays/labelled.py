"""A tracked array of pandas or xarray, as a program has it: numbers that are tracked, and what they are labelled as.

What is done with it is done with its numbers, once its library has been asked whether that is the same
(`bridge.arrays.asking`); all else is refused. Whatever does not know of it finds nothing tracked in it, and no array.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import optree

from bridge.arrays.asking import Twins, ask
from bridge.arrays.buffer import Buffer
from bridge.objects.levels import NAMESPACE
from bridge.rewind import labels
from bridge.rewind.escapes import note_text
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.memory import grounded
from bridge.rewind.rule_book import TrackedObject
from bridge.signatures import operation_name

_ELEMENTWISE = frozenset({
    operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.lt, operator.le, operator.gt,
    operator.ge, np.add, np.subtract, np.multiply, np.divide, np.negative, np.exp, np.log, np.log1p, np.expm1, np.sqrt,
    np.square, np.sin, np.cos, np.tan, np.tanh, np.absolute,
})  # fmt: skip
"""What gives, of arrays that are labelled by one object, an array that is labelled so again: nobody is asked."""
_NUMBERS = (int, float, np.generic)


class Labelled(TrackedObject):
    """Numbers, a Buffer or an array, and `label`: an array of their library, of other numbers under their labels."""

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 2000.0
    __pandas_priority__ = 100_000

    def __init__(self, label: Any, array: Any) -> None:
        self.label, self.array, self.handed_out = label, array, False
        ARRAYS.has_labels = True

    @property
    def library_class(self) -> Any:  # type: ignore[override]
        return type(self.label)

    # A program may ask what it was given, also in code that is not read.
    __class__ = library_class  # type: ignore[assignment]

    @property
    def values(self) -> Any:
        """The numbers without their labels; read-only where their library says so."""
        return self._numbers("values")

    def to_numpy(self, *args: Any, **kwargs: Any) -> Any:
        """The numbers without their labels; a copy, if that is asked."""
        if not hasattr(self.label, "to_numpy") or args or kwargs.keys() - {"copy"}:
            return self.__getattr__("to_numpy")
        numbers = self._numbers("to_numpy()")
        return numbers.copy() if kwargs.get("copy") else numbers

    def _numbers(self, how: str) -> Any:
        _check_caller(f".{how}")
        self.handed_out = True
        return _view(self.array, getattr(labels.values_of(self.label), "flags", None))

    shape = property(lambda self: self.array.shape)
    ndim = property(lambda self: self.array.ndim)
    size = property(lambda self: self.array.size)
    dtype = property(lambda self: self.array.dtype)
    nbytes = property(lambda self: self.array.nbytes)
    T = property(lambda self: _called(".T", lambda x: x.T, (self,), {}))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(self.label, name):
            raise AttributeError(f"'{type(self.label).__name__}' object has no attribute {name!r}", name=name, obj=self)
        _check_caller(f".{name}")
        if name == "data" and hasattr(self.label, "dims"):
            return self.values
        if not name.startswith("_") and hasattr(Buffer, name) and name not in _OF_MEMORY:
            if callable(getattr(self.label, name)):
                return lambda *args, **kwargs: _called(
                    f".{name}({', '.join(kwargs)})", _method(name), (self, *args), kwargs
                )
            return _called(f".{name}", operator.attrgetter(name), (self,), {})
        raise labels.refused(
            f".{name} of a {labels.name_of(self.label)}, or of what comes of it",
            "where gradients are followed it is an array of NumPy's",
        )

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Any]:
        if hasattr(self.label, "dims"):
            return (self[k] for k in range(len(self)))
        return map(ARRAYS.own_number, self.array)

    def __contains__(self, value: Any) -> bool:
        if hasattr(self.label, "dims"):
            return value in self.array
        raise labels.refused(f"`in` a {labels.name_of(self.label)}", "pandas may look among its labels")

    def number(self, how: str) -> Any:
        """The number that an array without axes is of."""
        if self.array.shape:
            raise labels.refused(f"{how} of a {labels.name_of(self.label)}", "it has labels", "write x.values[0]")
        return self.array[()]

    def __bool__(self) -> bool:
        return bool(self.number("a condition"))

    def __float__(self) -> float:
        return float(self.number("float()"))

    def __int__(self) -> int:
        return int(self.number("int()"))

    def __complex__(self) -> complex:
        return complex(self.number("complex()"))

    def __index__(self) -> int:
        return operator.index(self.number("an index"))

    def __format__(self, spec: str) -> str:
        return format(self.number("a text"), spec) if spec else repr(self)

    def __repr__(self) -> str:
        if hasattr(self.array, "place"):
            note_text(self.array)
        return repr(labels.around(self.label, grounded(self.array)))

    def _updated(self, function: Callable[..., Any], other: Any) -> Any:
        what = _spelled(function)
        self._check_writable(what)
        ask(what, _in_place(function), (self, other), {}, Twins())
        function(self.array, _plain(other))
        return self

    def __getitem__(self, key: Any) -> Any:
        what, twins = f"[{_short(key)}]", Twins()
        _check_caller(what)
        found = ask(what, operator.getitem, (self, key), {}, twins)
        key = _plain(key)
        if hasattr(found, "dims") and not found.ndim:
            # An element of xarray's is a view.
            key = (*(key if type(key) is tuple else (key,)), ...)
        return _labelled_as(what, found, self.array[key], [(self, twins(self)[0])])

    def __setitem__(self, key: Any, value: Any) -> None:
        what = f"[{_short(key)}] = ..."
        self._check_writable(what)
        ask(what, _written, (self, key, value), {}, Twins())
        self.array[_plain(key)] = _plain(value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        _check_caller("NumPy")
        if self.dtype.kind in "fc":
            raise labels.refused(
                f"an array of NumPy's is made of a {labels.name_of(self.label)}, or it meets arrays in a function of "
                "NumPy's that does not look for labels",
                "its gradient would be lost",
                "use its numbers there: x.values (np.asarray(x) in code that is read)",
            )
        return np.asarray(self.array, dtype=dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__":
            return operated(ufunc, inputs, kwargs)
        return _called(f"np.{ufunc.__name__}.{method}", getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _called(operation_name(function), function, args, kwargs)

    def __copy__(self) -> Any:
        return Labelled(self.label, self.array.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return Labelled(self.label, self.array.copy())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.array.__reduce_ex__(protocol)

    def _check_writable(self, what: str) -> None:
        _check_caller(what)
        if self.handed_out and not hasattr(self.label, "dims"):
            raise labels.refused(
                f"{what} of a {labels.name_of(self.label)} whose numbers were taken out before",
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
Labelled.__divmod__, Labelled.__rdivmod__ = _binary(divmod), _reflected(divmod)  # type: ignore[attr-defined]


def operated(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operator or a ufunc, of operands some of which are labelled."""
    if not kwargs and function in _ELEMENTWISE:
        label = _one_label(args)
        if label is not None:
            _check_caller(operation_name(function))
            return Labelled(label, function(*map(_plain, args)))
    return _called(_spelled(function), function, args, kwargs)


def _spelled(function: Any) -> str:
    """What messages call an operator or a ufunc."""
    return _SIGNS.get(getattr(function, "__name__", "")) or operation_name(function)


_SIGNS = dict(
    zip(
        ("add", "sub", "mul", "truediv", "matmul", "iadd", "isub", "imul", "itruediv", "lt", "le", "gt", "ge", "eq"),
        ("`+`", "`-`", "`*`", "`/`", "`@`", "`+=`", "`-=`", "`*=`", "`/=`", "`<`", "`<=`", "`>`", "`>=`", "`==`"),
        strict=True,
    )
)


def _one_label(args: tuple[Any, ...]) -> Any:
    """The one object that labels all operands that are no numbers; None if there is none."""
    found = None
    for x in args:
        if type(x) is Labelled:
            if found is not None and x.label is not found:
                return None
            found = x.label
        elif not isinstance(x, _NUMBERS) and not (hasattr(x, "place") and not isinstance(x, Buffer)):
            return None
    return found


def _called(what: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call on labelled operands: of their numbers, if their library says that it is the same."""
    _check_caller(what)
    if kwargs.get("out") is not None:
        raise labels.refused(f"{what} with out=", "it is written into, or labelled", "write out[...] = result")
    twins = Twins()
    found = ask(what, function, args, kwargs, twins)
    ask(what, function, args, kwargs, Twins(actual=True))
    made = function(*_plain(args), **_plain(kwargs))
    return _labelled_as(what, found, made, [(x, twins(x)[0]) for x in args if type(x) is Labelled])


def _labelled_as(what: str, found: Any, made: Any, operands: list[tuple[Any, Any]]) -> Any:
    """What a call made of numbers, labelled as what their library made of the twins of its operands."""
    if isinstance(found, (tuple, list)):
        return type(found)(_labelled_as(what, one, part, operands) for one, part in zip(found, made, strict=True))
    same = next((x for x, twin in operands if twin is found), None)
    if same is not None:
        return same
    if hasattr(found, "dims") and hasattr(made, "place") and not isinstance(made, Buffer):
        made = np.reshape(made, (1,))[0, ...]
    if not isinstance(made, Buffer):
        return made
    of = [x for x, _ in operands if isinstance(x.array, Buffer) and x.array.place.root is made.place.root]
    numbers = labels.values_of(found)
    is_labelled = labels.is_labelled(found)
    # What pandas makes of its array does not change with it, wherever it lies.
    is_view = hasattr(found, "dims") or not is_labelled
    is_view = is_view and any(np.may_share_memory(numbers, labels.values_of(twin)) for _, twin in operands)
    if is_view and not of:
        raise labels.refused(what, "its result shares memory with its argument there, and not in NumPy")
    for x in of:
        x.handed_out = x.handed_out or not is_labelled
    if of:
        made = _view(made, getattr(numbers, "flags", None)) if is_view else made.copy()
    return Labelled(found, made) if is_labelled else made


def _view(array: Any, flags: Any) -> Any:
    """The same memory, which may be written as `flags` say."""
    shown = array[...]
    if flags is not None and not flags.writeable:
        grounded(shown).flags.writeable = False
    return shown


def _method(name: str) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def _in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """What an augmented assignment makes of a copy, and whether it is that very copy."""

    def update(x: Any, other: Any) -> Any:
        copied = x.copy()
        updated = function(copied, other)
        return updated, copied, updated is copied

    return update


def _written(x: Any, key: Any, value: Any) -> Any:
    """A copy of an array in which something was written."""
    x = x.copy()
    x[key] = value
    return x


def _plain(x: Any) -> Any:
    """Operands without labels."""
    if type(x) is Labelled:
        return x.array
    if type(x) in (list, tuple):
        return type(x)(map(_plain, x))
    if type(x) is dict:
        return {name: _plain(part) for name, part in x.items()}
    if type(x) is slice:
        return x
    return labels.values_of(x) if labels.is_labelled(x) else x


class _Kind:
    """What is labelled alike is of one kind, where containers are compared."""

    def __init__(self, label: Any) -> None:
        self.label = label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kind) and labels.same_labels(self.label, other.label)

    def __hash__(self) -> int:
        return hash(self.label.shape)


# To transforms it is a container of its numbers.
optree.register_pytree_node(
    Labelled,
    lambda x: ((x.array,), _Kind(x.label), ("array",)),  # type: ignore[attr-defined]
    lambda kind, children: Labelled(kind.label, children[0]),
    namespace=NAMESPACE,
)


def without_labels(tree: Any) -> Any:
    """Containers with the numbers of labelled arrays in the place of these."""
    if not ARRAYS.has_labels:
        return tree
    return optree.tree_map(
        lambda x: x.array[...] if type(x) is Labelled and x.array.shape else x.number("") if type(x) is Labelled else x,
        tree,
        is_leaf=lambda x: type(x) is Labelled,
        none_is_leaf=True,
        namespace=NAMESPACE,
    )


def combine(x: Any) -> Callable[..., Any] | None:
    """What computes an operation of tracked values and a labelled array; None for anything else."""
    context = current_context()
    is_known = type(x) is Labelled or (context is not None and labels.is_labelled(x) and not hasattr(x, "dims"))
    if not is_known:
        return None
    if context is not None and context.home.is_abstract:
        raise labels.refused(
            f"a {labels.name_of(x)} in a program that is compiled",
            "its labels are not followed there",
            "use the numbers that it holds: np.asarray(x)",
        )
    return lambda ufunc, *args: operated(ufunc, tuple(map(_entered, args)), {})


ARRAYS.labelled, ARRAYS.combine = Labelled, combine


def _entered(x: Any) -> Any:
    return Labelled(x, labels.values_of(x)) if labels.is_labelled(x) and type(x) is not Labelled else x


def _check_caller(what: str) -> None:
    """RefusedError if pandas or xarray do something with a labelled array, which they take for another array."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("bridge", "numpy"):
        frame = frame.f_back
    library = "" if frame is None else frame.f_globals.get("__name__", "").partition(".")[0]
    if library in labels.LABELLED:
        raise labels.refused(
            f"{library} does something with what comes of an argument of its own ({what})",
            "where gradients are followed that is an array of NumPy's, whose labels it does not see",
            "write the argument on the left of the operator; or use the numbers of both: x.values",
        )


def _short(key: Any) -> str:
    text = repr(key)
    return text if len(text) < _LONG else text[:_LONG] + "..."


_LONG = 60
_OF_MEMORY = frozenset({"base", "ctypes", "data", "flags", "flat", "strides", "view"})
