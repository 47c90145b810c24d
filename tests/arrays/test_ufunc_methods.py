"""`reduce`, `accumulate`, `outer`, `reduceat`, `at`, and the keywords of ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors
from bridge.arrays import ufunc_methods, ufunc_steps
from tests.helpers.finite_differences import gradient

X = np.array([[0.7, 1.4, 0.3], [1.1, 0.2, 2.0]])
INDEX = np.array([1, 0, 1])


def out_of_another_shape(x: Any) -> Any:
    out = np.zeros((2, 3), like=x)
    np.multiply(x[0], x, out=out)
    np.sum(x, axis=0, out=out[1])
    return np.sum(out**2)


def masked_updates(x: Any) -> Any:
    a = x.copy()
    np.sqrt(a, out=a, where=a > 1.0)
    np.multiply(a, x[0], out=a, where=np.array([True, False, True]))
    return np.sum(a * a)


def two_outputs(x: Any) -> Any:
    whole, rest = np.zeros_like(x), np.zeros_like(x)
    np.divmod(x, 0.6, out=(whole, rest))
    part, _ = np.modf(x * 1.7)
    return np.sum(rest**2) + np.sum(part * rest)


def at_with_duplicates(x: Any) -> Any:
    a = x.copy()
    np.add.at(a, (slice(None), INDEX), x * x)
    np.multiply.at(a, (INDEX % 2, INDEX), x[0])
    np.subtract.at(a, INDEX, x[0])
    np.maximum.at(a, (INDEX, 0), x[1])
    np.negative.at(a, (0, [1, 1, 2]))
    return np.sum(a * a)


def at_with_its_own_memory(x: Any) -> Any:
    a = x.copy()
    np.multiply.at(a, ([1, 1, 1], [0, 0, 2]), a[0])
    np.add.at(a, ([0, 0, 0], [0, 0, 2]), a[0])
    return np.sum(a * a)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "add.reduce": lambda x: np.sum(np.add.reduce(x, axis=1) ** 2),
    "add.reduce everything": lambda x: np.add.reduce(x, axis=None, initial=2.0) ** 2,
    "multiply.reduce keepdims": lambda x: np.sum(np.multiply.reduce(x, axis=(0, 1), keepdims=True)),
    "maximum.reduce where": lambda x: np.sum(np.maximum.reduce(x, axis=1, initial=0.1, where=x < 1.5) ** 2),
    "logaddexp.reduce": lambda x: np.sum(np.logaddexp.reduce(x, axis=1) ** 2),
    "subtract.reduce": lambda x: np.sum(np.subtract.reduce(x) ** 2),
    "hypot.reduce keepdims": lambda x: np.sum(np.hypot.reduce(x, axis=1, keepdims=True)),
    "hypot.reduce of one": lambda x: np.sum(np.hypot.reduce(-x[:1]) ** 3),
    "reduceat of another order": lambda x: np.sum(np.sin(np.add.reduceat(x.T, [0, 2, 1]))),
    "add.accumulate": lambda x: np.sum(np.add.accumulate(x, axis=1) ** 2),
    "divide.accumulate": lambda x: np.sum(np.divide.accumulate(x, axis=1) ** 2),
    "maximum.accumulate": lambda x: np.sum(np.maximum.accumulate(x, axis=1) ** 2),
    "outer": lambda x: np.sum(np.arctan2.outer(x[0], x[1]) ** 2),
    "outer with a list": lambda x: np.sum(np.power.outer(x[0], [1.0, 2.5]) ** 2),
    "add.reduceat": lambda x: np.sum(np.add.reduceat(x, [0, 2, 1], axis=1) ** 2),
    "multiply.reduceat": lambda x: np.sum(np.multiply.reduceat(x, [0, 1], axis=0) ** 2),
    "reduce into out": lambda x: np.sum(np.add.reduce(x, axis=0, out=np.zeros(3, like=x)) ** 2),
    "dtype": lambda x: np.sum(np.add(x, 1.0, dtype=np.float64) ** 2),
    "where without out": lambda x: np.sum(np.sin(x, where=np.ones((2, 3), bool), out=None) ** 2),
    "out_of_another_shape": out_of_another_shape,
    "masked_updates": masked_updates,
    "two_outputs": two_outputs,
    "at_with_duplicates": at_with_duplicates,
    "at_with_its_own_memory": at_with_its_own_memory,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_methods(name: str) -> None:
    f = PROGRAMS[name]
    (expected,) = gradient(f, (X,))
    value, g = bridge.value_and_grad(f)(X)
    np.testing.assert_allclose(g, expected, rtol=1e-6, atol=1e-8)
    assert value == f(X.copy())
    np.testing.assert_allclose(bridge.jvp(f, (X,), (X,))[1], np.sum(expected * X), rtol=1e-6, atol=1e-9)
    h = 1e-5
    change = (bridge.grad(f)(X + h * X) - bridge.grad(f)(X - h * X)) / (2 * h)
    np.testing.assert_allclose(bridge.hvp(f, (X,), (X,)), change, rtol=1e-4, atol=1e-6)


def test_into_a_plain_array_integers_may_go_and_floats_may_not() -> None:
    def comparison(x: Any) -> Any:
        mask = np.zeros((2, 3), bool)
        np.greater(x, 1.0, out=mask)
        return np.sum(x[mask])

    np.testing.assert_allclose(bridge.grad(comparison)(X), X > 1.0)
    for f in (
        lambda x: np.add.reduce(x, axis=0, out=np.zeros(3)),
        lambda x: np.add.at(np.zeros(3), INDEX, x[0]),
        lambda x: np.sum(x, axis=0, out=np.zeros(3)),
    ):
        with pytest.raises(errors.EscapeError):
            bridge.grad(lambda x, f=f: np.sum(f(x)), source=False)(X)


def test_an_operator_with_a_plain_array_on_the_left() -> None:
    def f(x: Any) -> Any:
        plain = np.full((2, 3), 2.0)
        return np.sum(plain * x + np.float64(3.0) * x - [1.0, 2.0, 3.0] / x + 2**x)

    (expected,) = gradient(f, (X,))
    np.testing.assert_allclose(bridge.grad(f)(X), expected, rtol=1e-6)

    def onto_itself(x: Any) -> Any:
        plain = np.full((2, 3), 2.0)
        plain += x
        return np.sum(plain)

    np.testing.assert_array_equal(bridge.grad(onto_itself)(X), np.ones((2, 3)))
    with pytest.raises(errors.EscapeError):
        bridge.grad(onto_itself, source=False)(X)


def test_rounding_in_another_order_is_no_disagreement() -> None:
    cancelling = np.array([1e10, -1e10 + 1e-3, 1e-3, 3.0, 1e10, -1e10])
    g = bridge.grad(lambda x: np.sum(np.add.reduceat(x, [0, 3])))(cancelling)
    np.testing.assert_array_equal(g, np.ones(6))
    half = X.astype(np.float16)
    assert bridge.grad(lambda x: np.sum(np.hypot.reduce(x, axis=None)))(half).dtype == np.float16


def test_a_value_that_the_steps_do_not_explain_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ufunc_methods, "_RULES", {})
    monkeypatch.setattr(ufunc_methods, "_reduce_by_steps", lambda ufunc, x, axis, keepdims: np.sum(x) * 1.1)
    with pytest.raises(errors.RuleError, match=r"np\.hypot\.reduce gave (.|\n)*one by one give"):
        bridge.grad(lambda x: np.hypot.reduce(x, axis=None))(X)


def test_order_on_this_processor_is_numpys_or_refused() -> None:
    """NumPy 2.4 on processors with AVX512: `np.power.reduce` of a row leaves elements out."""
    for f in (
        lambda x: np.sum(np.power.reduce(x, axis=1)),
        lambda x: np.sum(np.power.reduce(x, axis=1, initial=x[0, 0])),
        lambda x: np.sum(np.arctan2.reduceat(x, [0, 1], axis=1)),
    ):
        for engine in ("native", "xla"):
            try:
                value = bridge.value_and_grad(f, engine=engine)(X)[0]
            except (errors.ValueDiffersError, errors.RefusedError) as error:
                assert ".reduce" in str(error)
            else:
                assert value == pytest.approx(f(X.copy()), rel=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.subtract.reduce(x, axis=1)),
        lambda x: np.sum(np.subtract.reduce(x, axis=1, initial=x[0, 0])),
        lambda x: np.sum(np.subtract.reduceat(x, [0], axis=1)),
    ],
)
def test_a_processor_that_leaves_elements_out_is_told_when_compiled(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax")
    monkeypatch.setattr(ufunc_steps, "goes_in_turn", lambda ufunc, dtype: False)
    with pytest.raises(errors.RefusedError, match=r"np\.subtract\.reduce of this NumPy(.|\n)*np\.subtract\.accumulate"):
        bridge.grad(f, engine="xla")(X)


@pytest.mark.parametrize("order", ["C", "F"])
def test_add_at_of_values_with_fewer_axes_than_their_index(order: Any) -> None:
    # NumPy 2.4 reads beyond the memory of such values, so the sums here are written out.
    at = np.array([[0, 1, 2], [1, 2, 1]], order=order)

    def f(x: Any) -> Any:
        b = np.zeros_like(x)
        np.add.at(b, at, x)
        return np.sum(b**2)

    x = np.array([0.5, -0.25, 1.25])
    sums = np.array([x[0], x[1] + x[0] + x[2], x[2] + x[1]])
    value, gradient = bridge.value_and_grad(f)(x)
    np.testing.assert_allclose(value, np.sum(sums**2), rtol=1e-15)
    expected = 2 * np.array([sums[0] + sums[1], sums[1] + sums[2], sums[1] + sums[2]])
    np.testing.assert_allclose(gradient, expected, rtol=1e-15)
    np.testing.assert_allclose(bridge.jvp(f, (x,), (np.ones(3),))[1], np.sum(expected), rtol=1e-15)


def test_what_is_picked_lies_as_its_index_does() -> None:
    at = np.asfortranarray([[1, -2], [-3, -3]])

    def f(x: Any) -> Any:
        v = x[at]
        v.flat = v.T
        return np.sum(v * v)

    x = np.array([0.5, -0.25, 1.25])
    assert bridge.value_and_grad(f)(x)[0] == f(x)


@pytest.mark.parametrize("ufunc", [np.logaddexp, np.hypot])
def test_a_value_that_is_no_number_is_the_same_value_step_by_step(ufunc: Any) -> None:
    def reduced(x: Any) -> Any:
        return ufunc.reduce(np.stack([x, 2 * x, x]))

    x = np.array([0.3, 0.7, np.nan, 2.0])
    with np.errstate(invalid="ignore"):
        found = bridge.grad(lambda x: np.sum(reduced(x)[:2]))(x)
    np.testing.assert_allclose(found[:2], bridge.grad(lambda x: np.sum(reduced(x)))(x[:2]))
