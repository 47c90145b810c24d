"""MyGrad: in-place operations and views with NumPy's semantics: base and view agree in data and in gradient."""

from __future__ import annotations

import numpy as np

from tests.conformance.scenario import Suite

suite = Suite(
    "MyGrad views",
    "MyGrad",
    "rsokl/MyGrad tests/state_testing/test_view_semantics.py, tests/tensor_base/test_augmented_updates.py, "
    "tests/tensor_ops/test_setitem.py",
)

SQUARE = [[0.5, -1.0, 2.0], [3.0, 0.4, -0.5], [0.6, 1.7, 0.8]]
WEIGHTS = np.arange(1.0, 10.0).reshape(3, 3)


@suite(SQUARE)
def flipped_view_written(x):
    """A horizontal flip is incremented by itself."""
    y = +x
    flip = y[:, ::-1]
    flip += flip
    flip[0] *= 3.0
    return np.sum(y * WEIGHTS * x)


@suite(SQUARE)
def flip_of_a_transpose_written(x):
    """A vertical flip of the transpose is divided in place."""
    y = +x
    view = y.T[::-1]
    view /= 3.0
    view[0] -= 2.0
    return np.sum(y**2 * WEIGHTS)


@suite(SQUARE)
def view_through_einsum(x):
    """einsum gives a view of the whole, and it is written."""
    y = +x
    view = np.einsum("...->...", y)
    view[0] = view[1] * 2.0
    return np.sum(y * y)


@suite(SQUARE)
def diagonal_view_through_einsum(x):
    """einsum gives a view of the diagonal, and it is written."""
    y = +x
    np.einsum("ii->i", y)[...] = x[0] * x[1]
    return np.sum(y * y)


@suite(SQUARE)
def axes_added_and_removed(x):
    """New axes at three places, taken away again, give views of the same memory."""
    y = +x
    leading = y[np.newaxis][0]
    middle = y[:, np.newaxis, :][:, 0, :]
    trailing = y[..., np.newaxis][..., 0]
    leading += 2.0
    middle *= x
    trailing[1] = leading[0]
    return np.sum(y**2)


@suite(SQUARE)
def set_from_its_own_flip(x):
    """An array is assigned its own flip: the right side is read whole before anything is written."""
    y = +x
    y[...] = y[::-1]
    return np.sum(y * y * WEIGHTS)


@suite(SQUARE)
def incremented_by_itself_plus_another(x):
    """x += x + y, with y a view of x."""
    y = +x
    other = y[:, ::-1]
    y += y + other
    return np.sum(y * y * WEIGHTS)


@suite(SQUARE, gradient=[-np.ones((3, 3)) + np.array([[2.0], [1.0], [1.0]])])
def all_views_follow_a_write(x):
    """Two views of a view see a write to their base; they are subtracted from it."""
    y = +x
    one = y[...]
    two = one[...]
    y[:1] = -1.0
    return np.sum(one + two - 2 * y) + np.sum(x[:1])


@suite([1.0, 2.0, 3.0, 4.0], gradient=[[4.0, 4.0, 4.0, 4.0]])
def error_in_an_in_place_operation(x):
    """A write of a wrong shape raises; the array and its view stay as they were."""
    y = 2.0 * x
    w = y[...]
    try:
        y[:2] = y
    except ValueError:
        w = w * 2.0
    return np.sum(w)


@suite([1.0, 2.0, 3.0, 4.0], gradient=[[0.0, 0.0, 2.0, 2.0]])
def constant_written_into_a_part(x):
    """The part that is overwritten by a constant loses its gradient, its views too."""
    y = 2.0 * x
    view = y[:3]
    y[:2] = -1.0
    return np.sum(y) + 0.0 * np.sum(view)


@suite([1.0, 2.0, 3.0, 4.0], [0.5])
def view_of_a_constant_becomes_variable(x, c):
    """A constant array and its view; a write through the view makes both depend on x."""
    base = np.zeros(6)
    view = base[1:5]
    view[:] = x * c
    return np.sum(base**2) * np.sum(view)


@suite(SQUARE)
def boolean_mask_assignment(x):
    """Elements below a bound are replaced by elements of another row."""
    y = +x
    mask = np.array([[True, False, True], [False, False, False], [False, True, False]])
    y[mask] = x[1]
    return np.sum(y * y)


@suite(SQUARE)
def integer_array_assignment(x):
    """Rows in another order, each assigned by an index array with a negative index."""
    y = +x
    y[[2, -3]] = x[[0, 1]] * 2.0
    return np.sum(y * y)


@suite(SQUARE)
def mixed_basic_and_advanced_assignment(x):
    """A slice and an index array in one key."""
    y = +x
    y[1:, [0, 2]] = x[:2, :2] ** 2
    return np.sum(y * x)


@suite(SQUARE)
def broadcast_value_assignment(x):
    """A row is written into all rows, an axis of length one is stretched."""
    y = +x
    y[1:] = x[0] * 2.0
    y[:, 1:] = x[:, :1]
    return np.sum(y * y)


@suite(SQUARE)
def augmented_update_of_indexed_rows(x):
    """x[index] += value with distinct rows reads, adds and writes."""
    y = +x
    y[[0, 2]] += x[1]
    y[[0, 2]] *= x[[2, 0]]
    return np.sum(y)


@suite(SQUARE)
def augmented_update_with_repeated_rows(x):
    """x[index] += value with a row twice adds once, as NumPy does."""
    y = +x
    y[[0, 0, 2]] += x
    return np.sum(y * WEIGHTS)


@suite(SQUARE)
def in_place_matmul(x):
    """x @= y."""
    y = +x
    y @= x.T
    return np.sum(y * WEIGHTS)


@suite([4.0, 9.0, 2.0])
def in_place_power_of_itself(x):
    """x **= x, whose pull needs the old base and the new value."""
    y = +x
    y /= 4.0
    y **= y
    return np.sum(y)


@suite(SQUARE)
def views_of_views_written_in_turn(x):
    """A chain of four views; each link is written once."""
    y = +x
    a = y[1:]
    b = a.T
    c = b[::-1]
    d = c[0]
    a += 1.0
    b *= x[0, 0]
    c -= y[0, 1]
    d /= 2.0
    return np.sum(y**2)


@suite(SQUARE)
def number_taken_out_stays(x):
    """A number read by full indexing is no view: it does not follow its array."""
    y = +x
    s = y[0, 0]
    y[0, 0] = x[2, 2]
    s *= 3.0
    return s * y[0, 0] + np.sum(y)


@suite(SQUARE)
def unary_plus_copies(x):
    """+x is a copy; a write does not reach x."""
    y = +x
    y[...] = 0.0
    y[0] = x[1]
    return np.sum(x * x) + np.sum(y)


@suite([0.5, 1.5, 2.5])
def clip_in_place(x):
    """clip with out= the array itself."""
    y = x * 2.0
    np.clip(y, 1.5, 4.0, out=y)
    return np.sum(y * x)


@suite([0.5, 1.5, 2.5, 0.1])
def where_argument_of_a_ufunc(x):
    """where= leaves elements of out= as they were, with their gradient."""
    y = x * 3.0
    np.multiply(x, x, out=y, where=np.array([True, False, True, False]))
    return np.sum(y * y)
