"""Proofs and traces of programs that are read: scratch from NumPy, state in objects, histories of floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge


class Chain:
    """Writes into arrays that it made before, and into new ones."""

    def __init__(self) -> None:
        self.state = np.zeros(3)
        self.history: list[float] = []

    def run(self, x: Any) -> Any:
        self.state[:] = x**2
        self.state[1:] += self.state[:-1]
        scratch = np.zeros(3)
        for i in range(3):
            scratch[i] = self.state[i] * x[i]
        self.history.append(float(scratch[0]))
        return scratch


X = np.array([0.5, -1.0, 2.0])


def test_crosscheck_of_a_read_program() -> None:
    report = bridge.crosscheck(Chain().run, engines=("native",))(X)
    assert report.ok
    assert [run.status for run in report.runs] == ["ran", "ran", "ran"]


def test_a_wrong_rule_in_a_read_program_is_blamed() -> None:
    def cube(x: Any) -> Any:
        return np.asarray(x) ** 3

    cubed = bridge.rule(cube)(lambda ct, out, x: ct * 2 * x * x)

    def program(x: Any) -> Any:
        scratch = np.zeros(3)
        scratch[:] = cubed(x)
        return np.sum(scratch)

    report = bridge.crosscheck(program, engines=("native",), shrink=False)(X)
    assert not report.ok
    assert "cube" in str(report.differences[0].name)


def test_check_gradient_of_a_read_program() -> None:
    bridge.check_gradient(Chain().run)(X)


def test_trace_follows_values_into_plain_arrays() -> None:
    chain = Chain()
    trace = bridge.trace(chain.run)(X)
    np.testing.assert_array_equal(trace.value, Chain().run(X))
    assert sum(one.name == "setitem" for one in trace.timeline.operations) == 4
    assert not chain.state.any()
    assert chain.history == [0.125]


def test_nothing_is_read_where_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRIDGE_SOURCE", "0")
    report = bridge.crosscheck(Chain().run, engines=("native",))(X)
    assert "EscapeError" in next(run.why for run in report.runs if run.engine == "native")


class Weighted:
    def __init__(self, weight: Any) -> None:
        self.weight = weight

    @property
    def squared(self) -> Any:
        return self.weight**2

    def __mul__(self, x: Any) -> Any:
        return self.weight * x


def test_another_way_is_found_behind_objects() -> None:
    """Constructors, properties and special methods of the program are called through code of the package."""

    def asks(x: Any) -> Any:
        made = Weighted(x)
        factor = made.squared[0] + (made * 2.0)[1]
        if hasattr(x, "place"):  # asks
            factor = 2.0 * factor
        return np.sum(x * factor)

    report = bridge.crosscheck(asks, engines=("native",), shrink=False)(X)
    first = report.differences[0]
    assert (first.kind, first.name) == ("primal", "control flow")
    assert f":{asks.__code__.co_firstlineno + 3} in asks" in str(first.where)
