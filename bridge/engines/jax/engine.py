"""The engine "jax": for every operation of the log, `jax.vjp` and `jax.jvp` of its lowering to jax.numpy."""

from __future__ import annotations

from typing import Any

from bridge.calls import operation_name
from bridge.engines.jax.rules import JaxRule
from bridge.engines.protocol import Engine, EngineRule
from bridge.rewind.rule import Rule
from bridge.xla.lowering.lower import has

__all__ = ["ENGINE", "Jax"]


class Jax(Engine):
    """JAX's derivatives, through the lowering of `bridge.xla`."""

    name = "jax"

    def __init__(self) -> None:
        self._rules: dict[Any, EngineRule] = {}

    def how_to_add(self, name: str) -> str:
        """The end of a remedy: how `name` gets a rule."""
        return f"write {name} with functions that jax.numpy has too"

    def rule(self, function: Any, native: Rule | None) -> Rule | None:
        """The rule of a function, if JAX has its counterpart."""
        key = operation_name(function) if native is None else native
        if key not in self._rules and has(function):
            name = operation_name(function) if native is None else native.name
            self._rules[key] = JaxRule(function, name, native)
        return self._rules.get(key)


ENGINE = Jax()
