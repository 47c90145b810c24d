"""What is left in the middle, or comes in between: generators, coroutines, finalisers, callbacks, tracers, handlers."""

from __future__ import annotations

import asyncio
import contextvars
import faulthandler
import gc
import signal
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeError, ContextError, ReplayError
from tests.faults.points import ERRORS, Failing, Faults

X = np.linspace(0.1, 0.9, 4)


def slope(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


EXPECTED = bridge.grad(slope)(X)


def opened(ended: list[str] | None = None) -> Iterator[Any]:
    """Holds a context open between two values."""
    with bridge.Context() as context:
        x = context.buffer(X)
        y = slope(x)
        yield context
        yield context.gradient(y, x)
    if ended is not None:
        ended.append("ended")


def is_clean() -> bool:
    return bridge.current_context() is None and np.array_equal(bridge.grad(slope)(X), EXPECTED)


@pytest.mark.parametrize("how", ["closed", "thrown into", "dropped", "in a cycle", "ended"])
def test_a_generator_that_is_left_in_its_context(how: str) -> None:
    held = opened()
    next(held)
    if how == "closed":
        held.close()
    elif how == "thrown into":
        with pytest.raises(Failing):
            held.throw(Failing())
    elif how == "in a cycle":
        cycle: list[Any] = [held]
        cycle.append(cycle)
        del cycle
    elif how == "ended":
        assert np.array_equal(next(held), EXPECTED)
        assert list(held) == []
    del held
    gc.collect()
    assert is_clean()


@pytest.mark.parametrize("count", [2, 3, 5])
def test_contexts_that_are_closed_in_the_order_in_which_they_were_opened(count: int) -> None:
    """The inner one stood on one that had closed, and left that current for good."""
    held = [opened() for _ in range(count)]
    contexts = [next(each) for each in held]
    assert bridge.current_context() is contexts[-1]
    assert np.array_equal(next(held[0]), EXPECTED)
    for number, each in enumerate(held):
        each.close()
        assert bridge.current_context() is (contexts[-1] if number < count - 1 else None)
    assert is_clean()


def test_what_an_inner_context_computes_when_the_outer_one_has_closed_is_refused() -> None:
    outer, inner = opened(), opened()
    next(outer)
    next(inner)
    outer.close()
    with pytest.raises(ContextError, match="used outside its context, which has closed"):
        next(inner)
    assert is_clean()


@pytest.mark.parametrize("inside", [False, True])
def test_a_context_that_another_thread_closes(inside: bool) -> None:
    """As gc does, which runs wherever it is due: the context was current here for good."""
    outer, held = opened(), opened()
    if inside:
        next(outer)
    next(held)
    thread = threading.Thread(target=held.close)
    thread.start()
    thread.join()
    if inside:
        assert np.array_equal(next(outer), EXPECTED)
        outer.close()
    assert is_clean()


def test_a_context_that_was_opened_in_a_copy_of_the_variables() -> None:
    held = opened()
    contextvars.copy_context().run(next, held)
    assert is_clean()
    assert np.array_equal(next(held), EXPECTED)
    held.close()
    assert is_clean()


def test_a_coroutine_and_an_asynchronous_generator_that_are_left() -> None:
    async def waits() -> Any:
        with bridge.Context() as context:
            x = context.buffer(X)
            await asyncio.sleep(10)
            return x

    async def yields() -> Any:
        with bridge.Context() as context:
            yield context.buffer(X)

    async def all_of_them() -> Any:
        tasks = [asyncio.create_task(waits()) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        after = bridge.grad(slope)(X)
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        many = yields()
        assert (await anext(many)).shape == X.shape
        await many.aclose()
        return after, bridge.current_context()

    found, current = asyncio.run(all_of_them())
    assert np.array_equal(found, EXPECTED)
    assert current is None
    assert is_clean()


class Layer:
    """Writes into arrays that it has had all along."""

    def __init__(self) -> None:
        self.w = np.ones(4)

    def __call__(self, x: Any) -> Any:
        self.w[1:] *= x[:-1]
        y = np.tanh(self.w) * x
        y[::2] += y[1::2]
        return np.sum(y * y)


OF_LAYER = bridge.grad(Layer())(X)


class Between(Faults):
    """Does something at one point in the place of raising; what that does passes no points."""

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        super().__init__(at)
        self.act = act
        self.acts = False

    def point(self, where: str) -> None:
        if self.acts:
            return
        self.passed += 1
        if self.passed == self.at:
            self.where, self.acts = where, True
            try:
                self.act()
            finally:
                self.acts = False


class Finalised:
    """Differentiates when it goes, and then raises, which Python reports and passes over."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act

    def __del__(self) -> None:
        self.act()
        raise Failing("of a finaliser")


def plainly(act: Callable[[], None]) -> None:
    act()


def in_a_finaliser(act: Callable[[], None]) -> None:
    Finalised(act)


def in_a_cycle_that_is_collected(act: Callable[[], None]) -> None:
    one = Finalised(act)
    one.itself = one  # type: ignore[attr-defined]
    del one
    gc.collect(0)


def in_a_weak_reference(act: Callable[[], None]) -> None:
    class Gone:
        pass

    def called(_: Any) -> None:
        act()
        raise Failing("of a callback")

    one = Gone()
    reference = weakref.ref(one, called)
    del one
    assert reference() is None


def in_gc(act: Callable[[], None]) -> None:
    def called(phase: str, _: Any) -> None:
        if phase == "start":
            act()
            raise Failing("of gc's callback")

    gc.callbacks.append(called)
    try:
        gc.collect(0)
    finally:
        gc.callbacks.remove(called)


def in_a_handler(act: Callable[[], None]) -> None:
    before = signal.signal(signal.SIGINT, lambda *_: act())
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


COMES_BETWEEN = (plainly, in_a_finaliser, in_a_cycle_that_is_collected, in_a_weak_reference, in_gc, in_a_handler)


@pytest.mark.parametrize("between", COMES_BETWEEN, ids=lambda one: one.__name__)
@pytest.mark.parametrize("stride", (11, 1))
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_another_differentiation_in_between(between: Callable[[Any], None], stride: int) -> None:
    """At points forward and backward Python runs something that differentiates, and both gradients are right."""
    found: list[Any] = []

    def act() -> None:
        gradient = bridge.grad(slope)(X)
        found.append(gradient if type(gradient) is np.ndarray else bridge.detach(gradient))
        other = Layer()
        found.append(bridge.detach(bridge.grad(other)(X)))
        assert other.w.tolist() == [1.0] * 4

    layer = Layer()
    with Faults().injected() as faults:
        bridge.grad(layer)(X)
    for at in range(1, faults.passed + 1, stride):
        found.clear()
        with Between(at, lambda: between(act)).injected() as here:
            gradient = bridge.grad(layer)(X)
        assert np.array_equal(gradient, OF_LAYER), here.where
        assert len(found) == 2, here.where
        assert np.array_equal(found[0], EXPECTED), here.where
        assert np.array_equal(found[1], OF_LAYER), here.where
        assert layer.w.tolist() == [1.0] * 4
    assert is_clean()


@pytest.mark.parametrize("stride", (7, 1))
def test_the_same_object_in_between(stride: int) -> None:
    """Of what an object holds half of a call has been written: another call with it is right, or refused by name."""
    layer, told = Layer(), 0

    def act() -> None:
        found = bridge.detach(bridge.grad(layer)(X))
        assert np.array_equal(found, OF_LAYER)

    with Faults().injected() as faults:
        bridge.grad(layer)(X)
    for at in range(1, faults.passed + 1, stride):
        try:
            with Between(at, act).injected() as here:
                assert np.array_equal(bridge.grad(layer)(X), OF_LAYER), here.where
        except BridgeError as refused:
            told += 1
            assert refused.remedy
        assert layer.w.tolist() == [1.0] * 4
        assert np.array_equal(bridge.grad(layer)(X), OF_LAYER)
    assert told
    assert is_clean()


class Traced:
    """A debugger's, profiler's or coverage's function."""

    def __init__(self) -> None:
        self.lines: set[int] = set()
        self.calls = 0

    def trace(self, frame: Any, event: str, arg: Any) -> Any:
        if event == "line" and frame.f_code.co_filename == __file__:
            self.lines.add(frame.f_lineno)
        return self.trace

    def profile(self, frame: Any, event: str, arg: Any) -> None:
        self.calls += 1


def settings() -> dict[str, Any]:
    """What a library may change of the interpreter, and is to leave as it was."""
    return {
        "trace": sys.gettrace(),
        "profile": sys.getprofile(),
        "of threads": (threading.gettrace(), threading.getprofile()),
        "hooks": (sys.excepthook, sys.unraisablehook, sys.displayhook, threading.excepthook, sys.breakpointhook),
        "asyncio": sys.get_asyncgen_hooks(),
        "coroutines": sys.get_coroutine_origin_tracking_depth(),
        "limit": sys.getrecursionlimit(),
        "interval": sys.getswitchinterval(),
        "gc": (gc.isenabled(), gc.get_threshold(), gc.get_debug(), list(gc.callbacks), gc.get_freeze_count()),
        "warnings": (list(warnings.filters), warnings.showwarning),
        "errors": (np.geterr(), np.geterrcall()),
        "printing": np.get_printoptions(),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
        "faulthandler": faulthandler.is_enabled(),
        "streams": (sys.stdout, sys.stderr, sys.stdin),
        "path": (list(sys.path), list(sys.meta_path), list(sys.path_hooks)),
        "random": np.random.get_state()[1].tolist(),  # type: ignore[union-attr]
        "import": __import__,
    }


@pytest.mark.ci
@pytest.mark.parametrize("error", [None, *ERRORS])
@pytest.mark.parametrize("way", ["grad", "checkpoint", "jvp", "pull"])
def test_what_the_user_has_set_stays(way: str, error: type[BaseException] | None) -> None:
    """Functions for tracing and profiling, hooks, handlers and filters, after a call and after one that fails."""
    user, layer = Traced(), Layer()
    calls: dict[str, Callable[[], Any]] = {
        "grad": lambda: bridge.grad(layer)(X),
        "checkpoint": lambda: bridge.grad(bridge.checkpoint(layer))(X),
        "jvp": lambda: bridge.jvp(layer, (X,), (np.ones(4),)),
        "pull": lambda: bridge.vjp(layer, X)[1](1.0),
    }
    call = calls[way]
    call()
    before_all = sys.gettrace(), sys.getprofile()
    sys.settrace(user.trace)
    sys.setprofile(user.profile)
    try:
        before = settings()
        with Faults(0 if error is None else 25, error or Failing).injected():
            try:
                call()
            except BaseException as raised:
                if error is None or not isinstance(raised, error):
                    raise
        after = settings()
    finally:
        sys.setprofile(before_all[1])
        sys.settrace(before_all[0])
    assert after == before
    assert user.calls > 0
    first = Layer.__call__.__code__.co_firstlineno
    assert first + 1 in user.lines


def test_what_a_checkpoint_reads_is_gone_when_it_is_run_again() -> None:
    """It came as the program's own KeyError, out of a call of `pull`."""
    tables = {"a": np.array([1.0, 2.0, 3.0, 4.0])}

    def f(x: Any) -> Any:
        return np.sum(np.exp(x) * tables["a"])

    x = X.copy()
    _, pull = bridge.vjp(bridge.checkpoint(f), x)
    kept = tables.pop("a")
    with pytest.raises(ReplayError, match=r"checkpoint\(f\) raised KeyError when it was run again .*\('a'\)") as caught:
        pull(1.0)
    assert "remedy: make it depend on its arguments only" in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)
    tables["a"] = kept
    x[:] = np.nan
    assert np.array_equal(pull(1.0)[0], np.exp(X) * kept)


@pytest.mark.parametrize("engine", ["native", "eager"])
def test_a_pull_after_everything_it_has_seen_was_changed_or_deleted(engine: str) -> None:
    """Arguments, arrays of the program's, indices, masks: kept as they were when the function ran."""
    held = {
        "table": np.array([1.0, 2.0, 3.0, 4.0]),
        "index": np.array([3, 0, 0, 1]),
        "mask": np.array([True, False, True, True]),
        "number": 2.0,
    }

    def f(x: Any) -> Any:
        y = x * held["table"]
        y[held["mask"]] = x[held["index"]][held["mask"]] * held["number"]
        x[:2] *= y[2:]
        return np.sum(x * np.sin(y) * held["table"])

    expected, x = bridge.grad(f)(X), X.copy()
    _, pull = bridge.vjp(f, x, engine=engine)
    x[:] = np.nan
    for each in held.values():
        if isinstance(each, np.ndarray):
            each[...] = 0
    del x
    held.clear()
    gc.collect()
    for _ in range(2):
        assert np.array_equal(pull(1.0)[0], expected)
