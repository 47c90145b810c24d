"""NaNs, infinities, zeros and roundings of compiled programs are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from numpy.testing import assert_allclose, assert_array_equal

import bridge
from bridge.xla.equations.special_values import keeping
from bridge.xla.lowering.lower import x64

SIDE = 96
"""Elements of an axis: `SIDE**2` are enough for XLA to take them to its library."""


def one_nan(dtype: Any = float, first: float = -np.inf) -> Any:
    """A matrix with one NaN, which neither starts nor ends a row, and with an infinity of each sign."""
    x = np.random.default_rng(3).normal(size=(SIDE, SIDE)).astype(dtype)
    x[5, 6], x[70, 80], x[41, 42] = first, np.inf, np.nan
    return x


def largest_written(x: Any) -> Any:
    y = np.zeros_like(x)
    y[:] = 2 * x
    return np.max(y[:, ::2])


def largest_in_loop(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        total = total + np.max(x[k:] - k)
    return total


def largest_in_branch(x: Any) -> Any:
    return np.min(x[:-1]) if x[0, 0] < 100 else np.sum(x)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "max": np.max,
    "min": np.min,
    "method": lambda x: x.max(),
    "rows": lambda x: np.max(x, axis=1),
    "columns": lambda x: np.min(x, axis=0, keepdims=True),
    "reduced": lambda x: np.maximum.reduce(x, axis=0),
    "ptp": np.ptp,
    "initial": lambda x: np.max(x, initial=0.5, axis=1),
    "where": lambda x: np.max(x, where=x > -5, initial=-9.0),
    "norm": lambda x: np.linalg.norm(x[:, 40:50], np.inf),
    "summed maxima": lambda x: np.sum(np.maximum(x, 0.0), axis=1),
    "summed minima": lambda x: np.sum(np.minimum(x, x.T), axis=0),
    "clipped": lambda x: np.sum(np.clip(x, -1, 1), axis=0),
    "summed fmax": lambda x: np.sum(np.fmax(x, 0.0), axis=1),
    "fmax of all": lambda x: np.fmax.reduce(x, axis=1),
    "written": largest_written,
    "in a loop": largest_in_loop,
    "in a branch": largest_in_branch,
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_extremes_are_numpys(name, dtype):
    x = one_nan(dtype)
    with np.errstate(all="ignore"):
        expected = PROGRAMS[name](x)
    found = bridge.xla(PROGRAMS[name])(x)
    assert_allclose(np.asarray(found), expected, rtol=1e-5, equal_nan=True)


@pytest.mark.parametrize("engine", ["xla", "jax"])
def test_gradients_are_those_of_the_eager_program(engine):
    def program(x):
        y = x.copy()
        y[3] *= 2
        return np.sum(np.maximum(y, 0.0)[:, 30:45]) + np.max(y[:, 40:], axis=1) @ np.arange(SIDE)

    x = one_nan(first=0.0)
    x[70, 80] = 0.0
    with np.errstate(all="ignore"):
        value, expected = bridge.value_and_grad(program)(x)
        found, gradient = bridge.value_and_grad(program, engine=engine)(x)
    assert np.isnan(value)
    assert np.isnan(found)
    # Where the NaN is, JAX's own pull of a maximum gives zero.
    differs = gradient != expected
    assert not differs.any() if engine == "xla" else np.argwhere(differs).tolist() == [[41, 42]]


def test_a_nan_in_a_factor_is_seen_by_the_watch():
    def program(x, u):
        return np.sum(np.outer(u, u) * x)

    x, u = np.ones((256, 256)), np.ones(256)
    u[200] = np.nan
    expected = bridge.grad(program)(x, u)
    assert_array_equal(bridge.xla(bridge.grad(program))(x, u), expected)


def inside(wrap: Callable[[Callable[[Any], Any]], Callable[[Any], Any]]) -> Callable[[Any], Any]:
    return wrap(lambda x: jnp.max(x, axis=0))


def _ruled(function: Any, define: str) -> Any:
    """With a derivative, which nobody asks for: JAX refuses a function without one."""
    getattr(function, define)(*(2 if define == "defvjp" else 1) * [lambda *_: None])
    return function


WRAPPED: dict[str, Callable[[Any], Any]] = {
    "jit": inside(jax.jit),
    "cond": inside(lambda f: lambda x: lax.cond(x[0, 0] < 9, f, lambda x: x[0], x)),
    "while": inside(lambda f: lambda x: lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, f(x)), (0, x[0]))[1]),
    "scan": inside(lambda f: lambda x: lax.scan(lambda s, _: (f(x), None), x[0], None, length=2)[0]),
    "vmap": inside(lambda f: lambda x: jax.vmap(f)(jnp.stack([x, x]))[1]),
    "custom_jvp": inside(lambda f: _ruled(jax.custom_jvp(f), "defjvp")),
    "custom_vjp": inside(lambda f: _ruled(jax.custom_vjp(f), "defvjp")),
    "checkpoint": inside(jax.checkpoint),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_inside_of_jaxs_own_functions(name):
    x = one_nan()
    with x64():
        found = jax.jit(keeping(WRAPPED[name]))(x)
    with np.errstate(invalid="ignore"):
        assert_array_equal(found, np.max(x, axis=0))


def test_equations_without_special_values_stay_the_same():
    with x64():
        made = jax.make_jaxpr(lambda x: jnp.sum(jnp.max(x.astype(int)) * x))(one_nan())
        kept = jax.make_jaxpr(keeping(lambda x: jnp.sum(jnp.max(x.astype(int)) * x)))(one_nan())
    assert str(made) == str(kept)


VALUES = np.array(
    [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5, 1e200, -1e200, 1e-200, 1e160, 700.0, 750.0, -750.0]
)


def masked_in_place(x: Any, y: Any) -> Any:
    z = x.copy()
    z *= y > 0
    return z


def masked_in_loop(x: Any, y: Any) -> Any:
    z = x.copy()
    for _ in range(12):
        z = z * (y > 0)
    return z


ALGEBRA: dict[str, Callable[[Any, Any], Any]] = {
    "mask times number": lambda x, y: (x > y) * y,
    "number times mask": lambda x, y: y * ~(x > 0),
    "mask as number": lambda x, y: (x > 0).astype(float) * y,
    "two masks": lambda x, y: (x > 0) * (y < 9) * x,
    "sum of masked": lambda x, y: np.sum((x > 0) * y),
    "product with mask": lambda x, y: x @ (y > 0),
    "complex with mask": lambda x, y: (x > 0) * (y + 1j),
    "masked in place": masked_in_place,
    "masked in a loop": masked_in_loop,
    "logarithm of a power": lambda x, y: np.log(x**y),
    "half a power": lambda x, y: x**0.5,
}


@pytest.mark.parametrize("name", ALGEBRA)
def test_compiled_operations_are_those_of_the_program(name):
    x, y = (np.ascontiguousarray(part.ravel()) for part in np.meshgrid(VALUES, VALUES))
    with np.errstate(all="ignore"):
        expected = ALGEBRA[name](x, y)
    assert_allclose(bridge.xla(ALGEBRA[name])(x, y), expected, rtol=1e-12, atol=1e-307)


@pytest.mark.parametrize("engine", ["xla", "jax"])
def test_a_gradient_is_not_what_a_mask_hides(engine):
    """As NumPy has it: nought times infinity is no number, in the gradient as in the value."""

    def program(x, y):
        return np.sum((x > 0) * y * x)

    x, y = np.array([-1.0, 2.0, -3.0]), np.array([np.inf, 1.0, 2.0])
    with np.errstate(all="ignore"):
        value, gradient = bridge.value_and_grad(program)(x, y)
        found, other = bridge.value_and_grad(program, engine=engine)(x, y)
    assert_array_equal([value, found], [np.nan, np.nan])
    assert_array_equal(other, gradient)


def test_masks_hide_no_nan_inside_of_jaxs_jit():
    x = np.array([np.nan, -np.inf, 3.0])
    with x64():
        found = jax.jit(bridge.xla(lambda x: (x > 0) * x))(x)
    assert_array_equal(found, [np.nan, np.nan, 3.0])


INNER: dict[str, Callable[[Any, Any], Any]] = {
    "vectors": lambda x, y: x[0] @ y[0],
    "all axes": lambda x, y: np.tensordot(x, y, 2),
    "all axes, the other way round": lambda x, y: np.tensordot(x, y.T, ((0, 1), (1, 0))),
    "rows": lambda x, y: np.einsum("ij,ij->i", x, y),
    "columns": lambda x, y: np.einsum("ij,ij->j", x, y),
    "of complex numbers": lambda x, y: np.vdot(x + 1j * y, y - 2j * x),
    "of bytes": lambda x, y: np.dot((x[0] * 50).astype(np.int8), (y[0] * 9).astype(np.int8)),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("name", INNER)
def test_inner_products_are_numpys(name, dtype):
    x, y = np.random.default_rng(1).random((2, 30, 20)).astype(dtype)
    expected = np.asarray(INNER[name](x, y))
    found = np.asarray(bridge.xla(INNER[name])(x, y))
    assert found.dtype == expected.dtype
    assert_allclose(found, expected, rtol={8: 1e-14, 4: 1e-5}.get(dtype().itemsize, 1e-2))


@pytest.mark.parametrize("name", ["vectors", "all axes", "rows"])
def test_long_inner_products_of_float32_are_accurate(name):
    """Added one after the other, a million products are wrong in the third digit."""
    x, y = (0.1 + 1e-3 * np.random.default_rng(1).random((2, 1, 1_000_000))).astype(np.float32)
    expected = INNER[name](x.astype(float), y.astype(float))
    assert_allclose(bridge.xla(INNER[name])(x, y), expected, rtol=2e-6)
