"""What a transform makes of a function: its options, and how the result is called, bound, copied and pickled."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from copy import deepcopy
from types import MethodType
from typing import Any, NoReturn, TypedDict

from bridge.errors import ArgumentError, RefusedError, with_article
from bridge.options import Engine, IndexMode, Loops, Zeros
from bridge.transforms.chosen import Argnums


class Options(TypedDict, total=False):
    """What every transform of a function takes."""

    argnums: Argnums
    engine: Engine
    source: bool | None
    index_mode: IndexMode
    memory: str | int | None


class GradOptions(Options, total=False):
    """The options of `grad` and `value_and_grad`."""

    has_aux: bool
    zeros: Zeros
    allow_int: bool
    loops: Loops | None
    debug: bool


class BatchOptions(TypedDict, total=False):
    """What `vmap` takes."""

    in_axes: Any
    out_axes: Any


def configurable(transform: Callable[..., Any]) -> Callable[..., Any]:
    """A transform that, called with options alone, is a decorator: it waits for its function."""
    signature = inspect.signature(transform)
    first = next(iter(signature.parameters))

    @functools.wraps(transform)
    def transformed(*args: Any, **options: Any) -> Any:
        if not args and first not in options:
            signature.bind_partial(**options)  # A wrong name is an error where it stands.
            return functools.partial(transformed, **options)
        function = args[0] if args else options[first]
        if not callable(function):
            raise ArgumentError(
                f"{transform.__name__} of {with_article(type(function).__name__)}, which cannot be called",
                remedy=f"give a function, and then its arguments: {transform.__name__}(f)(x)",
            )
        return transform(*args, **options)

    return transformed


class Made:
    """Something that was made of a function, which another process makes again.

    Attributes
    ----------
    function : what it was made of.
    """

    function: Any

    def recipe(self, function: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """What makes the same of another function, and what that is called with."""
        raise NotImplementedError

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        function = deepcopy(self.function, memo)
        if function is self.function:
            return self
        make, given = self.recipe(function)
        return make(*given)

    def __reduce__(self) -> Any:
        function = self.function
        while hasattr(function, "function"):
            function = function.function
        name = getattr(function, "__qualname__", "")
        found: Any = sys.modules.get(getattr(self, "__module__", ""))
        for part in name.split("."):
            found = getattr(found, part, None)
        # A decorated function is what its module has by that name; another one is made again.
        return name if found is self else self.recipe(self.function)


class Transformed(Made, functools.partial[Any]):
    """A function that a transform has made; as `partial` it is called without a detour, and seen through."""

    __name__: str
    __qualname__: str
    transform: Callable[..., Any]
    options: tuple[Any, ...]

    @classmethod
    def of(cls, run: Callable[..., Any], transform: Callable[..., Any], f: Any, *options: Any) -> Transformed:
        """What `transform(f, *options)` is, which calls `run`."""
        made = cls(run)
        made.transform, made.function, made.options = transform, f, options
        made.__module__ = getattr(f, "__module__", None) or type(f).__module__
        return made

    def recipe(self, function: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.transform, (function, *self.options)

    def __get__(self, instance: Any, kind: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "__signature__":
            try:
                return inspect.signature(self.function)
            except (TypeError, ValueError) as error:
                raise AttributeError(name) from error
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<{getattr(self, '__name__', 'function')} of {self.__module__}>"


class Pull:
    """What `vjp` returns beside the value: called like a function, and bound to the log of this process."""

    __slots__ = ("__wrapped__",)

    def __init__(self, pull: Callable[..., Any]) -> None:
        self.__wrapped__ = pull

    def __call__(self, cotangent: Any, exists: Any = None) -> Any:
        return self.__wrapped__(cotangent) if exists is None else self.__wrapped__(cotangent, exists)

    def __deepcopy__(self, memo: Any) -> Pull:
        return self

    def __reduce__(self) -> NoReturn:
        raise RefusedError(
            "a pull of vjp cannot be pickled: the log that it walks back stays in this process",
            remedy="pickle the function and its arguments, and call bridge.vjp where they arrive",
        )
