"""Arrays of other libraries beside tracked ones: NumPy leaves much to them, which is right here, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import EscapeError, RefusedError

X = np.array([1.0, 2.0, 3.0])


class Units:
    """As pint's and astropy's quantities: NumPy's protocols answer with it."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return 0.01 * X

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self

    def __rmul__(self, other: Any) -> Any:
        return self


class Own:
    """An array with an operator of its own, which NumPy asks because of its priority."""

    __array_priority__ = 10.0

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.full(3, self.factor)

    def __rmul__(self, other: Any) -> Any:
        return other * (10 * self.factor)

    __mul__ = __rmul__

    def __rmatmul__(self, other: Any) -> Any:
        return np.sum(other) * 7 * self.factor


def weights(values: Any = (1.0, 2.0, 4.0), labels: Any = (0, 1, 2)) -> Any:
    return pytest.importorskip("pandas").Series(list(values), index=list(labels))


def table() -> Any:
    return pytest.importorskip("pandas").DataFrame({"a": X, "b": 2 * X, "c": X})


def grid(dim: str = "x") -> Any:
    return pytest.importorskip("xarray").DataArray(X, dims=dim)


def square() -> Any:
    return pytest.importorskip("xarray").DataArray(np.outer(X, X + 1), dims=("x", "y"))


Case = Callable[[Any, Any], Any]

RIGHT: dict[str, tuple[Callable[[], Any], Case]] = {
    "own operator": (lambda: Own(2.0), lambda x, o: np.sum(x * o)),
    "own operator on the left": (lambda: Own(2.0), lambda x, o: np.sum(o * x)),
    "own product": (lambda: Own(2.0), lambda x, o: x @ o),
    "a series": (weights, lambda x, w: np.sum((x - w) ** 2)),
    "a series, then its sum": (weights, lambda x, w: (x * w).sum()),
    "a series through a ufunc": (weights, lambda x, w: np.sum(np.multiply(x, w))),
    "a series as a mask": (weights, lambda x, w: np.sum(x[w > 1])),
    "a series twice": (weights, lambda x, w: np.sum(x * w) + np.sum(x / w)),
    "a product with a series": (weights, lambda x, w: x @ w),
    "a grid": (grid, lambda x, d: np.sum(x * d * d)),
    "a grid on the left": (grid, lambda x, d: np.sum(d * x)),
    "grids that never meet": (
        lambda: (grid(), pytest.importorskip("xarray").DataArray(np.ones(4), dims="t")),
        lambda x, both: np.sum(x * both[0]) * np.sum(x[0] * both[1]),
    ),
    "a grid without axes": (
        lambda: (grid(), pytest.importorskip("xarray").DataArray(2.0)),
        lambda x, both: np.sum(x * both[0] * both[1]),
    ),
    "grids of other axes": (lambda: (grid(), grid("z")), lambda x, both: np.sum((x * both[0]) * both[1])),
    "rows by name": (
        lambda: (square(), grid()),
        lambda x, both: ((np.outer(x, x) * both[0]) * both[1]).sum(),
    ),
    "an element of a grid, in place": (
        grid,
        lambda x, d: [y := x * d, y[1].__imul__(3.0), y.sum()][2],
    ),
    "a grid's item": (grid, lambda x, d: (d * x).sum().item()),
}
REFUSED: dict[str, tuple[Callable[[], Any], Case, str]] = {
    "units": (Units, lambda x, u: np.sum(x * u), r"a tests\.Units is an operand beside a tracked array"),
    "units through a ufunc": (Units, lambda x, u: np.sum(np.multiply(x, u)), "Units is an operand"),
    "deviation": (weights, lambda x, w: (x * w).std(), r"\.std\(\) of a pandas\.Series, or of what comes of it"),
    "label": (weights, lambda x, w: (x * w).loc[1], r"\.loc of a pandas\.Series"),
    "numbered label": (
        lambda: weights(labels=(2, 1, 0)), lambda x, w: (x * w)[0], r"\[0\] of a pandas\.Series"
    ),
    "NaNs": (
        lambda: weights((1.0, np.nan, 4.0)), lambda x, w: (x * w).mean(),
        r"\.mean\(\) of a pandas\.Series.*NaNs, which it skips.* gives 6\.5, without labels nan",
    ),
    "other labels": (
        lambda: (weights(labels=(2, 1, 0)), weights()), lambda x, both: ((x * both[0]) * both[1]).sum(),
        r"`\*` of a pandas\.Series, .* gives \[12\. +8\. +4\.\] of shape \(3,\), without labels \[ 1\. +8\. +48\.\]",
    ),
    "other labels, of one element": (
        lambda: (weights(), weights((2.0,), (7,))), lambda x, both: ((x * both[0]) * both[1]).sum(),
        r"`\*` of a pandas\.Series",
    ),
    "in place": (
        weights, lambda x, w: np.sum(x.__iadd__(w)), r"a pandas\.Series beside a tracked array, .* in add, in place",
    ),
    "in a function": (
        weights, lambda x, w: np.sum(np.where(x > 1, w, x)), r"a pandas\.Series beside a tracked array, .* a function",
    ),
    "a table": (table, lambda x, t: np.sum(x * t), r"a pandas\.DataFrame is an operand"),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("name", RIGHT)
def test_it_means_what_it_means_without_derivatives(name: str, engine: Any) -> None:
    if engine == "xla":
        pytest.importorskip("jax")
    make, program = RIGHT[name]
    held = make()
    if engine == "xla" and make is weights and name != "a series as a mask":
        with pytest.raises(RefusedError, match=r"a pandas\.Series in a program that is compiled") as caught:
            bridge.grad(lambda x: program(x, held), engine=engine)(X)
        assert "np.asarray(x)" in str(caught.value) and "test_other_libraries.py" in str(caught.value)
        return
    value, gradient = bridge.value_and_grad(lambda x: program(x, held), engine=engine)(X)
    assert float(value) == pytest.approx(float(program(X, held)))
    steps = 1e-6 * np.eye(3)
    expected = [float(program(X + step, held) - program(X - step, held)) / 2e-6 for step in steps]
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_another_number_is_named(name: str, engine: Any) -> None:
    if engine == "xla":
        pytest.importorskip("jax")
    make, program, message = REFUSED[name]
    held = make()
    if engine == "xla" and r"of a pandas\.Series" in message:
        message = r"a pandas\.Series in a program that is compiled"
    with pytest.raises(RefusedError, match=message) as caught:
        bridge.grad(lambda x: program(x, held), engine=engine)(X)
    assert "np.asarray(x)" in str(caught.value) and "test_other_libraries.py" in str(caught.value)


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_results_that_hold_a_tracked_array(engine: Any) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("jax")
    found = bridge.grad(lambda x: xarray.DataArray(x * x, dims="t").sum(), engine=engine)(X)
    np.testing.assert_array_equal(found, 2 * X)
    rows = bridge.jacrev(lambda x: xarray.DataArray(x * x, dims="t"), engine=engine)(X)
    np.testing.assert_array_equal(rows, np.diag(2 * X))
    assert bridge.jvp(lambda x: xarray.DataArray(x * x, dims="t").sum(), (X,), (X,), engine=engine)[1] == 28.0


def test_results_that_hold_one_and_do_not_give_it_out() -> None:
    class Closed:
        shape, dtype = (), np.dtype(float)

        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return np.asarray(self._inner)

    with pytest.raises(EscapeError):
        bridge.grad(lambda x: Closed(np.sum(x)))(X)


def test_results_that_give_nothing_to_numpy_are_as_they_are() -> None:
    class Elsewhere:
        shape, dtype = (3,), np.dtype(float)

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            raise TypeError("its values are on another device")

    found = Elsewhere()
    assert bridge.grad(lambda x: (np.sum(x), found), has_aux=True)(X)[1] is found
