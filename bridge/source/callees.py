"""What is called in place of what, where a program that is read calls it.

A function of the program is read. A function that NumPy's protocols do not reach has a stand-in, which gets the call
if a tracked value is among the arguments. Everything else is called as it is.
"""

from __future__ import annotations

import functools
import sys
from abc import ABCMeta
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, MethodWrapperType
from typing import Any
from weakref import WeakSet

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.code_position import is_internal, warn
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rulebook import book
from bridge.source.asking import is_asked
from bridge.source.compiled_code import is_compiled, refusing
from bridge.source.lending import COUNT
from bridge.source.library_calls import (
    SINKS,
    home,
    is_numpys,
    is_of_tensors,
    looked_up,
    of_tensors,
    passed_over,
    ruled,
    showing,
    standing,
    standing_with_functions,
    without_rule,
)
from bridge.source.numba import DECORATORS, RUNNING, check_draw
from bridge.source.reading import as_written, reading_of, twin
from bridge.source.twins import note_rebound, twin_of, twins

SPECIAL: dict[Any, Any] = {}
"""What is called in place of a function of Python's or NumPy's, whatever the arguments are."""

METHODS: dict[tuple[type, str], Callable[..., Any]] = {}
"""Methods of Python's containers and of plain arrays that tracked values may be given to; they get the object first."""

OF_KIND: dict[type, Callable[..., Any]] = {}
"""What is called in place of objects of a library's class; it gets the object first."""

BY_NAME: dict[tuple[str, str], Callable[[Any], Any]] = {}
"""The same by the module and the name of the class, for a library that is not imported here: what gives the callee."""

SUBSTITUTES: list[Callable[[Any], Any]] = []
"""Functions that give what is called in place of a library's function, class or object; None if they have nothing."""

_ASKS_FOR_FRAMES = frozenset({"numpy", "sys", "inspect", "traceback", "warnings", "_warnings", "logging"})
"""Libraries that look at their caller, who must be the program; NumPy gives out nothing that is lent."""

_made: dict[Any, Callable[..., Any]] = {}
book.ON_ENTRY += [_made.clear, twins.clear]


def of(callee: Any) -> Any:
    """What is to be called where a program that is read says `callee(...)`."""
    if RUNNING.is_used:
        check_draw(callee)
    called = _called_for(callee)
    if not COUNT.number or (called is not callee and getattr(called, "__wrapped__", None) is not callee):
        return called
    # It may give out an array that is lent, from wherever it has that, or read it there.
    return called if home(callee) in _ASKS_FOR_FRAMES else functools.partial(looked_up, called)


def _called_for(callee: Any) -> Any:
    kind: Any = type(callee)
    if kind is FunctionType:
        kept = twins.get(id(callee))
        if kept is not None and kept.stands_for(callee):
            return kept.function
        found = SPECIAL.get(callee) or _made.get(callee)
        if found is not None:
            return found
        if callee in book.OF_USERS:
            found = _as_told(callee)
            if found is not None:
                return found
        reading = reading_of(callee)
        if reading.code is callee.__code__:
            if reading.rebinds:
                note_rebound(callee, reading.rebinds)
            return callee
        if reading.code is not None:
            return twin_of(callee, reading.code, reading.rebinds)
        return _of_library(callee, reading.reason)
    if kind is MethodType:
        return _of_method(callee)
    if kind.__hash__ is None or type(kind.__hash__) is FunctionType:
        # No business of ours to call: it may refuse, or take note of it.
        return _of_object(callee)
    try:
        found = SPECIAL.get(callee) or _made.get(callee)
    except TypeError:  # not hashable
        return _of_object(callee)
    if found is not None:
        return found
    if kind is type or kind is ABCMeta:
        return _of_class(callee)
    if kind is BuiltinFunctionType or (kind is MethodWrapperType and type(callee.__self__) is np.ndarray):
        return _of_builtin(callee)
    return _of_object(callee)


def _as_told(function: Any) -> Any:
    """What is called for a function of the program that a user has given a rule or a stand-in; None if he has not."""
    stand_in = book.STAND_INS.get(function)
    if stand_in is not None:
        made = _standing(function, stand_in)
    elif function in book.MUTATING or function in book.RULES or function in book.ZERO_PULL:
        made = ruled(function)
    else:
        return None
    _made[function] = made
    return made


def _say_what_is_not_seen(function: FunctionType, reason: str) -> None:
    """Warn once of a function that calls another one which has a rule, where nobody sees the call."""
    code = function.__code__
    if code in _said or is_internal(code.co_filename):
        return
    _said.add(code)
    around = [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]
    for known in (*map(function.__globals__.get, code.co_names), *around):
        if type(known) is FunctionType and known in book.OF_USERS and known in book.RULES:
            warn(
                f"{function.__name__} calls {known.__name__} and is not read, so that the rule of {known.__name__} is "
                f"not used there: {reason}\n  remedy: call what bridge.rule({known.__name__})(pull) has returned"
            )


_said: WeakSet[CodeType] = WeakSet()


def is_special(function: Any) -> bool:
    """Whether a function of NumPy's must be asked for when it is called, because another may be called in its place."""
    try:
        known = function in SPECIAL or function in book.STAND_INS or _substitute(function) is not None
        draws = isinstance(getattr(function, "__self__", None), np.random.RandomState)
        return known or draws or is_asked(function) or type(function) in OF_KIND or home(function) in SINKS
    except TypeError:
        return True


def _of_method(method: MethodType) -> Any:
    function = method.__func__
    if is_tracked(method.__self__):
        return method
    if type(function) is not FunctionType:
        handler = METHODS.get((type(method.__self__), getattr(function, "__name__", "")))
        if handler is None:
            # Compiled code whose methods bind as those of Python do: Cython's.
            stand_in = book.STAND_INS.get(function)
            handler = None if stand_in is None else _standing(function, stand_in)
        return _as_it_is(method) if handler is None else functools.partial(handler, method.__self__)
    found = _of_own_method(method)
    if found is not None:
        return found
    called = of(function)
    return method if called is function else MethodType(called, method.__self__)


def _of_own_method(method: Any) -> Any:
    """The stand-in of a method of one object, or of a class."""
    try:
        found = book.STAND_INS.get(method)
    except TypeError:
        return None
    return None if found is None else _standing(method, found)


def _of_library(function: Any, reason: str) -> Any:
    """What is called for a function that is not read: its stand-in, its rule, or itself."""
    if function.__module__ in DECORATORS:
        # Numba compiles the source, not the code that replaces it.
        return lambda *args, **kwargs: function(*map(as_written, args), **kwargs)
    book.read_book()
    substitute = _substitute(function)
    if substitute is not None:
        return substitute
    wraps = hasattr(function, "__wrapped__") and not is_internal(function.__code__.co_filename)
    if wraps and _is_read(function.__wrapped__):
        # What a library has wrapped around a function of the program.
        around = reading_of(function, wraps=True)
        if around.code is not None:
            return twin(function, around.code)
    stand_in = book.STAND_INS.get(function)
    if stand_in is not None:
        made = _standing(function, stand_in)
    elif function in book.MUTATING or (book.find(function) is not None and not is_numpys(function)):
        made = ruled(function)
    elif home(function) in SINKS:
        made = showing(function)
    elif home(function) == "scipy":
        made = without_rule(function)
    elif is_of_tensors(function):
        made = of_tensors(function)
    else:
        context = current_context()
        if context is not None and context.loan is not None:
            context.loan.unread[id(function.__code__)] = reason
        if book.OF_USERS:
            _say_what_is_not_seen(function, reason)
        return _as_it_is(function)
    _made[function] = made
    return made


def _as_it_is(callee: Any) -> Any:
    """What nothing is called for but itself; compiled code is not called with tracked values."""
    return refusing(callee) if is_compiled(callee) else callee


def _of_builtin(function: Any) -> Any:
    """A function or a bound method of compiled code."""
    owner = function.__self__
    if owner is None or type(owner) is _MODULE:
        if home(function) in ("builtins", "numpy"):
            return function
        return _compiled(function)
    name = function.__name__
    handler = next((METHODS.get((one, name)) for one in type(owner).__mro__ if name in vars(one)), None)
    if handler is not None:
        return functools.partial(handler, owner)
    stand_in = book.STAND_INS.get(getattr(type(owner), function.__name__, None))
    if stand_in is not None:
        return functools.partial(_standing(getattr(type(owner), function.__name__), stand_in), owner)
    return of_tensors(function) if is_of_tensors(type(owner)) else _as_it_is(function)


def _compiled(function: Any) -> Any:
    book.read_book()
    stand_in = book.STAND_INS.get(function)
    if stand_in is not None:
        made = _standing(function, stand_in)
    elif book.find(function) is not None and not isinstance(function, np.ufunc):
        made = ruled(function)
    elif home(function) in SINKS:
        made = showing(function)
    elif home(function) == "scipy":
        made = without_rule(function)
    elif is_of_tensors(function):
        made = of_tensors(function)
    else:
        return _as_it_is(function)
    _made[function] = made
    return made


_MODULE = type(sys)


def _of_class(cls: Any) -> Any:
    """A class that is called: made with an `__init__` that is read."""
    stand_in = book.STAND_INS.get(cls)
    if stand_in is not None:
        made = _made[cls] = _standing(cls, stand_in)
        return made
    substitute = _substitute(cls)
    if substitute is not None:
        return substitute
    if home(cls) == "scipy":
        made = _made[cls] = without_rule(cls)
        return made
    init = cls.__init__
    if type(init) is not FunctionType or type(cls).__call__ is not type.__call__:
        return _as_it_is(cls)
    if "__post_init__" in dir(cls) and hasattr(cls, "__dataclass_fields__"):
        return functools.partial(_dataclass, cls) if _is_read(cls.__post_init__) else cls
    if not _is_read(init):
        return _as_it_is(cls)

    return functools.partial(_object, cls)


@passed_over
def _object(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """An object of a class with an `__init__` that is read: what `type.__call__` does."""
    made = cls.__new__(cls, *args, **kwargs)
    context = current_context()
    if cls.__new__ is object.__new__ and context is not None and context.loan is not None:
        context.loan.watches.made(made)
    if issubclass(type(made), cls):
        found = type(made).__init__
        nothing = (of(found) if type(found) is FunctionType else found)(made, *args, **kwargs)
        if nothing is not None:
            raise TypeError(f"__init__() should return None, not '{type(nothing).__name__}'")
    return made


@passed_over
def _dataclass(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """An object of a dataclass, whose `__init__` was made without a source and calls `__post_init__`."""
    made = cls.__new__(cls)
    state = getattr(made, "__dict__", None)
    if state is None:
        return _between(cls)(*args, **kwargs)
    state["__post_init__"] = of(made.__post_init__)
    try:
        made.__init__(*args, **kwargs)
    finally:
        state.pop("__post_init__", None)
    return made


@functools.lru_cache(maxsize=256)
def _between(cls: Any) -> Any:
    """What makes objects of a dataclass without a `__dict__`: a class on the way, until `__post_init__` is called."""
    if "__init_subclass__" in {name for base in cls.__mro__[:-1] for name in vars(base)}:
        return cls

    def post(made: Any, *args: Any) -> Any:
        object.__setattr__(made, "__class__", cls)
        return of(cls.__post_init__)(made, *args)

    return type(cls)(cls.__name__, (cls,), {"__slots__": (), "__post_init__": post, "__module__": cls.__module__})


def _of_object(callee: Any) -> Any:
    """An object with `__call__`: of the program's class, of a library's, `functools.partial`."""
    kind = type(callee)
    if kind is functools.partial:
        called = of(callee.func)
        if called is callee.func:
            return callee
        args, keywords = callee.args, callee.keywords
        if COUNT.number:
            args = ARRAYS.seen(args)
            keywords = {name: ARRAYS.seen(value) for name, value in keywords.items()}
        return functools.partial(called, *args, **keywords)
    by_kind, by_name = OF_KIND.get(kind), BY_NAME.get((kind.__module__, kind.__name__))
    if by_kind is not None:
        return functools.partial(by_kind, callee)
    if by_name is not None:
        return _as_told(callee) or by_name(callee)
    substitute = _substitute(callee)
    if substitute is not None:
        return substitute
    if isinstance(callee, np.ufunc) or kind.__name__ == "_ArrayFunctionDispatcher":
        return _ruled_if_known(callee)
    call = kind.__call__
    if type(call) is FunctionType:
        book.read_book()
        stand_in = book.STAND_INS.get(call)
        if stand_in is not None:
            return functools.partial(_standing(call, stand_in), callee)
        if is_compiled(callee):
            return refusing(callee)
        called = of(call)
        return callee if called is call else MethodType(called, callee)
    book.read_book()
    return _ruled_if_known(callee)


def _ruled_if_known(function: Any) -> Any:
    """The stand-in of a function of NumPy's, or of an object that is called (f2py's, uarray's), or itself."""
    try:
        stand_in = book.STAND_INS.get(function)
    except TypeError:  # not hashable
        return _as_it_is(function)
    if stand_in is None:
        return _as_it_is(function)
    made = _made[function] = _standing(function, stand_in)
    return made


def _substitute(callee: Any) -> Any:
    return next((found for one in SUBSTITUTES if (found := one(callee)) is not None), None)


def _is_read(function: Any) -> bool:
    return type(function) is FunctionType and reading_of(function).code is not None


def _standing(function: Any, stand_in: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, or its stand-in; one that calls functions which it is given gets them read, and every call."""
    calls = stand_in in book.CALLING
    return standing_with_functions(function, stand_in, of) if calls else standing(function, stand_in)
