"""`bridge.trace` shows what a program does to memory, and runs it as NumPy would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from bridge.errors import AliasError
from bridge.proof.report import text
from bridge.proof.report.json_form import from_json
from bridge.proof.report.model import Region
from tests.helpers.accessibility import complaints
from tests.programs import PROGRAMS, Program
from tests.proof.report_samples import heat


def names(trace: Any) -> list[str]:
    return [operation.name for operation in trace.timeline.operations]


def test_every_operation_its_line_its_bytes_and_what_is_overwritten() -> None:
    def program(x: Any, k: Any) -> Any:
        y = np.zeros_like(x)
        y[1:3] = np.sin(x[2:4])
        y *= 2.0
        return y[k]

    x = np.arange(4.0)
    trace = bridge.trace(program)(x, np.array([0, 2]))
    np.testing.assert_array_equal(trace.value, [0.0, 2 * np.sin(3.0)])
    assert type(trace.value) is np.ndarray
    operations = trace.timeline.operations
    assert names(trace) == ["a new array", "np.sin", "setitem", "np.multiply", "getitem"]
    assert [one.overwrites for one in operations] == [False, False, True, True, False]
    assert [one.number for one in operations] == list(range(5))
    assert operations[1].source == "y[1:3] = np.sin(x[2:4])"
    assert operations[1].where.startswith(__file__)  # type: ignore[union-attr]
    assert operations[1].reads == (Region(0, 16, 32, (2,), "float64"),)
    assert [memory.name for memory in trace.timeline.memory[:3]] == ["x", "k", "y"]
    assert operations[2].writes == (Region(2, 8, 24, (2,), "float64"),)
    assert [text.notes(one, trace.timeline) for one in operations[2:4]] == [
        ["overwrites"],
        ["reads what it overwrites"],
    ]


RIGHT = [program for program in PROGRAMS if program.raises is None]


@pytest.mark.parametrize("program", RIGHT, ids=map(str, RIGHT))
def test_every_program_gives_its_own_value(program: Program) -> None:
    given = [x.copy() for x in program.inputs]
    with np.errstate(all="ignore"):
        expected = program.under(np)(*[x.copy() for x in given])
        trace = bridge.trace(program.under(bridge.numpy))(*given)
    np.testing.assert_array_equal(trace.value, expected)
    for old, x in zip(program.inputs, given, strict=True):
        np.testing.assert_array_equal(x, old)
    sizes = [memory.size for memory in trace.timeline.memory]
    for operation in trace.timeline.operations:
        assert operation.where is not None
        for region in (*operation.reads, *operation.writes):
            assert 0 <= region.start <= region.stop <= sizes[region.memory]
    assert from_json(trace.to_json()).timeline == trace.timeline


def test_loops_show_every_step() -> None:
    trace = bridge.trace(lambda x: bridge.fori_loop(0, 5, lambda k, y: y * 2.0, x))(np.ones(3))
    assert names(trace) == ["np.multiply"] * 5
    np.testing.assert_array_equal(trace.value, np.full(3, 32.0))
    looped = bridge.trace(lambda x: bridge.while_loop(lambda y: y[0] < 9.0, lambda y: y * 2.0, x))(np.ones(3))
    assert names(looped).count("np.multiply") == 4
    assert looped.value[0] == 16.0


def test_arguments_that_share_memory_are_one_memory_with_two_names() -> None:
    def program(x: Any, y: Any) -> Any:
        x[0] = 7.0
        return y[0] * 1.0

    x = np.arange(4.0)
    trace = bridge.trace(program)(x, x[:2])
    assert trace.value == 7.0
    assert trace.timeline.memory[0].name == "x, y"
    assert "x and y share memory" in repr(trace)


def test_plain_arrays_and_numbers_that_leave_are_seen() -> None:
    weights = np.arange(3.0)

    def program(x: Any) -> Any:
        y = x * weights
        z = x * weights[1:2]
        return y if float(y[1]) > 5 else bridge.detach(z)

    trace = bridge.trace(program)(np.ones(3))
    plain = [memory for memory in trace.timeline.memory if memory.name == "a plain array"]
    assert [memory.shape for memory in plain] == [(3,)]
    assert trace.timeline.operations[1].reads[1] == Region(plain[0].number, 8, 16, (1,), "float64")
    assert [name for name in names(trace) if name.startswith("leaves")] == [
        "leaves tracking: float(...), math.* or a write into a plain array",
        "leaves tracking: bridge.detach",
    ]
    assert type(trace.value) is np.ndarray


def test_functions_without_a_rule_are_run() -> None:
    trace = bridge.trace(lambda x: np.polyfit(np.arange(4.0), np.nextafter(x, 2.0), 1)[0])(np.ones(4))
    assert "np.nextafter" in names(trace)


def test_derivatives_inside_of_a_program_are_operations_of_it() -> None:
    trace = bridge.trace(lambda x: bridge.grad(lambda y: np.sum(np.sin(y)))(x) * 2.0)(np.arange(3.0))
    np.testing.assert_allclose(trace.value, 2 * np.cos(np.arange(3.0)))
    assert {"np.sin", "np.cos"} <= set(names(trace))


def test_trace_inside_of_a_derivative() -> None:
    def program(x: Any) -> Any:
        return np.sum(bridge.trace(lambda y: np.sin(y) * 2.0)(x).value)

    np.testing.assert_allclose(bridge.grad(program)(np.arange(3.0)), 2 * np.cos(np.arange(3.0)))


def test_memory_of_a_number_is_known_again() -> None:
    def program(x: Any) -> Any:
        s = x[1]
        x[1] = 0.0
        return s * s

    operations = bridge.trace(program)(np.arange(3.0)).timeline.operations
    assert operations[2].reads == (operations[0].writes[0],) * 2


def test_what_a_gradient_refuses_is_refused() -> None:
    x = np.zeros(3)

    def program(y: Any) -> Any:
        memoryview(x)[0] = 1.0
        return y

    with pytest.raises(AliasError, match="which is the caller's array itself"):
        bridge.trace(program)(x)


def test_a_write_under_another_name_is_shown() -> None:
    x = np.zeros(3)

    def program(y: Any) -> Any:
        x[0] = 1.0
        return y

    trace = bridge.trace(program)(x)
    assert trace.value.tolist() == [1.0, 0.0, 0.0] and x.tolist() == [0.0, 0.0, 0.0]
    assert trace.timeline.operations[0].overwrites


def test_error_of_the_program_says_how_far_it_came() -> None:
    with pytest.raises(IndexError) as raised:
        bridge.trace(lambda x: np.sin(x)[9])(np.ones(3))
    assert raised.value.__notes__[0].startswith("bridge.trace saw 1 operations before it, the last: np.sin, ")
    assert bridge.current_context() is None


def test_masks_written_by_comparisons() -> None:
    trace = bridge.trace(lambda x: np.greater(x, 0.5, out=np.zeros_like(x, bool)))(np.array([0.0, 1.0]))
    assert trace.value.tolist() == [False, True]
    assert trace.timeline.operations[1].overwrites


@bridge.mutating_rule(mutates="a")
def add_one(a: Any) -> None:
    a += 1


bridge.extend.MUTATING.pop(add_one.function)  # not of the rule book


def test_mutating_calls() -> None:
    def program(x: Any) -> Any:
        y = x * 2.0
        add_one(y)
        return y

    trace = bridge.trace(program)(np.zeros(2))
    assert trace.value.tolist() == [1.0, 1.0]
    assert trace.timeline.operations[1].name.endswith("add_one")
    assert trace.timeline.operations[1].writes == trace.timeline.operations[0].writes


@pytest.mark.julia
def test_functions_of_julia() -> None:
    twice = bridge.julia.function("x -> 2 .* x")
    trace = bridge.trace(lambda x: np.sum(twice(x)))(np.ones(3))
    assert trace.value == 6.0
    assert len(trace.timeline.operations) == 2


def test_containers_and_keywords_have_names() -> None:
    trace = bridge.trace(lambda p, *rest, scale: p["w"] * rest[0] * scale)(
        {"w": np.ones(2)}, np.ones(2), scale=np.ones(1)
    )
    assert [memory.name for memory in trace.timeline.memory[:3]] == ["p['w']", "rest[0]", "scale"]


def test_trace_as_text_table_page_and_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    trace = bridge.trace(heat)(np.linspace(0.0, 1.0, 8), 2)
    assert "trace of tests.proof.report_samples.heat: " in repr(trace)
    assert "reads what it overwrites" in str(trace)
    page = trace.to_html()
    assert complaints(page) == []
    assert "Next difference" not in page
    assert "np.subtract" in trace._repr_html_()
    back = from_json(trace.to_json())
    assert back == trace


def test_nothing_is_traced_without_arrays() -> None:
    trace = bridge.trace(lambda x: x * 2.0)(3.0)
    assert trace.value == 6.0
    assert trace.timeline.operations == ()
    assert "no operation on an array among the arguments was seen" in repr(trace)
    assert complaints(trace.to_html()) == []
