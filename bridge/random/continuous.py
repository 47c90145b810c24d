"""Draws of floats: the noise is fixed by the key, and the parameters enter by arithmetic or at their quantile."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bridge.arrays.dispatch import call
from bridge.random import draws
from bridge.random.checking import (
    Gradient,
    checked_dtype,
    checked_shape,
    in_dtype,
    parameter,
    refuse_complex,
)
from bridge.random.draws import first, is_held, noise
from bridge.random.keys import checked_key
from bridge.rewind.escapes import detach


def uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    gradient: Gradient = "pathwise",
) -> NDArray[Any]:
    """Uniform numbers in [minval, maxval), as `jax.random.uniform`.

    Parameters
    ----------
    key : uint32 array of shape (2,).
    shape : of the draw; `minval` and `maxval` broadcast to it.
    dtype : float32 or float64; by default that of the bounds under NumPy's promotion, float64 for plain numbers.
    gradient : what the draw is to those who differentiate with respect to its bounds: "pathwise", the number
        `minval + u * (maxval - minval)` with u fixed; "frozen", a constant; "error", not to be differentiated.
    """
    own = checked_key("uniform", key)
    bounds = {name: parameter("uniform", name, x, gradient) for name, x in (("minval", minval), ("maxval", maxval))}
    for name, x in bounds.items():
        refuse_complex("uniform", name, x)
    kind = checked_dtype("uniform", dtype, *bounds.values())
    sides = checked_shape("uniform", shape, bounds)

    def unit() -> Any:
        return call(draws.unit_uniform, (own,), {"shape": sides, "dtype": kind})

    def scaled() -> Any:
        found = noise("uniform", own, sides, kind, unit)
        if all(isinstance(x, (int, float)) for x in bounds.values()) and (minval, maxval) == (0, 1):
            return found
        low, high = (in_dtype(x, kind) for x in bounds.values())
        return np.maximum(low, found * (high - low) + low)

    if gradient == "frozen":
        return noise("frozen uniform", own, sides, kind, scaled, *bounds.values())
    return scaled()


def normal(key: Any, shape: Any = (), dtype: Any = None) -> NDArray[Any]:
    """Normal numbers of mean 0 and variance 1, as `jax.random.normal`; write `mean + deviation * normal(key, shape)`.

    `dtype` is float32 or float64 (the default).
    """
    return _standard(draws.standard_normal, "normal", key, shape, dtype)


def exponential(key: Any, shape: Any = (), dtype: Any = None) -> NDArray[Any]:
    """Exponential numbers of mean 1, as `jax.random.exponential`; write `exponential(key, shape) / rate`."""
    return _standard(draws.standard_exponential, "exponential", key, shape, dtype)


def gumbel(key: Any, shape: Any = (), dtype: Any = None) -> NDArray[Any]:
    """Gumbel numbers of location 0 and scale 1, as `jax.random.gumbel` in its mode "low"."""
    return _standard(draws.standard_gumbel, "gumbel", key, shape, dtype)


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, gradient: Gradient = "pathwise") -> NDArray[Any]:
    """Gamma numbers of shape parameter `a > 0` and scale 1, as `jax.random.gamma`; write `gamma(key, a) / rate`.

    Parameters
    ----------
    key : uint32 array of shape (2,).
    a : number or array that broadcasts to `shape`, whose shape is the default. NaN comes of a negative one.
    dtype : float32 or float64; by default that of `a` under NumPy's promotion, float64 for plain numbers.
    gradient : "pathwise": the number moves with its quantile (implicit reparameterisation), which is the derivative
        of JAX too, but not that of finite differences with this key: the sampler accepts and refuses, and jumps.
        "frozen": a constant. "error": not to be differentiated.
    """
    own = checked_key("gamma", key)
    chosen = parameter("gamma", "a", a, gradient)
    refuse_complex("gamma", "a", chosen)
    kind = checked_dtype("gamma", dtype, chosen)
    sides = checked_shape("gamma", shape, {"a": chosen})
    wide = in_dtype(chosen, kind)
    wide = wide if np.shape(wide) == sides else np.broadcast_to(wide, sides)
    plain = detach(wide)
    quantiles = import_module("bridge.rules.gamma_quantiles")

    def sampled() -> Any:
        return call(draws.standard_gamma, (own, plain), {})

    if gradient == "frozen":
        return noise("frozen gamma", own, sides, kind, sampled, plain)
    sample = sampled()
    if is_held(own, plain):
        drawn, start = first("gamma", own, sides, lambda: (sample, np.array(plain)))
        sample = quantiles.gamma_moved(plain, drawn, start).astype(kind)
    return call(quantiles.gamma_moved, (wide, sample, plain), {}) if hasattr(wide, "place") else sample


def _standard(function: Any, name: str, key: Any, shape: Any, dtype: Any) -> Any:
    own = checked_key(name, key)
    kind, sides = checked_dtype(name, dtype), checked_shape(name, shape)
    return noise(name, own, sides, kind, lambda: call(function, (own,), {"shape": sides, "dtype": kind}))
