"""Warp, Taichi and Dr.Jit: arrays that kernels overwrite after reading, atomics, scatters, gathers in loops."""

from __future__ import annotations

import numpy as np

from tests.conformance.scenario import Suite

suite = Suite("Warp, Taichi, Dr.Jit", "kernels")

WARP = {"system": "Warp", "source": "NVIDIA/warp warp/tests/test_overwrite.py"}
TAICHI = {"system": "Taichi", "source": "taichi-dev/taichi tests/python/test_ad_for.py, test_ad_atomic.py"}
DRJIT = {"system": "Dr.Jit", "source": "mitsuba-renderer/drjit tests/test_while_loop_ad.py, tests/test_memop.py"}


@suite([1.0, 2.0, 3.0], [-1.0, -2.0, -3.0], gradient=[[2.0, 4.0, 6.0], [1.0, 1.0, 1.0]], **WARP)
def read_then_overwritten_by_the_next_kernel(a, c):
    """A kernel squares an array, the next one overwrites it. Warp warns; here it is right."""
    b = np.empty(3)
    for i in range(3):
        b[i] = a[i] * a[i]
    for i in range(3):
        a[i] = c[i]
    return np.sum(b) + np.sum(a)


@suite([1.0, 2.0, 3.0], [0.5, 0.1, 0.2], gradient=[[6.0, 6.0, 6.0], [1.0, 1.0, 1.0]], **WARP)
def written_read_and_written_again(a, d):
    """One buffer is written, read by a kernel, and written again by a third."""
    b, c = np.zeros(3), np.zeros(3)
    b[:] = 2.0 * a
    c[:] = 3.0 * b
    b[:] = d
    return np.sum(c) + np.sum(b)


@suite([1.0, 2.0, 3.0], [0.5, 0.1, 0.2], **WARP)
def read_then_written_and_read_in_one_kernel(a, c):
    """A kernel that writes an array and reads it back, after another one has read it."""
    a = a.copy()
    b, d = np.zeros(3), np.zeros(3)
    b[:] = a
    for i in range(3):
        a[i] = c[i] * c[i]
        d[i] = a[i]
    return np.sum(b * d) + np.sum(a)


@suite([0.5, 0.1, 0.2], [2.0, 1.0, 3.0], **WARP)
def read_and_written_in_one_kernel(a, w):
    """b[i] = a[i] * a[i]; a[i] = 1: the pull of the product needs the old a."""
    a = a * w
    b = np.zeros(3)
    for i in range(3):
        b[i] = a[i] * a[i]
        a[i] = 1.0
    return np.sum(b + a * w)


@suite([0.5, 0.1, 0.2], gradient=[[2.0, 2.0, 2.0]], **WARP)
def read_modify_write_with_a_local(x):
    """x[i] = 1, then x[i] += its own value through a local."""
    y = x.copy()
    for i in range(3):
        a = y[i]
        y[i] += a
    return np.sum(y)


@suite([0.5, 0.1, 0.2], [0.3, 0.4, 0.6], **WARP)
def write_in_a_nested_function(a, b):
    """A function called by a kernel writes what the kernel has read."""

    def put(target, i):
        target[i] = 1.0

    def kernel(p, q, i):
        value = p[i] * q[i]
        put(p, i)
        return value + p[i] * q[i]

    a = a.copy()
    return sum(kernel(a, b, i) for i in range(3)) + np.sum(a)


@suite(np.linspace(0.1, 1.8, 18).reshape(2, 3, 3), **WARP)
def slices_of_slices_assigned(x):
    """y[i, j] is a view, and its elements are assigned."""
    y = np.zeros((2, 3, 3))
    for i in range(2):
        for j in range(3):
            row = y[i, j]
            for k in range(3):
                row[k] = x[i, j][k] ** 2
    return np.sum(y * x)


@suite([0.5, 0.1, 0.2, 0.9], gradient=[[3.0, 3.0, 3.0, 3.0]], **WARP)
def copy_to_an_array_that_is_read_later_too(x):
    """A copy of an array, and the array itself, are both read later: gradients add up."""
    y = np.empty(4)
    y[:] = x
    return np.sum(2.0 * x) + np.sum(y)


@suite([0.5, 0.1, 0.2, 0.9], [1.0, 1.0], gradient=[[0.0, 1.0, 1.0, 0.0], [2.0, 2.0]], **WARP)
def earlier_write_is_dead(x, v):
    """A kernel writes all, a copy overwrites part: the first write is dead there."""
    y = np.zeros(4)
    y[:] = x
    y[0] = v[0] * 2.0
    y[3:] = v[1:] * 2.0
    return np.sum(y)


@suite([0.5, 0.1, 0.2], **WARP)
def components_of_vectors_assigned(x):
    """Components of each vector of an array are assigned one after the other."""
    y = np.zeros((3, 3))
    for i in range(3):
        y[i, 0] = x[i] * 2.0
        y[i, 1] = x[i] * 3.0
        y[i, 2] = y[i, 0] * y[i, 1]
    return np.sum(y)


@suite([0.5, 0.1, 0.2, 0.9], **WARP)
def ping_pong_buffers(x):
    """Two buffers change roles in each step."""
    a, b = x.copy(), np.zeros(4)
    for _ in range(5):
        b[1:-1] = 0.5 * a[1:-1] + 0.25 * (a[:-2] + a[2:])
        b[0], b[-1] = a[0], a[-1]
        a, b = b, a
    return np.sum(a**2)


@suite([3.0, 2.0, 0.5], gradient=[[6.0, 4.0, 1.0]], **TAICHI)
def atomic_sum_of_squares(x):
    """All elements are added into one cell."""
    loss = np.zeros(())
    for i in range(3):
        loss[()] += x[i] ** 2
    return loss[()]


@suite([3.0, 3.0, 3.0, 3.0], gradient=[[0.0, 1.0, 6.0, 27.0]], **TAICHI)
def power_by_inner_loops_of_other_lengths(a):
    """Each element is raised to its own number by an inner loop."""
    p = np.zeros(4)
    for i in range(4):
        ret = 1.0
        for _ in range(i):
            ret = ret * a[i]
        p[i] = ret
    return np.sum(p)


@suite([1.0, 0.5, 2.0, 1.5], [1.0, 1.0, 0.2, 0.7], **TAICHI)
def fibonacci_of_two_arrays(a, b):
    """Two locals are replaced at once in an inner loop."""
    f = np.zeros(4)
    for i in range(4):
        p, q = a[i], b[i]
        for _ in range(i):
            p, q = q, p + q
        f[i] = q
    return np.sum(f**2)


@suite(np.linspace(0.5, 1.4, 10), **TAICHI)
def gathered_by_computed_integers(a):
    """Indices are computed by an integer recurrence, and used to read and to add."""
    b = np.zeros(10)
    for _ in range(3):
        p, q = 0, 1
        for _ in range(5):
            p, q = q, p + q
            b[q] += a[q] ** 2
    return np.sum(b)


@suite([0.5, 1.4, 0.3], **TAICHI)
def pointer_that_moves_in_the_inner_loop(a):
    """An integer that is incremented says which element is read."""
    b = np.zeros(3)
    for i in range(3):
        p = 0
        for _ in range(3):
            b[i] += a[p] ** 2 * (i + 1)
            p = p + 1
    return np.sum(b)


@suite([0.5, 1.4, 0.3], [1.0, 0.2, 0.4], **TAICHI)
def two_inner_loops_one_after_the_other(a, b):
    """A product loop, then a sum loop that uses its result."""
    f = np.zeros(3)
    for i in range(3):
        weight = 1.0
        for _ in range(i + 1):
            weight *= a[i]
        s = 0.0
        for _ in range(2 * i):
            s += weight + b[i]
        f[i] = s
    return np.sum(f)


@suite([0.4], gradient=[[15.0 * np.cos(0.4)]], **TAICHI)
def mixed_inner_loops(x):
    """Additions to one cell in the outer and in the inner loop."""
    loss = np.zeros(())
    for _ in range(5):
        loss += np.sin(x[0])
        for _ in range(2):
            loss += np.sin(x[0]) + 1.0
    return loss[()]


@suite([0.4, 0.9], **TAICHI)
def particles_to_a_grid_and_back(x):
    """Particles add to grid nodes, the grid is normalised in place, particles gather."""
    grid, mass = np.zeros(4), np.zeros(4)
    for p in range(2):
        base = p
        for offset in range(2):
            weight = 1.0 - offset + (2 * offset - 1) * x[p] * 0.5
            grid[base + offset] += weight * x[p]
            mass[base + offset] += weight
    for i in range(3):
        grid[i] /= mass[i]
    return np.sum(grid[:3] ** 2)


@suite([0.2, 0.7, 0.5], **TAICHI)
def field_over_time_written_slice_by_slice(x):
    """Each step reads one time and writes the next one of a field with a time axis."""
    u = np.zeros((5, 3))
    u[0] = x
    for t in range(4):
        for i in range(3):
            u[t + 1, i] = 2.0 * u[t, i] - (u[t - 1, i] if t else 0.0) + 0.1 * u[t, (i + 1) % 3]
    return np.sum(u[4] ** 2)


@suite([0.2, 0.7, 0.5], gradient=[[0.0, 1.0, 2.0]], **DRJIT)
def gather_in_a_loop(x):
    """Elements are gathered by the loop's counter."""
    y, i = 0.0, 0
    while i < 3:
        y += x[i] * i
        i += 1
    return y


@suite([0.2, 0.7, 0.5], gradient=[[0.0, 2.0, 4.0]], **DRJIT)
def gather_in_nested_loops(x):
    """The same, twice around."""
    y, j = 0.0, 0
    while j < 2:
        i = 0
        while i < 3:
            y += x[i] * i
            i += 1
        j += 1
    return y


@suite([1.1], gradient=[[32.0]], **DRJIT)
def doubling_loop(x):
    """Five doublings."""
    i, j = 0, x
    while i < 5:
        j = j * 2
        i += 1
    return np.sum(j)


@suite(np.linspace(0.1, 1.0, 10), **DRJIT)
def ten_variables_that_depend_on_neighbours(x):
    """Each of ten loop variables is replaced by its sum with its neighbour."""
    values = [x[k] for k in range(10)]
    for _ in range(3):
        values = [values[k] + values[k - 1] for k in range(10)]
    return sum((k + 1) * v for k, v in enumerate(values))


@suite([0.25, 0.5, 0.75, 1.0], **DRJIT)
def sum_of_powers(x):
    """A loop adds x to the power of its counter."""
    y = np.zeros(4)
    for i in range(10):
        y += x**i
    return np.sum(y)


@suite([2.0, 3.0, 4.0, 5.0], gradient=[0.5 / np.sqrt([2.0, 3.0, 4.0, 5.0])], **DRJIT)
def newton_iterations(x):
    """A square root by iteration that overwrites its estimate."""
    y = np.ones(4)
    for _ in range(30):
        y[:] = 0.5 * (y + x / y)
    return np.sum(y)


@suite([0.2, 0.7, 0.5, 0.1], [1.0, 2.0], gradient=[[0.0, 1.0, 0.0, 1.0], [1.0, 1.0]], **DRJIT)
def scatter_into_an_array_with_a_gradient(target, v):
    """A scatter replaces elements of a target that has a gradient of its own."""
    y = target * 1.0
    y[np.array([0, 2])] = v
    return np.sum(y)


@suite([0.2, 0.7, 0.5, 0.1], **DRJIT)
def scatter_under_a_mask(v):
    """Only active lanes scatter."""
    y, active = np.ones(4), np.array([True, True, False, True])
    y[np.array([3, 1, 0, 2])[active]] = v[active] ** 2
    return np.sum(y * v)


@suite([0.2, 0.7, 0.5, 0.1], **DRJIT)
def scatter_reduce_with_addition(v):
    """Several lanes add into one cell."""
    y = np.zeros(3)
    np.add.at(y, np.array([0, 2, 0, 2]), v * v)
    return np.sum(y * y)


@suite([0.2, 0.7, 0.5, 0.1], gradient=[[0.0, 1.0, 1.0, 0.0]], **DRJIT)
def scatter_reduce_with_maximum(v):
    """Of the lanes of one cell the largest has the gradient."""
    y = np.zeros(2)
    np.maximum.at(y, np.array([0, 1, 0, 1]), v)
    return np.sum(y)


@suite([0.2, 0.7, 0.5, 0.1], **DRJIT)
def scatter_reduce_with_multiplication(v):
    """Lanes multiply into cells, some cells twice."""
    y = np.array([2.0, 3.0])
    np.multiply.at(y, np.array([0, 1, 0, 0]), v)
    return np.sum(y * y)


@suite([0.2, 0.7, 0.5, 0.1], **DRJIT)
def gathered_from_what_was_just_scattered(v):
    """A scatter, and a gather with other indices, in each turn."""
    y = np.zeros(4)
    for k in range(3):
        y[np.array([k, k + 1])] = v[k : k + 2] + y[np.array([k + 1, k])]
    return np.sum(y**2)
