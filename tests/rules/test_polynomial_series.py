"""Series of `numpy.polynomial` in programs that are read: NumPy's values to the bit, and gradients of differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

import bridge
from bridge.errors import EscapeError
from tests.helpers.finite_differences import gradient

RNG = np.random.default_rng(0)
X, C = RNG.uniform(-0.9, 0.9, (2, 3)), RNG.normal(size=(6, 3))
VALUES = (polynomial.polyval, chebyshev.chebval, legendre.legval, hermite.hermval, hermite_e.hermeval, laguerre.lagval)


class Program(NamedTuple):
    name: str
    run: Callable[[Any, Any], Any]


PROGRAMS = [
    Program(f"{f.__name__} of {count}", lambda x, c, f=f, count=count: f(x, c[:count, 0]))
    for f in VALUES
    for count in (1, 2, 3, 6)
]
PROGRAMS += [Program(f"{f.__name__} of a number", lambda x, c, f=f: f(x[0, 1], c[:, 0])) for f in VALUES]
PROGRAMS += [Program(f"{f.__name__} of several series", lambda x, c, f=f: f(x, c)) for f in VALUES]
PROGRAMS += [Program(f"{f.__name__} by columns", lambda x, c, f=f: f(x, c, tensor=False)) for f in VALUES]
PROGRAMS += [Program(f"{f.__name__} of a list", lambda x, c, f=f: f([x[0, 0], 0.5], [1, c[0, 0], 2])) for f in VALUES]
PROGRAMS += [Program(f"vander {n}", lambda x, c, n=n: polynomial.polyvander(x * c[0], n)) for n in (0, 1, 4)]
PROGRAMS += [Program(f"derivative {m}", lambda x, c, m=m: polynomial.polyder(c, m) * x[0]) for m in (0, 1, 3, 6, 7)]
PROGRAMS += [Program("derivative along an axis", lambda x, c: polynomial.polyder(c, 2, scl=0.5, axis=1) * x[0, :1])]


def total(program: Program) -> Callable[[Any, Any], Any]:
    def f(x: Any, c: Any) -> Any:
        result = program.run(x, c)
        return np.sum(result * np.cos(np.arange(np.size(result)) + 1.0).reshape(np.shape(result)))

    return f


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
def test_series(program: Program) -> None:
    f = total(program)
    value, found = bridge.value_and_grad(f, argnums=(0, 1), engine="native")(X, C)
    assert value == f(X.copy(), C.copy())
    for one, expected in zip(found, gradient(f, (X, C)), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-6, atol=1e-7)
    _, tangent = bridge.jvp(f, (X, C), (np.sin(X), np.cos(C)))
    assert tangent == pytest.approx(np.sum(found[0] * np.sin(X)) + np.sum(found[1] * np.cos(C)))


def test_compiled() -> None:
    pytest.importorskip("jax")
    f = total(Program("legval", lambda x, c: legendre.legval(x, c[:, 0])))
    found = bridge.grad(f, argnums=(0, 1), engine="xla")(X, C)
    for one, expected in zip(found, bridge.grad(f, argnums=(0, 1))(X, C), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-12)


def test_a_class_is_refused_by_name() -> None:
    with pytest.raises(EscapeError):
        bridge.grad(lambda c: np.sum(np.polynomial.Polynomial(c)(X)))(C[:, 0])
