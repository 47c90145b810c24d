"""Staged code, where nobody compiles: it means what the program means."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.source.reading import reading_of, staged_code
from bridge.source.staging.control import READER
from tests.source import comparing
from tests.source.constructs import rows

HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "constructs")

SEEN_TWICE = {
    "row_comparisons", "row_conditional_expressions", "row_getattribute", "row_truth",
}  # fmt: skip
"""Objects that take note of each question see that they are asked whether they are of this package."""

FRAMES = {
    "row_assertion", "row_assertion_without_words", "row_breakpoint_by_line", "row_lines_of_a_traceback",
    "row_trace_of_a_loop", "row_trace_of_everything", "row_truth_that_raises",
}  # fmt: skip
"""A part is a frame of its own, of the function's name: who looks at frames sees one more."""


def staged(function: Callable[..., Any], log: list[Any]) -> Any:
    return READER.of(function)(log)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", rows(), ids=lambda row: row.__name__.removeprefix("row_"))
def test_staged_as_it_stands(row: Callable[[list[Any]], Any]) -> None:
    if row.__name__ in SEEN_TWICE | FRAMES:
        pytest.skip("looks at what staging adds")
    expected = comparing.outcome(comparing.plain, row, HOME)
    assert comparing.outcome(staged, row, HOME) == expected


def in_a_loop(n: int) -> Any:
    total = 0
    for k in range(n):
        if k == 3:
            raise ValueError("three")
        total += k
    return total


def test_names_and_lines_of_a_traceback() -> None:
    first = in_a_loop.__code__.co_firstlineno
    with pytest.raises(ValueError, match="three") as raised:
        READER.of(in_a_loop)(5)
    frames = [one for one in traceback.extract_tb(raised.value.__traceback__) if one.filename == __file__]
    assert {one.name for one in frames[1:]} == {"in_a_loop"}
    assert frames[-1].lineno == first + 4


def jump_in_finally(log: list[int]) -> int:
    for k in range(5):
        try:
            raise ValueError
        finally:
            log.append(k)
            if k == 3:
                break  # noqa: B012
            continue  # noqa: B012
    return k


def test_a_jump_in_finally_ends_what_was_raised() -> None:
    log: list[int] = []
    assert READER.of(jump_in_finally)(log) == 3
    assert log == [0, 1, 2, 3]


def a_loop_in_a_with(x: Any) -> Any:
    with np.errstate(all="ignore"):
        for k in range(12):
            x = x + k
    return x


def a_loop_in_a_try(x: Any) -> Any:
    try:
        for k in range(12):
            last = x * k
    finally:
        x = x + 1.0
    return x + last


def an_annotated_variable(x: Any) -> Any:
    total: float = 0.0
    empty: Any
    for _ in range(12):
        total = total + x[0]
        empty = total
    return x * total + empty


def a_comprehension_that_a_loop_goes_through(x: Any) -> Any:
    for scale in [k / 2 for k in range(12)]:
        x = x + sum([scale * number for number in (1.0, 2.0)])
    return x


def functions_that_a_loop_goes_through(x: Any) -> Any:
    for f in (lambda y: y * 2.0, lambda y: y - 1.0):
        x = f(x) + (lambda y: y / 4.0)(x)
    return x


@pytest.mark.parametrize(
    "program",
    [
        a_loop_in_a_with, a_loop_in_a_try, an_annotated_variable, a_comprehension_that_a_loop_goes_through,
        functions_that_a_loop_goes_through,
    ],
)  # fmt: skip
def test_what_can_be_staged_is_staged(program: Callable[[Any], Any]) -> None:
    code = reading_of(program).code
    assert code is not None and staged_code(code, program.__globals__) is not None
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(bridge.xla(program)(x), program(x))


def loop_in_what_stays_an_if(x: Any, shares: Any) -> Any:
    total = x * 1.0
    if total > 0:
        total = total + 1.0
    if shares is None:
        return total
    for corner in range(6):
        total = total * 1.5 + corner
    return total


def loop_in_a_plain_if(x: Any, shares: Any) -> Any:
    if shares is not None:
        while x < 40:
            last = x
            x = x + last
        for corner in range(6):
            x = x + corner
    return x


@pytest.mark.parametrize("function", [loop_in_what_stays_an_if, loop_in_a_plain_if])
@pytest.mark.parametrize("shares", [None, 1])
def test_variables_of_a_loop_inside_of_an_if_that_stays(function: Callable[..., Any], shares: Any) -> None:
    read = READER.of(function)
    assert read.__code__ is not reading_of(function).code, "not staged"
    assert read(1.5, shares) == function(1.5, shares)
