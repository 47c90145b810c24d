"""jax#19089: the NaN of a branch that was not taken reaches the gradient.

https://github.com/jax-ml/jax/issues/19089; more programs of the kind: tests/rewind/strong_zero_programs.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from tests.reported.agreement import ENGINES, assert_agreement, needed

INSIDE = np.array([0.0, 4.0, 9.0])
SLOPES = np.array([0.0, 0.25, 1 / 6])


def root_or_constant(x: Any) -> Any:
    return np.sum(np.where(x > 0, x**0.5, 3.0))


def root_then_mask(delta: Any) -> Any:
    return np.sum((delta**0.5)[delta > 0])


def mask_then_root(delta: Any) -> Any:
    return np.sum(delta[delta > 0] ** 0.5)


def root_of_a_number(x: Any) -> Any:
    return np.where(x > 0, x**0.5, 3.0)


PROGRAMS = (root_or_constant, root_then_mask, mask_then_root)


@pytest.mark.ci
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_branch_that_was_taken_has_the_gradient(program: Any, engine: str) -> None:
    needed(engine)
    # A power has no value left of 0: what finite differences say at 0 is written here.
    assert_agreement(program, INSIDE, engine, gradient=SLOPES)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_away_from_the_edge_nothing_is_changed(program: Any, engine: str) -> None:
    needed(engine)
    assert_agreement(program, INSIDE + 1.0, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_at_the_number_zero(engine: str) -> None:
    needed(engine)
    for zero in (0.0, np.float64(0.0), np.array(0.0)):
        assert bridge.grad(root_of_a_number, engine=engine)(zero) == 0.0
        assert bridge.jvp(root_of_a_number, (zero,), (zero + 1,), engine=engine)[1] == 0.0


@pytest.mark.parametrize("engine", ENGINES)
def test_zeros_as_numbers_give_what_jax_gives(engine: str) -> None:
    needed(engine)
    with np.errstate(all="ignore"):
        found = bridge.grad(root_or_constant, engine=engine, zeros="ieee")(INSIDE)
    np.testing.assert_allclose(found, [np.nan, 0.25, 1 / 6])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_computed_zero_stays_loud(engine: str) -> None:
    """The slope of `sqrt(x)**2` at 0 is not known to arithmetic: 0 times infinity, and no element was left out."""
    needed(engine)
    with np.errstate(all="ignore"):
        found = bridge.grad(lambda x: np.sum(np.sqrt(x) ** 2), engine=engine)(INSIDE)
    np.testing.assert_allclose(found, [np.nan, 1.0, 1.0])


def test_crosscheck_finds_no_difference() -> None:
    report = bridge.crosscheck(root_or_constant, engines=("native", "jax"))(INSIDE + 1.0)
    assert report.ok, str(report)


def test_what_jax_answers() -> None:
    jax = pytest.importorskip("jax")
    slope = jax.grad(lambda x: jax.numpy.where(x > 0, x**0.5, 3.0))(0.0)
    tangent = jax.jvp(lambda x: jax.numpy.where(x > 0, x**0.5, 3.0), (0.0,), (1.0,))[1]
    if not np.isnan(slope):
        pytest.skip(f"JAX {jax.__version__} answers {slope}: the report is settled there")
    assert tangent == 0.0
