"""Contexts that ask an engine for the pull of every operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridge.engines.protocol import Engine, EngineRule
from bridge.errors import ArgumentError, NoRuleError
from bridge.position import here, resolve
from bridge.rewind.context import Context
from bridge.rewind.forward import ForwardContext
from bridge.rewind.interpreter import Call
from bridge.rewind.rule import Rule
from bridge.transforms.compiling import compiling


class Asking:
    """Replaces the native rules of operations through which a gradient passes, before they are recorded."""

    engine: Any

    def __enter__(self) -> Any:
        if compiling():
            raise ArgumentError(
                f"engine={self.engine.name!r} inside of a program that is compiled",
                remedy="leave the engine out: a compiled program takes its pulls from the rule book, and else from JAX",
            )
        return super().__enter__()  # type: ignore[misc]

    def result(self, call: Call, value: Any) -> Any:
        """Wrap and log the result of an operation."""
        if call.rule is not None:
            call.rule = self._engine_rule(call)
        return super().result(call, value)  # type: ignore[misc]

    def update(self, call: Call, target: Any, mask: Any, run: Callable[[tuple[Any, ...]], Any]) -> None:
        """Run and log a ufunc that writes into existing memory."""
        if call.rule is not None:
            asked = self._engine_rule(call)
            call.rule = asked.masked() if mask is not None and isinstance(asked, EngineRule) else asked
        super().update(call, target, mask, run)  # type: ignore[misc]

    def _engine_rule(self, call: Call) -> Rule:
        rule: Rule = call.rule
        if not call.wanted or isinstance(rule, EngineRule):
            return rule
        found = self.engine.rule(rule.function, rule)
        if found is None:
            raise NoRuleError(
                f"engine={self.engine.name!r} has no rule for {rule.name}",
                where=resolve(here()),
                remedy=f'use engine="native", which has one, or {self.engine.how_to_add(rule.name)}',
            )
        return found


class AskingContext(Asking, Context):
    """Reverse mode whose pulls come from an engine."""

    def __init__(self, engine: Engine, *, zeros: str = "strong") -> None:
        super().__init__(zeros=zeros)
        self.engine = engine


class AskingForwardContext(Asking, ForwardContext):
    """Forward mode whose derivatives come from an engine."""

    def __init__(self, engine: Engine, *, zeros: str = "strong") -> None:
        super().__init__(zeros=zeros)
        self.engine = engine
