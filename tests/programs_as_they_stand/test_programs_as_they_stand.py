"""Unmodified programs in the style of real code: plain run, gradient, differences, and the state that they leave."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import bridge
from tests.programs_as_they_stand import PROGRAMS, Program
from tests.programs_as_they_stand.differences import derivative, directions, inner, shifted
from tests.programs_as_they_stand.record import RIGHT
from tests.programs_as_they_stand.state import differing, state_of, tracked_in


def parameters(programs: list[Program]) -> list[Any]:
    return [pytest.param(p, id=str(p), marks=[pytest.mark.ci] if p.long else []) for p in programs]


def arguments_of(program: Program) -> tuple[Any, ...]:
    return copy.deepcopy(program.arguments)


def change(program: Program, direction: tuple[Any, ...]) -> float:
    """The derivative of the plain program along `direction`; every run has fresh state and fresh arguments."""
    chosen = tuple(program.arguments[k] for k in program.positions)

    def at(step: float) -> Any:
        arguments = list(arguments_of(program))
        for k, moved in zip(program.positions, shifted(chosen, direction, step), strict=True):
            arguments[k] = moved
        return program.make()(*arguments)

    return derivative(at, program.step)


def test_names_are_distinct() -> None:
    assert len({str(program) for program in PROGRAMS}) == len(PROGRAMS)


@pytest.mark.ci
@pytest.mark.parametrize("program", parameters([p for p in PROGRAMS if p.expected == RIGHT]))
def test_value_gradient_and_what_is_left_behind(program: Program, capsys: pytest.CaptureFixture) -> None:
    value = program.make()(*arguments_of(program))
    function, arguments = program.make(), arguments_of(program)
    before, given = state_of(function), state_of(arguments)

    found, gradient = bridge.value_and_grad(function, argnums=program.positions)(*arguments)
    assert differing(given, state_of(arguments)) == []
    after = state_of(function)
    assert tracked_in(after) == []
    assert program.effects or differing(before, after) == []
    np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-300)

    chosen = tuple(program.arguments[k] for k in program.positions)
    along = list(directions(chosen))
    expected = np.array([change(program, direction) for direction in along])
    predicted = np.array([inner(gradient, direction, chosen) for direction in along])
    assert np.any(expected != 0.0), "the record shows nothing: its gradient is zero"
    np.testing.assert_allclose(predicted, expected, rtol=0.0, atol=program.tolerance * np.max(np.abs(expected)))

    again = bridge.value_and_grad(function, argnums=program.positions)(*arguments_of(program))
    same = [inner(again[1], direction, chosen) for direction in along]
    assert (float(again[0]), same) == (float(found), predicted.tolist())
    np.testing.assert_allclose(function(*arguments_of(program)), value, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("program", parameters([p for p in PROGRAMS if p.expected != RIGHT]))
def test_named_error_leaves_the_state_alone(program: Program) -> None:
    name, _, fragment = program.expected.partition(": ")
    function, arguments = program.make(), arguments_of(program)
    before = state_of((function, arguments))
    with pytest.raises(Exception) as raised:
        bridge.value_and_grad(function, argnums=program.positions)(*arguments)
    assert type(raised.value).__name__ == name
    assert fragment in str(raised.value)
    assert differing(before, state_of((function, arguments))) == []
