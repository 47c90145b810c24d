"""Nearest neighbours of tracked points: `scipy.spatial.KDTree` and `cKDTree`.

SciPy's tree of plain points finds the neighbours. Indices are constants; distances are computed again from the tracked
points. The neighbours change where distances tie: there the derivative is that of the neighbours which SciPy returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from bridge.extend import TrackedObject, as_array, known, needs, refuse, stand_in
from bridge.rules.scipy_arguments import must_be_known
from bridge.rules.spatial_distances import minkowski

spatial = needs("scipy.spatial")

_BY_PATTERN = ("query_ball_point", "query_ball_tree", "query_pairs", "count_neighbors")
_WHY = "which points are near depends on their coordinates"


def _plain(x: Any, name: str) -> Any:
    """The plain copy of an argument of a query, whose result is no function that has a derivative by it."""
    if isinstance(x, Tree):
        return x.tree
    if isinstance(x, (list, tuple)):
        x = as_array(x) if any(hasattr(part, "place") for part in x) else x
    return np.copy(must_be_known(x, f"scipy.spatial.{name}", _WHY)) if hasattr(x, "place") else x


def _refuse(kind: type, name: str) -> NoReturn:
    what = f"scipy.spatial.{kind.__name__}.{name} of tracked points"
    refuse(what, "compute it from the points, or make the tree of bridge.detach(points)")


class Tree(TrackedObject):
    """A tree of tracked points: SciPy's `tree` of their values, and the points."""

    def __init__(self, kind: Any, data: Any, options: dict[str, Any]) -> None:
        self.points = np.copy(as_array(data).astype(np.float64))
        self.tree = kind(_plain(self.points, kind.__name__), **options)

    library_class = property(lambda self: type(self.tree))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("place", "tree", "points"):
            raise AttributeError(name)
        if name in _BY_PATTERN:
            return lambda *args, **options: _by_pattern(name, self.tree, args, options)
        if name in ("n", "m", "size", "leafsize", "indices", "tree"):
            return getattr(self.tree, name)
        _refuse(type(self.tree), name)

    @property
    def data(self) -> Any:
        return self.points

    def query(self, x: Any, k: Any = 1, eps: Any = 0.0, p: Any = 2.0, *args: Any, **options: Any) -> Any:
        return _queried(self.tree, self.points, x, k, eps, p, args, options)


def _queried(tree: Any, points: Any, x: Any, k: Any, eps: Any, p: Any, args: Any, options: Any) -> Any:
    """Distances, computed from the points, and SciPy's indices. A neighbour that is missing is infinitely far."""
    x = as_array(x).astype(np.float64)
    bounds = {name: _plain(value, "query") for name, value in options.items()}
    found, indices = tree.query(_plain(x, "query"), k, _plain(eps, "query"), p, *map(_plain_bound, args), **bounds)
    if tree.boxsize is not None:
        refuse("distances of tracked points in a periodic box", "leave boxsize= out, and repeat the points")
    missing = np.asarray(indices) == tree.n
    at = np.where(missing, 0, indices)
    apart = x.ndim - 1 < at.ndim
    distances = minkowski(points[at], np.expand_dims(x, -2) if apart else x, p)
    # The last digits are SciPy's: the difference of two numbers so near has no rounding.
    distances = distances + (np.where(missing, 0.0, found) - np.where(missing, 0.0, known(distances)))
    return np.where(missing, np.inf, distances), indices


def _plain_bound(x: Any) -> Any:
    return _plain(x, "query")


def _by_pattern(name: str, tree: Any, args: Any, options: Any) -> Any:
    args = tuple(_plain(x, name) for x in args)
    return getattr(tree, name)(*args, **{key: _plain(x, name) for key, x in options.items()})


def _register(kind: Any) -> None:
    def make(
        data: Any,
        leafsize: int = 10 if kind is spatial.KDTree else 16,
        compact_nodes: bool = True,
        copy_data: bool = False,
        balanced_tree: bool = True,
        boxsize: Any = None,
    ) -> Tree:
        options = {"leafsize": leafsize, "compact_nodes": compact_nodes, "balanced_tree": balanced_tree}
        return Tree(kind, data, options | {"boxsize": boxsize})

    make.__name__ = make.__qualname__ = kind.__name__
    stand_in(kind)(make)


def _query(tree: Any, x: Any, k: Any = 1, eps: Any = 0.0, p: Any = 2.0, *args: Any, **options: Any) -> Any:
    return _queried(tree, tree.data, x, k, eps, p, args, options)


def _of_plain_tree(name: str) -> Callable[..., Any]:
    return lambda tree, *args, **options: _by_pattern(name, tree, args, options)


def _no_matrix(tree: Any, *args: Any, **options: Any) -> NoReturn:
    _refuse(type(tree), "sparse_distance_matrix")


for _kind in (spatial.KDTree, spatial.cKDTree):
    _register(_kind)
    stand_in(_kind.query, of_constants=True)(_query)
    stand_in(_kind.sparse_distance_matrix, of_constants=True)(_no_matrix)
    for _name in _BY_PATTERN:
        stand_in(getattr(_kind, _name))(_of_plain_tree(_name))
