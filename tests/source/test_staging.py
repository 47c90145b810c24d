"""Staged code, where nobody compiles: it means what the program means."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from bridge.source.reading import reading_of
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


@pytest.mark.dealt(3)
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
