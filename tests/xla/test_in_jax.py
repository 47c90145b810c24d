"""A compiled function inside of a JAX program: every transformation of JAX around it, with 64 bit on and off."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy as bnp
from bridge import errors

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

X = np.array([0.3, 0.1, 0.7, 0.55, 0.2, 0.9])
BOTH = np.stack([X, X[::-1] * 0.8])


def windows(x: Any) -> Any:
    y = x.copy()
    y[1:] *= x[:-1]
    y[0] += 1
    y[2] = y[1] * y[0]
    return np.sum(y * y)


def loop(x: Any) -> Any:
    b = bnp.ones(8, x.dtype)

    def body(i: Any, b: Any) -> Any:
        s = (i * 2) % 4
        b[s + 1 : s + 3] = np.sin(x[s : s + 2]) * b[s : s + 2]
        return b

    return np.sum(bridge.fori_loop(0, 5, body, b) ** 2)


def heat(x: Any) -> Any:
    def body(i: Any, u: Any) -> Any:
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * u[1:-1]
        return u

    return np.sum(bridge.fori_loop(0, 5, body, x.copy()) ** 2)


def gathers(x: Any) -> Any:
    i = np.argsort(x)
    y = x[i] * np.arange(6)
    z, w = bnp.zeros(4, x.dtype), bnp.zeros(4, x.dtype)
    np.add.at(z, i % 4, y)
    w[i % 4] = y * y
    w[i % 4] += 1
    return np.sum(z * z * w)


def until_small(x: Any) -> Any:
    return np.sum(bridge.while_loop(lambda y: np.sum(y * y) > 0.1, lambda y: y * 0.7 * np.cos(x), x, limit=50))


def branches(x: Any) -> Any:
    y = x.copy()

    def first(y: Any) -> Any:
        y[2:5] *= x[3]
        return np.sum(y)

    z = bridge.cond(x[0] > 0.5, first, lambda y: np.sum(np.sin(y)), y)
    return z * z + np.sum(y * y)


def masks(x: Any) -> Any:
    y = x.copy()
    y[1::2] = np.where(x[::2] > 0.3, x[::2], 2 * x[1::2])
    y[::-2] **= 2
    y[y > 0.5] = 1.0
    return np.sum(np.exp(y))


def vector(x: Any) -> Any:
    y = x.copy()
    y[1:] *= x[:-1]
    return y


PROGRAMS = (windows, loop, gathers, until_small, branches, masks)


@pytest.fixture(params=[pytest.param(False, marks=pytest.mark.ci), True], ids=["32 bit", "64 bit"])
def bits(request: pytest.FixtureRequest) -> Iterator[float]:
    """The tolerance with 64 bit off and on; the setting is as it was afterwards."""
    with jax.enable_x64(request.param):
        yield 1e-10 if request.param else 2e-5
        assert jax.config.jax_enable_x64 is request.param


def close(found: Any, expected: Any, tolerance: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS)
def test_jit_vmap_and_grad(program: Callable[..., Any], bits: float) -> None:
    x, both = jnp.asarray(X), jnp.asarray(BOTH)
    values, gradients = zip(*map(bridge.value_and_grad(program), BOTH), strict=True)
    compiled = bridge.xla(program)
    found = jax.jit(compiled)(x)
    assert found.dtype == x.dtype
    close(found, values[0], bits)
    close(jax.jit(jax.vmap(jax.grad(compiled)))(both), gradients, bits)
    mapped, slopes = jax.jit(jax.vmap(bridge.value_and_grad(program, engine="xla")))(both)
    close(mapped, values, bits)
    close(slopes, gradients, bits)


@pytest.mark.ci
def test_arrays_of_numpy_that_are_mapped_over(bits: float) -> None:
    compiled = bridge.xla(bridge.grad(heat))
    found = jax.vmap(compiled)(BOTH)
    assert found.dtype == jnp.asarray(BOTH).dtype
    close(found, [bridge.grad(heat)(row) for row in BOTH], bits)
    close(jax.vmap(compiled, in_axes=1)(BOTH.T), found, bits)


@pytest.mark.ci
@pytest.mark.parametrize("program", [windows, pytest.param(heat, marks=pytest.mark.nightly)])
def test_derivatives_of_any_order(program: Callable[..., Any], bits: float) -> None:
    x = jnp.asarray(X)
    compiled, gradient = bridge.xla(program), bridge.grad(program)
    close(jax.hessian(compiled)(x), bridge.hessian(program)(X), bits)
    twice = bridge.grad(lambda x: np.sum(gradient(x) ** 2))(X)
    close(jax.grad(lambda x: jnp.sum(bridge.grad(program, engine="xla")(x) ** 2))(x), twice, bits)


@pytest.mark.ci
def test_derivatives_of_a_loop() -> None:
    with jax.enable_x64(True):
        x = jnp.asarray(X)
        compiled = bridge.xla(heat)
        close(jax.jvp(compiled, (x,), (x,))[1], X @ bridge.grad(heat)(X), 1e-10)
        product = jax.jvp(jax.grad(compiled), (x,), (x,))[1]
        close(product, bridge.hvp(heat, (X,), (X,)), 1e-10)


@pytest.mark.ci
def test_jacobians_and_products(bits: float) -> None:
    x = jnp.asarray(X)
    expected = bridge.jacrev(vector)(X)
    compiled = bridge.xla(vector)
    close(jax.jit(jax.jacrev(compiled))(x), expected, bits)
    close(jax.jit(jax.jacfwd(compiled))(x), expected, bits)
    _, pull = jax.vjp(compiled, x)
    close(pull(jnp.ones_like(x))[0], expected.sum(0), bits)
    _, push = jax.linearize(compiled, x)
    close(push(jnp.ones_like(x)), expected.sum(1), bits)
    close(jax.vmap(lambda v: jax.jvp(compiled, (x,), (v,))[1])(jnp.eye(6)), expected.T, bits)


@pytest.mark.ci
def test_within_a_larger_program(bits: float) -> None:
    compiled = bridge.xla(windows)

    def outer(x: Any) -> Any:
        def step(total: Any, scale: Any) -> Any:
            return total + compiled(x * scale), jnp.sum(x)

        total, _ = jax.lax.scan(step, jnp.zeros((), x.dtype), jnp.array([0.5, 1.0], x.dtype))
        return total * jnp.sum(jnp.sin(x))

    def plain(x: Any) -> Any:
        return (windows(x * 0.5) + windows(x * 1.0)) * np.sum(np.sin(x))

    value, gradient = jax.jit(jax.value_and_grad(outer))(jnp.asarray(X))
    close(value, plain(X), bits)
    close(gradient, bridge.grad(plain)(X), bits)


@pytest.mark.ci
def test_batches_of_some_arguments_and_of_batches() -> None:
    with jax.enable_x64(True):

        def program(x: Any, w: Any) -> Any:
            y = x.copy()
            y[1:] *= w[:-1]
            return np.sum(y * w)

        compiled = bridge.xla(program)
        x, w = jnp.asarray(BOTH), jnp.asarray(X)
        expected = np.stack([bridge.grad(program, argnums=1)(one, X) for one in BOTH])
        over = jax.vmap(jax.grad(compiled, argnums=1), in_axes=(0, None))
        close(over(x, w), expected, 1e-12)
        # A weight that all share gets the sum.
        shared = jax.grad(lambda w: jnp.sum(jax.vmap(compiled, in_axes=(0, None))(x, w)))(w)
        close(shared, expected.sum(0), 1e-12)
        columns = jax.vmap(over, in_axes=(1, None))(jnp.stack([x, 2 * x], axis=1)[:, :, :], w)
        assert columns.shape == (2, 2, 6)
        nested = jax.vmap(jax.vmap(compiled, in_axes=(0, None)), in_axes=(None, 0))(x, jnp.stack([w, 2 * w, 3 * w]))
        close(nested, [[program(a, k * X) for a in BOTH] for k in (1, 2, 3)], 1e-12)


@pytest.mark.ci
def test_complex_values_follow_jax() -> None:
    def program(z: Any) -> Any:
        w = z.copy()
        w[1:] *= z[:-1]
        return np.sum(np.abs(w) ** 2 * np.real(z))

    def plain(z: Any) -> Any:
        w = jnp.concatenate([z[:1], z[1:] * z[:-1]])
        return jnp.sum(jnp.abs(w) ** 2 * jnp.real(z))

    with jax.enable_x64(True):
        z = jnp.asarray(X + 1j * X[::-1])
        close(jax.grad(bridge.xla(program))(z), jax.grad(plain)(z), 1e-12)
        tangent = jnp.asarray(X[::-1] - 2j * X)
        close(jax.jvp(bridge.xla(program), (z,), (tangent,))[1], jax.jvp(plain, (z,), (tangent,))[1], 1e-12)


@pytest.mark.ci
def test_integers_containers_statics_and_plain_arrays() -> None:
    def program(parameters: Any, k: Any, power: int, scale: Any) -> Any:
        return {"loss": np.sum(parameters["w"][k] ** power * scale) * parameters["b"], "count": 3, "k": k + 1}

    compiled = bridge.xla(program)
    with jax.enable_x64(True):
        parameters = {"w": jnp.asarray(X), "b": 1.5}
        found = jax.jit(lambda p, k: compiled(p, k, 2, X[:3]))(parameters, jnp.array([0, 0, 2]))
        assert found["count"] == 3
        assert found["k"].tolist() == [1, 1, 3]
        gradient = jax.grad(lambda p: compiled(p, jnp.array([0, 0, 2]), 2, X[:3])["loss"])(parameters)
        expected = bridge.grad(lambda p: program(p, np.array([0, 0, 2]), 2, X[:3])["loss"])({"w": X, "b": 1.5})
        close(gradient["w"], expected["w"], 1e-12)
        close(gradient["b"], expected["b"], 1e-12)


@pytest.mark.ci
def test_arguments_that_lie_at_steps() -> None:
    compiled = bridge.xla(lambda x, y: np.sum(x * y))
    with jax.enable_x64(True):
        wide = np.arange(12.0)
        assert float(jax.jit(lambda x: compiled(x, wide[::2]))(jnp.asarray(X))) == pytest.approx(X @ wide[::2])


@pytest.mark.ci
def test_strong_zeros_hold() -> None:
    def program(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.sum(np.where(x > 0, np.sqrt(x), 0.0))

    with jax.enable_x64(True):
        x = jnp.array([4.0, 0.0, -1.0])
        expected = bridge.grad(program)(np.asarray(x))
        assert np.isfinite(expected).all()
        close(jax.grad(bridge.xla(program))(x), expected, 1e-12)
        close(jax.jit(jax.vmap(jax.grad(bridge.xla(program))))(jnp.stack([x, x + 2]))[0], expected, 1e-12)


@pytest.mark.ci
def test_a_jax_value_that_is_no_argument_is_named() -> None:
    x = jnp.asarray(X)
    with pytest.raises(errors.ArgumentError, match="not among its arguments"):
        jax.jit(lambda y: bridge.xla(lambda x: np.sum(x * y))(X))(x)
    with pytest.raises(errors.ArgumentError, match="not among its arguments"):
        jax.grad(lambda y: bridge.xla(lambda x: np.sum(x * y))(y * 1))(x)
    looped = lambda x: bridge.fori_loop(0, 3, lambda i, y: jnp.sin(y), x)  # noqa: E731
    for program in (jnp.sin, jax.lax.sin, lambda x: jnp.add(x, 1), looped):
        with pytest.raises(errors.ArgumentError, match=r"function of JAX(.|\n)*np for jnp"):
            bridge.xla(program)(X)
    with pytest.raises(errors.TraceError):
        bridge.xla(jnp.asarray)(X)


@pytest.mark.ci
def test_errors_of_the_program_come_through() -> None:
    with pytest.raises(errors.TraceError, match="while the program is compiled"):
        jax.jit(bridge.xla(lambda x: x[: int(np.sum(x))] if isinstance(x, list) else [1, 2][x[0] > 0]))(jnp.asarray(X))
    with pytest.raises(KeyError, match="boom"):
        jax.grad(bridge.xla(lambda x: {}["boom"]))(jnp.asarray(X))


@pytest.mark.ci
def test_loops_write_in_place_inside_of_a_jax_program() -> None:
    """No copy of the whole array is made in a loop's body: a step costs what it touches."""
    count, width = 50, 8
    size = 4096

    def program(x: Any) -> Any:
        b = bnp.ones(size)

        def body(i: Any, b: Any) -> Any:
            s = (i * width) % (size - 2 * width)
            b[s + width : s + 2 * width] = np.sin(x[s : s + width]) * b[s : s + width] + x[s + width : s + 2 * width]
            return b

        return np.sum(bridge.fori_loop(0, count, body, b))

    with jax.enable_x64(True):
        text = jax.jit(jax.grad(bridge.xla(program))).lower(jnp.ones(size)).compile().as_text()
    bodies = set(re.findall(r"body=%([\w.\-]+)", text))
    assert bodies
    copies = [
        line
        for body in bodies
        for line in text.split(f"%{body} ", 1)[1].split("\n}", 1)[0].splitlines()
        if re.search(rf"= f64\[{size}\]\S* copy\(", line)
    ]
    assert not copies
