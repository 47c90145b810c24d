"""Arrays of other libraries as arguments: their gradients are of their kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge

X = np.array([1.0, -2.0, 0.5])


def program(x: Any) -> Any:
    """Overwrites its argument."""
    x[1:] *= x[:-1]
    return np.sum(x**2)


EXPECTED = bridge.grad(program)(X)


def test_arrays_of_jax() -> None:
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(X, jax.numpy.float32)
    value, gradient = bridge.value_and_grad(program)(x)
    assert isinstance(gradient, jax.Array) and gradient.sharding == x.sharding and gradient.dtype == x.dtype
    np.testing.assert_allclose(gradient, EXPECTED, rtol=1e-6)
    np.testing.assert_allclose(value, bridge.value_and_grad(program)(X)[0], rtol=1e-6)
    np.testing.assert_array_equal(x, X.astype(np.float32))
    number = bridge.grad(lambda a: a**3)(jax.numpy.float32(2.0))
    assert isinstance(number, jax.Array) and number == 12.0


def test_in_containers_each_has_its_own() -> None:
    jax = pytest.importorskip("jax")
    given = {"jax": jax.numpy.ones(3), "numpy": X, "number": 2.0}
    found = bridge.grad(lambda d: np.sum(d["jax"] * d["numpy"]) * d["number"])(given)
    assert isinstance(found["jax"], jax.Array) and type(found["numpy"]) is np.ndarray
    assert not isinstance(found["number"], jax.Array)
    (pulled,) = bridge.vjp(lambda a: a**2, given["jax"])[1](np.ones(3, np.float32))
    assert isinstance(pulled, jax.Array)


def test_labels_of_xarray() -> None:
    xarray = pytest.importorskip("xarray")
    x = xarray.DataArray(X, dims="time", coords={"time": [10, 20, 30]}, name="u")
    gradient = bridge.grad(program)(x)
    xarray.testing.assert_allclose(gradient, x.copy(data=EXPECTED))
    np.testing.assert_array_equal(x, X)


def test_labels_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    x = pandas.Series(X, index=["a", "b", "c"], name="u")
    gradient = bridge.grad(program)(x)
    pandas.testing.assert_series_equal(gradient, pandas.Series(EXPECTED, index=x.index, name="u"))
    np.testing.assert_array_equal(x, X)


def test_what_has_no_labels_gets_an_array_of_numpy() -> None:
    pandas = pytest.importorskip("pandas")
    xarray = pytest.importorskip("xarray")
    for x in (pandas.Index(X), pandas.array(X), xarray.Variable("time", X)):
        gradient = bridge.grad(program)(x)
        assert type(gradient) is np.ndarray
        np.testing.assert_array_equal(gradient, EXPECTED)


def test_a_subclass_of_a_series_is_one() -> None:
    pandas = pytest.importorskip("pandas")

    class Named(pandas.Series):
        pass

    gradient = bridge.grad(program)(Named(X, index=["a", "b", "c"]))
    pandas.testing.assert_series_equal(gradient, pandas.Series(EXPECTED, index=["a", "b", "c"]))


def test_an_unknown_library_gets_an_array_of_numpy() -> None:
    class Foreign:
        dtype, shape = X.dtype, X.shape

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return X.copy()

    gradient = bridge.grad(program)(Foreign())
    assert type(gradient) is np.ndarray
    np.testing.assert_array_equal(gradient, EXPECTED)


def test_an_outer_derivative_goes_through() -> None:
    jax = pytest.importorskip("jax")

    def outer(x: Any) -> Any:
        return np.sum(bridge.grad(program)(x) ** 2)

    found = bridge.grad(outer)(jax.numpy.asarray(X, jax.numpy.float32))
    assert isinstance(found, jax.Array)
    np.testing.assert_allclose(found, bridge.grad(outer)(X), rtol=1e-5)
