"""Reductions that are more than JAX's: extremes of complex numbers in NumPy's order, and counts in no memory.

Complex numbers are ordered by real part, then by imaginary part; a NaN in either comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.xla.lowering.comparing import chosen, is_complex
from bridge.xla.lowering.register import entry


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
