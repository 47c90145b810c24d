"""`scipy.linalg.blas` and `lapack` in programs that are read: values against SciPy's, gradients proved, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl
from scipy.linalg import blas, lapack

import bridge
from bridge.errors import RefusedError
from tests.helpers.stand_in_rows import Row, name_of, right_gradient, row, same_value, some_of_each, stand_in_for

RNG = np.random.default_rng(0)


def real(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def complex_(*shape: int) -> np.ndarray:
    return real(*shape) + 1j * real(*shape)


def rows() -> Iterator[Row]:
    for prefix, kind in (("d", real), ("z", complex_)):

        def routine(name: str, module: Any = blas, prefix: str = prefix) -> Any:
            return getattr(module, prefix + name)

        a, b, x, y = kind(3, 3), kind(3, 3), kind(3), kind(3)
        definite = a @ a.conj().T + np.eye(3)
        yield row(routine("gemv"), 2.0, a, x, 0.5, y, trans=1)
        yield row(routine("gemm"), 2.0, a, b)
        yield row(routine("gemm"), 2.0, a, b, 3.0, kind(3, 3), 1, 1)
        yield row(routine("gemm"), alpha=1.0, a=a, b=b.T, trans_a=2)
        for form in (0, 1, 2):
            for side in (0, 1):
                yield row(routine("trsm"), 1.5, a + 3 * np.eye(3), b, side, form == 1, form)
            yield row(routine("trsv"), a + 3 * np.eye(3), x, lower=1, trans=form)
            yield row(routine("getrs", lapack), *sl.lu_factor(a), b, form)
            yield row(routine("trtrs", lapack), a + 3 * np.eye(3), x, 1, form)
        yield row(routine("getrf", lapack), a)
        yield row(routine("gesv", lapack), a, b)
        for lower in (0, 1):
            yield row(routine("potrf", lapack), definite, lower)
            yield row(routine("posv", lapack), definite, x, lower)
            yield row(routine("potrs", lapack), np.linalg.cholesky(definite, upper=not lower), b, lower)
    yield row(blas.ddot, real(3), real(3))
    yield row(blas.zdotu, complex_(3), complex_(3))
    yield row(blas.zdotc, complex_(3), complex_(3))
    yield row(blas.dznrm2, complex_(3))
    yield row(blas.dasum, real(3))
    yield row(blas.dger, 2.0, real(3), real(2), a=real(3, 2))
    yield row(blas.zgerc, 2.0, complex_(3), complex_(2))
    yield row(blas.dsymv, 2.0, real(3, 3), real(3), lower=1)


ROWS = list(rows())


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_its_value_is_scipys(row: Row) -> None:
    same_value(row)


@pytest.mark.parametrize("row", some_of_each(ROWS), ids=name_of)
def test_its_gradient_is_proved(row: Row) -> None:
    right_gradient(row)


def tridiagonal(kind: Any) -> tuple[np.ndarray, ...]:
    return kind(3), kind(4) + 5, kind(3), kind(4)


@pytest.mark.parametrize(("prefix", "kind"), [("d", real), ("z", complex_)])
def test_tridiagonal_systems(prefix: str, kind: Any) -> None:
    routine = getattr(lapack, prefix + "gtsv")
    arguments = tridiagonal(kind)
    stand_in = stand_in_for(routine)
    found = stand_in(*arguments)[3]
    np.testing.assert_allclose(found, routine(*arguments)[3])
    bridge.check_gradient(lambda *args: np.sum(abs(stand_in(*args)[3] - 1) ** 2), (0, 1, 2, 3))(*arguments)


def test_definite_tridiagonal_systems() -> None:
    d, e, b = real(4) ** 2 + 4, complex_(3), complex_(4)
    stand_in = stand_in_for(lapack.zptsv)
    np.testing.assert_allclose(stand_in(d, e, b)[2], lapack.zptsv(d, e, b)[2])


def test_routines_are_found_by_dtype() -> None:
    (found,) = stand_in_for(sl.get_lapack_funcs)(("gtsv",), (real(3),))
    assert found is lapack.dgtsv


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (
            lambda: stand_in_for(lapack.dgtsv)(*tridiagonal(real), overwrite_b=True),
            "dgtsv with overwrite_b=True writes",
        ),
        (lambda: stand_in_for(lapack.dgtsv)(*tridiagonal(real))[1] * 2, "a factor that scipy.linalg.lapack.dgtsv"),
        (lambda: np.sin(stand_in_for(lapack.dgtsv)(*tridiagonal(real))[0]), "a factor that scipy.linalg.lapack.dgtsv"),
        (lambda: stand_in_for(blas.daxpy)(real(3), real(3)), "scipy.linalg.blas.daxpy writes into its argument"),
        (lambda: stand_in_for(blas.ddot)(complex_(3), real(3)), "ddot of complex numbers drops"),
        (lambda: stand_in_for(blas.ddot)(real(3), real(3), incx=2), "ddot with these arguments has no derivative"),
    ],
)
def test_what_it_does_not_do_is_refused_by_name(call: Any, what: str) -> None:
    with pytest.raises(RefusedError, match=what):
        call()
