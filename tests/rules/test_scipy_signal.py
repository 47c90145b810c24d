"""Convolutions, filters and spectra of `scipy.signal`: SciPy's values over all options, gradients. One row a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.signal as signal

import bridge
from bridge.errors import RefusedError
from tests.helpers.assertions import assert_gradient as assert_program
from tests.helpers.stand_ins import Row, assert_gradient, assert_value, stand_in

RNG = np.random.default_rng(0)
SECTIONS = signal.butter(5, 0.3, output="sos")
SHAPES = (
    ((7,), (3,)),
    ((7,), (4,)),
    ((3,), (7,)),
    ((6, 7), (3, 2)),
    ((6, 7), (2, 4)),
    ((2, 3), (5, 6)),
    ((3, 4, 5), (2, 3, 2)),
)


def real(*shape: int) -> Any:
    return RNG.normal(size=shape)


def complex_(*shape: int) -> Any:
    return real(*shape) + 1j * real(*shape)


def rows_of_convolutions(mode: str) -> Iterator[Row]:
    for (m, n), make in product(SHAPES, (real, complex_)):
        x, kernel = make(*m), make(*n)
        for function, method in product((signal.convolve, signal.correlate), ("auto", "direct", "fft")):
            yield function, (x, kernel), {"mode": mode, "method": method}
        for function in (signal.fftconvolve, signal.oaconvolve):
            yield function, (x, kernel), {"mode": mode}
        narrow = np.float32 if make is real else np.complex64
        yield signal.convolve, (x.astype(narrow), kernel.astype(narrow)), {"mode": mode}
        if len(m) == 2:
            for function, boundary in product((signal.convolve2d, signal.correlate2d), ("fill", "wrap", "symm")):
                yield function, (x, kernel), {"mode": mode, "boundary": boundary, "fillvalue": 0.7}
    yield signal.fftconvolve, (real(3, 6), real(1, 4)), {"mode": mode, "axes": -1}
    yield signal.oaconvolve, (real(3, 60), real(3, 4)), {"mode": mode, "axes": 1}


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_have_scipys_values(mode: str) -> None:
    for row in rows_of_convolutions(mode):
        assert_value(*row, tolerance=1e-12)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_have_gradients(mode: str) -> None:
    for function in (signal.convolve, signal.correlate, signal.fftconvolve):
        assert_gradient(function, (real(5), real(3)), {"mode": mode})
        assert_gradient(function, (real(3, 4), real(2, 2)), {"mode": mode})
    for boundary in ("fill", "wrap", "symm"):
        assert_gradient(signal.convolve2d, (real(3, 4), real(2, 3)), {"mode": mode, "boundary": boundary})
    assert_gradient(signal.correlate2d, (real(4, 4), complex_(2, 3)), {"mode": mode})


def rows_of_filters() -> Iterator[Row]:
    for taps, order in ((1, 1), (3, 1), (1, 3), (3, 4), (5, 2)):
        b, a = real(taps), np.concatenate([[1.7], 0.3 * real(order - 1)])
        states = max(taps, order) - 1
        for shape, axis in (((9,), -1), ((4, 9), 0), ((4, 9), 1), ((2, 3, 5), 1)):
            yield signal.lfilter, (b, a, real(*shape)), {"axis": axis}
            if states:
                at_rest = list(shape)
                at_rest[axis] = states
                yield signal.lfilter, (b, a, real(*shape), axis, real(*at_rest)), {}
        if states:
            yield signal.lfilter_zi, (b, a), {}
            yield signal.lfilter, (b, a, real(2), -1, real(states)), {}
            for padtype in ("odd", "even", "constant", None):
                yield signal.filtfilt, (b, a, real(3, 20)), {"padtype": padtype}
                yield signal.filtfilt, (b, a, real(20, 3)), {"padtype": padtype, "axis": 0, "padlen": 4}
        yield signal.lfilter, (b + 0j, a, complex_(9)), {}
    yield signal.sosfilt, (SECTIONS, real(12)), {}
    yield signal.sosfilt, (SECTIONS, real(12, 3)), {"axis": 0}
    yield signal.sosfilt, (SECTIONS, real(12, 3), 0, real(3, 2, 3)), {}
    yield signal.sosfilt, (SECTIONS, real(3, 12), -1, real(3, 3, 2)), {}
    yield signal.sosfilt_zi, (SECTIONS,), {}
    for padtype in ("odd", "even", "constant", None):
        yield signal.sosfiltfilt, (SECTIONS, real(30, 2)), {"padtype": padtype, "axis": 0}


def rows_of_whole_signals() -> Iterator[Row]:
    for axis in (0, 1):
        for options in ({}, {"type": "constant"}, {"bp": [2, 4]}):
            yield signal.detrend, (real(7, 8),), {"axis": axis, **options}
        for mode in ("interp", "mirror", "nearest", "constant", "wrap"):
            yield signal.savgol_filter, (real(9, 8), 5, 2), {"axis": axis, "mode": mode}
            yield signal.savgol_filter, (real(9, 8), 4, 3), {"deriv": 1, "delta": 0.3, "axis": axis, "mode": mode}
        for count in (None, 11, 5):
            yield signal.hilbert, (real(7, 8),), {"N": count, "axis": axis}
        for count in (4, 9, 16):
            yield signal.resample, (real(7, 8), count), {"axis": axis}
            yield signal.resample, (complex_(8), count), {"window": "hamming"}
            yield signal.resample, (real(8), count, np.arange(8)), {}
        yield signal.resample_poly, (real(7, 8), 3, 2), {"axis": axis}
        yield signal.decimate, (real(60, 61), 3), {"axis": axis}
        yield signal.decimate, (real(60, 61), 2), {"axis": axis, "zero_phase": False}
        yield signal.decimate, (real(60, 61), 2, 9, "fir"), {"axis": axis, "zero_phase": False}
    yield signal.savgol_filter, (real(9).astype(np.float32), 5, 2), {}


SPECTRAL: tuple[dict[str, Any], ...] = (
    {"nperseg": 32},
    {"nperseg": 33, "noverlap": 7},
    {"nperseg": 32, "nfft": 50, "scaling": "spectrum", "fs": 3.0},
    {"nperseg": 20, "detrend": "linear"},
    {"window": "boxcar", "nperseg": 16, "detrend": False, "return_onesided": False},
)


def rows_of_spectra() -> Iterator[Row]:
    x, y = real(3, 100), real(3, 100)
    for options in SPECTRAL:
        for function in (signal.welch, signal.spectrogram, signal.stft):
            yield function, (x,), options
            yield function, (x.T,), {**options, "axis": 0}
        yield signal.csd, (x, y), options
        yield signal.csd, (real(90), real(100)), options
        yield signal.stft, (x,), {"boundary": None, "padded": False, **options}
        kept = {name: value for name, value in options.items() if name not in ("scaling", "return_onesided")}
        yield signal.coherence, (x, y), kept
        kept = {name: value for name, value in options.items() if name not in ("window", "nperseg", "noverlap")}
        yield signal.periodogram, (x,), kept
    yield signal.welch, (x,), {"window": np.hamming(24)}
    yield signal.welch, (complex_(100),), {"nperseg": 32, "return_onesided": False}
    yield signal.welch, (x.astype(np.float32),), {"nperseg": 32}
    for options in ({"window": "hann"}, {"nfft": 30}, {"nfft": 64}):
        yield signal.periodogram, (real(50),), options


@pytest.mark.parametrize(
    "rows", [rows_of_filters, rows_of_whole_signals, rows_of_spectra], ids=lambda rows: rows.__name__
)
def test_values_are_scipys(rows: Callable[[], Iterator[Row]]) -> None:
    for row in rows():
        assert_value(*row, tolerance=1e-10)


B, A = np.array([0.3, -0.2, 0.5]), np.array([1.7, -0.5, 0.2, 0.1])
GRADIENTS: list[Row] = [
    (signal.lfilter, (B, A, real(6)), {}),
    (signal.lfilter, (B, A, real(2, 5), -1, real(2, 3)), {}),
    (signal.lfilter, (B, A, real(2), -1, real(3)), {}),
    (signal.lfilter, (A, B, real(5, 2), 0), {}),
    (signal.lfilter_zi, (B, A), {}),
    (signal.filtfilt, (B, A, real(16)), {}),
    (signal.sosfilt, (SECTIONS[:2], real(8)), {}),
    (signal.sosfiltfilt, (SECTIONS[:2], real(20)), {"padtype": "even"}),
    (signal.detrend, (real(7, 2),), {"axis": 0}),
    (signal.savgol_filter, (real(9), 5, 2), {}),
    (signal.hilbert, (real(8),), {}),
    (signal.resample, (real(7), 5), {}),
    (signal.resample_poly, (real(7), 3, 2), {}),
    (signal.decimate, (real(40), 3), {}),
    (signal.welch, (real(40),), {"nperseg": 16}),
    (signal.csd, (real(40), real(40)), {"nperseg": 16}),
    (signal.coherence, (real(60), real(60)), {"nperseg": 16}),
    (signal.periodogram, (real(20),), {}),
    (signal.spectrogram, (real(40),), {"nperseg": 16}),
    (signal.stft, (real(40),), {"nperseg": 16}),
]  # fmt: skip


@pytest.mark.parametrize("row", GRADIENTS, ids=lambda row: row[0].__name__)
def test_gradients(row: Row) -> None:
    assert_gradient(*row)


LISTS: tuple[Callable[[Any], Any], ...] = (
    lambda x: signal.convolve([x[0], 1.0, x[1]], RISING),
    lambda x: signal.lfilter([x[0], 0.1], [1, -x[1]], RISING),
    lambda x: signal.fftconvolve(RISING, [x[0], x[1]], mode="same"),
    lambda x: signal.filtfilt([x[0], 0.1], [1.0, -0.3], np.tile(RISING, 4)),
)
RISING = np.arange(8.0) ** 1.5


@pytest.mark.parametrize("program", LISTS)
def test_coefficients_come_in_lists(program: Callable[[Any], Any]) -> None:
    assert_program(lambda x: np.sum(program(x) ** 2), np.array([0.7, 0.4]))


def test_second_derivatives_go_through_filters() -> None:
    x = real(5)

    def energy(a: Any) -> Any:
        return np.sum((stand_in(signal.lfilter) if hasattr(a, "place") else signal.lfilter)(B, a, x) ** 3)

    step = 1e-5
    hessian = bridge.hessian(energy)(A)
    for k in range(A.size):
        shift = step * (np.arange(A.size) == k)
        slope = (bridge.grad(energy)(A + shift) - bridge.grad(energy)(A - shift)) / (2 * step)
        np.testing.assert_allclose(hessian[k], slope, rtol=1e-5, atol=1e-6)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "gust": (lambda x: stand_in(signal.filtfilt)(B, A, x, method="gust"), "filtfilt with method='gust'"),
    "frequencies": (lambda x: stand_in(signal.resample)(x, 5, domain="freq"), "resample with domain='freq'"),
    "padding": (lambda x: stand_in(signal.resample_poly)(x, 2, 3, padtype="line"), "padtype='line'"),
    "window": (lambda x: stand_in(signal.welch)(x, window=x)[1], "a tracked window="),
    "median": (lambda x: stand_in(signal.welch)(x, average="median")[1], "average='median'"),
    "numbers": (lambda x: stand_in(signal.convolve)(x[0], 2.0), "convolve of tracked numbers"),
    "in place": (lambda x: stand_in(signal.detrend)(x, overwrite_data=True), "overwrite_data=True"),
    "decimate": (lambda x: stand_in(signal.decimate)(x, 2, ftype="fir"), "decimate with ftype='fir', zero_phase=True"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_so(name: str) -> None:
    program, message = REFUSED[name]
    with pytest.raises(RefusedError, match=message) as caught:
        bridge.grad(lambda x: np.sum(program(x)))(real(12))
    assert caught.value.remedy
    assert "test_scipy_signal.py" in str(caught.value)
