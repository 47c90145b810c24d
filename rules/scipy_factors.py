"""Matrix factorisations of `scipy.linalg`: LU, QR, singular values, eigenvalues, polar.

Their vectors have the signs and phases that SciPy's LAPACK gives them: the values are SciPy's, the pulls are those of
NumPy's functions (rules/spectral.py, rules/decompositions.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, Facts, needs, refuse, rule, stand_in, zeros
from bridge.rules import decompositions, spectral
from bridge.rules.products import adjoint
from bridge.rules.scipy_arguments import checked, must_be_known, must_be_matrices, same_type, square
from bridge.rules.scipy_systems import as_columns, triangular

sl = needs("scipy.linalg")


def lu_compact(a):
    """Both factors of `a` with its rows interchanged, in one array, and the interchanges one after another."""
    must_be_matrices(a)
    return sl.lu_factor(a, check_finite=False)


def order_of(pivots, rows):
    """The rows of a matrix in the order into which the interchanges bring them."""
    order = np.arange(rows)
    for k, other in enumerate(np.asarray(must_be_known(pivots, "scipy.linalg.lu", "its rows are put in an order"))):
        order[[k, other]] = order[[other, k]]
    return order


def _unit_lower(factors):
    """The lower factor that lies below the diagonal of `lu_compact`."""
    rows, columns = factors.shape
    least = min(rows, columns)
    below = np.tri(rows, least, k=-1, dtype=bool)
    return np.where(below, factors[:, :least], np.eye(rows, least, dtype=factors.dtype))


def _upper(factors):
    least = min(factors.shape)
    return np.where(np.tri(least, factors.shape[1], k=-1, dtype=bool), 0, factors[:least])


@rule(lu_compact, reads=("out",), facts=Facts(precision="inexact"))
def lu_compact(ct, out, a):
    """Of the square part, from F = inv(L) dA inv(U) = inv(L) dL + dU inv(U), whose terms are in different triangles."""
    ct, (factors, pivots) = ct[0], out
    rows, columns = factors.shape
    least = min(rows, columns)
    lower, upper = _unit_lower(factors), _upper(factors)
    corner = factors[:least, :least]
    mask = np.tri(rows, columns, k=-1, dtype=bool)
    ct_lower, ct_upper = np.where(mask, ct, 0), np.where(mask, 0, ct)
    by_lower, by_upper = ct_lower[:least, :least], ct_upper[:least, :least]
    beyond = None
    if rows > columns:
        beyond = _over_upper(ct_lower[least:], corner)
        by_upper = by_upper - np.matmul(adjoint(lower[least:]), beyond)
    if columns > rows:
        beyond = triangular(corner, ct_upper[:, least:], True, 2, True)
        by_lower = by_lower - np.matmul(beyond, adjoint(upper[:, least:]))
    strict = np.tri(least, k=-1, dtype=bool)
    inner = np.where(
        strict, np.matmul(adjoint(lower[:least]), by_lower), np.matmul(by_upper, adjoint(upper[:, :least]))
    )
    cotangent = _over_upper(triangular(corner, inner, True, 2, True), corner)
    if beyond is not None:
        cotangent = np.concatenate([cotangent, beyond], axis=0 if rows > columns else 1)
    return cotangent[np.argsort(order_of(pivots, rows))]


def _over_upper(x, factors):
    """`x @ inv(U)^H`."""
    return adjoint(triangular(factors, adjoint(x), False, 0, False))


@stand_in(sl.lu_factor)
def lu_factor(a, overwrite_a=False, check_finite=True):
    a = checked(a, check_finite)
    if a.ndim != 2:
        refuse("scipy.linalg.lu_factor of a batch of tracked matrices", "call it for each matrix")
    return lu_compact(a)


@stand_in(sl.lu_solve)
def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    factors, pivots = lu_and_piv
    factors, b = same_type(square(factors, False), checked(b, check_finite))
    if factors.ndim != 2:
        refuse("scipy.linalg.lu_solve with a batch of factors", "call it for each matrix")
    if factors.shape[0] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError(f"Shapes of lu {factors.shape} and b {b.shape} are incompatible")
    order = order_of(pivots, factors.shape[0])

    def solve(right):
        if trans == 0:
            return triangular(factors, triangular(factors, right[..., order, :], True, 0, True), False, 0, False)
        found = triangular(factors, triangular(factors, right, False, trans, False), True, trans, True)
        return found[..., np.argsort(order), :]

    return as_columns(solve, b)


@stand_in(sl.lu)
def lu(a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    a = checked(a, check_finite)
    if a.ndim != 2:
        refuse("scipy.linalg.lu of a batch of tracked matrices", "call it for each matrix")
    factors, pivots = lu_compact(a)
    lower, upper, order = _unit_lower(factors), _upper(factors), order_of(pivots, a.shape[0])
    places = np.argsort(order)
    if permute_l:
        return lower[places], upper
    return (places.astype(np.int32) if p_indices else np.eye(a.shape[0], dtype=a.real.dtype)[places].T.T), lower, upper


def householder(a, complete):
    """The factors Q and R."""
    return sl.qr(a, mode="full" if complete else "economic", check_finite=False)


@rule(householder, facts=Facts(precision="inexact", static=("complete",)))
def householder(ct, out, a, complete):
    return decompositions.qr.joint(ct, out, a, "complete" if complete else "reduced")


@stand_in(sl.qr)
def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    a = checked(a, check_finite)
    if mode not in ("full", "qr", "r", "economic"):
        refuse(f"scipy.linalg.qr with mode={mode!r} has no derivative here", "use mode='economic'")
    order = ()
    if pivoting:
        plain = must_be_known(a, "scipy.linalg.qr with pivoting=True", "its columns are put in an order")
        if a.ndim != 2:
            refuse("scipy.linalg.qr with pivoting=True of a batch of tracked matrices", "call it for each matrix")
        order = (sl.qr(plain, mode="r", pivoting=True)[1],)
        a = a[:, order[0]]
    rows, columns = a.shape[-2:]
    if mode == "r":
        r = householder(a, False)[1]
        if rows > columns:
            r = np.concatenate([r, zeros((*a.shape[:-2], rows - columns, columns), like=r)], axis=-2)
        return (r, *order)
    return (*householder(a, mode != "economic"), *order)


def singular(a, full_matrices, compute_uv, driver):
    """The singular value decomposition, or the values alone."""
    return sl.svd(a, full_matrices, compute_uv, check_finite=False, lapack_driver=driver)


@rule(singular, facts=Facts(precision="inexact", static=("full_matrices", "compute_uv", "driver")))
def singular(ct, out, a, full_matrices, compute_uv, driver):
    return spectral.svd.joint(ct, out, a, full_matrices, compute_uv)


@stand_in(sl.svd)
def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    return singular(checked(a, check_finite), bool(full_matrices), bool(compute_uv), lapack_driver)


@stand_in(sl.svdvals)
def svdvals(a, overwrite_a=False, check_finite=True):
    return singular(checked(a, check_finite), True, False, "gesdd")


@stand_in(sl.polar)
def polar(a, side="right"):
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    w, s, vh = singular(checked(a), False, True, "gesdd")
    basis = adjoint(vh) if side == "right" else w
    return np.matmul(w, vh), np.matmul(basis * np.expand_dims(s, -2), adjoint(basis))


@stand_in(sl.orth)
def orth(A, rcond=None):
    u, s, vh = singular(checked(A), False, True, "gesdd")
    return u[..., : _rank(s, u.shape[0], vh.shape[1], rcond, "scipy.linalg.orth")]


@stand_in(sl.null_space)
def null_space(A, rcond=None, *, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    u, s, vh = singular(checked(A, check_finite), True, True, lapack_driver)
    return adjoint(vh[_rank(s, u.shape[0], vh.shape[1], rcond, "scipy.linalg.null_space") :])


def _rank(s, rows, columns, rcond, function):
    s = must_be_known(s, function, "the number of columns depends on singular values")
    if s.ndim != 1:
        refuse(f"{function} of a batch of tracked matrices", "call it for each matrix")
    rcond = np.finfo(s.dtype).eps * max(rows, columns) if rcond is None else rcond
    return int(np.sum(s > np.max(s, initial=0.0) * rcond))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for shape in ((3, 3), (4, 2), (2, 4), (1, 1)):
        x = rng.normal(size=shape)
        for a in (x, x + 1j * rng.normal(size=shape)):
            yield Case(lu_compact.function, (a,))
            yield Case(householder.function, (a, False))
            yield Case(singular.function, (a, False, True, "gesdd"), loss=lambda found: np.sum(found[1]))
            yield Case(singular.function, (a, True, False, "gesdd"))
