"""Spectra of `scipy.signal` by Fourier transforms of overlapping segments of a signal."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.extend import needs, refuse, stand_in, without_gradient
from bridge.rules.contractions import as_operand

signal = needs("scipy.signal")
needs("scipy.ndimage")

from bridge.rules.signals import detrend as detrended  # noqa: E402, once its library is there


def _window(window: Any, nperseg: int | None, length: int) -> tuple[Any, int]:
    """The numbers of a window, and the length of a segment."""
    what = "a spectrum of scipy.signal with a tracked window="
    window = without_gradient(window, what, "multiply segments by it yourself")
    if isinstance(window, (str, tuple)):
        nperseg = min(256 if nperseg is None else int(nperseg), length)
        return signal.get_window(window, nperseg), nperseg
    window = np.asarray(window)
    if window.ndim != 1 or window.size > length or nperseg not in (None, window.size):
        raise ValueError(f"a window of shape {window.shape}, segments of {nperseg} of {length} samples")
    return window, window.size


def _transforms(x: Any, window: Any, hop: int, nfft: int, detrend: Any, one_sided: bool) -> Any:
    """Transforms of the segments along the last axis: an axis of segments, then one of frequencies."""
    nperseg = window.size
    starts = np.arange(0, x.shape[-1] - nperseg + 1, hop)
    parts = x[..., starts[:, None] + np.arange(nperseg)]
    if callable(detrend):
        parts = detrend(parts)
    elif detrend:
        parts = detrended(parts, -1, detrend)
    parts = parts * window.astype(np.result_type(x.dtype, np.float32), copy=False)
    return np.fft.rfft(parts, nfft) if one_sided else np.fft.fft(parts, nfft)


def _setting(x: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any) -> tuple[Any, int, int, int]:
    """Window, segment length, hop, length of the transform; ValueError where they do not fit."""
    window, nperseg = _window(window, nperseg, x.shape[-1])
    nfft = nperseg if nfft is None else int(nfft)
    noverlap = nperseg // 2 if noverlap is None else int(noverlap)
    if nfft < nperseg or noverlap >= nperseg:
        raise ValueError(f"segments of {nperseg} samples, overlaps of {noverlap}, transforms of {nfft}")
    return window, nperseg, nperseg - noverlap, nfft


def _scale(window: Any, fs: float, scaling: str) -> Any:
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling!r}")
    return 1 / (fs * np.sum(window * window)) if scaling == "density" else 1 / np.sum(window) ** 2


def _frequencies(nfft: int, fs: float, one_sided: bool) -> Any:
    return np.fft.rfftfreq(nfft, 1 / fs) if one_sided else np.fft.fftfreq(nfft, 1 / fs)


def _doubled(nfft: int, one_sided: bool) -> Any:
    """What a one-sided spectrum counts twice: all but the constant, and the last one of an even number."""
    if not one_sided:
        return 1
    weights = np.full(nfft // 2 + 1, 2.0)
    weights[0] = 1
    weights[-1] = 1 if nfft % 2 == 0 else weights[-1]
    return weights


def _spectra(x: Any, y: Any, fs: Any, setting: Any, detrend: Any, one_sided: bool, scaling: str) -> tuple[Any, Any]:
    """Frequencies, and the cross spectrum of every segment."""
    window, _, hop, nfft = setting
    one_sided = one_sided and "c" not in (x.dtype.kind, y.dtype.kind)
    of_x = _transforms(x, window, hop, nfft, detrend, one_sided)
    of_y = of_x if y is x else _transforms(y, window, hop, nfft, detrend, one_sided)
    spectra = np.conj(of_x) * of_y * (_scale(window, fs, scaling) * _doubled(nfft, one_sided))
    kind = np.result_type(x.dtype, y.dtype, np.complex64)
    return _frequencies(nfft, fs, one_sided), np.real(spectra.astype(kind)) if y is x else spectra.astype(kind)


def _padded(x: Any, length: int) -> Any:
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, length - x.shape[-1])])


@stand_in(signal.csd)
def csd(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = "hann_periodic",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> Any:
    if average != "mean":
        refuse(f"a spectrum of scipy.signal with average={average!r}", "use average='mean'")
    same = y is x
    x = np.moveaxis(as_operand(x), axis, -1)
    y = x if same else np.moveaxis(as_operand(y), axis, -1)
    length = max(x.shape[-1], y.shape[-1])
    setting = _setting(x if x.shape[-1] == length else y, window, nperseg, noverlap, nfft)
    if not same:
        x, y = _padded(x, length), _padded(y, length)
    frequencies, spectra = _spectra(x, y, fs, setting, detrend, return_onesided, scaling)
    return frequencies, np.moveaxis(np.mean(spectra, axis=-2), -1, axis)


@stand_in(signal.welch)
def welch(x: Any, *args: Any, **kwargs: Any) -> Any:
    return csd(x, x, *args, **kwargs)


@stand_in(signal.periodogram)
def periodogram(
    x: Any,
    fs: float = 1.0,
    window: Any = "boxcar",
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
) -> Any:
    x = np.moveaxis(as_operand(x), axis, -1)
    window = "boxcar" if window is None else window
    length = x.shape[-1] if nfft is None else min(int(nfft), x.shape[-1])
    options = {"nfft": max(length, nfft or 0), "detrend": detrend, "return_onesided": return_onesided}
    x = x[..., :length]
    found = csd(x, x, fs, window, nperseg=length, noverlap=0, scaling=scaling, **options)
    return found[0], np.moveaxis(found[1], -1, axis)


@stand_in(signal.coherence)
def coherence(x: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
    frequencies, of_x = csd(x, x, *args, **kwargs)
    _, of_y = csd(y, y, *args, **kwargs)
    _, across = csd(x, y, *args, **kwargs)
    return frequencies, np.abs(across) ** 2 / of_x / of_y


@stand_in(signal.spectrogram)
def spectrogram(
    x: Any,
    fs: float = 1.0,
    window: Any = ("tukey_periodic", 0.25),
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> Any:
    if mode != "psd":
        refuse(f"scipy.signal.spectrogram with mode={mode!r}", "use scipy.signal.stft")
    x = np.moveaxis(as_operand(x), axis, -1)
    window, nperseg = _window(window, nperseg, x.shape[-1])
    setting = _setting(x, window, nperseg, nperseg // 8 if noverlap is None else noverlap, nfft)
    frequencies, spectra = _spectra(x, x, fs, setting, detrend, return_onesided, scaling)
    times = (np.arange(spectra.shape[-2]) * setting[2] + nperseg / 2) / float(fs)
    return frequencies, times, np.moveaxis(np.swapaxes(spectra, -1, -2), -2, axis if axis >= 0 else axis - 1)


@stand_in(signal.stft)
def stft(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann_periodic",
    nperseg: Any = 256,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: Any = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: str = "spectrum",
) -> Any:
    if boundary not in ("zeros", None):
        refuse(f"scipy.signal.stft with boundary={boundary!r}", "extend the signal first, with boundary=None")
    x = np.moveaxis(as_operand(x), axis, -1)
    window, nperseg, hop, nfft = _setting(x, window, nperseg, noverlap, nfft)
    edge = nperseg // 2 if boundary else 0
    missing = -(x.shape[-1] + 2 * edge - nperseg) % hop % nperseg if padded else 0
    x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(edge, edge + missing)])
    one_sided = return_onesided and x.dtype.kind != "c"
    found = _transforms(x, window, hop, nfft, detrend, one_sided)
    found = found * np.sqrt(_scale(window, fs, "density" if scaling == "psd" else scaling))
    times = (np.arange(found.shape[-2]) * hop + nperseg / 2 - (nperseg / 2 if boundary else 0)) / float(fs)
    found = np.moveaxis(np.swapaxes(found, -1, -2), -2, axis if axis >= 0 else axis - 1)
    return _frequencies(nfft, fs, one_sided), times, found.astype(np.result_type(x.dtype, np.complex64), copy=False)
