"""Algebraic Riccati equations of `scipy.linalg`: a Lyapunov equation of the closed loop gives their derivatives.

With `k = inv(r) @ (b^H x e + s^H)`, in discrete time `k = inv(r + b^H x b) @ (b^H x a + s^H)`, and `c = a - b @ k`, the
residual `f` of the equation changes with its solution `x` by `c^H dx e + e^H dx c`, in discrete time by
`c^H dx c - e^H dx e` (Kao and Hennequin, "Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati
equations", 2020). As SciPy does, the equations ask `q` and `r` to be Hermitian: their cotangents are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, as_array, is_abstract, known, needs, refuse, rule, stand_in, without_gradient
from bridge.rules.contractions import fitted
from bridge.rules.products import adjoint
from bridge.rules.scipy_matrix_functions import solve_discrete_lyapunov, sylvester

sl = needs("scipy.linalg")


def riccati(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, discrete: bool, balanced: bool) -> Any:
    """The stabilising solution, of matrices; `e` is the identity and `s` zero where they are None."""
    if any(np.ndim(x) != 2 for x in (a, b, q, r)):
        raise ValueError("the coefficients of a Riccati equation are matrices")
    solve = sl.solve_discrete_are if discrete else sl.solve_continuous_are
    return solve(a, b, q, r, e, s, balanced)


@rule(riccati, facts=Facts(precision="double", static=("discrete", "balanced"), fails_on="singular"))
def riccati(ct, out, a, b, q, r, e, s, discrete, balanced):
    one = np.eye(a.shape[0]) if e is None else e
    crossed = np.matmul(np.matmul(adjoint(b), out), a if discrete else one)
    crossed = crossed if s is None else crossed + adjoint(s)
    weight = r + np.matmul(np.matmul(adjoint(b), out), b) if discrete else r
    k = np.linalg.solve(weight, crossed)
    c = a - np.matmul(b, k)
    _check(discrete, *map(known, (out, a, one, q, k, crossed)))
    y = _by_residual(ct, c, one, discrete)
    y = (y + adjoint(y)) / 2
    by_k = np.matmul(y, adjoint(k))
    left = 2 * np.matmul(out, np.matmul(c if discrete else one, y))
    by_e = 2 * np.matmul(out, np.matmul(-one if discrete else c, y))
    by_b, by_r = -np.matmul(left, adjoint(k)), np.matmul(k, by_k)
    found = (left, a), (by_b, b), (y, q), (by_r, r), (by_e, e), (-2 * by_k, s)
    return *(None if x is None else fitted(by, x.shape, x.dtype) for by, x in found), None, None


def _check(discrete, x, a, e, q, k, crossed):
    """RefusedError where what SciPy returned does not solve the equation, as happens in some that it balances."""
    terms = [q, -adjoint(crossed) @ k]
    terms += [adjoint(a) @ x @ a, -adjoint(e) @ x @ e] if discrete else [adjoint(a) @ x @ e, adjoint(e) @ x @ a]
    largest = max(np.max(np.abs(term), initial=0) for term in terms)
    residual = np.max(np.abs(sum(terms)), initial=0)
    if residual > _TOLERANCE * largest:
        refuse(
            f"the matrix that scipy.linalg.solve_{'discrete' if discrete else 'continuous'}_are returned does not "
            f"solve the equation: its residual is {residual:.2g}",
            "pass balanced=False",
        )


_TOLERANCE = 1e-6


def _by_residual(ct, c, e, discrete):
    """The cotangent of the residual, from that of the solution: by the adjoint of how the residual depends on it."""
    inverse = np.linalg.inv(e)
    g, right = np.matmul(inverse, c), np.matmul(np.matmul(inverse, ct), adjoint(inverse))
    return solve_discrete_lyapunov(g, right) if discrete else sylvester(g, adjoint(g), -right)


def _equation(function: Any, discrete: bool) -> None:
    def solve(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: Any = True) -> Any:
        what = f"scipy.linalg.{function.__name__} with a tracked balanced="
        balanced = without_gradient(balanced, what, "pass a bool")
        a, b, q, r = map(as_matrix, (a, b, q, r))
        e, s = (x if x is None else as_matrix(x) for x in (e, s))
        if any(map(is_abstract, (a, b, q, r, e, s))):
            refuse(
                f"scipy.linalg.{function.__name__} of matrices that a compiled program computes", "use engine='native'"
            )
        return riccati(a, b, q, r, e, s, discrete, bool(balanced))

    solve.__name__ = solve.__qualname__ = function.__name__
    stand_in(function)(solve)


def as_matrix(x: Any) -> Any:
    """As SciPy takes its coefficients: numbers and vectors become matrices of one row."""
    x = np.atleast_2d(as_array(x))
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


_equation(sl.solve_continuous_are, False)
_equation(sl.solve_discrete_are, True)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    a, b, e, s = (0.5 * rng.normal(size=shape) for shape in ((3, 3), (3, 2), (3, 3), (3, 2)))
    for discrete in (False, True):
        for factor in (1, 1 + 0.5j):
            yield Case(riccati.function, (a * factor, b, np.eye(3), np.eye(2), None, None, discrete, True))
            more = e * factor + 2 * np.eye(3), 0.1 * s
            yield Case(riccati.function, (a, b * factor, np.eye(3), np.eye(2), *more, discrete, True))
