"""Bodies are recorded once and replayed: how often Python runs them, what replays cost, and when a tape is dropped."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

from bridge.errors import TraceError
from bridge.rewind import replayed
from bridge.rewind.operands import Fixed, Retake
from bridge.rewind.replayed import Known
from bridge.rewind.tape import Recorder
from bridge.xla.loops.loop_state import LoopState
from bridge.xla.tracing.context import TraceContext

X, V = np.linspace(0.1, 0.8, 6), np.linspace(-1.0, 1.0, 6)


def one(x: Any) -> Any:
    s = 1.0
    for i in range(6):
        s = 0.9 * s + np.sin(x[i] * s)
    return s


def two(x: Any) -> Any:
    s = 1.0
    for i in range(6):
        for j in range(6):
            s = 0.9 * s + np.sin(x[i] * s) * x[j]
    return s


def three(x: Any) -> Any:
    s = 1.0
    for i in range(6):
        for j in range(6):
            for k in range(6):
                s = 0.9 * s + 0.1 * np.sin(x[i] * s) * x[j] * x[k]
    return s


def four(x: Any) -> Any:
    s = 1.0
    for i in range(6):
        for j in range(6):
            for k in range(6):
                for m in range(6):
                    s = 0.9 * s + 0.1 * np.sin(x[i] * s) * x[j] * x[k] + 0.01 * x[m]
    return s


def writes_rows(x: Any) -> Any:
    a = np.outer(x, x) + np.eye(6)
    for i in range(6):
        for j in range(i):
            a[i, j] = np.tanh(a[i, j] - a[i, :j] @ a[j, :j])
    return np.sum(a**2)


def reads_an_index_of_an_inner_loop(x: Any) -> Any:
    z = 0.0
    for i in range(6):
        s = 0.0
        for j in range(6):
            s += np.sin(x[j] * x[i])
        z += s * x[j]
    return z


def is_left_early(x: Any) -> Any:
    y = x.copy()
    for i in range(6):
        k = 0
        while k < 6 and y[k] < 0.9:
            y[k] += 0.3 * np.sin(x[i])
            k += 1
    return np.sum(y * y)


def branches(x: Any) -> Any:
    y = np.zeros(6)
    for i in range(6):
        for j in range(6):
            if x[i] > x[j]:
                y[i] += x[i] * x[j]
            else:
                y[j] *= np.cos(x[i])
    return np.sum(y * y)


def differentiates_inside(x: Any) -> Any:
    s = 0.0
    for i in range(6):
        s = s + bridge.grad(lambda t: np.sin(t) * t)(x[i])
    return s


def counts(x: Any) -> Any:
    c, y = np.zeros(6, dtype=int), x.copy()
    for i in range(6):
        for j in range(6):
            c[j] += 1
            y[j] += np.sin(x[c[i] % 6])
    return np.sum(y * y)


def gradients_arrive_turn_by_turn(x: Any) -> Any:
    """Numbers that an inner loop takes from outside carry a gradient from the second or the third turn on."""
    y, w, z, v = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    for i in range(6):
        for _ in range(2):
            s = w[0] * 0.2
            for j in range(3):
                v[j] += s * 0.5 + 0.1
            t = y[0] * 0.15
            for j in range(3):
                z[j] += t * 0.3
            w[0] += z[1]
        y[0] += np.sin(x[i])
    return np.sum(v * v * v)


PROGRAMS = [
    gradients_arrive_turn_by_turn,
    one,
    two,
    three,
    writes_rows,
    reads_an_index_of_an_inner_loop,
    is_left_early,
    branches,
    differentiates_inside,
    counts,
]


def hvp(f: Any) -> Callable[[Any, Any], Any]:
    return lambda x, v: bridge.hvp(f, (x,), (v,))


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives_are_those_of_the_default_engine(program: Any) -> None:
    found = bridge.hvp(program, (X,), (V,), engine="xla")
    np.testing.assert_allclose(found, bridge.hvp(program, (X,), (V,)), rtol=1e-10, atol=1e-12)


def test_what_cannot_be_recorded_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python never runs in place of a tape."""
    call = Recorder.call

    def fails(self: Recorder, *what: Any) -> Any:
        self.fail("an operand is a Mystery")
        return call(self, *what)

    monkeypatch.setattr(Recorder, "call", fails)
    with pytest.raises(TraceError, match="cannot be recorded: an operand is a Mystery") as told:
        bridge.grad(two, engine="xla")(X)
    assert "test_tape.py" in str(told.value)
    assert 'engine="native"' in str(told.value)


@pytest.mark.parametrize("transform", [bridge.grad, hvp])
def test_a_loop_in_a_body_that_writes_what_is_carried(transform: Any) -> None:
    """The second derivative needs what the inner loop overwrites, too."""

    def program(x: Any) -> Any:
        def body(i: Any, a: Any) -> Any:
            def inner(j: Any, w: Any) -> Any:
                w[j] *= 1 + 0.1 * w[j + 1]
                return w

            return bridge.fori_loop(0, 2, inner, a)

        return np.sum(bridge.fori_loop(0, 3, body, x.copy()) ** 2)

    args = (X,) if transform is bridge.grad else (X, V)
    found, expected = (bridge.xla(transform(program))(*args), transform(program)(*args))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def cube(x: Any) -> Any:
    return x**3


@pytest.mark.parametrize("transform", [bridge.grad, hvp])
def test_a_rule_of_the_program_in_a_loop(transform: Any) -> None:
    factor = 3
    cubed = bridge.rule(cube)(lambda ct, out, x: ct * factor * x * x)

    def program(x: Any) -> Any:
        y = x * 1.0
        for _ in range(5):
            y[:] = cubed(y) * 0.5 + y
        return np.sum(y)

    args = (X,) if transform is bridge.grad else (X, V)
    np.testing.assert_allclose(bridge.xla(transform(program))(*args), transform(program)(*args), rtol=1e-12)


def recorder() -> Any:
    """A recorder of a context that nothing is asked of."""
    trace = SimpleNamespace(atoms_now=lambda: 0)
    return Recorder(SimpleNamespace(level=1, home=SimpleNamespace(trace=trace)), None)


def test_a_function_that_is_handed_to_another_one() -> None:
    """It is the same one in a replay as long as it reads what it has read."""
    factor: Any = 2.0
    found = recorder().operand(lambda r: r * factor)
    assert found.value(None)(3.0) == 6.0
    factor = 4.0
    with pytest.raises(Retake):
        found.value(None)


@pytest.mark.parametrize("held", [[1.0], {"a": 1.0}, np.array([object()]), SimpleNamespace(a=1.0)])
def test_a_function_that_reads_what_may_change_is_not_recorded(held: Any) -> None:
    one = recorder()
    one.operand(lambda r: r * held)
    assert type(held).__name__ in one.failed or "an operand is a" in one.failed


def test_a_function_that_calls_itself() -> None:
    def factorial(n: int) -> int:
        return 1 if n < 2 else n * factorial(n - 1)

    one = recorder()
    assert one.operand(factorial).value(None)(4) == 24
    assert one.failed is None


@pytest.mark.parametrize("transform", [bridge.grad, hvp])
def test_a_write_at_indices_that_depend_on_the_turn(transform: Any) -> None:
    """Which elements survive such a write is memory that the trace makes, also in a body of a context outside."""

    def program(x: Any) -> Any:
        k = np.array([3, 0, 5, 2, 0], like=x).astype(int)

        def body(i: Any, b: Any) -> Any:
            b[(k + i) % 6] *= x[k] * 0.5
            return b

        return np.sum(np.sin(bridge.fori_loop(0, 3, body, x.copy())))

    args = (X,) if transform is bridge.grad else (X, V)
    np.testing.assert_allclose(bridge.xla(transform(program))(*args), transform(program)(*args), rtol=1e-12)


def test_a_tape_that_is_dropped_while_another_context_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """The body is recorded anew then, and what it does is heard by the recorder of the context outside, too."""
    dropped: list[Any] = []
    replay = replayed.Event.replay

    def fails_once(self: replayed.Event, values: Any) -> None:
        recorder = self.context.home.trace.recorder
        if not dropped and recorder is not None and recorder.level < self.context.level:
            dropped.append(self)
            raise Retake
        replay(self, values)

    expected = bridge.hvp(two, (X,), (V,))
    monkeypatch.setattr(replayed.Event, "replay", fails_once)
    np.testing.assert_allclose(bridge.hvp(two, (X,), (V,), engine="xla"), expected, rtol=1e-10)
    assert dropped


def runs_of(transformed: Any, args: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often Python runs the body of a loop while a program is compiled, all loops together."""
    runs = 0
    begin = LoopState._set

    def counted(self: LoopState, k: Any) -> list[Any]:
        nonlocal runs
        runs += 1
        return begin(self, k)

    with monkeypatch.context() as patched:
        patched.setattr(LoopState, "_set", counted)
        bridge.xla(transformed).lower(*args)
    return runs


def third(f: Any) -> Callable[[Any, Any], Any]:
    return bridge.grad(lambda x, v: np.sum(bridge.hvp(f, (x,), (v,))))


@pytest.mark.ci
@pytest.mark.parametrize("program", [one, two, three])
def test_python_runs_no_more_often_for_another_order_of_derivative(
    program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = runs_of(bridge.grad(program), (X,), monkeypatch)
    assert runs_of(hvp(program), (X, V), monkeypatch) == first
    assert runs_of(third(program), (X, V), monkeypatch) == first


@pytest.mark.ci
def test_each_loop_adds_as_many_runs_of_its_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two trials, and the recording, which must do the same; a loop inside is met again in each but the first."""
    found = [runs_of(hvp(f), (X, V), monkeypatch) for f in (one, two, three, four)]
    assert found[0] == 3
    assert np.all(np.diff(found, 2) == 4), found


@pytest.mark.ci
def test_operations_of_second_derivatives_do_not_double_with_each_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    operations = 0
    count = TraceContext.count

    def counted(self: Any) -> None:
        nonlocal operations
        operations += 1
        count(self)

    monkeypatch.setattr(TraceContext, "count", counted)
    found = []
    for program in (two, three, four):
        operations = 0
        bridge.xla(hvp(program)).lower(X, V)
        found.append(operations)
    assert found[2] / found[1] < found[1] / found[0] < 2.5


@pytest.mark.ci
def test_a_tape_that_does_not_hold_in_a_trial_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python runs the body once more, which is recorded anew."""
    dropped: list[Any] = []
    replay = replayed.Event.replay

    def fails_once(self: replayed.Event, values: Any) -> None:
        if not dropped:
            dropped.append(self)
            raise Retake
        replay(self, values)

    first = runs_of(bridge.grad(two), (X,), monkeypatch)
    monkeypatch.setattr(replayed.Event, "replay", fails_once)
    assert runs_of(bridge.grad(two), (X,), monkeypatch) > first
    dropped.clear()
    found = bridge.grad(two, engine="xla")(X)
    assert dropped
    np.testing.assert_allclose(found, bridge.grad(two)(X), rtol=1e-12)


def test_what_the_program_was_told_must_hold_in_a_replay() -> None:
    """A number that is another one now, or is not known any more, has the tape dropped."""

    def told(now: Any) -> None:
        home = SimpleNamespace(known=lambda value: now)
        value = SimpleNamespace(place=SimpleNamespace(context=SimpleNamespace(home=home)))
        Known(Fixed(value), np.array([1, 2])).replay(None)

    told(np.array([1, 2]))
    for other in (np.array([1, 3]), None):
        with pytest.raises(Retake):
            told(other)


@pytest.mark.ci
def test_a_tape_that_does_not_hold_when_the_program_is_compiled_is_a_named_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    replay = replayed.Event.replay

    def fails(self: replayed.Event, values: Any) -> None:
        if not self.context.home.trace.is_dry:
            raise Retake
        replay(self, values)

    monkeypatch.setattr(replayed.Event, "replay", fails)
    with pytest.raises(TraceError, match="do something else when it was compiled") as told:
        bridge.grad(two, engine="xla")(X)
    assert "test_tape.py" in str(told.value)
    assert 'engine="native"' in str(told.value)
