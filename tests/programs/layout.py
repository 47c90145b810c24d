"""Layout: strides of the caller's arrays decide what aliases, and arguments may share memory."""

from __future__ import annotations

import numpy

from bridge.errors import BridgeError
from tests.programs.record import Family

program = Family("layout")

GRID = numpy.linspace(-1.2, 1.7, 24).reshape(4, 6) ** 3 + 0.3
MATRIX = [[1.1, -0.4, 0.3], [0.2, 1.4, -0.6]]


def _two_views_of_one_array() -> tuple[numpy.ndarray, numpy.ndarray]:
    base = numpy.linspace(-0.8, 0.9, 5)
    return base[:4], base[1:]


@program(numpy.asfortranarray(GRID), mutates=True)
def flattening_a_fortran_ordered_argument_copies(np, x):
    flat = x.reshape(-1)
    flat *= 2.0
    other = x.ravel(order="F")
    other[1:] += other[:-1]
    return np.sum(flat * other)


@program(GRID[:, 1:4])
def flattening_a_strided_argument_copies(np, x):
    flat = x.reshape(-1)
    flat += 1.0
    return np.sum(flat * flat) + np.sum(x**3)


@program(numpy.array([0.4, -0.9, 1.3])[::-1], GRID[0, ::2])
def flattening_a_reversed_or_strided_vector_copies(np, x, y):
    flat, spaced = np.ravel(x), np.ravel(y)
    flat *= 2.0
    spaced -= 1.0
    return np.sum(flat * x) + np.sum(spaced * y)


@program(GRID[::-1, 4:0:-1].T, mutates=True)
def reversed_and_transposed_argument(np, x):
    x[0] *= x[1]
    rows = x.T
    rows[::2] += 0.5
    return np.sum(np.sin(x) * numpy.arange(16.0).reshape(4, 4))


@program(numpy.broadcast_to(numpy.array([0.4, -0.9, 1.3]), (2, 3)))
def argument_with_zero_strides(np, x):
    return np.sum(x * x * np.array([[1.0], [3.0]]))


@program(numpy.zeros((0, 3)), [0.5, 1.5])
def empty_argument(np, x, y):
    a = x.copy()
    a += 1.0
    a[:] = a * y[0]
    return np.sum(a) + np.sum(y * y) + np.sum(np.concatenate([a.reshape(-1), y]))


@program(MATRIX)
def axes_of_length_one(np, x):
    a = x[:, None, :, None].copy()
    np.squeeze(a)[0] *= 2.0
    a[:, 0] += np.expand_dims(x[1], -1)
    return np.sum(a * a)


@program(MATRIX)
def reshape_of_a_transpose_copies_or_aliases(np, x):
    a = x.copy()
    copied = a.T.reshape(-1)
    copied *= 5.0
    aliased = a.T.reshape(-1, order="F")
    aliased[1] *= 3.0
    np.ravel(a)[0] = np.sum(copied)
    a.flatten()[2] = 7.0
    return np.sum(a * a)


@program(MATRIX)
def axes_swapped_and_written(np, x):
    a = np.stack([x, x * x])
    np.swapaxes(a, 0, 2)[1:, :, 0] *= 2.0
    np.moveaxis(a, 0, -1)[0, ..., 1] += x[1]
    np.rollaxis(a, 2)[0] -= 0.5
    return np.sum(a * a)


@program([0.4, -0.9, 1.3, 0.7, 0.2])
def windows_read_each_element_many_times(np, x):
    a = x.copy()
    windows = np.lib.stride_tricks.sliding_window_view(a, 3)
    before = np.sum(windows * windows * np.array([1.0, 2.0, 3.0]))
    a[2] = a[0] * a[1]
    return before + np.sum(np.prod(windows, axis=1))


@program([0.4, -0.9, 1.3, 0.7, 0.2])
def windows_read_backwards(np, x):
    windows = np.lib.stride_tricks.sliding_window_view(x, 2)
    return np.sum(windows[:, ::-1] ** 2 * np.array([1.0, 2.0])) + np.sum(
        np.cumprod(windows[::-1], axis=1) * x[1:, None]
    )


@program([0.4, -0.9, 1.3, 0.7, 0.2], single=False)
def strided_window_read(np, x):
    a = x * 2.0
    table = np.lib.stride_tricks.as_strided(a, shape=(3, 2), strides=(8, 16))
    return np.sum(table * table * np.array([1.0, -3.0]))


@program(MATRIX)
def broadcast_views_sum_their_gradient(np, x):
    a = x.copy()
    wide = np.broadcast_to(a[:, None, :], (2, 4, 3))
    first, second = np.broadcast_arrays(a[0], a)
    a[1, 1] = 2.0 * a[0, 0]
    return np.sum(wide * wide) + np.sum(first * second)


@program(MATRIX)
def column_major_copies(np, x):
    a = np.array(x, order="F")
    a.ravel(order="K")[1] = 4.0 * x[0, 0]
    b = np.asfortranarray(x)
    c = np.ascontiguousarray(b.T)
    c[0] *= a[:, 0]
    return np.sum(a * x) + np.sum(c * c)


@program(MATRIX)
def array_functions_that_return_their_argument(np, x):
    a = x.copy()
    np.asarray(a)[0, 0] *= 2.0
    np.atleast_1d(a)[1] += a[0]
    np.atleast_3d(a)[0, 1] = 3.0 * a[1, 2]
    np.array(a, copy=True)[0] = 9.0
    return np.sum(a * a)


@program(MATRIX)
def rotations_and_flips_are_views(np, x):
    a = x.copy()
    np.flip(a, axis=1)[0] *= np.array([1.0, 2.0, 3.0])
    np.rot90(a)[0] += a[0, :2]
    np.fliplr(a)[1, 0] = a[1, 0] * a[0, 0]
    return np.sum(a * a)


@program(*_two_views_of_one_array())
def arguments_that_overlap_but_are_only_read(np, x, y):
    return np.sum(x * y * y)


@program(*_two_views_of_one_array(), raises=BridgeError, mutates=True)
def arguments_that_overlap_and_are_written(np, x, y):
    x *= 2.0
    return np.sum(x * y)
