"""Julia functions inside JAX programs: every transform, both precisions, and what is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError

pytestmark = pytest.mark.julia
jax = pytest.importorskip("jax", reason="julia.to_jax needs JAX: pip install 'mutation-bridge[jax]'")
jnp = jax.numpy


@pytest.fixture(scope="module")
def weighted() -> Any:
    """Sum of y * sin(x) in Julia, as a JAX function."""
    return bridge.julia.to_jax(bridge.julia.function("(x, y) -> sum(sin.(x) .* y)"))


@pytest.fixture(scope="module")
def squares() -> Any:
    """Twice x, and its squares, as a matrix of two columns: it has a Jacobian."""
    function = bridge.julia.function("x -> hcat(2 .* x, x .^ 2)")
    return bridge.julia.to_jax(function, result=lambda x: jax.ShapeDtypeStruct((*x.shape, 2), x.dtype))


@pytest.fixture(params=["float32", "float64"])
def arrays(request: pytest.FixtureRequest) -> Any:
    with jax.enable_x64(request.param == "float64"):
        yield jnp.arange(1.0, 4.0, dtype=request.param), jnp.array([2.0, -1.0, 0.5], dtype=request.param)


def close(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5 if found.dtype == jnp.float32 else 1e-12)


def test_value_and_gradient(weighted: Any, arrays: Any) -> None:
    x, y = arrays
    close(weighted(x, y), jnp.sum(jnp.sin(x) * y))
    for gradient in (jax.grad(weighted, argnums=(0, 1)), jax.jit(jax.grad(weighted, argnums=(0, 1)))):
        of_x, of_y = gradient(x, y)
        close(of_x, jnp.cos(x) * y)
        close(of_y, jnp.sin(x))


def test_gradient_inside_a_jax_program(weighted: Any, arrays: Any) -> None:
    x, y = arrays

    def program(x: Any) -> Any:
        return jax.lax.scan(lambda c, _: (c + weighted(c, y), None), x, None, length=3)[0].sum()

    def twin(x: Any) -> Any:
        return jax.lax.scan(lambda c, _: (c + jnp.sum(jnp.sin(c) * y), None), x, None, length=3)[0].sum()

    close(jax.jit(jax.grad(program))(x), jax.grad(twin)(x))


def test_jvp(weighted: Any, arrays: Any) -> None:
    x, y = arrays
    value, tangent = jax.jit(lambda x, y: jax.jvp(weighted, (x, y), (y, x)))(x, y)
    close(value, jnp.sum(jnp.sin(x) * y))
    close(tangent, jnp.sum(jnp.cos(x) * y * y + jnp.sin(x) * x))


@pytest.mark.parametrize("transform", [jax.jacrev, jax.jacfwd])
def test_jacobians(squares: Any, arrays: Any, transform: Any) -> None:
    x, _ = arrays
    expected = transform(lambda x: jnp.stack([2 * x, x**2], axis=1))(x)
    close(transform(squares)(x), expected)
    close(jax.jit(transform(squares))(x), expected)


def test_vmap(weighted: Any, arrays: Any) -> None:
    x, y = arrays
    rows = jnp.stack([x, 2 * x, -x])
    close(jax.vmap(weighted, in_axes=(0, None))(rows, y), jnp.sum(jnp.sin(rows) * y, axis=1))
    close(jax.jit(jax.vmap(jax.grad(weighted), in_axes=(0, None)))(rows, y), jnp.cos(rows) * y)


def test_containers_and_integers(arrays: Any) -> None:
    x, y = arrays
    function = bridge.julia.function("(p, n) -> (value=sum(p.x .^ n), other=p.y .* n)")
    called = bridge.julia.to_jax(
        function, result=lambda p, n: {"value": jax.ShapeDtypeStruct((), p["x"].dtype), "other": p["y"]}
    )
    found = jax.grad(lambda p: called(p, 3)["value"] + jnp.sum(called(p, 3)["other"]))({"x": x, "y": y})
    close(found["x"], 3 * x**2)
    close(found["y"], jnp.full_like(y, 3))


def test_complex_gradients_follow_jax() -> None:
    with jax.enable_x64(True):
        z = jnp.array([1.0 + 2.0j, -0.5 + 1.0j])
        called = bridge.julia.to_jax(
            bridge.julia.function("z -> real(sum(z .^ 2 .* (1 + 2im)))"), result=np.zeros((), np.float64)
        )
        close(jax.grad(called)(z), jax.grad(lambda z: jnp.real(jnp.sum(z**2 * (1 + 2j))))(z))


def test_wrong_shape_is_named(arrays: Any) -> None:
    x, _ = arrays
    wrong = bridge.julia.to_jax(bridge.julia.function("x -> 2 .* x"))
    with pytest.raises(ArgumentError, match=rf"returned {x.dtype} of shape \(3,\), and to_jax was told .* shape \(\)"):
        wrong(x)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"returned float.. of shape \(3,\)"):
        jax.block_until_ready(jax.jit(wrong)(x))


def test_no_float_argument() -> None:
    called = bridge.julia.to_jax(bridge.julia.function("n -> n + 1"))
    with pytest.raises(ArgumentError, match=r"result="):
        called(3)
