"""Orders, extremes and signs of complex numbers, with ties and NaNs, in compiled programs: NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

NAN, INF = np.nan, np.inf
ARRAYS = {
    "ties": np.array([[1 + 2j, 1 + 3j, 0.5], [1 + 3j, 1 + 3j, -1j]]),
    "NaN": np.array([[1 + 2j, complex(NAN, 1), 3], [complex(1, NAN), 1, complex(NAN, NAN)]]),
    "infinite": np.array([[complex(INF, NAN), 1, 2], [complex(NAN, INF), 3, complex(NAN, -INF)]]),
    "zeros": np.array([[0j, -0j, 0], [0, complex(-0.0, 0), 0j]]),
    "narrow": np.array([[1 + 2j, 1 + 3j, 0.5], [1 + 3j, 1 + 3j, -1j]], np.complex64),
    "real": np.array([[1.0, NAN, 3.0], [3.0, 1.0, 3.0]]),
}
REDUCTIONS: list[Any] = [np.max, np.min, np.argmax, np.argmin]


@pytest.mark.ci
@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("axis", "keepdims"), [(None, False), (0, False), (-1, False), (1, True), (None, True)])
def test_along_an_axis(name: str, function: Any, axis: int | None, keepdims: bool) -> None:
    def program(x: Any) -> Any:
        return function(x, axis=axis, keepdims=keepdims)

    same(program, ARRAYS[name])


@pytest.mark.ci
@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.maximum(x, x[::-1]),
        lambda x: np.minimum(x, x[::-1]),
        lambda x: np.fmax(x, x[::-1]),
        lambda x: np.fmin(x, x[::-1]),
        lambda x: np.maximum.accumulate(x, axis=1),
        lambda x: np.max(x, axis=1, initial=2.0),
        lambda x: np.min(x, axis=0, where=x.real > 0.7, initial=9.0),
        lambda x: np.fmax.reduce(x, axis=0),
    ],
)
def test_elementwise_and_with_keywords(name: str, program: Any) -> None:
    same(program, ARRAYS[name])


@pytest.mark.ci
@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("y", [lambda x: x[::-1], lambda x: x, lambda x: 1.0, lambda x: x.real[:1]])
@pytest.mark.parametrize("ufunc", [np.less, np.less_equal, np.greater, np.greater_equal], ids=lambda f: f.__name__)
def test_comparisons(name: str, ufunc: Any, y: Any) -> None:
    same(lambda x: ufunc(x, y(x)), ARRAYS[name])
    same(lambda x: ufunc(y(x), x), ARRAYS[name])


@pytest.mark.ci
@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize(
    "program",
    [
        lambda x: x < x[::-1],
        lambda x: np.ptp(x),
        lambda x: np.ptp(x, axis=1),
        lambda x: np.searchsorted(np.sort(x, axis=None), x),
        lambda x: np.searchsorted(np.sort(x[0]), x, side="right"),
        lambda x: np.searchsorted(x[0], x, sorter=np.argsort(x[0])),
        lambda x: np.searchsorted(np.array([0.0, 1.0, NAN]), x),
        lambda x: np.lexsort((x[0], x[1])),
        lambda x: np.lexsort((x, x.imag), axis=0),
        np.sign,
        np.abs,
        lambda x: np.sign(x * INF),
        lambda x: np.abs(x[1] * INF),
    ],
)
def test_orders_and_signs(name: str, program: Any) -> None:
    same(program, ARRAYS[name])


@pytest.mark.ci
@pytest.mark.parametrize("function", [np.nanargmax, np.nanargmin])
def test_places_beside_nan(function: Any) -> None:
    same(lambda x: function(x), ARRAYS["NaN"])
    same(lambda x: function(x, axis=1), ARRAYS["ties"])


def same(program: Any, x: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        wanted = program(x.copy())
    found = bridge.xla(program)(x.copy())
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    for part in (np.real, np.imag):
        np.testing.assert_array_equal(part(found), part(wanted))
