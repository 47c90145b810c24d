"""`scipy.fft` and `scipy.fftpack` in programs that are read: values against SciPy's, gradients proved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.fftpack

from tests.helpers.stand_in_rows import Row, name_of, right_gradient, row, same_value, some_of_each, stand_in_for

RNG = np.random.default_rng(0)


def real(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def complex_(*shape: int) -> np.ndarray:
    return real(*shape) + 1j * real(*shape)


def fourier() -> Iterator[Row]:
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        kind = real if name in ("rfft", "ihfft") else complex_
        one = getattr(scipy.fft, name)
        yield row(one, kind(5), overwrite_x=True, workers=1)
        yield row(one, kind(2, 4), 6, 0, "ortho")
        yield row(one, kind(2, 5), norm="forward", n=3)
        yield row(one, [1, 2, 3])
        yield row(one, real(4).astype(np.float32))
        for suffix in "2n":
            several = getattr(scipy.fft, name + suffix)
            yield row(several, kind(3, 4))
            yield row(several, kind(3, 4), (4, -1), (1, 0), "ortho")
            yield row(several, kind(2, 3, 4), norm="forward")
        yield row(getattr(scipy.fft, name + "n"), kind(2, 3, 4), s=(5, 2))
        yield row(getattr(scipy.fft, name + "n"), kind(3, 4), axes=0)
    yield row(scipy.fft.fftshift, real(5))
    yield row(scipy.fft.ifftshift, complex_(3, 4), axes=1)


def trigonometric() -> Iterator[Row]:
    for name in ("dct", "idct", "dst", "idst"):
        function, several = getattr(scipy.fft, name), getattr(scipy.fft, name + "n")
        for kind in (1, 2, 3, 4):
            for norm in (None, "ortho", "forward", "backward"):
                yield row(function, real(5), kind, norm=norm)
            yield row(function, complex_(2, 4), kind, 6, 0)
            yield row(function, real(2, 4), kind, n=3, orthogonalize=True)
            yield row(function, real(4), kind, norm="ortho", orthogonalize=False)
            yield row(several, real(3, 4), kind, norm="ortho")
            yield row(several, real(3, 4), kind, (2, 5), (1, 0))
            old, old_several = getattr(scipy.fftpack, name), getattr(scipy.fftpack, name + "n")
            yield row(old_several, real(3, 4), kind)
            for norm in (None, "ortho"):
                yield row(old, real(5), kind, norm=norm)
        yield row(function, real(4).astype(np.float32))


def old() -> Iterator[Row]:
    for name in ("fft", "ifft"):
        yield row(getattr(scipy.fftpack, name), complex_(2, 4), 3, 0)
        yield row(getattr(scipy.fftpack, name + "2"), complex_(3, 4))
        yield row(getattr(scipy.fftpack, name + "n"), complex_(2, 3, 4), shape=(4, 2), axes=(0, 1))
    for n in (4, 5, None):
        yield row(scipy.fftpack.rfft, real(4), n)
        yield row(scipy.fftpack.irfft, real(5), n)
        yield row(scipy.fftpack.irfft, real(4, 2), n, 0)
        yield row(scipy.fftpack.rfft, real(5, 2), n, 0)
    for n in (4, 5):
        for order in (0, 1, 2, 3, -1):
            yield row(scipy.fftpack.diff, real(n) - 0.3, order, 2.0)
        yield row(scipy.fftpack.diff, complex_(n))
        yield row(scipy.fftpack.hilbert, real(n))
        yield row(scipy.fftpack.ihilbert, complex_(n))


ROWS = [*fourier(), *trigonometric(), *old()]


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_its_value_is_scipys(row: Row) -> None:
    same_value(row)


@pytest.mark.ci
@pytest.mark.parametrize(
    "row", some_of_each([one for one in ROWS if one.args[0] is not None and np.size(one.args[0]) > 3]), ids=name_of
)
def test_its_gradient_is_proved(row: Row) -> None:
    right_gradient(row)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stand_in_for(scipy.fft.rfft)(complex_(3)), "x must be a real sequence"),
        (lambda: stand_in_for(scipy.fft.fftn)(real(3, 3), axes=(0, 0)), "axes must be unique"),
        (lambda: stand_in_for(scipy.fft.fft)(real(3), plan=1), "precomputed plan"),
    ],
)
def test_what_scipy_refuses_is_refused(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=message):
        call()
