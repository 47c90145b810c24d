"""Memory is called what the program calls it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge

X = np.array([0.3, -0.7, 1.1, 0.4])


class Rod:
    def __init__(self) -> None:
        self.flux: Any = None

    def step(self, x: Any) -> Any:
        self.flux = x[1:] - x[:-1]
        return np.sum(self.flux * 2.0)


def assigned(x: Any) -> Any:
    y = np.zeros(4)
    y[1:] = x[1:]
    z: Any = np.sin(y) * x
    if np.sum(total := z + 1.0) > 100:
        return total
    state = {"moved": z * 2.0}
    state["kept"] = state["moved"] - x
    y[0] += 1.0
    return np.sum(state["kept"] * np.maximum(x, 0.0))


def written_by_out(x: Any) -> Any:
    scratch = np.empty(4)
    np.multiply(x, 2.0, out=scratch)
    return np.sum(scratch)


def in_a_helper(x: Any) -> Any:
    def doubled(values: Any) -> Any:
        inner = values * 2.0
        return inner + 1.0

    outer = doubled(x)
    return np.sum(outer)


def very_long(x: Any) -> Any:
    a_name_that_says_everything_about_what_it_holds_and_more = x * 2.0
    return np.sum(a_name_that_says_everything_about_what_it_holds_and_more)


NAMES: dict[str, tuple[Any, list[str]]] = {
    "assignments": (assigned, ["x", "y", "z", "total", "state['kept']"]),
    "attributes": (lambda x: Rod().step(x), ["x", "self.flux"]),
    "out=": (written_by_out, ["x", "scratch"]),
    "values that a helper returns have no name of the caller's": (in_a_helper, ["x", "inner", "np.add"]),
    "long names": (very_long, ["x", "np.multiply"]),
}


@pytest.mark.parametrize("case", NAMES)
def test_memory_has_the_name_that_the_program_gives_it(case: str) -> None:
    program, wanted = NAMES[case]
    checked = bridge.crosscheck(program, "native")(X).timeline
    assert checked is not None
    for timeline in (checked, bridge.trace(program)(X).timeline):
        names = [memory.name for memory in timeline.memory]
        assert [name for name in names if name in wanted] == wanted, names


def test_code_without_a_file_keeps_the_operations_names() -> None:
    made: dict[str, Any] = {"np": np}
    exec("def program(x):\n    y = x * 2.0\n    return np.sum(y)", made)
    trace = bridge.trace(made["program"])(X)
    assert [memory.name for memory in trace.timeline.memory] == ["x", "np.multiply", "np.sum"]
