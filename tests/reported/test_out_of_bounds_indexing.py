"""jax#5760: an index outside its array. The value was clamped, and reverse mode dropped what forward mode kept.

https://github.com/jax-ml/jax/issues/5760
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeError
from tests.reported.agreement import ENGINES, assert_agreement, needed

X = np.array([0.3, -1.2, 0.7, 2.5, 0.9])
OUTSIDE = np.array([0, 2, 5])
EAGER = [engine for engine in ENGINES if "xla" not in engine.values]


def off_by_one(x: Any) -> Any:
    """The report's mistake: one past the end."""
    return np.sum(x[OUTSIDE] ** 2)


def written_outside(x: Any) -> Any:
    y = x * x
    y[OUTSIDE] = x[:3]
    return np.sum(y)


def clipped(x: Any) -> Any:
    return np.sum(np.take(x, OUTSIDE, mode="clip") ** 2)


def wrapped(x: Any) -> Any:
    return np.sum(np.take(x, np.array([-7, 5, 6]), mode="wrap") ** 3)


@pytest.mark.parametrize("engine", EAGER)
@pytest.mark.parametrize("program", [off_by_one, written_outside], ids=lambda f: f.__name__)
def test_eager_engines_raise_what_numpy_raises(program: Any, engine: str) -> None:
    needed(engine)
    kept = X.copy()
    for call in (
        lambda: program(X.copy()),
        lambda: bridge.grad(program, engine=engine)(X),
        lambda: bridge.jvp(program, (X,), (X,), engine=engine),
    ):
        with pytest.raises(IndexError, match="out of bounds"):
            call()
    np.testing.assert_array_equal(X, kept)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("program", [clipped, wrapped], ids=lambda f: f.__name__)
def test_take_with_a_mode_agrees_in_every_mode_of_differentiation(program: Any, engine: str) -> None:
    needed(engine)
    assert_agreement(program, X, engine)


def at_run_time(x: Any, k: Any) -> Any:
    """The same program with indices that are known at run time only: those that JAX clamps."""
    read = x[k]
    return np.sum(np.where(np.isnan(read), 1.0, read) ** 2)


def test_compiled_an_index_outside_is_an_error_that_names_the_line() -> None:
    needed("xla")
    with pytest.raises(BridgeError, match=r"test_out_of_bounds_indexing\.py:\d+") as caught:
        bridge.grad(at_run_time, engine="xla")(X, OUTSIDE)
    assert isinstance(caught.value, IndexError)
    assert "5" in str(caught.value) and caught.value.remedy


# What each mode reads at index 5 of five elements, and what the gradient therefore is.
MODES = {
    "clip": (np.array([0, 2, 4]), 0.0),
    "fill": (np.array([0, 2]), 1.0),
    "drop": (np.array([0, 2]), 0.0),
}


@pytest.mark.parametrize("mode", MODES)
def test_compiled_modes_agree_with_differences_of_their_own_value(mode: str) -> None:
    needed("xla")
    inside, constant = MODES[mode]
    both = bridge.value_and_grad(at_run_time, engine="xla", index_mode=mode)
    value, gradient = both(X, OUTSIDE)
    expected = np.zeros(5)
    expected[inside] = 2 * X[inside]
    np.testing.assert_allclose(value, np.sum(X[inside] ** 2) + constant, rtol=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)
    step = 1e-6
    differences = [(both(X + step * e, OUTSIDE)[0] - both(X - step * e, OUTSIDE)[0]) / (2 * step) for e in np.eye(5)]
    np.testing.assert_allclose(differences, expected, atol=1e-8)
    tangent = np.cos(np.arange(5.0))
    pushed: Callable[..., Any] = bridge.xla(
        lambda x, k, v: bridge.jvp(lambda y: at_run_time(y, k), (x,), (v,)), index_mode=mode
    )
    np.testing.assert_allclose(pushed(X, OUTSIDE, tangent)[1], expected @ tangent, rtol=1e-12)
    second = bridge.xla(lambda x, k, v: bridge.hvp(lambda y: at_run_time(y, k), (x,), (v,)), index_mode=mode)(
        X, OUTSIDE, tangent
    )
    np.testing.assert_allclose(second, np.where(expected != 0, 2 * tangent, 0.0), rtol=1e-12)


def test_what_jax_answers() -> None:
    """The report still holds: under jit the value is clamped, and the gradient is not that of the value."""
    jax = pytest.importorskip("jax")

    def program(x: Any, k: Any) -> Any:
        return (x[k] ** 2).sum()

    compiled = jax.jit(program)
    x, step = X.astype(np.float32), np.float32(0.125)
    last = np.eye(5, dtype=np.float32)[4]
    difference = (compiled(x + step * last, OUTSIDE) - compiled(x - step * last, OUTSIDE)) / (2 * step)
    np.testing.assert_allclose(difference, 2 * x[4], rtol=1e-4)
    reverse = np.asarray(jax.jit(jax.grad(program))(x, OUTSIDE))
    forward = np.asarray(jax.jit(jax.jacfwd(program))(x, OUTSIDE))
    if reverse[4] == forward[4]:
        pytest.skip(f"JAX {jax.__version__} answers alike in both modes: the report is settled there")
    assert reverse[4] == 0.0
    np.testing.assert_allclose(forward[4], 2 * x[4], rtol=1e-6)
