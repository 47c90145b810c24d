"""HIPS autograd #788: the functions of NumPy that it wraps and has no gradient for. All of them, by their names.

The list is that of its rules at bff107b (numpy_vjps.py, linalg.py, fft.py) taken from NumPy 2.4's names, without those
that make constants, read files, compare, or answer about types; and of the packages beside them that it does not wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.polynomial as npp

from tests.conformance.scenario import Suite

suite = Suite("autograd functions", "HIPS autograd", "https://github.com/HIPS/autograd/issues/788")

RNG = np.random.default_rng(0)
V, W = RNG.uniform(0.3, 1.7, 6), RNG.uniform(-1.5, 1.5, 6)
M, N = RNG.uniform(0.4, 1.6, (3, 4)), RNG.normal(size=(3, 4))
SQUARE = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
SYMMETRIC = SQUARE + SQUARE.T
HOLES = np.where(np.arange(12).reshape(3, 4) % 5 == 2, np.nan, M)
INDEX = np.array([2, 0, 0, 1])
ROWS = np.array([[2, 0, 1, 1]])
CHOSEN = np.array([True, False, True, True, False, True])
ENDS = np.array([0.0, 0.7, 1.3, 2.0])


@dataclass(frozen=True)
class Record:
    """A function under its name, its differentiated arguments, and the error that refuses it, if one does."""

    name: str
    run: Callable[..., Any]
    inputs: tuple[Any, ...] = (V,)
    refused: str = ""


def numbers(result: Any) -> Iterator[Any]:
    """Everything in a result as real arrays."""
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from numbers(part)
    elif np.iscomplexobj(result):
        yield from (np.real(result), np.imag(result))
    else:
        yield result


def as_program(record: Record) -> Callable[..., Any]:
    """A real function: everything in the result, weighed differently."""

    def program(*arrays: Any) -> Any:
        total = 0.0
        for k, part in enumerate(numbers(record.run(*arrays))):
            weights = np.cos(np.arange(np.size(part)) + 1.0 + k).reshape(np.shape(part))
            total = total + np.sum(part * weights)
        return total

    program.__doc__ = f"`{record.name}`."
    return program


def written(make: Callable[[], Any], write: Callable[..., Any]) -> Callable[..., Any]:
    """A function that writes into its first argument, as one of what is written."""

    def run(*arrays: Any) -> Any:
        target = make() + arrays[0]
        write(target, *arrays)
        return target

    return run


along_rows = written(lambda: np.zeros((3, 4)), lambda t, x: np.put_along_axis(t, ROWS, x[:1], 0))

NAMED = (
    # Elementwise.
    Record("np.acos", lambda x: np.acos(x / 2)),
    Record("np.acosh", lambda x: np.acosh(x + 1)),
    Record("np.asin", lambda x: np.asin(x / 2)),
    Record("np.asinh", lambda x: np.asinh(x)),
    Record("np.atan", lambda x: np.atan(x)),
    Record("np.atan2", lambda x, y: np.atan2(x, y), (V, W)),
    Record("np.atanh", lambda x: np.atanh(x / 2)),
    Record("np.cbrt", lambda x: np.cbrt(x), (W,)),
    Record("np.copysign", lambda x, y: np.copysign(x, y), (V, W)),
    Record("np.divmod", lambda x, y: np.divmod(3 * x, y), (V, W)),
    Record("np.float_power", lambda x, y: np.float_power(x, y), (V, W)),
    Record("np.fmod", lambda x, y: np.fmod(3 * x, y), (V, W)),
    Record("np.frexp", lambda x: np.frexp(x)[0]),
    Record("np.heaviside", lambda x, y: np.heaviside(x, y), (W, V)),
    Record("np.i0", lambda x: np.i0(x)),
    Record("np.ldexp", lambda x: np.ldexp(x, [1, -2, 0, 3, 1, 1])),
    Record("np.modf", lambda x: np.modf(3 * x)),
    Record("np.nextafter", lambda x, y: np.nextafter(x, y), (V, W)),
    Record("np.pow", lambda x, y: np.pow(x, y), (V, W)),
    Record("np.spacing", lambda x: np.spacing(x) + x),
    Record("np.unwrap", lambda x: np.unwrap(4 * x)),
    Record("np.astype", lambda x: np.astype(x, np.complex128)),
    # Running products and sums.
    Record("np.cumprod", lambda x: np.cumprod(x, axis=1), (M,)),
    Record("np.cumulative_prod", lambda x: np.cumulative_prod(x, include_initial=True)),
    Record("np.cumulative_sum", lambda x: np.cumulative_sum(x, include_initial=True)),
    Record("np.ediff1d", lambda x, y: np.ediff1d(x, to_begin=y[:1], to_end=y[2:4]), (V, W)),
    Record("np.trapezoid", lambda y, x: np.trapezoid(y, np.cumsum(x)), (W, V)),
    # Reductions and statistics.
    Record("np.average", lambda x, w: np.average(x, axis=1, weights=w, returned=True), (N, M)),
    Record("np.corrcoef", lambda x: np.corrcoef(x), (N,)),
    Record("np.cov", lambda x, w: np.cov(x, aweights=w), (N, M[0])),
    Record("np.median", lambda x: np.median(x, axis=1), (N,)),
    Record("np.percentile", lambda x, q: np.percentile(x, 50 * q, axis=0), (N, V[:2])),
    Record("np.quantile", lambda x, q: np.quantile(x, q / 2, axis=1), (N, V[:2])),
    Record("np.ptp", lambda x: np.ptp(x, axis=0), (N,)),
    *(
        Record(f"np.{f.__name__}", lambda x, f=f: f(x, axis=1), (HOLES,))
        for f in (
            np.nancumprod, np.nancumsum, np.nanmax, np.nanmean, np.nanmedian, np.nanmin, np.nanprod, np.nanstd,
            np.nansum, np.nanvar,
        )
    ),
    Record("np.nanpercentile", lambda x: np.nanpercentile(x, 30, axis=1), (HOLES,)),
    Record("np.nanquantile", lambda x: np.nanquantile(x, [0.2, 0.7], axis=1), (HOLES,)),
    Record("np.bincount", lambda w: np.bincount(INDEX, weights=w, minlength=5), (V[:4],)),
    Record("np.histogram", lambda w: np.histogram(V, ENDS, weights=w)[0], (W,)),
    Record("np.histogram2d", lambda x, y: np.histogram2d(x, y)[0], (V, W), refused="RefusedError"),
    Record("np.histogramdd", lambda x: np.histogramdd(x)[0], (M,), refused="RefusedError"),
    Record("np.histogram_bin_edges", lambda x: np.histogram_bin_edges(x), (V,), refused="RefusedError"),
    Record("np.interp", lambda x, xp, fp: np.interp(x, np.cumsum(xp), fp), (V + 1, V, W)),
    # Signals.
    Record("np.convolve", lambda x, y: np.convolve(x, y, mode="same"), (V, W[:3])),
    Record("np.correlate", lambda x, y: np.correlate(x, y, mode="full"), (V, W[:3])),
    # Joining and parting.
    Record("np.append", lambda x, y: np.append(x, y), (V, W)),
    Record("np.block", lambda x, y: np.block([[x, y], [y, x]]), (M, N)),
    Record("np.column_stack", lambda x, y: np.column_stack((x, y, x * y)), (V, W)),
    Record("np.concat", lambda x, y: np.concat((x, y)), (M, N)),
    Record("np.delete", lambda x: np.delete(x, [1, 3])),
    Record("np.dstack", lambda x, y: np.dstack((x, y)), (M, N)),
    Record("np.hstack", lambda x, y: np.hstack((x, y)), (M, N)),
    Record("np.insert", lambda x, y: np.insert(x, [1, 3], y[:2]), (V, W)),
    Record("np.stack", lambda x, y: np.stack((x, y), axis=1), (M, N)),
    Record("np.unstack", lambda x: list(np.unstack(x, axis=1)), (M,)),
    Record("np.vstack", lambda x, y: np.vstack((x, y)), (M, N)),
    # Shapes and views.
    Record("np.apply_along_axis", lambda x: np.apply_along_axis(lambda r: r * np.sum(r), 1, x), (M,)),
    Record("np.apply_over_axes", lambda x: np.apply_over_axes(np.sum, x, [0, 1]), (M,)),
    Record("np.broadcast_arrays", lambda x, y: [np.broadcast_arrays(x, y)[0] * y], (V, M[:, :1])),
    Record("np.diagflat", lambda x: np.diagflat(x, 1)),
    Record("np.flip", lambda x: np.flip(x, 1), (M,)),
    Record("np.matrix_transpose", lambda x: np.matrix_transpose(x), (M,)),
    Record("np.meshgrid", lambda x, y: [a * b for a, b in [np.meshgrid(x, y)]], (V, W)),
    Record("np.permute_dims", lambda x: np.permute_dims(x, (1, 0)), (M,)),
    Record("np.resize", lambda x: np.resize(x, (3, 5))),
    Record("np.trim_zeros", lambda x: np.trim_zeros(x), (V,)),
    # Choosing.
    Record("np.choose", lambda x, y: np.choose([0, 1, 1, 0, 1, 0], [x, y]), (V, W)),
    Record("np.compress", lambda x: np.compress([True, False, True], x, axis=0), (M,)),
    Record("np.extract", lambda x: np.extract(CHOSEN, x)),
    Record("np.piecewise", lambda x: np.piecewise(x, [x < 0], [np.sin, lambda v: v**2]), (W,)),
    Record("np.select", lambda x, y: np.select([CHOSEN, ~CHOSEN], [x, y]), (V, W)),
    Record("np.take", lambda x: np.take(x, INDEX, axis=1), (M,)),
    Record("np.take_along_axis", lambda x: np.take_along_axis(x, ROWS, 0), (M,)),
    Record("np.sort_complex", lambda x: np.sort_complex(x), (V,), refused="RefusedError"),
    Record("np.unique", lambda x: np.unique(x), (W,)),
    Record("np.unique_values", lambda x: np.sum(np.unique_values(x) ** 3), (W,)),
    Record("np.union1d", lambda x, y: np.union1d(x, y), (V, W)),
    Record("np.intersect1d", lambda x, y: np.intersect1d(x, y), (V, V), refused="RefusedError"),
    Record("np.setdiff1d", lambda x, y: np.setdiff1d(x, y), (V, W), refused="RefusedError"),
    Record("np.setxor1d", lambda x, y: np.setxor1d(x, y), (V, W), refused="RefusedError"),
    # What writes into its argument.
    Record("np.copyto", written(lambda: np.zeros(6), lambda t, x, y: np.copyto(t, y, where=CHOSEN)), (V, W)),
    Record("np.fill_diagonal", written(lambda: np.zeros((3, 4)), lambda t, x: np.fill_diagonal(t, x[1, :3])), (M,)),
    Record("np.place", written(lambda: np.zeros(6), lambda t, x, y: np.place(t, CHOSEN, y[:3])), (V, W)),
    Record("np.put", written(lambda: np.zeros(6), lambda t, x, y: np.put(t, [4, 0, 4], y[:3])), (V, W)),
    Record("np.put_along_axis", along_rows, (M,)),
    Record("np.putmask", written(lambda: np.zeros(6), lambda t, x, y: np.putmask(t, CHOSEN, y[:4])), (V, W)),
    # Products.
    Record("np.matvec", lambda a, b: np.matvec(a, b), (M, W[:4])),
    Record("np.vdot", lambda a, b: np.vdot(a, b), (V, W)),
    Record("np.vecdot", lambda a, b: np.vecdot(a, b), (M, N)),
    Record("np.vecmat", lambda a, b: np.vecmat(a, b), (V[:3], N)),
    # Polynomials and spacings.
    Record("np.geomspace", lambda x, y: np.geomspace(x[0], y[1], 5), (V, V + 1)),
    Record("np.logspace", lambda x, y: np.logspace(x[0], y[1], 5), (V, V + 1)),
    Record("np.vander", lambda x: np.vander(x, 4)),
    Record("np.poly", lambda x: np.poly(x), (W[:4],)),
    Record("np.polyadd", lambda x, y: np.polyadd(x, y[:3]), (V, W)),
    Record("np.polyder", lambda x: np.polyder(x, 2)),
    Record("np.polydiv", lambda x, y: np.polydiv(x, y[:3])[0], (V, W), refused="RefusedError"),
    Record("np.polyfit", lambda x, y: np.polyfit(np.cumsum(x), y, 2), (V, W)),
    Record("np.polyint", lambda x: np.polyint(x, 2)),
    Record("np.polymul", lambda x, y: np.polymul(x, y[:3]), (V, W)),
    Record("np.polysub", lambda x, y: np.polysub(x, y[:3]), (V, W)),
    Record("np.polyval", lambda x, y: np.polyval(x, y), (V, W)),
    Record("np.roots", lambda x: np.roots(np.concatenate([[1.0], -4 - x[:1], 3 + x[1:2]]))),
    # Linear algebra.
    Record("np.linalg.cond", lambda a: np.linalg.cond(a), (SQUARE,)),
    Record("np.linalg.cross", lambda a, b: np.linalg.cross(a, b), (V[:3], W[:3])),
    Record("np.linalg.diagonal", lambda a: np.linalg.diagonal(a, offset=1), (M,)),
    Record("np.linalg.eigvals", lambda a: np.sort(np.real(np.linalg.eigvals(a + a.T))), (SQUARE,)),
    Record("np.linalg.eigvalsh", lambda a: np.linalg.eigvalsh(a + a.T), (SQUARE,)),
    Record("np.linalg.lstsq", lambda a, b: np.linalg.lstsq(a.T, b, rcond=None)[0], (N, W[:4])),
    Record("np.linalg.matrix_norm", lambda a: np.linalg.matrix_norm(a, ord="nuc"), (N,)),
    Record("np.linalg.matrix_power", lambda a: np.linalg.matrix_power(a, 3), (SQUARE,)),
    Record("np.linalg.multi_dot", lambda a, b: np.linalg.multi_dot([a, b.T, a]), (M, N)),
    Record("np.linalg.outer", lambda a, b: np.linalg.outer(a, b), (V, W)),
    Record("np.linalg.qr", lambda a: np.linalg.qr(a)[1], (SQUARE,)),
    Record("np.linalg.svdvals", lambda a: np.linalg.svdvals(a), (N,)),
    Record("np.linalg.tensorinv", lambda a: np.linalg.tensorinv(a.reshape(3, 1, 3), ind=1), (SQUARE,)),
    Record("np.linalg.tensorsolve", lambda a, b: np.linalg.tensorsolve(a, b), (SQUARE, W[:3])),
    Record("np.linalg.trace", lambda a: np.linalg.trace(a, offset=1), (M,)),
    Record("np.linalg.vecdot", lambda a, b: np.linalg.vecdot(a, b), (M, N)),
    Record("np.linalg.vector_norm", lambda a: np.linalg.vector_norm(a, axis=1, ord=3), (M,)),
    # Transforms.
    Record("np.fft.hfft", lambda x, y: np.fft.hfft(x + 1j * y), (V, W)),
    Record("np.fft.ihfft", lambda x: np.fft.ihfft(x)),
    # Packages that it does not wrap.
    Record("np.emath.sqrt", lambda x: np.emath.sqrt(x)),
    Record("np.emath.log", lambda x: np.emath.log(x)),
    Record("np.emath.power", lambda x, y: np.emath.power(x, y), (V, W)),
    *(
        Record(f"np.emath.{f.__name__} outside", lambda x, f=f: f(x), (np.array([-1.7, 0.4, 2.3, -0.6]),))
        for f in (np.emath.sqrt, np.emath.log, np.emath.log2, np.emath.log10, np.emath.arccos, np.emath.arctanh)
    ),
    Record("np.emath.logn", lambda x, y: np.emath.logn(x + 1, y), (V, W)),
    Record("np.emath.arcsin", lambda x: np.emath.arcsin(x / 2)),
    Record("polynomial.polyval", lambda x, y: npp.polynomial.polyval(x, y), (V, W)),
    Record("polynomial.polymul", lambda x, y: npp.polynomial.polymul(x, y), (V, W), refused="EscapeError"),
    Record("polynomial.polyder", lambda x: npp.polynomial.polyder(x)),
    Record("polynomial.polyint", lambda x: npp.polynomial.polyint(x), refused="EscapeError"),
    Record("polynomial.polyvander", lambda x: npp.polynomial.polyvander(x, 3)),
    Record("polynomial.polyfromroots", lambda x: npp.polynomial.polyfromroots(x), refused="EscapeError"),
    Record("chebyshev.chebval", lambda x, y: npp.chebyshev.chebval(x, y), (V, W)),
    Record("chebyshev.chebder", lambda x: npp.chebyshev.chebder(x), refused="EscapeError"),
    Record("chebyshev.cheb2poly", lambda x: npp.chebyshev.cheb2poly(x), refused="EscapeError"),
    Record("legendre.legval", lambda x, y: npp.legendre.legval(x, y), (V, W)),
    Record("hermite.hermval", lambda x, y: npp.hermite.hermval(x, y), (V, W)),
    Record("hermite_e.hermeval", lambda x, y: npp.hermite_e.hermeval(x, y), (V, W)),
    Record("laguerre.lagval", lambda x, y: npp.laguerre.lagval(x, y), (V, W)),
    Record("Polynomial", lambda x, y: npp.Polynomial(y)(x), (V, W), refused="EscapeError"),
    Record("Polynomial.deriv", lambda x, y: npp.Polynomial(y).deriv()(x), (V, W), refused="EscapeError"),
    Record("Chebyshev", lambda x, y: npp.Chebyshev(y)(x), (V, W), refused="EscapeError"),
    Record("np.ma.masked_array", lambda x: np.ma.masked_array(x, ~CHOSEN).sum(), (V,)),
    Record("np.ma.mean", lambda x: np.ma.mean(np.ma.masked_less(x, 1.0)), (V,)),
)  # fmt: skip

for _record in NAMED:
    suite(*_record.inputs, refused=_record.refused, name=_record.name)(as_program(_record))
