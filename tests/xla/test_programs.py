"""Every recorded program compiled by XLA: as the rule book has it, or refused by a named error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from bridge.errors import BridgeError, RefusedError, TraceError
from tests.helpers import finite_differences as reference
from tests.programs import PROGRAMS, Program
from tests.programs.test_programs import REFUSED, RIGHT, SINGLE, SMOOTH, argnums, differentiate

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

# What asks for a value while the program is compiled (TraceError), or has a shape or a kind that depends on one.
NOT_COMPILED: dict[str, tuple[type[BridgeError], str]] = {
    "indices: positions from conditions": (RefusedError, "np.where with one argument"),
    "indices: choosing functions": (RefusedError, "np.extract with a run-time condition"),
    "nan and inf: maximum of the finite ones": (TraceError, "a read through a run-time mask"),
    "kinks: python maximum takes the branch that ran": (TraceError, "max() of Python's"),
    "control flow: standard library folds": (TraceError, "max() of Python's"),
    "random: tracked scale given to a generator": (TraceError, "NumPy's generator draws while it is compiled"),
    "linear algebra: eigenvalues of a matrix that is not symmetric": (RefusedError, "whether they are complex"),
}
COMPILED = [program for program in RIGHT if program.name not in NOT_COMPILED]
# A product and a sum in single precision are rounded once, not twice.
IN_SINGLE = {"dtype: cast down and up again"}


def compiles(programs: list[Program]) -> list[Any]:
    return [p for p in programs if p.name not in NOT_COMPILED]


def compiled(program: Program, inputs: Any) -> tuple[Any, Any]:
    positions = argnums(program) or (0,)
    return bridge.value_and_grad(program.under(bridge.numpy), argnums=positions, engine="xla")(*inputs)


def tolerance_of(program: Program, arrays: Any) -> float:
    kinds = {x.dtype.char for x in arrays}
    return 1e-2 if "e" in kinds else 1e-5 if kinds & {"f", "F"} or program.name in IN_SINGLE else 1e-10


def assert_equal(found: Any, expected: Any, tolerance: float) -> None:
    """The same kind of thing, and within `tolerance` of the largest element."""
    assert (type(found), found.dtype, found.shape) == (type(expected), expected.dtype, expected.shape)
    largest = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * largest)


@pytest.mark.ci
def test_what_is_not_compiled_is_recorded() -> None:
    assert set(NOT_COMPILED) <= {program.name for program in PROGRAMS}


@pytest.mark.ci
@pytest.mark.parametrize("program", COMPILED, ids=str)
def test_value_gradient_and_inputs(program: Program) -> None:
    value, gradients = differentiate(program, program.inputs)
    before = [x.tobytes() for x in program.inputs]
    found_value, found = compiled(program, program.inputs)
    tolerance = tolerance_of(program, program.inputs)
    assert_equal(found_value, value, tolerance)
    assert len(found) == len(gradients)
    for one, other in zip(found, gradients, strict=True):
        assert_equal(one, other, tolerance)
        assert one.flags.writeable and not any(np.shares_memory(one, x) for x in program.inputs)
    assert [x.tobytes() for x in program.inputs] == before, "the caller's arrays changed"


@pytest.mark.ci
@pytest.mark.parametrize("program", [p for p in RIGHT if p.name in NOT_COMPILED], ids=str)
def test_what_is_not_compiled_is_refused_by_name(program: Program) -> None:
    before = [x.tobytes() for x in program.inputs]
    with pytest.raises(NOT_COMPILED[program.name][0]) as caught:
        compiled(program, program.inputs)
    assert caught.value.remedy and "tests/programs" in str(caught.value).replace("\\", "/")
    assert [x.tobytes() for x in program.inputs] == before, "the caller's arrays changed"


@pytest.mark.ci
@pytest.mark.parametrize("program", REFUSED, ids=str)
def test_refused_programs_are_refused(program: Program) -> None:
    assert program.raises is not None
    before = [x.tobytes() for x in program.inputs]
    own = program.raises if isinstance(program.raises, tuple) else (program.raises,)
    with pytest.raises((BridgeError, *own)):
        compiled(program, program.inputs)
    assert [x.tobytes() for x in program.inputs] == before, "the caller's arrays changed"


@pytest.mark.ci
@pytest.mark.parametrize("program", compiles(SINGLE), ids=str)
def test_single_precision(program: Program) -> None:
    inputs = tuple(reference.replica(x, np.float32) for x in program.inputs)
    value, gradients = differentiate(program, inputs)
    found_value, found = compiled(program, inputs)
    assert_equal(found_value, value, 1e-5)
    for one, other in zip(found, gradients, strict=True):
        assert_equal(one, other, 1e-5)


@pytest.mark.ci
@pytest.mark.parametrize("program", compiles(RIGHT), ids=str)
def test_forward_mode(program: Program) -> None:
    tangents = reference.random_tangents(program.inputs)
    with np.errstate(all="ignore"):
        expected = bridge.jvp(program.under(bridge.numpy), program.inputs, tangents, engine="native")
    found = bridge.jvp(program.under(bridge.numpy), program.inputs, tangents, engine="xla")
    for one, other in zip(found, expected, strict=True):
        assert_equal(one, other, tolerance_of(program, program.inputs))


@pytest.mark.ci
@pytest.mark.parametrize("program", compiles(SMOOTH), ids=str)
def test_second_derivatives(program: Program) -> None:
    """Forward over reverse, and reverse over reverse, in one compiled program."""
    tangents = reference.random_tangents(program.inputs, seed=1)
    function, positions = program.under(bridge.numpy), tuple(range(len(program.inputs)))
    expected = bridge.hvp(function, program.inputs, tangents, engine="native")
    found = bridge.hvp(function, program.inputs, tangents, engine="xla")
    several = isinstance(expected, tuple)
    expected, found = (expected, found) if several else ((expected,), (found,))
    gradient = bridge.grad(function, argnums=positions)

    def slope(*inputs: Any) -> Any:
        return sum(np.sum(g * t) for g, t in zip(gradient(*inputs), tangents, strict=True))

    nested = bridge.grad(slope, argnums=positions, engine="xla")(*program.inputs)
    for one, again, other in zip(found, nested, expected, strict=True):
        assert_equal(one, other, 1e-9)
        assert_equal(np.asarray(again), np.asarray(other), 1e-9)
