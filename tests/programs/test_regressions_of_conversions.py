"""Programs that a review found wrong, once: indices, conversions, closed contexts."""

from array import array
from collections import deque
from copy import copy

import numpy as np
import pytest

import bridge
import bridge.numpy as bnp
from bridge.errors import AliasError, ContextError, EscapeError, RefusedError

X = np.array([0.3, 1.2, -0.7, 2.0])


def test_rows_swapped_by_a_statement_are_repeated_as_in_numpy():
    def f(x):
        y = np.reshape(x * 1, (2, 2))
        y[0], y[1] = y[1], y[0]
        return np.sum(y)

    value, gradient = bridge.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_array_equal(gradient, [0, 0, 2, 2])


def test_a_conversion_that_gives_the_memory_of_a_plain_array_itself_stays_plain():
    def f(x):
        c = np.ones(4)
        a = bnp.asarray(c)
        a += x
        return np.sum(c * x)

    with pytest.raises(EscapeError):
        bridge.grad(f, source=False)(X)
    np.testing.assert_allclose(bridge.grad(f)(X), 1.0 + 2.0 * X)
    with bridge.Context():
        c = np.ones((2, 2))
        for same in (bnp.asarray(c), bnp.asanyarray(c), bnp.ascontiguousarray(c), bnp.array(c, copy=None)):
            assert np.shares_memory(same, c)
        for copied in (bnp.asarray([1.0]), bnp.array(c), bnp.asarray(c, np.float32), bnp.asfortranarray(c)):
            assert type(copied) is bridge.Buffer


def test_an_argument_that_overlaps_itself_is_only_read():
    argument = np.lib.stride_tricks.as_strided(np.ones(4), (3,), (0,))

    def f(x):
        x[0] = 3.0
        return np.sum(x)

    np.testing.assert_array_equal(bridge.grad(lambda x: np.sum(x**2))(argument), [2, 2, 2])
    with pytest.raises(AliasError):
        bridge.grad(f)(argument)


def test_a_write_into_the_callers_array_itself():
    original = X.copy()

    def f(x):
        original[0] = 5.0
        return np.sum(x * x)

    for run in (
        bridge.grad(f, source=False),
        lambda x: bridge.vjp(f, x, source=False),
        lambda x: bridge.jvp(f, (x,), (X,), source=False),
    ):
        original[:] = X
        with pytest.raises(AliasError, match="captured"):
            run(original)
    original[:] = X
    expected = 2 * X
    expected[0] = 0.0
    np.testing.assert_array_equal(bridge.grad(f)(original), expected)
    np.testing.assert_array_equal(original, X)
    with_nan = np.array([np.nan, 1.0])
    np.testing.assert_array_equal(bridge.grad(lambda x: x[1] ** 2)(with_nan), [0, 2])


@pytest.mark.parametrize("key", [array("q", [1, 1]), deque([1, 1]), [1, 1]])
def test_repeated_indices_in_sequences_that_change(key):
    key = copy(key)

    def f(x):
        y = x * 1
        y[key] = x[:2]
        key[0] = 3
        return np.sum(y)

    np.testing.assert_array_equal(bridge.grad(f)(X), [1, 1, 1, 1])


def test_flat_of_an_array_without_axes_and_values_of_no_size():
    def f(x):
        total = np.zeros((), like=x)
        total.flat[:] = x[:1]
        total.flat[0] *= 3
        z = x * 1
        z.flat[:] = []
        return total.flat[0] + 2 * np.sum(z)

    value, gradient = bridge.value_and_grad(f)(X)
    assert value == 3 * X[0] + 2 * np.sum(X)
    np.testing.assert_array_equal(gradient, [5, 2, 2, 2])


@pytest.mark.parametrize("count", [1, 2, 3, 6])
@pytest.mark.parametrize("container", [lambda v: v, list])
def test_values_given_to_flat_repeat(count, container):
    weights = np.arange(4.0).reshape(2, 2)

    def f(x):
        y = np.zeros((2, 2), like=x)
        y.flat[:] = container(x[:count])
        return np.sum(y * weights)

    x = np.arange(1.0, 7)
    value, gradient = bridge.value_and_grad(f)(x)
    assert value == f(x)
    np.testing.assert_array_equal(gradient, np.bincount(np.arange(4) % count, weights.ravel(), 6))


def test_tolist_without_axes():
    np.testing.assert_array_equal(bridge.grad(lambda x: x[1, ...].tolist() ** 2)(X), [0, 2 * X[1], 0, 0])


def test_rounding_to_an_integer_has_no_slope():
    np.testing.assert_array_equal(bridge.grad(lambda x: round(x[1]) * x[3])(X), [0, 0, 0, 1])


def test_what_a_tracked_value_is_not_lets_the_user_know():
    def reshaped(x):
        x.shape = (2, 2)
        return np.sum(x)

    with pytest.raises(RefusedError, match=r"np\.reshape"):
        bridge.grad(reshaped)(X)
    with pytest.raises(RefusedError, match=r"hash.*\n.*\n.*detach"):
        bridge.grad(lambda x: {x[0]: 1.0}[x[0]])(X)


@pytest.mark.parametrize("indices", [[7], [1, 1, 7], [-5, 0]])
def test_ufunc_at_out_of_bounds(indices):
    def f(x):
        np.multiply.at(x, indices, 2.0)
        return np.sum(x)

    with pytest.raises(IndexError, match="out of bounds"):
        bridge.grad(f)(X)


@pytest.mark.parametrize(
    "use",
    [
        lambda b: b.view(),
        lambda b: b.copy(),
        np.copy,
        np.zeros_like,
        np.empty_like,
        lambda b: np.full_like(b, 1.0),
        lambda b: np.lib.stride_tricks.sliding_window_view(b, 2),
        lambda b: bnp.lib.stride_tricks.as_strided(b, (2,), (8,)),
    ],
)
def test_a_buffer_of_a_closed_context(use):
    with bridge.Context() as context:
        buffer = context.buffer(X)
    with pytest.raises(ContextError, match="closed"):
        use(buffer)


@pytest.mark.parametrize("use", [np.sum, lambda b: b[0], lambda b: np.sum(b[1:]), lambda b: b.__setitem__(0, 1.0)])
def test_a_view_that_a_checkpointed_function_kept(use):
    kept = []

    def body(x):
        y = x * 2
        kept.append(y[1:])
        return np.sum(y)

    def f(x):
        value = bridge.checkpoint(body)(x)
        use(kept[0])
        return value

    with pytest.raises(ContextError, match="not returned"):
        bridge.grad(f)(X)


def test_gradients_have_the_byte_order_of_their_arguments():
    gradient = bridge.grad(lambda x: np.sum(x * x))(X.astype(">f8"))
    assert gradient.dtype == np.dtype(">f8")
    np.testing.assert_array_equal(gradient, 2 * X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.concatenate([x, [x[0]]]),
        lambda x: np.append(x, [x[0]]),
        lambda x: np.einsum("i,i", [x[0], x[1]], x[2:]),
    ],
)
def test_forward_mode_of_lists_of_numbers(f):
    tangent = np.array([1.0, -2.0, 0.5, 3.0])
    _, derivative = bridge.jvp(f, (X,), (tangent,))
    np.testing.assert_allclose(derivative, (f(X + 1e-6 * tangent) - f(X - 1e-6 * tangent)) / 2e-6, rtol=1e-8)


def test_a_complex_view_of_another_byte_order_is_refused():
    z = np.array([1 + 2j, 3 - 1j]).astype(">c16")
    with pytest.raises(RefusedError, match="view"):
        bridge.grad(lambda z: np.sum(z.view(float)))(z)
    gradient = bridge.grad(lambda z: np.sum(z.view(">f8") ** 2))(z)
    np.testing.assert_allclose(gradient, 2 * z)
