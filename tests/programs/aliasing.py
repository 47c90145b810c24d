"""Aliasing: one memory under several names, views of views, and copies that only look like views."""

from __future__ import annotations

from bridge.errors import BridgeError
from tests.programs.record import Family

program = Family("aliasing")

VECTOR = [0.4, -0.9, 1.3, 0.7]
MATRIX = [[1.1, -0.4, 0.3], [0.2, 1.4, -0.6], [0.5, 0.1, 1.7]]


@program(VECTOR)
def element_is_a_copy_but_a_zero_dimensional_view_is_not(np, x):
    a = x.copy()
    element, view = a[0], a[0, ...]
    element += 1.0
    view *= 3.0
    return element * a[0] + element * a[1]


@program(VECTOR)
def rebinding_an_augmented_scalar_leaves_the_array(np, x):
    accumulator = x[0]
    accumulator += x[1] * x[2]
    total = np.sum(x)
    total *= accumulator
    return total + x[0]


@program(MATRIX)
def rows_swapped_through_views_become_equal(np, x):
    a = x.copy()
    a[0], a[1] = a[1], a[0]
    return np.sum(a * a * np.array([[1.0], [2.0], [3.0]]))


@program(VECTOR)
def array_multiplied_by_itself_and_by_its_reverse(np, x):
    a = x.copy()
    a *= a
    a -= a[0]
    a += a[::-1]
    return np.sum(np.array([1.0, 2.0, 3.0, 5.0]) * a * a)


@program(MATRIX)
def matrix_plus_its_own_transpose_in_place(np, x):
    a = x.copy()
    a += a.T
    a[0] *= a[:, 1]
    return np.sum(np.sin(a) * x)


@program(VECTOR)
def two_overlapping_views_update_each_other(np, x):
    a = x.copy()
    left, right = a[:3], a[1:]
    left *= right
    right += left
    return np.sum(a * np.array([1.0, -2.0, 3.0, 0.5]) * a)


@program(VECTOR)
def output_overlaps_its_operand(np, x):
    a = x.copy()
    np.add(a[1:], a[:-1], out=a[1:])
    np.multiply(a[:-1], a[1:], out=a[:-1])
    return np.sum(a * a)


@program(MATRIX)
def iteration_over_rows_gives_views(np, x):
    a = x.copy()
    for row in a:
        row /= np.sqrt(np.sum(row * row))
    return np.sum(a * x)


@program(MATRIX)
def diagonal_through_a_strided_view_of_the_flat_array(np, x):
    a = x.copy()
    a.reshape(-1)[::4] += np.sum(x, axis=1)
    np.fill_diagonal(a[:2, :2], a[2, :2])
    return np.sum(a * a)


@program(MATRIX)
def writes_through_a_reversed_transpose(np, x):
    a = x.copy()
    a.T[::-1][1:, 0] *= a[2, :2]
    a.T[::2][..., ::-1][0] += 1.0
    return np.sum(np.cos(a) * x)


@program(VECTOR)
def sum_written_into_what_was_summed(np, x):
    a = x.copy()
    a[0] = np.sum(a)
    a[1] = np.sum(a)
    a[:] = np.mean(a) * a
    return np.sum(a * a)


@program(VECTOR)
def two_time_levels_swapped_by_name(np, x):
    now, after = x.copy(), np.zeros_like(x)
    for _ in range(5):
        after[1:-1] = now[1:-1] + 0.2 * (now[2:] - 2.0 * now[1:-1] + now[:-2])
        after[0], after[-1] = now[0] * 0.9, now[-1]
        now, after = after, now
    return np.sum(now * now) + np.sum(after)


@program(VECTOR, MATRIX)
def row_broadcast_into_a_matrix(np, x, y):
    a = y.copy()
    a[...] = x[:3]
    a[:, 1:] *= x[1:, None]
    a += x[0]
    return np.sum(a * y)


@program(VECTOR)
def helpers_write_into_closures_and_containers(np, x):
    state = {"a": x.copy(), "history": []}

    def step(k):
        a = state["a"]
        state["history"].append(a.copy() if k % 2 else a)
        a[k] = np.cos(a[k - 1]) * a[k]

    for k in range(4):
        step(k)
    return sum(np.sum(h * (k + 1.0)) for k, h in enumerate(state["history"]))


@program(VECTOR)
def scalar_survives_the_array_it_came_from(np, x):
    a = x * 2.0
    first = a[0]
    a[0] = 0.0
    a[:] = first * x
    del a
    return first * first


@program(VECTOR)
def copy_module_copies_a_buffer(np, x):
    import copy

    a = copy.copy(x)
    b = copy.deepcopy({"a": a})["a"]
    a *= 2.0
    b[1:] += a[:-1]
    return np.sum(a * b)


@program(MATRIX)
def pieces_of_a_split_are_views(np, x):
    a = x.copy()
    top, bottom = np.split(a, [1])
    bottom *= top
    left, _, right = np.hsplit(a, 3)
    left += right
    return np.sum(a * a)


@program(VECTOR, raises=(BridgeError, ValueError))
def write_through_an_overlapping_view(np, x):
    a = x.copy()
    windows = np.lib.stride_tricks.sliding_window_view(a, 2, writeable=True)
    windows[:, 0] *= 2.0
    return np.sum(a)


@program(VECTOR)
def writes_through_new_axes(np, x):
    a = np.zeros_like(x)
    a[None] = np.tanh(x)
    a[..., None, :2] *= x[2:]
    a[:, None][1] += x[:1]
    b = np.array([a[0], a[1] * a[2]], like=x)
    return np.sum(a * a) + b[0] * b[1]
