"""The engine of "auto": Julia's table for functions that the rule book does not have, if Julia is set up."""

from __future__ import annotations

from typing import Any

from bridge.engines.protocol import Engine
from bridge.inspection import operation_name
from bridge.rule import Rule


class Fallback(Engine):
    """Asks Julia where there is no native rule. Nothing is downloaded, and Julia starts only for what it has."""

    name = "auto"

    def rule(self, function: Any, native: Rule | None) -> Rule | None:
        """Julia's rule for `function`, if its table has one and a Julia is there."""
        if native is not None:
            return native
        from bridge.engines.table import entries

        if operation_name(function) not in entries() or not _julia_is_set_up():
            return None
        from bridge.engines.julia import ENGINE

        return ENGINE.started().rule(function, None)


def _julia_is_set_up() -> bool:
    from bridge.errors import JuliaNotAvailable
    from bridge.julia.discovery import discover

    try:
        found = discover()
    except JuliaNotAvailable:
        return False
    return found.how == "running" or found.exe is not None


FALLBACK = Fallback()
