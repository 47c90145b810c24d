"""The options that transforms share, and transforms that wait for their function: `@bridge.grad(argnums=1)`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypedDict

from bridge.errors import ArgumentError, with_article
from bridge.options import Engine, IndexMode, Zeros
from bridge.transforms.chosen import Argnums


class Options(TypedDict, total=False):
    """What every transform of a function takes."""

    argnums: Argnums
    engine: Engine
    source: bool | None
    index_mode: IndexMode
    memory: str | int | None


class GradOptions(Options, total=False):
    """What `grad` and `value_and_grad` take beside."""

    has_aux: bool
    zeros: Zeros
    allow_int: bool


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
