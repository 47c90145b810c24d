"""Comparisons, clipping, extremes and counts where JAX's are not NumPy's.

Complex numbers are ordered by real part, then by imaginary part; a NaN in either comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

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


def _reduced(name: str, above: bool) -> Callable[..., Any]:
    plain = getattr(jnp, name)

    def extreme(
        a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
    ) -> Any:
        a = jnp.asarray(a)
        if not is_complex(a):
            return plain(a, axis=axis, keepdims=keepdims, initial=initial, where=where)
        axes = tuple(range(a.ndim)) if axis is None else np.atleast_1d(axis) % max(a.ndim, 1)
        last = -np.inf if above else np.inf
        start = jnp.asarray(complex(last, last), a.dtype)
        if where is not None:
            a = jnp.where(where, a, start)
        found = lax.reduce(a, start, lambda x, y: chosen(x, y, above), tuple(int(one) for one in axes))
        if initial is not None:
            found = chosen(jnp.asarray(initial, a.dtype), found, above)
        return jnp.expand_dims(found, tuple(int(one) for one in axes)) if keepdims else found

    return extreme


def _index(name: str, above: bool, skips_nan: bool) -> Callable[..., Any]:
    plain = getattr(jnp, name)

    def index(a: Any, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Any:
        a = jnp.asarray(a)
        if not is_complex(a):
            return plain(a, axis=axis, keepdims=keepdims)
        signed = a if above else -a
        if skips_nan:
            signed = jnp.where(jnp.isnan(signed), -np.inf, signed)
        real = signed.real
        nan = jnp.isnan(signed)
        first = real == jnp.max(jnp.where(nan, -np.inf, real), axis=axis, keepdims=True)
        rest = jnp.where(first & ~nan, signed.imag, -np.inf)
        taken = first & (signed.imag == jnp.max(rest, axis=axis, keepdims=True))
        taken = jnp.where(jnp.any(nan, axis=axis, keepdims=True), nan, taken)
        return jnp.argmax(taken, axis=axis, keepdims=keepdims)

    return index


@entry("np.sum")
def total(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False, initial: Any = None,
    where: Any = None,
) -> Any:  # fmt: skip
    """A sum; of booleans it counts in 32 bits: of longer numbers XLA first makes an array, in ten times the time."""
    a = jnp.asarray(a)
    if a.dtype != np.bool_ or a.size >= 1 << 31 or np.dtype(dtype or np.int64).kind not in "if" or initial is not None:
        return jnp.sum(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
    count = jnp.sum(a, axis=axis, dtype=np.int32, keepdims=keepdims, where=where)
    return lax.convert_element_type(count, dtype or np.int64)


@entry("np.count_nonzero")
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Count what is not zero, in 32 bits as `total` does."""
    return total(jnp.asarray(a) != 0, axis, keepdims=keepdims)


@entry("np.ptp")
def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """Return the largest without the smallest."""
    if not is_complex(a):
        return jnp.ptp(a, axis=axis, keepdims=keepdims)
    largest, smallest = (
        _reduced(name, above)(a, axis, None, keepdims) for name, above in (("max", True), ("min", False))
    )
    return largest - smallest


for _above, _all, _place in ((True, "max", "argmax"), (False, "min", "argmin")):
    entry(f"np.{_all}")(_reduced(_all, _above))
    entry(f"np.{_place}")(_index(_place, _above, skips_nan=False))
    entry(f"np.nan{_place}")(_index(f"nan{_place}", _above, skips_nan=True))
