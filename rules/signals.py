"""What `scipy.signal` does with whole signals: trends, smoothing, analytic signals, resampling, spectra."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from bridge.extend import needs, refuse, stand_in, without_gradient
from bridge.rules.contractions import as_operand

signal = needs("scipy.signal")
needs("scipy.ndimage")

from bridge.rules.image_filters import convolve1d  # noqa: E402, once its library is there
from bridge.rules.recursive_filters import lfilter, sosfilt, sosfiltfilt  # noqa: E402


def _plain(name: str, value: Any) -> Any:
    return without_gradient(value, f"a tracked {name}= of scipy.signal", f"pass bridge.detach({name})")


@stand_in(signal.detrend)
def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> Any:
    """Least squares by a plain projection: what is left of the unit vectors is a matrix."""
    if overwrite_data:
        refuse("scipy.signal.detrend with overwrite_data=True", "leave it out, and assign the result")
    data = np.moveaxis(as_operand(data), axis, 0)
    if type in ("constant", "c"):
        return np.moveaxis(data - np.mean(data, axis=0, keepdims=True), 0, axis)
    if type not in ("linear", "l"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    n = data.shape[0]
    breaks = np.sort(np.unique(np.concatenate(np.atleast_1d(0, _plain("bp", bp), n))))
    if np.any(breaks > n):
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    parts = []
    for start, stop in pairwise(breaks):
        line = np.stack([np.ones(stop - start), np.arange(1, stop - start + 1) / (stop - start)], axis=1)
        basis, _ = np.linalg.qr(line)
        part = np.reshape(data[start:stop], (int(stop - start), -1))
        parts.append(np.reshape(part - basis @ (basis.T @ part), data[start:stop].shape))
    return np.moveaxis(np.concatenate(parts), 0, axis).astype(data.dtype, copy=False)


@stand_in(signal.savgol_filter)
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    x = as_operand(x)
    taps = signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta)
    if mode != "interp":
        return convolve1d(x, taps, axis, None, mode, cval)
    n = x.shape[axis]
    if window_length > n:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    inner = np.moveaxis(convolve1d(x, taps, axis, None, "constant"), axis, 0)
    half = window_length // 2
    # The polynomials at both ends are linear in the window that they are fitted to.
    ends = signal.savgol_filter(np.eye(window_length), window_length, polyorder, deriv, delta, 0)
    data = np.moveaxis(x, axis, 0)
    first = np.tensordot(ends[:half], data[:window_length], 1)
    last = np.tensordot(ends[window_length - half :], data[n - window_length :], 1)
    smoothed = np.concatenate([first, inner[half : n - half], last])
    return np.moveaxis(smoothed, 0, axis).astype(x.dtype, copy=False)


def _one_sided(count: int, ndim: int, axis: int) -> Any:
    weights = np.zeros(count)
    weights[0] = 1
    weights[1 : (count + 1) // 2] = 2
    weights[count // 2] = 1 if count % 2 == 0 else weights[count // 2]
    return np.reshape(weights, [count if k == axis % ndim else 1 for k in range(ndim)])


@stand_in(signal.hilbert)
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:
    x = as_operand(x)
    if x.dtype.kind == "c":
        raise ValueError("x must be real.")
    count = x.shape[axis] if N is None else N
    return np.fft.ifft(np.fft.fft(x, count, axis) * _one_sided(count, x.ndim, axis), count, axis)


@stand_in(signal.resample)
def resample(x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time") -> Any:
    if domain != "time":
        refuse(f"scipy.signal.resample with domain={domain!r}", "transform back first: domain='time'")
    t, window = _plain("t", t), _plain("window", window)
    x = as_operand(x)
    # Resampling is linear: the matrix is what SciPy makes of the unit vectors.
    matrix = signal.resample(np.eye(x.shape[axis]), num, axis=0, window=window)
    found = np.tensordot(matrix, np.moveaxis(x, axis, 0), 1)
    found = np.moveaxis(found, 0, axis).astype(x.dtype, copy=False)
    if t is None:
        return found
    return found, signal.resample(np.zeros(x.shape[axis]), num, t=t, window=window)[1]


@stand_in(signal.resample_poly)
def resample_poly(
    x: Any,
    up: int,
    down: int,
    axis: int = 0,
    window: Any = ("kaiser", 5.0),
    padtype: str = "constant",
    cval: Any = None,
) -> Any:
    window = _plain("window", window)
    if padtype != "constant" or cval not in (None, 0):
        refuse(f"scipy.signal.resample_poly with padtype={padtype!r}, cval={cval}", "subtract the background before")
    x = as_operand(x)
    options = {"window": window, "padtype": padtype, "cval": cval}
    matrix = signal.resample_poly(np.eye(x.shape[axis]), up, down, 0, **options)
    found = np.tensordot(matrix, np.moveaxis(x, axis, 0), 1)
    return np.moveaxis(found, 0, axis).astype(x.dtype, copy=False)


@stand_in(signal.decimate)
def decimate(x: Any, q: int, n: int | None = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True) -> Any:
    x = as_operand(x)
    if ftype == "iir":
        sos = signal.cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos")
        found = (sosfiltfilt if zero_phase else sosfilt)(sos, x, axis)
    elif ftype == "fir" and not zero_phase:
        half = 10 * q if n is None else n
        taps = signal.firwin(half + 1, 1.0 / q, window="hamming")
        found = lfilter(taps, np.ones(1), x, axis)
    else:
        refuse(f"scipy.signal.decimate with ftype={ftype!r}, zero_phase={zero_phase}", "use ftype='iir'")
    return found[(slice(None),) * (axis % x.ndim) + (slice(None, None, q),)]
