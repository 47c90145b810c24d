"""Watches for NaNs that look at the factors of a gradient: every NaN is found, and what is finite is not read again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

N = 160
RANDOM = np.random.default_rng(0)
MATRIX, VECTOR = RANDOM.random((N, N)) + 0.5, RANDOM.random(N) + 0.5


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def rooted(a: Any, x: Any) -> Any:
    """The slope of the root is infinite where a row is zero, which `where` does not select."""
    y = a @ x
    return np.sum(np.where(y > 0.0, np.sqrt(y), 0.0))


def rooted_vector(a: Any, x: Any) -> Any:
    y = np.outer(x, x) * a
    return np.sum(np.where(x > 0.0, np.sqrt(np.sum(y, 0)), 0.0))


def batched(a: Any, x: Any) -> Any:
    y = a @ np.stack([x, 2.0 * x]).T
    return np.sum(np.where(y > 0.0, np.sqrt(y), 0.0))


def twice(a: Any, x: Any) -> Any:
    y, z = a @ x, x @ a
    return np.sum(np.where(y > 0.0, np.sqrt(y), 0.0)) + np.sum(z * z)


def scaled(a: Any, x: Any) -> Any:
    y = (3.0 * a) @ x
    return np.sum(np.where(y > 0.0, np.log(y), 0.0))


def taken_apart(a: Any, x: Any) -> Any:
    y = a[1:, :-1] @ x[:-1]
    return np.sum(np.where(y > 0.0, np.sqrt(y), 0.0))


def of_complex(a: Any, x: Any) -> Any:
    y = (a * (1.0 + 2.0j)) @ x
    return np.sum(np.where(np.abs(y) > 0.0, np.sqrt(np.abs(y)), 0.0))


PROGRAMS = [rooted, rooted_vector, batched, twice, scaled, taken_apart, of_complex]


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("row", [None, 0, N - 1])
def test_what_was_not_selected_has_no_gradient(program: Callable[..., Any], row: int | None) -> None:
    matrix, vector = MATRIX.copy(), VECTOR.copy()
    if row is not None:
        matrix[row] = 0.0
        if program is rooted_vector:
            vector[row] = 0.0
    function = bridge.grad(program, argnums=(0, 1), engine="xla")
    found, expected = function(matrix, vector), bridge.grad(program, argnums=(0, 1))(matrix, vector)
    for one, other in zip(found, expected, strict=True):
        assert np.isfinite(other).all()
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_nan_that_is_the_gradient_stays() -> None:
    matrix = MATRIX.copy()
    matrix[3, 4] = np.nan
    found = bridge.grad(rooted, argnums=(0, 1), engine="xla")(matrix, VECTOR)
    for one, other in zip(found, bridge.grad(rooted, argnums=(0, 1))(matrix, VECTOR), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def large(a: Any, x: Any) -> Any:
    """The bound of its gradient overflows, and the gradient does not."""
    return np.sum((a @ x) * np.where(x > 1.0, 1e200, 1.0)) + np.sum(np.where(x > 1.0, 0.0, 1e200 * x))


def infinite(a: Any, x: Any) -> Any:
    return np.sum((a @ x) * np.inf)


@pytest.mark.parametrize(("program", "x"), [(large, VECTOR), (infinite, VECTOR), (large, VECTOR * 1e150)])
def test_what_only_may_be_nan_is_looked_at(program: Callable[..., Any], x: np.ndarray) -> None:
    """A gradient without NaNs needs no second program, whatever its factors may be."""
    function = bridge.grad(program, engine="xla")
    np.testing.assert_allclose(function(MATRIX, x), bridge.grad(program)(MATRIX, x), rtol=1e-12)
    assert len(function.compile_seconds) == 1


def test_overflow_in_a_sum_is_found() -> None:
    """The factors are finite, and their product is infinity minus infinity, where nothing is selected.

    Infinity itself where a machine multiplies and adds in one step.
    """
    big = np.full((2, N), 1e200) * np.array([[1.0], [-1.0]])

    def program(a: Any) -> Any:
        y = a @ big.T
        return np.sum(np.where(np.abs(y) >= 0.0, 1e200 * y, 0.0))

    found, expected = bridge.grad(program, engine="xla")(MATRIX), bridge.grad(program)(MATRIX)
    assert not np.isfinite(expected).any()
    assert not np.isfinite(found).any()


def test_gradients_that_are_known_while_it_is_traced() -> None:
    """A number that nothing depends on has the gradient 0, which is no variable of the program."""

    def program(x: Any, s: Any) -> Any:
        s = 0.1
        y = 1.5
        while abs(y * y - 1.0 - s * s) > 1e-6:
            y = 0.5 * (y + (1.0 + s * s) / y)
        return np.sum(x) * y

    x = np.ones(3)
    found = bridge.grad(program, (0, 1), engine="xla")(x, 0.3)
    for one, expected in zip(found, bridge.grad(program, (0, 1))(x, 0.3), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-12)


def read_again(program: Callable[..., Any], *args: Any) -> int:
    """How many sums over arrays of the matrix's shape the compiled gradient makes outside of branches."""
    both = bridge.xla(bridge.grad(program, argnums=tuple(range(len(args)))))
    text = both.compile(*args).as_text()
    entry = text[text.index("ENTRY ") :]
    of_matrix = re.compile(r"f64\[\]\S* (?:reduce|fusion)\((.*?)\)")
    matrices = set(re.findall(rf"(%\S+) = f64\[{N},{N}\]", entry))
    return sum(not matrices.isdisjoint(re.findall(r"%[\w.\-]+", found)) for found in of_matrix.findall(entry))


@pytest.mark.parametrize("program", [rooted, lambda a, x: np.sum((a @ x) ** 2), lambda a, x: np.sum((a @ x) @ a)])
def test_an_outer_product_is_not_read_again(program: Callable[..., Any]) -> None:
    assert read_again(program, MATRIX, VECTOR) == 0


def test_in_a_loop_and_at_the_second_order() -> None:
    """Gradients that are no results of the program are watched as they were."""

    def inner(a: Any, x: Any) -> Any:
        total = 0.0
        for k in range(3):
            total = total + rooted(a * (1.0 + k), x)
        return total

    matrix = MATRIX.copy()
    matrix[5] = 0.0

    def outer(a: Any, x: Any) -> Any:
        return np.sum(bridge.grad(inner)(a, x) ** 2)

    np.testing.assert_allclose(
        bridge.grad(inner, engine="xla")(matrix, VECTOR), bridge.grad(inner)(matrix, VECTOR), rtol=1e-12
    )
    np.testing.assert_allclose(
        bridge.grad(outer, engine="xla")(MATRIX, VECTOR), bridge.grad(outer)(MATRIX, VECTOR), rtol=1e-10
    )
