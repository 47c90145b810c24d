"""Systems solved by a plain factorization: an object like `scipy.sparse.linalg.SuperLU`, which does not change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, needs, pulls
from bridge.rules.contractions import fitted

_ADJOINT = {"N": "H", "H": "N"}


def lu_solved(factors: Any, b: Any, trans: str) -> Any:
    """The solution by a plain factorization; `factors` do not change."""
    parts = (np.real, np.imag)
    if np.iscomplexobj(b) and factors.L.dtype.kind != "c":
        real, imaginary = (factors.solve(np.ascontiguousarray(part(b)), trans) for part in parts)
        return real + 1j * imaginary
    return factors.solve(np.asarray(b, factors.L.dtype), trans)


def _by_right_hand_side(ct, out, factors, b, trans):
    return fitted(LU_SOLVED(factors, ct, _ADJOINT[trans]), b.shape, b.dtype)


LU_SOLVED = pulls(lu_solved, None, _by_right_hand_side, reads=(), linear=True, facts=Facts(static=("factors", "trans")))


def cases() -> Iterator[Case]:
    factorize = needs("scipy.sparse.linalg").splu
    matrix_of = needs("scipy.sparse").csc_array
    rng = np.random.default_rng(0)
    dense = np.diag([4.0, 5.0, 6.0]) + rng.normal(size=(3, 3))
    for matrix in (dense, dense + 0.3j):
        for b in (rng.normal(size=3), rng.normal(size=(3, 2)) + (1j if matrix.dtype == complex else 0)):
            yield Case(lu_solved, (factorize(matrix_of(matrix)), b, "N"))
    yield Case(lu_solved, (factorize(matrix_of(dense)), rng.normal(size=3) + 1j, "H"))
