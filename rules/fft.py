"""Fourier transforms. Each is linear; its pull is the adjoint transform, axis by axis, with the normalization swapped.

A real transform and its inverse know half of the spectrum. The other half is its conjugate, so the frequencies
in between count twice; zero, and the highest one of an even length, count once and have no imaginary part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, conj, rule, zeros

_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _resized(x, axis, length):
    """`x` cut, or filled up with zeros, to `length` along `axis`: the adjoint of filling up or cutting."""
    own = x.shape[axis]
    if own == length:
        return x
    common = (slice(None),) * (axis % x.ndim) + (slice(min(own, length)),)
    if own > length:
        return x[common]
    filled = zeros((*x.shape[: axis % x.ndim], length, *x.shape[axis % x.ndim + 1 :]), like=x)
    filled[common] = x
    return filled


def _spectrum_weights(n, ndim, axis, single, double):
    """`single` for the frequencies of a half spectrum that stand for themselves alone, `double` for the others."""
    frequencies = np.arange(n // 2 + 1)
    weights = np.where((frequencies == 0) | (2 * frequencies == n), single, double)
    return weights.reshape(tuple(-1 if k == axis % ndim else 1 for k in range(ndim)))


def _adjoint_fft(ct, n, axis, norm):
    return np.fft.ifft(ct, axis=axis, norm=_SWAPPED[norm])


def _adjoint_ifft(ct, n, axis, norm):
    return np.fft.fft(ct, axis=axis, norm=_SWAPPED[norm])


def _adjoint_rfft(ct, n, axis, norm):
    weights = _spectrum_weights(n, ct.ndim, axis, 1.0, 0.5).astype(ct.real.dtype)
    return np.fft.irfft(ct * weights, n, axis, _SWAPPED[norm])


def _adjoint_irfft(ct, n, axis, norm):
    weights = _spectrum_weights(n, ct.ndim, axis, 1.0, 2.0).astype(ct.dtype)
    return np.fft.rfft(ct, axis=axis, norm=_SWAPPED[norm]) * weights


def _real_like(ct, a):
    return np.real(ct) if ct.dtype.kind == "c" and a.dtype.kind != "c" else ct


def _register(function: Callable[..., Any], adjoint: Callable[..., Any], halved: bool) -> None:
    """The rule of a transform along one axis; `halved` ones take half a spectrum."""

    def pull(ct, out, a, n=None, axis=-1, norm=None):
        if n is None:
            n = 2 * (a.shape[axis] - 1) if halved else a.shape[axis]
        return _real_like(_resized(adjoint(ct, n, axis, norm), axis, a.shape[axis]), a)

    rule(function, reads=(), linear=True, facts=Facts(precision="inexact"))(pull)


_register(np.fft.fft, _adjoint_fft, False)
_register(np.fft.ifft, _adjoint_ifft, False)
_register(np.fft.rfft, _adjoint_rfft, False)
_register(np.fft.irfft, _adjoint_irfft, True)
# hfft is irfft of the conjugate, ihfft the conjugate of rfft, with the directions' normalizations exchanged.
_register(np.fft.hfft, lambda ct, n, axis, norm: conj(_adjoint_irfft(ct, n, axis, _SWAPPED[norm])), True)
_register(np.fft.ihfft, lambda ct, n, axis, norm: _adjoint_rfft(conj(ct), n, axis, _SWAPPED[norm]), False)


def _lengths_and_axes(shape, s, axes, halved):
    """The lengths and axes of a transform along several axes, as NumPy completes them."""
    if axes is None:
        axes = range(len(shape)) if s is None else range(-len(s), 0)
    axes = [k % len(shape) for k in axes]
    if s is not None:
        return [shape[k] if length in (-1, None) else length for length, k in zip(s, axes, strict=True)], axes
    lengths = [shape[k] for k in axes]
    if halved:
        lengths[-1] = 2 * (shape[axes[-1]] - 1)
    return lengths, axes


def _register_several(function: Callable[..., Any], all_axes: Any, others: Any, last: Any) -> None:
    """The rule of a transform along several axes, given the adjoints along the `last` axis and along the `others`."""
    halved = last is _adjoint_irfft

    def pull(ct, out, a, s=None, axes=all_axes, norm=None):
        lengths, axes = _lengths_and_axes(a.shape, s, axes, halved)
        adjoints = [*[others] * len(axes[1:]), *[last][: len(axes)]]
        steps = list(zip(adjoints, lengths, axes, strict=True))
        # NumPy begins with the last axis, unless a half spectrum has to be made whole there in the end.
        shape, taken = list(a.shape), []
        for adjoint, n, axis in steps if halved else reversed(steps):
            taken.append((adjoint, n, axis, shape[axis]))
            shape[axis] = n // 2 + 1 if adjoint is _adjoint_rfft else n
        for adjoint, n, axis, length in reversed(taken):
            ct = _resized(adjoint(ct, n, axis, norm), axis, length)
        return _real_like(ct, a)

    rule(function, reads=(), linear=True, facts=Facts(precision="inexact"))(pull)


for _axes, _suffix in (((-2, -1), "2"), (None, "n")):
    _register_several(getattr(np.fft, "fft" + _suffix), _axes, _adjoint_fft, _adjoint_fft)
    _register_several(getattr(np.fft, "ifft" + _suffix), _axes, _adjoint_ifft, _adjoint_ifft)
    _register_several(getattr(np.fft, "rfft" + _suffix), _axes, _adjoint_fft, _adjoint_rfft)
    _register_several(getattr(np.fft, "irfft" + _suffix), _axes, _adjoint_ifft, _adjoint_irfft)


def _register_shift(function: Callable[..., Any], inverse: Callable[..., Any]) -> None:
    rule(function, reads=(), linear=True)(lambda ct, out, x, axes=None: inverse(ct, axes))


_register_shift(np.fft.fftshift, np.fft.ifftshift)
_register_shift(np.fft.ifftshift, np.fft.fftshift)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)

    def real(*shape):
        return rng.normal(size=shape)

    def complex_(*shape):
        return real(*shape) + 1j * real(*shape)

    one_axis = (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft)
    for function in one_axis:
        takes_real = function in (np.fft.rfft, np.fft.ihfft)
        for x in (real(5), real(4)) if takes_real else (real(4), complex_(5), complex_(4)):
            yield Case(function, (x,))
            for n in (3, 4, 7, 8):
                yield Case(function, (x, n))
        x = real(3, 4) if takes_real else complex_(3, 4)
        for norm in ("ortho", "forward", "backward"):
            yield Case(function, (x,), {"axis": 0, "norm": norm})
        yield Case(function, (x.T[::2], 5, -2, "ortho"))
    yield Case(np.fft.fft, (real(4).astype(np.float32),), tolerance=1e-2)
    yield Case(np.fft.irfft, (complex_(3).astype(np.complex64), 5), tolerance=1e-2)
    for suffix in "2n":
        for name in ("fft", "ifft", "rfft", "irfft"):
            function = getattr(np.fft, name + suffix)
            x = real(3, 4) if name == "rfft" else complex_(3, 4)
            yield Case(function, (x,))
            yield Case(function, (x, (2, 5), (1, 0)), {"norm": "forward"})
            yield Case(function, (x,), {"s": (-1, 6), "axes": (0, 1), "norm": "ortho"})
    yield Case(np.fft.fftn, (real(2, 3, 2),), {"axes": (0, -1)})
    yield Case(np.fft.ifftn, (complex_(3, 2),), {"s": (2, 4), "axes": (0, 0)})
    yield Case(np.fft.rfft2, (real(2, 2, 3),))
    yield Case(np.fft.irfftn, (complex_(2, 3, 2), (3, 4, 3), (0, 1, 2)))
    for function in (np.fft.fftshift, np.fft.ifftshift):
        yield Case(function, (real(5),))
        yield Case(function, (complex_(3, 4),), {"axes": 0})
        yield Case(function, (real(3, 4), (0, 1)))
