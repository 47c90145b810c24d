"""The names of engines, and contexts that ask one: without Julia."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.engines import registry
from bridge.engines.protocol import AskingContext, Engine, EngineRule
from bridge.errors import ArgumentError, NoRuleError
from bridge.rewind.rule import Rule

X = np.array([0.5, -2.0])


class Doubling(Engine):
    """Knows np.tanh alone, whose pull it makes twice as large."""

    name = "doubling"

    def rule(self, function: Any, native: Rule | None) -> Rule | None:
        return Doubled(function, "np.tanh", native) if function is np.tanh else None

    def how_to_add(self, name: str) -> str:
        return f"teach it {name}"


class Doubled(EngineRule):
    __slots__ = ()

    def pull(self, ct: Any, out: Any, args: Any, kwargs: Any, wanted: Any) -> Any:
        assert self.native is not None
        for position, cotangent in self.native.pull(ct, out, args, kwargs, wanted):
            yield position, 2 * cotangent


def test_unknown_engine() -> None:
    with pytest.raises(ArgumentError, match="'julia'"):
        bridge.grad(np.sum, engine="torch")


def test_a_context_asks_its_engine_for_every_operation() -> None:
    with AskingContext(Doubling()) as context:
        x = context.buffer(X)
        y = np.tanh(x)
        y[0] = 3.0
        np.testing.assert_allclose(context.gradient(y, x, np.ones(2)), [0.0, 2 / np.cosh(2.0) ** 2])
        np.tanh(x, out=y)
        np.testing.assert_allclose(context.gradient(y, x, np.ones(2)), 2 / np.cosh(X) ** 2)


def test_what_an_engine_lacks_is_an_error_with_the_line_of_the_call() -> None:
    with AskingContext(Doubling()) as context, pytest.raises(NoRuleError) as caught:
        np.sum(np.sin(context.buffer(X)))
    message = str(caught.value)
    assert "engine='doubling' has no rule for np.sin" in message and "test_engines.py" in message
    assert "teach it np.sin" in message


def test_constants_are_not_asked_for() -> None:
    with AskingContext(Doubling()) as context:
        assert np.sin(context.constant_buffer(np.zeros(2))).value.tolist() == [0.0, 0.0]


def test_native_contexts_are_plain_and_ask_for_nothing() -> None:
    assert registry.context("native", "strong").engine.rule(np.sin, None) is None
    assert type(registry.context("native", "strong")) is bridge.Context
    assert type(registry.context("auto", "strong")) is bridge.Context
