"""Writes into windows of run-time length are in place in XLA's loops, and cost a bound of the window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy as bnp
from tests.xla.test_in_place import LENGTH, STARTS, STEPS, WIDTH, compiled_text_and_memory, copied_in_loops

pytestmark = pytest.mark.processor


def triangle(x: Any) -> Any:
    """Rows that grow."""
    u = x.copy().reshape(-1, WIDTH)

    def body(i: Any, u: Any) -> Any:
        u[i + 1, : i + 2] += np.tanh(u[i, : i + 2]) * np.sum(u[i + 2, i:])
        u[i, i] = u[i, :i] @ u[i + 1, :i]
        return u

    return np.sum(bridge.fori_loop(0, STEPS, body, u) ** 2)


def short_windows(x: Any) -> Any:
    """Windows of a length below a bound, anywhere in a long array."""
    b, starts = bnp.ones(LENGTH), bnp.array(STARTS)

    def body(i: Any, b: Any) -> Any:
        s, k = starts[i], np.minimum(i + 1, WIDTH)
        b[s : s + k] = np.sin(x[s : s + k]) * b[s + k : s + 2 * k]
        return b

    return np.sum(bridge.fori_loop(0, STEPS, body, b) ** 2)


def clamped(x: Any) -> Any:
    """A moving window that is shortened at the borders."""

    def body(i: Any, b: Any) -> Any:
        b[i] += np.mean(x[np.maximum(i - 20, 0) : np.minimum(i + 20, LENGTH)])
        return b

    return np.sum(bridge.fori_loop(0, STEPS, body, bnp.ones(LENGTH)) ** 2)


@pytest.mark.ci
@pytest.mark.parametrize("program", [triangle, short_windows, clamped], ids=lambda f: f.__name__)
def test_no_copy_in_a_loop(program: Callable[[Any], Any]) -> None:
    x = np.random.default_rng(0).random(LENGTH)
    compiled = bridge.value_and_grad(program, engine="xla")
    value, gradient = compiled(x)
    expected, reference = bridge.value_and_grad(program, engine="native")(x)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, reference, rtol=1e-10, atol=1e-10)
    text, memory = compiled_text_and_memory(compiled)
    # Nothing but the windows is made anew, and kept: neither the array, nor as much as a tenth of it.
    assert copied_in_loops(text, LENGTH // 10) == []
    assert memory.temp_size_in_bytes < 6 * 8 * LENGTH + 8 * 8 * STEPS * WIDTH
