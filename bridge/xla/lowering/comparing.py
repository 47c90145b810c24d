"""Comparisons, the larger and the smaller of two, and clipping: of complex numbers as NumPy has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.calls import common
from bridge.xla.lowering.register import entry


@entry("np.clip")
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    dtype: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
) -> Any:
    """Bound values by `maximum` and `minimum`, which share the derivative at a bound."""
    low, high = a_min if min is None else min, a_max if max is None else max
    bounds = [x for x in (low, high) if x is not None]
    kind = common(a, *bounds) if dtype is None else np.dtype(dtype)
    a = jnp.asarray(a, kind)
    larger, smaller = (_larger, _smaller) if kind.kind == "c" else (jnp.maximum, jnp.minimum)
    if low is not None:
        a = larger(a, jnp.asarray(low, kind))
    return a if high is None else smaller(a, jnp.asarray(high, kind))


def is_complex(*operands: Any) -> bool:
    """Whether one of some operands is complex."""
    return any(np.result_type(x).kind == "c" for x in operands)


def precedes(a: Any, b: Any, above: bool, strictly: bool = False) -> Any:
    """Whether `a` is taken rather than `b`, where neither is NaN as a whole: NumPy's comparison of the two."""
    a, b = (a, b) if above else (b, a)
    real, imaginary = a.real > b.real, a.imag > b.imag if strictly else a.imag >= b.imag
    return (real & ~jnp.isnan(a.imag) & ~jnp.isnan(b.imag)) | ((a.real == b.real) & imaginary)


def chosen(a: Any, b: Any, above: bool) -> Any:
    """The larger of two complex numbers, or the smaller one, as NumPy compares them; NaN if one is."""
    return jnp.where(precedes(a, b, above) | jnp.isnan(a), a, b)


def _larger(a: Any, b: Any) -> Any:
    """As `np.clip` compares complex numbers, which looks at imaginary parts only where real parts are equal."""
    return jnp.where(jnp.isnan(a) | (a.real > b.real) | ((a.real == b.real) & (a.imag > b.imag)), a, b)


def _smaller(a: Any, b: Any) -> Any:
    return jnp.where(jnp.isnan(a) | (a.real < b.real) | ((a.real == b.real) & (a.imag < b.imag)), a, b)


def _elementwise(name: str, above: bool, keeps_nan: bool) -> Callable[..., Any]:
    plain = getattr(jnp, name)

    def extreme(a: Any, b: Any, **kwargs: Any) -> Any:
        if not is_complex(a, b):
            return plain(a, b, **kwargs)
        a, b = jnp.asarray(a), jnp.asarray(b)
        return chosen(a, b, above) if keeps_nan else jnp.where(precedes(a, b, above) | jnp.isnan(b), a, b)

    return extreme


for _above, _pair, _quiet in ((True, "maximum", "fmax"), (False, "minimum", "fmin")):
    entry(f"np.{_pair}", direct=True)(_elementwise(_pair, _above, keeps_nan=True))
    entry(f"np.{_quiet}")(_elementwise(_quiet, _above, keeps_nan=False))


def _compared(name: str, above: bool, strictly: bool) -> Callable[..., Any]:
    plain = getattr(jnp, name)

    def compared(a: Any, b: Any, **kwargs: Any) -> Any:
        if not is_complex(a, b):
            return plain(a, b, **kwargs)
        kind = common(a, b)
        return precedes(jnp.asarray(a, kind), jnp.asarray(b, kind), above, strictly)

    return compared


for _above, _name in ((True, "greater"), (False, "less")):
    entry(f"np.{_name}", direct=True)(_compared(_name, _above, strictly=True))
    entry(f"np.{_name}_equal", direct=True)(_compared(f"{_name}_equal", _above, strictly=False))
