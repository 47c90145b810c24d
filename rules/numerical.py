"""Numerical tools: quadrature, convolution, statistics of pairs, histograms, and functions given piece by piece."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, Facts, RuleError, composed, conj, pulls, refused, rule, zeros


@composed(np.trapezoid, facts=Facts(promotes=("y", "x"), precision="inexact"))
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = np.moveaxis(y, axis, -1)
    if x is not None:
        dx = np.diff(x) if np.ndim(x) == 1 else np.moveaxis(np.diff(x, axis=axis), axis, -1)
    return np.sum(dx * (y[..., 1:] + y[..., :-1]), axis=-1) / 2


def _length(operand):
    return operand.size if hasattr(operand, "size") else len(operand)


def _full(ct, length, offset):
    """The cotangent of a whole convolution of `length`, of which `ct` belongs to the part from `offset` on."""
    if ct.shape[0] == length:
        return ct
    return np.concatenate([zeros(offset, like=ct), ct, zeros(length - offset - ct.shape[0], like=ct)])


def _matched(cotangent, operand):
    """Of the operand's shape, and real if the operand is."""
    cotangent = np.real(cotangent) if operand.dtype.kind != "c" else cotangent
    return np.reshape(cotangent, operand.shape)


def _full_convolution(ct, a, v, half=None):
    """The cotangent of the whole convolution; "same" leaves out `half` of the shorter operand on the left."""
    shorter, longer = sorted((_length(a), _length(v)))
    half = (shorter - 1) // 2 if half is None else half
    offsets = {longer + shorter - 1: 0, longer - shorter + 1: shorter - 1}
    return _full(ct, longer + shorter - 1, offsets.get(ct.shape[0], half))


def _convolve_left(ct, out, a, v, mode="full"):
    return _matched(np.correlate(_full_convolution(ct, a, v), np.reshape(v, -1), "valid"), a)


def _convolve_right(ct, out, a, v, mode="full"):
    return _matched(np.correlate(_full_convolution(ct, a, v), np.reshape(a, -1), "valid"), v)


def _correlate_left(ct, out, a, v, mode="valid"):
    return _matched(np.convolve(_full_correlation(ct, a, v), np.reshape(v, -1), "valid"), a)


def _correlate_right(ct, out, a, v, mode="valid"):
    return _matched(np.correlate(np.reshape(a, -1), _full_correlation(ct, a, v), "valid"), v)


def _full_correlation(ct, a, v):
    # "same" lies one further to the right if `a` is the shorter one and of even length.
    return _full_convolution(ct, a, v, half=_length(a) // 2 if _length(a) < _length(v) else None)


pulls(np.convolve, _convolve_left, _convolve_right, facts=Facts(promotes=("a", "v")))
pulls(np.correlate, _correlate_left, _correlate_right, facts=Facts(promotes=("a", "v")))


def _variables(m, rowvar):
    """One variable a row."""
    if np.ndim(m) < 2:
        return np.reshape(m, (1, -1))
    return m if rowvar else np.transpose(m)


_WEIGHTS = ("fweights", "aweights")


@composed(np.cov, facts=Facts(precision="double", weights=_WEIGHTS, not_negative=_WEIGHTS))
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    variables = _variables(m, rowvar)
    if variables.shape[0] == 0:
        return np.zeros((0, 0))
    aweights = aweights if aweights is None else np.real(aweights)
    if y is not None:
        variables = np.concatenate([variables, _variables(y, rowvar or np.shape(y)[0] == 1)])
    ddof = ddof if ddof is not None else 0 if bias else 1
    weights = aweights if fweights is None else fweights if aweights is None else np.multiply(fweights, aweights)
    total = variables.shape[1] if weights is None else np.sum(weights)
    removed = ddof if aweights is None or ddof == 0 else ddof * np.sum(weights * aweights) / total
    sums = np.sum(variables if weights is None else variables * weights, axis=1, keepdims=True)
    centered = variables - np.true_divide(sums, total)
    weighted = centered if weights is None else centered * weights
    return np.squeeze(np.true_divide(np.matmul(centered, conj(np.transpose(weighted))), total - removed))


@composed(np.corrcoef, facts=Facts(precision="double"))
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    covariance = np.cov(x, y, rowvar)
    if covariance.ndim == 0:
        return covariance / covariance
    deviation = np.sqrt(np.real(np.diagonal(covariance)))
    return covariance / deviation[:, None] / deviation


def _bincount_weights(ct, out, x, weights=None, minlength=0):
    return ct[np.asarray(x) if isinstance(x, (list, tuple)) else x]


pulls(np.bincount, None, _bincount_weights, linear=True, facts=Facts(shaped_by=("x",), static=("minlength",)))


def _histogram_data(ct, out, a, bins=10, range=None, density=None, weights=None):
    if range is None and np.ndim(bins) == 0 and (density or ct[1] is not None):
        raise RuleError(
            "the bin edges of this np.histogram depend on the data, and that dependence has no rule",
            remedy="give the edges as bins=, or the range=",
        )
    return np.zeros_like(a)


def _histogram_bins(ct, out, a, bins=10, range=None, density=None, weights=None):
    if density:
        raise RuleError("np.histogram(density=True) has no rule for its bin edges", remedy="detach the edges")
    return np.zeros_like(bins) if ct[1] is None else ct[1]


def _bin_of_equal_ones(a, edges, count):
    """The number of the bin that each element lies in; division says which, up to rounding, and the edges decide."""
    found = np.minimum(((a - edges[0]) / (edges[count] - edges[0]) * count).astype(np.int32), count - 1)
    found = found - (a < edges[found])
    return found + ((a >= edges[found + 1]) & (found < count - 1))


def _histogram_weights(ct, out, a, bins=10, range=None, density=None, weights=None):
    by_count, (counts, edges) = ct[0], out
    if by_count is None:
        return np.zeros_like(weights)
    last = edges.shape[0] - 1
    inside = (a >= edges[0]) & (a <= edges[last])
    if np.ndim(bins) == 0:
        found = _bin_of_equal_ones(np.where(inside, a, edges[0]), edges, last)
    else:
        found = np.clip(np.searchsorted(edges, a, side="right"), 1, last) - 1
    if density:
        total = np.sum(np.where(inside, weights, 0))
        by_count = (by_count / np.diff(edges) - np.sum(by_count * conj(counts))) / conj(total)
    by_element = np.take_along_axis(by_count, np.ravel(found), 0)  # cotangents that are known have no other way
    return _matched(np.where(np.ravel(inside), by_element, 0), weights)


OF_HISTOGRAMS = Facts(precision="inexact", spans="a", shaped_by=("bins",))
pulls(np.histogram, _histogram_data, _histogram_bins, None, None, _histogram_weights, facts=OF_HISTOGRAMS)
refused(
    "find the bins with np.digitize and add up weights with np.bincount(bin, weights)", np.histogram2d, np.histogramdd
)
refused("write the edges with np.linspace(np.min(x), np.max(x), n + 1)", np.histogram_bin_edges)


@rule(np.unwrap, reads=(), structure="linear", facts=Facts(precision="inexact"))
def unwrap(ct, out, p, discont=None, axis=-1, *, period=2 * np.pi):
    return ct


_AT_ONCE = 8192
"""Elements for which a pull makes matrices: larger ones than the processor's caches are slow."""


def _first_bessel(x):
    # I1(x) is the mean of cos(t) sinh(x cos(t)); 256 points on the circle are exact until I0 overflows.
    cosines = np.cos((np.arange(64) + 0.5) * (np.pi / 128)).astype(x.dtype)
    return np.mean(cosines * np.sinh(np.expand_dims(x, -1) * cosines), axis=-1)


@rule(np.i0, facts=Facts(precision="inexact"))
def i0(ct, out, x):
    if x.size <= _AT_ONCE:
        return ct * _first_bessel(x)
    flat = np.reshape(x, -1)
    parts = [_first_bessel(flat[k : k + _AT_ONCE]) for k in range(0, x.size, _AT_ONCE)]
    return ct * np.reshape(np.concatenate(parts), x.shape)


@rule(np.sinc, facts=Facts(precision="inexact"))
def sinc(ct, out, x):
    small = np.abs(x) < 0.1
    squared = np.where(small, np.pi * x, 0) ** 2
    nested = 1.0
    for k in (6, 5, 4, 3, 2):
        nested = 1 - squared * nested * (k / ((k - 1) * 2 * k * (2 * k + 1)))
    far = np.where(small, 1, x)
    return ct * conj(np.where(small, -(np.pi**2) / 3 * x * nested, (np.cos(np.pi * far) - out) / far))


@rule(np.nan_to_num, structure="linear", facts=Facts(nan_aware=True))
def nan_to_num(ct, out, x, copy=True, nan=0.0, posinf=None, neginf=None):
    if x.dtype.kind != "c":
        return np.where(np.isfinite(x), ct, 0)
    real, imag = (np.where(np.isfinite(part(x)), part(ct), 0) for part in (np.real, np.imag))
    return real + 1j * imag


@rule(np.real_if_close, reads=(), structure="linear")
def real_if_close(ct, out, a, tol=100):
    return ct


@composed(np.piecewise, facts=Facts(sequences=("condlist", "funclist")))
def piecewise(x, condlist, funclist, *args, **kw):
    listed = isinstance(condlist, (list, tuple))
    if (np.ndim(condlist[0]) < 1 if listed else condlist.ndim == x.ndim) and x.ndim:
        condlist = [condlist]
    conditions = list(condlist)
    if len(funclist) == len(conditions) + 1:
        conditions.append(~np.any(np.stack(conditions), axis=0))
    y = np.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        y[condition] = function(x[condition], *args, **kw) if callable(function) else function
    return y


@composed(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    axis %= arr.ndim
    last = np.moveaxis(arr, axis, -1)
    places = last.shape[:-1]
    results = np.stack([func1d(last[place], *args, **kwargs) for place in np.ndindex(places)])
    extra = results.ndim - 1
    return np.moveaxis(
        np.reshape(results, places + results.shape[1:]), tuple(range(-extra, 0)), tuple(range(axis, axis + extra))
    )


@composed(np.apply_over_axes)
def apply_over_axes(func, a, axes):
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        reduced = func(a, axis)
        a = reduced if reduced.ndim == a.ndim else np.expand_dims(reduced, axis)
    return a


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 5))
    z = x + 1j * rng.normal(size=(3, 5))
    steps = np.cumsum(rng.random(5) + 0.5)
    yield Case(np.trapezoid, (x,), {"dx": 0.3})
    yield Case(np.trapezoid, (z, steps))
    yield Case(np.trapezoid, (x.T, rng.normal(size=(5, 3))), {"axis": 0})
    for function in (np.convolve, np.correlate):
        for mode in ("full", "same", "valid"):
            for lengths in ((5, 3), (2, 5), (4, 4), (3, 4)):
                a, v = (rng.normal(size=n) for n in lengths)
                yield Case(function, (a, v), {"mode": mode})
            yield Case(function, (z[0], z[1, ::2], mode))
            yield Case(function, (x[0], z[1, :4]), {"mode": mode})
        yield Case(function, (x[0], [1.0, -2.0]))
    counts, reliability = np.array([1, 2, 1, 3, 1]), rng.random(5) + 0.5
    yield Case(np.cov, (x,))
    yield Case(np.cov, (x,), {"bias": True})
    yield Case(np.cov, (x,), {"ddof": 0, "fweights": counts})
    yield Case(np.cov, (x,), {"fweights": counts, "aweights": reliability})
    yield Case(np.cov, (z.T,), {"rowvar": False, "aweights": reliability})
    yield Case(np.cov, (x[0],))
    yield Case(np.cov, (x[0], x[1]))
    yield Case(np.corrcoef, (x.T, x[0]), {"rowvar": False})
    yield Case(np.corrcoef, (z,))
    bins = np.array([0, 2, 1, 2, 4])
    yield Case(np.bincount, (bins, x[0]))
    yield Case(np.bincount, (bins,), {"weights": x[0], "minlength": 7})
    data = np.array([0.1, 0.4, 0.45, 0.8, 1.3])
    for density in (False, True):
        yield Case(np.histogram, (data,), {"weights": x[0] + 3, "bins": 3, "range": (0.0, 1.0), "density": density})
        yield Case(np.histogram, (data, [0.0, 0.3, 1.0]), {"density": density, "weights": x[1] + 3})
    yield Case(np.unwrap, (4 * x,))
    yield Case(np.unwrap, (x.T,), {"axis": 0, "period": 1.5})
    yield Case(np.i0, (x,))
    yield Case(np.i0, (3 * x[:, ::2].astype(np.float32),), tolerance=2e-2)
    for array in (x, 0.1 * x, z, np.array([0.0, 1.0, -2.0, 1e-3]), x[0].astype(np.float32)):
        yield Case(np.sinc, (array,), tolerance=2e-2 if array.dtype == np.float32 else 1e-6)
    yield Case(np.nan_to_num, (x,))
    yield Case(np.nan_to_num, (z.T,), {"nan": 1.0})
    yield Case(np.real_if_close, (x,))
    yield Case(np.real_if_close, (z,))
    yield Case(np.piecewise, (x, [x < 0, x > 1], [lambda v: v**2, lambda v: v**3, np.sin]))
    yield Case(np.piecewise, (x[0], x[0] > 0, [np.exp, 0.5]))
    yield Case(np.piecewise, (x, [x < 0], [lambda v, p: v * p]), {"p": 3.0})
    yield Case(np.apply_along_axis, (np.cumprod, 0, x))
    yield Case(np.apply_along_axis, (lambda row: np.sum(row * row), -1, x))
    yield Case(np.apply_along_axis, (lambda row: row[:, None] * row[:2], 0, x))
    yield Case(np.apply_over_axes, (np.sum, x * x, (0, 1)))
    yield Case(np.apply_over_axes, (np.mean, x, 1))
