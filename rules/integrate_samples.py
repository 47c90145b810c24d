"""Integrals of samples: the functions of `scipy.integrate` that take arrays, composed of NumPy's.

Weights of Simpson's rule on uneven samples: K. V. Cartwright, "Simpson's rule cumulative integration with MS Excel and
irregularly-spaced data", Journal of Mathematical Sciences and Mathematics Education 12 (2), 2017.
"""

from __future__ import annotations

import numpy as np

from bridge.extend import as_array, needs, refuse, stand_in

integrate = needs("scipy.integrate")


@stand_in(integrate.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y, h, axis = _samples(y, x, dx, axis)
    return np.sum(h * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)


@stand_in(integrate.cumulative_trapezoid)
def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    if initial is not None and initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    y, h, axis = _samples(y, x, dx, axis)
    sums = np.cumsum(h * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        sums = np.concatenate([np.zeros((*sums.shape[:-1], 1)), sums], axis=-1)
    return np.moveaxis(sums, -1, axis)


@stand_in(integrate.simpson)
def simpson(y, x=None, *, dx=1.0, axis=-1):
    y, h, axis = _samples(y, x, dx, axis)
    count = y.shape[-1]
    if count == 2:
        return np.sum(0.5 * h * (y[..., 1:] + y[..., :-1]), axis=-1)
    if count % 2:
        return _parabolas(y, h)
    before, last = h[..., -2], h[..., -1]
    both = before + last
    total = _parabolas(y[..., :-1], h[..., :-1])
    total = total + _ratio(2 * last**2 + 3 * before * last, 6 * both) * y[..., -1]
    total = total + _ratio(last**2 + 3 * before * last, 6 * before) * y[..., -2]
    return total - _ratio(last**3, 6 * before * both) * y[..., -3]


@stand_in(integrate.cumulative_simpson)
def cumulative_simpson(y, *, x=None, dx=1.0, axis=-1, initial=None):
    rows, h, axis = _samples(y, x, dx, axis)
    if rows.shape[-1] < 3:
        sums = np.cumsum(h * (rows[..., 1:] + rows[..., :-1]) / 2.0, axis=-1)
    else:
        first = _first_of_two(rows, h)
        second = _first_of_two(rows[..., ::-1], h[..., ::-1])[..., ::-1]
        # Intervals come in pairs: the first of a pair by the parabola that starts with it, the second by the same one;
        # the last one by the parabola that ends with it.
        count = h.shape[-1]
        of_first = np.concatenate([first, second[..., -1:]], axis=-1)
        of_second = np.concatenate([first[..., :1], second], axis=-1)
        starts = (np.arange(count) % 2 == 0) & (np.arange(count) < count - 1)
        sums = np.cumsum(np.where(starts, of_first, of_second), axis=-1)
    sums = np.moveaxis(sums, -1, axis)
    if initial is None:
        return sums
    start = as_array(initial)
    if not start.shape:
        shape = [1 if k == axis else n for k, n in enumerate(sums.shape)]
        start = start + np.zeros(shape)
    return np.concatenate([start, sums + start], axis=axis)


@stand_in(integrate.romb)
def romb(y, dx=1.0, axis=-1, show=False):
    if show:
        refuse("scipy.integrate.romb(show=True) of tracked values", "leave show= out")
    y = np.moveaxis(as_array(y), axis, -1)
    intervals = y.shape[-1] - 1
    if intervals < 1 or intervals & (intervals - 1):
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    h = intervals * dx
    row = [(y[..., 0] + y[..., -1]) / 2.0 * h]
    step = intervals
    while step > 1:
        inner = np.sum(y[..., step // 2 : intervals : step], axis=-1)
        finer = [0.5 * (row[0] + h * inner)]
        for j, coarse in enumerate(row, 1):
            finer.append(finer[-1] + (finer[-1] - coarse) / (4**j - 1))
        row, step, h = finer, step // 2, h / 2.0
    return row[-1]


@stand_in(integrate.fixed_quad, calls=True)
def fixed_quad(func, a, b, args=(), n=5):
    if np.isinf(a) or np.isinf(b):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    nodes, weights = np.polynomial.legendre.leggauss(n)
    values = as_array(func((b - a) * (nodes + 1) / 2.0 + a, *args))
    return (b - a) / 2.0 * np.sum(weights * values, axis=-1), None


def _samples(y, x, dx, axis):
    """The samples with their axis last, the lengths of the intervals, and the axis, counted from the first."""
    y = as_array(y)
    axis = axis % y.ndim
    rows = np.moveaxis(y, axis, -1)
    if rows.shape[-1] == 0:
        raise ValueError("At least one point is required along `axis`.")
    if x is None:
        step = as_array(dx)
        step = np.moveaxis(step, axis, -1) if step.ndim == rows.ndim else step
        return rows, step * np.ones(rows.shape[-1] - 1), axis
    x = as_array(x)
    if x.ndim not in (1, y.ndim):
        raise ValueError("If given, shape of x must be 1-D or the same as y.")
    x = np.moveaxis(x, axis, -1) if x.ndim > 1 else x
    if x.shape[-1] != rows.shape[-1]:
        raise ValueError("If given, length of x along axis must be the same as y.")
    return rows, np.diff(x, axis=-1), axis


def _ratio(a, b):
    """a / b, and 0 where b is: intervals may have no length."""
    return np.where(b == 0, 0.0, a / np.where(b == 0, 1.0, b))


def _parabolas(y, h):
    """Simpson's rule on an odd number of samples."""
    h0, h1 = h[..., :-1:2], h[..., 1::2]
    both = h0 + h1
    parts = y[..., :-2:2] * (2.0 - _ratio(h1, h0)) + y[..., 1:-1:2] * (both * _ratio(both, h0 * h1))
    return np.sum(both / 6.0 * (parts + y[..., 2::2] * (2.0 - _ratio(h0, h1))), axis=-1)


def _first_of_two(y, h):
    """The integral over the first of two intervals of the parabola through their three samples, wherever they start."""
    h0, h1 = h[..., :-1], h[..., 1:]
    share, squared = h0 / (h0 + h1), h0 * h0 / (h1 * (h0 + h1))
    return h0 / 6 * ((3 - share) * y[..., :-2] + (3 + squared + share) * y[..., 1:-1] - squared * y[..., 2:])
