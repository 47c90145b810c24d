"""Numbers evenly spaced between two ends, on a linear or a logarithmic scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, composed


def _fractions(num: int, endpoint: bool, ndim: int) -> Any:
    """How far each number lies from the start, with axes for ends that are arrays; and the number of steps."""
    steps = num - 1 if endpoint else num
    return np.reshape(np.arange(num) / max(steps, 1), (num,) + (1,) * ndim), steps


@composed(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    span = np.subtract(stop, start)
    fractions, steps = _fractions(num, endpoint, np.ndim(span))
    between = np.moveaxis(np.multiply(start, 1 - fractions) + np.multiply(stop, fractions), 0, axis)
    return (between, span / steps if steps > 0 else span * np.nan) if retstep else between


@composed(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    fractions, _ = _fractions(num, endpoint, max(map(np.ndim, (start, stop, base))))
    exponents = np.multiply(start, 1 - fractions) + np.multiply(stop, fractions)
    return np.moveaxis(np.power(base, exponents), 0, axis)


@composed(np.geomspace, facts=Facts(precision="double"))
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    start, stop = (np.add(end, np.zeros(())) for end in (start, stop))  # it computes in double precision
    ratio = np.true_divide(stop, start)
    fractions, _ = _fractions(num, endpoint, np.ndim(ratio))
    return np.moveaxis(np.multiply(start, ratio**fractions), 0, axis)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    low, high = rng.uniform(0.5, 1.0, (2, 3)), rng.uniform(1.5, 2.0, 3)
    for function in (np.linspace, np.logspace, np.geomspace):
        yield Case(function, (low[0, 0], high[0], 5))
        yield Case(function, (low[0, 0], 2.0, 4, False))
        yield Case(function, (1, high[0]), {"num": 3})
        yield Case(function, (low[0, 0], high[0], 1))
        yield Case(function, (low, high, 4))
        yield Case(function, (low, high[0], 3), {"axis": -1})
        yield Case(function, (low[0].astype(np.float32), high.astype(np.float32), 3), tolerance=2e-2)
    yield Case(np.linspace, (low, high, 4, True, True))
    yield Case(np.linspace, (low[0] + 1j * high, high, 3))
    yield Case(np.logspace, (low[0, 0], high[0], 4, True, np.float64(2.5)))
    yield Case(np.logspace, (low, high, 3, True, high))
    yield Case(np.geomspace, (-low, -high, 4))
    yield Case(np.geomspace, (low[0] + 1j * high, high - 0.5j, 3))
