"""Arrays of other libraries as arguments: their gradients are of their kind."""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, RefusedError

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


def by_position(x: Any) -> Any:
    """The same for arrays that meet by their labels, too."""
    x[1:] *= np.array(x)[:-1]
    return np.sum(x**2)


def test_labels_of_xarray() -> None:
    xarray = pytest.importorskip("xarray")
    x = xarray.DataArray(X, dims="time", coords={"time": [10, 20, 30]}, name="u")
    gradient = bridge.grad(by_position)(x)
    xarray.testing.assert_allclose(gradient, x.copy(data=EXPECTED))
    np.testing.assert_array_equal(x, X)


def test_labels_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    x = pandas.Series(X, index=["a", "b", "c"], name="u")
    gradient = bridge.grad(lambda x: by_position(x.copy()))(x)
    pandas.testing.assert_series_equal(gradient, pandas.Series(EXPECTED, index=x.index, name="u"))
    np.testing.assert_array_equal(x, X)


def test_what_has_no_labels_gets_an_array_of_numpy() -> None:
    pandas = pytest.importorskip("pandas")
    xarray = pytest.importorskip("xarray")
    for x in (pandas.Index(X), pandas.array(X), xarray.Variable("time", X)):
        gradient = bridge.grad(lambda x: np.sum(np.asarray(x) ** 2 * x))(x)
        assert type(gradient) is np.ndarray
        np.testing.assert_allclose(gradient, 3 * X**2)


def test_a_subclass_of_a_series_is_one() -> None:
    pandas = pytest.importorskip("pandas")

    class Named(pandas.Series):
        pass

    gradient = bridge.grad(lambda x: np.sum(x * x))(Named(X, index=["a", "b", "c"]))
    pandas.testing.assert_series_equal(gradient, pandas.Series(2 * X, index=["a", "b", "c"]))


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


def series(values: Any, labels: Any = "abc") -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.Series(values, index=list(labels))


def labelled(values: Any) -> Any:
    xarray = pytest.importorskip("xarray")
    return xarray.DataArray(values, dims="time", coords={"time": list("abc")})


HOLDING: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "itself": (lambda s: s, lambda s: s),
    "a namespace": (lambda s: types.SimpleNamespace(s=s), lambda held: held.s),
    "a dictionary": (lambda s: {"s": s}, lambda held: held["s"]),
    "a list": (lambda s: [s], lambda held: held[0]),
}
OF_PANDAS: dict[str, Callable[[Any], Any]] = {
    r"\.rolling of a pandas\.Series": lambda s: s.rolling(2).sum().dropna().sum(),
    r"\['a'\] of a pandas\.Series": lambda s: s["a"] ** 2,
    r"\.loc of": lambda s: s.loc["a"] ** 2,
    r"\.iloc of": lambda s: (s * 2).iloc[1],
    r"\.a of": lambda s: s.a**2,
    r"\.std\(\) of": lambda s: s.std(),
    r"\.sum\(skipna\) of": lambda s: s.sum(skipna=False),
    r"\[slice\('a', 'b', None\)\] of": lambda s: s["a":"b"].sum(),  # type: ignore[misc]
}
OF_XARRAY: dict[str, Callable[[Any], Any]] = {
    r"\.sel of a xarray\.DataArray": lambda s: s.sel(time="a") ** 2,
    r"\.rolling of": lambda s: s.rolling(time=2).sum().sum(),
    r"\.sum\(dim\) of": lambda s: s.sum(dim="time"),
    r"\[\{'time': 0\}\] of": lambda s: s[{"time": 0}],
}


@pytest.mark.parametrize("where", HOLDING)
@pytest.mark.parametrize("message", [*OF_PANDAS, *OF_XARRAY])
def test_what_only_their_own_arrays_do_is_named(where: str, message: str) -> None:
    hold, held = HOLDING[where]
    make, own = (series, OF_PANDAS[message]) if message in OF_PANDAS else (labelled, OF_XARRAY[message])
    own(make(X))
    with pytest.raises(RefusedError, match=message + r"(.|\n)*remedy: pass np.asarray"):
        bridge.grad(lambda x: own(held(x)))(hold(make(X)))


@pytest.mark.parametrize("where", HOLDING)
def test_what_they_hold(where: str) -> None:
    hold, held = HOLDING[where]
    for make in (series, labelled):
        value = bridge.value_and_grad(lambda x: np.sum(held(x).values ** 2) + held(x).sum())(hold(make(X)))[0]
        assert value == np.sum(X**2) + np.sum(X)
        value = bridge.value_and_grad(lambda x: np.sum(held(x).to_numpy() ** 2))(hold(make(X)))[0]
        assert value == np.sum(X**2)


def test_arrays_that_would_meet_by_their_labels() -> None:
    with pytest.raises(RefusedError, match=r"`\*` of a pandas\.Series.* of shape \(4,\), without labels"):
        bridge.grad(lambda x, y: np.sum(x * y), (0, 1))(series(X), series(X, "bcd"))
    with pytest.raises(RefusedError, match=r"NaNs, which it skips.* gives 3\., without labels nan"):
        bridge.grad(lambda x: x.sum())(series([1.0, np.nan, 2.0]))
    with pytest.raises(RefusedError, match=r"\[10\] of a pandas"):
        bridge.grad(lambda x: x[10])(series(X, [10, 20, 30]))
    assert np.all(bridge.grad(lambda x: np.sum(x * x[1]))(series(X, range(3))) != 0)


def test_arguments_of_other_axes_that_meet_nowhere() -> None:
    xarray = pytest.importorskip("xarray")
    x, y = labelled(X), xarray.DataArray(np.ones((3, 2)), dims=("p", "q"))
    found = bridge.grad(lambda x, y: np.sum(x * x) * np.sum(y), (0, 1))(x, y)
    xarray.testing.assert_allclose(found[0], 12 * x)


def test_a_table_is_named() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ArgumentError, match=r"argument 0 is a pandas\.DataFrame, a table") as caught:
        bridge.grad(lambda x: x.sum().sum())(pandas.DataFrame({"a": X}))
    assert "x.to_numpy()" in str(caught.value)


class Metres:
    """A number with units, which has the attributes of the number."""

    def __init__(self, number: Any) -> None:
        self.number = number

    def __getattr__(self, name: str) -> Any:
        return getattr(self.number, name)

    def __array_ufunc__(self, *given: Any, **options: Any) -> Any:
        raise TypeError("units")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.number)


def test_units_of_a_result_are_not_lost() -> None:
    with pytest.raises(RefusedError, match=r"returned a tests\.Metres of tracked numbers: its units") as caught:
        bridge.value_and_grad(lambda k: Metres(1000 * k))(2.0)
    assert "x.magnitude" in str(caught.value)
    plain = Metres(np.float64(1.0))
    assert bridge.value_and_grad(lambda k: (1000 * k, plain), has_aux=True)(2.0)[0][1] is plain


def test_units_of_pint() -> None:
    pint = pytest.importorskip("pint")
    units = pint.UnitRegistry()
    with pytest.raises(RefusedError, match=r"returned a pint\.\w+ of tracked numbers"):
        bridge.value_and_grad(lambda k: (k * units.km).to("m"))(2.0)
    assert bridge.value_and_grad(lambda k: (k * units.km).to("m").magnitude)(2.0) == (2000.0, 1000.0)


class OnlyDlpack:
    def __dlpack__(self, **options: Any) -> Any:
        return X.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class OnAnotherDevice:
    dtype, shape = X.dtype, X.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("implicit conversion is not allowed: use .get()")


class Quantity:
    dtype, shape = X.dtype, X.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return X.copy()

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self


@pytest.mark.parametrize(
    ("given", "message", "remedy"),
    [
        (OnlyDlpack(), "has type OnlyDlpack", r"np\.from_dlpack\(x\)"),
        (OnAnotherDevice(), r"OnAnotherDevice that gives no array of NumPy's \(implicit conversion", r"x\.get\(\)"),
        (Quantity(), "a tests.Quantity: its units, or what else it means, would be lost", r"x\.magnitude"),
    ],
)
@pytest.mark.parametrize("where", HOLDING)
def test_what_is_no_array_of_numbers_is_named(given: Any, message: str, remedy: str, where: str) -> None:
    if where == "a namespace" and isinstance(given, OnlyDlpack):
        message = "OnlyDlpack, which may hold floats"
        remedy = "hold NumPy arrays"
    hold, held = HOLDING[where]
    with pytest.raises(ArgumentError, match=message) as caught:
        bridge.grad(lambda x: np.sum(held(x)))(hold(given))
    assert re.search(f"remedy: .*{remedy}", str(caught.value))


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_dlpack_of_a_tracked_array_is_its_memory(engine: Any) -> None:
    pytest.importorskip("jax")

    def f(x: Any) -> Any:
        shown = np.from_dlpack(x)
        shown *= 2.0
        return np.sum(x * x) + np.sum(np.from_dlpack(x, copy=True) * x)

    np.testing.assert_array_equal(bridge.grad(f, engine=engine)(X.copy()), 16 * X)
