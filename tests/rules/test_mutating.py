"""Rules for functions that write into their arguments: what authors write, and what can go wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors, extend
from bridge.rulebook.book import read_book
from tests.helpers.finite_differences import gradient

X = np.array([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def rules_put_back() -> Iterator[None]:
    read_book()
    rules, mutating = dict(extend.RULES), dict(extend.MUTATING)
    yield
    extend.RULES.clear()
    extend.RULES.update(rules)
    extend.MUTATING.clear()
    extend.MUTATING.update(mutating)


def make_addone() -> Any:
    @bridge.mutating_rule(mutates="a")
    def addone(a: Any) -> None:
        a += 1

    @addone.pull
    def _(ct: Any, a: Any) -> Any:
        return ct

    return addone


def make_scale() -> Any:
    """A function that knows only NumPy arrays: it goes through the buffer protocol, as C code does."""

    @bridge.mutating_rule(mutates=("a",))
    def scale(a: Any, s: Any) -> Any:
        memory = np.frombuffer(a, a.dtype)
        memory *= s
        return a

    @scale.pull
    def _(ct: Any, a: Any, s: Any) -> Any:
        return ct * s, np.sum(ct * a)

    return scale


def test_without_tracking_it_is_the_function() -> None:
    x = X.copy()
    make_addone()(x)
    np.testing.assert_array_equal(x, X + 1)


def test_dot_then_addone() -> None:
    addone = make_addone()

    def f(x: Any) -> Any:
        y = np.dot(x, x)
        addone(x)
        return y + x[0]

    np.testing.assert_allclose(bridge.grad(f)(X), [3.0, 4.0, 6.0])


def test_addone_then_squared_twice_on_one_array() -> None:
    addone = make_addone()

    def f(x: Any) -> Any:
        a = x.copy()
        addone(a)
        y = a * a
        addone(a)
        return np.sum(y * a)

    expected = 2 * (X + 1) * (X + 2) + (X + 1) ** 2
    np.testing.assert_allclose(bridge.grad(f)(X), expected)
    np.testing.assert_allclose(bridge.jvp(f, (X,), (np.ones(3),))[1], expected.sum())


def test_pulls_see_the_values_from_before_and_second_order_is_right() -> None:
    scale = make_scale()

    def f(x: Any) -> Any:
        a = np.sin(x)
        b = scale(a, x[0] * x[1])
        assert b is a
        return np.sum(a * a)

    def plain(x: Any) -> Any:
        return np.sum((np.sin(x) * x[0] * x[1]) ** 2)

    np.testing.assert_allclose(bridge.grad(f)(X), bridge.grad(plain)(X))
    np.testing.assert_allclose(bridge.jvp(f, (X,), (X,))[1], bridge.jvp(plain, (X,), (X,))[1])
    np.testing.assert_allclose(bridge.hvp(f, (X,), (X,)), bridge.hvp(plain, (X,), (X,)))


def test_after_is_the_value_after_the_call() -> None:
    @bridge.mutating_rule(mutates="a")
    def exponential(a: Any) -> None:
        np.exp(a, out=a)

    @exponential.pull
    def _(ct: Any, a: Any, after: Any) -> Any:
        return ct * after

    def f(x: Any) -> Any:
        a = x.copy()
        exponential(a)
        return np.sum(a * x)

    np.testing.assert_allclose(bridge.grad(f)(X), np.exp(X) * (1 + X))


def test_several_arguments_are_written() -> None:
    @bridge.mutating_rule(mutates=("a", "b"))
    def exchange(a: Any, b: Any) -> None:
        a[...], b[...] = b.copy(), a.copy()

    @exchange.pull
    def _(ct: Any, a: Any, b: Any) -> Any:
        ct_a, ct_b = ct
        return ct_b, ct_a

    def f(x: Any) -> Any:
        a, b = x.copy(), x * x
        exchange(a, b)
        return np.sum(a * a * a) + np.sum(b)

    np.testing.assert_allclose(bridge.grad(f)(X), 6 * X**5 + 1)


def test_a_view_of_a_tracked_array_is_written() -> None:
    scale = make_scale()

    def f(x: Any) -> Any:
        a = x.copy()
        scale(a[1:], 3.0)
        return np.sum(a * a)

    np.testing.assert_allclose(bridge.grad(f)(X), [2.0, 36.0, 54.0])


def test_a_missing_pull_is_named() -> None:
    @bridge.mutating_rule(mutates="a")
    def quiet(a: Any) -> None:
        a *= 2

    with pytest.raises(errors.RuleError, match=r"quiet has a mutating rule without a pull(.|\n)*@quiet\.pull"):
        bridge.grad(lambda x: quiet(x) or np.sum(x))(X)


def test_a_name_that_is_no_parameter() -> None:
    with pytest.raises(errors.RuleError, match=r"declares that b is written, but the parameters are \(a\)"):

        @bridge.mutating_rule(mutates="b")
        def f(a: Any) -> None: ...


def test_a_plain_target_among_tracked_arguments() -> None:
    scale = make_scale()
    with pytest.raises(errors.EscapeError):
        bridge.grad(lambda x: np.sum(scale(np.ones(3), x[0])), source=False)(X)


def test_a_new_array_is_no_result_of_a_mutating_function() -> None:
    @bridge.mutating_rule(mutates="a")
    def both(a: Any) -> Any:
        a += 1
        return a * 2

    both.pull(lambda ct, a: ct)
    with pytest.raises(errors.RuleError, match="none of its arguments"):
        bridge.grad(lambda x: np.sum(both(x)))(X)


def test_wrong_shapes_and_counts_of_cotangents_are_named() -> None:
    addone = make_addone()
    addone.pull(lambda ct, a: np.sum(ct))
    message = r"shape \(\) for a, which has shape \(3,\)(.|\n)*test_mutating\.py"
    with pytest.raises(errors.RuleError, match=message):
        bridge.grad(lambda x: addone(x) or np.sum(x * x))(X)
    addone.pull(lambda ct, a: (ct, ct, ct))
    with pytest.raises(errors.RuleError, match="3 cotangents for 1 array arguments"):
        bridge.grad(lambda x: addone(x) or np.sum(x * x))(X)


def test_rules_for_ones_own_functions() -> None:
    @bridge.rule(lambda x, k: x**k)
    def powered(ct: Any, out: Any, x: Any, k: int) -> Any:
        return ct * k * x ** (k - 1)

    np.testing.assert_allclose(powered(X, 2), X**2)
    np.testing.assert_allclose(bridge.grad(lambda x: np.sum(powered(x, 3)))(X), 3 * X**2)
    np.testing.assert_allclose(bridge.hvp(lambda x: np.sum(powered(x, 3)), (X,), (np.ones(3),)), 6 * X)


def test_a_pull_with_a_missing_broadcast_sum_is_named() -> None:
    @bridge.rule(lambda x, y: x * y)
    def product(ct: Any, out: Any, x: Any, y: Any) -> Any:
        return ct * y, ct * x

    with pytest.raises(errors.RuleError, match=r"shape \(2, 3\) for an input of shape \(3,\)(.|\n)*sum_to_shape"):
        bridge.grad(lambda x: np.sum(product(x, np.ones((2, 3)))))(X)


def test_a_rule_that_reads_what_it_did_not_declare() -> None:
    @bridge.rule(lambda x: x * x, reads=())
    def square(ct: Any, out: Any, x: Any) -> Any:
        return 2 * ct * x

    with pytest.raises(TypeError, match="Shaped"):
        bridge.grad(lambda x: np.sum(square(x)))(X)


def test_two_written_arguments_on_the_same_memory() -> None:
    @bridge.mutating_rule(mutates=("a", "b"))
    def exchange(a: Any, b: Any) -> None:
        a[...], b[...] = b.copy(), a.copy()

    exchange.pull(lambda ct, a, b: (ct[1], ct[0]))
    with pytest.raises(errors.AliasError, match="arguments a and b, which share memory"):
        bridge.grad(lambda x: exchange(x, x[::-1]) or np.sum(x))(X)


def test_integers_among_the_arguments_get_no_cotangent() -> None:
    """One cotangent for each array of floats; positions, counts and masks are none."""

    @bridge.mutating_rule(mutates="a")
    def added(a: Any, where: Any, b: Any, times: int) -> None:
        a[where] += b * times

    @added.pull
    def _(ct: Any, a: Any, where: Any, b: Any, times: int) -> Any:
        return ct, ct[where] * times

    def program(x: Any) -> Any:
        y = x * 2
        added(y, np.array([3, 1]), x[:2], 5)
        return np.sum(y**2)

    x = np.array([0.3, -0.7, 1.1, 0.5])
    np.testing.assert_allclose(bridge.grad(program)(x), gradient(program, [x])[0], rtol=1e-6)


def test_after_of_several_written_arguments() -> None:
    @bridge.mutating_rule(mutates=("a", "b"))
    def exponentials(a: Any, b: Any) -> None:
        a[:], b[:] = np.exp(a), np.exp(2 * b)

    @exponentials.pull
    def _(ct: Any, a: Any, b: Any, after: Any) -> Any:
        return ct[0] * after[0], 2 * ct[1] * after[1]

    def program(x: Any) -> Any:
        y, z = x * 2, x[::-1] * 0.5
        exponentials(y, z)
        return np.sum(y * z**2)

    x = np.array([0.3, -0.7, 1.1, 0.5])
    np.testing.assert_allclose(bridge.grad(program)(x), gradient(program, [x])[0], rtol=1e-6)


def test_names_in_messages_and_representations() -> None:
    @bridge.mutating_rule(mutates="a")
    def doubled(a: Any) -> None:
        a *= 2

    @doubled.pull
    def _(ct: Any, a: Any) -> Any:
        return np.ones(9)

    assert repr(doubled) == f"<mutating rule of {doubled.name}, writes a>"
    assert repr(extend.RULES[np.sin]) == "<rule of np.sin>"

    def program(x: Any) -> Any:
        y = x * 1.0
        doubled(y)
        return np.sum(y)

    with pytest.raises(errors.RuleError, match=r"in the pull of .*doubled, called at .*test_mutating\.py"):
        bridge.grad(program)(np.ones(3))


def test_a_pull_for_each_argument_that_is_missing_is_named() -> None:
    def product(x: Any, y: Any) -> Any:
        return np.asarray(x) * np.asarray(y)

    extend.pulls(product, lambda ct, out, x, y: ct * y)
    times = extend.RULES[product]
    np.testing.assert_allclose(bridge.grad(lambda x: np.sum(times(x, np.arange(3.0))))(np.ones(3)), np.arange(3.0))
    with pytest.raises(errors.RuleError, match=r"product has no pull for its argument number 1"):
        bridge.grad(lambda x: np.sum(times(np.arange(3.0), x)))(np.ones(3))


def test_what_a_rule_says_of_itself_is_checked() -> None:
    with pytest.raises(
        errors.RuleError, match=r"mutates=\('y', 'y'\)\) names a parameter twice(.|\n)*remedy: name it once"
    ):
        bridge.mutating_rule(mutates=("y", "y"))
    with pytest.raises(errors.RuleError, match=r"says empty='no'(.|\n)*remedy: say True or False"):
        bridge.mutating_rule(mutates="y", empty="no")(lambda y: None)  # type: ignore[arg-type]
