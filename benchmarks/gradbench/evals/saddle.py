"""`saddle`: where the highest over y of x·x - y·y is lowest over x, each searched by gradient descent.

The derivative of the outer search goes through the inner one, which takes derivatives of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.evals.descent import Slope, forward, lowest, reverse
from benchmarks.gradbench.evaluation import Eval, Function, Input


def height(x: np.ndarray, y: np.ndarray) -> Any:
    """The function whose saddle is searched."""
    return np.sum(x**2) - np.sum(y**2)


def search(start: np.ndarray, outer: Slope, inner: Slope) -> Any:
    """The saddle's x and y; `outer` and `inner` say how the two searches differentiate."""

    def highest(x: np.ndarray) -> Any:
        return height(x, lowest(lambda y: -height(x, y), start, inner))

    x = lowest(highest, start, outer)
    y = lowest(lambda y: -height(x, y), start, outer)
    return np.concatenate([x, y])


def ff(start: np.ndarray) -> Any:
    """Both searches forward."""
    return search(start, forward, forward)


def fr(start: np.ndarray) -> Any:
    """The outer search forward, the inner one in reverse."""
    return search(start, forward, reverse)


def rf(start: np.ndarray) -> Any:
    """The outer search in reverse, the inner one forward."""
    return search(start, reverse, forward)


def rr(start: np.ndarray) -> Any:
    """Both searches in reverse."""
    return search(start, reverse, reverse)


def prepare(given: Input) -> tuple[np.ndarray]:
    """Where all searches start."""
    return (np.array(given["start"], dtype=float),)


EVAL = Eval(prepare, {each.__name__: Function(each, np.ndarray.tolist) for each in (ff, fr, rf, rr)})
