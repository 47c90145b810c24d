"""Windows of run-time length of every dtype, in every place: branches, loops, Jacobians, forward mode, index modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge

X = np.array([0.3, np.nan, 0.8, 1.1, np.inf, 0.4, 0.9])
CLEAN = np.where(np.isfinite(X), X, 0.5)


def energy(x: Any, s: Any) -> Any:
    """Of two finite elements, in a function whose derivatives are infinite at 0 and beyond 1."""
    w = x[s[0] : s[1]]
    return np.sum(np.sqrt(w)) * (np.log(w) @ w[::-1])


@pytest.mark.ci
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_dtypes(dtype: Any) -> None:
    def f(x: Any, s: Any) -> Any:
        w = x[s[0] : s[1]]
        v = (w * 2.0 + 1) / np.sum(np.abs(w)) + w.mean()
        return np.sum(np.real(v * np.conj(w))) + np.real(w @ v) + np.real(np.vdot(v, w)) + v.std()

    x = (CLEAN * (1 + 1j)).astype(dtype) if np.dtype(dtype).kind == "c" else CLEAN.astype(dtype)
    s = np.array([1, 6])
    value, wanted = bridge.xla(f)(x, s), f(x, s)
    assert value.dtype == wanted.dtype
    tolerance = 1e-4 if wanted.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(value, wanted, rtol=tolerance)
    gradient, other = bridge.grad(f, engine="xla")(x, s), bridge.grad(f)(x, s)
    assert gradient.dtype == other.dtype
    np.testing.assert_allclose(gradient, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.bool_])
def test_integers(dtype: Any) -> None:
    def f(x: Any, s: Any) -> Any:
        w = x[s[0] : s[1]]
        y = x.copy()
        y[: s[0]] = w[:1]
        return y, np.sum(w), np.max(w), w.min(), np.cumsum(w)[-1], np.argmax(w), np.mean(w), np.any(w), np.sort(w)[0]

    x = np.array([3, 1, 0, 250, 7, 2]).astype(dtype)
    for one, other in zip(bridge.xla(f)(x, np.array([1, 4])), f(x, np.array([1, 4])), strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.result_type(one) == np.result_type(other)


@pytest.mark.ci
def test_every_derivative() -> None:
    """What is not there has infinite slopes, and none of them comes back in any order."""
    s, v = np.array([2, 4]), np.cos(np.arange(7.0))

    def f(x: Any) -> Any:
        return energy(x, np.array([2, 4]))

    def g(x: Any, s: Any) -> Any:
        return energy(x, s)

    np.testing.assert_allclose(bridge.grad(g, engine="xla")(X, s), bridge.grad(f)(X), rtol=1e-12)
    np.testing.assert_allclose(
        bridge.xla(lambda x, s, v: bridge.jvp(lambda x: energy(x, s), (x,), (v,)))(X, s, v),
        bridge.jvp(f, (X,), (v,)),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        bridge.xla(lambda x, s: bridge.hessian(lambda x: energy(x, s))(x))(X, s), bridge.hessian(f)(X), rtol=1e-10
    )
    np.testing.assert_allclose(
        bridge.xla(lambda x, s, v: bridge.hvp(lambda x: energy(x, s), (x,), (v,)))(X, s, v),
        bridge.hvp(f, (X,), (v,)),
        rtol=1e-10,
    )


@pytest.mark.ci
def test_jacobians() -> None:
    def f(x: Any, s: Any) -> Any:
        y = x * 2.0
        y[: s[0]] += np.flip(x[-s[0] :]) * np.sum(x[s[0] : s[1]] ** 2)
        return y

    s = np.array([2, 5])
    for transform in (bridge.jacrev, bridge.jacfwd):
        np.testing.assert_allclose(transform(f, engine="xla")(CLEAN, s), transform(f)(CLEAN, s), rtol=1e-12)


@pytest.mark.parametrize("mode", ["error", "clip", "fill", "drop"])
def test_bounds_of_slices_are_never_outside(mode: str) -> None:
    """NumPy shortens slices, whatever an index outside means."""

    def f(x: Any, s: Any) -> Any:
        y = x * 2.0
        y[s[0] : s[1]] += x[s[0] : s[1]]
        return np.sum(y * np.arange(7.0)) + np.sum(x[s[0] :] ** 2)

    compiled = bridge.value_and_grad(f, engine="xla", index_mode=mode)
    for window in ([2, 99], [-99, 3], [5, 1], [-3, -1]):
        found, wanted = compiled(CLEAN, np.array(window)), bridge.value_and_grad(f)(CLEAN, np.array(window))
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12)
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-12)


def test_inside_of_branches_and_loops() -> None:
    def f(loop: Any, x: Any, s: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            def shrink(y: Any) -> Any:
                y[: s[0]] *= 0.5
                return y

            def grow(y: Any) -> Any:
                y[i:] += np.sum(y[:i])
                return y

            return bridge.cond(i < s[0], shrink, grow, y)

        return np.sum(np.sin(loop(0, 5, body, x * 1.0)))

    def plain(lower: int, upper: int, body: Any, y: Any) -> Any:
        for i in range(lower, upper):
            y = body(i, y)
        return y

    s = np.array([2])
    found = bridge.value_and_grad(lambda x, s: f(bridge.fori_loop, x, s), engine="xla")(CLEAN, s)
    wanted = bridge.value_and_grad(lambda x, s: f(plain, x, s))(CLEAN, s)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-12)


def test_while_loop() -> None:
    """A window that shrinks until little is left in it."""

    def f(x: Any) -> Any:
        def shorter(state: Any) -> Any:
            k, total = state
            return k - 1, total + np.sum(x[:k] ** 2) / k

        return bridge.while_loop(lambda state: np.sum(x[: state[0]]) > 1.0, shorter, (7, 0.0), limit=7)[1]

    found, wanted = bridge.value_and_grad(f, engine="xla")(CLEAN), bridge.value_and_grad(f)(CLEAN)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-12)


def test_views_share_memory() -> None:
    def f(x: Any, s: Any) -> Any:
        y = x * 1.0
        w = y[s[0] : s[1]]
        y[s[0]] = 9.0
        first = w[0] * 1.0
        w[1:][:1] = 5.0
        w[::-1][0] = 4.0
        w *= 2.0
        return first, y, w.copy().sum(), y[:, None][s[0] : s[1]].T[0][0]

    s = np.array([2, 6])
    for one, other in zip(bridge.xla(f)(CLEAN, s), f(CLEAN, s), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)
