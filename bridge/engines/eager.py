"""The engine "eager": the rule book, and for functions that it does not have the engines that fill its gaps."""

from __future__ import annotations

from typing import Any

from bridge.engines import registry
from bridge.engines.protocol import Engine
from bridge.rulebook.rule import Rule


class Eager(Engine):
    """Asks others where there is no native rule. Nothing is downloaded; each starts only when it is asked."""

    name = "eager"
    asked_for_all = compared = False

    def rule(self, function: Any, native: Rule | None) -> Rule | None:
        """The rule of the first that is there and knows `function`: Julia's, if its table has an entry; else JAX's."""
        if native is not None:
            return native
        for engine in registry.engines():
            if engine.fills_gaps and engine.knows(function) and not engine.missing():
                return engine.started().rule(function, None)
        return None

    def health(self) -> None:
        """Nothing: the engines that it asks speak for themselves."""


ENGINE = Eager()
