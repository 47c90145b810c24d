"""`scipy.fftpack`: the transforms that programs use, which are those of `scipy.fft` with other scales and layouts."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.extend import needs, stand_in
from bridge.rules.scipy_arguments import inexact
from bridge.rules.scipy_fft import _INVERSE_KINDS, _along, _lengths_and_axes, _several

fftpack = needs("scipy.fftpack")


def _register(name: str) -> None:
    computes, several = getattr(np.fft, name), getattr(np.fft, name + "n")

    def one(x, n=None, axis=-1, overwrite_x=False):
        return computes(inexact(x), n, axis)

    def transform(x, shape, axes):
        x = inexact(x)
        return several(x, *_lengths_and_axes(x.shape, shape, axes))

    def two(x, shape=None, axes=(-2, -1), overwrite_x=False):
        return transform(x, shape, axes)

    def many(x, shape=None, axes=None, overwrite_x=False):
        return transform(x, shape, axes)

    stand_in(getattr(fftpack, name))(one)
    stand_in(getattr(fftpack, name + "2"))(two)
    stand_in(getattr(fftpack, name + "n"))(many)


_register("fft")
_register("ifft")


@stand_in(fftpack.rfft)
def rfft(x, n=None, axis=-1, overwrite_x=False):
    """Real and imaginary parts one after another, without those that are zero."""
    x = inexact(x)
    if x.dtype.kind == "c":
        raise TypeError("x must be a real sequence")
    spectrum = np.moveaxis(np.fft.rfft(x, n, axis), axis, -1)
    n = x.shape[axis] if n is None else n
    pairs = np.stack([np.real(spectrum), np.imag(spectrum)], axis=-1)
    flat = np.reshape(pairs, (*spectrum.shape[:-1], -1))
    return np.moveaxis(np.concatenate([flat[..., :1], flat[..., 2 : n + 1]], axis=-1), -1, axis)


@stand_in(fftpack.irfft)
def irfft(x, n=None, axis=-1, overwrite_x=False):
    x = np.moveaxis(inexact(x), axis, -1)
    if x.dtype.kind == "c":
        raise TypeError("x must be a real sequence")
    n = x.shape[-1] if n is None else n
    x = x[..., :n] if n <= x.shape[-1] else np.pad(x, (*[(0, 0)] * (x.ndim - 1), (0, n - x.shape[-1])))
    real = np.concatenate([x[..., :1], x[..., 1::2]], axis=-1)
    imaginary = np.pad(x[..., 2::2], (*[(0, 0)] * (x.ndim - 1), (1, 1 - n % 2)))
    return np.moveaxis(np.fft.irfft(real + 1j * imaginary, n), -1, axis)


def _register_trigonometric(name: str, inverse: bool) -> None:
    """The inverse ones are the transforms of the inverse kind, without a scale of their own."""
    spelled = f"i{name}" if inverse else name

    def one(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False):
        return _along(inexact(x), name, _INVERSE_KINDS[type] if inverse else type, n, axis, norm, None, False)

    def several(x, type=2, shape=None, axes=None, norm=None, overwrite_x=False):
        return _several(x, name, _INVERSE_KINDS[type] if inverse else type, shape, axes, norm, None, False)

    stand_in(getattr(fftpack, spelled))(one)
    stand_in(getattr(fftpack, spelled + "n"))(several)


for _name in ("dct", "dst"):
    for _inverse in (False, True):
        _register_trigonometric(_name, _inverse)


def _multiplied(x: Any, multiplier: Any) -> Any:
    """A periodic sequence with its spectrum multiplied by what is odd and imaginary, or even and real, in frequency."""
    filtered = np.fft.ifft(np.fft.fft(x) * multiplier)
    return filtered if x.dtype.kind == "c" else np.real(filtered)


def _frequencies(n):
    """Frequencies, that of an even length's middle as zero."""
    k = np.fft.fftfreq(n, 1 / n)
    return np.where(2 * np.abs(k) == n, 0, k)


@stand_in(fftpack.diff)
def diff(x, order=1, period=None):
    x = inexact(x)
    if order == 0:
        return x
    k = _frequencies(x.shape[0]) * (1.0 if period is None else 2 * np.pi / period)
    return _multiplied(x, np.where(k == 0, 0, (1j * np.where(k == 0, 1, k)) ** order))


@stand_in(fftpack.hilbert)
def hilbert(x):
    x = inexact(x)
    return _multiplied(x, 1j * np.sign(_frequencies(x.shape[0])))


@stand_in(fftpack.ihilbert)
def ihilbert(x):
    return -hilbert(x)


@stand_in(fftpack.fftshift)
def fftshift(x, axes=None):
    return np.fft.fftshift(x, axes)


@stand_in(fftpack.ifftshift)
def ifftshift(x, axes=None):
    return np.fft.ifftshift(x, axes)
