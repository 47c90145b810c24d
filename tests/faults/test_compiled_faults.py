"""Compiled calls that fail while they are traced, compiled or run: nothing is left behind, and the next call is right.

`python -m tests.faults 40 --compiled` tries many more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from tests.faults.dealing import Evenly
from tests.faults.points import ERRORS, Failing
from tests.faults.subjects import Subject, recorded

jax = pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

from jax._src import compiler  # noqa: E402

from bridge.xla.compiling import persistent  # noqa: E402
from tests.faults.compiling import CompiledTrial  # noqa: E402

SUBJECTS = [one for one in recorded() if one.name.startswith("programs/")]


@pytest.mark.ci
@pytest.mark.parametrize("subject", SUBJECTS[:4], ids=lambda subject: subject.name)
@pytest.mark.filterwarnings("ignore")
def test_after_a_fault_everything_is_as_before(subject: Subject) -> None:
    prove(subject)


@pytest.mark.nightly
@pytest.mark.parametrize("subject", SUBJECTS[4::11], ids=lambda subject: subject.name)
@pytest.mark.filterwarnings("ignore")
def test_after_a_fault_in_other_programs_everything_is_as_before(subject: Subject) -> None:
    prove(subject)


def prove(subject: Subject) -> None:
    verdict = CompiledTrial(subject, 4, Evenly(1)).run(("xla of grad", "xla pull"))
    assert verdict.tried > 0 or verdict.unfit
    assert verdict.violations == []


def steps(x: Any) -> Any:
    """A loop that is kept as one, with a branch; of its log a bound leaves a part."""
    for i in range(100):
        x[1:] += 0.01 * np.sin(x[:-1])
        x *= 0.99
        if i % 2:
            x[0] += 0.1 * x[3]
    return np.sum(x * x)


def in_bridges_loop(x: Any) -> Any:
    def body(i: Any, x: Any) -> Any:
        x[1:] += 0.01 * np.sin(x[:-1]) * i
        return x

    return np.sum(bridge.fori_loop(0, 50, bridge.checkpoint(body), x) ** 2)


@pytest.mark.ci
@pytest.mark.parametrize("f", [steps, in_bridges_loop])
@pytest.mark.parametrize("way", ["bounded", "xla of grad", "engine"])
def test_loops_that_keep_little_after_a_fault(f: Any, way: str) -> None:
    subject = Subject(f.__name__, lambda: lambda x: f(x), lambda: (np.linspace(0.1, 1.0, 40),), (0,))
    verdict = CompiledTrial(subject, 8, Evenly(2)).run((way,))
    assert verdict.unfit == []
    assert verdict.tried == 8
    assert verdict.violations == []


class State:
    """What a program reads without being given it, in every kind of place; it fails when `fails` says so."""

    def __init__(self) -> None:
        self.fails: type[BaseException] | None = Failing
        self.rows, self.names, self.array, self.rate = [1.0, 2.0], {"k": 1.0}, np.array([1.0, 2.0]), 1.0
        self.nested = [[1.0], {"m": 1.0}]

    def __call__(self, x: Any) -> Any:
        y = (
            x * self.rows[0]
            + x * self.rows[-1]
            + x * self.names["k"]
            + x * self.array[0]
            + x * self.rate
            + x * self.nested[1]["m"]
        )
        if self.fails is not None:
            raise self.fails("now")
        return np.sum(y * y)


def item(state: State, value: float) -> None:
    state.rows[0] = value


def longer(state: State, value: float) -> None:
    state.rows.append(value)


def key(state: State, value: float) -> None:
    state.names["k"] = value


def element(state: State, value: float) -> None:
    state.array[0] = value


def attribute(state: State, value: float) -> None:
    state.rate = value


def nested(state: State, value: float) -> None:
    state.nested[1]["m"] = value


CHANGES = (item, longer, key, element, attribute, nested)
WAYS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "plain": bridge.xla,
    "gradient": lambda f: bridge.xla(bridge.grad(f)),
    "in jax.jit": lambda f: _in_jit(bridge.xla(f)),
    "lowered": lambda f: _lowered_first(bridge.xla(f)),
}


def _in_jit(f: Any) -> Any:
    # A new `jax.jit` for each call: JAX does not ask whether what a program reads has changed.
    return lambda x: float(jax.jit(lambda y: f(y))(x))


def _lowered_first(f: Any) -> Any:
    def call(x: Any) -> Any:
        f.lower(x)
        return f(x)

    return call


@pytest.mark.ci
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_is_read_is_watched_after_a_trace_that_failed(change: Callable[..., None], way: str) -> None:
    """What had changed between a trace that failed and the next one was taken for a log of the program's own."""
    x, state = np.ones(2), State()
    with jax.enable_x64(True):
        call = WAYS[way](state)
        for error in (Failing, KeyboardInterrupt):
            state.fails = error
            with pytest.raises(error):
                call(x)
        state.fails = None
        plain = bridge.grad(state) if way == "gradient" else state
        for value in (3.0, 5.0, 7.0):
            change(state, value)
            np.testing.assert_allclose(call(x), plain(x), rtol=1e-14)


X = np.linspace(0.1, 1.0, 6)


def writes(x: Any) -> Any:
    """Writes into its argument."""
    x[1:] *= np.sin(x[:-1])
    x += 1.0
    return np.sum(x * x)


EXPECTED = bridge.grad(writes)(X.copy())


@pytest.mark.ci
@pytest.mark.parametrize("error", [*ERRORS, jax.errors.JaxRuntimeError])
def test_a_compiler_that_fails(error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    """What XLA raises while it compiles, out of memory or otherwise, arrives; and the program compiles when it can."""

    def failing(*args: Any, **kwargs: Any) -> Any:
        raise error("RESOURCE_EXHAUSTED: Out of memory allocating 1 bytes")

    x, g = X.copy(), bridge.xla(bridge.grad(writes))
    for _ in range(2):
        with monkeypatch.context() as patched, pytest.raises(error, match="RESOURCE_EXHAUSTED"):
            patched.setattr(compiler, "backend_compile_and_load", failing)
            g(x)
        assert x.tobytes() == X.tobytes()
        assert g.compile_seconds == []
    for _ in range(2):
        np.testing.assert_allclose(g(x), EXPECTED, rtol=1e-13)
    assert len(g.compile_seconds) == 1


class Run:
    """A program that runs in the place of a compiled one, and fails when it is told to."""

    def __init__(self, run: Any) -> None:
        self.run, self.error = run, None

    def __call__(self, *args: Any) -> Any:
        if self.error is not None:
            raise self.error("RESOURCE_EXHAUSTED: Out of memory allocating 1 bytes")
        return self.run(*args)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, jax.errors.JaxRuntimeError])
def test_a_run_that_fails(error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiled program that runs out of memory, the first time and later: arguments, and the next call, are right."""
    made: list[Run] = []
    jit = jax.jit

    def jitted(*args: Any, **kwargs: Any) -> Any:
        made.append(Run(jit(*args, **kwargs)))
        return made[-1]

    x = X.copy()
    with monkeypatch.context() as patched:
        patched.setattr(jax, "jit", jitted)
        g = bridge.xla(bridge.grad(writes))
        np.testing.assert_allclose(g(x), EXPECTED, rtol=1e-13)
    for number in range(4):
        for run in made:  # tracing compiles parts of the program by itself
            run.error = error
        with pytest.raises(error, match="RESOURCE_EXHAUSTED"):
            g(x)
        for run in made:
            run.error = None
        assert x.tobytes() == X.tobytes(), number
        np.testing.assert_allclose(g(x), EXPECTED, rtol=1e-13)
    assert len(g.compile_seconds) == 1


def test_memory_that_xla_does_not_have() -> None:
    """XLA itself, asked for more than there is; a program without a gradient, and one with."""

    def huge(x: Any) -> Any:
        y = np.zeros((1 << 22, 1 << 22))
        y[0, :2] = x[:2]
        y[1:] += y[:-1]
        return np.sum(np.cumsum(y, axis=0)[::-1] * y)

    x = X.copy()
    for f in (bridge.xla(huge), bridge.xla(bridge.grad(huge))):
        for _ in range(2):
            with pytest.raises((MemoryError, jax.errors.JaxRuntimeError, bridge.errors.BridgeError)):
                f(x)
            assert x.tobytes() == X.tobytes()
    assert not jax.config.jax_enable_x64
    np.testing.assert_allclose(bridge.xla(bridge.grad(writes))(x), EXPECTED, rtol=1e-13)


@pytest.mark.ci
@pytest.mark.parametrize("error", [Failing, MemoryError, KeyboardInterrupt])
def test_a_callback_of_a_jax_program_that_raises(error: type[BaseException]) -> None:
    """A host callback beside a compiled program, in one of JAX's: the next call of either is right."""
    f, fails = bridge.xla(writes), True

    def back(x: Any) -> Any:
        if fails:
            raise error("of the callback")
        return x

    @jax.jit
    @jax.value_and_grad
    def both(x: Any) -> Any:
        return f(x) + jax.lax.stop_gradient(
            jax.pure_callback(back, jax.ShapeDtypeStruct((), x.dtype), jax.lax.stop_gradient(x[0]))
        )

    with jax.enable_x64(True):
        expected = jax.grad(f)(jax.numpy.asarray(X))
        for _ in range(2):
            with pytest.raises(BaseException, match="of the callback"):
                jax.block_until_ready(both(jax.numpy.asarray(X)))
            np.testing.assert_array_equal(jax.grad(f)(jax.numpy.asarray(X)), expected)
        fails = False
        np.testing.assert_allclose(both(jax.numpy.asarray(X))[1], expected, rtol=1e-13)


def test_arguments_of_jax_that_a_program_writes_stay_whatever_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that the caller holds is given away to XLA: an array of JAX is there after a run that failed."""
    x = jax.numpy.asarray(X, dtype=np.float32)
    before, g = np.asarray(x).tobytes(), bridge.xla(bridge.grad(writes))
    expected = np.asarray(g(x))
    placed = type(next(iter(g._programs.values()))[1])
    run = placed.__call__

    def failing(self: Any, *args: Any) -> Any:
        run(self, *args)
        raise MemoryError

    with monkeypatch.context() as patched, pytest.raises(MemoryError):
        patched.setattr(placed, "__call__", failing)
        g(x)
    assert not x.is_deleted()
    assert np.asarray(x).tobytes() == before
    np.testing.assert_array_equal(np.asarray(g(x)), expected)


def test_an_index_outside_and_then_inside() -> None:
    """A run that ends with an error of its own, between others of the same program."""

    def f(x: Any, k: Any) -> Any:
        y = x.copy()
        y[k] = x[k] * 2.0
        return np.sum(y * y)

    g, x = bridge.xla(bridge.grad(f)), X.copy()
    for k in (2, 9, 3, -7, 2, 99, 5):
        indices = np.array([k, 0])
        if -6 <= k < 6:
            np.testing.assert_allclose(g(x, indices), bridge.grad(f)(x, indices), rtol=1e-13)
        else:
            with pytest.raises(bridge.errors.IndexRangeError):
                g(x, indices)
        assert x.tobytes() == X.tobytes()
    assert len(g.compile_seconds) <= 2


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore:grad.f. has been compiled:bridge.errors.BridgeWarning")
@pytest.mark.parametrize("threads", (4, 16))
def test_threads_of_which_some_fail(threads: int) -> None:
    """One function compiled by all at once; the traces of every second thread raise, as do some calls later.

    Whether it fails is state that it reads, so that it is compiled anew where that has changed.
    """
    own = threading.local()

    def f(x: Any) -> Any:
        y = x.copy()
        y[1:] *= np.sin(x[:-1])
        if getattr(own, "fails", False):
            raise Failing("here")
        return np.sum(y * y)

    g = bridge.xla(bridge.grad(f))
    start = threading.Barrier(threads)

    def work(number: int) -> list[str]:
        wrong = []
        start.wait()
        for k in range(6):
            x = np.linspace(0.1, 1.0, 4 + (number // 2 + k) % 5)
            own.fails = number % 2 == 1
            try:
                found = g(x)
            except Failing:
                own.fails = False
                found = g(x)
            own.fails = False
            if not np.allclose(found, bridge.grad(f)(x), rtol=1e-13):
                wrong.append(f"{number} {k}: {found}")
            if bridge.current_context() is not None:
                wrong.append("a context is left current")
        return wrong

    with ThreadPoolExecutor(threads) as pool:
        assert list(pool.map(work, range(threads))) == [[]] * threads


@pytest.fixture
def settings() -> Iterator[Callable[[], list[Any]]]:
    """JAX's settings of its cache, which are as they were in the end."""
    names = (
        "jax_compilation_cache_dir",
        "jax_persistent_cache_min_compile_time_secs",
        "jax_persistent_cache_min_entry_size_bytes",
    )

    def now() -> list[Any]:
        return [getattr(jax.config, name) for name in names]

    before = now()
    yield now
    after = now()
    for name, value in zip(names, before, strict=True):
        jax.config.update(name, value)
    assert after == before


@pytest.mark.parametrize("order", ["nested", "crossed"])
def test_folders_of_two_threads_at_once(order: str, settings: Callable[[], list[Any]], tmp_path: Path) -> None:
    """Two programs that are compiled at the same time, each with its folder, leave JAX's settings as they were."""
    first, second = persistent(tmp_path / "one"), persistent(tmp_path / "two")
    before = settings()
    first.__enter__()
    second.__enter__()
    assert settings()[0] == str(tmp_path / "two")
    for each in (second, first) if order == "nested" else (first, second):
        each.__exit__(None, None, None)
    assert settings() == before


@pytest.mark.parametrize("error", ERRORS)
def test_a_program_that_fails_leaves_the_settings_of_the_cache(
    error: type[BaseException], settings: Callable[[], list[Any]], tmp_path: Path
) -> None:
    fails = True

    def f(x: Any) -> Any:
        if fails:
            raise error("now")
        return np.sum(x * x)

    before, g = settings(), bridge.xla(f, cache=tmp_path)
    for _ in range(3):
        with pytest.raises(error):
            g(X)
        assert settings() == before
    fails = False
    assert g(X) == pytest.approx(np.sum(X * X))
    assert settings() == before
