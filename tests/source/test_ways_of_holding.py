"""Programs composed of ways to hold, write and read an array: right, or an error that says why; and all as it was."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import bridge
from bridge.errors import BridgeError
from tests.source.holding import Program, chosen, program
from tests.source.snapshots import differences, snapshot
from tests.source.ways_to_hold import BESIDE, HOLDING
from tests.source.ways_to_use import READING, WRITING

AT, STEP = 0.83, 1e-6
TEXTS = ("text", "formatted", "round", "bytes", "struct", "savetxt", "json")
"""Ways of reading by which a number becomes text or bytes, and no gradient passes."""

Run = Callable[[Callable[[Any], Any]], tuple[Any, Any]]


def reverse(f: Callable[[Any], Any]) -> tuple[Any, Any]:
    return bridge.value_and_grad(f)(AT)


def late(f: Callable[[Any], Any]) -> tuple[Any, Any]:
    value, pull = bridge.vjp(f, AT)
    first = pull(1.0)[0]
    assert pull(1.0)[0] == first
    return value, first


def forward(f: Callable[[Any], Any]) -> tuple[Any, Any]:
    return bridge.jvp(f, (AT,), (1.0,))


def wrong(one: Program, run: Run) -> str | None:
    """What is silently wrong with a program that is differentiated; None if nothing is, "named" if it is refused."""
    try:
        expected = float(one.make()[0](AT))
        slopes = [(_plain(one, AT + k * STEP) - _plain(one, AT - k * STEP)) / (2 * k * STEP) for k in (1, 2)]
    except (TypeError, ValueError, IndexError, KeyError, AttributeError, NameError):
        # Parts that do not go together.
        return None
    f, roots = one.make()
    before, outcome = snapshot(roots), None
    try:
        value, slope = run(f)
    except BridgeError:
        outcome = "named"
    else:
        is_smooth = abs(slopes[0] - slopes[1]) < 1e-4 * max(1, abs(slopes[0])) and not _is_text(one)
        if not abs(value - expected) <= 1e-9 * max(1, abs(expected)):
            return f"{value} in place of {expected}"
        if is_smooth and not abs(slope - slopes[0]) <= 2e-4 * max(1, abs(slopes[0])):
            return f"a derivative of {slope}, where differences give {slopes[0]}"
    # Iterators of the program may have moved, and a queue may hold what was put into it.
    changed = [] if _is_consumed(one) else differences(before, snapshot(roots))
    if changed:
        return f"changed: {changed[:3]}"
    if not _is_consumed(one) and f(AT) != expected:
        return "another value afterwards"
    return outcome


def _plain(one: Program, x: float) -> float:
    return float(one.make()[0](x))


def _is_text(one: Program) -> bool:
    return any(f"| {name} |" in one.name for name in TEXTS)


def _is_consumed(one: Program) -> bool:
    return any(f"{name} |" in one.name for name in ("a queue", "a cycle", "a zip", "a map", "an iterator of a list"))


def check(programs: list[Program], run: Run) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {one.name: wrong(one, run) for one in programs}
    assert {name: what for name, what in found.items() if what not in (None, "named")} == {}


@pytest.mark.parametrize("writing", WRITING)
def test_every_way_of_writing(writing: str) -> None:
    ways = ("a variable of the enclosing function", "an attribute", "a list", "made inside")
    check([program(one, "there", writing, "a product", "straight on", 1.2) for one in ways], reverse)


@pytest.mark.parametrize("holding", HOLDING)
def test_every_way_of_holding(holding: str) -> None:
    check([program(holding, "there", "a slice", one, "if", 1.2) for one in ("np.max", "a sum")], reverse)


@pytest.mark.parametrize("beside", BESIDE)
def test_every_way_of_holding_it_twice(beside: str) -> None:
    """The array is written by way of one of those that have it, and read by way of another."""
    check(
        [program(one, beside, "all", "np.max", "if on what was read", 1.0) for one in ("an attribute", "a tuple")],
        reverse,
    )


@pytest.mark.parametrize("reading", READING)
def test_every_way_of_reading(reading: str) -> None:
    check([program(one, "there", "a function", reading, "if", 1.2) for one in ("a dictionary", "made inside")], reverse)


@pytest.mark.parametrize("run", [reverse, late, forward], ids=lambda run: run.__name__)
def test_ways_that_are_drawn(run: Run) -> None:
    check(list(chosen(60, seed=3)), run)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("run", [reverse, late, forward], ids=lambda run: run.__name__)
def test_many_ways_that_are_drawn(run: Run, seed: int) -> None:
    check(list(chosen(200, seed)), run)
