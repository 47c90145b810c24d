"""Functions of libraries, which are not read, as a program that is read calls them.

By a stand-in or a rule if a tracked value is among the arguments; with plain values where they only show them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from bridge.errors import EscapeError
from bridge.rewind.escapes import detach
from bridge.rewind.interpreter import ARRAYS
from bridge.source.keeping import any_tracked

SINKS = frozenset({"json", "logging", "warnings", "matplotlib", "pprint", "rich", "loguru", "numpy.testing"})
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
    """What `function` returns, or what stands for it if that is an array which is lent."""
    return ARRAYS.seen(function(*args, **kwargs))
