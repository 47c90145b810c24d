"""Indices: duplicates, masks, negative and mixed ones, and index arrays that change later."""

from __future__ import annotations

import numpy

from tests.programs.record import Family

program = Family("indices")

VECTOR = [0.4, -0.9, 1.3, 0.7, 0.2]
MATRIX = [[1.1, -0.4, 0.3, 0.8], [0.2, 1.4, -0.6, -0.1], [0.5, 0.1, 1.7, 0.9]]


@program(VECTOR)
def last_of_duplicate_writes_survives(np, x):
    a = x.copy()
    a[[0, 0, 1, 0]] = np.sin(x[:4])
    return np.sum(a * np.array([1.0, 2.0, 3.0, 4.0, 5.0]))


@program(VECTOR)
def augmented_assignment_is_buffered(np, x):
    a = x.copy()
    a[[1, 1, 2]] += x[2:] * x[2:]
    a[[3, 3]] *= x[:2]
    return np.sum(a * a)


@program(VECTOR)
def duplicates_accumulate_under_at(np, x):
    a = np.zeros_like(x)
    np.add.at(a, [0, 0, 1, -5, 4], x)
    np.subtract.at(a, np.array([1, 1]), x[0])
    return np.sum(a * a * x)


@program(VECTOR)
def scatter_reads_the_array_it_writes(np, x):
    a = x.copy()
    np.add.at(a, [0, 0, 1], a[[1, 2, 2]])
    return np.sum(a * a)


@program(VECTOR)
def product_scatter_with_a_zero_factor(np, x):
    a = np.full(3, 2.0) * x[0]
    np.multiply.at(a, np.array([0, 0, 1]), (x - 1.3)[1:4])
    return np.sum(a * np.array([1.0, 2.0, 3.0]))


@program(MATRIX)
def same_element_under_two_spellings(np, x):
    a = x.copy()
    a[[0, -3], [1, -3]] = x[1, 2:]
    a[np.array([2, -1]), 0] += x[0, :2]
    return np.sum(a * a)


@program(MATRIX)
def scatter_into_rows_and_columns_at_once(np, x):
    a = np.zeros_like(x)
    np.add.at(a, (np.array([[0], [2]]), np.array([1, 1, 3])), x[:2, :3])
    np.add.at(a, np.array([1, 1]), x[0])
    np.add.at(a, (slice(None), [0, 0]), 1.5 * x[:, 1:3])
    return np.sum(np.sin(a) * x)


@program(MATRIX)
def advanced_indices_apart_move_to_the_front(np, x):
    cube = np.stack([x, 2.0 * x * x])
    picked = cube[[0, 1, 1], :, [3, 0, 0]]
    cube[0, :, [1, 1]] = picked[:2]
    return np.sum(cube * cube) + np.sum(picked[:, 0] * picked[:, 2])


@program(MATRIX)
def index_arrays_of_two_dimensions(np, x):
    rows = np.array([[0, 2], [2, 2]])
    gathered = x[rows]
    weights = np.array([[1.0, -2.0], [0.5, 3.0]])
    return np.sum(gathered * gathered * weights[..., None]) + np.sum(x[rows, [[1, 1], [0, 3]]] * weights)


@program(MATRIX)
def open_mesh_read_and_write(np, x):
    a = x.copy()
    a[np.ix_([2, 0], [3, 1, 0])] *= x[1:, 1:]
    return np.sum(a[np.ix_([0, 0, 1], [1, 3])] ** 2)


@program(MATRIX)
def boolean_masks_of_every_rank(np, x):
    a = x.copy()
    keep = np.array([[True, False, True, False], [False, True, True, False], [True, True, False, False]])
    a[keep] = np.sin(x[~keep])
    a[np.array([True, False, True])] *= 2.0
    a[:, np.array([False, True, False, True])] += x[:, :2]
    return np.sum(a[keep] ** 2) + np.sum(a)


@program(MATRIX)
def mask_computed_from_the_values_it_changes(np, x):
    a = x.copy()
    a[a < 0.0] = 0.0
    a[a > 1.0] *= a[a > 1.0]
    return np.sum(a * x)


@program(MATRIX)
def empty_selections(np, x):
    a = x.copy()
    a[[]] = 5.0
    a[x > 99.0] += 1.0
    np.add.at(a, np.array([], dtype=int), x[:0])
    return np.sum(a * a) + np.sum(a[[], 0]) + np.sum(x[:, 4:])


@program(MATRIX)
def take_with_duplicates_modes_and_axes(np, x):
    first = np.take(x, [0, 2, 2, -1], axis=1)
    clipped = np.take(x, [-3, 1, 9], axis=0, mode="clip")
    wrapped = x.take([[13, -1], [0, 5]], mode="wrap")
    return np.sum(first * first) + np.sum(np.sin(clipped)) + np.sum(wrapped * np.array([[1.0, 2.0], [3.0, 4.0]]))


@program(MATRIX)
def along_an_axis(np, x):
    order = np.argsort(x, axis=1)
    ranked = np.take_along_axis(x, order, axis=1)
    a = x.copy()
    np.put_along_axis(a, order[:, :1], ranked[:, 1:2] * x[:, 3:], axis=1)
    return np.sum(ranked * np.array([1.0, 2.0, 3.0, 4.0])) + np.sum(a * a)


@program(VECTOR)
def index_arrays_change_after_they_were_used(np, x):
    picks = numpy.array([0, 3, 3])
    mask = numpy.array([True, False, True, False, True])
    a = x.copy()
    first = a[picks]
    a[mask] *= 2.0
    a[picks] = np.sin(x[:3])
    picks[:] = 1
    mask[:] = False
    np.add.at(a, picks, x[1:4])
    picks[:] = 4
    return np.sum(first * first) + np.sum(a * a)


@program(VECTOR)
def index_list_grows_after_it_was_used(np, x):
    picks = [0, 2]
    a = x.copy()
    a[picks] *= x[3]
    chosen = a[picks]
    picks.append(1)
    picks[0] = 4
    return np.sum(chosen * chosen) + np.sum(a[picks])


@program(VECTOR)
def integer_buffer_as_an_index_changes_later(np, x):
    order = np.argsort(x)
    a = x * np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    ordered = a[order]
    order[0] = order[1]
    order += 1
    order %= 5
    a[order] = ordered * ordered
    return np.sum(a * x)


@program(VECTOR)
def index_from_values(np, x):
    k = np.argmax(x)
    steps = np.floor(np.abs(x) * 2.0).astype(int)
    place = np.searchsorted(np.array([0.0, 0.5, 1.0]), x[0])
    return x[k] ** 2 + np.sum(x[steps] * x) + x[place] * x[int(np.argmin(x))]


@program(VECTOR)
def positions_from_conditions(np, x):
    (rows,) = np.where(x > 0.3)
    (others,) = np.nonzero(x < 0.0)
    return np.sum(x[rows] ** 2) * x[others[0]] + np.sum(x[np.flatnonzero(x > 1.0)])


@program(VECTOR)
def symmetric_matrix_from_a_packed_triangle(np, x):
    a = np.zeros((3, 3)) * x[0]
    upper = np.triu_indices(3, 1)
    a[upper] = x[:3]
    a[upper[1], upper[0]] = x[:3]
    a[np.diag_indices(3)] = 1.0 + x[2:]
    return np.sum((a @ a) * np.tri(3))


@program(MATRIX)
def flat_reads_and_writes(np, x):
    a = x.copy()
    a.T.flat[1] = x[0, 0] * x[1, 1]
    a.flat[[0, -1]] = x[2, :2]
    total = 0.0
    for k, value in enumerate(a.T.flat):
        total = total + (k + 1.0) * value * value
    return total


@program(VECTOR)
def choosing_functions(np, x):
    chosen = np.choose([0, 1, 0, 1, 1], [x, x * x])
    kept = np.compress([True, False, True], x)
    picked = np.select([x > 0.5, x < 0.0], [np.sin(x), x * 3.0], default=x * x)
    drawn = np.extract(x > 0.3, x)
    return np.sum(chosen * picked) + np.sum(kept * kept) + np.sum(drawn**3)


@program(VECTOR)
def place_repeats_what_is_too_short(np, x):
    a = np.zeros_like(x)
    np.place(a, np.array([True, True, False, True, True]), x[:2])
    np.put(a, [2, 2, -1], x[2:4] * x[4])
    return np.sum(a * a * np.array([1.0, 2.0, 3.0, 4.0, 5.0]))


@program(VECTOR)
def segments(np, x):
    sums = np.add.reduceat(x * x, [0, 2, 2, 4])
    weights = np.bincount([2, 0, 2, 1, 2], weights=np.sin(x), minlength=4)
    return np.sum(sums * np.array([1.0, 2.0, 3.0, 4.0])) + np.sum(weights * weights)


@program(MATRIX)
def slices_beyond_the_ends_and_backwards(np, x):
    a = x.copy()
    a[10:0:-2, -99:2] *= 3.0
    a[..., None, 1:][:, 0, ::-1] += x[:, :3]
    return np.sum(a[5:] ** 2) + np.sum(a[::-2, 3::-3] ** 2) + np.sum(a)


@program(2.5)
def zero_dimensional_argument(np, x):
    a = x.copy()
    a[...] = a * x
    a[()] += np.sin(x)
    return a[()] * x


@program(VECTOR, raises=IndexError)
def out_of_bounds(np, x):
    return np.sum(x[[0, 5]])


@program(VECTOR, raises=IndexError)
def out_of_bounds_write_in_the_middle(np, x):
    x[0] = 99.0
    x[7] = x[1]
    return np.sum(x)
