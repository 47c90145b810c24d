"""Who supplies pulls. This version has one engine, `"native"`: the rule book."""

from __future__ import annotations

from bridge.errors import ArgumentError, EngineNotAvailable

_PRESENT = ("auto", "native")
_NAMED = ("julia", "jax", "xla")


def check(engine: str) -> None:
    """Raise unless `engine` is there."""
    if engine in _PRESENT:
        return
    if engine in _NAMED:
        raise EngineNotAvailable(
            f"engine={engine!r} is not part of this version",
            remedy='use engine="native" (the rule book) or leave it out',
        )
    raise ArgumentError(f"engine={engine!r}", remedy=f"use one of {', '.join(map(repr, _PRESENT))}")
