"""Norms of vectors and matrices. A norm has a kink where it is zero: its gradient there is zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, rule
from bridge.rules.decompositions import INEXACT
from bridge.rules.spectral import singular_values_cotangent


def _direction(x):
    """`x / |x|` for each element, 0 at 0."""
    if x.dtype.kind != "c":
        return np.sign(x)
    magnitude = np.abs(x)
    return x / np.where(magnitude == 0, 1, magnitude)


def _shares(values, largest, axes):
    """What each of the `values` gets of the cotangent of their extremum: those that reach it share equally."""
    extremum = (np.max if largest else np.min)(values, axis=axes, keepdims=True)
    winners = np.where((values == extremum) | (values != values), np.ones_like(values), 0)
    return winners / np.sum(winners, axis=axes, keepdims=True)


def _through_elements(ct, out, x, ord, axes):
    """Cotangent through a norm of the vector of all elements along `axes`, which `ct` and `out` have with length 1."""
    if ord == 0:
        return None
    if ord == 1:
        return ct * _direction(x)
    if ord in (np.inf, -np.inf):
        return ct * _shares(np.abs(x), ord > 0, axes) * _direction(x)
    length = np.where(out == 0, 1, out)
    if ord == 2:
        return ct * np.where(out == 0, 0, x / length)
    magnitude = np.abs(x)
    return ct * _direction(x) * np.where((magnitude == 0) | (out == 0), 1, magnitude / length) ** (ord - 1)


def _through_sums(ct, x, ord, axes):
    """Cotangent through the largest or smallest sum of magnitudes of a column or row."""
    added, compared = axes if abs(ord) == 1 else axes[::-1]
    sums = np.sum(np.abs(x), axis=added, keepdims=True)
    return ct * _shares(sums, ord > 0, compared) * _direction(x)


def _through_singular_values(ct, x, ord, axes):
    """Cotangent through the largest or smallest singular value, or their sum."""
    matrices = np.moveaxis(x, axes, (-2, -1))
    count = min(matrices.shape[-2:])
    chosen = {2: np.arange(count) == 0, -2: np.arange(count) == count - 1, "nuc": np.ones(count, bool)}[ord]
    ct_s = np.where(chosen, np.moveaxis(ct, axes, (-2, -1))[..., 0], 0)
    return np.moveaxis(singular_values_cotangent(ct_s, matrices), (-2, -1), axes)


def _cotangent(ct, out, x, ord, axes, keepdims, of_elements):
    """Cotangent through a norm of the elements along `axes`, or of the matrices in these two."""
    if x.size == 0:
        return np.zeros_like(x)
    if not keepdims:
        ct, out = np.expand_dims(ct, axes), np.expand_dims(out, axes)
    if ord is None or (isinstance(ord, str) and ord != "nuc"):
        return _through_elements(ct, out, x, 2, axes)
    if of_elements:
        return _through_elements(ct, out, x, ord, axes)
    if ord in (2, -2, "nuc"):
        return _through_singular_values(ct, x, ord, axes)
    return _through_sums(ct, x, ord, axes)


def _as_axes(axis, ndim):
    return tuple(range(ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)


@rule(np.linalg.norm, facts=INEXACT)
def norm(ct, out, x, ord=None, axis=None, keepdims=False):
    axes = _as_axes(axis, x.ndim)
    return _cotangent(ct, out, x, ord, axes, keepdims, len(axes) == 1)


@rule(np.linalg.vector_norm, facts=INEXACT)
def vector_norm(ct, out, x, *, axis=None, keepdims=False, ord=2):
    return _cotangent(ct, out, x, ord, _as_axes(axis, x.ndim), keepdims, True)


@rule(np.linalg.matrix_norm, facts=INEXACT)
def matrix_norm(ct, out, x, *, keepdims=False, ord="fro"):
    return _cotangent(ct, out, x, ord, (-2, -1), keepdims, False)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)

    def real(*shape):
        return rng.normal(size=shape)

    def complex_(*shape):
        return real(*shape) + 1j * real(*shape)

    for x in (real(4), complex_(3), real(6)[::2]):
        for order in (None, 1, 2, 3, 2.5, -1, np.inf, -np.inf, 0):
            yield Case(np.linalg.norm, (x, order))
            yield Case(np.linalg.vector_norm, (x,), {"ord": 2 if order is None else order})
    for x in (real(3, 3), complex_(2, 3), real(4, 2).T):
        for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            yield Case(np.linalg.norm, (x,), {"ord": order})
            yield Case(np.linalg.matrix_norm, (x,), {"ord": "fro" if order is None else order})
    for order in (1, np.inf, "nuc", -2):
        for axes in ((0, 1), (-1, 0)):
            yield Case(np.linalg.norm, (real(2, 3, 2), order, axes))
            yield Case(np.linalg.norm, (real(2, 3, 2),), {"ord": order, "axis": axes, "keepdims": True})
        yield Case(np.linalg.matrix_norm, (complex_(2, 2, 3),), {"ord": order, "keepdims": True})
    for order in (None, 1, 3, np.inf):
        for axis in (0, -1):
            yield Case(np.linalg.norm, (complex_(2, 3), order, axis))
            yield Case(np.linalg.norm, (real(2, 3), order, axis, True))
    yield Case(np.linalg.norm, (real(2, 2, 2),))
    yield Case(np.linalg.norm, (real(2, 2),), {"keepdims": True})
    yield Case(np.linalg.vector_norm, (real(2, 3, 2),), {"axis": (0, -1), "ord": 3})
    yield Case(np.linalg.vector_norm, (complex_(2, 3),), {"keepdims": True})
    yield Case(np.linalg.norm, (real(3).astype(np.float32),), tolerance=1e-2)
    # At zero, and where elements, sums or singular values tie, the mean of the one-sided derivatives.
    yield Case(np.linalg.norm, (np.zeros(3),))
    for order in (1, 3, np.inf):
        yield Case(np.linalg.norm, (np.zeros(3), order))
    yield Case(np.linalg.norm, (np.array([0.0, 2.0, 0.0]), 3))
    yield Case(np.linalg.norm, (np.array([1.0, 2.0, -2.0]), np.inf))
    yield Case(np.linalg.norm, (np.zeros((2, 3)), "nuc"))
    yield Case(np.linalg.norm, (np.ones((2, 3)), "nuc"))
