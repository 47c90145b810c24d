"""Reports of PyTorch's users: views that are written, indices that repeat, compilers that lose a write."""

from __future__ import annotations

import numpy as np

import bridge
from tests.conformance.scenario import Suite

suite = Suite("museum", "PyTorch")

ISSUES = "https://github.com/pytorch/pytorch/issues/"
SQUARE = np.arange(9.0).reshape(3, 3) * 0.3 - 1.0


@suite(SQUARE, source=ISSUES + "36608")
def part_of_an_unbound_row_written(root):
    """A row of an unbind may not be written; a slice of that row could be, and the gradient missed the base."""
    x = root.copy()
    row, *_ = x
    part = row[0:2]
    part *= 2.0
    return np.sum(part) + np.sum(x**2)


@suite(np.linspace(0.1, 1.0, 10), source=ISSUES + "49824")
def view_of_an_unbound_element_written(x):
    """Outputs of an unbind may not be written; a view of one could be, with a gradient that may be wrong."""
    a = x.copy()
    elements = [a[i : i + 1] for i in range(10)]
    view = elements[0][...]
    view *= 2.0
    elements[3] *= view
    return np.sum(a)


@suite([[0.3, -0.2], [0.8, 1.1]], [[0.5, 0.7], [-0.4, 0.9]], source=ISSUES + "67800")
def transposed_view_in_forward_mode(base, dual):
    """Forward mode: a transposed view was multiplied twice; the second time the base's tangent stayed behind."""
    b = base.copy()
    view = b.T
    view *= dual
    view *= 2.0
    return np.sum(b * base)


@suite([0.7, -0.3], source=ISSUES + "8626")
def strided_view_of_an_expanded_array(x):
    """The pull of as_strided on an expanded array gave gradients of other elements."""
    wide = np.broadcast_to(x, (3, 2))
    again = np.lib.stride_tricks.as_strided(wide, (3, 2), wide.strides)
    return np.mean(again * np.array([[1.0, -2.0], [0.5, 3.0], [4.0, 0.1]]))


@suite(np.zeros((5, 5)), np.arange(1.0, 26.0).reshape(5, 5), source=ISSUES + "473")
def rows_copied_to_one_index(x, y):
    """index_copy with one index five times: all rows got a gradient of one, though only the last one is there."""
    z = x.copy()
    z[np.array([0, 0, 0, 0, 0])] = y
    return np.sum(z)


@suite([0.0, 0.5, 2.0], [1.0, 1.0, 1.0], source=ISSUES + "24853")
def masked_minimum_in_place(b, c):
    """From 1.2 on refused: an element under a mask is replaced by the minimum of itself and another array's."""
    bb = b + 1.0
    mask = np.array([True, False, True])
    bb[mask] = np.minimum(bb[mask], c[mask] * 1.5)
    return np.sum(bb**2)


@suite([1.0], source=ISSUES + "1528", gradient=[[1.0]])
def element_taken_twice(y):
    """Indexing one element twice: only the last copy's gradient arrived, that of the first was lost."""
    twice = y[np.array([0, 0])]
    return twice[0]


@suite(np.linspace(-1.0, 1.0, 15).reshape(3, 5), source=ISSUES + "828")
def rows_by_an_index_array(a):
    """The pull of indexing by an array wrote into a temporary copy, and the gradient was zero."""
    return np.sum(a[np.array([0, 2])] ** 2)


@suite(np.linspace(-1.0, 1.0, 16).reshape(4, 4), source=ISSUES + "188084")
def columns_stacked_and_selected(x):
    """Inductor accumulated into an overlapping expanded view in place: the gradient was too large by the batch size."""
    stacked = np.stack([x[..., k] for k in range(4)], axis=-1)
    return np.sum(np.take(stacked, [0, 2], axis=-1) * np.array([1.0, -1.0]) * x[:, 1:3])


@suite(np.linspace(0.1, 1.2, 12).reshape(4, 3), source=ISSUES + "198270")
def put_then_added_to_its_flip(x):
    """Compiled: a write by indices, then the addition of the array's own flip, which read half-done elements."""
    y = x.copy()
    y[np.arange(4)] = y * 2.0
    y += y[::-1]
    return np.sum(y**2 * x)


@suite([[1.0, 0.5], [0.2, 0.8]], source=ISSUES + "195422")
def identity_that_returns_its_argument(x):
    """Compiled: a write through what an identity function returned was lost, and later reads were stale."""

    def dropout(a, training=False):
        return a * 0.5 if training else a

    y = dropout(x)
    y += y
    return np.sum(x**2)


@suite([0.5, 1.5], source=ISSUES + "181146")
def one_array_in_two_places(x):
    """Compiled: one tensor given for two arguments; of the two gradients that the function gives it one was dropped."""

    def weighted(a, b):
        return np.sum(a**2 * np.array([1.0, 3.0])) + np.sum(np.exp(b))

    return weighted(x, x)


@suite([[0.5, 1.5], [-0.3, 0.2]], gradient=[np.zeros((2, 2))], source=ISSUES + "14707")
def flattened_product_filled(x):
    """A custom function's output was a view; it was filled, and the custom backward was passed over in silence."""
    output = (x * 3.0).reshape(-1)
    output[...] = 1.0
    return np.sum(output)


@suite([[0.5, 1.5, -0.2], [-0.3, 0.2, 0.9]], source=ISSUES + "26546")
def checkpoint_that_ends_in_place(x):
    """A normalisation followed by an in-place ReLU at the end of a checkpoint: no gradient at all."""

    def block(a):
        a = (a - np.mean(a, axis=1, keepdims=True)) / np.std(a, axis=1, keepdims=True)
        np.maximum(a, 0.0, out=a)
        return a

    return np.sum(bridge.checkpoint(block)(x) ** 2 * x)


@suite([1.0, 2.0, 3.0], source=ISSUES + "9391")
def sigmoid_with_an_element_replaced(a):
    """Refused for the built-in sigmoid, whose output is kept for the pull; accepted for the same spelled out."""
    b = 1.0 / (np.exp(-a) + 1.0)
    c = 0.5 * (1.0 + np.tanh(0.5 * a))
    b[1] = 2.0
    c[1] = 2.0
    return np.sum(b * c)


@suite([1.0], source=ISSUES + "15115")
def buffer_refilled_in_a_loop(mu):
    """A buffer is detached, refilled by copy_ and used in each turn: refused, though 0.4 ran it."""
    x, loss = np.zeros(1), 0.0
    for k in range(3):
        x[:] = np.exp(mu * (k + 1))
        loss = loss + np.sum(x * 2.0 * mu)
    return loss


@suite([1.0, 1.0], [1.0], source=ISSUES + "5871")
def addition_to_a_slice_of_an_intermediate(a, b):
    """A custom in-place addition to a slice gave the addend no gradient if the array was no leaf."""

    def add_in_place(target, value):
        target[1:2] += value
        return target

    return np.sum(add_in_place(a + 1.0, b) ** 2)


@suite(np.linspace(0.1, 0.8, 8).reshape(2, 4), [0.5, 0.7, 1.1, -0.3], source=ISSUES + "55980")
def row_assigned_its_own_multiple(x, var):
    """Refused: x[0] = x[0] * v, though x[0] *= v, the same computation, is accepted."""
    x = x.copy()
    x[0] = x[0] * var
    return np.sum(x**2)


@suite(
    np.linspace(-0.5, 0.9, 8).reshape(2, 4),
    np.linspace(0.2, 0.6, 12).reshape(4, 3),
    source="https://github.com/pytorch/xla/issues/1718",
    system="PyTorch/XLA",
)
def columns_of_a_layer_zeroed(batch, weights):
    """On TPUs the gradient of a layer some of whose outputs are set to zero was about half of that on CPUs."""
    x = batch @ weights
    x[:, :2] = 0.0
    return np.sum(x * batch[:, :3])


@suite([0.0, 2.0, 3.0], [4.0, 5.0], source="https://github.com/pytorch/pytorch/pull/76523")
def products_into_a_cell_that_holds_zero(x, v):
    """scatter_reduce by products divided the result by the input, which is zero: no gradient there."""
    y = x.copy()
    np.multiply.at(y, np.array([0, 0]), v)
    return np.sum(y * x + y)


@suite([0.3, 0.9, -0.4], source="https://github.com/pytorch/pytorch/pull/169263")
def maximum_without_the_old_contents(v):
    """scatter_reduce by maxima without the target's own contents divided by a count of zero: NaN."""
    y = np.full(2, -np.inf)
    np.maximum.at(y, np.array([1, 1, 1]), v)
    return y[1] * v[0]


@suite(np.linspace(0.1, 0.8, 8), source=ISSUES + "139789")
def overlapping_halves_one_of_them_written(base):
    """Compiled for arguments without a common part, then called with overlapping ones: the stale program ran."""

    def add(a, b):
        a *= 2.0
        return a + b

    whole = base.copy()
    return np.sum(add(whole[:4], whole[2:6]) * base[4:])


@suite([[0.4, -0.2], [0.7, 0.9]], [[1.1, 0.3], [-0.6, 0.5]], source=ISSUES + "197887")
def operand_of_a_product_changed_afterwards(x, w):
    """Inductor kept a view of an operand without its version: changed after the product, it gave a wrong gradient."""
    a = x.copy()
    y = a @ w
    a += 10.0
    return np.sum(y * y) + np.sum(a)
