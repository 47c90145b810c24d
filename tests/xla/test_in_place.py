"""What XLA makes of loops that write slices: no array is copied in a loop's body, whatever its length."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy as bnp

pytestmark = pytest.mark.processor

LENGTH, WIDTH, STEPS = 200_000, 100, 50
# What XLA does unless it is told otherwise, as tests/conftest.py tells it.
AS_USERS_HAVE_IT: dict[str, Any] = {"xla_backend_optimization_level": 3}
if version("jaxlib").startswith("0.") and int(version("jaxlib").split(".")[1]) < 11:
    AS_USERS_HAVE_IT["xla_cpu_use_fusion_emitters"] = True
STARTS = np.random.default_rng(1).permutation(LENGTH // WIDTH - 2)[:STEPS] * WIDTH


def apart(x: Any) -> Any:
    """Reads and writes of neighbouring slices."""
    b = bnp.ones(LENGTH)

    def body(i: Any, b: Any) -> Any:
        s = (i * WIDTH) % (LENGTH - 2 * WIDTH)
        b[s + WIDTH : s + 2 * WIDTH] = np.sin(x[s : s + WIDTH]) * b[s : s + WIDTH] + x[s + WIDTH : s + 2 * WIDTH]
        return b

    return np.sum(bridge.fori_loop(0, STEPS, body, b) ** 2)


def overlapping(x: Any) -> Any:
    """A slice that is written overlaps the one that is read."""
    b = bnp.ones(LENGTH)

    def body(i: Any, b: Any) -> Any:
        s = i * WIDTH
        b[s + WIDTH // 2 : s + WIDTH // 2 + WIDTH] = np.sin(x[s : s + WIDTH]) * b[s : s + WIDTH]
        return b

    return np.sum(bridge.fori_loop(0, STEPS, body, b) ** 2)


def consecutive_indices(x: Any) -> Any:
    """The same through arrays of consecutive indices."""
    b = bnp.ones(LENGTH)

    def body(i: Any, b: Any) -> Any:
        k = (i * WIDTH) % (LENGTH - 2 * WIDTH) + np.arange(WIDTH)
        b[k + WIDTH] = np.sin(x[k]) * b[k] + x[k + WIDTH]
        return b

    return np.sum(bridge.fori_loop(0, STEPS, body, b) ** 2)


def rows(x: Any) -> Any:
    """Rows of a matrix that is a view, updated from their neighbours."""
    u = x.copy().reshape(-1, WIDTH)

    def body(i: Any, u: Any) -> Any:
        u[i + 1] += np.tanh(u[i]) * u[i + 2]
        return u

    return np.sum(bridge.fori_loop(0, STEPS, body, u) ** 2)


def partly_overwritten(x: Any) -> Any:
    """A row, then a part of the same row."""
    u = x.copy().reshape(-1, WIDTH)

    def body(i: Any, u: Any) -> Any:
        u[i + 1] += u[i]
        u[i + 1, 3:7] *= 2
        return u

    return np.sum(bridge.fori_loop(0, STEPS, body, u) ** 2)


def starts_from_a_table(x: Any) -> Any:
    """Starts that are known at run time only, so that they have to be kept for the way back."""
    b, starts = bnp.ones(LENGTH), bnp.array(STARTS)

    def body(i: Any, b: Any) -> Any:
        s = starts[i]
        b[s : s + WIDTH] = np.sin(b[s + 50 : s + WIDTH + 50]) * x[s : s + WIDTH]
        return b

    return np.sum(bridge.fori_loop(0, STEPS, body, b) ** 2)


def elements(x: Any) -> Any:
    """Two elements, exchanged through a number."""
    b = x.copy()

    def body(i: Any, b: Any) -> Any:
        held = b[i]
        b[i] = b[i + 1] * 1.5
        b[i + 1] = np.sin(held)
        return b

    return np.sum(bridge.fori_loop(0, STEPS, body, b) ** 2)


IN_PLACE = (apart, overlapping, consecutive_indices, rows, partly_overwritten, starts_from_a_table, elements)
_RESULT = re.compile(r"(?:ROOT )?%([\w.\-]+) = \w+\[([\d,]*)\]\S* ([\w\-]+)\(")


def copied_in_loops(text: str, length: int) -> list[str]:
    """Instructions in loop bodies that make an array of `length` elements or more, other than updates in place."""
    bodies = set(re.findall(r"body=%([\w.\-]+)", text))
    assert bodies, "there is no loop"
    found = []
    for computation in re.split(r"\n\n", text):
        name = re.match(r"\n?%([\w.\-]+) ", computation)
        if name is None or name.group(1) not in bodies:
            continue
        for line in computation.split("\n")[1:]:
            result = _RESULT.match(line.strip())
            if result is None or math.prod(int(n) for n in result.group(2).split(",") if n) < length:
                continue
            if result.group(3) in ("get-tuple-element", "parameter", "bitcast") or "update" in result.group(1):
                continue
            found.append(line.strip())
    return found


def compiled_text_and_memory(function: Any) -> tuple[str, Any]:
    """The program that XLA makes of a function of one array, and what it says of its memory."""
    found = function.lower(np.ones(LENGTH)).compile(compiler_options=AS_USERS_HAVE_IT)
    return found.as_text(), found.memory_analysis()


@pytest.mark.ci
@pytest.mark.parametrize("program", IN_PLACE, ids=lambda f: f.__name__)
def test_no_copy_in_a_loop(program: Callable[[Any], Any]) -> None:
    x = np.random.default_rng(0).random(LENGTH)
    compiled = bridge.value_and_grad(program, engine="xla")
    value, gradient = compiled(x)
    expected, reference = bridge.value_and_grad(program, engine="native")(x)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, reference, rtol=1e-10, atol=1e-10)
    text, _ = compiled_text_and_memory(compiled)
    assert copied_in_loops(text, LENGTH) == []


@pytest.mark.ci
def test_the_search_finds_a_copy() -> None:
    """A loop that keeps the old array of each step has to copy it."""

    def program(x: Any) -> Any:
        def body(i: Any, carried: Any) -> Any:
            b, total = carried
            before = b.copy()
            b[i] = 2.0 * x[i]
            return b, total + np.sum(before * b)

        return bridge.fori_loop(0, STEPS, body, (x.copy(), 0.0))[1]

    text, _ = compiled_text_and_memory(bridge.xla(program))
    assert copied_in_loops(text, LENGTH)


@pytest.mark.ci
def test_memory_is_that_of_the_slices() -> None:
    """What a loop keeps for its way back does not grow with the array."""
    _, memory = compiled_text_and_memory(bridge.value_and_grad(apart, engine="xla"))
    assert memory.temp_size_in_bytes < 6 * 8 * LENGTH + 8 * 8 * STEPS * WIDTH


@pytest.mark.ci
@pytest.mark.parametrize(
    "update",
    [
        lambda x, i: operator.setitem(x, slice(1, None), operator.iadd(x[1:], 2.0)),
        lambda x, i: operator.setitem(x, (slice(1, -1), slice(None, 2)), operator.iadd(x[1:-1, :2], 2.0)),
        lambda x, i: operator.setitem(x, (i, slice(1, 3)), operator.iadd(x[i, 1:3], 2.0)),
    ],
)
def test_an_updated_part_is_stored_once(update: Any) -> None:
    """`x[1:-1, :2] += 2` updates a view and stores it where it lies; compiled, keys are built anew in between."""
    names: list[list[str]] = []

    def program(x: Any) -> Any:
        def body(i: Any, value: Any) -> Any:
            update(x, i + 1)
            names.append([entry.name for entry in x.place.context.log])
            return value

        bridge.fori_loop(0, 2, body, 0)
        return np.sum(x * x)

    x = np.arange(20.0).reshape(4, 5)
    found = bridge.grad(program, engine="xla")(x)
    assert names and all("setitem" not in one for one in names)
    np.testing.assert_array_equal(found, bridge.grad(program)(x))
