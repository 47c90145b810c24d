"""Normal and gamma numbers from uniform ones.

Sources: M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2011 (the polynomials that XLA evaluates);
G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26, 2000 (the rejection).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.random import threefry
from bridge.random.threefry import Words

# For each branch: the least w = -log(1 - x**2), what is subtracted from w or its root, and coefficients, highest first.
_SINGLE = (
    (0.0, 2.5, (
        2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
        -0.00417768164, 0.246640727, 1.50140941)),
    (5.0, 3.0, (
        -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
        0.00943887047, 1.00167406, 2.83297682)),
)  # fmt: skip
_DOUBLE = (
    (0.0, 3.125, (
        -3.6444120640178196996e-21, -1.685059138182016589e-19, 1.2858480715256400167e-18, 1.115787767802518096e-17,
        -1.333171662854620906e-16, 2.0972767875968561637e-17, 6.6376381343583238325e-15, -4.0545662729752068639e-14,
        -8.1519341976054721522e-14, 2.6335093153082322977e-12, -1.2975133253453532498e-11, -5.4154120542946279317e-11,
        1.051212273321532285e-09, -4.1126339803469836976e-09, -2.9070369957882005086e-08, 4.2347877827932403518e-07,
        -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352, -0.00074070253416626697512,
        -0.0060336708714301490533, 0.24015818242558961693, 1.6536545626831027356)),
    (6.25, 3.25, (
        2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
        1.5027403968909827627e-06, -4.013867526981545969e-06, 2.9234449089955446044e-06, 1.2475304481671778723e-05,
        -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
        0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066, -0.0037512085075692412107,
        0.005370914553590063617, 1.0052589676941592334, 3.0838856104922207635)),
    (16.0, 5.0, (
        -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09, -3.7894654401267369937e-09,
        7.6157012080783393804e-09, -1.4960026627149240478e-08, 2.9147953450901080826e-08, -6.7711997758452339498e-08,
        2.2900482228026654717e-07, -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
        7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026, 1.0103004648645343977,
        4.8499064014085844221)),
)  # fmt: skip


def inverse_error_function(x: np.ndarray) -> np.ndarray:
    """The y with erf(y) = x, for float32 or float64 `x` inside (-1, 1); to a few units of the last place."""
    kind = x.dtype.type
    w = -np.log1p(x * -x)
    found = np.empty_like(w)
    branches = _SINGLE if x.dtype == np.float32 else _DOUBLE
    ends = (*(least for least, _, _ in branches[1:]), np.inf)
    for (least, shift, coefficients), end in zip(branches, ends, strict=True):
        chosen = (w >= least) & (w < end)
        v = w[chosen]
        found[chosen] = _polynomial((np.sqrt(v) if least else v) - kind(shift), coefficients)
    return found * x


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    total = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total *= x
        total += x.dtype.type(coefficient)
    return total


def normal(unit: np.ndarray) -> np.ndarray:
    """Standard normal numbers from uniform ones in [0, 1), an array with at least one axis."""
    kind = unit.dtype.type
    least = np.nextafter(kind(-1), kind(0))
    u = np.maximum(unit * (kind(1) - least) + least, least)
    return kind(np.sqrt(2)) * inverse_error_function(u)


def gamma(keys: Words, a: np.ndarray) -> np.ndarray:
    """One gamma number of scale 1 for each shape parameter in `a` (one axis, float32 or float64), each from its key.

    The keys of proposals are those that `jax.random.gamma` uses. Below 1 a number for `a + 1` is drawn, and multiplied
    by a uniform one to the power of `1 / a`.
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
        x[open_] = normal(_unit(threefry.branch(own, 1), kind))
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
