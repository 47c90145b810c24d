"""The engine "xla": transforms whose whole program is compiled, kept as long as their functions are used again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any

from bridge.engines.jax.engine import NeedsJax
from bridge.engines.protocol import Compiler, Health, Settings
from bridge.xla import program


class Xla(NeedsJax, Compiler):
    """Compiles with `bridge.xla`."""

    name = "xla"

    def compiled(self, function: Callable[..., Any], settings: Settings) -> Any:
        """A function, transforms in it included, as one XLA program for each signature."""
        return program(function, index_mode=settings.index_mode, memory=settings.memory)

    def kept(
        self, make: Callable[..., Callable[..., Any]], f: Callable[..., Any], settings: Settings, *options: Hashable
    ) -> Any:
        """`make(f, *options)` compiled; the same program again for the same function and options."""
        try:
            hash(f)
        except TypeError:
            return self.compiled(make(f, *options), settings)
        return _kept(make, f, settings, options)

    def health(self) -> Health | None:
        """Nothing: the engine "jax" says whether compiled gradients are right."""
        return None


@lru_cache(maxsize=256)
def _kept(make: Callable[..., Any], f: Callable[..., Any], settings: Settings, options: tuple[Hashable, ...]) -> Any:
    made: Any = program(make(f, *options), index_mode=settings.index_mode, memory=settings.memory)
    name = getattr(f, "__name__", type(f).__name__)
    made.__name__ = made.__qualname__ = f"{make.__name__.strip('_')} of {name}"
    return made


ENGINE = Xla()
