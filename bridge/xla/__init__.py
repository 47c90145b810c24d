"""The rewind, in XLA: `bridge.xla(f)` compiles a NumPy-style program, derivatives and writes included.

This module can be called. It imports JAX on first use only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from bridge.errors import ArgumentError, EngineNotAvailable, choice
from bridge.options import IndexMode

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class CompiledProgram(Protocol[P, R]):
    """A compiled function, called as the function is."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The program for these arguments as `jax.stages.Lowered`."""

    def compile(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The program for these arguments as `jax.stages.Compiled`."""

    @property
    def bounded_loops(self) -> list[str]:
        """Of each loop that `memory` bounds: where it is, what it keeps and runs again."""

    @property
    def compile_seconds(self) -> list[float]:
        """Seconds that the first run of each program took."""


@overload
def program(
    function: Callable[P, R], *, index_mode: IndexMode = "error", cache: Any = None, memory: str | int | None = None
) -> CompiledProgram[P, R]: ...
@overload
def program(
    *, index_mode: IndexMode = "error", cache: Any = None, memory: str | int | None = None
) -> Callable[[Callable[P, R]], CompiledProgram[P, R]]: ...
def program(
    function: Callable[..., Any] | None = None,
    *,
    index_mode: IndexMode = "error",
    cache: Any = None,
    memory: str | int | None = None,
    **unknown: Any,
) -> Any:
    """`function` as one XLA program for each signature of its arguments (`bridge.xla.compiled.Compiled`).

    Parameters
    ----------
    function : a NumPy-style program; may write into its arguments and its own arrays, and use bridge's transforms.
        Without it, what is returned waits for it: `@bridge.xla(index_mode="clip")`.
    index_mode : what an index that is known only at run time means outside its array. "error": IndexRangeError
        after the call; "clip": the nearest index inside; "fill": NaN (0 for integers) is read, and writes are
        dropped; "drop": 0 is read, and writes are dropped. Gradients follow.
    cache : a folder in which compiled programs are kept between processes; True for the user's cache folder.
    memory : "2GB", "512MB", or a number of bytes: how much the loops of the program may keep for their way back. A loop
        that would keep more keeps snapshots of the memory that it writes, and runs parts of itself again from these;
        `bounded_loops` of the compiled function says which did. MemoryBoundError where even that does not fit.
    """
    if unknown:
        options = ("index_mode", "cache", "memory")
        name, value = next(iter(unknown.items()))
        raise ArgumentError(f"bridge.xla has no option {name}= ({value!r})", remedy=choice(name, options))
    if function is None:
        return partial(program, index_mode=index_mode, cache=cache, memory=memory)
    try:
        from bridge.xla.compiled import Compiled
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("jax", "jaxlib"):
            raise
        raise EngineNotAvailable(
            "compiling needs JAX, which is not installed",
            remedy='pip install "mutation-bridge[jax]"; engine="native" works without',
        ) from error
    return Compiled(function, index_mode, cache, memory)


class _Callable(ModuleType):
    __call__ = staticmethod(program)


sys.modules[__name__].__class__ = _Callable
