"""Convolutions of `scipy.signal`, in any number of dimensions, with every boundary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, conj, lowering, needs, pulls, refuse, stand_in
from bridge.rules.contractions import as_operand, fitted

signal = needs("scipy.signal")

CHARACTERS = Facts(static=("mode", "method"))


def convolved(x: Any, kernel: Any, mode: str, method: str) -> Any:
    """The convolution of arrays of one number of dimensions; `mode` is "full", or "valid" with the larger one first."""
    if 0 in (x.size, kernel.size):
        raise ValueError("convolution of an empty array")
    return signal.convolve(x, kernel, mode, method)


def flipped(x: Any) -> Any:
    """`x` backwards along every axis."""
    return x[(slice(None, None, -1),) * x.ndim]


def _by_x(ct, out, x, kernel, mode, method):
    other = "valid" if mode == "full" else "full"
    return fitted(CONVOLVED(ct, flipped(conj(kernel)), other, method), x.shape, x.dtype)


def _by_kernel(ct, out, x, kernel, mode, method):
    if mode == "full":
        return fitted(CONVOLVED(ct, flipped(conj(x)), "valid", method), kernel.shape, kernel.dtype)
    return fitted(CONVOLVED(flipped(conj(x)), ct, "valid", method), kernel.shape, kernel.dtype)


CONVOLVED = pulls(convolved, _by_x, _by_kernel, facts=CHARACTERS)


@lowering(convolved)
def _(x, kernel, mode, method):
    import jax.numpy as jnp
    from jax.scipy.signal import convolve

    return convolve(jnp.asarray(x), jnp.asarray(kernel), mode, method if method == "fft" else "direct")


def _window(x: Any, start: Any, shape: Any) -> Any:
    return x[tuple(slice(first, first + length) for first, length in zip(start, shape, strict=True))]


def centered(full: Any, shape: Any) -> Any:
    """The middle part of this shape."""
    return _window(full, [(length - kept) // 2 for length, kept in zip(full.shape, shape, strict=True)], shape)


def _larger_first(x: Any, kernel: Any, name: str) -> tuple[Any, Any, bool]:
    pairs = list(zip(x.shape, kernel.shape, strict=True))
    if all(m >= n for m, n in pairs):
        return x, kernel, False
    if all(m <= n for m, n in pairs):
        return kernel, x, True
    raise ValueError(f"{name}: for 'valid' mode, one must be at least as large as the other in every dimension")


def _operands(name: str, in1: Any, in2: Any, mode: str) -> tuple[Any, Any]:
    in1, in2 = as_operand(in1), as_operand(in2)
    if in1.ndim != in2.ndim:
        raise ValueError(f"{name}: in1 and in2 should have the same dimensionality")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: acceptable modes are 'valid', 'same', or 'full'")
    if in1.ndim == 0 or in1.size == 0 or in2.size == 0:
        refuse(f"scipy.signal.{name} of tracked numbers or empty arrays", "multiply numbers with *")
    return in1, in2


@stand_in(signal.convolve)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    in1, in2 = _operands("convolve", in1, in2, mode)
    if mode == "valid":
        in1, in2, _ = _larger_first(in1, in2, "convolve")
        return CONVOLVED(in1, in2, mode, method)
    full = CONVOLVED(in1, in2, "full", method)
    return full if mode == "full" else centered(full, in1.shape)


@stand_in(signal.correlate)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    in1, in2 = _operands("correlate", in1, in2, mode)
    return convolve(in1, flipped(np.conj(in2)), mode, method)


def _over_axes(function: Any, in1: Any, in2: Any, mode: str, axes: Any) -> Any:
    """A convolution over some axes, by Fourier transforms; along the others the operands broadcast."""
    name = function.__name__
    in1, in2 = _operands(name, in1, in2, mode)
    axes = tuple(range(in1.ndim)) if axes is None else tuple(axis % in1.ndim for axis in np.atleast_1d(axes))
    if mode == "valid":
        pairs = [(in1.shape[axis], in2.shape[axis]) for axis in axes]
        if not all(m >= n for m, n in pairs):
            in1, in2 = in2, in1
    lengths = [in1.shape[axis] + in2.shape[axis] - 1 for axis in axes]
    is_complex = "c" in (in1.dtype.kind, in2.dtype.kind)
    forward, back = (np.fft.fftn, np.fft.ifftn) if is_complex else (np.fft.rfftn, np.fft.irfftn)
    full = back(forward(in1, lengths, axes) * forward(in2, lengths, axes), lengths, axes)
    full = full.astype(np.result_type(in1.dtype, in2.dtype, np.float32), copy=False)
    kept = list(full.shape)
    for axis in axes:
        if mode != "full":
            m, n = in1.shape[axis], in2.shape[axis]
            kept[axis] = m if mode == "same" else m - n + 1
    return full if mode == "full" else centered(full, kept)


@stand_in(signal.fftconvolve)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    return _over_axes(signal.fftconvolve, in1, in2, mode, axes)


@stand_in(signal.oaconvolve)
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    return _over_axes(signal.oaconvolve, in1, in2, mode, axes)


_PADS = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def _in_plane(name: str, in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    in1, in2 = _operands(name, in1, in2, mode)
    if in1.ndim != 2:
        raise ValueError(f"{name} inputs must both be 2-D arrays")
    swapped = False
    if mode == "valid":
        in1, in2, swapped = _larger_first(in1, in2, name)
    kernel = flipped(np.conj(in2)) if name == "correlate2d" else in2
    if mode == "valid":
        found = CONVOLVED(in1, kernel, "valid", "direct")
        return flipped(found) if swapped and name == "correlate2d" else found
    if boundary not in _PADS:
        raise ValueError(f"{name}: acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric'")
    widths = [(n - 1, n - 1) for n in in2.shape]
    fill = {"constant_values": fillvalue} if boundary == "fill" else {}
    full = CONVOLVED(np.pad(in1, widths, _PADS[boundary], **fill), kernel, "valid", "direct")
    if mode == "full":
        return full
    start = [n // 2 if name == "correlate2d" and n % 2 == 0 else (n - 1) // 2 for n in in2.shape]
    return _window(full, start, in1.shape)


@stand_in(signal.convolve2d)
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    return _in_plane("convolve2d", in1, in2, mode, boundary, fillvalue)


@stand_in(signal.correlate2d)
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    return _in_plane("correlate2d", in1, in2, mode, boundary, fillvalue)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for m, n in (((5,), (3,)), ((4, 3), (2, 3)), ((3, 2, 3), (2, 1, 2))):
        x, kernel = rng.normal(size=m), rng.normal(size=n)
        for method in ("direct", "fft"):
            for mode in ("full", "valid"):
                yield Case(convolved, (x, kernel, mode, method))
                yield Case(convolved, (x, kernel + 1j * kernel[::-1], mode, method))
    yield Case(convolved, (rng.normal(size=3), rng.normal(size=5), "full", "auto"))
