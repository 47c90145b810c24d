"""Who supplies pulls: the rule book (`"native"`), ChainRules and Zygote in Julia (`"julia"`), or both (`"auto"`)."""

from __future__ import annotations

from bridge.context import Context
from bridge.engines.asking import AskingContext, AskingForwardContext
from bridge.engines.protocol import Engine
from bridge.errors import ArgumentError, EngineNotAvailable
from bridge.forward import ForwardContext

__all__ = ["Engine", "check", "context", "forward_context"]

_PRESENT = ("auto", "native", "julia")
_NAMED = ("jax", "xla")


def check(engine: str) -> None:
    """Raise unless `engine` is there: ArgumentError for an unknown name, EngineNotAvailable for one that is not."""
    if engine in _NAMED:
        raise EngineNotAvailable(
            f"engine={engine!r} is not part of this version",
            remedy='use engine="native" (the rule book) or leave it out',
        )
    if engine not in _PRESENT:
        raise ArgumentError(f"engine={engine!r}", remedy=f"use one of {', '.join(map(repr, _PRESENT))}")


def context(engine: str, zeros: str) -> Context:
    """A context of reverse mode whose pulls come from `engine`; with "julia", Julia starts here if it has not yet."""
    check(engine)
    if engine == "julia":
        return AskingContext(_julia(), zeros=zeros)
    made = Context(zeros=zeros)
    made.engine = _fallback() if engine == "auto" else None
    return made


def forward_context(engine: str, zeros: str) -> ForwardContext:
    """A context of forward mode, likewise."""
    check(engine)
    if engine == "julia":
        return AskingForwardContext(_julia(), zeros=zeros)
    made = ForwardContext(zeros=zeros)
    made.engine = _fallback() if engine == "auto" else None
    return made


def _julia() -> Engine:
    from bridge.engines.julia import ENGINE

    return ENGINE.started()


def _fallback() -> Engine:
    from bridge.engines.fallback import FALLBACK

    return FALLBACK
