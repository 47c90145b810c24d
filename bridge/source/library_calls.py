"""Functions of libraries, which are not read, as a program that is read calls them.

By a stand-in or a rule if a tracked value is among the arguments; with plain values where they only show them.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable
from copy import copy
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from bridge.arrays.tracked import is_tracked
from bridge.errors import EscapeError
from bridge.rewind.escapes import detach, escape
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.source.exchanging import Exchange
from bridge.source.keeping import any_tracked

SINKS = frozenset({
    "_hashlib", "hashlib", "json", "logging", "loguru", "matplotlib", "numpy.testing", "pprint", "rich", "warnings",
    "zlib",
})  # fmt: skip
"""Libraries that show values, and give nothing back that is differentiated."""


def passed_over(function: Callable[..., Any]) -> Any:
    """A function whose frame `warnings` and `logging` pass over when they look for the line that called them.

    They pass over frames of the import system, which they know by such a name of a file.
    """
    plain: Any = function
    plain.__code__ = plain.__code__.replace(co_filename=f"{__file__} (like importlib._bootstrap)")
    return function


def standing(function: Any, stand_in: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, or its stand-in if a tracked value is among the arguments."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if any_tracked(args, kwargs):
            return stand_in(*args, **kwargs)
        return function(*args, **kwargs)

    return call


def ruled(function: Any) -> Callable[..., Any]:
    """`function` by its rule."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if any_tracked(args, kwargs):
            return ARRAYS.call(function, args, kwargs)
        return function(*args, **kwargs)

    return call


def showing(function: Any) -> Callable[..., Any]:
    """A function that shows values: it gets what tracked ones hold."""

    @passed_over
    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(detach, args), **{name: detach(value) for name, value in kwargs.items()})

    return call


def without_rule(function: Any) -> Callable[..., Any]:
    """A function of SciPy's that nobody has a rule for: an error in it names it."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except EscapeError as error:
            name = f"{function.__module__}.{getattr(function, '__qualname__', function.__name__)}"
            if name not in error.what:
                error.what = f"{name} has no rule: {error.what}"
                error.remedy = (
                    f"give {name} a rule: bridge.rule({name})(pull), or say what computes it in NumPy: "
                    f"bridge.extend.stand_in({name}); or bridge.detach(x) if no gradient should pass"
                )
            raise

    return call


def of_tensors(function: Any) -> Callable[..., Any]:
    """A function or a method of PyTorch's, which reads memory past NumPy's protocols: constants go in as arrays."""
    owner = getattr(function, "__self__", None)
    name = f"{'torch' if owner is None or isinstance(owner, (type, ModuleType)) else 'Tensor'}.{function.__name__}"

    def plain(value: Any) -> Any:
        if is_tracked(value):
            return copy(escape(value, name))
        kind = type(value)
        if kind is list or kind is tuple:
            return kind(map(plain, value))
        return {key: plain(part) for key, part in value.items()} if kind is dict else value

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if any_tracked(args, kwargs):
            return function(*map(plain, args), **plain(kwargs))
        return function(*args, **kwargs)

    return call


def is_of_tensors(thing: Any) -> bool:
    """Whether a function, a class or an object is PyTorch's."""
    module = getattr(thing, "__module__", None) or type(thing).__module__
    return type(module) is str and module.partition(".")[0] == "torch"


def home(function: Any) -> str:
    """The name of the library that a function is of."""
    module = str(getattr(function, "__module__", None) or "")
    return (
        module
        if module in SINKS
        else ("numpy.testing" if module.startswith("numpy.testing") else module.partition(".")[0])
    )


def is_numpys(function: Any) -> bool:
    """Whether a function is NumPy's."""
    return str(getattr(function, "__module__", "")).partition(".")[0] == "numpy"


@passed_over
def looked_up(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """What a function that is not read returns, or what stands for it if that is an array which is lent.

    Wherever what it is given has such an array, it gets what stands for that.
    """
    is_blind = type(function) is BuiltinFunctionType and function in _BLIND
    if not is_blind and not is_tracked(getattr(function, "__self__", None)):
        exchange = Exchange(is_far=True)
        function = _bound(function, exchange)
        args = tuple(exchange.given(args))
        kwargs = dict(zip(kwargs, exchange.given(kwargs.values()), strict=True))
    return ARRAYS.seen(function(*args, **kwargs))


def _bound(function: Any, exchange: Exchange) -> Any:
    """A function with what stands for arrays in the place of those that it has."""
    if type(function) is functools.partial:
        args, kwargs = exchange.given(function.args), exchange.given(function.keywords.values())
        keywords = dict(zip(function.keywords, kwargs, strict=True))
        return functools.partial(_bound(function.func, exchange), *args, **keywords)
    if type(function) is BuiltinFunctionType:
        found = ARRAYS.seen(function.__self__)
        return function if found is function.__self__ else getattr(found, function.__name__)
    exchange.given([function])
    return function


_BLIND = frozenset({
    len, id, hasattr, getattr, callable, isinstance, issubclass, iter, next, range, enumerate, zip, time.time,
    time.perf_counter,
})  # fmt: skip
"""Functions of Python's that look at no array, or whose results are looked up."""


def standing_with_functions(
    function: Any, stand_in: Callable[..., Any], of: Callable[[Any], Any]
) -> Callable[..., Any]:
    """The stand-in of a function that calls what it is given; those functions are read, by `of`.

    What is in `args` and `kwargs` is passed on to these functions, and is not replaced.
    """
    passed_on = _passed_on(function)

    def read(value: Any) -> Any:
        kind = type(value)
        if kind is list or kind is tuple:
            return kind(map(read, value))
        if kind is dict:
            return named(value)
        if not callable(value) or isinstance(value, type):
            return value
        called = of(value)
        return called if called is value or kind is FunctionType or kind is MethodType else _Callable(value, called)

    def named(values: dict[Any, Any]) -> dict[Any, Any]:
        return {name: one if name in _PASSED_ON else read(one) for name, one in values.items()}

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if current_context() is None:
            return function(*args, **kwargs)
        given = [one if k in passed_on else read(one) for k, one in enumerate(args)]
        return stand_in(*given, **named(kwargs))

    return call


class _Callable:
    """An object that is called, read; its attributes are its own."""

    __slots__ = ("__wrapped__", "_called")

    def __init__(self, thing: Any, called: Callable[..., Any]) -> None:
        self.__wrapped__ = thing
        self._called = called

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._called(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)


_PASSED_ON = ("args", "kwargs")
"""Parameters of SciPy's solvers that are the further arguments of the functions which these are given."""


def _passed_on(function: Any) -> list[int]:
    """The positions of these parameters."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # compiled code without a signature
        return []
    return [k for k, one in enumerate(parameters) if one.name in _PASSED_ON and one.kind is one.POSITIONAL_OR_KEYWORD]
