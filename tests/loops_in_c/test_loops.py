"""Loops in C against Python's: values bit for bit, gradients, errors, what is put back."""

from __future__ import annotations

import gc
import random
import re
import shutil
import sys
import tracemalloc
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.arrays.tracked import is_tracked
from bridge.errors import ArgumentError
from bridge.loops_in_c import running, tiers
from bridge.loops_in_c.building import Run
from bridge.loops_in_c.replaying import Replay
from bridge.rewind.bounded_log import BoundedLog
from bridge.rewind.checkpoint_schedule import Placement, Size, placed
from bridge.rulebook import book
from bridge.source import looping
from bridge.source.looping import VARIABLE
from tests.helpers import finite_differences as reference
from tests.loops_in_c import programs_of_objects  # noqa: F401
from tests.loops_in_c.programs import COMPILED, PYTHON, RAISING
from tests.loops_in_c.random_loops import Generator

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: cc, gcc or clang"
)


OF_FLOAT64 = frozenset(
    {
        "outermost loops over arrays", "columns and rows", "lists of numbers as arrays", "an array that is written out",
        "histories of arrays with names", "a cell of a network", "a network", "outermost loops over several",
        "sorted elements", "axes of one element", "arrays of nested lists", "global arrays of functions",
    }
)  # fmt: skip
"""Programs with a loop that Python runs if they get float32."""
EACH = [name if k % 4 == 0 else pytest.param(name, marks=pytest.mark.ci) for k, name in enumerate(COMPILED)]
"""Compilers take time: most of these run in .ci/run alone."""


def inputs() -> tuple[Any, ...]:
    generator = np.random.default_rng(3)
    return generator.standard_normal((4, 4)), generator.standard_normal(4), 0.7


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch, ran: list[int]) -> Iterator[Callable[[str], list[int]]]:
    """Selects how loops run; returns the list of the iterations of each loop that ran in C."""
    monkeypatch.setattr(tiers, "WAITS", True)
    # Where a loop has stopped in other tests, and how often, decides nothing here.
    monkeypatch.setattr(tiers, "_heats", {})
    monkeypatch.setattr(running, "_sites", {})

    def by(who: str) -> list[int]:
        monkeypatch.setenv(VARIABLE, "auto" if who == "c" else who)
        looping.REASONS.clear()
        ran.clear()
        return ran

    yield by
    monkeypatch.delenv(VARIABLE, raising=False)


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a call gives, or the class and text of its error."""
    try:
        return function(*args)
    except Exception as error:
        return type(error), re.sub(r"0x\w+", "", str(error))


@pytest.mark.parametrize("name", EACH)
def test_values_and_gradients(name: str, loops: Callable[[str], list[int]]) -> None:
    program, args = COMPILED[name], inputs()
    plain = program(*reference.replicas(args[:2]), args[2])
    loops("python")
    expected = bridge.value_and_grad(program, argnums=(0, 1, 2))(*args)
    ran = loops("c")
    before = [one.tobytes() for one in args[:2]]
    value, gradients = bridge.value_and_grad(program, argnums=(0, 1, 2))(*args)
    assert ran
    assert not looping.REASONS
    assert np.float64(value).tobytes() == np.float64(plain).tobytes()
    for one, other in zip(gradients, expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    assert [one.tobytes() for one in args[:2]] == before


@pytest.mark.parametrize("name", EACH)
def test_a_log_that_is_made_again_in_parts(name: str, loops: Callable[[str], list[int]]) -> None:
    program, args = COMPILED[name], inputs()
    loops("python")
    expected = bridge.value_and_grad(program, argnums=(0, 1, 2))(*args)
    ran = loops("c")
    before = [one.tobytes() for one in args[:2]]
    with in_parts(len(name)):
        compare(bridge.value_and_grad(program, argnums=(0, 1, 2), memory="1GB")(*args), expected)
    # Python runs loops over plain arrays that overlap.
    assert ran or name == "an array that overlaps two others"
    assert [one.tobytes() for one in args[:2]] == before


@pytest.mark.parametrize("name", EACH)
def test_values_and_gradients_of_float32(name: str, loops: Callable[[str], list[int]]) -> None:
    program, args = COMPILED[name], tuple(np.float32(one) for one in inputs())
    loops("python")
    expected = bridge.value_and_grad(program, argnums=(0, 1, 2))(*args)
    loops("c")
    compare(bridge.value_and_grad(program, argnums=(0, 1, 2))(*args), expected)
    assert not looping.REASONS or name in OF_FLOAT64


@pytest.mark.parametrize("name", EACH)
def test_values_and_tangents(name: str, loops: Callable[[str], list[int]]) -> None:
    program, args = COMPILED[name], inputs()
    tangents = np.cos(args[0]), np.cos(args[1]), 0.3
    loops("python")
    value, expected = bridge.jvp(program, args, tangents)
    ran = loops("c")
    before = [one.tobytes() for one in args[:2]]
    found = bridge.jvp(program, args, tangents)
    calls_python = any("a call of Python in forward mode" in one for one in looping.REASONS.values())
    assert ran or calls_python
    assert calls_python or not looping.REASONS
    assert type(found[0]) is type(value)
    assert np.float64(found[0]).tobytes() == np.float64(value).tobytes()
    np.testing.assert_allclose(found[1], expected, rtol=1e-12)
    assert [one.tobytes() for one in args[:2]] == before


def test_equal_elements_share_the_tangent_of_an_extremum(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any) -> Any:
        total = 0.0
        for _ in range(4):
            total = total + np.max(v) * v[0] + np.min(v) + np.sum(np.max(np.outer(v, v), axis=0))
        return total

    args, tangents = (np.array([2.0, 2.0, 1.0, 1.0]),), (np.array([0.3, -0.5, 1.0, 2.0]),)
    ran = loops("c")
    value, tangent = bridge.jvp(program, args, tangents)
    assert ran
    # Maximum: 2.0 and -0.1; minimum: 1.0 and 1.5; sums of the columns' maxima: 12.0 and 5.0.
    assert value == 68.0
    np.testing.assert_allclose(tangent, 4 * (-0.1 * 2 + 2 * 0.3 + 1.5 + 5.0), rtol=1e-12)


def test_a_break_after_the_first_write_of_an_argument_with_a_tangent(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any) -> Any:
        names = [v]
        for i in range(4):
            v[i] = v[i] * 2.0
            if v[i] > 3.0:
                break
        return np.sum(names[0] * v)

    args = (np.array([1.0, 2.0, 3.0, 4.0]),)
    loops("python")
    expected = bridge.jvp(program, args, args)
    ran = loops("c")
    assert bridge.jvp(program, args, args) == expected
    assert ran == [2]


@pytest.mark.parametrize("name", EACH)
def test_pulls_may_be_repeated(name: str, loops: Callable[[str], list[int]]) -> None:
    program, args = COMPILED[name], inputs()
    loops("c")
    _, pull = bridge.vjp(program, *args)
    first, second, double = pull(1.0), pull(1.0), pull(2.0)
    for one, other, twice in zip(first, second, double, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(twice, 2.0 * np.asarray(one), rtol=1e-14)


@pytest.mark.parametrize("name", PYTHON)
def test_what_python_runs(name: str, loops: Callable[[str], list[int]]) -> None:
    (program, reason), args = PYTHON[name], inputs()
    loops("python")
    expected = bridge.grad(program, argnums=(0, 1, 2))(*args)
    loops("c")
    found = bridge.grad(program, argnums=(0, 1, 2))(*args)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert any(reason in one for one in looping.REASONS.values()), looping.REASONS


@pytest.mark.parametrize("name", RAISING)
def test_errors_are_pythons(name: str, loops: Callable[[str], list[int]]) -> None:
    args = inputs()
    loops("python")
    expected = outcome(bridge.grad(RAISING[name], argnums=(0, 1, 2)), args)
    loops("c")
    assert outcome(bridge.grad(RAISING[name], argnums=(0, 1, 2)), args) == expected
    assert issubclass(expected[0], Exception)


def test_python_goes_on_where_compiled_code_stops(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any) -> Any:
        for i in range(4):
            v[i] = 1.0 / v[i]
        return np.sum(np.where(np.isinf(v), 0.0, v))

    v = np.array([2.0, 4.0, 0.0, 5.0])
    ran = loops("c")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = bridge.grad(program, zeros="ieee")(v)
    assert ran == [2, 1]
    np.testing.assert_allclose(found[[0, 1, 3]], [-1 / 4, -1 / 16, -1 / 25])


def test_python_runs_functions_of_arrays_that_lie_backwards(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any, a: Any) -> Any:
        for _ in range(2):
            v[:] = np.exp(v * a)
        return np.sum(v)

    v = np.random.default_rng(0).standard_normal(999)[::-1]
    loops("python")
    expected = bridge.value_and_grad(program)(v, 0.3)
    ran = loops("c")
    found = bridge.value_and_grad(program)(v, 0.3)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])
    assert not ran
    bridge.value_and_grad(program)(v.copy(), 0.3)
    assert ran == [2]


class Counter:
    """Counts how often its condition was evaluated."""

    def __init__(self, rate: Any) -> None:
        self.rate, self.count = rate, 0

    def has_more(self) -> bool:
        self.count += 1
        return self.count < 200


def test_the_condition_of_a_while_is_evaluated_once_for_each_iteration(loops: Callable[[str], list[int]]) -> None:
    def program(rate: Any) -> Any:
        counter, total = Counter(rate), 0.0
        while counter.has_more():
            total = total + counter.rate * counter.count
            if counter.count == 70:
                print(end="")
        return total * counter.count

    ran = loops("c")
    assert bridge.value_and_grad(program)(0.5) == (0.5 * 19_900 * 200, 19_900 * 200)
    assert ran == [69, 129]


def test_a_bounded_loop_is_printed_once_and_needs_no_file(
    loops: Callable[[str], list[int]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def program(u: Any) -> Any:
        for k in range(400):
            u = np.sin(u + 0.1 * np.roll(u, 1)) * 1.1
            if k % 100 == 0:
                print(k)
        return np.sum(u * u)

    x = np.linspace(0.1, 1.0, 2000)
    loops("python")
    expected = bridge.value_and_grad(program)(x)
    capsys.readouterr()
    ran = loops("c")
    made: list[int] = []
    logs = Replay.logs

    def noted(self: Any) -> Iterator[None]:
        for _ in logs(self):
            made.append(self.run.logged)
            yield

    monkeypatch.setattr(Replay, "logs", noted)
    monkeypatch.setattr(BoundedLog, "_write", None)
    compare(bridge.value_and_grad(program, memory="1MB")(x), expected)
    assert capsys.readouterr().out == "0\n100\n200\n300\n"
    assert sum(ran) == 396
    # The whole log has more than six megabytes.
    assert max(made) < 500_000
    assert sum(made) > 6_000_000


def test_python_runs_a_loop_of_which_one_iteration_exceeds_the_bound(
    loops: Callable[[str], list[int]], tmp_path: Path
) -> None:
    def program(u: Any) -> Any:
        for _ in range(50):
            u = np.sin(u) * np.cos(u)
        return np.sum(u)

    x = np.linspace(0.1, 1.0, 100_000)
    loops("python")
    expected = bridge.value_and_grad(program)(x)
    ran = loops("c")
    compare(bridge.value_and_grad(program, memory="2MB")(x), expected)
    assert not ran
    [reason] = looping.REASONS.values()
    assert "for its backward pass are more than half of memory=" in reason
    ran = loops("c")
    compare(bridge.value_and_grad(program)(x), expected)
    assert ran == [50]


def test_python_goes_on_with_arrays_that_the_loop_has_rebound(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any) -> Any:
        x = v * 1.0
        for i in range(4):
            x = x * 2.0
            v[i] = x[i] / (v[i] * 0.0 + i - 2.0)
        v[2] = 0.0
        return np.sum(v)

    v = np.array([2.0, 4.0, 0.0, 5.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loops("python")
        expected = bridge.grad(program)(v)
        ran = loops("c")
        found = bridge.grad(program)(v)
    assert ran == [2, 1]
    np.testing.assert_array_equal(found, expected)


def test_absent_cotangents_make_no_nan(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any) -> Any:
        root = np.empty(4)
        for i in range(4):
            root[i] = np.sqrt(v[i])
        root[0] = 0.0
        total = 0.0
        for i in range(1, 4):
            total = total + root[i] * v[i]
        return total

    v = np.array([0.0, 4.0, 9.0, 16.0])
    loops("python")
    expected = bridge.grad(program)(v)
    ran = loops("c")
    found = bridge.grad(program)(v)
    assert len(ran) == 2
    assert found[0] == expected[0] == 0.0
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert np.isnan(bridge.grad(program, zeros="ieee")(v)[0])


def test_a_nan_that_is_one_stays(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any, a: Any) -> Any:
        for i in range(3):
            w = v * a
            v[i] = w[3] * v[i]
        return np.sum(v[:3]) + np.sum(w)

    v = np.array([1.0, 2.0, 3.0, np.nan])
    loops("python")
    expected = bridge.grad(program, argnums=(0, 1))(v, 2.0)
    ran = loops("c")
    found = bridge.grad(program, argnums=(0, 1))(v, 2.0)
    assert ran
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-14)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-14)


def read_under_two_names(x: Any, y: Any) -> Any:
    total = 0.0
    for i in range(3):
        total = total + x[i] * x[i] * y[i]
    return total


def written_under_one_name(x: Any, y: Any) -> Any:
    total = 0.0
    for i in range(3):
        x[i] = x[i] * 2.0
        total = total + x[i] * y[i]
    return total


@pytest.mark.parametrize("program", [read_under_two_names, written_under_one_name])
def test_an_argument_under_a_second_name_is_a_constant(
    program: Callable[..., Any], loops: Callable[[str], list[int]]
) -> None:
    x = np.array([1.0, 2.0, 3.0])
    loops("python")
    expected = bridge.grad(program, argnums=0)(x, x)
    ran = loops("c")
    np.testing.assert_array_equal(bridge.grad(program, argnums=0)(x, x), expected)
    assert not ran


def test_who_runs_loops_is_one_of_two(loops: Callable[[str], list[int]]) -> None:
    loops("fortran")
    with pytest.raises(ArgumentError, match="BRIDGE_LOOPS=fortran"):
        bridge.grad(np.sum)(np.ones(2))


def test_inner_derivatives_run_in_python(loops: Callable[[str], list[int]]) -> None:
    program, args = COMPILED["a recurrence in place"], inputs()
    loops("python")
    expected = bridge.hvp(lambda A: program(A, args[1], args[2]), args[:1], (np.ones((4, 4)),))
    loops("c")
    found = bridge.hvp(lambda A: program(A, args[1], args[2]), args[:1], (np.ones((4, 4)),))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rules_of_users_leave_loops_to_python(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any) -> Any:
        for i in range(4):
            v[i] = np.sin(v[i])
        return np.sum(v)

    ran = loops("c")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(book, "OF_USERS", {np.sin})
        bridge.grad(program)(np.ones(4))
    assert not ran
    bridge.grad(program)(np.ones(4))
    assert ran == [4]


def test_a_loop_that_is_refused_keeps_no_array(loops: Callable[[str], list[int]]) -> None:
    def program(x: Any) -> Any:
        for _ in range(3):
            x = np.sin(x) * x
        return np.sum(x)

    loops("c")
    x = np.ones(50_000)
    bridge.grad(program)(x)
    gc.collect()
    gc.disable()
    try:
        tracemalloc.start()
        bridge.grad(program)(x)
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert left < 2 * x.nbytes


class Settings:
    rate = 2.0

    def __init__(self) -> None:
        self.rate = 2.0


SETTINGS, OTHERS = Settings(), Settings()


def scaled(x: Any, settings: Settings) -> Any:
    return x * settings.rate


def of_a_variable(v: Any) -> Any:
    settings = SETTINGS
    for i in range(4):
        v[i] *= settings.rate
    return v[0]


def of_a_variable_that_the_loop_binds(v: Any) -> Any:
    settings = OTHERS
    for i in range(4):
        settings = SETTINGS
        v[i] *= settings.rate
    return v[0]


def of_a_parameter(v: Any) -> Any:
    for i in range(4):
        v[i] = scaled(v[i], SETTINGS)
    return v[0]


@pytest.mark.parametrize("program", [of_a_variable, of_a_variable_that_the_loop_binds, of_a_parameter])
def test_a_number_that_is_read_may_change(
    program: Callable[..., Any], loops: Callable[[str], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = loops("c")
    for rate in (2.0, 5.0, 0.0, -0.0):
        monkeypatch.setattr(SETTINGS, "rate", rate)
        value, gradient = bridge.value_and_grad(program)(np.ones(4))
        assert gradient[0] == rate
        assert np.signbit(value) == np.signbit(rate)
    assert ran == [4] * 4


@pytest.mark.parametrize("width", [17, 20])
def test_a_rebound_array_is_summed_in_c_only_if_it_had_no_gaps(width: int, loops: Callable[[str], list[int]]) -> None:
    def program(A: Any) -> Any:
        part, total = A[:, :width], 0.0
        for _ in range(3):
            total = total + np.sum(part) * np.sum(part[1:] * 1.0)
            part = part * 0.7
        return total

    A = np.random.default_rng(5).standard_normal((33, 20))
    loops("python")
    expected = bridge.value_and_grad(program)(A)
    ran = loops("c")
    found = bridge.value_and_grad(program)(A)
    # After an iteration in Python, the name is bound to an array without gaps.
    assert ran == ([3] if width == 20 else [2])
    assert np.float64(found[0]).tobytes() == np.float64(expected[0]).tobytes()
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


RATE = 0.0


def test_a_rate_that_changes_is_compiled_once(
    loops: Callable[[str], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def program(v: Any) -> Any:
        for i in range(4):
            v[i] *= RATE
        return np.sum(v)

    ran = loops("c")
    made = []
    monkeypatch.setattr(
        running.Beginning, "_make", lambda self, make=running.Beginning._make: made.append(1) or make(self)
    )
    for k in range(20):
        monkeypatch.setattr(sys.modules[__name__], "RATE", 0.5 * k)
        assert bridge.grad(program)(np.ones(4))[0] == 0.5 * k
    assert ran == [4] * 20
    assert len(made) == 1


def test_a_function_that_is_called_may_get_other_code(loops: Callable[[str], list[int]]) -> None:
    names: dict[str, Any] = {"np": np, "__name__": "a_test"}

    def doubled(x: Any) -> Any:
        return x * 2.0

    def tripled(x: Any) -> Any:
        return x * 3.0

    def program(v: Any) -> Any:
        for i in range(4):
            v[i] = called(v[i])  # noqa: F821
        return np.sum(v)

    names["called"] = FunctionType(doubled.__code__, names)
    run = FunctionType(program.__code__, names)
    ran = loops("c")
    assert bridge.grad(run)(np.ones(4))[0] == 2.0
    assert ran == [4]
    names["called"].__code__ = tripled.__code__
    assert bridge.grad(run)(np.ones(4))[0] == 3.0


def of_a_parameter(settings: Any, x: Any) -> Any:
    return x * settings.rate


class Rate:
    other: Any

    def __init__(self, rate: float) -> None:
        self.rate = rate


def test_an_attribute_of_a_parameter_may_change(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any, one: Any) -> Any:
        for i in range(4):
            v[i] = of_a_parameter(one, v[i])
        return v[0]

    ran = loops("c")
    for rate in (2.0, 5.0, 0.0, -0.0):
        assert str(float(bridge.value_and_grad(program)(np.ones(4), Rate(rate))[0])) == str(rate)
    assert ran == [4, 4, 4, 4]


def test_objects_are_not_kept_and_their_class_decides(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any, one: Any) -> Any:
        for i in range(4):
            v[i] *= one.rate * one.other.rate
        return np.sum(v)

    ran = loops("c")
    seen = []
    for number in range(2 * running._MOST):
        one = Rate(3.0)
        one.other = Rate(float(number // 20))
        seen += weakref.ref(one), weakref.ref(one.other)
        assert bridge.grad(program)(np.ones(4), one)[0] == 3.0 * (number // 20)
    del one
    gc.collect()
    assert len(ran) == 2 * running._MOST
    assert not any(reference() for reference in seen)
    nothing = Rate(1.0)
    del nothing.rate
    with pytest.raises(AttributeError):
        bridge.grad(program)(np.ones(4), nothing)


def left_by_an_error(v: Any) -> Any:
    with suppress(ZeroDivisionError):
        for i in range(4):
            v[i] = v[i] * (1 // (2 - i))
            left = v * 2.0
        left = 5.0
    return np.sum(v) + np.sum(left)


def read_by_its_name(v: Any) -> Any:
    def unused() -> int:
        return 1

    for i in range(4):
        left = v * 2.0
        v[i] = left[i]
    return np.sum(v) + np.sum(locals()["left"])


def read_from_the_frame(v: Any) -> Any:
    for i in range(4):
        left = v * 2.0
        v[i] = left[i]
    return np.sum(v) + np.sum(sys._getframe().f_locals["left"])


@pytest.mark.parametrize("program", [left_by_an_error, read_by_its_name, read_from_the_frame])
def test_arrays_that_may_be_read_later_are_left(program: Any, loops: Callable[[str], list[int]]) -> None:
    v = np.arange(1.0, 5.0)
    loops("python")
    expected = bridge.value_and_grad(program)(v)
    ran = loops("c")
    found = bridge.value_and_grad(program)(v)
    assert ran
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])


TYPES = {
    "a number of NumPy's on one way": "if v[0] > 9.0:\n            c = np.sqrt(c)",
    "a number of NumPy's in an inner loop": "for j in range(i):\n            c = c * v[j]",
    "a float on one way": "if v[0] > 9.0:\n            n = 0.5",
    "two that are swapped": "c, d = d, c",
}


@pytest.mark.parametrize("name", TYPES)
def test_what_a_loop_leaves_has_pythons_type(name: str, tmp_path: Path, loops: Callable[[str], list[int]]) -> None:
    path = tmp_path / "types_left.py"
    path.write_text(
        "import numpy as np\n\n\nKINDS = []\n\n\n"
        "def f(v):\n    c, d, n = 0.5, np.float64(2.0), 0\n    for i in range(3):\n"
        f"        v[i] = v[i] * c + n * d\n        {TYPES[name]}\n"
        "    KINDS.append((type(c), type(d), type(n)))\n    return np.sum(v)\n",
        encoding="utf-8",
    )
    names: dict[str, Any] = {"__name__": path.stem}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    loops("python")
    bridge.grad(names["f"])(np.ones(4))
    ran = loops("c")
    bridge.grad(names["f"])(np.ones(4))
    assert names["KINDS"][0] == names["KINDS"][1]
    is_refused = any("of another type" in one for one in looping.REASONS.values())
    assert is_refused == (name == "a float on one way") != bool(ran)


def test_views_of_a_large_argument_move_with_it(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any) -> Any:
        part = v[1:]
        view = v[1:]
        for i in range(4):
            part[i + 1] = part[i + 1] * view[i]
        return np.sum(view[:6])

    v = np.linspace(0.5, 1.5, 200_000)
    loops("python")
    expected = bridge.value_and_grad(program)(v)
    ran = loops("c")
    value, gradient = bridge.value_and_grad(program)(v)
    assert ran == [4]
    assert value == expected[0]
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12)


ARGUMENT = np.arange(1.0, 5.0)


def reads_its_argument(v: Any) -> Any:
    for i in range(4):
        v[i] = v[i] * ARGUMENT[i - 1]
    return np.sum(v)


def writes_its_argument(v: Any) -> Any:
    shown = ARGUMENT[::-1]
    for i in range(3):
        shown[i] = 2.0
    return np.sum(v * v)


def may_write_its_arguments(v: Any, w: Any) -> Any:
    for i in range(4):
        if v[i] > 9.0:
            v[i] = w[i]
    return np.sum(v * w)


@pytest.mark.parametrize("program", [reads_its_argument, writes_its_argument, may_write_its_arguments])
def test_python_writes_arguments_under_other_names(
    program: Callable[..., Any], loops: Callable[[str], list[int]]
) -> None:
    args = (ARGUMENT,) if program is not may_write_its_arguments else (ARGUMENT, ARGUMENT[::-1])
    loops("python")
    expected = bridge.value_and_grad(program, argnums=tuple(range(len(args))))(*args)
    ran = loops("c")
    value, gradients = bridge.value_and_grad(program, argnums=tuple(range(len(args))))(*args)
    if program is may_write_its_arguments:
        assert not ran
        assert any("argument" in one for one in looping.REASONS.values())
    assert value == expected[0]
    np.testing.assert_array_equal(gradients, expected[1])
    np.testing.assert_array_equal(ARGUMENT, [1.0, 2.0, 3.0, 4.0])


def test_a_write_that_does_not_happen_shows_under_no_other_name(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any) -> Any:
        for i in range(4):
            if v[i] > 9.0:
                v[i] = 0.0
        return np.sum(v * ARGUMENT)

    loops("c")
    np.testing.assert_array_equal(bridge.grad(program)(ARGUMENT), ARGUMENT)


def test_a_write_that_changes_nothing_shows_under_the_other_names(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any, k: Any) -> Any:
        for i in range(4):
            v[i] *= k
        return np.sum(v * named()[0])

    def named() -> Any:
        return [ARGUMENT]

    loops("python")
    expected = bridge.grad(program, argnums=(0, 1))(ARGUMENT, 1.0)
    ran = loops("c")
    found = bridge.grad(program, argnums=(0, 1))(ARGUMENT, 1.0)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)
    assert ran == [3]
    assert found[1] == 2.0 * np.sum(ARGUMENT**2)


def test_a_write_into_an_argument_with_other_names_is_compiled(loops: Callable[[str], list[int]]) -> None:
    def program(v: Any, k: Any) -> Any:
        for i in range(4):
            v[i] *= k
        return np.sum(v * ARGUMENT)

    ran = loops("c")
    found = bridge.grad(program)(ARGUMENT, 2.0)
    assert ran == [4]
    np.testing.assert_allclose(found, 8.0 * ARGUMENT, rtol=1e-14)


def test_arrays_without_gradient_are_left_as_numpys(loops: Callable[[str], list[int]]) -> None:
    tracked: list[bool] = []

    def program(v: Any) -> Any:
        for i in range(4):
            whole, half = np.ones(3), v > 0.5
            v[i] *= 2.0
        for one in (whole, half):
            tracked.append(is_tracked(one))
        whole[0] = v[0]
        return np.sum(whole) + np.sum(half)

    ran = loops("c")
    np.testing.assert_array_equal(bridge.grad(program)(np.ones(4)), [2.0, 0.0, 0.0, 0.0])
    assert ran == [4]
    assert tracked == [False, False]


@contextmanager
def taken_over(seed: int) -> Iterator[None]:
    """Inside, Python runs some iterations before compiled code does, and compiled code stops where it need not."""
    choices = random.Random(seed)
    run, forward = running.Beginning.run, Run.forward

    def now_and_then(self: Any) -> Any:
        return None if choices.random() < 0.4 else run(self)

    def stopped(self: Run, limit: int = 1 << 62, discards: bool = False) -> int:
        done = forward(self, limit, discards)
        if limit == 1 << 62 and done and choices.random() < 0.3:
            self.frame.finished = 0
            done = choices.randrange(done)
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running.Beginning, "run", now_and_then)
        patch.setattr(Run, "forward", stopped)
        yield


@contextmanager
def in_parts(seed: int) -> Iterator[None]:
    """Inside, the log of a loop under `memory=` is made again in parts of few iterations, from few snapshots."""
    choices = random.Random(seed)

    def schedule(size: Size, allowed: int) -> Placement:
        length, slots = choices.randrange(1, 4), choices.randrange(1, 4)
        return placed(-(-size.iterations // length), slots, length)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "schedule_of", schedule)
        yield


def check_seed(seed: int, folder: Path, loops: Callable[[str], list[int]]) -> bool:
    """One random program, compared; whether a loop ran in C."""
    path = folder / f"loops_{seed}.py"
    path.write_text(Generator(seed).source(), encoding="utf-8")
    names: dict[str, Any] = {"__name__": path.stem}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    generator = np.random.default_rng(seed)
    dtypes = random.Random(seed).choice(([np.float64] * 3, [np.float32] * 3, [np.float32, np.float64, np.float32]))
    shapes = (5, 5), (5, 5), (5,)
    arrays = [generator.standard_normal(shape).astype(dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    args = (*arrays, np.float32(0.7) if seed % 4 == 1 else 0.7)
    if seed % 3 == 0:
        args = (np.asfortranarray(args[0]), *args[1:])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, is_single = False, any(one.dtype == np.float32 for one in map(np.asarray, args))
        for differentiated in (bridge.value_and_grad(names["f"], argnums=(0, 1, 2, 3)), pushed(names["f"], generator)):
            loops("python")
            expected = outcome(differentiated, args)
            if len(expected[1]) > 1:
                loops("c")
                bounded = bridge.value_and_grad(names["f"], argnums=(0, 1, 2, 3), memory="1GB")
                with in_parts(seed):
                    compare(outcome(bounded, args), expected, is_single)
                with in_parts(seed), taken_over(seed):
                    compare(outcome(bounded, args), expected, is_single)
            ran = loops("c")
            compare(outcome(differentiated, args), expected, is_single)
            with taken_over(seed):
                compare(outcome(differentiated, args), expected, is_single)
            found |= bool(ran)
    return found


def pushed(program: Callable[..., Any], generator: np.random.Generator) -> Callable[..., Any]:
    """The value and the tangent of a program, along the same tangents each time; some may be absent."""
    seed = int(generator.integers(1 << 32))

    def both(*args: Any) -> Any:
        numbers = np.random.default_rng(seed)
        tangents = [
            None if numbers.random() < 0.2 else np.asarray(x).dtype.type(numbers.standard_normal(np.shape(x)))
            for x in args
        ]
        value, tangent = bridge.jvp(program, args, tangents)
        return value, (tangent,)

    return both


def compare(found: Any, expected: Any, is_single: bool = False) -> None:
    """Values are the same bits, gradients close, and errors the same; where it `is_single`, float32 is in them."""
    if isinstance(expected[0], type):
        assert found == expected
        return
    assert not isinstance(found[0], type), found
    assert type(found[0]) is type(expected[0])
    assert np.asarray(found[0]).tobytes() == np.asarray(expected[0]).tobytes()
    is_single |= any(one.dtype == np.float32 for one in map(np.asarray, expected[1]))
    tolerance = 1e-4 if is_single else 1e-9
    for one, other in zip(found[1], expected[1], strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        scale = np.max(np.abs(other), initial=0.0, where=np.isfinite(other))
        np.testing.assert_allclose(one, other, tolerance, tolerance * scale)


def test_random_loops(tmp_path: Path, loops: Callable[[str], list[int]]) -> None:
    assert sum([check_seed(seed, tmp_path, loops) for seed in range(20)]) > 8


@pytest.mark.ci
@pytest.mark.parametrize("first", range(100, 220, 30))
def test_more_random_loops(first: int, tmp_path: Path, loops: Callable[[str], list[int]]) -> None:
    assert sum([check_seed(seed, tmp_path, loops) for seed in range(first, first + 30)]) > 14


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 21_000, 100))
def test_many_random_loops(first: int, tmp_path: Path, loops: Callable[[str], list[int]]) -> None:
    for seed in range(first, first + 100):
        check_seed(seed, tmp_path, loops)
