"""neural-tangents#123: the value beside the gradient is not the function's, and rules that are NaN at zero.

https://github.com/google/neural-tangents/issues/123
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import CheckError, RuleError
from bridge.rulebook.rule import Case, Rule
from tests.helpers import finite_differences as reference
from tests.reported.agreement import ENGINES, assert_agreement, needed

POINTS = np.array([[0.3, -1.2, 0.7], [1.1, 0.4, -0.5]])
DEPTH = 3


def kernel(x: Any, scale: float = 1.7, bias: float = 0.1) -> Any:
    """The report's kernel, of an infinitely wide network: layers of rectifiers in closed form, between two points.

    Each layer maps covariances `a = k(x, x)`, `b = k(y, y)` and `c = k(x, y)` to those behind `max(., 0)`
    (Cho and Saul, Kernel Methods for Deep Learning, 2009).
    """
    a, b, c = np.sum(x[0] * x[0]) / 3, np.sum(x[1] * x[1]) / 3, np.sum(x[0] * x[1]) / 3
    for _ in range(DEPTH):
        length = np.sqrt(a * b)
        cosine = np.clip(c / length, -1.0, 1.0)
        angle = np.arccos(cosine)
        c = scale * length * (np.sin(angle) + (np.pi - angle) * cosine) / (2 * np.pi) + bias
        a, b = scale * a / 2 + bias, scale * b / 2 + bias
    return c


@pytest.mark.ci
@pytest.mark.parametrize("engine", ENGINES)
def test_value_and_gradient_of_the_kernel(engine: str) -> None:
    needed(engine)
    assert_agreement(kernel, POINTS, engine)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_value_beside_the_gradient_is_the_function_s_bit_for_bit(dtype: Any) -> None:
    points = POINTS.astype(dtype)
    for engine in ("native", "eager"):
        value, _ = bridge.value_and_grad(kernel, engine=engine)(points)
        plain = kernel(points)
        assert np.asarray(value).tobytes() == np.asarray(plain).tobytes()
        assert bridge.jvp(kernel, (points,), (points,))[0] == bridge.vjp(kernel, points)[0] == plain


def test_where_the_rule_of_the_kernel_is_not_finite_nothing_finite_is_made_up() -> None:
    """Equal points: the slope of `arccos` at 1 is infinite, and what multiplies it is a computed 0.0."""
    same = np.stack([POINTS[0], POINTS[0]])
    with np.errstate(all="ignore"):
        gradient = bridge.grad(kernel)(same)
        (differences,) = reference.gradient(lambda x: kernel(np.stack([x[0], POINTS[0]])), (same,))
    wrong = np.isfinite(gradient[0]) & ~np.isclose(gradient[0], differences[0], rtol=1e-3, atol=1e-3)
    assert not np.any(wrong), (gradient, differences)


@pytest.mark.parametrize("engine", ENGINES)
def test_lengths_of_zero_have_the_slope_that_the_table_says(engine: str) -> None:
    needed(engine)
    rows = np.array([[0.0, 0.0], [3.0, 4.0]])
    found = bridge.grad(lambda x: np.sum(np.linalg.norm(x, axis=1)), engine=engine)(rows)
    np.testing.assert_allclose(found, [[0.0, 0.0], [0.6, 0.8]], atol=1e-15)


def doubled(x: Any) -> Any:
    return x * 2.0


def test_check_rule_compares_values_and_names_the_pull_of_another_function() -> None:
    another = Rule(doubled, lambda ct, out, x: ct * 3.0, None, reads=None, linear=False, structure=None)
    with pytest.raises(CheckError, match="wrong-gradient"):
        bridge.check_rule(another, Case(doubled, (POINTS,)))


def test_a_lowering_with_another_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax")
    from bridge.xla.lowering.register import ENTRIES, Lowering

    monkeypatch.setitem(ENTRIES, "np.arctan2", Lowering(lambda x, y: x * y))
    with pytest.raises(RuleError, match=r"JAX computes np\.arctan2 as (?s:.*) and NumPy as"):
        bridge.grad(lambda x: np.sum(np.arctan2(x, 0.321)), engine="jax")(POINTS)


@pytest.mark.ci
def test_crosscheck_of_a_jax_function_whose_rule_has_another_value() -> None:
    """The report itself: under differentiation the function is another one, by a rule of its own."""
    jax = pytest.importorskip("jax")

    @jax.custom_jvp
    def root(x: Any) -> Any:
        return jax.numpy.sqrt(x)

    @root.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        value = jax.numpy.sqrt(primals[0]) * 1.01
        return value, tangents[0] / (2 * value)

    def lengths(x: Any) -> Any:
        return root((x * x).sum(axis=1)).sum()

    def twin(x: Any) -> Any:
        return np.sum(np.sqrt(np.sum(x * x, axis=1)))

    report = bridge.crosscheck(lengths, twin=twin)(POINTS)
    assert not report.ok
    assert report.differences[0].kind == "primal", str(report)


def test_crosscheck_of_the_kernel_finds_no_difference() -> None:
    report = bridge.crosscheck(kernel, engines=("native", "jax"))(POINTS)
    assert report.ok, str(report)
