"""`reduce`, `accumulate` and `reduceat` of ufuncs whose order counts: every option, under two engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import bridge
from tests.helpers.finite_differences import gradient

RNG = np.random.default_rng(0)
X = RNG.uniform(0.6, 1.7, (3, 4))
CUBE = RNG.uniform(0.6, 1.7, (2, 3, 4))
CHOSEN = RNG.random((3, 4)) < 0.6
LONG = RNG.uniform(0.9, 1.1, 40)
ORDERED = (np.subtract, np.divide, np.fmod, np.float_power, np.copysign)
FREE = (np.hypot, np.logaddexp, np.fmin)


class Program(NamedTuple):
    name: str
    run: Callable[[np.ufunc, Any], Any]
    x: np.ndarray = X


PROGRAMS = (
    Program("from a tracked number", lambda u, x: u.reduce(x, axis=1, initial=np.sum(x))),
    Program("from a tracked number, kept", lambda u, x: u.reduce(x, axis=0, initial=x[1, 2], keepdims=True)),
    Program("a class as dtype", lambda u, x: u.reduce(x, axis=1, dtype=np.float64)),
    Program("from nothing", lambda u, x: u.reduce(-x[:1], initial=None)),
    Program("nothing, from a number", lambda u, x: u.reduce(x[:, :0], axis=1, initial=1.4) + x[:, 0]),
    Program("under a mask", lambda u, x: u.reduce(x, axis=1, initial=1.2, where=CHOSEN)),
    Program("under a mask of its own", lambda u, x: u.reduce(x, axis=0, initial=1.5, where=x > 1.0)),
    Program("no axis", lambda u, x: u.reduce(x, axis=())),
    Program("a number", lambda u, x: u.reduce(x[0, 0])),
    Program("of a transpose", lambda u, x: u.reduce(x.T[::2], axis=0)),
    Program("many steps", lambda u, x: u.reduce(x), LONG),
    Program("all of many steps", lambda u, x: u.accumulate(x), LONG),
    Program("along the last axis", lambda u, x: u.accumulate(x, axis=-1), CUBE),
    Program("none of many", lambda u, x: np.sum(u.accumulate(x[:0])) + x[0]),
    Program("segments of many lengths", lambda u, x: u.reduceat(x, [0, 5, 6, 20, 3, 39, 2]), LONG),
    Program("segments of an axis", lambda u, x: u.reduceat(x, [0, 2, 1], axis=2), CUBE),
    Program("no segments", lambda u, x: np.sum(u.reduceat(x, np.zeros(0, int))) + x[0]),
)
OF_SEVERAL_AXES = (
    Program("two axes", lambda u, x: u.reduce(x, axis=(0, 2)), CUBE),
    Program("all axes from a tracked number", lambda u, x: u.reduce(x, axis=None, initial=x[0, 0], keepdims=True)),
)
RECORDS = [(u, program) for u in (*ORDERED, *FREE) for program in PROGRAMS]
RECORDS += [(u, program) for u in FREE for program in OF_SEVERAL_AXES]


def weighted(ufunc: np.ufunc, program: Program) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        result = program.run(ufunc, x)
        return np.sum(result * np.cos(np.arange(np.size(result)) + 1.0).reshape(np.shape(result)))

    return f


@pytest.mark.parametrize(("ufunc", "program"), RECORDS, ids=lambda one: getattr(one, "__name__", None) or one.name)
def test_as_numpy_goes(ufunc: np.ufunc, program: Program) -> None:
    f = weighted(ufunc, program)
    (expected,) = gradient(f, (program.x,))
    value, found = bridge.value_and_grad(f, engine="native")(program.x)
    assert value == f(program.x.copy())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    _, tangent = bridge.jvp(f, (program.x,), (np.sin(program.x),))
    assert tangent == pytest.approx(np.sum(expected * np.sin(program.x)), rel=1e-6, abs=1e-7)


@pytest.mark.ci
@pytest.mark.parametrize(("ufunc", "program"), RECORDS)
def test_compiled(ufunc: np.ufunc, program: Program) -> None:
    pytest.importorskip("jax")
    f = weighted(ufunc, program)
    (expected,) = gradient(f, (program.x,))
    value, found = bridge.value_and_grad(f, engine="xla")(program.x)
    assert value == pytest.approx(f(program.x.copy()), rel=1e-12)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
