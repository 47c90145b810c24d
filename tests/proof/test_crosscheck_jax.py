"""`bridge.crosscheck` of functions written in JAX, beside their NumPy twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge

jax = pytest.importorskip("jax", reason="JAX is not installed: no JAX function was cross-checked (pip install jax)")
jnp = jax.numpy

# What the rule book's tests prove, once more under another engine: .ci/run has it.
pytestmark = pytest.mark.ci

X = np.array([0.3, 1.2])
NATIVE = ("native",)


@pytest.mark.ci
def test_a_function_that_agrees_with_its_twin() -> None:
    report = bridge.crosscheck(lambda x: jnp.sum(jnp.sin(x) * x), twin=lambda x: np.sum(np.sin(x) * x))(X)
    assert report.ok, str(report)
    assert not report.differences
    names = [run.engine for run in report.runs]
    assert names[:5] == [
        "jax function, plain",
        "jax function",
        "finite differences",
        "jax function, batched",
        "numpy twin",
    ]
    assert {"native", "xla"} <= set(names)


def test_containers_and_several_arguments() -> None:
    def jax_loss(p: Any, y: Any) -> Any:
        return {"r": jnp.tanh(p["w"] @ y), "n": 3}

    def numpy_loss(p: Any, y: Any) -> Any:
        return {"r": np.tanh(p["w"] @ y), "n": 3}

    report = bridge.crosscheck(jax_loss, engines=NATIVE, twin=numpy_loss)({"w": np.outer(X, X)}, X)
    assert report.ok, str(report)


@pytest.mark.ci
def test_an_index_outside_is_moved_to_the_edge() -> None:
    report = bridge.crosscheck(lambda x: x[5] ** 2, engines=NATIVE, twin=lambda x: x[5] ** 2)(X)
    (first,) = report.differences
    assert (first.kind, first.engines) == ("index", ("jax function", "numpy twin"))
    assert first.where is not None
    assert "test_crosscheck_jax.py" in first.where
    assert "IndexError" in first.explanation


def test_a_dropped_gradient_is_seen_by_finite_differences() -> None:
    def stops(x: Any) -> Any:
        return jnp.sum(x * jax.lax.stop_gradient(x))

    report = bridge.crosscheck(stops, engines=NATIVE, twin=lambda x: np.sum(x * x))(X)
    first = report.differences[0]
    assert (first.kind, first.engines) == ("mismatch", ("jax function", "finite differences"))


@pytest.mark.ci
def test_a_rule_whose_value_is_another() -> None:
    @jax.custom_jvp
    def squares(x: Any) -> Any:
        return jnp.sum(x**2)

    squares.defjvp(lambda primals, tangents: (1.1 * jnp.sum(primals[0] ** 2), jnp.sum(2 * primals[0] * tangents[0])))
    report = bridge.crosscheck(squares, engines=NATIVE, twin=lambda x: np.sum(x**2))(X)
    assert [one.kind for one in report.differences] == ["primal"], str(report)


def test_a_rule_of_reverse_mode_that_is_wrong() -> None:
    @jax.custom_vjp
    def squares(x: Any) -> Any:
        return jnp.sum(x**2)

    squares.defvjp(lambda x: (jnp.sum(x**2), x), lambda x, ct: (3.0 * ct * x,))
    report = bridge.crosscheck(squares, engines=NATIVE, twin=lambda x: np.sum(x**2))(X)
    assert not report.ok
    assert {one.kind for one in report.differences} == {"mismatch"}
    assert report.smallest == "squares(np.array([1.0]))"


@pytest.mark.ci
def test_another_convention_at_a_kink() -> None:
    report = bridge.crosscheck(
        lambda x: jnp.sum(jax.nn.relu(x)), engines=NATIVE, twin=lambda x: np.sum(np.maximum(x, 0))
    )(np.array([0.0, 1.2]))
    assert report.ok
    assert {one.kind for one in report.differences} == {"kink"}


@pytest.mark.ci
def test_a_nan_through_an_unselected_branch() -> None:
    report = bridge.crosscheck(
        lambda x: jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0)),
        engines=NATIVE,
        twin=lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)),
    )(np.array([0.0, 1.2]))
    assert not report.ok
    assert (report.differences[0].kind, report.differences[0].engines[0]) == ("nan", "jax function")


def test_a_batch_that_is_computed_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.engines.jax import functions as jax_functions

    right = jax_functions.batched

    def wrong(real: Any, batches: Any) -> Any:
        found = right(real, batches)
        return [found[0], (found[1][0], [g * 1.01 for g in found[1][1]]), *found[2:]]

    monkeypatch.setattr(jax_functions, "batched", wrong)
    report = bridge.crosscheck(lambda x: jnp.sum(jnp.sin(x)), engines=NATIVE, twin=lambda x: np.sum(np.sin(x)))(X)
    (first,) = report.differences
    assert (first.kind, first.engines) == ("mismatch", ("jax function, batched", "jax function"))


@pytest.mark.ci
def test_a_twin_that_is_another_function() -> None:
    report = bridge.crosscheck(lambda x: jnp.sum(x**2), engines=NATIVE, twin=lambda x: np.sum(x**2) + 1)(X)
    (first,) = report.differences
    assert (first.kind, first.engines) == ("primal", ("jax function", "numpy twin"))
