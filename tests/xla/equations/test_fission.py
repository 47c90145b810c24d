"""Loops from which products are taken out: what they give is what they gave, and the loop does less."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

N, T = 48, 40
RANDOM = np.random.default_rng(0)
W, X, H = RANDOM.standard_normal((N, N)) * 0.1, RANDOM.standard_normal((T, N)), RANDOM.standard_normal(N)


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def recurrent(w: Any, x: Any, h: Any) -> Any:
    for t in range(T):
        h = np.tanh(w @ h + (2.0 * w) @ x[t])
    return np.sum(h * h)


def recurrent_backward(w: Any, x: Any, h: Any) -> Any:
    for t in range(T - 1, -1, -1):
        h = np.tanh(h @ w + x[t] @ w)
    return np.sum(h * h)


def with_states(w: Any, x: Any, h: Any) -> Any:
    states = np.zeros((T + 1, N))
    states[0] = h
    for t in range(T):
        states[t + 1] = np.tanh(w @ states[t] + x[t])
    return np.sum(states**3)


def batched(w: Any, x: Any, h: Any) -> Any:
    h = np.outer(np.arange(1.0, 4.0), h) * 0.1
    total = 0.0
    for t in range(T):
        h = np.tanh(h @ w + x[t])
        total = total + np.sum(h)
    return total


def gram(w: Any, x: Any, h: Any) -> Any:
    found = np.zeros((N, N))
    for i in range(N):
        found[i:N, i] = found[i, i:N] = x[:, i] @ x[:, i:N] / (h[0] ** 2 + 1.0)
    return np.sum(found * w) + np.sum(found**2)


def lower(w: Any, x: Any, h: Any) -> Any:
    found = np.zeros(N)
    for i in range(N):
        found[i] = w[i, : i + 1] @ np.sin(h[: i + 1]) + x[0] @ w[:, i]
    return np.sum(found**2)


def forward_sum(w: Any, x: Any, h: Any) -> Any:
    """A sum of outer products that the program itself makes."""
    a = np.zeros((N, N))
    for t in range(T):
        h = np.sin(w @ h) + 0.1
        a += np.outer(h, x[t])
    return np.sum(a * a * w)


def subtracted(w: Any, x: Any, h: Any) -> Any:
    a = w * 2.0
    for t in range(T):
        a = a - np.outer(x[t], h) * 0.5
    return np.sum(a**3)


def read_inside(w: Any, x: Any, h: Any) -> Any:
    """The sum is read in every turn: nothing can be taken out."""
    a = w * 0.1
    for t in range(T):
        h = np.tanh(a @ h)
        a += 0.1 * np.outer(h, x[t])
    return np.sum(a * a)


def two_in_one(w: Any, x: Any, h: Any) -> Any:
    a, b = np.zeros((N, N)), np.zeros((N, N))
    for t in range(T):
        h = np.tanh(w @ h + x[t])
        a += np.outer(h, x[t])
        b += a[0] * 0.1
    return np.sum(a * b)


def every_other(w: Any, x: Any, h: Any) -> Any:
    for t in range(0, T, 2):
        h = np.tanh(w @ h + x[t] * x[t + 1])
    return np.sum(h)


def started_later(w: Any, x: Any, h: Any) -> Any:
    for t in range(3, T - 1):
        h = np.tanh(w @ h + w @ x[t - 3] - w @ x[t + 1])
    return np.sum(h)


def windows_that_meet(w: Any, x: Any, h: Any) -> Any:
    for t in range(T - 2):
        h = np.tanh(w @ h + w @ x[t] + np.sum(x[t : t + 3], 0))
    return np.sum(h)


def picked(w: Any, x: Any, h: Any) -> Any:
    at = np.array([3, 3, 1, 0, 2, 3, 7, 7, 7, 1])
    for t in range(10):
        h = np.tanh(w @ h + w @ x[at[t]])
    return np.sum(h)


def chosen(w: Any, x: Any, h: Any) -> Any:
    for t in range(T):
        h = np.tanh(np.where(np.arange(N) > t, w, 0.0) @ h + x[t])
    return np.sum(h)


def scaled_turns(w: Any, x: Any, h: Any) -> Any:
    for t in range(T):
        h = np.tanh((w @ h) * (t + 1.0) / T + x[t])
    return np.sum(h)


def of_complex(w: Any, x: Any, h: Any) -> Any:
    z = h * (1.0 + 0.5j)
    for t in range(T):
        z = (w * (1.0 - 0.2j)) @ z * 0.5 + x[t]
    return np.sum(np.abs(z) ** 2)


def solved(w: Any, x: Any, h: Any) -> Any:
    total = 0.0
    for t in range(T - 1, -1, -1):
        a = w @ w.T + np.diag(x[t] ** 2) + 2.0 * np.eye(N)
        h = np.tanh(np.linalg.solve(a, x[t]) + h)
        total = total + np.sum(np.linalg.solve(a, h))
    return total


def solved_at_times(w: Any, x: Any, h: Any) -> Any:
    total = 0.0
    for t in range(T):
        if h[0] * t > 3.0:
            total = total + np.sum(np.linalg.inv(w + (t + 2.0) * np.eye(N)) @ h)
        else:
            total = total - np.sum(np.linalg.cholesky(w @ w.T + (t + 2.0) * np.eye(N)))
    return total


def of_a_solution(w: Any, x: Any, h: Any) -> Any:
    total = 0.0
    for t in range(T):
        total = total + np.sum(np.tanh(w @ np.linalg.solve(np.diag(x[t] ** 2) + 2.0 * np.eye(N), h * t)))
    return total


def nested(w: Any, x: Any, h: Any) -> Any:
    for _ in range(2):
        for t in range(T):
            h = np.tanh(w @ h + x[t])
    return np.sum(h * h)


PROGRAMS = [
    recurrent, recurrent_backward, with_states, batched, gram, lower, forward_sum, subtracted, read_inside, two_in_one,
    every_other, started_later, windows_that_meet, picked, chosen, scaled_turns, of_complex, nested,
    solved, solved_at_times, of_a_solution,
]  # fmt: skip


def same_as_eager(program: Callable[..., Any], *arguments: np.ndarray) -> None:
    numbers = tuple(range(len(arguments)))
    value, found = bridge.value_and_grad(program, argnums=numbers, engine="xla")(*arguments)
    expected_value, expected = bridge.value_and_grad(program, argnums=numbers)(*arguments)
    np.testing.assert_allclose(value, expected_value, rtol=1e-10)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11 * np.max(np.abs(other), initial=0.0))


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_eager(program: Callable[..., Any]) -> None:
    same_as_eager(program, W, X, H)


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("which", "number"), [(k, x) for k in range(3) for x in (np.nan, np.inf)])
def test_what_is_not_finite(program: Callable[..., Any], which: int, number: float) -> None:
    """Numbers that are none stay where they were: a mask is more than a product with zero."""
    arguments = [W.copy(), X.copy(), H.copy()]
    arguments[which].flat[-1] = number
    expected = program(*map(np.copy, arguments))
    np.testing.assert_allclose(bridge.xla(program)(*arguments), expected, rtol=1e-10)


@pytest.mark.ci
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_gradients_of_what_is_not_finite(number: float) -> None:
    """The long way is compiled when it is needed, and the short one is taken again afterwards."""
    usual, there = W.copy(), W.copy()
    there.flat[-1] = number
    compiled = bridge.xla(bridge.value_and_grad(gram, argnums=(1, 2)))
    eager = bridge.value_and_grad(gram, argnums=(1, 2))
    for k, x in enumerate((usual, there, usual, usual)):
        (value, found), (expected_value, expected) = compiled(W, x, H), eager(W, x, H)
        np.testing.assert_allclose(value, expected_value, rtol=1e-10)
        for one, other in zip(found, expected, strict=True):
            finite = np.abs(other)[np.isfinite(other)]
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11 * np.max(finite, initial=0.0))
        assert len(compiled.compile_seconds) == (1 if k == 0 else 2)


def test_the_long_way_is_no_part_of_a_program_that_tells() -> None:
    both = "stablehlo.case"
    assert both in bridge.xla(gram).lower(W, W, H).as_text()
    assert both not in bridge.xla(bridge.grad(gram, argnums=(1, 2))).lower(W, W, H).as_text()


@pytest.mark.processor
@pytest.mark.parametrize("program", [solved, solved_at_times, of_a_solution], ids=lambda f: f.__name__)
def test_no_library_is_called_for_all_turns_at_once(program: Callable[..., Any]) -> None:
    """XLA's threads would wait for each other: one program in ten stopped for good on two cores."""
    text = bridge.xla(bridge.grad(program, argnums=(0, 1, 2))).lower(W, X, H).as_text()
    calls = re.findall(r"custom_call @lapack\w+\(.*", text)
    assert calls
    assert not [call for call in calls if f"tensor<{T}x{N}x" in call]


def test_under_a_bound_of_memory() -> None:
    """Loops keep what they are told to."""
    for program in (recurrent, gram, solved):
        found = bridge.xla(bridge.grad(program, argnums=(0, 1, 2)), memory="1MB")(W, X, H)
        for one, other in zip(found, bridge.grad(program, argnums=(0, 1, 2))(W, X, H), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11 * np.max(np.abs(other)))


@pytest.mark.ci
@pytest.mark.parametrize("program", [recurrent, gram, chosen, lower], ids=lambda f: f.__name__)
def test_second_derivatives(program: Callable[..., Any]) -> None:
    def slope(h: Any) -> Any:
        return np.sum(bridge.grad(program, argnums=2)(W, X, h) ** 2)

    found, expected = bridge.grad(slope, engine="xla")(H), bridge.grad(slope)(H)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def outer_products(program: Callable[..., Any]) -> int:
    """How many matrices the loops of a compiled gradient carry, which are written in each turn."""
    import jax

    from bridge.xla.equations import simplified

    carried: list[int] = []
    original = simplified.jaxpr_as_fun

    def counting(closed: Any) -> Any:
        for one in closed.jaxpr.eqns:
            if one.primitive.name == "bridge_loop":
                body = one.params["body"].jaxpr
                ends = body.outvars[-(len(body.invars) - one.params["counts"][1]) :]
                carried.append(sum(end.aval.shape == (N, N) for end in ends))
        return original(closed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simplified, "jaxpr_as_fun", counting)
        bridge.xla(bridge.grad(program, argnums=(0, 1, 2))).lower(W, X, H)
        jax.clear_caches()
    return sum(carried)


@pytest.mark.parametrize(
    "program", [recurrent, recurrent_backward, with_states, batched, started_later], ids=lambda f: f.__name__
)
def test_no_turn_adds_to_a_matrix(program: Callable[..., Any]) -> None:
    assert outer_products(program) == 0


def test_a_sum_that_is_read_stays() -> None:
    assert outer_products(read_inside) > 0


def test_what_is_kept_is_bounded() -> None:
    """Of many turns with little that goes into them, rows would be much more than the sum is."""

    def program(w: Any, h: Any) -> Any:
        for _ in range(40_000):
            h = h * 0.9999
            w = w + np.outer(h, h)
        return np.sum(w * w)

    compiled = bridge.xla(program).compile(W, H)
    assert compiled.memory_analysis().temp_size_in_bytes < 40_000 * N * 8


def test_windows_of_run_time_length_are_not_kept_of_all_turns() -> None:
    """A row of a sparse matrix is short, and its bound is all of them."""

    def sparse_product(rows: Any, columns: Any, values: Any, x: Any) -> Any:
        y = np.zeros(2048)
        for i in range(2048):
            y[i] = values[rows[i] : rows[i + 1]] @ x[columns[rows[i] : rows[i + 1]]]
        return np.sum(y**2)

    matrix = np.arange(0, 4097, 2), np.arange(4096) % 100, np.linspace(0.0, 1.0, 4096)
    gradient = bridge.xla(bridge.grad(sparse_product, argnums=(2, 3)))
    compiled = gradient.compile(*matrix, np.ones(100))
    assert compiled.memory_analysis().temp_size_in_bytes < 2**20
    expected = bridge.grad(sparse_product, argnums=(2, 3))(*matrix, np.ones(100))
    for one, other in zip(gradient(*matrix, np.ones(100)), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
