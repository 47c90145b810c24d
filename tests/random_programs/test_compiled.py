"""Random programs of mutation and aliasing, compiled: as they are, and as the body of a loop."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from bridge.errors import RefusedError, TraceError
from tests.helpers import finite_differences as reference
from tests.random_programs import RandomProgram
from tests.random_programs.test_eager import run_all

pytest.importorskip("jax", reason="JAX is not installed: random programs were not compiled (pip install jax)")


def tolerance_of(program: RandomProgram) -> float:
    return 3e-3 if program.inputs[0].dtype == np.float32 else 1e-9


def assert_agree(program: RandomProgram, function: Any, refused: Counter[str]) -> None:
    """The compiled value and gradients are those of the rule book, or the compilation is refused by name."""
    positions = tuple(range(len(program.inputs)))
    expected, gradients = bridge.value_and_grad(function, argnums=positions, engine="native")(
        *reference.replicas(program.inputs)
    )
    inputs = reference.replicas(program.inputs)
    try:
        value, found = bridge.value_and_grad(function, argnums=positions, engine="xla")(*inputs)
    except (TraceError, RefusedError) as error:
        assert error.remedy is not None
        refused[error.what.partition(" of ")[0][:70]] += 1
        return
    assert [x.tobytes() for x in inputs] == [x.tobytes() for x in program.inputs], "the caller's arrays changed"
    tolerance = tolerance_of(program)
    np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)
    for g, e in zip(found, gradients, strict=True):
        assert (g.shape, g.dtype) == (e.shape, e.dtype)
        largest = np.max(np.abs(e), initial=1.0, where=np.isfinite(e))
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance * largest)


def looped(program: RandomProgram) -> Any:
    """The program as the body of a loop that runs twice over the same memory."""
    function = program.function(bridge.numpy)

    def twice(*inputs: Any) -> Any:
        def body(i: Any, carried: Any) -> Any:
            arrays, total = carried
            return arrays, total * 0.5 + function(*arrays)

        return bridge.fori_loop(0, 2, body, (inputs, 0.0))[1]

    return twice


@pytest.mark.ci
def test_compiled_random_programs(request: pytest.FixtureRequest) -> None:
    refused = Counter[str]()
    count = request.config.getoption("--programs") // 5
    run_all(lambda program: assert_agree(program, program.function(bridge.numpy), refused), count)
    print(f"refused by name: {dict(refused)} of {count}")
    assert refused.total() < 0.7 * count


@pytest.mark.ci
def test_random_programs_in_a_compiled_loop(request: pytest.FixtureRequest) -> None:
    refused = Counter[str]()
    count = request.config.getoption("--programs") // 15
    run_all(lambda program: assert_agree(program, looped(program), refused), count)
    print(f"refused by name: {dict(refused)} of {count}")
    assert refused.total() < 0.7 * count
