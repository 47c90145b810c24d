"""NumPy's order of complex numbers of which parts are NaN, and its quantiles beside infinities, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason="JAX is not installed: nothing was compiled (pip install jax)")

NAN, INF = np.nan, np.inf
COMPLEX = {
    "numbers": np.array([1 + 2j, 1 - 1j, 3 + 0j, -2 + 5j, 3 - 4j, 0j]),
    "partly NaN": np.array([1 + 2j, complex(NAN, 0), complex(1, NAN), -2 + 5j, complex(NAN, 1), complex(0, NAN)]),
    "infinite": np.array([complex(1, INF), complex(INF, -1), complex(-INF, 2), complex(1, -INF), 2, complex(INF, NAN)]),
    "zeros": np.array([complex(-0.0, 1), complex(0.0, -1), complex(0.0, -0.0), 0j, 1j, complex(NAN, NAN)]),
}
ORDERS = {
    "sort": np.sort,
    "sort, rows": lambda z: np.sort(z.reshape(2, 3), axis=1),
    "sort, columns": lambda z: np.sort(z.reshape(2, 3), axis=0),
    "sort, all": lambda z: np.sort(z.reshape(2, 3), axis=None),
    "argsort": lambda z: np.argsort(z, kind="stable"),
    "argsort, columns": lambda z: np.argsort(z.reshape(3, 2), axis=0, kind="stable"),
    "partition": lambda z: np.partition(z, 3)[3],
    **{
        f"clip {low} {high}": lambda z, low=low, high=high: np.clip(z, low, high)
        for low, high in ((0.5, 2.0), (1 - 1j, 3 - 2j), (1 + 1j, None), (None, 1 + 1j), (3 + 0j, 1 + 0j))
    },
    "clip, NaN": lambda z: np.clip(z, complex(NAN, 0), 2),
    "clip, arrays": lambda z: np.clip(z, z[::-1], z + 1),
    "method": lambda z: z.clip(0.5, 2 + 1j),
}


def parts(found: Any) -> Any:
    return np.stack([np.real(found), np.imag(found)])


@pytest.mark.ci
@pytest.mark.parametrize("name", tuple(ORDERS))
@pytest.mark.parametrize("kind", COMPLEX)
def test_complex_numbers_in_numpys_order(kind: str, name: str) -> None:
    z, f = COMPLEX[kind], ORDERS[name]
    found = bridge.xla(f)(z)
    assert found.dtype == f(z).dtype
    np.testing.assert_array_equal(parts(found), parts(f(z)))


def test_the_gradient_of_sorted_complex_numbers() -> None:
    weights = np.array([1.0, 2, 3j, 4, 5, 6])

    def f(z: Any) -> Any:
        return np.sum(np.real(np.sort(z) * weights)) + np.sum(np.abs(np.clip(z, 0.5, 2.0 + 1j)))

    z = np.array([1 + 2j, 1 - 1j, 3 + 0j, -2 + 5j, 3 - 4j, 1j])
    for engine in ("xla", "jax"):
        np.testing.assert_allclose(bridge.grad(f, engine=engine)(z), bridge.grad(f, engine="native")(z), rtol=1e-12)


METHODS = (
    "linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased", "normal_unbiased",
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
)  # fmt: skip
ARRAYS = {
    "one": np.array([1.0, INF, 3, 2, 5]),
    "below": np.array([-INF, 1.0, 2, 3, 4]),
    "both": np.array([-INF, INF, 1.0, 2, 3]),
    "ends": np.array([-INF, -INF, INF, INF]),
    "beside a NaN": np.array([1.0, NAN, INF, 2]),
    "only": np.full(4, INF),
    "none": np.array([4.0, 1, 3, 2, 9, 7]),
}


@pytest.mark.ci
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_quantiles_beside_infinities(name: str, method: str) -> None:
    a = ARRAYS[name]
    for function in (np.quantile, np.nanquantile):

        def f(a: Any, function: Any = function) -> Any:
            ends = [function(a, q, method=method) for q in (0.0, 0.25, 0.5, 1.0)]
            return np.stack([*ends, *function(a, [0.1, 0.5, 0.9], method=method)])

        np.testing.assert_allclose(bridge.xla(f)(a), f(a), rtol=1e-14)


@pytest.mark.ci
@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_medians_beside_infinities(name: str) -> None:
    def f(a: Any) -> Any:
        return np.stack([np.median(a), np.nanmedian(a)])

    np.testing.assert_allclose(bridge.xla(f)(ARRAYS[name]), f(ARRAYS[name]), rtol=1e-14)
