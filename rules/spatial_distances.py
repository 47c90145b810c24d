"""Distances between points: `scipy.spatial.distance`.

The distance of a point to itself is a norm at zero, whose gradient is zero (docs/conventions.md): the diagonal of
`cdist(p, p)` adds nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.extend import (
    Case,
    Facts,
    as_array,
    check_number,
    composed,
    constant_of,
    is_abstract,
    known,
    needs,
    refuse,
    stand_in,
    without_gradient,
)

distance = needs("scipy.spatial.distance")


def _root(x: Any, p: Any = 2) -> Any:
    """The p-th root of a sum of powers, whose gradient at zero is zero, as that of a norm."""
    is_zero = x == 0
    return np.where(is_zero, 0.0, np.where(is_zero, 1.0, x) ** (1 / p))


def _weighted_sum(x: Any, w: Any) -> Any:
    return np.sum(x if w is None else w * x, axis=-1)


def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    """Minkowski distances of points along the last axis, with SciPy's weights."""
    difference = u - v
    if w is None or p == np.inf:
        return np.linalg.norm(difference if w is None else difference * (w > 0), ord=p, axis=-1)
    is_zero = difference == 0
    total = np.sum(w * np.where(is_zero, 0.0, np.abs(np.where(is_zero, 1.0, difference)) ** p), axis=-1)
    return _root(total, p)


def _euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return minkowski(u, v, 2, w)


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    return _weighted_sum((u - v) ** 2, w)


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return _weighted_sum(np.abs(u - v), w)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    return minkowski(u, v, np.inf, w)


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    u, v = np.broadcast_arrays(u, v)
    return 1 - _weighted_sum(u * v, w) / np.sqrt(_weighted_sum(u * u, w) * _weighted_sum(v * v, w))


def _correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    if not centered:
        return _cosine(u, v, w)
    u, v = (x - np.average(x, axis=-1, weights=w, keepdims=True) for x in (u, v))
    return _cosine(u, v, w)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    size = np.abs(u) + np.abs(v)
    return _weighted_sum(np.abs(u - v) / np.where(size == 0, 1.0, size), w)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return _weighted_sum(np.abs(u - v), w) / _weighted_sum(np.abs(u + v), w)


def _seuclidean(u: Any, v: Any, V: Any = None) -> Any:
    return np.linalg.norm((u - v) / np.sqrt(V), axis=-1)


def _mahalanobis(u: Any, v: Any, VI: Any = None) -> Any:
    difference = u - v
    return _root(np.sum(difference * np.matmul(difference, VI), axis=-1))


_METRICS: dict[str, Callable[..., Any]] = {
    "euclidean": _euclidean, "sqeuclidean": _sqeuclidean, "cityblock": _cityblock, "chebyshev": _chebyshev,
    "minkowski": minkowski, "cosine": _cosine, "correlation": _correlation, "canberra": _canberra,
    "braycurtis": _braycurtis, "seuclidean": _seuclidean, "mahalanobis": _mahalanobis,
}  # fmt: skip


def _written_out(function: Any, metric: str, names: tuple[str, ...], *values: Any) -> Any:
    """`measured` in NumPy."""
    count = len(values) - len(names)
    options = dict(zip(names, values[count:], strict=True))
    points = values[:count]
    if any(np.size(x) == 0 for x in values):
        return measured(function, metric, names, *(None if x is None else np.zeros(np.shape(x)) for x in values))
    if metric == "seuclidean" and options.get("V") is None:
        options["V"] = np.var(np.concatenate(points), axis=0, ddof=1)
    if metric == "mahalanobis" and options.get("VI") is None:
        options["VI"] = np.transpose(np.linalg.inv(np.cov(np.transpose(np.concatenate(points)))))
    if function is distance.pdist:
        (x,) = points
        first, second = np.triu_indices(x.shape[0], 1)
        points = x[first], x[second]
    elif function is distance.cdist:
        points = points[0][:, None, :], points[1][None, :, :]
    return _METRICS[metric](*points, **options)


def measured(function: Any, metric: str, names: tuple[str, ...], *values: Any) -> Any:
    """What a function of SciPy returns for points, followed by the values of the options of these names."""
    count = len(values) - len(names)
    options = dict(zip(names, values[count:], strict=True))
    if function in (distance.cdist, distance.pdist):
        options["metric"] = metric
    return np.asarray(function(*values[:count], **options))[()]


_MEASURED = composed(measured, facts=Facts(static=("function", "metric", "names")))(_written_out)


def _points(x: Any, function: Any) -> Any:
    x = as_array(x)
    if x.dtype.kind == "c" or x.dtype == np.longdouble:
        refuse(f"scipy.spatial.distance.{function.__name__} of {x.dtype} points", "give points of float64")
    return x.astype(np.float64)


def _measure(function: Any, metric: str, points: tuple[Any, ...], options: dict[str, Any]) -> Any:
    options = {k: x if x is None or isinstance(x, (bool, int, float)) else as_array(x) for k, x in options.items()}
    for name in ("p", "centered"):
        if name in options:
            what = f"scipy.spatial.distance.{function.__name__} with a tracked {name}="
            options[name] = without_gradient(options[name], what, f"pass bridge.detach({name})")
    values = (*points, *options.values())
    if any(map(is_abstract, values)):
        _check_call(function, metric, points, options)
        return _written_out(function, metric, tuple(options), *values)
    return _MEASURED(function, metric, tuple(options), *values)


def _check_call(function: Any, metric: str, points: tuple[Any, ...], options: dict[str, Any]) -> None:
    """SciPy's own error for shapes and options that it does not take, where the numbers are not known."""
    rng = np.random.default_rng(0)
    # As many points as a covariance of them needs.
    sizes = [(x.shape[1] + 2, x.shape[1]) if x.ndim == 2 else x.shape for x in points]
    given = [rng.random(np.shape(x)) if is_abstract(x) else known(x) for x in options.values()]
    measured(function, metric, tuple(options), *map(rng.random, sizes), *given)


def _canonical(function: Any, metric: Any) -> str:
    """SciPy's name of a metric; empty for a function that SciPy calls for each pair."""
    called = metric if isinstance(metric, str) else getattr(metric, "__name__", "")
    found = distance._METRIC_ALIAS.get(called.lower())
    if found is None:
        if callable(metric):
            return ""
        function(*[np.zeros((1, 1))] * (2 if function is distance.cdist else 1), metric)
    if found is None or found.canonical_name not in _METRICS:
        what = f"scipy.spatial.distance.{function.__name__} of tracked points with metric={called!r}"
        refuse(what, f"use one of {', '.join(_METRICS)}; or bridge.detach the points")
    return str(found.canonical_name)


def _constant(metric: Any, given: tuple[Any, ...]) -> Any:
    """Plain copies of what carries no gradient, for a metric of SciPy's own; None else."""
    called = metric if isinstance(metric, str) else getattr(metric, "__name__", "")
    return None if callable(metric) and called.lower() not in distance._METRIC_ALIAS else constant_of(given)


def _without_out(function: Any, options: dict[str, Any]) -> None:
    if options.pop("out", None) is not None:
        refuse(f"scipy.spatial.distance.{function.__name__} of tracked points with out=", "assign what it returns")


@stand_in(distance.cdist, calls=True)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", **options: Any) -> Any:
    plain = _constant(metric, (XA, XB, options))
    if plain is not None:
        return distance.cdist(plain[0], plain[1], metric, **plain[2])
    _without_out(distance.cdist, options)
    a, b = _points(XA, distance.cdist), _points(XB, distance.cdist)
    name = _canonical(distance.cdist, metric)
    if name:
        return _measure(distance.cdist, name, (a, b), options)
    distance.cdist(np.zeros(a.shape), np.zeros(b.shape), lambda u, v: 0.0)
    return _by_pairs([metric(u, v, **options) for u in a for v in b], (a.shape[0], b.shape[0]))


@stand_in(distance.pdist, calls=True)
def pdist(X: Any, metric: Any = "euclidean", **options: Any) -> Any:
    plain = _constant(metric, (X, options))
    if plain is not None:
        return distance.pdist(plain[0], metric, **plain[1])
    _without_out(distance.pdist, options)
    x = _points(X, distance.pdist)
    name = _canonical(distance.pdist, metric)
    if name:
        return _measure(distance.pdist, name, (x,), options)
    distance.pdist(np.zeros(x.shape), lambda u, v: 0.0)
    first, second = np.triu_indices(x.shape[0], 1)
    return _by_pairs([metric(x[i], x[j], **options) for i, j in zip(first, second, strict=True)], (len(first),))


def _by_pairs(found: list[Any], shape: tuple[int, ...]) -> Any:
    return np.reshape(np.stack([as_array(x).astype(np.float64) for x in found]) if found else np.zeros(0), shape)


def _of_vectors(function: Any, name: str) -> None:
    options_of = tuple(inspect.signature(function).parameters)[2:]

    def measure(u: Any, v: Any, *args: Any, **options: Any) -> Any:
        options = {**dict(zip(options_of, args, strict=False)), **options}
        return _measure(function, name, (_points(u, function), _points(v, function)), options)

    measure.__name__ = measure.__qualname__ = name
    stand_in(function)(measure)


for _name in _METRICS:
    _of_vectors(getattr(distance, _name), _name)


@stand_in(distance.squareform)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    X = as_array(X)
    distance.squareform(np.zeros(X.shape), force)
    if X.ndim == 1:
        n = int(np.ceil(np.sqrt(X.shape[0] * 2))) or 1
        places = np.zeros((n, n), np.int64)
        places[np.triu_indices(n, 1)] = np.arange(1, X.shape[0] + 1)
        return np.concatenate([np.zeros(1, X.dtype), X])[places + places.T]
    if checks:
        _check_matrix(X)
    return X[np.triu_indices(X.shape[0], 1)]


def _check_matrix(x: Any) -> None:
    if known(x) is not None:
        distance.is_valid_dm(known(x), throw=True, name="X")
        return
    check_number(ValueError("Distance matrix 'X' must be symmetric."), np.any(x != np.transpose(x)))
    check_number(ValueError("Distance matrix 'X' diagonal must be zero."), np.any(np.diagonal(x) != 0))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 3)) + 0.1, rng.random((4, 3)) + 0.1
    w = np.array([0.5, 2.0, 1.0])
    for metric in _METRICS:
        yield Case(measured, (distance.cdist, metric, (), a, b))
        if metric not in ("seuclidean", "mahalanobis"):
            yield Case(measured, (distance.pdist, metric, ("w",), b, w))
            yield Case(measured, (getattr(distance, metric), metric, (), a[0], b[0]))
    yield Case(measured, (distance.cdist, "minkowski", ("p", "w"), a, b, 3.5, w))
    yield Case(measured, (distance.cdist, "seuclidean", ("V",), a, b, w))
    yield Case(measured, (distance.mahalanobis, "mahalanobis", ("VI",), a[0], b[0], np.diag(w) + 0.1))
    # The distance of a point to itself is a norm at zero.
    yield Case(measured, (distance.cdist, "euclidean", (), b, b[:2].copy()))
