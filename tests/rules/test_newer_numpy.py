"""What NumPy 2.5 changed, under every engine: programs give what plain NumPy gives, whichever version it is."""

from __future__ import annotations

import importlib.util
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import RefusedError
from tests.rules.newer_numpy import EIGENVALUES, RAISING, SAME, SORTED, A, R, X

ENGINES = ("native", "jax", "xla") if importlib.util.find_spec("jax") is not None else ("native",)
ALWAYS_COMPLEX = np.linalg.eigvals(np.eye(1)).dtype.kind == "c"
descends = pytest.mark.skipif("descending" not in inspect.signature(np.sort).parameters, reason="NumPy 2.5 or later")


def agree(program: Callable[..., Any], x: Any, engines: tuple[str, ...] = ENGINES) -> None:
    report = bridge.crosscheck(program, engines, shrink=False)(x)
    assert report.ok and not report.differences, str(report)


@pytest.mark.ci
@pytest.mark.parametrize("x", [A, R], ids=["real values", "complex values"])
@pytest.mark.parametrize("program", EIGENVALUES)
def test_eigenvalues_of_a_real_matrix(program: Callable[..., Any], x: Any) -> None:
    """Complex since NumPy 2.5; before, that depends on values, which a compiled program does not know."""
    agree(program, x, ENGINES if ALWAYS_COMPLEX else tuple(one for one in ENGINES if one != "xla"))


@pytest.mark.skipif(ALWAYS_COMPLEX or "xla" not in ENGINES, reason="before NumPy 2.5, with JAX")
@pytest.mark.parametrize("program", EIGENVALUES)
def test_a_dtype_that_depends_on_values_is_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(RefusedError, match="real or complex depends on values"):
        bridge.grad(program, engine="xla")(A)


@descends
@pytest.mark.parametrize("x", [X, np.array([2.0, np.nan, 1.0, 3.0]), X.astype(np.float32)])
@pytest.mark.parametrize("program", SORTED)
def test_descending_order(program: Callable[..., Any], x: Any) -> None:
    agree(program, x)


@descends
@pytest.mark.parametrize("values", [[3, 1, 2, 1], [True, False, True], [255, 0, 3], [-0.0, 0.0, 1.0]])
def test_descending_orders_of_other_numbers(values: list[Any]) -> None:
    def weighted(x: Any, table: Any) -> Any:
        order = np.argsort(table, descending=True, stable=True)
        return np.sum(x[: len(table)][order] * np.arange(1.0, len(table) + 1) * np.sort(table, descending=True))

    kinds = [np.asarray(values), np.asarray(values, np.uint8 if 255 in values else None)]
    for table in kinds:
        report = bridge.crosscheck(weighted, ENGINES, argnums=0, shrink=False)(X, table)
        assert report.ok, str(report)


@descends
@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_a_descending_order_of_complex_numbers(name: str) -> None:
    nan = np.nan
    z = np.array([3 + 1j, 3 + 2j, 1 + 5j, complex(1, nan), complex(nan, 2), complex(2, nan), complex(nan, 1), 1 - 5j])
    expected = getattr(np, name)(z, descending=True)
    if "xla" in ENGINES:
        found = bridge.xla(lambda z: getattr(np, name)(z, descending=True))(z)
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_a_keyword_that_numpy_does_not_have_is_an_error() -> None:
    for program in (lambda x: np.sum(np.sort(x, downwards=True)), lambda x: np.sum(x[np.argsort(x, downwards=True)])):
        for engine in ("native", *(one for one in ENGINES if one == "xla")):
            with pytest.raises(TypeError, match="downwards"):
                bridge.grad(program, engine=engine)(X)


@pytest.mark.ci
@pytest.mark.parametrize("program", SAME)
def test_other_changes(program: Callable[..., Any]) -> None:
    agree(program, X)


@pytest.mark.parametrize("program", RAISING)
def test_what_numpy_raises_is_raised(program: Callable[..., Any]) -> None:
    """Of two-dimensional vectors, table indices that are no integers, integers out of range or without a sign."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            program(X)
        except Exception as error:
            for engine in ENGINES:
                with pytest.raises(type(error)):
                    bridge.grad(program, engine=engine)(X)
        else:
            agree(program, X)
