"""Warnings that name the operation where a NaN arises, and the one that amplifies cotangents."""

from __future__ import annotations

import re
import shutil
import warnings
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, BridgeWarning
from bridge.rewind.diagnosis import Diagnosis


def line_of(text: str) -> str:
    """The place of the only line of this file that has a text."""
    with open(__file__, encoding="utf-8") as file:
        [number] = [k for k, line in enumerate(file, 1) if line.strip() == text]
    return f"{__file__}:{number} in "


def bump(x: Any) -> Any:
    distance = np.sqrt(x**2)
    return np.sum(np.exp(-(distance**2)))


def test_a_nan_is_reported_where_it_arises() -> None:
    with pytest.warns(BridgeWarning, match=re.escape(line_of("distance = np.sqrt(x**2)"))) as found:
        gradient = bridge.grad(bump)(np.array([0.0, 1.0]))
    assert np.isnan(gradient[0])
    assert len(found) == 1
    assert "in the pull of np.sqrt" in str(found[0].message)
    assert found[0].filename == __file__


def test_the_first_nan_is_reported_also_inside_of_a_checkpoint() -> None:
    def program(x: Any) -> Any:
        part = bridge.checkpoint(bump)
        return np.log(part(x)) + np.sum(np.sqrt(x + 1.0))

    with pytest.warns(BridgeWarning, match=re.escape(line_of("distance = np.sqrt(x**2)"))):
        assert np.isnan(bridge.grad(program)(np.array([0.0, 1.0]))[0])


@pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: cc, gcc or clang")
def test_a_nan_of_a_loop_in_c_is_reported_at_the_loop() -> None:
    def program(x: Any) -> Any:
        total = 0.0
        for k in range(len(x) - 0):
            total = total + np.sqrt(x[k] * 0.0)
        return total

    remedy = "BRIDGE_LOOPS=python names the statement"
    with pytest.warns(BridgeWarning, match=f"{re.escape(line_of('for k in range(len(x) - 0):'))}(?s:.*){remedy}"):
        assert np.all(np.isnan(bridge.grad(program, loops="c")(np.ones(3))))


@pytest.mark.parametrize("zeros", ["strong", "ieee"])
def test_gradients_without_a_nan_are_not_reported(zeros: Any) -> None:
    def program(x: Any) -> Any:
        return np.sum(np.where(x > 0.0, np.sqrt(np.abs(x)), 0.0))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradient = bridge.grad(program, zeros=zeros)(np.array([1.0, 4.0]))
        np.testing.assert_array_equal(gradient, [0.5, 0.25])
        # The cotangent of the first element is absent: NaN arises in no gradient.
        np.testing.assert_array_equal(bridge.grad(program)(np.array([0.0, 4.0])), [0.0, 0.25])


def test_nans_that_an_inner_gradient_removes_are_not_reported() -> None:
    def program(x: Any) -> Any:
        return np.sum(bridge.grad(lambda y: np.sum(np.where(y > 0.0, np.abs(y) ** 1.5, 0.0)))(x))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(bridge.grad(program)(np.array([0.0, 4.0])), [0.0, 0.375])


def unstable(u: Any, steps: int = 60, rate: float = 2.0) -> Any:
    u = u.copy()
    for _ in range(steps):
        change = u[2:] - 2.0 * u[1:-1] + u[:-2]
        u[1:-1] += rate * change
    return np.sum(u)


def test_debug_reports_what_amplifies() -> None:
    u = np.sin(np.linspace(0.0, 3.0, 40))
    expected = bridge.value_and_grad(unstable)(u)
    with pytest.warns(BridgeWarning) as found:
        value, gradient = bridge.value_and_grad(unstable, debug=True)(u)
    assert value == expected[0]
    np.testing.assert_array_equal(gradient, expected[1])
    [warning] = found
    text = str(warning.message)
    largest = float(re.findall(r"amplifies cotangents (\S+) times", text)[0])
    assert np.max(np.abs(gradient)) == pytest.approx(largest, rel=0.1)
    assert largest > 1e40
    places = line_of("change = u[2:] - 2.0 * u[1:-1] + u[:-2]"), line_of("u[1:-1] += rate * change")
    assert any(place in text for place in places)


def test_debug_reports_nothing_of_a_stable_program() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bridge.grad(unstable, debug=True)(np.ones(40), 60, 0.2)
        assert bridge.check_gradient(unstable)(np.ones(10), 5, 0.2).notes == []


def test_check_gradient_notes_amplification() -> None:
    report = bridge.check_gradient(unstable)(np.sin(np.linspace(0.0, 3.0, 20)))
    assert any("the backward pass amplifies cotangents" in note for note in report.notes)


@pytest.mark.parametrize("engine", ["xla", "auto"])
@pytest.mark.parametrize("transform", [bridge.grad, bridge.value_and_grad])
def test_debug_is_for_engines_that_walk_the_log(engine: Any, transform: Any) -> None:
    with pytest.raises(ArgumentError, match=r'debug=True with engine=(?s:.*)use engine="native"'):
        transform(bump, engine=engine, debug=True)


def test_a_diagnosis_inside_of_another_sees_nothing() -> None:
    outer, inner = Diagnosis(), Diagnosis()
    with outer.observing(), inner.observing():
        bridge.grad(unstable)(np.ones(10), 3)
    assert outer.amplification > 0.0
    assert inner.amplification == 0.0
