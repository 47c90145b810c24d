"""Unmodified programs in forward mode and in second order: against the gradient, which is held against differences."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from tests.programs_as_they_stand import PROGRAMS, Program
from tests.programs_as_they_stand.differences import derivative, directions, inner, mapped, shifted
from tests.programs_as_they_stand.record import RIGHT
from tests.programs_as_they_stand.state import differing, state_of

RUN = [program for program in PROGRAMS if program.expected == RIGHT and not program.long]
FLAT = [
    program for program in RUN if all(isinstance(program.arguments[k], (float, np.ndarray)) for k in program.positions)
]

KNOWN = {
    "ways: what a number is": "type(x) of an argument inside of nested transforms is not float",
    "ways: indices computed from floats": "int(x) inside of nested transforms: AttributeError",
}
SECOND = [
    pytest.param(each, id=str(each), marks=[pytest.mark.xfail(reason=KNOWN[str(each)])] if str(each) in KNOWN else [])
    for each in FLAT
]


def chosen_of(program: Program) -> tuple[Any, ...]:
    return copy.deepcopy(tuple(program.arguments[k] for k in program.positions))


def of_chosen(program: Program, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of the differentiated arguments alone; the others are as in the record."""

    def run(*chosen: Any) -> Any:
        arguments = list(copy.deepcopy(program.arguments))
        for k, value in zip(program.positions, chosen, strict=True):
            arguments[k] = value
        return function(*arguments)

    return run


def tangent_of(chosen: tuple[Any, ...], direction: tuple[Any, ...]) -> tuple[Any, ...]:
    """A direction with Python's numbers where the arguments have them."""
    return mapped(lambda leaf, t: np.asarray(t) if leaf.ndim else float(t), chosen, direction, otherwise=0.0)


def gradient_along(program: Program, chosen: tuple[Any, ...], direction: tuple[Any, ...]) -> float:
    arguments = list(copy.deepcopy(program.arguments))
    for k, value in zip(program.positions, chosen, strict=True):
        arguments[k] = value
    found = bridge.grad(program.make(), argnums=program.positions)(*arguments)
    return inner(found, direction, chosen)


@pytest.mark.ci
@pytest.mark.parametrize("program", FLAT, ids=str)
def test_forward_mode(program: Program, capsys: pytest.CaptureFixture) -> None:
    chosen = chosen_of(program)
    *_, direction = directions(chosen)
    expected = program.make()(*copy.deepcopy(program.arguments))
    function = program.make()
    before = state_of(function)
    value, change = bridge.jvp(of_chosen(program, function), chosen, tangent_of(chosen, direction))
    assert program.effects or differing(before, state_of(function)) == []
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(change, gradient_along(program, chosen, direction), rtol=1e-9, atol=1e-12)


@pytest.mark.nightly
@pytest.mark.parametrize("program", SECOND)
def test_second_derivative(program: Program, capsys: pytest.CaptureFixture) -> None:
    chosen = chosen_of(program)
    *_, direction = directions(chosen)
    product = bridge.hvp(of_chosen(program, program.make()), chosen, tangent_of(chosen, direction))
    found = inner(product if len(chosen) > 1 else (product,), direction, chosen)

    def slope(step: float) -> float:
        return gradient_along(program, shifted(chosen, direction, step), direction)

    scale = max(1.0, abs(gradient_along(program, chosen, direction)))
    np.testing.assert_allclose(found, derivative(slope, 0.3 * program.step), rtol=2e-5, atol=2e-8 * scale)
