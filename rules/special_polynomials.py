"""Orthogonal polynomials of `scipy.special`, and Legendre functions, by their variable; degrees have no pull.

Formulas are those of the NIST Digital Library of Mathematical Functions, dlmf.nist.gov, 18.9 and 14.10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, conj, needs, pulls

sp = needs("scipy.special")


def _below(n: Any) -> Any:
    """One degree less; for a constant, whose slope has the factor zero, no less."""
    return np.where(n == 0, 0, n - 1)


def _register(function: Any, slope: Callable[..., Any], shapes: int = 0) -> None:
    """The rule of a polynomial of a degree, `shapes` parameters and a variable: `slope(n, *shapes, x)`."""

    def pull(ct, out, n, *rest):
        return ct * conj(np.where(n == 0, 0, slope(n, *rest)).astype(ct.dtype))

    def one(ct, out, n, x):
        return pull(ct, out, n, x)

    def two(ct, out, n, a, x):
        return pull(ct, out, n, a, x)

    def three(ct, out, n, a, b, x):
        return pull(ct, out, n, a, b, x)

    pulls(function, *[None] * (shapes + 1), (one, two, three)[shapes])


def _second_kind(n, x):
    """The slope of the Chebyshev polynomial of the second kind."""
    return 2 * sp.eval_gegenbauer(_below(n), 2.0, x)


_register(sp.eval_chebyt, lambda n, x: n * sp.eval_chebyu(_below(n), x))
_register(sp.eval_chebyu, _second_kind)
_register(sp.eval_chebyc, lambda n, x: n * sp.eval_chebyu(_below(n), x / 2))
_register(sp.eval_chebys, lambda n, x: _second_kind(n, x / 2) / 2)
_register(sp.eval_sh_chebyt, lambda n, x: 2 * n * sp.eval_chebyu(_below(n), 2 * x - 1))
_register(sp.eval_sh_chebyu, lambda n, x: 2 * _second_kind(n, 2 * x - 1))
_register(sp.eval_legendre, lambda n, x: (n + 1) / 2 * sp.eval_jacobi(_below(n), 1.0, 1.0, x))
_register(sp.eval_sh_legendre, lambda n, x: (n + 1) * sp.eval_jacobi(_below(n), 1.0, 1.0, 2 * x - 1))
_register(sp.eval_hermite, lambda n, x: 2 * n * sp.eval_hermite(_below(n), x))
_register(sp.eval_hermitenorm, lambda n, x: n * sp.eval_hermitenorm(_below(n), x))
_register(sp.eval_laguerre, lambda n, x: -sp.eval_genlaguerre(_below(n), 1.0, x))
_register(sp.eval_genlaguerre, lambda n, a, x: -sp.eval_genlaguerre(_below(n), a + 1.0, x), 1)
_register(sp.eval_gegenbauer, lambda n, a, x: 2 * a * sp.eval_gegenbauer(_below(n), a + 1.0, x), 1)
_register(
    sp.eval_jacobi,
    lambda n, a, b, x: (n + a + b + 1) / 2 * sp.eval_jacobi(_below(n), a + 1.0, b + 1.0, x),
    2,
)
_register(
    sp.eval_sh_jacobi,
    lambda n, p, q, x: (
        (n + p) * sp.eval_jacobi(_below(n), p - q + 1.0, 1.0 * q, 2 * x - 1) / sp.binom(2 * n + p - 1, n)
    ),
    2,
)


def _legendre_slope(m, v, x):
    """Of Ferrers' function; at the ends of the interval its polynomials of order 0 have the slope v (v + 1) / 2."""
    end = (np.abs(x) == 1) & (m == 0)
    inside = np.where(end, 0, x)
    found = (v * inside * sp.lpmv(m, v, inside) - (v + m) * sp.lpmv(m, v - 1, inside)) / (inside * inside - 1)
    return np.where(end, np.where(x > 0, 1, -((-1.0) ** v)) * v * (v + 1) / 2, found)


pulls(sp.lpmv, None, None, lambda ct, out, m, v, x: ct * _legendre_slope(m, v, x).astype(ct.dtype))


def cases() -> Iterator[Case]:
    x, n = np.array([-0.7, 0.2, 0.6]), np.array([0, 1, 4])
    plain = (sp.eval_chebyt, sp.eval_chebyu, sp.eval_chebyc, sp.eval_chebys, sp.eval_sh_chebyt, sp.eval_sh_chebyu)
    plain = (*plain, sp.eval_legendre, sp.eval_sh_legendre, sp.eval_laguerre, sp.eval_hermite, sp.eval_hermitenorm)
    for function in plain:
        yield Case(function, (n, x))
        if function not in (sp.eval_hermite, sp.eval_hermitenorm):
            yield Case(function, (3, x + 0.2j))
    for function in (sp.eval_genlaguerre, sp.eval_gegenbauer):
        yield Case(function, (n, 1.5, x))
    yield Case(sp.eval_jacobi, (n, 0.5, 1.5, x))
    yield Case(sp.eval_sh_jacobi, (n, 2.5, 1.5, np.abs(x)))
    yield Case(sp.lpmv, (0, 2, np.array([-0.5, 0.3, 0.8])))
    yield Case(sp.lpmv, (1, np.array([1, 2, 3]), x))
