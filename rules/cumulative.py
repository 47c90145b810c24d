"""Running sums and products, and their opposites: differences and numerical gradients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, Facts, composed, conj, rule, zeros
from bridge.rules.contractions import as_operand


def _matched(cotangent, a):
    """The real part where a `dtype=` made a real argument's result complex."""
    return np.real(cotangent) if cotangent.dtype.kind == "c" and a.dtype.kind != "c" else cotangent


def _sums_from_the_end(ct, axis):
    return np.flip(np.cumsum(np.flip(ct, axis), axis=axis), axis)


@rule(np.cumsum, reads=(), linear=True, facts=Facts(precision="wide", accumulates=np.add))
def cumsum(ct, out, a, axis=None, dtype=None, _out=None):
    if axis is None or a.ndim == 0:
        return np.reshape(_matched(_sums_from_the_end(ct, 0), a), a.shape)
    return _matched(_sums_from_the_end(ct, axis), a)


def _through_products(ct, x):
    """Cotangent of `x` through its running products along the last axis.

    With L the product of the elements before, it is conj(L) * S, where S[k] = ct[k] + conj(x[k+1]) * S[k+1].
    The recurrence is solved by doubling, without dividing: right at zeros, to every order.
    """
    before = np.concatenate([np.ones_like(x[..., :1]), np.cumprod(x[..., :-1], axis=-1)], axis=-1)
    collected, factor, step = ct, conj(x[..., 1:]), 1
    while step < x.shape[-1]:
        reached = collected[..., :-step] + factor * collected[..., step:]
        collected = np.concatenate([reached, collected[..., -step:]], axis=-1)
        factor = factor[..., :-step] * factor[..., step:]
        step *= 2
    return conj(before) * collected


@rule(np.cumprod, facts=Facts(precision="wide", accumulates=np.multiply))
def cumprod(ct, out, a, axis=None, dtype=None, _out=None):
    if a.size == 0:
        return np.zeros_like(a)
    if axis is None or a.ndim == 0:
        return np.reshape(_matched(_through_products(ct, np.reshape(a, -1)), a), a.shape)
    last = _through_products(np.moveaxis(ct, axis, -1), np.moveaxis(a, axis, -1))
    return _matched(np.moveaxis(last, -1, axis), a)


def _without_initial(ct, axis, include_initial):
    """The results after the leading zero or one that `include_initial` puts in front."""
    return np.moveaxis(np.moveaxis(ct, axis, 0)[1:], 0, axis) if include_initial else ct


# The functions of the array API standard, in NumPy since 2.1.
if hasattr(np, "cumulative_sum"):

    @rule(np.cumulative_sum, reads=(), linear=True, facts=Facts(precision="wide"))
    def cumulative_sum(ct, out, x, /, *, axis=None, dtype=None, include_initial=False):
        axis = 0 if axis is None else axis
        back = _sums_from_the_end(_without_initial(ct, axis, include_initial), axis)
        return np.reshape(_matched(back, x), x.shape)

    @composed(np.cumulative_prod, facts=Facts(precision="wide"))
    def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
        axis = 0 if axis is None else axis
        products = np.cumprod(x, axis=axis, dtype=dtype)
        if include_initial:
            ones = tuple(1 if k == axis % products.ndim else n for k, n in enumerate(products.shape))
            products = np.concatenate([np.ones(ones, products.dtype), products], axis=axis)
        return products


def _around(ct, n, axis):
    """`ct` with `n` zeros on both sides along `axis`."""
    shape = list(ct.shape)
    shape[axis] = n
    edge = zeros(tuple(shape), like=ct)
    return np.concatenate([edge, ct, edge], axis=axis)


def _edge(cotangent, given):
    """Cotangent of a `prepend` or `append`; a number stands for one slice of itself."""
    if not hasattr(given, "dtype"):
        return None
    return _matched(cotangent if given.shape else np.sum(cotangent), given)


@rule(np.diff, reads=(), structure="linear", facts=Facts(promotes=("a", "prepend", "append")))
def diff(ct, out, a, n=1, axis=-1, prepend=np._NoValue, append=np._NoValue):
    before, after = (
        0 if given is np._NoValue else np.shape(given)[axis] if np.ndim(given) else 1 for given in (prepend, append)
    )
    a = as_operand(a)
    length = a.shape[axis]
    if before + length + after < n:
        shape = list(ct.shape)
        shape[axis] = before + length + after
        joined = zeros(tuple(shape), like=ct)
    else:
        joined = (-1) ** n * np.diff(_around(ct, n, axis), n=n, axis=axis)
    front, middle, back = np.split(joined, [before, before + length], axis=axis)
    return _matched(middle, a), None, None, _edge(front, prepend), _edge(back, append)


@composed(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    inner = np.diff(np.reshape(ary, -1))
    ends = [None if given is None else np.reshape(given, -1) for given in (to_begin, to_end)]
    return np.concatenate([part for part in (ends[0], inner, ends[1]) if part is not None])


def _slope_along_last(f, h, edge_order):
    """Second-order differences at uneven distances `h` (a number, or one per gap), one-sided at both ends.

    Quarteroni, Sacco and Saleri, "Numerical Mathematics", 2007.
    """
    even = np.ndim(h) == 0
    left, right = (h, h) if even else (h[:-1], h[1:])
    inner = (
        -right / (left * (left + right)) * f[..., :-2]
        + (right - left) / (left * right) * f[..., 1:-1]
        + left / (right * (left + right)) * f[..., 2:]
    )
    first, second, before_last, last = (h, h, h, h) if even else (h[0], h[1 % h.shape[0]], h[-2 % h.shape[0]], h[-1])
    if edge_order == 1:
        start, end = (f[..., 1:2] - f[..., :1]) / first, (f[..., -1:] - f[..., -2:-1]) / last
    else:
        start = _slope_at_end(f[..., :1], f[..., 1:2], f[..., 2:3], first, second)
        end = -_slope_at_end(f[..., -1:], f[..., -2:-1], f[..., -3:-2], last, before_last)
    return np.concatenate([start, inner, end], axis=-1)


def _slope_at_end(f0, f1, f2, near, far):
    """Slope at `f0` of the parabola through three points at distances `near` and `far` from each other."""
    both = near + far
    return -(both + near) / (near * both) * f0 + both / (near * far) * f1 - near / (far * both) * f2


@composed(np.gradient, facts=Facts(precision="inexact", static=("edge_order",)))
def gradient(f, *varargs, axis=None, edge_order=1):
    f = as_operand(f)
    axes = range(f.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    spacings = varargs or (1.0,)
    if len(spacings) == 1 and np.ndim(spacings[0]) == 0:
        spacings *= len(axes)
    slopes = []
    for k, spacing in zip(axes, spacings, strict=True):
        h = np.diff(spacing) if np.ndim(spacing) else spacing
        slopes.append(np.moveaxis(_slope_along_last(np.moveaxis(f, k, -1), h, edge_order), -1, k))
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4))
    z = x + 1j * rng.normal(size=(3, 4))
    holes = np.array([[0.0, 2.0, -1.5, 0.3, 1.1], [0.7, 0.0, 0.0, 2.0, -1.0], [1.0, 2.0, 0.5, 1.5, 0.0]])
    for function in (np.cumsum, np.cumprod):
        for array in (x, x[::2, ::2], z, x[:0], np.float64(1.5)):
            yield Case(function, (array,))
        yield Case(function, (x.T, 0))
        yield Case(function, (z,), {"axis": -1})
        yield Case(function, (x,), {"axis": 1, "dtype": complex})
        yield Case(function, (x.astype(np.float32), 1), tolerance=2e-2)
    for axis in (None, 0, 1):
        yield Case(np.cumprod, (holes, axis))
    if hasattr(np, "cumulative_sum"):
        for function in (np.cumulative_sum, np.cumulative_prod):
            yield Case(function, (x[1],))
            yield Case(function, (x,), {"axis": 0, "include_initial": True})
            yield Case(function, (z.T,), {"axis": -1})
    yield Case(np.diff, (x,))
    yield Case(np.diff, ([1, 2, 4],), {"append": np.array([0.7])})
    yield Case(np.diff, (z, 2), {"axis": 0})
    yield Case(np.diff, (x[:, ::2], 5))
    yield Case(np.diff, (x[:, :2], 4), {"append": rng.normal(size=(3, 3))})
    yield Case(np.diff, (x,), {"prepend": 0.5, "append": rng.normal(size=(3, 2))})
    yield Case(np.diff, (x, 1, 0, rng.normal(size=(2, 4)), np.float64(2.0)))
    yield Case(np.ediff1d, (x,))
    yield Case(np.ediff1d, (x[0], rng.normal(size=2), np.float64(0.5)))
    steps = np.cumsum(rng.random(4) + 0.5)
    for order in (1, 2):
        yield Case(np.gradient, (x,), {"edge_order": order})
        yield Case(np.gradient, (x.T, 0.7), {"axis": 0, "edge_order": order})
        yield Case(np.gradient, (x, steps), {"axis": -1, "edge_order": order})
        yield Case(np.gradient, (z, np.float64(0.4), steps), {"edge_order": order})
    yield Case(np.gradient, (x[0, ::2],))
    yield Case(np.gradient, (x[:2, :2], 2.0))
