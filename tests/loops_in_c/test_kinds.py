"""Loops with float32 and with integers of fewer bits: types, values, gradients, warnings and errors are Python's."""

from __future__ import annotations

import math
import shutil
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.source import looping
from tests.loops_in_c.test_loops import compare, loops, outcome  # noqa: F401

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: cc, gcc or clang"
)

Function = Callable[..., Any]
OF_FLOATS: dict[str, Function] = {}
OF_INTEGERS: dict[str, Function] = {}
PYTHON: dict[str, tuple[Function, str]] = {}


def of_floats(function: Function) -> Function:
    """A program of two vectors and a number."""
    OF_FLOATS[function.__name__.replace("_", " ")] = function
    return function


def of_integers(function: Function) -> Function:
    """A program of a vector, and of the rows and columns of a sparse matrix."""
    OF_INTEGERS[function.__name__.replace("_", " ")] = function
    return function


def python(reason: str) -> Callable[[Function], Function]:
    """A program of vectors of float32 and uint32 whose loop Python runs, for this reason."""

    def record(function: Function) -> Function:
        PYTHON[function.__name__.replace("_", " ")] = function, reason
        return function

    return record


@of_floats
def a_total_that_begins_with_a_float_of_python(x, y, a):
    total = 0.0
    for i in range(len(x)):
        total = total * 0.9 + x[i] * y[i]
    return total


@of_floats
def totals_in_an_inner_loop(x, y, a):
    out = np.zeros_like(x)
    for i in range(len(x)):
        total, count = 0.0, 0
        for j in range(i):
            total += x[j]
            total *= 0.5
            count += x[j] > y[j]
        out[i] = total * a + max(total, 0.0) + min(y[i], total) + count
    return np.sum(out)


@of_floats
def a_change_that_begins_with_a_float_of_python(x, y, a):
    change, count = 1.0, 0
    while change > 1e-3 and count < 20:
        before = x[1]
        x[1:-1] = 0.5 * (x[:-2] + x[2:])
        change = abs(x[1] - before)
        count += 1
    return np.sum(x) * change


@of_floats
def stores_of_other_kinds(x, y, a):
    table, places = np.arange(7) * 0.1, np.arange(7) * (2**30 + 1)
    for i in range(3):
        x[i] = y[i] * a * np.float64(1.5)
        x[:] = x * table
        y += table
        y[i] = 2**24 + 1
        x[1:] -= table[:-1] * x[:-1] + 1e-9 * places[1:]
    return np.sum(x) + np.sum(y)


@of_floats
def constants_are_rounded(x, y, a):
    for i in range(len(x)):
        x[i] = 0.1
        if x[i] == 0.1:
            x[i] = y[i] * 1.1
        if y[i] > 0.1 or x[i] < a:
            x[i] *= a
        x[i] += 1e-50 + (y[i] >= 0.1) * 0.5
    return np.sum(x)


@of_floats
def conversions(x, y, a):
    total = 0.0
    for i in range(len(x)):
        total += float(x[i]) * a
        single = np.float32(total)
        double = np.float64(x[i]) * single
        x[i] = double + single + np.float32(a) + int(3 * y[i]) + round(y[i]) + math.floor(x[i])
        y[:] = (x.astype(np.float64) * a).astype(np.float32) * 0.1
    return total * single + double + np.sum(y)


@of_floats
def arrays_of_a_dtype(x, y, a):
    for _ in range(3):
        zeros, ones = np.zeros(len(x), dtype=x.dtype), np.ones(len(x), dtype=np.float32)
        double = np.empty_like(x, dtype=np.float64)
        double[:] = x
        zeros[:] = x * a + ones + np.zeros_like(x) + double
        x[:] = zeros
    return np.sum(x) + np.sum(double)


@of_floats
def reductions_and_products(x, y, a):
    A = np.outer(x, y)
    for i in range(3):
        x[i] = np.sum(x) + np.mean(y) + np.max(x) * np.min(y) + np.prod(x * 0.1) + np.dot(x, x) * a
        x += A @ y * 0.1 + np.sum(A, axis=0) + np.mean(A, axis=1) + np.sum(A * x, axis=1)
        A[:] = A @ A.T * 0.1
        y[:] = np.cumsum(x) * 0.1
    return np.sum(x) + np.sum(y)


@of_floats
def reductions_along_several_axes(x, y, a):
    A = x[:, None, None] * y[None, :, None] * x[None, None, :]
    for _ in range(3):
        x += 0.1 * np.sum(A, axis=(0, 1)) + np.max(A, axis=(1, 2)) + np.mean(A, axis=(0, 1)) + A.max(axis=(0, -1))
        x += np.sum(A * a, axis=(0, 1, 2)) * 0.01
    return np.sum(x)


@of_floats
def powers_and_remainders(x, y, a):
    for i in range(7):
        x[i] = x[i] ** 2 + abs(x[i]) ** a + 2 ** y[i] + x[i] % 0.3 + x[i] // 0.3
    for _ in range(2):
        x[:] = x**2 + np.abs(x) ** a + 2.0**y + np.power(np.abs(y), 1.5)
    return np.sum(x)


@of_floats
def what_overflows(x, y, a):
    for i in range(5):
        x[i] = x[i] * 1e30
        y[i] = x[i] * np.tanh(y[i])
        x[i + 1] = a * 1e300
    return np.sum(np.where(np.isfinite(y), y, 0.0))


@of_floats
def an_error_before_a_function_that_clears_flags(x, y, a):
    for i in range(4):
        x[i] = math.log(x[i])
        y[i] = np.tanh(y[i])
    return np.sum(x)


@of_integers
def a_sparse_product(x, rows, columns):
    y = np.zeros(4)
    for i in range(4):
        for j in range(rows[i], rows[i + 1]):
            y[i] += x[columns[j]] * x[j]
        part = columns[rows[i] : rows[i + 1]]
        y[i] += x[rows[i] : rows[i + 1]] @ x[part]
    return np.sum(y * y)


@of_integers
def arithmetic(x, rows, columns):
    total = 0.0
    for i in range(len(columns)):
        total += x[i] * columns[i] + columns[i] / 3 + (columns[i] + 1) * x[0] + columns[i] * 0.5
        total += columns[i] // 2 + columns[i] % 3 + abs(columns[i]) + math.sqrt(columns[i])
    return total


@of_integers
def what_does_not_fit(x, rows, columns):
    total = 0.0
    for i in range(len(columns)):
        total += x[i] * (columns[i] * 100) + x[0] * (columns[i] - 3)
    return total


@of_integers
def a_number_that_does_not_fit(x, rows, columns):
    total = 0.0
    for i in range(len(columns)):
        total += x[i] * (columns[i] * 70000)
    return total


@of_integers
def arrays_wrap_around(x, rows, columns):
    for i in range(3):
        x += 0.1 * (columns * 2 - columns[i]) + 0.01 * (columns * columns * 50) + (columns > i) * 0.3
        x += 0.1 * -columns + np.maximum(columns, 3) + np.where(columns > 2, columns, 7) + np.abs(columns)
    return np.sum(x)


@of_integers
def variables(x, rows, columns):
    last, count = columns[0], 0
    for i in range(len(columns)):
        x[last] *= 1.5
        last = columns[last]
        count += columns[i]
        chosen = rows[0]
        if i % 2:
            chosen = columns[i]
        x[min(chosen, rows[1])] *= 2.0
    return np.sum(x) * last * count


@of_integers
def a_sum_of_integers_that_wraps_around(x, rows, columns):
    total = columns[0]
    for i in range(60):
        total += columns[i % 7]
    return np.sum(x) * total


@of_integers
def arrays_of_indices(x, rows, columns):
    for i in range(3):
        x[columns] += x[columns[::-1]] * 0.5
        x[columns[:3]] *= x[i]
        x[-columns[i] - 1] *= 2.0
    return np.sum(x)


@of_integers
def conditions(x, rows, columns):
    for c in columns:
        if c < 300 and c > -5 and c < 70000 and c:
            x[c - 1] += x[c] * c
        if not c:
            x[c] += int(c) + float(c) + bool(c)
    return np.sum(x)


@of_integers
def stores(x, rows, columns):
    counts = np.zeros(7, dtype=columns.dtype)
    for i in range(7):
        columns[i] = i
        rows[2] += 100
        counts[columns[i] % 3] += 1
        fresh = np.zeros(7, dtype=np.int16)
        fresh[i:] = columns[i]
        counts[counts > 1] = i
        x[counts[i % 3]] *= fresh[6] + columns.astype(np.int64)[0]
    return np.sum(x) + np.sum(rows)


@of_floats
def a_store_into_an_array_of_integers(x, k):
    wide = np.arange(4)
    for i in range(3):
        k[:] = wide
        x[k[i]] *= 2.0
    return np.sum(x)


@of_floats
def a_sum_of_unsigned_integers(x, k):
    for i in range(3):
        x[i] *= np.sum(k)
    return np.sum(x)


@python("a product of arrays of kinds f4 and f")
def a_product_of_two_kinds(x, k):
    A = np.eye(4)
    for _ in range(3):
        x[:] = x @ A
    return np.sum(x)


@python("a power of an integer that is not Python's")
def a_power_of_a_numpy_integer(x, k):
    for i in range(3):
        x[i] *= k[i] ** 2
    return np.sum(x)


@python("1e+300 as a float32")
def a_constant_that_does_not_fit(x, k):
    for i in range(3):
        x[i] = min(x[i] * 1e300, 1.0)
    return np.sum(x)


@python("a number that may be of several kinds")
def a_variable_of_two_kinds_of_numpy(x, k):
    t = np.float32(1.0)
    for i in range(4):
        x[i] *= t
        t = np.float32(t)
        if i % 2 == 0:
            t = np.float64(t) * 1.5
    return np.sum(x)


@python("arrays of which no shape is known")
def a_rounding_that_integers_of_numpy_lack(x, k):
    for i in range(3):
        x[i] *= math.trunc(2)
        x[i] *= math.trunc(k[i])
    return np.sum(x)


def some(names: Iterable[str]) -> list[Any]:
    """Compilers take time: most of these run in .ci/run alone."""
    return [name if k % 4 == 0 else pytest.param(name, marks=pytest.mark.ci) for k, name in enumerate(names)]


def result(function: Function, args: tuple[Any, ...]) -> tuple[Any, list[str]]:
    """The value and the gradients of a program, or its error; and its warnings."""
    numbers = tuple(k for k, one in enumerate(args) if np.asarray(one).dtype.kind == "f")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = outcome(bridge.value_and_grad(function, argnums=numbers), args)
    return found, sorted({str(one.message) for one in warned if issubclass(one.category, RuntimeWarning)})


def check(function: Function, args: tuple[Any, ...], loops: Callable[[str], list[int]]) -> None:  # noqa: F811
    loops("python")
    expected = result(function, args)
    loops("c")
    found = result(function, args)
    compare(found[0], expected[0])
    assert found[1] == expected[1]


x, y = np.linspace(-1.3, 2.1, 7), np.cos(np.arange(7.0) * 2.0)
special = x.copy()
special[3:6] = np.nan, np.inf, -0.0
FLOATS = (
    (np.float32(x), np.float32(y), 0.7), (np.float32(x), np.float32(y), np.float32(0.7)), (np.float32(x), y, 0.1),
    (np.float32(special), np.float32(y), np.float32(-0.0)), (np.float32(x * 1e30), np.float32(x * 1e30), 1e200),
    (np.float32(y), np.float32(x)[::-1], 1e-50), (x, np.float32(y), np.float64(0.3)),
)  # fmt: skip
DTYPES = np.int32, np.uint32, np.int16, np.uint16, np.int8, np.uint8


@pytest.mark.parametrize("name", some(OF_FLOATS))
def test_float32(name: str, loops: Callable[[str], list[int]]) -> None:  # noqa: F811
    for args in FLOATS:
        check(OF_FLOATS[name], args, loops)


@pytest.mark.parametrize("name", some(OF_INTEGERS))
def test_integers(name: str, loops: Callable[[str], list[int]]) -> None:  # noqa: F811
    for dtype in DTYPES:
        args = np.linspace(0.3, 2.1, 7), np.array([0, 2, 3, 5, 6], dtype), np.array([1, 0, 4, 6, 2, 3, 5], dtype)
        check(OF_INTEGERS[name], args, loops)
        if dtype is np.int32:
            assert not looping.REASONS


@pytest.mark.parametrize("name", PYTHON)
def test_what_python_runs(name: str, loops: Callable[[str], list[int]]) -> None:  # noqa: F811
    program, reason = PYTHON[name]
    check(program, (np.float32([0.5, -0.2, 1.0, 2.0]), np.array([0, 2, 1, 3], np.uint32)), loops)
    assert any(reason in one for one in looping.REASONS.values()), looping.REASONS
