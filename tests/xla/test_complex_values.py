"""Complex numbers with infinite, NaN and zero parts, and on branch cuts: compiled functions have NumPy's values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import bridge

jax = pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

PARTS = [0.0, -0.0, 1.0, -2.5, 0.5, np.inf, -np.inf, np.nan, 1e300, 1e-300, 710.0, -745.0]
FEW = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]


def grid(parts: list[float]) -> np.ndarray:
    z = np.empty((len(parts), len(parts)), complex)
    z.real, z.imag = np.array(parts)[:, np.newaxis], parts
    return z.ravel()


UFUNCS = [
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.square, np.reciprocal, np.sin, np.cos,
    np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh, np.absolute,
    np.sign, np.negative, np.positive, np.conjugate, np.isnan, np.isinf, np.isfinite,
]  # fmt: skip
TWO = [np.add, np.subtract, np.multiply, np.divide, np.power, np.float_power]
NEAR_A_POLE = {np.arctan: 1e-300 + 1j, np.arctanh: 1 + 1e-300j}
"""Where XLA says that the value is infinite; C's is 345."""

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def parts(values: Any) -> Iterator[np.ndarray]:
    values = np.asarray(values)
    yield from (values.real, values.imag) if values.dtype.kind == "c" else (values,)


def assert_same(found: Any, wanted: Any, *operands: np.ndarray, rtol: float = 1e-12) -> None:
    """Part by part up to rounding of the whole number; NaNs and infinities are the same ones."""
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    scale = np.abs(wanted) if np.asarray(wanted).dtype.kind != "b" else 0.0
    wrong = np.zeros(np.shape(wanted), bool)
    for got, part in zip(parts(found), parts(wanted), strict=True):
        if part.dtype == bool:
            wrong |= got != part
            continue
        with np.errstate(invalid="ignore"):
            near = np.isfinite(part) & (np.abs(got - part) <= rtol * np.maximum(scale, np.abs(part)) + 3e-308)
        wrong |= ~((got == part) | near | (np.isnan(got) & np.isnan(part)))
    first = np.flatnonzero(wrong)[:3]
    told = [([one[k] for one in operands], np.ravel(found)[k], np.ravel(wanted)[k]) for k in first]
    assert not wrong.any(), f"{wrong.sum()} differ, first: {told}"


@pytest.mark.ci
@pytest.mark.parametrize("dtype", [complex, np.complex64])
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_of_one_number(ufunc: np.ufunc, dtype: Any) -> None:
    z = grid(PARTS if dtype is complex else [*FEW, 0.5])
    z = z[z != NEAR_A_POLE.get(ufunc)].astype(dtype)
    assert_same(bridge.xla(ufunc)(z), ufunc(z), z, rtol=1e-12 if dtype is complex else 1e-5)


@pytest.mark.ci
@pytest.mark.parametrize("kinds", ["cc", "cf", "fc"])
@pytest.mark.parametrize("ufunc", TWO, ids=lambda ufunc: ufunc.__name__)
def test_of_two_numbers(ufunc: np.ufunc, kinds: str) -> None:
    given = [grid(FEW) if kind == "c" else np.array(FEW) for kind in kinds]
    a, b = (one.ravel() for one in np.meshgrid(*given))
    assert_same(bridge.xla(ufunc)(a, b), ufunc(a, b), a, b)


@pytest.mark.ci
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, -1, -2, -5, 0.5, 2.0, -1.0, 1.5, 2j, 101])
def test_known_exponents(exponent: Any) -> None:
    z = grid(FEW)
    assert_same(bridge.xla(lambda z: z**exponent)(z), z**exponent, z)


@pytest.mark.ci
@pytest.mark.parametrize("constant", [2.0, 3 + 1j, 1j, np.inf])
def test_division_by_a_constant_and_of_one(constant: Any) -> None:
    z = grid(FEW)
    assert_same(bridge.xla(lambda z: z / constant)(z), z / constant, z)
    assert_same(bridge.xla(lambda z: constant / z)(z), constant / z, z)


def weighted(f: Callable[..., Any]) -> Callable[..., Any]:
    def loss(z: Any) -> Any:
        y = f(z)
        return np.sum(np.real(y)) + 2 * np.sum(np.imag(y))

    return loss


SMOOTH = [
    one for one in UFUNCS if one not in (np.square, np.isnan, np.isinf, np.isfinite, np.log2, np.exp2, np.absolute)
]


@pytest.mark.ci
@pytest.mark.parametrize("ufunc", SMOOTH, ids=lambda ufunc: ufunc.__name__)
def test_gradients_are_those_of_arrays(ufunc: np.ufunc) -> None:
    z = grid(PARTS[:-2])
    loss = weighted(ufunc)
    assert_same(bridge.grad(loss, engine="xla")(z), bridge.grad(loss)(z), z, rtol=1e-9)


@pytest.mark.ci
@pytest.mark.parametrize("engine", ["native", "xla"])
def test_a_power_on_a_branch_cut_knows_its_side(engine: str) -> None:
    base = np.array([complex(-2.5, -0.0), complex(-2.5, 0.0)])
    exponent = np.array([0.5 + 0.25j, 0.5 + 0.25j])
    found = bridge.grad(lambda y: np.sum(np.real(np.power(base, y))), engine=engine)(exponent)
    np.testing.assert_allclose(found, np.conj(np.power(base, exponent) * np.log(base)))


@pytest.mark.ci
@pytest.mark.parametrize("ufunc", [np.exp, np.sqrt, np.arcsin, np.sin, np.tanh, np.log, np.reciprocal])
def test_jax_differentiates_them(ufunc: np.ufunc) -> None:
    z = np.array([0.3 + 0.4j, -1.2 + 0.7j])
    step = 1e-6
    _, found = jax.jvp(bridge.xla(ufunc), (z,), (np.ones(2, complex),))
    np.testing.assert_allclose(found, (ufunc(z + step) - ufunc(z - step)) / (2 * step), rtol=1e-6)
