"""Functions that choose between values by comparing them: maxima, minima, clipping, steps, carried signs.

Equal values share the cotangent; a NaN that decides the value takes all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, pulls, sum_to_shape

Pull = Callable[..., Any]


def _shared(ct: Any, loses: Any, ties: Any) -> Any:
    """`ct` where a value was chosen, half of it in a tie, nothing where it loses."""
    return np.where(loses, 0, np.where(ties, 0.5 * ct, ct))


def _extremum_pulls(is_beaten: np.ufunc, keeps_nan: bool) -> tuple[Pull, Pull]:
    """The pulls of an extremum in which the first value loses where `is_beaten(first, second)`.

    `keeps_nan`: a NaN wins against a number (`maximum`), otherwise it loses (`fmax`). Of two, the first wins.
    """

    def of_first(ct: Any, out: Any, x: Any, y: Any) -> Any:
        loses_by_nan = np.isnan(y) & ~np.isnan(x) if keeps_nan else np.isnan(x) & ~np.isnan(y)
        return _shared(ct, is_beaten(x, y) | loses_by_nan, x == y)

    def of_second(ct: Any, out: Any, x: Any, y: Any) -> Any:
        return _shared(ct, is_beaten(y, x) | np.isnan(x if keeps_nan else y), x == y)

    return of_first, of_second


_maximum_pulls = _extremum_pulls(np.less, keeps_nan=True)
_minimum_pulls = _extremum_pulls(np.greater, keeps_nan=True)

for _function, _pulls in {
    np.maximum: _maximum_pulls,
    np.minimum: _minimum_pulls,
    np.fmax: _extremum_pulls(np.less, keeps_nan=False),
    np.fmin: _extremum_pulls(np.greater, keeps_nan=False),
}.items():
    pulls(_function, *_pulls, structure="linear", facts=Facts(chooses=True))


def _raised(a: Any, low: Any, high: Any) -> Any:
    """`maximum(a, low)`; above `high` where all three are equal, because then neither `a` nor `low` moves the value."""
    raised = np.maximum(a, low)
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low < high:
        return raised
    return np.where((a == low) & (low == high), np.inf, raised)


def _clip_pull(target: str) -> Pull:
    """The pull of `minimum(maximum(a, low), high)` for one of "array", "low", "high"."""
    of_raised, of_high = _minimum_pulls
    of_array, of_low = _maximum_pulls

    def pull(
        ct: Any,
        out: Any,
        a: Any,
        a_min: Any = None,
        a_max: Any = None,
        _out: Any = None,
        *,
        min: Any = None,
        max: Any = None,
        dtype: Any = None,
        casting: str = "same_kind",
        order: str = "K",
        subok: bool = True,
    ) -> Any:
        low = min if a_min is None else a_min
        high = max if a_max is None else a_max
        wanted = {"array": a, "low": low, "high": high}[target]
        if high is not None:
            raised = a if low is None else _raised(a, low, high)
            ct = (of_high if target == "high" else of_raised)(ct, None, raised, high)
        if low is not None and target != "high":
            ct = (of_low if target == "low" else of_array)(ct, None, a, low)
        ct = sum_to_shape(ct, wanted.shape)
        return np.real(ct) if ct.dtype.kind == "c" and wanted.dtype.kind != "c" else ct

    return pull


_of_low, _of_high = _clip_pull("low"), _clip_pull("high")
pulls(np.clip, _clip_pull("array"), _of_low, _of_high, None, _of_low, _of_high, structure="linear")

pulls(
    np.copysign,
    lambda ct, out, x, y: np.where(np.signbit(y), -ct, ct) * np.sign(x),
    lambda ct, out, x, y: np.zeros_like(ct),
)
pulls(
    np.heaviside,
    lambda ct, out, x, at_zero: np.zeros_like(ct),
    lambda ct, out, x, at_zero: np.where(x == 0, ct, 0),
    structure="linear",
    facts=Facts(jumps=True),
)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    for function in (np.maximum, np.minimum, np.fmax, np.fmin, np.copysign):
        yield Case(function, (x, y))
        yield Case(function, (x[:, :1], y[0, ::-1]))
        yield Case(function, (x.T[::2], 0.1))
        yield Case(function, (-0.3, y[0]))
        yield Case(function, (x, np.arange(-1, 3)))
        yield Case(function, (x[0, 0], y[0, 0]))
        yield Case(function, (x[:0], y[:0]))
        yield Case(function, (x[0].astype(np.float32), y[0].astype(np.float32)), tolerance=1e-2)
    for function in (np.maximum, np.minimum):
        yield Case(function, (x[0] + 1j * y[0], y[1] + 1j * x[1]))
    yield Case(np.heaviside, (np.array([-1.0, 2.0]), np.array([0.3, 0.4])))
    yield Case(np.heaviside, (np.array([0, 1, -1]), np.array([[0.3], [0.4]])))
    yield Case(np.clip, (x, -0.4, 0.5))
    yield Case(np.clip, (x[::2], None, 0.5))
    yield Case(np.clip, (x, -0.4, None))
    yield Case(np.clip, (x, -0.4, 0.5), {"casting": "unsafe", "order": "F"})
    yield Case(np.clip, (x, -np.abs(y), np.abs(y)))
    yield Case(np.clip, (x[0], y - 0.5, np.float64(0.6)))
    yield Case(np.clip, (x[0, 0], -0.4, 0.5))
    yield Case(np.clip, (x, 0.5, -0.4))
    yield Case(np.clip, (x,), {"min": -0.4, "max": 0.5})
    yield Case(np.clip, (x,), {"a_min": -0.4, "a_max": np.float64(0.3)})
    yield Case(np.clip, (x, -1, 1))
    yield Case(np.clip, (x[0].astype(np.float32), -0.5, 0.5), tolerance=1e-2)
