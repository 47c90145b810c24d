"""Zygote.jl#177 and its kin: arrays that are overwritten, and buffers whose gradient is dropped.

https://github.com/FluxML/Zygote.jl/issues/177
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy as bnp
from tests.reported.agreement import ENGINES, assert_agreement, needed

X = np.array([0.7, -1.2, 0.4, 2.0])


def written_and_read_without_a_copy(x: Any) -> Any:
    """The report's program: what was written into the buffer is read from the buffer itself."""
    y = bnp.empty_like(x)
    y[:] = x[:]
    return np.sum(y * y)


def read_twice(x: Any) -> Any:
    y = x.copy()
    first, second = y.copy(), y.copy()
    return np.sum(first) + np.sum(second**2)


def overwritten_after_it_was_needed(x: Any) -> Any:
    y = np.exp(x)
    product = y * x
    y[:] = 0.0
    return np.sum(product) + np.sum(y)


def scalar_loop(x: Any) -> Any:
    y = x.copy()
    for k in range(1, 4):
        y[k] = y[k] * y[k - 1] + y[k]
    return y[3] ** 2


def the_same_place_twice(x: Any) -> Any:
    y = bnp.zeros_like(x)
    y[np.array([0, 0])] = x[:2]
    y[0] *= x[2]
    return np.sum(y)


def argument_overwritten(x: Any) -> Any:
    y = x[:2] * x[2:]
    x[:] = np.sin(x[::-1])
    return np.sum(x * x) + np.sum(y)


PROGRAMS = (
    written_and_read_without_a_copy,
    read_twice,
    overwritten_after_it_was_needed,
    scalar_loop,
    the_same_place_twice,
    argument_overwritten,
)


@pytest.mark.ci
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_every_order_of_derivative(program: Any, engine: str) -> None:
    needed(engine)
    assert_agreement(program, X, engine)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_crosscheck_finds_no_difference(program: Any) -> None:
    report = bridge.crosscheck(program, engines=("native", "jax"))(X)
    assert report.ok, str(report)


IN_JULIA = [
    ("b = buffer(x); sum(abs2, b[:])", 2 * X),
    ("b = buffer(zero(x)); b[:] = x[:]; sum(abs2, b[:])", 2 * X),
    ("b = buffer(x); sum(copy(b)) + sum(abs2, copy(b))", 1 + 2 * X),
    ("b = buffer(x); y = sum(abs2, b[:]); b[1] = 0.0; y + sum(b[:])", 2 * X + [0, 1, 1, 1]),
    ("b = buffer(zero(x)); map(i -> (b[i] = x[i]^2; nothing), 1:4); sum(copy(b))", 2 * X),
]


@pytest.mark.julia
@pytest.mark.parametrize(("body", "gradient"), IN_JULIA)
def test_the_programs_of_the_report_in_julia(body: str, gradient: np.ndarray) -> None:
    function = bridge.julia.function(f"x -> begin buffer = MutationBridge.Buffer; {body} end")
    np.testing.assert_allclose(bridge.grad(function)(X), gradient)
    np.testing.assert_allclose(bridge.grad(lambda x: function(x) + np.sum(x))(X), gradient + 1)


@pytest.mark.julia
def test_a_plain_array_that_is_written_is_refused_by_name() -> None:
    function = bridge.julia.function("x -> (y = copy(x); y[1] = 0.0; sum(abs2, y))", ad="zygote")
    with pytest.raises(bridge.errors.BridgeError, match="Buffer"):
        bridge.grad(function)(X)
