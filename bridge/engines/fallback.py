"""The engine of "auto": for functions that the rule book does not have, Julia's table if Julia is set up, then JAX."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from bridge.calls import operation_name
from bridge.engines.protocol import Engine
from bridge.rewind.rule import Rule


class Fallback(Engine):
    """Asks Julia and JAX where there is no native rule. Nothing is downloaded; each starts only when it is asked."""

    name = "auto"

    def rule(self, function: Any, native: Rule | None) -> Rule | None:
        """Julia's rule for `function`, if its table has one and a Julia is there; else JAX's."""
        if native is not None:
            return native
        from bridge.engines.julia.table import entries

        if operation_name(function) in entries() and _julia_is_set_up():
            from bridge.engines.julia.engine import ENGINE as JULIA

            return JULIA.started().rule(function, None)
        if find_spec("jax") is None:
            return None
        from bridge.engines.jax.engine import ENGINE as JAX

        return JAX.rule(function, None)


def _julia_is_set_up() -> bool:
    from bridge.errors import JuliaNotAvailable
    from bridge.julia.discovery import discover

    try:
        found = discover()
    except JuliaNotAvailable:
        return False
    return found.how == "running" or found.exe is not None


FALLBACK = Fallback()
