"""Who supplies pulls: the rule book (`"native"`), Julia's ChainRules and Zygote (`"julia"`), JAX (`"jax"`), or all."""

from __future__ import annotations

from importlib.util import find_spec

from bridge.engines.asking import AskingContext, AskingForwardContext
from bridge.engines.protocol import Engine
from bridge.errors import ArgumentError, EngineNotAvailable
from bridge.rewind.context import Context
from bridge.rewind.forward import ForwardContext

__all__ = ["Engine", "check", "context", "forward_context"]

_PRESENT = ("auto", "native", "julia", "jax", "xla")
_INDEX_MODES = ("error", "clip", "fill", "drop")


def check(engine: str, index_mode: str = "error") -> None:
    """Raise unless `engine` is there: ArgumentError for an unknown name, EngineNotAvailable for one that is not."""
    if index_mode not in _INDEX_MODES:
        raise ArgumentError(f"index_mode={index_mode!r}", remedy=f"use one of {', '.join(map(repr, _INDEX_MODES))}")
    if index_mode != "error" and engine != "xla":
        raise ArgumentError(
            f"index_mode={index_mode!r} with engine={engine!r}, where an index outside is NumPy's IndexError",
            remedy='use engine="xla", or say what you mean in the program: np.clip(index, 0, n - 1), np.take(mode=...)',
        )
    if engine in ("jax", "xla") and find_spec("jax") is None:
        raise EngineNotAvailable(
            f"engine={engine!r} needs JAX, which is not installed here",
            remedy='pip install "mutation-bridge[jax]"; without it everything works but engine="jax" and engine="xla"',
        )
    if engine not in _PRESENT:
        raise ArgumentError(f"engine={engine!r}", remedy=f"use one of {', '.join(map(repr, _PRESENT))}")


def context(engine: str, zeros: str) -> Context:
    """A context of reverse mode whose pulls come from `engine`; with "julia", Julia starts here if it has not yet."""
    check(engine)
    if engine in _ASKED:
        return AskingContext(_ASKED[engine](), zeros=zeros)
    made = Context(zeros=zeros)
    made.engine = _fallback() if engine == "auto" else None
    return made


def forward_context(engine: str, zeros: str) -> ForwardContext:
    """A context of forward mode, likewise."""
    check(engine)
    if engine in _ASKED:
        return AskingForwardContext(_ASKED[engine](), zeros=zeros)
    made = ForwardContext(zeros=zeros)
    made.engine = _fallback() if engine == "auto" else None
    return made


def _julia() -> Engine:
    from bridge.engines.julia.engine import ENGINE

    return ENGINE.started()


def _jax() -> Engine:
    from bridge.engines.jax.engine import ENGINE

    return ENGINE


# The engines that are asked for every operation.
_ASKED = {"julia": _julia, "jax": _jax}


def _fallback() -> Engine:
    from bridge.engines.fallback import FALLBACK

    return FALLBACK
