"""Names that are views of what a loop writes when it begins, and arrays of their own afterwards, in every mode.

The first turn reads what it has just written through such a name. Forward mode keeps no log, which is where loops
found what they write: the name was read as it had been before the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

A = np.arange(1.0, 10.0).reshape(3, 3) / 7
T = np.cos(A)


def column(a: Any) -> Any:
    v = a[:, 1]
    for _ in range(100):
        a[0] *= 0.99
        v = v * 0.999
    return np.sum(v**3) + np.sum(a**2)


def in_a_while(a: Any) -> Any:
    v, k = a[:, 1], 0
    while k < 12:
        a[k % 3, 1] += v[0] * 0.1
        v = v * 0.99
        k += 1
    return np.sum(v**3) + np.sum(a**2)


def in_loops_in_loops(a: Any) -> Any:
    v = a[:, 1]
    for _ in range(20):
        for j in range(20):
            a[j % 3] *= 0.999
            v = v * 0.999
    return np.sum(v**3) + np.sum(a**2)


def transposed(a: Any) -> Any:
    v = a.T
    for i in range(40):
        a[i % 3] *= 0.9
        u = v
        v = a * 0.5
        a += 0.01 * u
    return np.sum(v**3) + np.sum(a**2)


def of_an_array_of_its_own(a: Any) -> Any:
    u = a.copy()
    v = u[:, 1]
    for i in range(30):
        u[i % 3] *= a[i % 3] + 0.5
        v = 0.5 * v + u[:, 0]
    return np.sum(v**3)


def in_a_dictionary(a: Any) -> Any:
    held = {"v": a[:, 1]}
    for _ in range(30):
        np.multiply(a[0], 0.9, out=a[0])
        held["v"] = held["v"] * 0.95
    return np.sum(held["v"] ** 3)


def written_by_indices(a: Any) -> Any:
    v = a[:, 1]
    for _ in range(30):
        np.add.at(a, (np.array([0, 0, 2]), np.array([1, 1, 1])), 0.01)
        v = v * 1.01
    return np.sum(v**3)


PROGRAMS: list[Callable[[Any], Any]] = [
    column, in_a_while, in_loops_in_loops, transposed, of_an_array_of_its_own, in_a_dictionary, written_by_indices,
]  # fmt: skip
MODES: dict[str, Callable[[Any, str], Any]] = {
    "jvp": lambda f, engine: np.stack(bridge.jvp(f, (A.copy(),), (T,), engine=engine)),
    "hvp": lambda f, engine: bridge.hvp(f, (A.copy(),), (T,), engine=engine),
    "jacfwd": lambda f, engine: bridge.jacfwd(f, engine=engine)(A.copy()),
    "grad": lambda f, engine: bridge.grad(f, engine=engine)(A.copy()),
}


@pytest.mark.ci
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_the_first_turn_reads_what_it_has_written(program: Callable[[Any], Any], mode: str) -> None:
    np.testing.assert_allclose(MODES[mode](program, "xla"), MODES[mode](program, "native"), rtol=1e-10)
