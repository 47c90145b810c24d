"""Programs whose indices and masks are known only at run time: compiled, as the rule book has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import bridge
import bridge.numpy as np

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

VECTOR = numpy.linspace(-1.1, 2.3, 7)
MATRIX = numpy.arange(12.0).reshape(3, 4) / 5 - 1
INDICES = numpy.array([2, 0, 2, 5])
AROUND = numpy.array([1, -1, 0])
ORDER = numpy.array([3, 1, 0, 2])
TABLE = numpy.array([[2, 0, 1], [1, 1, 0]])

Function = Callable[..., Any]
PROGRAMS: list[tuple[Function, tuple[Any, ...]]] = []


def program(*inputs: Any) -> Callable[[Function], Function]:
    def record(f: Function) -> Function:
        PROGRAMS.append((f, inputs))
        return f

    return record


@program(VECTOR, INDICES)
def gathered(x: Any, i: Any) -> Any:
    return np.sum(x[i] ** 2)


@program(VECTOR, INDICES)
def updated_in_place(x: Any, i: Any) -> Any:
    x[i] += x[i] * 2
    return np.sum(x * x)


@program(VECTOR, INDICES)
def added_at(x: Any, i: Any) -> Any:
    np.add.at(x, i, x[:4])
    return np.sum(x * x * np.arange(7.0))


@program(VECTOR, INDICES)
def subtracted_at(x: Any, i: Any) -> Any:
    np.subtract.at(x, i, x[3])
    return np.sum(x**3)


@program(VECTOR, INDICES)
def set_with_duplicates(x: Any, i: Any) -> Any:
    x[i] = x[:4] * 2
    return np.sum(x * x * np.arange(7.0))


@program(MATRIX, AROUND)
def rows_reversed(a: Any, j: Any) -> Any:
    a[j] = a[j][::-1] * a[0]
    return np.sum(a**2 * a.T.reshape(3, 4))


@program(MATRIX, AROUND)
def columns_scaled(a: Any, j: Any) -> Any:
    a[:, j] *= 2.0
    b = a[j]
    b[0] = 1
    return np.sum(a * a) + np.sum(b)


@program(MATRIX, AROUND)
def two_arrays_of_indices(a: Any, j: Any) -> Any:
    return np.sum(a[j, j] ** 2) + np.sum(a[j[:, None], j] ** 3)


@program(MATRIX, AROUND)
def two_arrays_of_indices_written(a: Any, j: Any) -> Any:
    a[j, j + 1] = a[0, :3] * a[j, 0]
    return np.sum(a**3)


@program(MATRIX, AROUND)
def indices_between_slices(a: Any, j: Any) -> Any:
    return np.sum(a[1:, j] ** 2) + np.sum(a[..., j, None] ** 3) + np.sum(a[j, 1:3][:, ::-1] * a[:, :2])


@program(VECTOR)
def permutation_from_sorting(x: Any) -> Any:
    p = np.argsort(x * x)
    y = x[p]
    y[p] = np.cumsum(x)
    return np.sum(y * x * np.arange(7.0))


@program(MATRIX)
def each_row_sorted(a: Any) -> Any:
    p = np.argsort(-a, axis=1)
    return np.sum(np.take_along_axis(a, p, 1) * np.arange(4.0) * a)


@program(VECTOR)
def largest_element(x: Any) -> Any:
    k = np.argmax(x)
    x[k] = 0.0
    return np.sum(x**2) + x[np.argmin(x)] ** 3


@program(VECTOR, AROUND)
def arithmetic_with_indices(x: Any, j: Any) -> Any:
    k = (j * 2 + 1) % 7
    k[0] = 4
    return (
        np.sum(x[k] * x[k // 2])
        + np.sum(np.take(x, j, mode="wrap"))
        + np.sum(np.choose(np.abs(j) % 2, [x[:3], x[3:6]]))
    )


@program(VECTOR, numpy.array([True, False, True, True, False, False, True]))
def mask_given(x: Any, m: Any) -> Any:
    x[m] = 2.0
    y = np.where(m, x, x * x)
    y[~m] *= x[1]
    return np.sum(y * x)


@program(VECTOR, numpy.array(3))
def index_without_axes(x: Any, k: Any) -> Any:
    x[k] = x[0] * 2
    x[k : k + 2] += 1.0
    return np.sum(x**2) + x[k - 1]


@program(VECTOR, ORDER)
def put_along_an_axis(x: Any, p: Any) -> Any:
    y = np.zeros((2, 4))
    np.put_along_axis(y, np.stack([p, p[::-1]]), np.stack([x[:4], x[3:]]), 1)
    np.put(y, p[:2], x[:2])
    return np.sum(y * y * np.arange(8.0).reshape(2, 4))


@program(VECTOR, INDICES)
def added_at_in_some_rows(x: Any, i: Any) -> Any:
    A = np.zeros((3, 7))
    np.add.at(A, (slice(1, 3), i), x[:4])
    return np.sum(A**2 * np.arange(21.0).reshape(3, 7))


@program(MATRIX, TABLE)
def table_of_indices(a: Any, m: Any) -> Any:
    return np.sum(a[m] ** 2 * np.arange(4.0)) + np.sum(a[:, m[0]] * a[:, m[1]])


@program(MATRIX, TABLE)
def table_of_indices_written(a: Any, m: Any) -> Any:
    a[m, m + 1] = a[:2, :3]
    a[m[0]] += 1
    return np.sum(a**3)


@program(MATRIX, TABLE)
def new_axes(a: Any, m: Any) -> Any:
    b = a[None, m[:, :, None], np.arange(2)]
    return np.sum(b**2)


@program(MATRIX, AROUND)
def ellipsis_before_indices(a: Any, j: Any) -> Any:
    a[..., j] = a[..., ::-1][..., :3]
    a[j, ...] *= a[j[::-1]]
    return np.sum(a * a)


@program(MATRIX, AROUND)
def indices_apart(a: Any, j: Any) -> Any:
    c = np.stack([a, a * 2])
    c[j % 2, :, j] = c[0, :, :3].T * 2
    return np.sum(c**2 * np.arange(24.0).reshape(2, 3, 4))


@program(VECTOR, INDICES)
def negative_indices(x: Any, i: Any) -> Any:
    x[i - 7] *= x[i]
    x[-i - 1] = x[i][::-1]
    return np.sum(x * x * np.arange(7.0))


@program(VECTOR, numpy.array([], int))
def no_indices(x: Any, i: Any) -> Any:
    x[i] = 5.0
    np.add.at(x, i, x[i])
    return np.sum(x[i]) + np.sum(x * x)


@program(VECTOR, INDICES.astype(numpy.uint8))
def unsigned_indices(x: Any, i: Any) -> Any:
    x[i] += 1.0
    return np.sum(x[i] * x[i])


@program(VECTOR, INDICES.astype(numpy.int32))
def short_indices(x: Any, i: Any) -> Any:
    k = i + 1
    return np.sum(x[k] * x[i]) * k[0]


@program(VECTOR)
def indices_from_floats(x: Any) -> Any:
    k = (x * 2).astype(int)
    return np.sum(x[k] * x) + np.sum(x[np.abs(k) % 7] ** 2)


@program(VECTOR)
def indices_from_rounding(x: Any) -> Any:
    k = np.rint(x).astype(np.int64)
    x[k] = 0
    return np.sum(x * x)


@program(VECTOR)
def places_in_a_table(x: Any) -> Any:
    s = np.searchsorted(np.array([0.0, 1.0]), x)
    w = np.array([3.0, 4.0, 5.0])[s]
    return np.sum(w * x * x)


@program(VECTOR)
def bins(x: Any) -> Any:
    d = np.digitize(x, [0.0, 1.0])
    out = np.zeros(3)
    np.add.at(out, d, x)
    return np.sum(out**2)


@program(VECTOR)
def smallest_three(x: Any) -> Any:
    k = np.argpartition(x, 3)[:3]
    return np.sum(np.sort(x[k]) ** 2 * np.arange(3.0))


@program(MATRIX)
def rows_in_order(a: Any) -> Any:
    k = np.lexsort((a[:, 1], a[:, 0]))
    a[k] = a[::-1].copy()
    return np.sum(a * a * np.arange(12.0).reshape(3, 4))


@program(VECTOR, INDICES)
def indices_in_a_loop(x: Any, i: Any) -> Any:
    def body(k, c):
        x[i[k]] += c[0]
        c[0] = c[0] * x[k]
        return c

    c = bridge.fori_loop(0, 4, body, np.ones(2) * x[2])
    return np.sum(x * x) + c[0]


SOME = [
    pytest.param(*each, id=each[0].__name__, marks=[] if k % 3 == 0 else [pytest.mark.nightly])
    for k, each in enumerate(PROGRAMS)
]


@pytest.mark.ci
@pytest.mark.parametrize(("f", "inputs"), SOME)
def test_value_and_gradient(f: Function, inputs: tuple[Any, ...]) -> None:
    expected = bridge.value_and_grad(f, engine="native")(*inputs)
    found = bridge.value_and_grad(f, engine="xla")(*inputs)
    for one, other in zip(found, expected, strict=True):
        assert (type(one), one.dtype) == (type(other), other.dtype)
        numpy.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.nightly
@pytest.mark.parametrize(("f", "inputs"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_forward_mode(f: Function, inputs: tuple[Any, ...]) -> None:
    tangent = numpy.cos(numpy.arange(inputs[0].size)).reshape(inputs[0].shape)
    tangents = (tangent, *[None] * (len(inputs) - 1))
    expected = bridge.jvp(f, inputs, tangents, engine="native")
    found = bridge.jvp(f, inputs, tangents, engine="xla")
    numpy.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
