"""Other engines of Julia behind the same callable: right where they differentiate, named errors where they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, JuliaError, JuliaNotAvailable

pytestmark = pytest.mark.julia

# A Julia function that mutates an ordinary array: Zygote refuses it, these engines do not.
SCAN = "(x, a) -> (y = copy(x); for i in 2:length(y) y[i] = tanh(y[i] + a * y[i-1]) end; sum(y))"


def scan(x: Any, a: Any) -> Any:
    for i in range(1, len(x)):
        x[i] = np.tanh(x[i] + a * x[i - 1])
    return np.sum(x)


def engine(name: str, code: str) -> Any:
    try:
        return bridge.julia.function(code, ad=name)
    except JuliaNotAvailable as missing:
        pytest.skip(f"ad={name!r}: {missing.what}")


@pytest.mark.parametrize("ad", ["forwarddiff", "mooncake"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_unmodified_mutating_function(ad: str, dtype: Any) -> None:
    x, a = np.array([0.3, -0.5, 1.1, 0.2], dtype), 0.7
    value, found = bridge.value_and_grad(engine(ad, SCAN), argnums=(0, 1))(x, a)
    expected_value, expected = bridge.value_and_grad(scan, argnums=(0, 1))(x, a)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(value, expected_value, rtol=tolerance)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    assert found[0].dtype == dtype


@pytest.mark.parametrize("ad", ["zygote", "forwarddiff", "mooncake"])
def test_inside_a_numpy_program(ad: str) -> None:
    function = engine(ad, "(w, x) -> tanh.(w * x)")
    w, x = np.array([[0.2, -0.4], [1.0, 0.3]]), np.array([0.5, -1.0])

    def program(w: Any) -> Any:
        h = function(w, x)
        h[0] *= 3.0
        return np.sum(h**2)

    def twin(w: Any) -> Any:
        h = np.tanh(w @ x)
        h[0] *= 3.0
        return np.sum(h**2)

    np.testing.assert_allclose(bridge.grad(program)(w), bridge.grad(twin)(w), rtol=1e-12)


def test_zygote_refuses_the_same_function_by_name() -> None:
    with pytest.raises(JuliaError, match=r"mutates a plain Vector.*\n*.*Buffer"):
        bridge.grad(bridge.julia.function(SCAN))(np.ones(3), 0.5)


def test_a_package_that_is_not_there_is_named() -> None:
    try:
        bridge.julia.function("x -> sum(x)", ad="enzyme")
    except JuliaNotAvailable as missing:
        assert "Enzyme" in str(missing)
    with pytest.raises(ArgumentError, match=r"use one of 'zygote', 'forwarddiff', 'mooncake', 'enzyme'"):
        bridge.julia.function("x -> sum(x)", ad="tapenade")
