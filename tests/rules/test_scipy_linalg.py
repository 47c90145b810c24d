"""`scipy.linalg` in programs that are read: one row a call, its value against SciPy's and its gradient proved."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import bridge
from bridge.errors import RefusedError
from tests.helpers.stand_in_rows import Row, name_of, right_gradient, row, same_value, some_of_each, stand_in_for

RNG = np.random.default_rng(0)


def real(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def complex_(*shape: int) -> np.ndarray:
    return real(*shape) + 1j * real(*shape)


def regular(*shape: int, kind: Any = real) -> np.ndarray:
    return kind(*shape) + 3 * np.eye(shape[-1])


def definite(n: int, kind: Any = real) -> np.ndarray:
    a = kind(n, n)
    return a @ a.conj().T + np.eye(n)


def systems() -> Iterator[Row]:
    for kind in (real, complex_):
        a = regular(3, 3, kind=kind)
        for b in (kind(3), real(3, 2), real(2, 3, 2)):
            yield row(sl.solve, a, b)
            yield row(sl.solve_triangular, a, b)
            yield row(sl.solve_triangular, a, b, "C", True, True)
        yield row(sl.solve, regular(2, 3, 3, kind=kind), kind(3))
        for structure in ("gen", "diagonal", "tridiagonal", "upper triangular", "lower triangular", "banded"):
            yield row(sl.solve, a, kind(3), assume_a=structure)
        for structure in ("sym", "her", "pos"):
            for lower in (True, False):
                h = definite(3, kind) if structure != "sym" else a + a.T
                yield row(sl.solve, h, kind(3, 2), lower, assume_a=structure)
                yield row(sl.inv, h, assume_a=structure, lower=lower)
        for lower in (True, False):
            yield row(sl.cholesky, definite(3, kind), lower)
            yield row(sl.cho_factor, definite(3, kind), lower)
            yield row(sl.cho_solve, (regular(3, 3, kind=kind), lower), kind(3))
            for form in (0, 1, 2):
                yield row(sl.solve_triangular, a, kind(3, 2), form, lower)
        yield row(sl.inv, regular(2, 3, 3, kind=kind))
        yield row(sl.det, a)
        yield row(sl.det, regular(2, 3, 3, kind=kind))
        for x in (kind(4, 3), kind(3, 4), kind(2, 3, 3)):
            yield row(sl.pinv, x)
        yield row(sl.pinv, kind(4, 3), rtol=1e-9, return_rank=True)
        yield row(sl.pinv, kind(4, 3), atol=1e-3)
        yield row(sl.pinvh, definite(3, kind), lower=False)
        yield row(sl.pinvh, definite(3, kind), return_rank=True)
        for x, b in ((kind(4, 3), kind(4)), (kind(4, 3), kind(4, 2)), (kind(2, 3), kind(2))):
            yield row(sl.lstsq, x, b)
        yield row(sl.lstsq, kind(4, 2), kind(4), lapack_driver="gelsy")
    yield row(sl.solve, regular(3, 3), real(3), transposed=True)
    yield row(sl.solve, regular(3, 3), real(3), transposed=True, assume_a="upper triangular")
    yield row(sl.solve, np.array([[2.0]]), real(3, 2))
    yield row(sl.solve, regular(3, 3), [1, 2, 3], overwrite_a=True, overwrite_b=True)
    yield replace(row(sl.solve, regular(3, 3).astype(np.float32), np.ones(3, np.float32)), tolerance=1e-2)


def factors() -> Iterator[Row]:
    for kind in (real, complex_):
        a = regular(3, 3, kind=kind)[[2, 0, 1]]
        for x in (a, kind(4, 2), kind(2, 4)):
            yield row(sl.lu, x)
            yield row(sl.lu, x, True)
            yield row(sl.lu, x, p_indices=True)
            yield row(sl.lu_factor, x)
            yield row(sl.svdvals, x)
            yield Row(sl.svd, (x,), {"full_matrices": False}, lambda found: np.sum(abs(found[0][0]) ** 2 * found[1]))
            yield row(sl.svd, x, True, False)
            yield replace(row(sl.qr, x), loss=lambda found: np.sum(found[1].real))
            yield row(sl.qr, x, mode="economic")
            yield row(sl.qr, x, mode="economic", pivoting=True)
            yield row(sl.qr, x, mode="r")
            yield row(sl.polar, x)
            yield row(sl.polar, x, "left")
        for form in (0, 1, 2):
            yield row(sl.lu_solve, sl.lu_factor(a), kind(3), form)
            yield row(sl.lu_solve, sl.lu_factor(a), kind(3, 2), form)
        yield Row(sl.orth, (kind(3, 2),), {}, lambda q: np.sum(abs(q @ q.conj().T) ** 4))
        yield Row(sl.null_space, (kind(2, 3),), {}, lambda q: np.sum(abs(q) ** 4))


def bands(*shape: int, kind: Any = real, main: int = 0) -> np.ndarray:
    ab = kind(*shape)
    ab[..., main, :] = 5 + abs(ab[..., main, :])
    return ab


def banded() -> Iterator[Row]:
    for kind in (real, complex_):
        for lower, upper in ((1, 1), (0, 1), (2, 1)):
            ab = bands(lower + upper + 1, 5, kind=kind, main=upper)
            yield row(sl.solve_banded, (lower, upper), ab, kind(5))
            yield row(sl.solve_banded, (lower, upper), ab, real(5, 2))
        for lower in (True, False):
            for width in (1, 2):
                ab = bands(width + 1, 5, kind=kind, main=0 if lower else width)
                yield row(sl.solveh_banded, ab, kind(5), lower=lower)
                yield row(sl.cholesky_banded, ab, lower=lower)
                yield row(sl.cho_solve_banded, (ab, lower), kind(5, 2))
    yield row(sl.solve_banded, (1, 1), bands(2, 3, 4, main=1), real(2, 4, 1))
    yield row(sl.solveh_banded, bands(2, 2, 4, main=1), real(4))
    yield row(sl.eigvalsh_tridiagonal, real(5), real(4))
    yield row(sl.eigh_tridiagonal, real(5), real(4))
    yield row(sl.eigh_tridiagonal, real(5), real(4), select="i", select_range=(1, 2))


def eigen() -> Iterator[Row]:
    def of_vectors(found: Any) -> Any:
        return np.sum(abs(found[1][0]) ** 2 * np.real(found[0])) + np.sum(found[0].real ** 3)

    for kind in (real, complex_):
        a, h, b = kind(3, 3), definite(3, kind), definite(3, kind)
        for lower in (True, False):
            yield Row(sl.eigh, (a,), {"lower": lower}, of_vectors)
            for form in (1, 2, 3):
                yield Row(sl.eigh, (h, b), {"lower": lower, "type": form}, of_vectors)
        yield row(sl.eigvalsh, a, subset_by_index=[1, 2])
        yield row(sl.eigvalsh, h, b)
        yield Row(sl.eigh, (a,), {"subset_by_index": (0, 1)}, of_vectors)
        yield Row(sl.eigh, (a,), {"subset_by_value": (-1.5, 50.0), "driver": "evr"}, of_vectors)
        yield Row(sl.eigh, (a,), {"driver": "evd"}, of_vectors)
        yield Row(sl.eig, (a,), {}, of_vectors)
        yield row(sl.eigvals, a)
        yield row(sl.eig, h, right=False)
    yield Row(sl.eigh, (real(2, 3, 3),), {}, lambda found: np.sum(found[0] ** 3))


def functions() -> Iterator[Row]:
    for kind in (real, complex_):
        a = definite(3, kind) / 3
        for function in (sl.expm, sl.logm, sl.sqrtm, sl.sinm, sl.cosm, sl.tanm, sl.sinhm, sl.coshm, sl.tanhm):
            yield row(function, a)
        yield row(sl.expm, kind(2, 3, 3))
        yield row(sl.expm_frechet, a, kind(3, 3))
        yield row(sl.fractional_matrix_power, a, 0.3)
        yield row(sl.fractional_matrix_power, a, -2)
        yield row(sl.solve_sylvester, definite(3, kind), definite(2, kind), kind(3, 2))
        yield row(sl.solve_continuous_lyapunov, definite(3, kind), kind(3, 3))
        for method in (None, "bilinear"):
            yield row(sl.solve_discrete_lyapunov, a / 9, kind(3, 3), method)
    yield row(sl.sqrtm, np.stack([definite(2), definite(2)]))
    yield row(sl.sqrtm, real(3, 3))


def forms() -> Iterator[Row]:
    for kind in (real, complex_):
        yield row(sl.toeplitz, kind(3))
        yield row(sl.toeplitz, kind(3), kind(4))
        yield row(sl.toeplitz, kind(2, 3), kind(4))
        yield row(sl.circulant, kind(2, 4))
        yield row(sl.hankel, kind(3))
        yield row(sl.hankel, kind(3), kind(4))
        yield row(sl.companion, kind(2, 4))
        yield row(sl.leslie, kind(4), kind(3))
        for mode in ("full", "same", "valid"):
            yield row(sl.convolution_matrix, kind(4), 3, mode)
            yield row(sl.convolution_matrix, kind(2, 3), 5, mode)
        yield row(sl.block_diag, kind(2, 2), kind(3), [[1, 2], [3, 4]])
        yield row(sl.block_diag, kind(2, 1, 2), kind(3, 1))
        yield row(sl.khatri_rao, kind(2, 3), kind(3, 3))
        yield row(sl.diagsvd, kind(2), 2, 3)
        for ord in (None, 1, np.inf):
            yield row(sl.norm, kind(3, 2), ord)
        c, r = kind(4) + np.array([5, 0, 0, 0]), kind(4)
        yield row(sl.solve_toeplitz, c, kind(4))
        yield row(sl.solve_toeplitz, (c, r), kind(4, 2))
        yield row(sl.solve_toeplitz, (np.stack([c, 2 * c]), r), kind(4))
        yield row(sl.matmul_toeplitz, (c, r), kind(4, 2))
        yield row(sl.matmul_toeplitz, (c, kind(3)), kind(3))
        yield row(sl.solve_circulant, c, kind(4))
        yield row(sl.solve_circulant, c, kind(3, 4), baxis=1, outaxis=-1)
    yield row(sl.fiedler, real(4))
    # A singular matrix, by whose elements there is no derivative: these are no array.
    yield row(sl.solve_circulant, [1.0, -1.0, 0.0], real(3), singular="lstsq")


ROWS = [*systems(), *factors(), *banded(), *eigen(), *functions(), *forms()]


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_its_value_is_scipys(row: Row) -> None:
    same_value(row)


@pytest.mark.ci
@pytest.mark.parametrize("row", some_of_each(ROWS), ids=name_of)
def test_its_gradient_is_proved(row: Row) -> None:
    right_gradient(row)


@pytest.mark.parametrize("driver", [None, "gelss", "gelsy"])
@pytest.mark.parametrize("right", [real(3), real(3, 2), real(3) + 1j])
def test_residuals_without_full_rank(right: np.ndarray, driver: str | None) -> None:
    """There are none; since SciPy 1.18 they are NaN."""
    same_value(row(sl.lstsq, np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), right, cond=1e-9, lapack_driver=driver))


@pytest.mark.parametrize("more", [(), (None, False)])
def test_eigenvalues_with_every_argument_by_position(more: tuple[Any, ...]) -> None:
    rest = [True] * (len(inspect.signature(sl.eigvals).parameters) - 2 - len(more)) if more else []
    same_value(row(sl.eigvals, real(3, 3), *more, *rest[:-1]))
    names = [name for name in ("overwrite_b",) if name in inspect.signature(sl.eigvals).parameters]
    same_value(row(sl.eigvals, real(3, 3), **dict.fromkeys(names, True)))


REFUSED = [
    (row(sl.qr, real(3, 3), mode="raw"), "scipy.linalg.qr with mode='raw'", "mode='economic'"),
    (row(sl.lu, real(2, 3, 3)), "scipy.linalg.lu of a batch", "each matrix"),
    (row(sl.eig, real(3, 3), real(3, 3)), "scipy.linalg.eig with b", "np.linalg.solve"),
    (row(sl.logm, -np.eye(2)), "scipy.linalg.logm of a real matrix with a negative eigenvalue", "complex matrix"),
    (row(sl.eigh_tridiagonal, real(3), real(2), select="v"), "with select='v'", "select='i'"),
]


@pytest.mark.parametrize(("row", "what", "remedy"), REFUSED)
def test_what_it_does_not_do_is_refused_by_name(row: Row, what: str, remedy: str) -> None:
    with pytest.raises(RefusedError) as caught:
        stand_in_for(row.function)(*row.args, **row.kwargs)
    assert what in str(caught.value)
    assert remedy in str(caught.value)
    assert "test_scipy_linalg.py" in str(caught.value) or "stand_in_rows.py" in str(caught.value)


@pytest.mark.parametrize("solve", [sl.solve_continuous_are, sl.solve_discrete_are])
@pytest.mark.parametrize("kind", [real, complex_])
@pytest.mark.parametrize("general", [False, True])
def test_riccati_equations(solve: Any, kind: Any, general: bool) -> None:
    weights = real(3, 3)

    def program(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any) -> Any:
        q, r = q @ q.conj().T + np.eye(3), r @ r.conj().T + np.eye(2)
        x = solve(a, b, q, r, e=e, s=s, balanced=False) if general else solve(a, b, q, r)
        return np.sum(weights * x.real) + np.sum(weights**2 * x.imag)

    a, b, q, r, s = (0.3 * kind(*shape) for shape in ((3, 3), (3, 2), (3, 3), (2, 2), (3, 2)))
    e = 0.3 * kind(3, 3) + 2 * np.eye(3)
    bridge.check_gradient(program, tuple(range(6)))(a, b, q, r, e, 0.3 * s)


def test_a_solution_of_scipys_that_does_not_solve_the_equation_is_refused() -> None:
    """SciPy 1.17 balances some pencils with `e` so that the residual is 0.09."""
    rng = np.random.default_rng(2)
    a, b, q, r, _, e = (0.3 * rng.normal(size=shape) for shape in ((3, 3), (3, 2), (3, 3), (2, 2), (3, 2), (3, 3)))
    q, r, e = q @ q.T + np.eye(3), r @ r.T + np.eye(2), e + 2 * np.eye(3)

    def program(a: Any, balanced: bool) -> Any:
        return np.sum(sl.solve_discrete_are(a, b, q, r, e, balanced=balanced))

    bridge.check_gradient(program)(a, False)
    x, c = sl.solve_discrete_are(a, b, q, r, e), b.T
    residual = a.T @ x @ a - e.T @ x @ e - a.T @ x @ b @ np.linalg.solve(r + c @ x @ b, c @ x @ a) + q
    if np.max(np.abs(residual)) > 1e-6:
        with pytest.raises(RefusedError, match="does not solve the equation"):
            bridge.grad(program)(a, True)


def test_riccati_equations_refuse_what_scipy_refuses_and_are_not_compiled() -> None:
    def program(q: Any) -> Any:
        return np.sum(sl.solve_continuous_are(np.eye(2), np.eye(2), q, np.eye(2)))

    with pytest.raises(ValueError, match="symmetric/hermitian"):
        bridge.grad(program)(np.array([[1.0, 2.0], [0.0, 1.0]]))
    with pytest.raises(RefusedError, match="solve_continuous_are"):
        bridge.grad(program, engine="xla")(np.eye(2))


def test_what_may_be_overwritten_keeps_its_value() -> None:
    a, b = regular(3, 3), real(3)

    def program(a: Any, b: Any) -> Any:
        x = stand_in_for(sl.solve)(a, b, overwrite_a=True, overwrite_b=True)
        return np.sum(x) + np.sum(a) + np.sum(b)

    assert np.isclose(program(a, b), np.sum(sl.solve(a, b)) + np.sum(a) + np.sum(b))
    bridge.check_gradient(program, (0, 1))(a, b)


def test_numbers_that_are_not_finite_are_refused_as_by_scipy() -> None:
    with pytest.raises(ValueError, match="infs or NaNs"):
        stand_in_for(sl.solve)(np.eye(2), np.array([1.0, np.nan]))
    with pytest.raises(np.linalg.LinAlgError):
        stand_in_for(sl.solve)(-np.eye(2), np.ones(2), assume_a="pos")
