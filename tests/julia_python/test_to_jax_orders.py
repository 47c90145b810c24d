"""Higher derivatives of Julia functions inside JAX programs: every transform, against the same function in JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError

pytestmark = pytest.mark.julia
jax = pytest.importorskip("jax", reason="julia.to_jax needs JAX: pip install 'mutation-bridge[jax]'")
jnp = jax.numpy

X, Y = np.array([0.3, -0.8, 1.2]), np.array([2.0, -1.0, 0.5])


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def weighted() -> Any:
    """In Julia and in JAX."""
    function = bridge.julia.to_jax(bridge.julia.function("(x, y) -> sum(sin.(x) .* y .^ 2 .* reverse(x))"))
    return function, lambda x, y: jnp.sum(jnp.sin(x) * y**2 * x[::-1])


def agree(transformed: Callable[[Any], Any], pair: Any, tolerance: float = 1e-12) -> None:
    """`transformed(f)` of a Julia function is that of its twin."""
    found, expected = map(transformed, pair)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "hessian": lambda f: jax.hessian(f, (0, 1))(X, Y),
    "jitted hessian": lambda f: jax.jit(jax.hessian(f, (0, 1)))(X, Y),
    "reverse over reverse": lambda f: jax.jacrev(jax.jacrev(f, 1))(X, Y),
    "reverse over forward": lambda f: jax.jacrev(jax.jacfwd(f))(X, Y),
    "forward over forward": lambda f: jax.jacfwd(jax.jacfwd(f, 1))(X, Y),
    "grad of grad": lambda f: jax.jit(jax.grad(lambda x: jnp.sum(jax.grad(f)(x, Y) ** 2)))(X),
    "jvp of grad": lambda f: jax.jvp(jax.grad(f, (0, 1)), (X, Y), (Y, X)),
    "linearized grad": lambda f: jax.linearize(jax.grad(f), X, Y)[1](Y, X),
    "vjp of grad": lambda f: jax.vjp(jax.grad(f), X, Y)[1](Y),
    "rematerialised": lambda f: jax.hessian(jax.checkpoint(f))(X, Y),
    "batched hessian": lambda f: jax.vmap(jax.hessian(f), (0, None))(jnp.stack([X, Y]), Y),
    "hessian of batch": lambda f: jax.hessian(lambda x: jnp.prod(jax.vmap(f, (None, 0))(x, jnp.stack([X, Y]))))(X),
    "in a scan": lambda f: jax.hessian(
        lambda x: jax.lax.scan(lambda c, y: (f(c * x, y), c), 1.0, jnp.stack([X, Y]))[0]
    )(X),
    "third": lambda f: jax.jacfwd(jax.hessian(f), (0, 1))(X, Y),
    "third in reverse": lambda f: jax.jit(jax.jacrev(jax.jacrev(jax.grad(f))))(X, Y),
    "batched third": lambda f: jax.jit(jax.vmap(jax.jacfwd(jax.hessian(f)), (0, None)))(jnp.stack([X, Y]), Y),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(weighted: Any, name: str) -> None:
    agree(TRANSFORMS[name], weighted)


def test_third_derivatives_are_symmetric_and_those_of_differences(weighted: Any) -> None:
    function, _ = weighted
    third = np.asarray(jax.jacfwd(jax.hessian(function))(X, Y))
    for order in ((1, 0, 2), (0, 2, 1), (2, 1, 0)):
        np.testing.assert_allclose(np.transpose(third, order), third, rtol=1e-10, atol=1e-12)
    h = 1e-4
    difference = (jax.hessian(function)(X + h * Y, Y) - jax.hessian(function)(X - h * Y, Y)) / (2 * h)
    np.testing.assert_allclose(third @ Y, difference, rtol=1e-6, atol=1e-6)


def test_fifth_derivative() -> None:
    function = bridge.julia.to_jax(bridge.julia.function("x -> x[]^7"))

    def derivative(f: Any, order: int) -> Any:
        for _ in range(order):
            f = jax.grad(f)
        return f

    agree(lambda f: jax.jit(derivative(f, 5))(1.5), (function, lambda x: x**7))


def test_single_precision_stays() -> None:
    function = bridge.julia.to_jax(bridge.julia.function("x -> sum(x .^ 3 .* reverse(x))"))
    x = jnp.asarray(X, jnp.float32)
    agree(lambda f: jax.hessian(f)(x), (function, lambda x: jnp.sum(x**3 * x[::-1])), 1e-5)


def test_containers_and_integers_among_arguments_and_results() -> None:
    function = bridge.julia.function("(p, n) -> (value=sum(p.x .^ n .* p.y), count=n[] + 1, rows=p.x .* p.y')")
    called = bridge.julia.to_jax(
        function,
        result=lambda p, n: {
            "value": jax.ShapeDtypeStruct((), p["x"].dtype),
            "count": n,
            "rows": jax.ShapeDtypeStruct((3, 3), p["x"].dtype),
        },
    )

    def twin(p: Any, n: Any) -> Any:
        return {"value": jnp.sum(p["x"] ** n * p["y"]), "count": n + 1, "rows": jnp.outer(p["x"], p["y"])}

    def program(f: Any) -> Any:
        def run(p: Any) -> Any:
            found = f(p, jnp.asarray(3))
            return found["value"] * found["count"] + jnp.sum(found["rows"] ** 2)

        return jax.hessian(run)({"x": X, "y": Y}), jax.grad(lambda p: jnp.sum(jax.grad(run)(p)["x"] ** 2))(
            {"x": X, "y": Y}
        )

    agree(program, (called, twin))


def test_complex_derivatives_follow_jax() -> None:
    z, v = jnp.array([1.0 + 2.0j, -0.5 + 1.0j]), jnp.array([0.5j, 1.0 - 0.25j])
    code = "z -> real(sum(z .^ 3 .* conj.(reverse(z)) .* (1 + 2im)))"
    pair = (
        bridge.julia.to_jax(bridge.julia.function(code), result=np.zeros(())),
        lambda z: jnp.real(jnp.sum(z**3 * jnp.conj(z[::-1]) * (1 + 2j))),
    )
    agree(lambda f: jax.jvp(jax.grad(f), (z,), (v,)), pair)
    agree(lambda f: jax.vjp(jax.grad(f), z)[1](v), pair)
    agree(lambda f: jax.vjp(lambda z: jax.jvp(jax.grad(f), (z,), (v,))[1], z)[1](v + 1), pair)
    agree(lambda f: jax.grad(lambda z: jax.jvp(lambda z: jax.jvp(f, (z,), (v,))[1], (z,), (v + 1,))[1])(z), pair)
    code = "z -> z .^ 2 .* conj.(reverse(z))"
    arrays = bridge.julia.to_jax(bridge.julia.function(code), result=lambda z: z), lambda z: z**2 * jnp.conj(z[::-1])
    agree(lambda f: jax.vjp(lambda z: jax.vjp(f, z)[1](v)[0], z)[1](v + 1), arrays)
    agree(lambda f: jax.vjp(lambda ct: jax.vjp(f, z)[1](ct)[0], v)[1](v + 1), arrays)


def test_a_numpy_program_around_a_function_that_writes() -> None:
    scale = bridge.julia.function(
        "function cubes_of!(u, c); for i in eachindex(u); u[i] = u[i]^3 * c; end; return nothing; end", mutates="u"
    )

    def program(x: Any) -> Any:
        u = x * 1.0
        scale(u[1:], x[0])
        u[0] *= u[1]
        return np.sum(u * x)

    def twin(x: Any) -> Any:
        u = jnp.concatenate([x[:1], x[1:] ** 3 * x[0]])
        return jnp.sum(u.at[0].multiply(u[1]) * x)

    for transform in (jax.hessian, lambda f: jax.jacrev(jax.hessian(f))):
        agree(lambda f, transform=transform: jax.jit(transform(f))(X), (bridge.julia.to_jax(program), twin))


def test_errors_name_what_julia_cannot(weighted: Any) -> None:
    strict = bridge.julia.to_jax(bridge.julia.function("(x::Vector{Float64}) -> sum(x .^ 3)"))
    agree(lambda f: jax.grad(f)(X), (strict, lambda x: jnp.sum(x**3)))
    with pytest.raises(jax.errors.JaxRuntimeError, match="no method matching"):
        jax.block_until_ready(jax.hessian(strict)(X))
    wrong = bridge.julia.to_jax(bridge.julia.function("x -> x .^ 3"))
    with pytest.raises(ArgumentError, match=r"returned float64 of shape \(3,\), and to_jax was told .* shape \(\)"):
        wrong(X)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"returned float64 of shape \(3,\)"):
        jax.block_until_ready(jax.hessian(wrong)(X))
