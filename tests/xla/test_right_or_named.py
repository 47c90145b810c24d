"""Constructs of Python and NumPy whose compiled value is NumPy's, or an error that names the line."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import bridge
from bridge.errors import RefusedError, TraceError
from tests.helpers.by_differences import differences

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.array([0.7, -1.3, 2.1, 0.4])


@dataclass(frozen=True)
class Construct:
    """A program of `X`; `raises` is the error of the plain program and of native, `message` that of a compiled call.

    Without `message` the compiled call gives the value and the gradient, or the error, of the plain program.
    """

    function: Callable[..., Any]
    message: str = ""
    raises: type[Exception] | None = None


CONSTRUCTS: list[Construct] = []


def construct(message: str = "", raises: type[Exception] | None = None) -> Callable[[Any], Any]:
    """Record the decorated function."""

    def record(function: Any) -> Any:
        CONSTRUCTS.append(Construct(function, message, raises))
        return function

    return record


# --- Options that only the compiled program knows ---------------------------------------------------


def matrix(x: Any) -> Any:
    return np.outer(x, x + 1) + np.arange(16.0).reshape(4, 4)


OPTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "k= of np.diag": lambda x, k: np.diag(matrix(x), k),
    "offset= of np.diagonal": lambda x, k: matrix(x).diagonal(k),
    "offset= of np.trace": lambda x, k: np.trace(matrix(x), k),
    "n= of np.diff": lambda x, k: np.diff(x, k),
    "axis2= of np.swapaxes": lambda x, k: np.swapaxes(matrix(x), 0, k),
    "k= of np.rot90": lambda x, k: np.rot90(matrix(x), k),
    "m= of np.polyder": lambda x, k: np.polyder(x, k),
    "m= of np.polyint": lambda x, k: np.polyint(x, k),
    "n= of np.fft.fft": lambda x, k: np.abs(np.fft.fft(x, 3 + k)),
    "shape= of np.reshape": lambda x, k: matrix(x).reshape(k, -1),
    "shape= of np.broadcast_to": lambda x, k: np.broadcast_to(x, (k, 4)),
    "indices_or_sections= of np.array_split": lambda x, k: np.array_split(x, k)[0],
    "bins= of np.histogram": lambda x, k: np.histogram(x, k + 2, (-2, 3))[0] * x[0],
    "destination= of np.moveaxis": lambda x, k: np.moveaxis(matrix(x), 0, k),
    "axis= of np.expand_dims": lambda x, k: np.expand_dims(x, k) * x,
    "axis= of np.flip": lambda x, k: np.flip(matrix(x), k) * x,
    "axis= of np.sum": lambda x, k: np.add.reduce(matrix(x), axis=k) * x,
    "decimals= of np.round": lambda x, k: np.round(x, k) * x,
    "start= of np.rollaxis": lambda x, k: np.rollaxis(matrix(x), 1, k),
    "deg= of np.polyfit": lambda x, k: np.polyfit(np.arange(4.0), x, k),
    "N= of np.vander": lambda x, k: np.vander(x, k),
    "window_shape= of np.lib.stride_tricks.sliding_window_view": lambda x, k: np.lib.stride_tricks.sliding_window_view(
        x, k
    ),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_that_only_the_compiled_program_knows_is_named(option: str) -> None:
    with pytest.raises(
        TraceError, match=f"{option} needs the value of a traced int64 (.|\n)*remedy: give it as a plain"
    ):
        bridge.grad(lambda x: np.sum(OPTIONS[option](x, np.argmin(x))), engine="xla")(X)


@construct()
def options_known_while_compiling(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        total += np.trace(matrix(x), k) + np.sum(np.diff(x, k) * np.arange(4.0 - k))
    return total


@construct()
def options_that_may_be_traced(x: Any) -> Any:
    k = np.argmax(x)
    return np.sum(np.roll(x, k) * np.arange(4.0)) + np.partition(x, k)[2] + np.sum(np.polyint(x, 1, k=x[0]))


# --- Errors of Python's numbers ----------------------------------------------------------------------

CAUGHT = "a compiled program cannot catch what is raised while it runs"


@construct(raises=ZeroDivisionError)
def floor_division_by_zero(x: Any) -> Any:
    return x[1] * (6 // int(x[0]))


@construct(raises=ZeroDivisionError)
def quotient_and_remainder_by_zero(x: Any) -> Any:
    q, r = divmod(7, int(x[0]))
    return x[1] * q + r


@construct(raises=ZeroDivisionError)
def division_by_zero_in_a_loop(x: Any) -> Any:
    total = 0.0
    for i in range(50):
        total += float(x[2]) / float(20 - i)
    return total


@construct(raises=ValueError)
def square_root_of_a_negative_number(x: Any) -> Any:
    return math.sqrt(x[1]) * x[0]


@construct(raises=ValueError)
def sine_of_infinity(x: Any) -> Any:
    return math.sin(x[1] * np.inf)


@construct(raises=OverflowError)
def exponential_that_overflows(x: Any) -> Any:
    return math.exp(1000.0 * x[2])


@construct(CAUGHT)
def remainder_by_zero_that_is_caught(x: Any) -> Any:
    try:
        k = 6 % int(x[0])
    except ZeroDivisionError:
        k = 5
    return x[1] * k


@construct(CAUGHT)
def power_of_zero_that_is_caught(x: Any) -> Any:
    zero = float(int(x[0]))
    try:
        k = zero**-1
    except ZeroDivisionError:
        k = 5.0
    return x[1] * k


@construct(CAUGHT)
def shift_by_a_negative_number_that_is_caught(x: Any) -> Any:
    try:
        k = 1 << int(x[1])
    except ValueError:
        k = 3
    return x[0] * k


@construct(CAUGHT)
def logarithm_of_a_negative_number_that_is_caught(x: Any) -> Any:
    try:
        return math.log(x[1]) * x[0]
    except ValueError:
        return x[0]


@construct()
def numbers_for_which_nothing_is_raised(x: Any) -> Any:
    total = 0.0
    for v in x:
        k = int(v * 3)
        try:
            total += 6 // k if k else v
            total += math.sqrt(v) * math.log(v) if v > 0 else 5.5 % k + float(v) ** 2
        except (ValueError, ZeroDivisionError):
            total += 100.0
    return total + 1.0 / float(x[0]) + x[1] / np.float64(2.0) + math.pow(0.0, 2.0 + float(x[3]))


# --- What a run-time mask selects --------------------------------------------------------------------


@construct()
def selection_written_through_a_second_name(x: Any) -> Any:
    m = x[x > 0.5]
    n = m
    n *= 2
    return m.sum() * x[1]


@construct()
def selection_written_in_a_helper(x: Any) -> Any:
    def scale(a: Any) -> None:
        a[:] = a * 3
        np.multiply(a, 2.0, out=a)

    m = x[x > 0.5]
    kept = m + 0.0
    scale(m)
    m[...] = m + x[0]
    return np.sum(m**2) + np.sum(kept)


@construct()
def selection_in_a_list(x: Any) -> Any:
    held = [x[x > 0.3]]
    selected = held[0]
    if x[2] > 1.0:
        held[0] += 1
    return np.sum(selected * selected)


@construct()
def inner_products_of_selections(x: Any) -> Any:
    m = x[x > 0.5]
    total = m @ m + np.dot(m, m) * np.inner(m, 2 * m) + np.vecdot(m, m)
    return total if isinstance(m, np.ndarray) and type(m) is np.ndarray else x[0]


@construct("np.mean of x.mask. needs to know how many")
def mean_of_selected_rows(x: Any) -> Any:
    return np.sum(matrix(x)[x > 0.5].mean(axis=0))


@construct("an assignment to some elements of x.mask. needs to know how many")
def element_of_a_selection_written(x: Any) -> Any:
    m = x[x > 0.3]
    m[-1] = x[1]
    return np.prod(m)


# --- Substitutes of Python's and NumPy's objects -----------------------------------------------------


@construct()
def classes_of_substitutes(x: Any) -> Any:
    numbers = range(int(np.argmax(x)))
    array = x * 2
    answers = isinstance(numbers, range), type(numbers) is range, isinstance(array.flat, np.flatiter)
    return x.sum() if all(answers) and not isinstance(array.flat, np.ndarray) else x[0] * 0.0


# --- A list of arrays, read at a run-time index ------------------------------------------------------


@construct()
def item_of_a_list_sees_later_writes(x: Any) -> Any:
    us = [x * 1, x * 2, x * 3]
    item = us[np.argmax(x[:3])]
    us[2][0] = 100 * x[1]
    return item.sum()


@construct()
def item_of_a_list_is_written(x: Any) -> Any:
    us = [x * 1, x * 2, x * 3]
    k = int(np.argmax(x[:3]))
    for i in range(30):
        item = us[(k + i) % 3]
        item += 0.1 * us[i % 3]
    us[-k][1] = 5 * x[0]
    return sum(np.sum(u) for u in us) * x[1]


@construct()
def item_of_a_list_of_rows(x: Any) -> Any:
    table = matrix(x)
    rows = table[0], table[1], table[2]
    item = rows[np.argmax(x[:3])]
    item[1:] *= 3.0
    table[2, 0] = 7 * x[1]
    return np.sum(table**2) + item[0]


@construct("bit_length needs the value of a traced int64 number")
def bits_of_an_integer(x: Any) -> Any:
    return int(x[2] * 10).bit_length() * x[0]


@construct("numerator needs the value of a traced int64 number")
def numerator_of_an_integer(x: Any) -> Any:
    return int(np.argmax(x)).numerator * x[0] if not hasattr(float(x[0]), "numerator") else x[1]


@construct()
def booleans_by_identity(x: Any) -> Any:
    total = x[0] * 2.0
    is_positive = x[2] > 0
    if is_positive is np.True_:
        total += x[1]
    return total + (x[3] if bool(is_positive) is True else 0.0)


# --- Views by strides -------------------------------------------------------------------------------


@construct()
def windows_from_the_end(x: Any) -> Any:
    y = 2 * x
    windows = as_strided(y[::-1], (2, 2), (-y.strides[0], -y.strides[0]))
    return np.sum(windows * np.arange(4.0).reshape(2, 2))


@construct(r"a view of shape \(4,\) shows memory outside of its base, a part of shape \(1,\)")
def a_write_outside_of_the_part_that_a_view_is_made_of(x: Any) -> Any:
    y = x.copy()
    view = as_strided(y[3:], (4,), (-y.strides[0],))
    view[0] = view[1] * 5
    return np.sum(y**2)


@construct(r"a view of shape \(2, 3\) shows memory outside of its base, a part of shape \(3, 2\)")
def rows_of_a_part(x: Any) -> Any:
    a = np.outer(x, x + 1)
    return np.sum(as_strided(a[1:, 2:], (2, 3), a.strides) * np.arange(6.0).reshape(2, 3))


def plain(function: Callable[..., Any]) -> Callable[[Any], float]:
    return lambda x: float(function(x.copy()))


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("one", CONSTRUCTS, ids=[one.function.__name__ for one in CONSTRUCTS])
def test_right_or_named(one: Construct, engine: Any) -> None:
    transformed = bridge.value_and_grad(one.function, engine=engine)
    if one.message and engine == "xla":
        with pytest.raises(
            (TraceError, RefusedError), match=f"{one.message}(.|\n)*at .*test_right_or_named.py(.|\n)*remedy: "
        ):
            transformed(X)
    elif one.raises is not None:
        for run in (one.function, transformed):
            with pytest.raises(one.raises):
                run(X.copy())
    else:
        value, gradient = transformed(X)
        np.testing.assert_allclose(value, plain(one.function)(X), rtol=1e-12)
        np.testing.assert_allclose(gradient, differences(plain(one.function), X), rtol=1e-6, atol=1e-7)


DECISIONS: dict[str, Callable[[Any], Any]] = {
    "math.isnan": lambda x: x.sum() if not math.isnan(x[0]) else 0.0 * x[1],
    "math.isfinite and math.isinf": lambda x: x[1] ** 2 if math.isfinite(x[0]) and not math.isinf(x[1]) else x[2],
    "math.isclose": lambda x: x.sum() if math.isclose(x[0], 0.7 + 1e-12) else x[0] ** 2,
    "math.isclose with a tolerance": lambda x: x.sum() if math.isclose(x[0], 0.9, abs_tol=0.5) else x[0] ** 2,
    "the identity of a dtype": lambda x: x.sum() if (2 * x).dtype is np.dtype(float) else x[0] ** 2,
    "math.atan2 of zeros": lambda x: math.atan2(0 * x[1], 0 * x[2]) + x[1] if x[0] < 1.0 else x[1],
    "sorted items of a dict": lambda x: sum(
        (k + 1) * v for k, (_, v) in enumerate(sorted({"b": x[0], "a": x[1]}.items()))
    ),
}


@pytest.mark.parametrize("first", [0.7, np.nan, np.inf])
@pytest.mark.parametrize("name", DECISIONS)
def test_decisions_by_numbers_that_are_computed(name: str, first: float) -> None:
    x = np.array([first, -1.3, 2.1, 0.4])
    with np.errstate(invalid="ignore"):
        expected = bridge.value_and_grad(DECISIONS[name])(x)
        found = bridge.value_and_grad(DECISIONS[name], engine="xla")(x)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


def test_reduce_over_a_length_that_is_not_known_is_named() -> None:
    def program(x: Any) -> Any:
        return functools.reduce(lambda a, b: a + b * b, x[: np.argmax(x)], 0.0)

    assert bridge.grad(program)(X)[0] == 1.4
    with pytest.raises(TraceError, match="iteration of an array"):
        bridge.grad(program, engine="xla")(X)
