"""Loops that keep snapshots instead of their whole logs, because they are allowed little memory: the same gradients."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy as bnp
from bridge import errors
from bridge.options import as_text, bytes_of
from tests.xla import test_random_loops as random_loops

pytest.importorskip("jax")

U = np.linspace(0.2, 1.3, 12)
K = np.array([23])
C = 0.3


def smoothing(u: Any, c: Any, k: Any) -> Any:
    """A stencil in place, with the loop's index in it."""

    def step(i: Any, u: Any) -> Any:
        u[1:-1] += c * (u[2:] - 2 * u[1:-1] + u[:-2]) + 0.05 * np.sin(u[1:-1]) + 0.01 * i
        return u

    return np.sum(bridge.fori_loop(0, 40, step, u.copy()) ** 2)


def run_time_length(u: Any, c: Any, k: Any) -> Any:
    """A trip count that is known only at run time, and bounds that are not 0."""

    def step(i: Any, u: Any) -> Any:
        u[1:] *= 1 + 0.1 * c * np.cos(u[:-1] + i)
        return u

    return np.sum(bridge.fori_loop(-3, np.minimum(k[0], 40), step, u.copy()) ** 2)


def run_time_start(u: Any, c: Any, k: Any) -> Any:
    def step(i: Any, u: Any) -> Any:
        u[i % 7 : i % 7 + 3] += np.sin(u[:3]) * c
        return u

    start = np.minimum(np.maximum(k[0] - 20, 0), 10)
    return np.sum(bridge.fori_loop(start, 37, step, u.copy()) ** 3)


def empty(u: Any, c: Any, k: Any) -> Any:
    """It may run 40 times, and does not run."""

    def step(i: Any, u: Any) -> Any:
        return u * c

    return np.sum(bridge.fori_loop(0, np.minimum(k[0] - 30, 40), step, u.copy()) ** 2)


def until_small(u: Any, c: Any, k: Any) -> Any:
    """A loop with a condition."""

    def shrink(both: Any) -> Any:
        return both[0] * (0.9 + 0.05 * c), both[1] + both[0]

    u, total = bridge.while_loop(lambda both: np.sum(both[0] ** 2) > 1.0, shrink, (u * 1.0, u), limit=60)
    return np.sum(total * total) + u[0]


def counting(u: Any, c: Any, k: Any) -> Any:
    """Integers and a table are carried, and say where to write."""
    table = bnp.zeros(12)
    counter = np.zeros(1, int)

    def step(i: Any, carried: Any) -> Any:
        table, counter, x = carried
        s = (counter[0] * 5 + k[0]) % 10
        table[s : s + 3] += x * u[s : s + 3]
        counter[0] += 1 + (i % 3 == 0)
        table[np.stack([s, (s + 4) % 12])] *= c
        return table, counter, np.sin(x + table[s])

    table, _, x = bridge.fori_loop(0, 45, step, (table, counter, c * 1.0))
    return np.sum(table * table) + x


def branching(u: Any, c: Any, k: Any) -> Any:
    def step(i: Any, u: Any) -> Any:
        def grow(u: Any) -> Any:
            u[:6] *= 1.02 * c / c
            return u

        def turn(u: Any) -> Any:
            u[6:] = np.sin(u[6:]) + u[:6] * 0.1
            return u

        return bridge.cond(i % 3 == k[0] % 3, grow, turn, u)

    return np.sum(bridge.fori_loop(0, 40, step, u.copy()) ** 2) * c


def nested(u: Any, c: Any, k: Any) -> Any:
    """A loop in a loop, which is to share what there is."""

    def outer(i: Any, u: Any) -> Any:
        def inner(j: Any, u: Any) -> Any:
            u[1:] += 0.01 * np.sin(u[:-1] * c + j)
            return u

        u = bridge.fori_loop(0, 20, inner, u)
        u *= 0.99
        return u

    return np.sum(bridge.fori_loop(0, 20, outer, u.copy()) ** 2)


def one_after_another(u: Any, c: Any, k: Any) -> Any:
    """Three loops, of which the second is short."""

    def step(i: Any, u: Any) -> Any:
        u[1:] += 0.1 * np.sin(u[:-1] * c)
        return u

    u = bridge.fori_loop(0, 30, step, u.copy())
    u *= u
    u = bridge.fori_loop(0, 3, step, u)
    u[0] = c
    u = bridge.fori_loop(0, 50, step, u)
    return np.sum(u * u)


def overwritten_after(u: Any, c: Any, k: Any) -> Any:
    """What the loop reads, and what it has written, is overwritten after it."""
    w, y = u * c, u.copy()

    def step(i: Any, y: Any) -> Any:
        y *= 1 + 0.01 * w
        return y

    y = bridge.fori_loop(0, 40, step, y)
    first = np.sum(y)
    w[:] = 0.0
    y[::2] = 1.0
    return first + np.sum(y * y)


PROGRAMS: tuple[Callable[..., Any], ...] = (
    smoothing, run_time_length, run_time_start, empty, until_small, counting, branching, nested, one_after_another,
    overwritten_after,
)  # fmt: skip
BOUNDS = (6000, 2500, 640)


@pytest.mark.ci
@pytest.mark.parametrize(("program", "memory"), [(p, b) for p in PROGRAMS for b in BOUNDS])
def test_gradients_are_those_of_the_whole_log(program: Any, memory: int) -> None:
    expected = bridge.value_and_grad(program, (0, 1), engine="native")(U, C, K)
    both = bridge.value_and_grad(program, (0, 1), engine="xla", memory=memory)
    found = both(U, C, K)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    assert both.bounded_loops or memory > min(BOUNDS)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1000, 1048))
def test_random_programs(seed: int) -> None:
    f, text = random_loops.program(seed)
    x = np.random.default_rng(5).uniform(0.2, 1.5, random_loops.N)
    expected = bridge.grad(f, engine="native")(x)
    for memory in (150, 300, 700):
        with suppress(errors.MemoryBoundError):
            found = bridge.grad(f, engine="xla", memory=memory)(x)
            np.testing.assert_allclose(
                found, expected, rtol=1e-8, atol=1e-9 * np.max(np.abs(expected)), err_msg=f"memory={memory}:\n{text}"
            )


BOUNDED_ORDERS = [(p, b) for p in (smoothing, nested, one_after_another) for b in (2500, 900)]


@pytest.mark.nightly
@pytest.mark.parametrize(("program", "memory"), BOUNDED_ORDERS)
def test_other_derivatives(program: Any, memory: int) -> None:
    import jax

    def f(u: Any) -> Any:
        return program(u, C, K)

    def pulled(u: Any) -> Any:
        """One pull, called three times: memory is played forward in between."""
        pull = bridge.vjp(lambda u: np.stack([f(u), np.sum(u * u)]), u)[1]
        return pull(np.array([1.0, 0.0]))[0], pull(np.array([0.0, 1.0]))[0], pull(np.array([1.0, 2.0]))[0]

    def singular(u: Any) -> Any:
        """The slope of the root is infinite where nothing depends on it."""
        v = u.copy()
        v[3] = 0.0
        w = np.sqrt(v)
        w[3] = 1.0
        return f(w)

    gradient = bridge.grad(f)(U)
    found = bridge.xla(pulled, memory=memory)(U)
    for one, other in zip(found, pulled(U), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    pull = bridge.vjp(f, U, engine="xla", memory=memory)[1]
    np.testing.assert_allclose(pull(2.0)[0], 2 * gradient, rtol=1e-10)
    mended = bridge.grad(singular, engine="xla", memory=memory)(U)
    np.testing.assert_allclose(mended, bridge.grad(singular)(U), rtol=1e-10)
    batch = np.stack([U, 2 * U]).astype(np.float32)
    around = jax.jit(jax.vmap(jax.grad(bridge.xla(f, memory=memory))))(batch)
    np.testing.assert_allclose(around, [bridge.grad(f)(row) for row in batch], rtol=1e-4)


@pytest.mark.nightly
def test_second_derivatives() -> None:
    def f(u: Any) -> Any:
        return smoothing(u, C, K)

    product = bridge.hvp(f, (U,), (U,))
    np.testing.assert_allclose(bridge.hvp(f, (U,), (U,), engine="xla", memory=900), product, rtol=1e-9)
    hessian = bridge.hessian(f, engine="xla", memory=2500)(U)
    np.testing.assert_allclose(hessian @ U, product, rtol=1e-9)

    def squares(u: Any) -> Any:
        return np.sum(bridge.grad(f)(u) ** 2)

    twice = bridge.grad(squares, engine="xla", memory=20_000)
    np.testing.assert_allclose(twice(U), bridge.grad(squares)(U), rtol=1e-9)
    assert twice.bounded_loops


def test_gradients_in_a_loop() -> None:
    def descent(u: Any) -> Any:
        return bridge.fori_loop(0, 4, lambda i, u: u - 1e-2 * bridge.grad(lambda u: smoothing(u, C, K))(u), u)

    compiled = bridge.xla(descent, memory=900)
    np.testing.assert_allclose(compiled(U), descent(U), rtol=1e-12)
    assert len(compiled.bounded_loops) == 1


def test_xla_takes_the_memory_that_is_told() -> None:
    def heat(u: Any) -> Any:
        def step(i: Any, u: Any) -> Any:
            u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2]) + 0.05 * np.sin(u[1:-1])
            return u

        return np.sum(bridge.fori_loop(0, 400, step, u.copy()) ** 2)

    u = np.linspace(0.0, 1.0, 20_000)
    taken = {}
    for memory in (None, "8MB", "1.6MB"):
        gradient = bridge.grad(heat, engine="xla", memory=memory)
        taken[memory] = gradient.compile(u).memory_analysis().temp_size_in_bytes
    assert taken[None] > 60e6
    # Beside what the loop keeps there are some arrays of what its body computes.
    assert taken["8MB"] < 8e6 + 8 * u.nbytes
    assert taken["1.6MB"] < 1.6e6 + 8 * u.nbytes


def test_what_is_kept_and_run_again_is_told(caplog: pytest.LogCaptureFixture) -> None:
    gradient = bridge.grad(smoothing, engine="xla", memory=2500)
    with caplog.at_level("INFO", "bridge.xla"):
        gradient(U, C, K)
        gradient(U, C, K)
    (told,) = gradient.bounded_loops
    assert caplog.messages.count(told) == 1
    line = smoothing.__code__.co_firstlineno + 7
    assert (
        f"test_memory_bounds.py:{line} in smoothing: a loop of 40 iterations would keep 3.2 kB; within 2.5 kB" in told
    )
    assert "snapshots of 96 bytes and the log of" in told
    assert told.endswith("runs each iteration 1 times more")
    whole = bridge.grad(smoothing, engine="xla", memory="1MB")
    whole(U, C, K)
    assert whole.bounded_loops == []


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(errors.MemoryBoundError) as caught:
        bridge.grad(smoothing, engine="xla", memory=150)(U, C, K)
    line = smoothing.__code__.co_firstlineno + 7
    assert str(caught.value) == (
        "a loop of 40 iterations writes memory of 96 bytes, and each overwrites 80 bytes: "
        "its way back needs 176 bytes, and memory= leaves 150 bytes for it\n"
        f"  at {caught.value.where}\n"
        "  remedy: allow more, or write less in an iteration: slices instead of whole arrays"
    )
    assert f"test_memory_bounds.py:{line} in smoothing" in str(caught.value.where)
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(errors.MemoryBoundError, match=r"memory= leaves 166 bytes for it"):
        bridge.grad(one_after_another, engine="xla", memory=500)(U, C, K)


@pytest.mark.parametrize(
    "transform", [bridge.grad, bridge.value_and_grad, bridge.jacrev, bridge.jacfwd, bridge.hessian]
)
def test_amounts_that_are_none_are_named(transform: Any) -> None:
    with pytest.raises(errors.ArgumentError, match="memory='2 apples' is no amount of memory"):
        transform(smoothing, engine="native", memory="2 apples")
    with pytest.raises(errors.ArgumentError, match="memory='2 apples' is no amount of memory"):
        transform(smoothing, engine="xla", memory="2 apples")
    with pytest.raises(
        errors.ArgumentError, match=r"give it to what compiles the program: bridge.xla\(f, memory=...\)"
    ):
        bridge.xla(lambda u: transform(lambda u: np.sum(u), engine="xla", memory="2GB")(u))(U)


def test_amounts() -> None:
    assert bytes_of(None) is None
    for text, amount in {
        "512MB": 512e6, "2GB": 2e9, "2 gb": 2e9, "1.5GiB": 1.5 * 2**30, "64 KiB": 2**16, "100B": 100, "1TB": 1e12,
    }.items():  # fmt: skip
        assert bytes_of(text) == amount
    assert bytes_of(1234) == 1234
    for wrong in ("", "2", "GB", "-1MB", "0MB", 0, -5, 1.5, True, "2 parsecs"):
        with pytest.raises(errors.ArgumentError, match="is no amount of memory"):
            bytes_of(wrong)
    assert [as_text(n) for n in (999, 1000, 1234567, 2 * 10**9)] == ["999 bytes", "1 kB", "1.23 MB", "2 GB"]
