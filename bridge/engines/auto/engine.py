"""What the engine "auto" is to the transforms: a compiler, whose programs may also run as they are."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any

from bridge.engines.auto.choosing import Choosing
from bridge.engines.eager import Eager
from bridge.engines.protocol import Compiler, Settings


class Auto(Eager, Compiler):
    """Compiles what is called often enough and can be compiled, and leaves the rest to the engine "eager".

    It needs nothing: without JAX everything is eager. `vjp` is eager always, whose pull keeps what it needs.
    """

    name = "auto"
    has_settings = compiles_pulls = compared = False

    def compiled(self, function: Callable[..., Any], settings: Settings) -> Any:
        """A function, transforms in it included, which chooses for each signature how it is run."""
        return Choosing(function)

    def kept(
        self, make: Callable[..., Callable[..., Any]], f: Callable[..., Any], settings: Settings, *options: Hashable
    ) -> Any:
        """The same of `make(f, *options)`, with what is known of it from calls before."""
        try:
            hash(f)
        except TypeError:
            return make(f, *options)
        return _kept(make, f, options)


@lru_cache(maxsize=256)
def _kept(make: Callable[..., Any], f: Callable[..., Any], options: tuple[Hashable, ...]) -> Any:
    made = Choosing(make(f, *options))
    made.__name__ = f"{make.__name__.strip('_')}({getattr(f, '__name__', type(f).__name__)})"
    return made


ENGINE = Auto()
