"""Eigenvalues and eigenvectors of `scipy.linalg`, generalised ones of Hermitian pencils too.

Vectors have the signs and phases of SciPy's LAPACK; the pulls are those of rules/spectral.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, Facts, known, needs, refuse, rule, stand_in
from bridge.rules import spectral
from bridge.rules.decompositions import onto_triangle
from bridge.rules.products import adjoint
from bridge.rules.scipy_arguments import must_be_known, must_be_matrices, same_type, square
from bridge.rules.scipy_banded import same_phase
from bridge.rules.scipy_systems import structured, triangular

sl = needs("scipy.linalg")


def hermitian_eigen(a, lower, driver):
    """Eigenvalues and eigenvectors of the Hermitian matrix of which a triangle is given."""
    must_be_matrices(a)
    return tuple(sl.eigh(a, lower=lower, driver=driver, check_finite=False))


@rule(hermitian_eigen, reads=("out",), facts=Facts(precision="inexact", static=("lower", "driver")))
def hermitian_eigen(ct, out, a, lower, driver):
    return onto_triangle(spectral.hermitian_cotangent(*ct, *out), lower)


@stand_in(sl.eigh)
def eigh(
    a,
    b=None,
    *,
    lower=True,
    eigvals_only=False,
    overwrite_a=False,
    overwrite_b=False,
    type=1,
    check_finite=True,
    subset_by_index=None,
    subset_by_value=None,
    driver=None,
):
    a = square(a, check_finite)
    if b is not None:
        a, b = same_type(a, square(b, check_finite))
        if a.shape[-2:] != b.shape[-2:]:
            raise ValueError(f"wrong b dimensions {b.shape}, should be {a.shape}")
    subset = subset_by_index is not None or subset_by_value is not None
    if subset and a.ndim > 2:
        refuse("scipy.linalg.eigh with a subset of a batch of tracked matrices", "call it for each matrix")
    w, v = hermitian_eigen(a, bool(lower), driver) if b is None else _of_pencil(a, b, bool(lower), type)
    if subset_by_index is not None:
        first, last = map(int, subset_by_index)
        kept = slice(first, last + 1)
    elif subset_by_value is not None:
        values = must_be_known(w, "scipy.linalg.eigh with subset_by_value", "how many there are depends on eigenvalues")
        kept = np.flatnonzero((values > subset_by_value[0]) & (values <= subset_by_value[1]))
    else:
        kept = slice(None)
    if eigvals_only:
        return w[..., kept]
    v = v[..., kept]
    if (subset or b is not None) and known(a) is not None:
        own = {"lower": lower, "type": type, "driver": driver, "check_finite": False}
        own |= {"subset_by_index": subset_by_index, "subset_by_value": subset_by_value}
        v = v * same_phase(v, sl.eigh(known(a), None if b is None else known(b), **own)[1])
    return w[..., kept], v


def _of_pencil(a, b, lower, type):
    """Eigenvalues and vectors of `a @ v = b @ v * w`, `a @ b @ v = v * w` or `b @ a @ v = v * w`, b = L L^H."""
    if type not in (1, 2, 3):
        raise ValueError('"type" keyword only accepts 1, 2, and 3.')
    factor = np.linalg.cholesky(structured(b, "her", lower))
    a = structured(a, "her", lower)
    if type == 1:
        half = triangular(factor, a, True, 0, False)
        inner = triangular(factor, adjoint(half), True, 0, False)
    else:
        inner = np.matmul(np.matmul(adjoint(factor), a), factor)
    w, y = hermitian_eigen(inner, True, None)
    return w, np.matmul(factor, y) if type == 3 else triangular(factor, y, True, 2, False)


@stand_in(sl.eigvalsh)
def eigvalsh(
    a,
    b=None,
    *,
    lower=True,
    overwrite_a=False,
    overwrite_b=False,
    type=1,
    check_finite=True,
    subset_by_index=None,
    subset_by_value=None,
    driver=None,
):
    subset = {"subset_by_index": subset_by_index, "subset_by_value": subset_by_value}
    driver = None if driver in ("gv", "gvd", "gvx") else driver
    return eigh(a, b, lower=lower, eigvals_only=True, type=type, check_finite=check_finite, driver=driver, **subset)


def general_eigen(a):
    """Eigenvalues, which are complex numbers, and eigenvectors of unit length."""
    return sl.eig(a, check_finite=False)


@rule(general_eigen, reads=("out", "a"), facts=Facts(precision="inexact"))
def general_eigen(ct, out, a):
    return spectral.eig.joint(ct, out, a)


def general_eigenvalues(a):
    """The eigenvalues, which are complex numbers."""
    return sl.eigvals(a, check_finite=False)


@rule(general_eigenvalues, facts=Facts(precision="inexact"))
def general_eigenvalues(ct, out, a):
    return spectral.eigvals.joint(ct, out, a)


@stand_in(sl.eig)
def eig(
    a,
    b=None,
    left=False,
    right=True,
    overwrite_a=False,
    overwrite_b=False,
    check_finite=True,
    homogeneous_eigvals=False,
):
    if b is not None or left or homogeneous_eigvals:
        refuse(
            "scipy.linalg.eig with b, left=True or homogeneous_eigvals=True has no derivative here",
            "use scipy.linalg.eig(np.linalg.solve(b, a)), or that of the adjoint matrix for left vectors",
        )
    a = square(a, check_finite)
    return general_eigen(a) if right else general_eigenvalues(a)


_EIGVALS = inspect.signature(sl.eigvals)


@stand_in(sl.eigvals)
def eigvals(*args, **kwargs):
    # SciPy 1.18 has `overwrite_b` before `check_finite`.
    return eig(**(dict(_EIGVALS.bind(*args, **kwargs).arguments) | {"right": False}))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    for a in (x, x + 1j * y, np.stack([x, y])):
        for lower in (True, False):
            yield Case(hermitian_eigen.function, (a, lower, None), loss=lambda found: np.sum(found[0] ** 3))
            yield Case(hermitian_eigen.function, (a, lower, "evd"), loss=_of_sizes)
        yield Case(general_eigen.function, (a,), loss=_of_vectors)
        yield Case(general_eigenvalues.function, (a,))


def _of_vectors(found):
    w, v = found
    return np.sum(np.abs(v[..., :1, :]) ** 2 * (np.real(w) + np.imag(w) ** 2)[..., None, :])


def _of_sizes(found):
    weights = np.sin(np.arange(1.0, 10.0)).reshape(3, 3)
    return np.sum(np.abs(found[1]) ** 2 * weights)
