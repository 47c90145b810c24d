"""Programs that once gave a wrong number, each named after what it shows."""

import numpy as np
import pytest

import bridge
import bridge.numpy as bnp
from bridge.errors import ArgumentError, RefusedError

X = np.array([0.3, 1.2, -0.7, 2.0])


def test_the_value_is_that_of_the_end_of_the_program_when_it_is_a_mutated_0d_array():
    def f(x):
        total = np.zeros((), like=x)
        total += np.sum(x**2)
        return total

    value, gradient = bridge.value_and_grad(f)(X)
    assert value == np.sum(X**2)
    np.testing.assert_array_equal(gradient, 2 * X)


def test_aux_holds_what_the_program_left_there():
    def f(x):
        y = x * 3
        total = np.sum(y)
        y[0] = 7
        x *= 2
        return total, (y, x)

    (_, (y, x)), _ = bridge.value_and_grad(f, has_aux=True)(X)
    np.testing.assert_array_equal(y, [7, *(X[1:] * 3)])
    np.testing.assert_array_equal(x, 2 * X)


def test_value_and_aux_of_an_inner_gradient_are_those_of_the_end_of_its_program():
    def inner(x):
        total = np.zeros((), like=x)
        total += np.sum(x**3)
        return total, x.copy()

    def f(w):
        (value, aux), _ = bridge.value_and_grad(inner, has_aux=True)(w)
        return value + np.sum(aux)

    value, gradient = bridge.value_and_grad(f)(X)
    assert value == np.sum(X**3) + np.sum(X)
    np.testing.assert_allclose(gradient, 3 * X**2 + 1)


def test_reshape_with_copy_makes_a_copy():
    def f(x):
        y = x.reshape(2, 2, copy=True)
        y[0, 0] = 5.0
        return np.sum(x**2)

    value, gradient = bridge.value_and_grad(f)(X)
    assert value == np.sum(X**2)
    np.testing.assert_array_equal(gradient, 2 * X)


def test_writes_of_a_checkpointed_function_that_raised_are_undone():
    def g(y):
        y[0] = 5.0
        raise KeyError("half-way")

    def f(x):
        with pytest.raises(KeyError):
            bridge.checkpoint(g)(x)
        return np.sum(x**2)

    np.testing.assert_array_equal(bridge.grad(f)(X), [0, *(2 * X[1:])])


def test_forward_mode_of_a_mutating_rule_whose_arguments_are_one_array():
    @bridge.mutating_rule(mutates="a")
    def add_square(a, b):
        a += b**2

    @add_square.pull
    def _(ct, a, b):
        return ct, 2 * b * ct

    def f(x):
        y = x * 1
        add_square(y, y)
        return np.sum(y)

    tangent = np.array([1.0, -2.0, 0.5, 3.0])
    _, derivative = bridge.jvp(f, (X,), (tangent,))
    np.testing.assert_allclose(derivative, np.sum((1 + 2 * X) * tangent))


def test_forward_mode_of_a_python_complex_times_a_tracked_number():
    def f(x):
        return np.abs(1j * x[0] + x[1]) ** 2

    _, derivative = bridge.jvp(f, (X,), (np.ones(4),))
    np.testing.assert_allclose(derivative, 2 * (X[0] + X[1]))


def test_forward_mode_of_a_function_that_returns_a_list():
    def f(x):
        a, b = np.meshgrid(np.ones(2), x[2:], copy=False, sparse=True)
        return np.sum(a * b * b)

    _, derivative = bridge.jvp(f, (X,), (np.ones(4),))
    np.testing.assert_allclose(derivative, np.sum(4 * X[2:]))


def _written_last(shape, key):
    """Where `a[key] = values` leaves the values, by trying."""
    a = np.full(shape, -1)
    values = np.arange(a[key].size).reshape(a[key].shape)
    a[key] = values
    return (a[key] == values).astype(float)


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), [1, 1], Ellipsis, [0, 0]),
        (None, [1, 1], Ellipsis, [0, 0], slice(None)),
        (slice(None), [1, 0, 1], [0, 0, 0], Ellipsis),
        (True, [0, 0, 1]),
        ([1, 1], slice(None), np.True_),
        (slice(None), True, [1, 1]),
    ],
)
def test_repeated_indices_beside_an_ellipsis_of_no_axes_or_a_bool(key):
    shape = (2, 2, 2)
    picked = np.zeros(shape)[key].shape

    def f(values):
        y = np.zeros(shape, like=values)
        y[key] = values
        return np.sum(y)

    np.testing.assert_array_equal(bridge.grad(f)(np.ones(picked)), _written_last(shape, key))


class Index:
    """An integer that can change, as NumPy takes it."""

    def __init__(self, value):
        self.value = value

    def __iadd__(self, other):
        self.value += other
        return self

    def __index__(self):
        return self.value


def _int_buffer(k):
    return bnp.array(k)


@pytest.mark.parametrize("integer", [np.array, Index, _int_buffer])
def test_bounds_of_slices_that_change_after_they_were_used(integer):
    def read(x):
        start, stop = integer(0), integer(2)
        s = np.sum(x[start:stop] * 2) + np.sum(x.reshape(2, 2)[start:stop, 0])
        start += 2
        stop += 2
        return s

    def write(x):
        start, stop = integer(0), integer(2)
        y = x * 1
        y[start:stop] = 5.0
        y[start:stop] *= 2
        start += 2
        stop += 2
        return np.sum(y)

    np.testing.assert_array_equal(bridge.grad(read)(X), [3, 2, 1, 0])
    np.testing.assert_array_equal(bridge.grad(write)(X), [0, 0, 1, 1])


def test_an_object_that_stands_for_an_integer_picks_a_view():
    def f(x):
        index = Index(0)
        row = x.reshape(2, 2)[index]
        index += 1
        row[0] = 7.0
        return np.sum(x)

    np.testing.assert_array_equal(bridge.grad(f)(X), [0, 1, 1, 1])


def test_repeated_indices_in_a_tuple_inside_the_key():
    def f(x):
        y = np.zeros(3, like=x)
        y[(1, 1),] = x[:2]
        return np.sum(y)

    np.testing.assert_array_equal(bridge.grad(f)(X), [0, 1, 0, 0])


@pytest.mark.parametrize("kind", [np.matrix, np.ma.MaskedArray])
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_arguments_whose_type_changes_what_operations_mean(kind):
    argument = kind([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ArgumentError, match=kind.__name__):
        bridge.grad(lambda m: np.sum(m * m), engine="xla")(argument)
    with pytest.raises(ArgumentError, match=kind.__name__):
        bridge.grad(lambda x, m: np.sum(x * m), engine="xla")(np.ones((2, 2)), argument)
    squares = {np.matrix: [[7, 11], [9, 13]], np.ma.MaskedArray: [[2, 4], [6, 8]]}[kind]
    np.testing.assert_array_equal(bridge.grad(lambda m: np.sum(m * m))(argument), squares)
    products = {np.matrix: [[3, 7], [3, 7]], np.ma.MaskedArray: [[1, 2], [3, 4]]}[kind]
    np.testing.assert_array_equal(bridge.grad(lambda x, m: np.sum(x * m))(np.ones((2, 2)), argument), products)


@pytest.mark.parametrize("given", ["C", "F"])
@pytest.mark.parametrize("asked", ["C", "F", "A", "K"])
@pytest.mark.parametrize("copies", [True, False])
def test_astype_in_an_order(given, asked, copies):
    def f(x):
        y = x.astype(float, order=asked, copy=copies)
        flat = y.ravel()
        flat[1] = 5.0
        return np.sum(x * y)

    x = np.array(X.reshape(2, 2), order=given)
    assert bridge.value_and_grad(f)(x)[0] == f(x.copy("A"))


@pytest.mark.parametrize("generator", [np.random.default_rng(3), np.random.RandomState(3)])
@pytest.mark.filterwarnings("ignore:you are shuffling")
def test_shuffle_does_not_repeat_rows(generator):
    def rows(x):
        y = np.stack([x, 2 * x, 3 * x])
        generator.shuffle(y)
        return np.sum(y)

    def numbers(x):
        y = x.copy()
        generator.shuffle(y)
        return np.sum(y**2)

    with pytest.raises(RefusedError, match="permutation"):
        bridge.grad(rows)(X)
    np.testing.assert_array_equal(bridge.grad(numbers)(X), 2 * X)
