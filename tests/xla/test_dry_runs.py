"""Bodies that are run for what they would do: how often, and that nothing of it is handed to JAX."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

import bridge
from tests.xla.test_compiled import run_python

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

from bridge.xla.lowering import lower
from bridge.xla.tracing import computing
from bridge.xla.tracing.frames import Framing


def nest(depth: int) -> Any:
    """A program of loops in loops."""

    def program(x: Any) -> Any:
        x = x.copy()

        def level(k: int) -> Any:
            def body(i: Any, state: Any) -> Any:
                x[k, i] = np.sin(x[k, i - 1]) * x[k + 1, i] + np.sum(x[k, np.argsort(x[k])[:2]])
                if k + 1 < depth:
                    bridge.fori_loop(1, 5, level(k + 1), 0)
                return state

            return body

        bridge.fori_loop(1, 5, level(0), 0)
        return np.sum(x)

    return program


X = np.linspace(0.1, 1.0, 36).reshape(6, 6)


@pytest.mark.ci
def test_nothing_of_a_dry_run_is_handed_to_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    dry = Counter[bool]()
    context: list[Any] = []

    def noted(*args: Any, **kwargs: Any) -> Any:
        dry[context[-1].is_dry] += 1
        return lower.lower(*args, **kwargs)

    def entered(self: Any, *args: Any, **kwargs: Any) -> Any:
        context.append(self)
        return repeat(self, *args, **kwargs)

    repeat = Framing.repeat
    monkeypatch.setattr(Framing, "repeat", entered)
    monkeypatch.setattr(computing, "lower", noted)
    found = bridge.grad(nest(2), engine="xla")(X)
    np.testing.assert_allclose(found, bridge.grad(nest(2))(X))
    assert dry[False] and not dry[True]


@pytest.mark.ci
@pytest.mark.parametrize("transform", ["value", "grad", "jvp"])
def test_a_body_runs_no_more_often_for_more_turns(transform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Counter[Any]()
    result = computing.Computing.result

    def noted(self: Any, call: Any, value: Any) -> Any:
        runs[call.function] += 1
        return result(self, call, value)

    monkeypatch.setattr(computing.Computing, "result", noted)

    def ran(count: int) -> int:
        runs.clear()

        def program(x: Any) -> Any:
            def body(i: Any, value: Any) -> Any:
                return np.sin(value) * x[i % 6]

            return np.sum(bridge.fori_loop(0, count, body, x[0]))

        if transform == "value":
            bridge.xla(program)(X)
        elif transform == "grad":
            bridge.grad(program, engine="xla")(X)
        else:
            bridge.jvp(program, (X,), (X,), engine="xla")
        return runs[np.sin]

    assert ran(5) == ran(1000) > 0


@pytest.mark.ci
def test_a_result_of_a_dry_run_does_not_leave_it() -> None:
    def program(x: Any) -> Any:
        kept: list[Any] = []

        def body(i: Any, value: Any) -> Any:
            kept.append(value * 2)
            return value + kept[0]

        return np.sum(bridge.fori_loop(0, 5, body, x))

    np.testing.assert_allclose(bridge.xla(program)(X), program(X))


@pytest.mark.ci
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_tracing_takes_no_memory_for_large_arrays() -> None:
    """A Python loop over arrays of 16 MB, of which tracing makes hundreds."""
    said = run_python(
        """
        import resource
        import numpy as np
        import bridge

        def program(x):
            x = x.copy()
            for _ in range(12):
                x[1:-1] += 0.1 * np.sin(x[2:] - 2 * x[1:-1] + x[:-2])
            return np.sum(x * x)

        compiled = bridge.grad(program, engine="xla")
        compiled.lower(np.ones(100))
        x = np.ones(1 << 21)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        compiled.lower(x)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 // x.nbytes)
        """
    )
    assert int(said.stdout) < 12
