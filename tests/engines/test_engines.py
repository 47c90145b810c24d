"""The names of engines, contexts that ask one, and an engine from outside: without Julia."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.cli import doctor
from bridge.engines import registry
from bridge.engines.protocol import AskingContext, Engine, EngineRule
from bridge.errors import ArgumentError, EngineNotAvailable, NoRuleError
from bridge.rulebook.rule import Rule
from tests.engines import mirror as mirror_engine

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
    assert type(registry.context("eager", "strong")) is bridge.Context


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> mirror_engine.Mirror:
    """The engine of `tests/engines/mirror.py`, registered for one test."""
    monkeypatch.setattr(registry, "_HOMES", dict(registry._HOMES))
    registry.register("mirror", "tests.engines.mirror")
    monkeypatch.setattr(mirror_engine.ENGINE, "wrong", set())
    monkeypatch.setattr(mirror_engine.ENGINE, "why", "")
    return mirror_engine.ENGINE


def waves(x: Any) -> Any:
    y = np.zeros_like(x)
    y[1:] = np.sin(x[:-1]) * x[1:]
    y *= np.exp(x)
    return np.sum(y)


@pytest.mark.usefixtures("mirror")
def test_an_engine_from_outside_differentiates() -> None:
    x, dx = np.linspace(0.1, 1.0, 4), np.cos(np.arange(4.0))
    np.testing.assert_array_equal(bridge.grad(waves, engine="mirror")(x), bridge.grad(waves, engine="native")(x))
    found, expected = (bridge.jvp(waves, (x,), (dx,), engine=engine) for engine in ("mirror", "native"))
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    found, expected = (bridge.hessian(waves, engine=engine)(x) for engine in ("mirror", "native"))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    with pytest.raises(NoRuleError, match=r"engine='mirror' has no rule for np\.cosh"):
        bridge.grad(lambda x: np.sum(np.cosh(x)), engine="mirror")(x)
    with pytest.raises(ArgumentError, match="index_mode='clip' with engine='mirror'"):
        bridge.grad(waves, engine="mirror", index_mode="clip")


@pytest.mark.ci
def test_an_engine_from_outside_is_cross_checked(mirror: mirror_engine.Mirror) -> None:
    x = np.linspace(0.1, 1.0, 4)
    report = bridge.crosscheck(waves, engines=("native", "mirror"))(x)
    assert report.ok and not report.differences, str(report)
    assert [run.engine for run in report.runs if run.status == "ran"][1:3] == ["native", "mirror"]
    assert "mirror" in [run.engine for run in bridge.crosscheck(waves)(x).runs]
    mirror.wrong.add("np.sin")
    first = bridge.crosscheck(waves, engines=("native", "mirror"))(x).differences[0]
    assert (first.kind, first.engines[0], first.name) == ("mismatch", "mirror", "np.sin")
    assert first.where is not None and "test_engines.py" in first.where


def test_an_engine_from_outside_that_is_not_there(mirror: mirror_engine.Mirror) -> None:
    mirror.why = "it has gone home: pip install it"
    with pytest.raises(EngineNotAvailable, match="engine='mirror' is not there: it has gone home"):
        bridge.grad(waves, engine="mirror")
    report = bridge.crosscheck(waves, engines=("native", "mirror"))(X)
    assert [(run.status, run.why) for run in report.runs if run.engine == "mirror"] == [("not available", mirror.why)]


@pytest.mark.ci
@pytest.mark.usefixtures("mirror")
def test_the_doctor_and_messages_name_an_engine_from_outside() -> None:
    lines, _ = doctor.examine()
    assert lines[lines.index("engine='mirror'") + 1] == "  there"
    with pytest.raises(ArgumentError, match=r"choose among .*'mirror'"):
        bridge.crosscheck(waves, engines="torch")
    with pytest.raises(ArgumentError, match=r"use one of .*'mirror'"):
        bridge.grad(waves, engine="torch")


@pytest.mark.usefixtures("mirror")
def test_a_name_stands_for_one_engine() -> None:
    registry.register("mirror", "tests.engines.mirror")
    with pytest.raises(ArgumentError, match=r"'jax' already, in bridge\.engines\.jax"):
        registry.register("jax", "tests.engines.mirror")
