"""`bridge.crosscheck` of Julia functions, and of NumPy programs under Julia's rules."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import julia

pytestmark = pytest.mark.julia
HAS_JAX = importlib.util.find_spec("jax") is not None
X = np.array([0.3, 1.2])


def test_differentiators_of_a_julia_function_agree() -> None:
    report = bridge.crosscheck(julia.function("x -> sum(sin.(x) .* x)"))(X)
    assert report.ok, str(report)
    status = {run.engine: run.status for run in report.runs}
    assert status["Zygote"] == status["ForwardDiff"] == status["finite differences"] == "ran"
    assert status["Mooncake"] in ("ran", "not available")


def test_arrays_out_are_contracted() -> None:
    report = bridge.crosscheck(julia.function("x -> x .* sum(x)"))(X)
    assert report.ok, str(report)


@pytest.mark.skipif(not HAS_JAX, reason="JAX is not installed (pip install jax)")
def test_a_jax_twin() -> None:
    import jax.numpy as jnp

    f = julia.function("x -> sum(sin.(x) .* x)")
    assert bridge.crosscheck(f, twin=lambda x: jnp.sum(jnp.sin(x) * x))(X).ok
    report = bridge.crosscheck(f, twin=lambda x: jnp.sum(jnp.sin(x) * x) + 1)(X)
    assert {one.kind for one in report.differences} == {"primal"}
    assert {one.engines[1] for one in report.differences} == {"jax twin"}


def test_a_wrong_rrule_is_zygotes_fault() -> None:
    julia.eval("""
        import ChainRulesCore
        crosschecked_squares(x) = sum(abs2, x)
        ChainRulesCore.rrule(::typeof(crosschecked_squares), x) =
            crosschecked_squares(x), d -> (ChainRulesCore.NoTangent(), 3 .* d .* x)
        crosschecked_squares
    """)
    report = bridge.crosscheck(julia.function("crosschecked_squares"))(X)
    assert [(one.kind, one.engines) for one in report.differences] == [("mismatch", ("Zygote", "finite differences"))]
    assert report.smallest is not None


def program(x: Any) -> Any:
    y = np.tanh(x)
    y[1:] *= np.sin(x[:-1])
    return np.sum(y * y)


def test_a_numpy_program_under_julias_rules() -> None:
    assert bridge.crosscheck(program, engines=("native", "julia"))(X).ok


def test_a_wrong_pull_of_julia_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.engines.julia.rules import JuliaRule

    right = JuliaRule.pull

    def wrong(self: Any, ct: Any, out: Any, args: Any, kwargs: Any, wanted: Any) -> Iterator[tuple[int, Any]]:
        for number, cotangent in right(self, ct, out, args, kwargs, wanted):
            yield number, cotangent * 1.5 if self.name == "np.sin" else cotangent

    monkeypatch.setattr(JuliaRule, "pull", wrong)
    report = bridge.crosscheck(program, engines=("native", "julia"))(X)
    first = report.differences[0]
    assert (first.kind, first.engines[0], first.name) == ("mismatch", "julia", "np.sin"), str(report)
    assert first.where is not None
    assert first.where.endswith("in program")
