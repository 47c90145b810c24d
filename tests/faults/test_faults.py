"""A sample of programs, with faults at a sample of their points; `python -m tests.faults 200` tries many more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ContextError
from bridge.extend import RULES
from bridge.rewind.memory import ArrayMemory
from bridge.rewind.writes import Write
from bridge.source import lending
from tests.faults.dealing import Evenly
from tests.faults.points import ERRORS, Faults
from tests.faults.subjects import Subject, drawn, recorded
from tests.faults.trial import Trial

MARKED = recorded()[::95]


@pytest.mark.ci
@pytest.mark.parametrize("subject", MARKED, ids=lambda subject: subject.name)
@pytest.mark.filterwarnings("ignore")
def test_after_a_fault_everything_is_as_before(subject: Subject) -> None:
    verdict = Trial(subject, most=6).run()
    assert verdict.tried > 0
    assert verdict.violations == []


@pytest.mark.ci
@pytest.mark.parametrize("count", (1, pytest.param(8, marks=pytest.mark.nightly)))
def test_random_programs_after_faults(count: int) -> None:
    for subject in drawn(count):
        assert Trial(subject, most=4).run().violations == []


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("subject", recorded()[::40], ids=lambda subject: subject.name)
def test_every_point_and_every_error(subject: Subject) -> None:
    for first in range(len(ERRORS)):
        assert Trial(subject, 1000, Evenly(first)).run().violations == []


def squares(x: Any) -> Any:
    """Writes, updates and a view, so that a sweep undoes something at each step."""
    y = np.zeros_like(x)
    y[1:] = np.sin(x[:-1])
    y *= x
    y[::2] += y[1::2]
    return np.sum(y * y)


X = np.linspace(0.1, 1.2, 6)


def pulled(at: int, error: type[BaseException], f: Any = squares) -> tuple[Any, str]:
    """What a second pull gives after a fault in the first, and where the fault was."""
    _, pull = bridge.vjp(f, X)
    with Faults(at, error).injected() as faults, pytest.raises(error):
        pull(1.0)
    return pull(1.0)[0], faults.where


def points(f: Any = squares) -> int:
    _, pull = bridge.vjp(f, X)
    with Faults().injected() as faults:
        pull(1.0)
    return faults.passed


@pytest.mark.ci
@pytest.mark.parametrize("f", [squares, bridge.checkpoint(squares)], ids=["plain", "checkpointed"])
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_pull_that_was_interrupted_goes_on_or_says_that_it_cannot(error: type[BaseException], f: Any) -> None:
    """It played forward from the beginning of what it had undone, also what was played already: another gradient."""
    expected, told = bridge.grad(squares)(X), 0
    for at in range(1, points(f) + 1):
        try:
            found, where = pulled(at, error, f)
        except ContextError as refused:
            told += 1
            assert "an earlier backward pass of this pull was interrupted while it put memory back" in str(refused)
            assert "remedy: call vjp again" in str(refused)
        else:
            assert np.array_equal(found, expected), where
    assert 0 < told < points(f)


def test_a_gradient_of_a_context_that_was_interrupted() -> None:
    with bridge.Context() as context:
        x = context.buffer(X)
        y = squares(x)
        expected = context.gradient(y, x)
        with Faults(40, KeyboardInterrupt).injected(), pytest.raises(KeyboardInterrupt):
            context.gradient(y, x)
        assert np.array_equal(context.gradient(y, x), expected)


def test_an_interrupt_during_playing_forward_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two entries memory and the log fit each other: the next pull plays the rest."""
    _, pull = bridge.vjp(squares, X)
    expected = pull(1.0)[0]
    calls = 0

    def woken(entry: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return ()

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Write, "woken", woken)
        pull(1.0)
    assert np.array_equal(pull(1.0)[0], expected)


class Model:
    """Holds arrays that a program writes into."""

    def __init__(self) -> None:
        self.u, self.v, self.w = np.ones(3), np.full(3, 2.0), [np.zeros(3)]

    def __call__(self, x: Any) -> Any:
        self.u[:] = x * 2
        self.v += self.u
        self.w[0][1] = self.v[0]
        return np.sum(self.v * self.w[0][1])


@pytest.mark.ci
@pytest.mark.parametrize("error", ERRORS)
def test_every_lent_array_is_given_back_whatever_fails(error: type[BaseException]) -> None:
    """Also where giving back one of them fails; then it was the others that kept the pattern of NaNs."""
    model, x = Model(), np.array([0.3, 0.4, 0.5])
    expected = bridge.grad(model)(x)
    with Faults().injected() as faults:
        bridge.grad(model)(x)
    for at in range(1, faults.passed + 1):
        with Faults(at, error).injected() as raising, pytest.raises(error):
            bridge.grad(model)(x)
        held = (model.u, model.v, model.w[0])
        assert [one.tolist() for one in held] == [[1.0] * 3, [2.0] * 3, [0.0] * 3], raising.where
        assert not lending.LENT, raising.where
        assert np.array_equal(bridge.grad(model)(x), expected), raising.where


@pytest.mark.ci
def test_a_pull_lends_again_and_gives_back_whatever_fails() -> None:
    model, x = Model(), np.array([0.3, 0.4, 0.5])
    _, pull = bridge.vjp(model, x)
    expected = pull(1.0)[0]
    with Faults().injected() as faults:
        pull(1.0)
    for at in range(1, faults.passed + 1):
        _, pull = bridge.vjp(model, x)
        with Faults(at, KeyboardInterrupt).injected() as raising, pytest.raises(KeyboardInterrupt):
            pull(1.0)
        assert [one.tolist() for one in (model.u, model.v, model.w[0])] == [[1.0] * 3, [2.0] * 3, [0.0] * 3]
        assert not lending.LENT, raising.where
    assert np.array_equal(bridge.vjp(model, x)[1](1.0)[0], expected)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("which", range(4))
def test_an_engine_that_fails(error: type[BaseException], which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pulls of an engine raise, one after the other: the arrays, the pull and the next call are right."""
    calls = 0
    rule = RULES[np.sin]
    assert rule.per_argument is not None
    (pull_of_sin,) = rule.per_argument

    def failing(ct: Any, out: Any, *args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == which + 1:
            raise error("the engine has failed")
        return pull_of_sin(ct, out, *args)

    def f(x: Any) -> Any:
        for _ in range(4):
            x[1:] = np.sin(x[:-1]) + x[1:]
        return np.sum(x)

    expected, x = bridge.grad(f)(X.copy()), X.copy()
    monkeypatch.setattr(rule, "per_argument", (failing,))
    _, pull = bridge.vjp(f, x)
    with pytest.raises(error) as caught:
        pull(1.0)
    assert isinstance(caught.value, Exception) is bool(getattr(caught.value, "__notes__", []))
    assert np.array_equal(x, X)
    assert np.array_equal(pull(1.0)[0], expected)
    assert np.array_equal(bridge.grad(f)(x), expected)


def test_memory_that_runs_out_in_a_swap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy that a swap makes is what a backward pass asks for: nothing is exchanged by halves unnoticed."""
    swap, calls = ArrayMemory.swap, 0

    def failing(memory: Any, array: Any, key: Any, saved: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise MemoryError
        return swap(memory, array, key, saved)

    _, pull = bridge.vjp(squares, X)
    with monkeypatch.context() as patched, pytest.raises(MemoryError):
        patched.setattr(ArrayMemory, "swap", failing)
        pull(1.0)
    with pytest.raises(ContextError, match="interrupted while it put memory back"):
        pull(1.0)
    assert np.array_equal(bridge.vjp(squares, X)[1](1.0)[0], bridge.grad(squares)(X))
