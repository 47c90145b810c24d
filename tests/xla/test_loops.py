"""Compiled loops and branches: values and derivatives of several orders are those of the eager ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy as bnp
from bridge import cond, errors, fori_loop, while_loop

pytest.importorskip("jax")

X = np.array([0.3, 1.2, -0.7, 0.4, 0.9])
N = len(X)


def in_place(x: Any) -> Any:
    def body(i: Any, u: Any) -> Any:
        u[1:-1] += 0.1 * np.sin(u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] *= 1.0 + 0.01 * np.cos(i)
        return u

    return np.sum(fori_loop(0, 6, body, x.copy()) ** 2)


def captured(x: Any) -> Any:
    b = bnp.zeros(N + 1)
    b[0] = 1.0

    def body(i: Any, c: Any) -> Any:
        b[i + 1] = np.sin(b[i]) * x[i] + b[i]
        return c

    fori_loop(0, N, body, None)
    return b[N] * b[2]


def functional(x: Any) -> Any:
    def body(i: Any, c: Any) -> Any:
        s, y = c
        return s * x[i] + np.sum(y), np.tanh(y * s)

    s, y = fori_loop(0, 4, body, (1.0, x))
    return s + np.sum(y * y)


def containers(x: Any) -> Any:
    def body(i: Any, state: Any) -> Any:
        state["v"] *= np.cos(state["parts"][0])
        return {"parts": [state["parts"][0] * state["v"]], "v": state["v"], "n": state["n"] + 1}

    state = fori_loop(0, 3, body, {"parts": [x * 1.0], "v": x.copy(), "n": 0})
    return np.sum(state["parts"][0] * state["v"]) * state["n"]


def nested(x: Any) -> Any:
    def outer(t: Any, u: Any) -> Any:
        def inner(i: Any, u: Any) -> Any:
            u[i + 1] = u[i] * np.sin(u[i + 1]) + x[t]
            return u

        return fori_loop(0, t + 1, inner, u)

    u = fori_loop(0, 3, outer, x.copy())
    return np.sum(u * u)


def counted(x: Any) -> Any:
    def body(i: Any, c: Any) -> Any:
        k, total = c
        return (k * 2 + 1) % N, total + x[k] * x[i] ** 2

    return fori_loop(0, 6, lambda i, c: body(i % N, c), (0, 0.0))[1]


def until(x: Any) -> Any:
    value, count = while_loop(
        lambda c: c[0] < 5.0, lambda c: (c[0] * (1.5 + x[1] * 0.1), c[1] + 1), (x[0], 0), limit=30
    )
    return value * count


def chosen(x: Any) -> Any:
    def body(i: Any, u: Any) -> Any:
        def positive(u: Any) -> Any:
            u[i] *= x[0]
            return u

        def negative(u: Any) -> Any:
            u[:2] += u[i] ** 2
            return u

        return cond(u[i] > 0, positive, negative, u)

    return np.sum(fori_loop(0, N, body, x * 1.0) ** 2)


def checkpointed(x: Any) -> Any:
    @bridge.checkpoint
    def step(u: Any) -> Any:
        u[1:] *= np.cos(u[:-1])
        u *= x
        return u

    return np.sum(fori_loop(0, 3, lambda i, u: step(u), x.copy()))


PROGRAMS = (in_place, captured, functional, containers, nested, counted, until, chosen, checkpointed)
SECOND = (in_place, captured, functional, nested, until, chosen)


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("program", PROGRAMS)
def test_first_derivatives(program: Any) -> None:
    both = bridge.value_and_grad(program, engine="xla")
    for x in (X, X[::-1] * 0.5):
        value, gradient = bridge.value_and_grad(program)(x)
        found = both(x)
        close(found[0], value)
        close(found[1], gradient)
    close(bridge.jvp(program, (X,), (X[::-1].copy(),), engine="xla")[1], bridge.grad(program)(X) @ X[::-1])


@pytest.mark.parametrize("program", SECOND)
def test_second_derivatives(program: Any) -> None:
    close(bridge.hvp(program, (X,), (X,), engine="xla"), bridge.hvp(program, (X,), (X,)))


@pytest.mark.parametrize("program", [in_place, pytest.param(nested, marks=pytest.mark.nightly), captured])
def test_a_gradient_of_a_gradient(program: Any) -> None:
    def outer(x: Any) -> Any:
        return np.sum(bridge.grad(program)(x) ** 2)

    close(bridge.grad(outer, engine="xla")(X), bridge.grad(outer)(X))


def test_jacobians() -> None:
    def program(x: Any) -> Any:
        def body(i: Any, u: Any) -> Any:
            u[1:] *= np.cos(u[:-1])
            return u

        return fori_loop(0, 3, body, x.copy())

    expected = bridge.jacrev(program)(X)
    close(bridge.jacrev(program, engine="xla")(X), expected)
    close(bridge.jacfwd(program, engine="xla")(X), expected)


def test_bounds_known_at_run_time() -> None:
    def program(x: Any, n: Any) -> Any:
        return fori_loop(n[0], n[1], lambda i, total: total + x[i] ** 2, 0.0)

    run = bridge.xla(program)
    for n in ([0, 4], [2, 3], [3, 3], [4, 1]):
        close(run(X, np.array(n)), np.sum(X[n[0] : n[1]] ** 2))
    push = bridge.xla(lambda x, n: bridge.jvp(lambda x: program(x, n), (x,), (x,))[1])
    close(push(X, np.array([1, 3])), 2 * np.sum(X[1:3] ** 2))
    pull = bridge.grad(program, engine="xla")
    for n in ([0, 4], [2, 3], [3, 3], [4, 1]):
        close(pull(X, np.array(n)), 2 * X * ((np.arange(N) >= n[0]) & (np.arange(N) < n[1])))

    def limited(x: Any, n: Any) -> Any:
        return fori_loop(0, np.minimum(n[0], N), lambda i, total: total + x[i] ** 2, 0.0)

    gradient = bridge.grad(limited, engine="xla")
    for n in (0, 2, 9):
        close(gradient(X, np.array([n])), 2 * X * (np.arange(N) < n))


@pytest.mark.parametrize("bounds", [(3, 3), (3, 1), (0, 0)])
def test_no_iterations(bounds: tuple[int, int]) -> None:
    def program(x: Any) -> Any:
        return np.sum(fori_loop(*bounds, lambda i, u: u * 2, x) ** 2)

    close(bridge.grad(program, engine="xla")(X), 2 * X)
    stays = bridge.value_and_grad(
        lambda x: np.sum(while_loop(lambda u: u[0] > 9, lambda u: u * 2, x, limit=4)), engine="xla"
    )
    close(stays(X)[1], np.ones(N))


def test_a_limit_that_is_reached() -> None:
    def program(x: Any) -> Any:
        return while_loop(lambda v: v < 4.0, lambda v: v + x[1], x[0], limit=3)

    for wrap in (bridge.xla, lambda f: bridge.grad(f, engine="xla"), bridge.grad):
        with pytest.raises(errors.ArgumentError, match=r"more than limit=3 steps(.|\n)*raise limit"):
            wrap(program)(X)
    close(bridge.xla(program)(X * 4), X[0] * 4 + X[1] * 4)
    # No limit is needed.
    assert bridge.xla(lambda x: while_loop(lambda v: v < 4.0, lambda v: v * 2, x[0]))(X) == 0.3 * 16
    free = bridge.grad(lambda x: while_loop(lambda v: v < 4.0, lambda v: v * 2, x[0]), engine="xla")
    close(free(X), 16.0 * (np.arange(N) == 0))


@pytest.mark.parametrize(
    ("body", "init", "message"),
    [
        (lambda i, u: u[:2], X, r"shape \(5,\) and returned one of \(2,\)"),
        (lambda i, u: u * 1j, X, "dtype float64 and returned one of complex128"),
        (lambda i, u: (u, u), X, r"structure .* and returned"),
        (lambda i, u: "other", "text", "cannot carry a str"),
    ],
)
def test_carried_values_that_change(body: Any, init: Any, message: str) -> None:
    with pytest.raises(errors.ArgumentError, match=f"(?s){message}.*test_loops.*remedy"):
        bridge.xla(lambda x: fori_loop(0, 3, body, init if isinstance(init, str) else x))(X)


class Point:
    def __init__(self, **parts: Any) -> None:
        vars(self).update(parts)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda i, p: Point(u=p.u * 2), r"structure .* and returned"),
        (lambda i, p: Point(u=p.u[:2], t=p.t), r"shape \(5,\) and returned one of \(2,\)"),
        (lambda i, p: Point(u=p.u * 1j, t=p.t), "dtype float64 and returned one of complex128"),
        (lambda i, p: Point(u=p.u, t="late"), "cannot carry a str"),
        (lambda i, p: 1.0, r"structure Point\(u=\*, t=\*\) and returned \*"),
    ],
)
def test_objects_that_change(body: Any, message: str) -> None:
    with pytest.raises(errors.ArgumentError, match=f"(?s){message}.*test_loops.*remedy"):
        bridge.xla(lambda x: fori_loop(0, 3, body, Point(u=x, t=1.0)).u)(X)
    with pytest.raises(errors.ArgumentError, match=f"(?s){message}.*test_loops.*remedy"):
        bridge.xla(lambda x: while_loop(lambda p: p.t < 3, lambda p: body(0, p), Point(u=x, t=1.0)).u)(X)


def test_a_value_of_another_dtype_is_cast() -> None:
    single = X.astype(np.float32)
    for body in (lambda i, u: u * X, lambda i, u: u.astype(int) + 1):
        found = bridge.xla(lambda x, body=body: fori_loop(0, 3, body, x))(single)
        assert found.dtype == np.float32
        expected = single
        for i in range(3):
            expected = body(i, expected).astype(np.float32)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_numbers_may_widen_as_pythons_do() -> None:
    assert bridge.xla(lambda x: fori_loop(0, 3, lambda i, c: c + x[i], 0))(X) == pytest.approx(X[:3].sum())


def test_branches_that_differ_are_named() -> None:
    with pytest.raises(errors.ArgumentError, match=r"shapes \(5,\) and \(2,\)"):
        bridge.xla(lambda x: cond(x[0] > 0, lambda v: v, lambda v: v[:2], x))(X)
    with pytest.raises(errors.TraceError, match=r"the branches of a cond return .*Point object"):
        bridge.xla(lambda x: cond(x[0] > 0, lambda v: Point(u=v), lambda v: Point(w=v), x).u)(X)
    with pytest.raises(errors.ArgumentError, match="the branches of a cond return"):
        bridge.xla(lambda x: cond(x[0] > 0, lambda v: v, lambda v: (v, v), x))(X)
    with pytest.raises(errors.ArgumentError, match=r"upper=2\.5"):
        bridge.xla(lambda x: fori_loop(0, 2.5, lambda i, v: v, x))(X)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [3, 9])
def test_writing_and_returning_another_array(count: int) -> None:
    def body(i: Any, u: Any) -> Any:
        u[0] = 1.0
        return u * 2

    def program(x: Any) -> Any:
        u = x.copy()
        return fori_loop(0, count, body, u) + u

    np.testing.assert_allclose(bridge.xla(program)(X), program(X))
