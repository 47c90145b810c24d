"""The values of `numpy.polynomial`'s series, and of power series their derivatives, integrals and powers.

NumPy's protocols do not reach these functions. Clenshaw's recurrence is here step by step as NumPy has it: values are
the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

from bridge.extend import stand_in
from bridge.rules.contractions import as_operand

Pair = tuple[Any, Any]
Step = Callable[[Any, Any, Any, Any, int], Pair]


def _floats(c: Any) -> Any:
    """Coefficients along the first axis, as floats."""
    c = as_operand(c)
    c = np.asarray(c) if not hasattr(c, "dtype") else c
    c = c if np.ndim(c) else np.reshape(c, (1,))
    return c.astype(np.float64) if c.dtype.kind in "biu" else c


def _prepared(x: Any, c: Any, tensor: bool) -> Pair:
    c = _floats(c)
    x = np.asarray(x) if isinstance(x, (tuple, list)) and not hasattr(as_operand(x), "place") else as_operand(x)
    return x, np.reshape(c, c.shape + (1,) * np.ndim(x)) if tensor and np.ndim(x) else c


@stand_in(polynomial.polyval)
def polyval(x: Any, c: Any, tensor: bool = True) -> Any:
    x, c = _prepared(x, c, tensor)
    total = c[-1] + x * 0
    for i in range(2, c.shape[0] + 1):
        total = c[-i] + total * x
    return total


def _clenshaw(x: Any, c: Any, step: Step) -> Pair:
    """What is left of the first two coefficients; `n` counts down to 2."""
    n = c.shape[0]
    if n == 1:
        return c[0], 0
    low, high = c[-2], c[-1]
    for i in range(3, c.shape[0] + 1):
        n -= 1
        low, high = step(c[-i], low, high, x, n)
    return low, high


@stand_in(chebyshev.chebval)
def chebval(x: Any, c: Any, tensor: bool = True) -> Any:
    x, c = _prepared(x, c, tensor)
    twice = 2 * x if c.shape[0] > 2 else x
    low, high = _clenshaw(twice, c, lambda own, low, high, x, n: (own - high, low + high * x))
    return low + high * x


@stand_in(legendre.legval)
def legval(x: Any, c: Any, tensor: bool = True) -> Any:
    def step(own: Any, low: Any, high: Any, x: Any, n: int) -> Pair:
        return own - high * ((n - 1) / n), low + high * x * ((2 * n - 1) / n)

    x, c = _prepared(x, c, tensor)
    low, high = _clenshaw(x, c, step)
    return low + high * x


@stand_in(hermite.hermval)
def hermval(x: Any, c: Any, tensor: bool = True) -> Any:
    x, c = _prepared(x, c, tensor)
    twice = x * 2
    low, high = _clenshaw(twice, c, lambda own, low, high, x, n: (own - high * (2 * (n - 1)), low + high * x))
    return low + high * twice


@stand_in(hermite_e.hermeval)
def hermeval(x: Any, c: Any, tensor: bool = True) -> Any:
    x, c = _prepared(x, c, tensor)
    low, high = _clenshaw(x, c, lambda own, low, high, x, n: (own - high * (n - 1), low + high * x))
    return low + high * x


@stand_in(laguerre.lagval)
def lagval(x: Any, c: Any, tensor: bool = True) -> Any:
    def step(own: Any, low: Any, high: Any, x: Any, n: int) -> Pair:
        return own - (high * (n - 1)) / n, low + (high * ((2 * n - 1) - x)) / n

    x, c = _prepared(x, c, tensor)
    low, high = _clenshaw(x, c, step)
    return low + high * (1 - x)


@stand_in(polynomial.polyvander)
def polyvander(x: Any, deg: int) -> Any:
    x = _floats(x)
    powers = [x * 0 + 1, x]
    while len(powers) <= deg:
        powers.append(powers[-1] * x)
    return np.stack(powers[: deg + 1], axis=-1)


def _numbers_ahead(values: np.ndarray, c: Any) -> Any:
    """Numbers along the first axis, in the precision of `c`."""
    return np.reshape(values.astype(c.dtype.char.lower()), (-1,) + (1,) * (c.ndim - 1))


@stand_in(polynomial.polyder)
def polyder(c: Any, m: int = 1, scl: Any = 1, axis: int = 0) -> Any:
    c = np.moveaxis(_floats(c), axis, 0)
    for _ in range(m):
        scaled = c * scl
        c = scaled[1:] * _numbers_ahead(np.arange(1, c.shape[0]), c) if c.shape[0] > 1 else scaled[:1] * 0
    return np.moveaxis(c, 0, axis)
