"""Enzyme: memory that is written in functions that return nothing, temporaries, pushes, pointers, strides."""

from __future__ import annotations

import numpy as np

from tests.conformance.scenario import Suite

suite = Suite("Enzyme", "Enzyme.jl", "EnzymeAD/Enzyme.jl test/array.jl, test/mixed.jl, test/blas.jl")

MATRIX = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]


@suite([1.0, 2.0, 3.0, 4.0], gradient=[[2.0, 2.0, 5.0, 3.0]])
def reshaped_and_multiplied(data):
    """Elements of a reshaped view are multiplied by their neighbours; the caller sees the flat array."""
    y = data.reshape(2, 2)
    y[0, 0] *= y[0, 1]
    y[1, 1] *= y[1, 0]
    return np.sum(data)


@suite([2.0, 3.0], gradient=[[3.0, 2.0]])
def copy_made_before_the_source_is_overwritten(f):
    """A copy is taken, the argument overwritten by numbers, and the copy used."""
    kept = f.copy()
    f[0] = 1.234
    f[1] = 5.678
    return kept[0] * kept[1]


@suite(MATRIX, gradient=[np.tile([1.0, 2.0, 3.0], (3, 1))])
def columns_weighted_by_their_number(m):
    """A loop over columns, which are views."""
    s = 0.0
    for i, column in enumerate(m.T):
        s += (i + 1) * np.sum(column)
    return s


@suite(MATRIX, gradient=[np.tile([[1.0], [2.0], [3.0]], (1, 3))])
def rows_weighted_by_their_number(m):
    """A loop over rows, which are views."""
    s = 0.0
    for i, row in enumerate(m):
        s += (i + 1) * np.sum(row)
    return s


@suite([2.0], [3.0], gradient=[[12.0], [8.0]])
def one_element_incremented_in_a_loop(x, w):
    """Only the first element of a large array is ever incremented."""
    y = np.zeros((2, 3, 4))
    for _ in range(4):
        y[0, 0, 0] += w[0] * x[0]
    return np.sum(y)


@suite([2.3], [2.0], gradient=[[1.0], [1.0]])
def pushed_to_a_list(x, y):
    """A value is pushed to a list, and both entries are added."""
    values = [x[0]]
    values.append(y[0])
    return values[0] + values[1]


@suite([1.5], gradient=[[1.0]])
def pushed_many_times(a):
    """The same value is pushed hundreds of times; the last entry is returned."""
    values = []
    for _ in range(300):
        values.append(a[0])
    return values[299]


@suite([1.0, 2.0, 3.0], [0.5], gradient=[[0.5, 0.5, 0.5], [6.0]])
def result_in_the_first_argument(x, theta):
    """The function fills its first argument and returns nothing; the caller sums it."""

    def update(y, a, t):
        y[:] = a * t

    y = np.zeros(3)
    update(y, x, theta)
    return np.sum(y)


@suite(MATRIX, [0.5, -0.2, 0.1])
def temporary_storage_given_from_outside(a, x):
    """A product goes into storage that the caller keeps, which is used twice."""
    storage = np.empty(3)

    def residual(v):
        np.matmul(a, v, out=storage)
        storage[:] = 1.0 - storage
        return 0.5 * np.sum(storage**2)

    first = residual(x)
    return first * residual(2.0 * x)


@suite([[0.3, 0.2], [0.7, -0.5]])
def state_advanced_in_place(p):
    """A state array is advanced in place while a history is filled from it, as in a simulation."""
    state, history = np.full(2, 0.1), np.zeros((2, 6))
    history[:, 0] = p[:, 0]
    for t in range(1, 6):
        for i in range(2):
            history[i, t] = p[i, 0] * history[i, t - 1] + p[i, 1] * state[i]
            state[i] = p[i, 1] * state[i] + 0.3 * history[i, t - 1]
    return np.sum(history**2)


@suite([0.5, 0.7, 0.2, -0.3], gradient=[[0.0, 1.0, 1.0, 2.0]])
def shifted_within_one_array(a):
    """The output and the input are one array: all but the first element move up."""
    a[:-1] = a[1:].copy()
    return np.sum(a)


@suite([0.5, 0.7, 0.2, -0.3])
def bubble_sort_in_place(a):
    """Neighbours are exchanged until all are in order."""
    a = a.copy()
    for i in range(3):
        for j in range(3 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return np.sum(a * np.array([1.0, 2.0, 3.0, 4.0]))


@suite(MATRIX, [1.0, 0.5, -1.0])
def triangular_solve_in_place(m, b):
    """Back substitution that overwrites the right side."""
    b = b.copy()
    for i in (2, 1, 0):
        b[i] -= m[i, i + 1 :] @ b[i + 1 :]
        b[i] /= m[i, i]
    return np.sum(b**2)


@suite([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
def lu_in_place(a):
    """Elimination within the matrix: factors replace the elements that they come from."""
    a = a.copy()
    for k in range(2):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return np.sum(np.log(np.abs(a.diagonal()))) + a[2, 0]


@suite([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
def cholesky_in_place(a):
    """Columns of the factor replace those of the matrix."""
    a = a.copy()
    for j in range(3):
        a[j, j] = np.sqrt(a[j, j] - np.sum(a[j, :j] ** 2))
        for i in range(j + 1, 3):
            a[i, j] = (a[i, j] - np.sum(a[i, :j] * a[j, :j])) / a[j, j]
    return a[0, 0] * a[1, 1] + a[2, 1] * a[2, 2]


@suite([0.2, 0.9, -0.4])
def scaled_and_added_in_place(x):
    """axpy and scal, on strides."""
    y = np.ones(6)
    y[::2] += 2.0 * x
    y[1::2] *= x[::-1]
    y *= x[0]
    return np.sum(y * np.arange(6.0))


@suite([0.2, 0.9, -0.4])
def rotation_of_two_rows(x):
    """A plane rotation of two rows in place by an angle that is differentiated."""
    m = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) * x
    c, s = np.cos(x[0]), np.sin(x[0])
    upper = c * m[0] + s * m[1]
    m[1] = -s * m[0] + c * m[1]
    m[0] = upper
    return np.sum(m * m * x)


@suite([0.3, 0.8, -0.4, 0.6])
def butterflies_in_place(x):
    """The butterflies of a Hadamard transform, in place with two strides."""
    a = x * x
    width = 1
    while width < 4:
        for start in range(0, 4, 2 * width):
            upper = a[start : start + width] + a[start + width : start + 2 * width]
            a[start + width : start + 2 * width] = a[start : start + width] - a[start + width : start + 2 * width]
            a[start : start + width] = upper
        width *= 2
    return np.sum(a**3)


@suite([0.3, 0.8, -0.4, 0.6])
def prefix_sum_in_place(x):
    """Each element becomes the sum up to it."""
    a = x * x
    for i in range(1, 4):
        a[i] += a[i - 1]
    return np.sum(a * a)
