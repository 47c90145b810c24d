"""Expressions of Python's that ask for values: compiled where that can be, and else errors that say what to do."""

from __future__ import annotations

import collections
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import TraceError

pytest.importorskip("jax")

POINTS = ([1.0, -2.0, 3.0, 0.5], [-1.0, -2.0, -3.0, -0.5], [2.0, 2.0, 2.5, 1.5])
MATRICES = [np.eye(4), np.full((4, 4), 0.5), np.diag(np.arange(4.0))]
WEIGHTS = [0.5, 2.0, -1.5]


def conditions_in_sum(x: Any, k: Any) -> Any:
    return sum(v * v for v in x if v > 0) + sum([v for v in x if v > 0 if v < 2])


def conditions_for_arrays(x: Any, k: Any) -> Any:
    return np.sum(sum(x * i + 1 for i in range(5) if x[i % 4] > 0)) + np.sum(sum([x * v for v in x if k[0] > 1]))


def conditions_that_are_known(x: Any, k: Any) -> Any:
    return sum(v * v for i, v in enumerate(x) if i % 2) + sum(v for v in x if len(x) > 2)


def conditions_in_nested_sums(x: Any, k: Any) -> Any:
    return sum(sum(a * b for a in x if a > b) for b in x)


def any_and_all(x: Any, k: Any) -> Any:
    first = np.sum(x) if any(v < -1 for v in x) else np.sum(x * x)
    second = np.sum(x) if all([v < 0 for v in x]) else x[0] * x[1]
    third = x[2] if any(v > 2 for i, v in enumerate(x) if v > 0) else x[3]
    fourth = x[2] if all(v > 1 for v in x if v > 0) else x[3]
    return first * second + third * fourth


def match_of_values(x: Any, k: Any) -> Any:
    match k[0]:
        case 0:
            return np.sum(x)
        case 1 | 5:
            return np.sum(x * x)
        case n if n < 0:
            return x[0] * n
        case _:
            return x[1]


def match_in_a_loop(x: Any, k: Any) -> Any:
    total = 0.0
    for i in range(12):
        match i % 3:
            case 0:
                continue
            case 1:
                total += x[i % 4]
            case other:
                if total > 20:
                    break
                total += other * x[i % 4] ** 2
    return total


def contained(x: Any, k: Any) -> Any:
    first = np.sum(x) if k[0] in [1, 2] else np.sum(x * x)
    second = x[0] if k[0] not in (0, 5) else x[1]
    third = x[2] if k[0] in range(-1, 6, 2) else x[3]
    fourth = x[2] if 3.0 in x else x[3]
    fifth = x[1] if k[0] in {1: "a", 2: "b"} else x[0]
    return first * second + third * fourth + fifth


def least_by_a_key(x: Any, k: Any) -> Any:
    values = list(x)
    return max(values, key=lambda v: abs(v)) * min(x, key=lambda v: (v - 1) ** 2) + max((v * v for v in x), default=0.0)


def least_of_views(x: Any, k: Any) -> Any:
    of_names = {"first": x[0] * 2, "second": x[1], "third": x[2] - x[3]}
    return max(of_names.values()) * min(collections.deque(x)) + max(of_names).count("t") * min(of_names.values())


def in_order(x: Any, k: Any) -> Any:
    ordered = sorted(x * np.array([1.0, 1.1, 1.2, 1.3]))
    return ordered[0] * 2 + ordered[-1] ** 2 + sorted(list(x), reverse=True)[1]


def lists_at_an_index(x: Any, k: Any) -> Any:
    rows = (x, x * x, np.sin(x))
    return np.sum(MATRICES[k[0] - 1] @ x) * WEIGHTS[-k[0]] + np.sum(rows[k[0]])


def computed_keys(x: Any, k: Any) -> Any:
    return np.r_[x[k[0]], 1.0][k[0] // 2] * MATRICES[1][k[0], k[0] - 1] + WEIGHTS[k[0] - 3] * x[-k[0]]


def lists_in_a_loop(x: Any, k: Any) -> Any:
    total = 0.0
    for i in range(9):
        total += np.sum(MATRICES[i % 3] @ x) * WEIGHTS[i % 3]
    return total


def integers_of_floats(x: Any, k: Any) -> Any:
    return x[math.floor(abs(x[1])) % 4] * round(x[0] * 1.2) + math.ceil(x[2]) * x[0] + math.trunc(x[1]) * x[3]


def asks_what_changes(x: Any, k: Any) -> Any:
    v, turns = x[2] * x[2], 0
    while (v := v * 0.5) > 0.1:
        turns += 1
        if turns > 20:
            break
    else:
        v = v * 3
    waiting, total = [3, 2, 1, 0, 7], 0.0
    while (n := waiting.pop(0)) > 0:
        total = total + n * x[0]
    return v * turns + total * len(waiting)


PROGRAMS = [
    conditions_in_sum, conditions_for_arrays, conditions_that_are_known, conditions_in_nested_sums, any_and_all,
    match_of_values, match_in_a_loop, contained, computed_keys, least_by_a_key, least_of_views, in_order,
    lists_at_an_index, lists_in_a_loop, integers_of_floats,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_values_and_gradients_are_those_of_python(program: Callable[..., Any]) -> None:
    compiled = bridge.value_and_grad(program, engine="xla")
    for point in POINTS:
        for number in (0, 1, 2) if program is not match_of_values else (0, 1, 5, -2, 9):
            x, k = np.array(point), np.array([number])
            value, gradient = bridge.value_and_grad(program)(x, k)
            found, slope = compiled(x, k)
            np.testing.assert_allclose(found, value, rtol=1e-12, err_msg=f"{point}, {number}")
            np.testing.assert_allclose(slope, gradient, rtol=1e-12, err_msg=f"{point}, {number}")


def test_a_test_that_changes_something_is_asked_once_a_turn() -> None:
    for point in POINTS:
        found = bridge.xla(asks_what_changes)(np.array(point), np.array([0]))
        np.testing.assert_allclose(found, asks_what_changes(np.array(point), None), rtol=1e-12)


@pytest.mark.parametrize("program", [conditions_in_sum, lists_at_an_index, any_and_all], ids=lambda one: one.__name__)
def test_dtypes_are_those_of_numpy(program: Callable[..., Any]) -> None:
    x, k = np.array(POINTS[0], np.float32), np.array([1])
    matrices = [one.astype(np.float32) for one in MATRICES]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "MATRICES", matrices)
        assert bridge.xla(program)(x, k).dtype == program(x, k).dtype == np.float32


def test_lambdas_are_made_plainer_too() -> None:
    assert bridge.xla(lambda x: sum(v for v in x if v > 0))(np.array([1.0, -2.0, 3.0])) == 4


def test_a_name_of_the_programs_own_gets_what_python_gives_it() -> None:
    def sum(values: Any) -> Any:
        return len(list(values))

    assert bridge.xla(lambda x: x * sum(i for i in range(5) if i > 2))(np.ones(1))[0] == 2
    with pytest.raises(TraceError, match="for the if of a comprehension that is not in sum"):
        bridge.xla(lambda x: x * sum(v for v in x if v > 2))(np.ones(3))


def test_an_array_of_a_list_is_written_at_a_run_time_index() -> None:
    def program(x: Any, k: Any) -> Any:
        rows = [x.copy(), x * 2]
        rows[k[0]][0] = 5.0
        return np.sum(rows[0])

    assert bridge.xla(program)(np.ones(3), np.array([0])) == 7.0


NAMES = {"np": np}
exec("def unread(x):\n    return x if x[0] > 0 else -x\n", NAMES)


def condition(x: Any) -> Any:
    return x if x[0] > 0 else -x


def positive(x: Any) -> Any:
    for v in x:
        if v > 0:
            yield v


MESSAGES: list[tuple[Callable[..., Any], str]] = [
    (lambda x: NAMES["unread"](x), "not read from its source: the source of unread cannot be had"),
    (lambda x: len([v for v in x if v > 0]) * x, "for the if of a comprehension that is not in sum"),
    (lambda x: next(v for v in x if v > 0), "for the if of a comprehension that is not in sum"),
    (lambda x: sum(positive(x)), "a generator function is Python's"),
    (lambda x: sum(filter(lambda v: v > 0, x)), "a key=, filter(), a pattern of match"),
    (lambda x: sorted([(v, 0) for v in x], key=lambda pair: pair[0])[0][0], "a key=, filter(), a pattern of match"),
    (lambda x: {0: 1.0, 1: 2.0}[np.argmax(x)] * x, "in the place of the dictionary: np.array(values)[k]"),
    (lambda x: sum(x[i] for i in range(0, 3, np.argmax(x))), "the step of a range needs the value"),
    (lambda x: sum([1, 2, 3][: np.argmax(x)]) * x, "their slices and sizes need a plain integer"),
    (lambda x: [1, "a", x][np.argmax(x)], "np.array(numbers) is an array"),
    (lambda x: np.zeros(int(x[0])) + x[1], "has no bound that is known before"),
    (lambda x: pow(2, int(x[1]), 5) * x[0], "pow(a, b, m) needs the value of a traced int64 number"),
]


@pytest.mark.parametrize(("program", "says"), MESSAGES)
def test_what_python_keeps_to_itself_is_named(program: Callable[..., Any], says: str) -> None:
    with pytest.raises(TraceError) as caught:
        bridge.xla(program)(np.array([1.0, 3.0, -2.0]))
    assert says in str(caught.value)
    assert caught.value.where is not None
    assert "test_plain_python.py:" in caught.value.where or "<string>:2 in unread" in caught.value.where
    assert caught.value.remedy


def test_a_program_that_is_not_read_says_so() -> None:
    with pytest.raises(TraceError, match=r"not read from its source \(source=False\)"):
        bridge.grad(lambda x: np.sum(condition(x)), engine="xla", source=False)(np.ones(3))
