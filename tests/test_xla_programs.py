"""Every recorded program compiled by XLA: as the rule book has it, or refused by a named error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from bridge import errors
from tests import finite_differences as reference
from tests.programs import PROGRAMS, Program
from tests.test_programs import REFUSED, RIGHT, SINGLE, SMOOTH, argnums, assert_close, differentiate

pytest.importorskip("jax")

VALUE, SHAPE = errors.TraceError, errors.RefusedError

# What needs a value while it is compiled. TraceError: Python asks for it; RefusedError: a shape or a kind depends on it.
NOT_COMPILED: dict[str, tuple[type[errors.BridgeError], str]] = {
    "indices: mask computed from the values it changes": (VALUE, "a read through a run-time mask"),
    "indices: empty selections": (VALUE, "a read through a run-time mask"),
    "indices: index from values": (VALUE, "int() of a run-time index"),
    "indices: positions from conditions": (SHAPE, "np.where with one argument"),
    "indices: choosing functions": (SHAPE, "np.extract with a run-time condition"),
    "nan and inf: invalid element masked out": (VALUE, "a read through a run-time mask"),
    "nan and inf: maximum of the finite ones": (VALUE, "a read through a run-time mask"),
    "kinks: python maximum takes the branch that ran": (VALUE, "a branch of Python's"),
    "control flow: loop until small": (VALUE, "a loop of Python's"),
    "control flow: newton iteration with a stopping rule": (VALUE, "a loop of Python's"),
    "control flow: branch for each element": (VALUE, "a branch of Python's"),
    "control flow: rollback to a saved copy": (VALUE, "a branch of Python's"),
    "control flow: standard library folds": (VALUE, "max() of Python's"),
    "control flow: bisection steers but carries no gradient": (VALUE, "a branch of Python's"),
    "random: metropolis steers by values": (VALUE, "a branch of Python's"),
    "random: tracked scale given to a generator": (VALUE, "a generator of NumPy's draws while it is compiled"),
    "linear algebra: eigenvalues of a matrix that is not symmetric": (SHAPE, "whether they are complex"),
}
COMPILED = [program for program in RIGHT if program.name not in NOT_COMPILED]
# Records of errors that a compiled program cannot raise, because there it is no error.
FIRST = 7


def sampled(programs: list[Program]) -> list[Any]:
    """Every seventh program; the others at night."""
    return [p if k % FIRST == 0 else pytest.param(p, marks=pytest.mark.nightly) for k, p in enumerate(programs)]


def compiled(program: Program, inputs: Any) -> tuple[Any, Any]:
    positions = argnums(program) or (0,)
    return bridge.value_and_grad(program.under(bridge.numpy), argnums=positions, engine="xla")(*inputs)


def precision(*arrays: Any) -> float:
    """Ten digits, five where single precision comes in; XLA fuses products and sums."""
    halves = {np.dtype(f"{kind}{size}") for kind, size in ("f2", "f4", "c8")} if False else {np.dtype("f2")}
    if any(x.dtype in halves for x in arrays):
        return 1e-2
    return 1e-5 if any(x.dtype in (np.dtype("f4"), np.dtype("c8")) for x in arrays) else 1e-10


def test_what_is_not_compiled_is_recorded() -> None:
    assert set(NOT_COMPILED) <= {program.name for program in PROGRAMS}
