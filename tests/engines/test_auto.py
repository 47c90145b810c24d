"""The engine "auto": which calls are compiled, which stay eager, what is said of them, and the numbers."""

import itertools
import logging
import subprocess
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.engines.auto import account, choosing
from bridge.errors import ArgumentError

pytest.importorskip("jax")

X = np.linspace(0.1, 1.0, 6)
RATE = 1.0
SETTINGS = types.ModuleType("settings")
SETTINGS.rate = 1.0  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def eager_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call counts as one second, and compiling is tried in the second one of a signature."""
    clock = itertools.count()
    monkeypatch.setattr(choosing, "time", types.SimpleNamespace(perf_counter=lambda: float(next(clock))))
    monkeypatch.setattr(choosing, "SHORT", 0.0)
    monkeypatch.setattr(choosing, "TIMES_TRACING", 0.0)
    monkeypatch.setattr(account, "FIRST", 0.0)


def heat(u: Any, steps: int = 10) -> Any:
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def states(g: Any) -> list[str]:
    return [one.state for one in g._accounts.values()]


def settled(g: Any, *args: Any) -> Any:
    """Calls until it is decided how they run, and the one after that."""
    return [g(*args) for _ in range(4)][-1]


def test_calls_are_eager_then_compiled_and_the_same() -> None:
    g = bridge.value_and_grad(heat, engine="auto")
    value, gradient = bridge.value_and_grad(heat)(X)
    for state in ("eager", "compiled", "trusted", "trusted"):
        found, slope = g(X)
        assert states(g) == [state]
        np.testing.assert_allclose(found, value, rtol=1e-14)
        np.testing.assert_allclose(slope, gradient, rtol=1e-13)
        assert type(found) is type(value) and type(slope) is np.ndarray
    assert "value_and_grad(heat):\n  (float64[6]): compiled in" in g.explain()


def test_each_signature_is_decided_by_itself() -> None:
    g = bridge.grad(heat, engine="auto")
    settled(g, X)
    g(X[:4].copy())
    assert states(g) == ["trusted", "eager"]


def test_little_time_is_no_reason_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "SHORT", 1e9)
    g = bridge.grad(heat, engine="auto")
    settled(g, X)
    assert not states(g) and "all calls are eager" in g.explain() and "too little to compile for" in g.explain()


def test_it_waits_until_eager_calls_have_taken_as_long_as_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "TIMES_TRACING", 5.0)
    g = bridge.grad(heat, engine="auto")
    g(X)
    g(X)
    assert states(g) == ["traced"] and "compiling is tried when they have taken 5.0 s" in g.explain()
    for _ in range(4):
        g(X)
    assert states(g) == ["compiled"] and "compared with an eager call" in g.explain()


def asks(u: Any) -> Any:
    return np.sum(u) * np.unique(np.round(u)).size


def prints(u: Any) -> Any:
    print(end="")
    return np.sum(u)


def draws(u: Any) -> Any:
    return np.sum(u) * np.random.default_rng().normal()


def draws_globally(u: Any) -> Any:
    return np.sum(u) * np.random.rand()


class Counter:
    calls = 0


COUNTER = Counter()


def counts(u: Any) -> Any:
    COUNTER.calls += 1
    return np.sum(u)


LOG: list[int] = []


def logs(u: Any) -> Any:
    LOG.append(1)
    return np.sum(u)


def unrolled(u: Any) -> Any:
    rows = [u]
    for k in range(3000):
        rows.append(rows[-1] * (1 + 1 / (k + 1) ** 3))
    return np.sum(np.stack(rows))


@pytest.mark.parametrize(
    ("program", "why", "has_line"),
    [
        (asks, "np.unique", True),
        (prints, "print(), which does or gives something each time", True),
        (draws, "default_rng(), which|Generator.normal(), which", True),
        (draws_globally, "RandomState.rand(), which", True),
        (counts, "the program changes Counter.calls", False),
        (logs, "the program changes the length of a list", False),
        (unrolled, "more than 2000 operations", True),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_is_not_compiled_is_named(
    program: Callable[..., Any], why: str, has_line: bool, caplog: pytest.LogCaptureFixture
) -> None:
    g = bridge.grad(program, engine="auto")
    with caplog.at_level(logging.INFO, "bridge.auto"):
        settled(g, X)
    assert states(g) == ["stays eager"]
    assert any(one in g.explain() for one in why.split("|")), g.explain()
    assert ("test_auto.py:" in g.explain()) is has_line
    assert len([one for one in caplog.messages if f"grad({program.__name__}): " in one]) == 1


def test_what_is_compiled_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    g = bridge.grad(heat, engine="auto")
    with caplog.at_level(logging.INFO, "bridge.auto"):
        settled(g, X)
    assert [one.split(" compiled")[0] for one in caplog.messages] == ["grad(heat): (float64[6]):"]


def test_an_effect_happens_in_each_call() -> None:
    g, before = bridge.grad(logs, engine="auto"), len(LOG)
    settled(g, X)
    assert len(LOG) == before + 4


def rated(u: Any) -> Any:
    return np.sum(u) * RATE * SETTINGS.rate


def test_a_global_that_changes_is_never_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    g = bridge.grad(rated, engine="auto")
    settled(g, X)
    assert states(g) == ["trusted"]
    for rate in range(2, 12):
        monkeypatch.setitem(globals(), "RATE", float(rate))
        assert g(X)[0] == rate
    assert states(g) == ["stays eager"] and "RATE changes between calls" in g.explain()


def test_a_module_that_changes_between_tracing_and_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "TIMES_TRACING", 3.0)
    g = bridge.grad(rated, engine="auto")
    g(X)
    g(X)
    assert states(g) == ["traced"]
    monkeypatch.setattr(SETTINGS, "rate", 7.0)
    for _ in range(12):
        assert g(X)[0] == 7.0
    assert states(g) == ["trusted"]


def test_exceptions_of_the_program_come_through() -> None:
    def picks(u: Any, k: Any) -> Any:
        return u[k[0]] * 2

    g = bridge.grad(picks, engine="auto")
    settled(g, X, np.array([3]))
    with pytest.raises(IndexError, match="index 100 is out of bounds"):
        g(X, np.array([100]))
    assert states(g) == ["trusted"] and g(X, np.array([0]))[0] == 2

    def fails(u: Any) -> Any:
        raise KeyError("mine")

    g = bridge.grad(fails, engine="auto")
    for _ in range(4):
        with pytest.raises(KeyError, match="mine"):
            g(X)


def test_another_number_is_never_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    g = bridge.grad(heat, engine="auto")
    g(X)
    monkeypatch.setattr(choosing, "is_same_value", lambda found, value: False)
    g(X)
    assert states(g) == ["stays eager"] and "differs from the eager one by more than rounding" in g.explain()


def test_a_compiled_call_that_is_slower_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    g = bridge.grad(heat, engine="auto")
    g(X)
    g(X)
    next(iter(g._accounts.values())).fastest = 0.5
    g(X)
    assert states(g) == ["stays eager"] and "a compiled call takes 1 s, an eager one 0.5 s" in g.explain()


def test_results_are_of_the_same_kinds() -> None:
    def program(u: Any) -> Any:
        return np.sum(u), {"norm": float(np.sum(u * u)), "name": "u", "sizes": [u.size]}

    g = bridge.grad(program, has_aux=True, engine="auto")
    gradient, aux = settled(g, X)
    assert states(g) == ["trusted"]
    assert type(aux["norm"]) is float and aux["name"] == "u" and aux["sizes"] == [6] and gradient.tolist() == [1.0] * 6


@pytest.mark.ci
def test_other_transforms() -> None:
    value, tangent = [bridge.jvp(heat, (X,), (X,), engine="auto") for _ in range(4)][-1]
    np.testing.assert_allclose(tangent, 2 * value, rtol=1e-12)
    for transform in (bridge.hessian, bridge.jacfwd, bridge.jacrev):
        g = transform(heat, engine="auto")
        np.testing.assert_allclose(settled(g, X), transform(heat)(X), rtol=1e-10)
        assert states(g) == ["trusted"], g.explain()
    found = [bridge.hvp(heat, (X,), (X,), engine="auto") for _ in range(4)][-1]
    np.testing.assert_allclose(found, bridge.hvp(heat, (X,), (X,)), rtol=1e-12)
    value, pull = bridge.vjp(heat, X, engine="auto")
    np.testing.assert_allclose(pull(1.0)[0], bridge.grad(heat)(X), rtol=0)


def test_inside_of_other_programs_it_is_the_program_itself() -> None:
    inner = bridge.grad(heat, engine="auto")
    found = [bridge.grad(lambda u: np.sum(inner(u) * u))(X) for _ in range(4)][-1]
    np.testing.assert_allclose(found, 2 * bridge.grad(heat)(X), rtol=1e-12)
    np.testing.assert_allclose(bridge.xla(inner)(X), bridge.grad(heat)(X), rtol=1e-12)
    assert not states(inner)


def test_an_index_mode_is_refused() -> None:
    with pytest.raises(ArgumentError, match="index_mode='clip' with engine='auto'"):
        bridge.grad(heat, engine="auto", index_mode="clip")


def test_without_jax_all_calls_are_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "find_spec", lambda name: None)
    g = bridge.grad(heat, engine="auto")
    settled(g, X)
    assert not states(g) and "JAX is not installed" in g.explain()


def test_jax_is_not_imported_before_it_is_worth_it() -> None:
    code = (
        "import sys, numpy as np, bridge\n"
        "g = bridge.grad(lambda u: np.sum(u * u), engine='auto')\n"
        "[g(np.ones(3)) for _ in range(5)]\n"
        "assert 'jax' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
