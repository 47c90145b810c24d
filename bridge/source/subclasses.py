"""Subclasses of `np.ndarray` that a program which is read makes arrays of.

A twin of the class is made: the methods of the class, read, on `Derived` as its base class. Masked arrays and matrices
of NumPy have twins of their own (`bridge.arrays.masked`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

import numpy as np

from bridge.arrays import derived, masked
from bridge.arrays.buffer import Buffer
from bridge.arrays.creation import tracked_inside
from bridge.arrays.derived import TWINS, Derived
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.signatures import operation_name
from bridge.source import callees, creating  # noqa: F401, its stand-ins come first
from bridge.source.callees import METHODS, SPECIAL
from bridge.source.keeping import any_tracked
from bridge.source.library_calls import passed_over

_MAKERS = frozenset({
    "zeros", "ones", "empty", "masked_all", "zeros_like", "ones_like", "empty_like", "masked_all_like", "identity",
})  # fmt: skip
"""Functions of `np.ma` whose results are written into."""

_NOT_FOLLOWED = frozenset({"apply_along_axis", "apply_over_axes", "polyfit", "vander"})


def substitute(callee: Any) -> Any:
    """What is called in place of something of a subclass of arrays; None if `callee` is nothing such."""
    if isinstance(callee, type):
        if not issubclass(callee, (np.ndarray, Derived)) or callee in (np.ndarray, Derived):
            return None
        if issubclass(callee, Derived) or _is_of_program(callee):
            return functools.partial(_constructed, callee)
    twin = masked.twin(callee)
    return None if twin is None else functools.partial(_called, callee, twin)


@passed_over
def _called(callee: Any, twin: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A function of `numpy.ma`, or its twin if something tracked is among the arguments."""
    context = current_context()
    name = getattr(callee, "__name__", "")
    copies = callee is np.matrix and len(args) == 1 and kwargs.get("copy", True)
    is_maker = name in _MAKERS or copies
    if context is None or not (any_tracked(args, kwargs) or (is_maker and not context.home.is_abstract)):
        return callee(*args, **kwargs)
    if name in _NOT_FOLLOWED:
        raise derived.refused(
            f"np.ma.{name} with tracked values", "write a loop, or give it the array without its mask: z.filled(value)"
        )
    entered = [derived.as_buffer(x) if copies and _holds_numbers(x) else masked.entered(x) for x in args]
    if name in ("MaskedArray", "array", "masked_array"):
        entered = [_shared(x, kwargs) if k == 0 else x for k, x in enumerate(entered)]
    try:
        return twin(*entered, **{name: masked.entered(x) for name, x in kwargs.items()})
    except TypeError as error:
        if "array of references" not in str(error):
            raise
        raise derived.refused(
            f"{operation_name(callee)} with tracked values, and a plain array that shares its memory with the result",
            "make it of a copy of the plain array",
        ) from error


def _shared(data: Any, kwargs: Any) -> Any:
    """Plain data of a masked array with a tracked mask, which share memory unless a copy is asked for."""
    if type(data) is not np.ndarray or kwargs.get("copy"):
        return data
    tracked = next((x for x in kwargs.values() if isinstance(x, Buffer)), None)
    found = None if tracked is None else ARRAYS.own_target(tracked, data)
    if found is None:
        raise derived.refused(
            "a masked array is made of a plain array and a tracked mask, which share their memory",
            "make a copy: np.ma.array(data, mask=mask, copy=True)",
        )
    return found


def _is_of_program(cls: Any) -> bool:
    return cls.__module__.partition(".")[0] not in ("numpy", "bridge")


@passed_over
def _constructed(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """An array of a subclass of the program's: what `type.__call__` does, with methods that are read."""
    context = current_context()
    if context is None or (context.home.is_abstract and not any_tracked(args, kwargs)):
        return cls(*args, **kwargs)
    kind = cls if issubclass(cls, Derived) else twin_of(cls)
    made = callees.of(kind.__new__)(kind, *args, **kwargs)
    if issubclass(type(made), kind):
        callees.of(type(made).__init__)(made, *args, **kwargs)
    return made


def entered_as(leaf: Any, buffer: Any) -> Any:
    """An argument of a subclass, on its tracked copy; a plain one of a class of NumPy's that only stores otherwise."""
    if not (_is_of_program(type(leaf)) or isinstance(leaf, (np.ma.MaskedArray, np.matrix))):
        return buffer
    kind = twin_of(type(leaf))
    made = object.__new__(kind)
    object.__setattr__(made, "__bridge_array__", buffer)
    attributes = {name: x.copy() if type(x) is np.ndarray else x for name, x in vars(leaf).items()}
    vars(made).update(attributes)
    if isinstance(leaf, np.ma.MaskedArray):
        made._baseclass = masked.BASE
    return made


def twin_of(cls: Any) -> Any:
    """The twin of a subclass of `np.ndarray`."""
    if cls is np.ndarray or issubclass(cls, Derived):
        return Derived if cls is np.ndarray else cls
    masked.twin(cls)
    found = TWINS.get(cls)
    if found is not None and (not _is_of_program(cls) or found.__bridge_names__ == dict(vars(cls))):  # type: ignore[attr-defined]
        return found
    if not _is_of_program(cls):
        raise derived.refused(
            f"a {cls.__name__} with tracked values", "use a plain array (np.asarray), or a subclass of your own"
        )
    bases = tuple(twin_of(base) if issubclass(base, np.ndarray) else base for base in cls.__bases__)
    cell = CellType()
    names = {name: _taken(one, cell) for name, one in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    names |= {
        "library_class": cls,
        "__bridge_names__": dict(vars(cls)),
    }
    made: Any = type.__call__(type(Derived), cls.__name__, bases, names)
    cell.cell_contents = made
    TWINS[cls] = made
    return made


def _taken(thing: Any, cell: CellType) -> Any:
    """A method, whose `super()` is that of the twin, and which is read where Python or NumPy calls it."""
    if isinstance(thing, (staticmethod, classmethod)):
        return type(thing)(_taken(thing.__func__, cell))
    if isinstance(thing, property):
        return property(*(one and _taken(one, cell) for one in (thing.fget, thing.fset, thing.fdel)))
    if type(thing) is not FunctionType:
        return thing
    around = tuple(
        cell if name == "__class__" else one
        for name, one in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True)
    )
    made = FunctionType(thing.__code__, thing.__globals__, thing.__name__, thing.__defaults__, around or None)
    made.__kwdefaults__, made.__qualname__ = thing.__kwdefaults__, thing.__qualname__
    if not (thing.__name__.startswith("__") and thing.__name__ not in ("__new__", "__init__")):
        return made

    @passed_over
    @functools.wraps(thing, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return callees.of(made)(*args, **kwargs)

    del call.__wrapped__
    return call


def met(first: Any, second: Any) -> tuple[Any, Any]:
    """Operands: a plain masked array or matrix that meets a tracked value becomes its twin."""
    if issubclass(type(first), np.ndarray) and tracked(second):
        return ARRAYS.met((first, second))
    if issubclass(type(second), np.ndarray) and tracked(first):
        return ARRAYS.met((first, second))
    return first, second


def tracked(x: Any) -> bool:
    """Whether an operand is tracked."""
    return tracked_inside(x) or issubclass(type(x), Derived)


def _view(x: Any, *args: Any, **kwargs: Any) -> Any:
    """`x.view(kind)` of a plain array: tracked values may be written into what it gives."""
    kinds = [one for one in (*args, *kwargs.values()) if ARRAYS.of_subclass(one)]
    kind = kinds[0] if kinds else np.ndarray
    is_followed = issubclass(kind, Derived) or (kind is not np.ndarray and _is_of_program(kind))
    context = current_context()
    if context is None or context.home.is_abstract or not is_followed or not _holds_numbers(x):
        return np.ndarray.view(x, *args, **kwargs)
    shown = ARRAYS.own_target(context.constant_buffer(np.zeros(())), x)
    if shown is None:
        raise derived.refused(
            f"a plain array is seen as a {kind.__name__} in code that is not read",
            "make it of a tracked array: np.zeros_like(x), np.empty(n, like=x)",
        )
    return derived.view(shown, kind)


def _holds_numbers(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype.kind in "fciub"


def _unbound(name: str) -> Callable[..., Any]:
    plain = getattr(np.ndarray, name)

    @functools.wraps(plain, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        kind = type(args[0]) if args else None
        if isinstance(kind, type) and issubclass(kind, (Derived, Buffer)):
            found = getattr(Derived if issubclass(kind, Derived) else kind, name, None)
            if found is not None:
                return found(*args, **kwargs)
        return plain(*args, **kwargs)

    return call


def _new(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """`np.ndarray.__new__(cls, shape)`."""
    return (
        Derived.__new__(cls, *args, **kwargs) if issubclass(cls, Derived) else np.ndarray.__new__(cls, *args, **kwargs)
    )


def _converter(name: str, before: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(before, updated=())
    def convert(x: Any, *args: Any, **kwargs: Any) -> Any:
        return (derived.CONVERTERS[name] if _holds(x) else before)(x, *args, **kwargs)

    return convert


def _natively(plain: Callable[..., Any], before: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose stand-in does not take subclasses; NumPy's dispatch does."""

    @functools.wraps(before, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return (plain if any(map(_holds, (*args, *kwargs.values()))) else before)(*args, **kwargs)

    return call


def _holds(x: Any) -> bool:
    return any(map(_holds, x)) if type(x) in (list, tuple) else issubclass(type(x), Derived)


for _name in ("zeros_like", "ones_like", "full_like", "empty_like", "nan_to_num", "pad", "repeat", "roll", "take"):
    SPECIAL[getattr(np, _name)] = _natively(getattr(np, _name), SPECIAL[getattr(np, _name)])
for _name in ("array", "asanyarray", "asarray"):
    SPECIAL[getattr(np, _name)] = _converter(_name, SPECIAL[getattr(np, _name)])
for _name in dir(np.ndarray):
    if type(getattr(np.ndarray, _name)) in (type(np.ndarray.sum), type(np.ndarray.__add__)):
        SPECIAL.setdefault(getattr(np.ndarray, _name), _unbound(_name))
SPECIAL[np.ndarray.__new__] = _new
METHODS[np.ndarray, "view"] = _view
callees.SUBSTITUTES.append(substitute)
ARRAYS.twin_of = twin_of
