"""What changes after an operation has read it: constants, lists, captured arrays, aliases, activity."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors
from tests.helpers.finite_differences import gradient

X = np.array([0.3, 1.2, -0.7, 2.0])
MATRIX = np.arange(16.0).reshape(4, 4) / 7


def changed_list(x: Any) -> Any:
    weights = [1.0, 1.0, 1.0, 1.0]
    nested = [[0, 1], [2, 3]]
    y = np.dot(weights, x) ** 2 + np.sum(np.take(x, nested) ** 2)
    weights[0] = 100.0
    nested[0][0] = 3
    return y


def changed_keyword_list(x: Any) -> Any:
    weights = [1.0, 2.0, 3.0, 4.0]
    y = np.average(x * x, weights=weights)
    weights[0] = 100.0
    return y


def output_by_position(x: Any) -> Any:
    z = np.zeros_like(x)
    np.dot(MATRIX, x, z)
    row = np.zeros_like(x)
    np.cumsum(z, 0, None, row)
    return np.sum(z**2) + np.sum(row * x)


def written_under_an_undifferentiated_name(x: Any) -> Any:
    def f(a: Any, b: Any) -> Any:
        b *= 2.0
        b += b**2
        return np.sum(a * a)

    return f(x, x)


def interrupted_in_the_middle(x: Any) -> Any:
    y = x * 1.0
    with np.errstate(divide="raise"):
        try:
            y /= np.array([1.0, 0.0, 2.0, 3.0])
        except FloatingPointError:
            y[1] = 2.0
    return np.sum(y)


@pytest.mark.parametrize(
    "program",
    [changed_list, changed_keyword_list, output_by_position, written_under_an_undifferentiated_name,
     interrupted_in_the_middle],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_what_was_read_counts(program: Callable[[Any], Any]) -> None:
    (expected,) = gradient(program, (X,))
    value, found = bridge.value_and_grad(program)(X)
    assert value == program(X.copy())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(bridge.jvp(program, (X,), (X,))[1], np.sum(expected * X), rtol=1e-6)


def test_an_output_by_position_that_is_plain() -> None:
    with pytest.raises(errors.EscapeError):
        bridge.grad(lambda x: np.sum(np.cumsum(x, 0, None, np.zeros(4))), source=False)(X)


def test_an_outer_array_that_changes_before_the_pull() -> None:
    def f(w: Any) -> Any:
        _, pull = bridge.vjp(lambda a: a * w, np.ones(4))
        w *= 2.0
        return np.sum(pull(np.ones(4))[0])

    value, g = bridge.value_and_grad(f)(X)
    assert value == X.sum()
    np.testing.assert_allclose(g, np.ones(4))


def test_an_outer_array_that_the_inner_function_changes() -> None:
    def f(w: Any) -> Any:
        def inner(x: Any) -> Any:
            y = x * w
            w[0] = 5.0
            return np.sum(y * w)

        return np.sum(bridge.grad(inner)(w * 1.0))

    def plain(w: Any) -> Any:
        changed = w.copy()
        changed[0] = 5.0
        return np.sum(w * changed)

    value, g = bridge.value_and_grad(f)(X)
    assert value == pytest.approx(plain(X))
    np.testing.assert_allclose(g, gradient(plain, (X,))[0], rtol=1e-6)


def test_an_inner_function_reads_the_original_of_what_it_writes() -> None:
    def f(w: Any) -> Any:
        def inner(a: Any) -> Any:
            a[0] = 5.0
            return np.sum(a * w)

        return bridge.value_and_grad(inner)(w)[0]

    with pytest.raises(errors.AliasError, match="captured"):
        bridge.grad(f)(X)


def test_an_alias_that_was_read_before_the_memory_is_written() -> None:
    def f(x: Any, y: Any) -> Any:
        before = np.sum(y**2)
        y[0] = 3.0
        return before + np.sum(x)

    with pytest.raises(errors.AliasError, match="undifferentiated"):
        bridge.grad(f)(X, X)


def test_a_differentiated_argument_beside_its_alias() -> None:
    def f(y: Any, x: Any) -> Any:
        a, b = np.atleast_2d(y, x)
        return np.sum(a * b)

    np.testing.assert_allclose(bridge.grad(f, argnums=1)(X, X), X)


def test_a_constant_that_a_function_hands_back_stays_the_caller_s() -> None:
    def f(x: Any) -> Any:
        c = np.ones(4)
        a, b = np.atleast_1d(c, x)
        total = np.sum(a * b)
        c[0] = 10.0
        assert a[0] == 10.0
        return total

    np.testing.assert_allclose(bridge.grad(f)(X), np.ones(4))


def test_scratch_that_becomes_active_after_a_checkpoint_read_it() -> None:
    def f(x: Any) -> Any:
        z = np.zeros_like(x)
        y = bridge.checkpoint(lambda a: a * z + a)(x)
        z[...] = x
        return y * z

    _, pull = bridge.vjp(f, X)
    first, second = pull(np.ones(4))[0], pull(np.ones(4))[0]
    np.testing.assert_allclose(first, 2 * X)
    np.testing.assert_array_equal(first, second)


def test_a_plain_argument_of_a_checkpoint_that_changes() -> None:
    def f(x: Any) -> Any:
        scale = np.array([1.0, 2.0, 3.0, 4.0])
        y = bridge.checkpoint(lambda x, s: x * s)(x, scale)
        scale[:] = 7.0
        return np.sum(y)

    np.testing.assert_allclose(bridge.grad(f)(np.zeros(4)), [1.0, 2.0, 3.0, 4.0])


def test_a_mutating_function_that_raises_half_way() -> None:
    @bridge.mutating_rule(mutates="a")
    def fragile(a: Any) -> None:
        a[0] = 0.0
        raise OSError("fragile")

    fragile.pull(lambda ct, a: ct)

    def f(x: Any) -> Any:
        with contextlib.suppress(OSError):
            fragile(x)
        return np.sum(x)

    with pytest.raises(errors.RuleError, match="raised OSError and may have written"):
        bridge.grad(f)(X)


def test_a_checkpoint_in_a_nested_derivative_may_not_write_outside() -> None:
    def f(w: Any) -> Any:
        count = w * 1.0

        def inner(x: Any) -> Any:
            @bridge.checkpoint
            def body(x: Any) -> Any:
                x *= 2.0
                count[0] += 1.0
                return x * x

            return np.sum(body(x))

        return np.sum(bridge.grad(inner)(w)) + count[0]

    with pytest.raises(errors.RefusedError, match="checkpointed function inside a nested derivative"):
        bridge.grad(f)(X)
