"""Less common ways to make, fill and read arrays that are nevertheless in everybody's code."""

import collections
import copy

import numpy
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tests.programs_as_they_stand.record import Field

program = Field("numpy")

X = np.array([0.4, 0.9, 1.3, 0.7, 0.2, 1.1])


def long_name(x):
    field = numpy.ndarray((3, 2))
    field.flat = x
    work = numpy.ndarray(shape=(3,), dtype=float, order="F")
    for i in range(3):
        work[i] = field[i].prod()
    return numpy.sqrt(work).sum()


program("numpy.ndarray called by its name", lambda: long_name, X)


def particle_in_cell(x, charge):
    rho = np.zeros(5)
    for xp in x:
        i = int(xp / 0.4)
        w = xp / 0.4 - i
        rho[i] += charge * (1 - w)
        rho[(i + 1) % 5] += charge * w
    field = -np.gradient(rho, 0.4)
    index = np.floor(x / 0.4).astype(int)
    return np.sum(field[index] ** 2)


program("charges put into cells by int", lambda: particle_in_cell, X + 0.05, 1.3, argnums=(0, 1), step=1e-3)


def histogrammed(x, weights):
    edges = np.array([0.0, 0.5, 1.0, 1.5])
    counts, _ = np.histogram(x, bins=edges, weights=weights)
    which = np.digitize(x, edges) - 1
    means = np.bincount(which, weights=weights * x, minlength=3) / np.bincount(which, weights=weights, minlength=3)
    return means @ counts


program("weighted histograms", lambda: histogrammed, X, np.arange(1.0, 7.0), argnums=(0, 1), step=1e-3)


def grids(a, b):
    x = np.linspace(a, b, 5)
    y = np.arange(3) * (b - a)
    X_, Y_ = np.meshgrid(x, y)
    stacked = np.r_[x, y[::-1], 1.0]
    columns = np.c_[x[:3], y]
    return np.sum(np.sin(X_) * Y_) + stacked[4:7].prod() + np.linalg.det(columns.T @ columns)


program("grids between tracked ends, r_ and c_", lambda: grids, 0.3, 1.2, argnums=(0, 1))


def conversions(x):
    parts = [np.array([v, v**2]) for v in x[:3]]
    a = np.array(parts)
    b = np.asarray([[x[0], 1.0], [2, x[1]]])
    c = np.array([x, x[::-1]], dtype=np.float64, copy=True)
    d = np.stack(parts, axis=1)
    e = np.array([np.sum(p) for p in parts] + [0.5])
    f = np.fromiter((v * k for k, v in enumerate(x)), dtype=float)
    g = np.float64(x[2]) * np.array(x[3], ndmin=1)
    return a.sum() * np.linalg.det(b) + c.std() + np.trace(d @ a) + e.prod() + f[2:] @ f[:-2] + g[0]


program("every way to make an array of numbers", lambda: conversions, X)


def functional(x):
    table = np.fromfunction(lambda i, j: (i + 1) ** 2 + j, (3, 2))
    ratio = np.apply_along_axis(lambda row: row[0] / (1 + row @ row), 1, np.reshape(x, (3, 2)) * table)
    smooth = np.piecewise(x, [x < 0.5, x >= 1.0], [lambda v: v**2, lambda v: 2 * v, 0.3])
    chosen = np.select([x < 0.5, x < 1.0], [np.sin(x), x**3], default=1.0)
    return ratio.sum() + smooth @ chosen


program("functions handed to NumPy", lambda: functional, X, step=1e-3)


def polynomials(coefficients):
    p = np.poly1d(coefficients)
    fitted = np.polyfit(np.arange(4.0), np.polyval(coefficients, np.arange(4.0)) ** 2 / 10, 2)
    return p(1.3) + np.polyder(np.asarray(coefficients))[1] + fitted[0] * p(0.2)


program("polynomials", lambda: polynomials, np.array([0.5, -1.0, 0.3]))


def single_precision(x):
    u = np.zeros(6, dtype=np.float32)
    u[:] = x
    for _ in range(3):
        u[1:-1] += np.float32(0.1) * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u * u)


program("a scratch array in single precision", lambda: single_precision, X, tolerance=1e-2, step=0.1)


def windows(x):
    w = sliding_window_view(x, 3)
    local = np.zeros(w.shape[0])
    for k, window in enumerate(w):
        local[k] = np.percentile(window, 75) - window.min()
    padded = np.pad(local, (1, 1), mode="edge")
    return np.convolve(padded, [0.25, 0.5, 0.25], "same").sum() + np.median(x) + np.cov(x[:-1], x[1:])[0, 1]


program("windows that slide", lambda: windows, X, step=1e-4)


def masked_assignment(x):
    u = np.full((2, 6), np.nan)
    u[0] = x
    u[1, ::2] = x[::2] ** 2
    missing = np.isnan(u)
    u[missing] = 0.1
    np.put(u, [7, 9], x[:2])
    u[np.ix_([0, 1], [2, 4])] *= 2.0
    u[u > 1.5] = 1.5
    rows, cols = np.nonzero(~missing)
    return np.nansum(u) + u[rows, cols].prod() + np.nanmax(u[1])


program("NaN as a mark, masks, put and ix_", lambda: masked_assignment, X, step=1e-3)


def copies(x):
    state = {"u": x.copy(), "history": []}
    for k in range(3):
        backup = copy.deepcopy(state)
        state["u"] *= 1 + 0.1 * k
        state["u"] += np.roll(backup["u"], 1)
        state["history"].append(copy.copy(state["u"]))
    return np.var(state["history"]) + backup["u"][0] * state["u"][1]


program("states copied by the copy module", lambda: copies, X)


def object_array(x):
    layers = np.empty(3, dtype=object)
    for k in range(3):
        layers[k] = x * k
    return sum(layer.sum() for layer in layers)


program("an array of objects", lambda: object_array, X, expected="EscapeError: dtype object")


def records(x):
    particles = np.zeros(6, dtype=[("x", float), ("charge", float), ("cell", int)])
    particles["x"] = x
    particles["charge"] = 2.0
    particles["cell"] = np.arange(6) // 2
    return np.sum(particles["charge"] * particles["x"] ** 2 * particles["cell"])


program("a structured array", lambda: records, X, expected="EscapeError: cannot be lent")


def masked_array(x):
    m = np.ma.masked_less(x, 0.5)
    return m.mean() * m.count()


program("a masked array", lambda: masked_array, X)


class Signal(np.ndarray):
    def __new__(cls, values, rate=1.0):
        self = np.asarray(values).view(cls)
        self.rate = rate
        return self

    def energy(self):
        return (self**2).sum() / self.rate


program("a subclass of ndarray", lambda: lambda x: Signal(x, 2.0).energy(), X)


def drawn(mu, sigma):
    rng = np.random.default_rng(0)
    sample = rng.normal(mu, sigma, size=5)
    return np.mean(sample**2)


program("draws whose parameters are tracked", lambda: drawn, 0.4, 1.2, expected="EscapeError: normal() of a generator")


def type_checks(x, scale=1.0):
    if isinstance(scale, (int, float)) and not isinstance(x, (list, tuple)):
        scale = np.ones_like(x) * scale
    if np.isscalar(x[0]) and isinstance(x, np.ndarray) and issubclass(x.dtype.type, np.floating):
        total = 0.0
        for v in x * scale:
            total += v if isinstance(v, float) else 100 * v
        return total**2
    raise TypeError(type(x))


program("arrays and numbers told by isinstance", lambda: type_checks, X, 1.5, argnums=(0, 1))


def iterators(x):
    out = np.zeros((2, 3))
    it = np.nditer(out, flags=["multi_index"])
    while not it.finished:
        i, j = it.multi_index
        out[i, j] = x[3 * i + j] * (i + 1)
        it.iternext()
    for k in np.ndindex(2, 3):
        out[k] += 0.1 * out[0, k[1]]
    return sum(v * k for k, v in enumerate(out.flat)) + out.ravel()[-1] * out.item(2)


program("nditer, ndindex and flat", lambda: iterators, X)


def ufunc_methods(x):
    table = np.multiply.outer(x, np.arange(3.0))
    steps = np.add.accumulate(x)
    np.maximum(steps, 1.0, out=steps, where=steps < 2.0)
    np.add.at(steps, [0, 0, 1], x[:3])
    np.subtract(table[:, 1], 0.5, out=table[:, 2])
    np.copyto(table[:, 0], steps)
    return np.add.reduce(table, axis=None) + np.multiply.reduce(steps[:3]) + np.logaddexp.reduce(x)


program("methods of ufuncs, out= and where=", lambda: ufunc_methods, X, step=1e-3)


def in_lists(x):
    largest = np.maximum.reduce([x, x**2])
    falling = np.minimum.accumulate([x, 2.0 - x])
    sums = np.add.reduceat([x[0], x[1], x[2]], [0, 1])
    a = np.zeros(4)
    np.add.at(a, [0, 0, 3], [x[0], x[1] * 2, x[2]])
    square = np.zeros((2, 2))
    np.fill_diagonal(square, [x[3], x[4]])
    return np.sum(largest) + np.sum(falling[1] * x) + sums[0] * sums[1] + np.sum(a**2) + np.sum(square**3)


program("tracked numbers in lists, as operands of ufuncs", lambda: in_lists, X)


def set_item(x):
    a = np.zeros((2, 2))
    a.__setitem__((0, 1), x[0] ** 2)
    a.__setitem__(slice(None), a * x[1] + 1.0)
    return np.sum(a**2)


program("__setitem__ called as a method", lambda: set_item, X)


def read_only(x):
    a = np.zeros(4)
    half = a[1:3]
    half[:] = x[:2]
    a[0] = x[2]
    a.flags.writeable = False
    half.flags.writeable = False
    return np.sum(a**2) + half[0] * (not a.flags.writeable)


program("arrays made read-only after a write", lambda: read_only, X)


class Lazy:
    def __init__(self, parts):
        self.parts = parts

    def __array__(self, dtype=None, copy=None):
        return np.array(self.parts, dtype=dtype)

    def __mul__(self, factor):
        return Lazy([factor * part for part in self.parts])

    @property
    def value(self):
        return np.asarray(self)


def converted(x):
    lazy = Lazy([x[0], 2 * x[1]]) * 3.0
    constant = np.asarray(Lazy([1.0, 2.0]))
    return np.sum(lazy.value**2) + np.sum(constant) * x[2]


program("classes with __array__", lambda: converted, X)


def sequences(x):
    window = collections.deque(maxlen=3)
    for value in x:
        window.append(value * value)
    listed = collections.UserList([x[0], 3 * x[1]])
    return np.array(window).sum() + np.mean(np.asarray(listed) ** 2)


program("deques and lists of users' as arrays", lambda: sequences, X)


def required(x):
    square = np.require(x[:4].reshape(2, 2) * 2, float, ["F", "W"])
    square[0, 1] *= x[4]
    same = np.require(x, requirements="C")
    same[0] = x[1] * 5
    return np.sum(square**2) + np.sum(x) + float(square.flags.f_contiguous)


program("np.require", lambda: required, X)
