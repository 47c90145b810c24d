"""PyTorch: views that are written, their base, views of views, and several outputs of one split."""

from __future__ import annotations

import numpy as np

from tests.conformance.scenario import Suite

suite = Suite("PyTorch views", "PyTorch", "pytorch/pytorch test/test_autograd.py")

SQUARE = [[0.8, -0.5], [1.2, 0.4]]
FOUR = (np.cos(np.arange(16.0)) + 0.3).reshape(4, 4)


@suite(SQUARE, gradient=[[[2.0, 2.0], [1.0, 1.0]]])
def write_a_view_read_the_base(root):
    """A row is doubled through a view; the gradient is taken through the base."""
    x = root.copy()
    v = x[0:1]
    v *= 2
    return np.sum(x)


@suite(SQUARE, gradient=[[[2.0, 2.0], [0.0, 0.0]]])
def write_one_view_read_its_twin(root):
    """Two views of one row: one is written, the other read."""
    x = root.copy()
    one, two = x[0:1], x[0:1]
    one *= 2
    return np.sum(two)


@suite(SQUARE, gradient=[[[1.0, 2.0], [1.0, 1.0]]])
def write_a_view_of_a_view(root):
    """The write is through a view of a view, the read through the base."""
    x = root.copy()
    v = x[0:1][:, 1:2]
    v *= 2
    return np.sum(x)


@suite(FOUR, SQUARE)
def quarters_multiplied_by_a_matrix(root, b):
    """Two quarters of a matrix are multiplied in place by one factor that is differentiated too."""
    x = root.copy()
    x[1:3, 2:4] *= b
    x[1:3, 0:2] *= b
    return np.sum(x * x)


@suite([[1.0, 0.3, -0.2], [0.5, 0.9, 2.0]], gradient=[[[1.0, 1.0, 1.0], [2.0, 1.0, 1.0]]])
def view_of_a_transposed_base(root):
    """The base is a transposed copy that is not contiguous."""
    x = root.T.copy(order="F")
    v = x[0:1][:, 1:2]
    v *= 2
    return np.sum(x)


@suite(FOUR[:, :2])
def constant_base_gets_a_gradient_by_a_write(b):
    """The base had no gradient until a view of it was multiplied by something that has."""
    x = np.arange(16.0).reshape(4, 4)
    x[:, 2:4] *= b
    return np.sum(x**2)


@suite([3.0], gradient=[[5.0]])
def constant_view_multiplied_in_place(b):
    """Only a view of a constant is multiplied, and only the view is read."""
    a = np.array([2.0, 5.0])
    view = a[1:2]
    view *= b
    return np.sum(view)


@suite([1.0], gradient=[[1.0]])
def view_made_before_its_base_had_a_gradient(r):
    """A view is taken of a constant; then its base gets a gradient; the view has it too."""
    x = np.ones(5)
    v = x[1:2]
    x += r
    return np.sum(v)


@suite([0.4, 0.9, -0.3], gradient=[np.cos([0.4, 0.9, -0.3]) * [1.0, 0.0, 0.0]])
def base_written_view_read(x):
    """The sine of the whole is taken in place; one element, viewed before, is read."""
    y = x.copy()
    first = y[0:1]
    np.sin(y, out=y)
    return np.sum(first)


@suite([0.4, 0.9, -0.3], gradient=[[np.cos(0.4), 1.0, 1.0]])
def element_written_base_read(x):
    """The sine of one element is taken in place; the whole is read."""
    y = x.copy()
    first = y[0:1]
    np.sin(first, out=first)
    return np.sum(y)


@suite(FOUR[:3, :3])
def rows_of_an_unbind_written(x):
    """Rows that iteration gives are views; one is written by another. PyTorch refuses this."""
    b = x + x
    one, two, three = b
    one *= two
    three += one
    return np.sum(b * b)


@suite(FOUR[:3, :3])
def parts_of_a_split_written(x):
    """Parts of a split are views; writing one shows in the whole. PyTorch refuses this."""
    b = x + x
    one, two, _ = np.split(b, 3)
    one *= two
    return np.sum(b) + np.sum(one * two)


@suite(np.linspace(0.1, 1.0, 7))
def parts_of_uneven_chunks_written(x):
    """Chunks of other lengths, one written from another."""
    b = x * 3.0
    parts = np.array_split(b, 3)
    parts[0][:2] *= parts[1]
    parts[2][:] = parts[1] * parts[0][:2]
    return np.sum(b**2)


@suite([0.5, 1.5, -0.7, 0.2])
def overlapping_narrow_views(x):
    """Two views share an element; each is multiplied, the shared element by both."""
    y = x.copy()
    left, right = y[:3], y[2:]
    left *= x[0]
    right *= x[3]
    return np.sum(y)


@suite([0.5, 1.5, -0.7, 0.2, 0.9, 1.1])
def as_strided_read_after_a_write(x):
    """A strided view with overlap is read after the base was written."""
    y = x * 1.0
    windows = np.lib.stride_tricks.as_strided(y, (4, 3), (8, 8))
    y[2] = y[0] * y[1]
    return np.sum(windows[:, 0] * windows[:, 2])


@suite([0.5, 1.5, -0.7, 0.2, 0.9, 1.1])
def as_strided_without_overlap_written(x):
    """A strided view that does not overlap itself is written."""
    y = x * 1.0
    every_other = np.lib.stride_tricks.as_strided(y, (3,), (16,))
    every_other *= y[1::2]
    return np.sum(y * y)


@suite([0.5, 1.5, -0.7])
def expanded_view_written_through_the_base(x):
    """A broadcast view shows what is written to its base, once for each repetition."""
    y = x.copy()
    wide = np.broadcast_to(y, (4, 3))
    y[0] *= y[1]
    return np.sum(wide * np.arange(12.0).reshape(4, 3))


@suite([0.5, 1.5, -0.7], gradient=[[0.0, 0.0, 0.0]])
def filled_after_use_of_nothing(x):
    """A fill cuts what was there; nothing read it before."""
    y = x * x
    y.fill(2.0)
    return np.sum(y)


@suite([0.5, 1.5, -0.7])
def copy_into_a_slice_cuts_only_the_slice(x):
    """copy_ into part of an array leaves the gradient of the rest."""
    y = np.exp(x)
    y[1:] = x[:2] ** 2
    return np.sum(y * y)


@suite([[0.5, 1.5, -0.7], [0.3, 0.1, 0.9]])
def transposed_in_place_multiplication(x):
    """The transposed view is multiplied in place, the base read."""
    y = x.copy()
    t = y.T
    t *= np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    t[0] += t[1]
    return np.sum(y**2)


@suite(FOUR)
def diagonal_view_written(x):
    """The diagonal is written as a strided view of the flat array."""
    y = x.copy()
    y.reshape(-1)[::5] *= x[0]
    return np.sum(y * y)


@suite(FOUR)
def diagonal_filled(x):
    """fill_diagonal_ with one value cuts the diagonal."""
    y = x.copy()
    np.fill_diagonal(y, x[0, 1])
    return np.sum(y * y)


@suite([0.5, 1.5, -0.7, 0.2], [2.0, -1.0])
def masked_write_of_values(x, v):
    """masked_scatter_: values replace the elements under a mask."""
    y = x * 2.0
    y[np.array([True, False, False, True])] = v
    return np.sum(y * x)


@suite([0.5, 1.5, -0.7, 0.2], gradient=[[0.0, 3.0, 0.0, 0.4]])
def masked_fill_with_a_mask_of_values(x):
    """masked_fill_ under a mask that comes from the values."""
    y = x * x
    y[np.abs(x) > 0.4] = 0.0
    y[1] += x[1] ** 2
    return np.sum(y)


@suite([0.5, 1.5, -0.7, 0.2], [[1.0, 2.0], [3.0, 4.0], [0.5, 0.7]])
def index_put_with_repeated_indices(x, v):
    """Of repeated indices the last write counts; the others have no gradient."""
    y = np.outer(x, np.ones(2))
    y[np.array([2, 0, 2])] = v
    return np.sum(y * y)


@suite([0.5, 1.5, -0.7, 0.2], [1.0, 2.0, 3.0])
def index_put_accumulating(x, v):
    """With accumulation every repetition counts."""
    y = x * x
    np.add.at(y, np.array([2, 0, 2]), v)
    return np.sum(y * y)


@suite([0.5, 1.5, -0.7, 0.2])
def put_into_flat_positions(x):
    """put_ writes by flat position, over rows."""
    y = np.outer(x, x)
    np.put(y, [1, 6, 11], x[:3])
    return np.sum(y * y)


@suite([0.5, 1.5, -0.7, 0.2])
def scatter_along_an_axis(x):
    """scatter_ along an axis with an index array."""
    y = np.outer(x, np.ones(3))
    np.put_along_axis(y, np.array([[2], [0], [1], [1]]), x[:, None] ** 2, axis=1)
    return np.sum(y * y)


@suite([0.5, 1.5, -0.7], gradient=[[0.5, 1.5, -0.7]])
def value_detached_by_a_copy_of_numbers(x):
    """Numbers copied out before a write are as constant as detach() makes them, if they go through bytes."""
    constants = np.frombuffer(np.array([0.5, 1.5, -0.7]).tobytes())
    y = x.copy()
    y *= constants
    return np.sum(y)


@suite([0.5, 1.5, -0.7])
def saved_input_overwritten_later(x):
    """An input that the pull of exp, of a product and of a power needs is overwritten afterwards."""
    y = x.copy()
    a = np.exp(y) * y**3
    y[:] = 0.0
    return np.sum(a + y)


@suite([0.5, 1.5, 0.7])
def saved_output_overwritten_later(x):
    """An output that the pull of sqrt and tanh needs is overwritten afterwards."""
    r = np.sqrt(x)
    t = np.tanh(r)
    s = np.sum(r * t)
    r *= 0.0
    t[:] = 1.0
    return s + np.sum(t + r)


@suite([[0.5, 1.5], [0.7, 0.2]])
def real_view_of_complex_written(x):
    """Complex memory is written through its view of real numbers."""
    z = x[0] + 1j * x[1]
    z.view(np.float64)[::2] *= 2.0
    z.imag[0] = x[0, 1]
    return np.sum(z.real**2 + z.imag * x[1])


@suite([0.5, 1.5, -0.7], [[0.5, 0.2, 0.1], [0.3, 0.9, 0.4]])
def result_written_into_part_of_out(x, m):
    """out= is a view into a larger array."""
    big = np.ones(6)
    np.matmul(m, x, out=big[1:3])
    np.multiply(x, 2.0, out=big[3:])
    return np.sum(big**2)


@suite([0.5, 1.5, -0.7])
def chain_of_in_place_operations(x):
    """Many in-place operations in a row on one array, each of another kind."""
    y = x.copy()
    y += 1.0
    y *= x
    y -= 0.5
    y /= 3.0
    y **= 2
    np.negative(y, out=y)
    np.exp(y, out=y)
    return np.sum(y)
