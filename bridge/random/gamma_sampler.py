"""Gamma numbers by rejection, with the keys that `jax.random.gamma` uses for each proposal.

Source: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26, 2000.
"""

from __future__ import annotations

import numpy as np

from bridge.random import normals, threefry
from bridge.random.threefry import Words


def sample(keys: Words, a: np.ndarray) -> np.ndarray:
    """One gamma number of scale 1 for each shape parameter in `a` (one axis, float32 or float64), each from its key.

    Below 1 a number for `a + 1` is drawn, and multiplied by a uniform one to the power of `1 / a`.
    """
    kind = a.dtype.type
    with np.errstate(all="ignore"):
        raised = np.where(a >= 1, a, a + kind(1))
        d = raised - kind(1 / 3)
        c = kind(1 / 3) / np.sqrt(d)
        cubes = _accepted(threefry.branch(keys, 0), c, d)
        boost = np.where(a >= 1, kind(1), (kind(1) - _unit(threefry.branch(keys, 1), kind)) ** (kind(1) / a))
        return d * cubes * boost


def _accepted(keys: Words, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The accepted cubes: each round of proposals draws only where none was accepted yet."""
    kind = c.dtype.type
    found = np.ones_like(c)
    open_ = np.arange(len(c))
    while len(open_):
        own = keys[0][open_], keys[1][open_]
        squares, cubes = _proposed(threefry.branch(own, 1), c[open_])
        u = _unit(threefry.branch(own, 2), kind)
        found[open_] = cubes
        refused = (u >= kind(1) - kind(0.0331) * (squares * squares)) & (
            np.log(u) >= squares * kind(0.5) + d[open_] * ((kind(1) - cubes) + np.log(cubes))
        )
        following = threefry.branch(own, 0)
        keys[0][open_], keys[1][open_] = following
        open_ = open_[refused]
    return found


def _proposed(keys: Words, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squares of normal numbers x, and the cubes of `1 + c * x`, drawn anew until these are positive."""
    kind = c.dtype.type
    x, v = np.zeros_like(c), np.full_like(c, -1)
    keys = keys[0].copy(), keys[1].copy()
    open_ = np.arange(len(c))
    while len(open_):
        own = keys[0][open_], keys[1][open_]
        x[open_] = normals.from_uniform(_unit(threefry.branch(own, 1), kind))
        v[open_] = kind(1) + x[open_] * c[open_]
        following = threefry.branch(own, 0)
        keys[0][open_], keys[1][open_] = following
        open_ = open_[v[open_] <= 0]
    return x * x, v * v * v


def _unit(keys: Words, kind: type) -> np.ndarray:
    """One uniform number in [0, 1) from each key."""
    zero = np.zeros(1, np.uint32)
    width = np.dtype(kind).itemsize * 8
    return threefry.unit(threefry.combined(*threefry.cipher(keys, (zero, zero)), width), kind)
