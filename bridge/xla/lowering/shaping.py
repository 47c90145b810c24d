"""Arrays made, reshaped, padded, joined and split, where jax.numpy's spelling or result is not NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.errors import NoRuleError
from bridge.xla.lowering.calls import common, operand, weak_dtype
from bridge.xla.lowering.elementwise import converted
from bridge.xla.lowering.register import entry


@entry("np.reshape")
def reshape(a: Any, shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    """Reshape in an order that does not depend on how memory lies."""
    return jnp.reshape(a, shape, _fixed(order, "np.reshape"))


@entry("np.ravel")
def ravel(a: Any, order: str = "C") -> Any:
    """Flatten in an order that does not depend on how memory lies."""
    return jnp.ravel(a, _fixed(order, "np.ravel"))


def _fixed(order: str, name: str) -> str:
    if order in ("K", "A"):
        raise NoRuleError(f"{name} with order={order!r}", remedy='give order="C" or "F"')
    return order


@entry("np.copy")
def copy(a: Any) -> Any:
    """Return the array itself: arrays of JAX are never written."""
    return jnp.asarray(a)


@entry("np.astype")
def astype(x: Any, dtype: Any) -> Any:
    """Cast; complex numbers that become real lose their imaginary part."""
    return converted(jnp.asarray(x), dtype)


@entry("np.broadcast_arrays")
def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """Broadcast arrays against each other, in a tuple."""
    return tuple(jnp.broadcast_arrays(*map(jnp.asarray, map(operand, args))))


@entry("np.meshgrid")
def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy", copy: bool = True) -> Any:
    """Return coordinate matrices, also of numbers, in NumPy's container."""
    found = jnp.meshgrid(*(jnp.ravel(operand(x)) for x in xi), sparse=sparse, indexing=indexing)
    return list(found) if sparse and not copy else tuple(found)


def _at_least(function: Callable[..., Any]) -> Callable[..., Any]:
    def each(*arys: Any) -> Any:
        parts = tuple(function(operand(x)) for x in arys)
        return parts[0] if len(parts) == 1 else parts

    return each


for _n in (1, 2, 3):
    entry(f"np.atleast_{_n}d")(_at_least(getattr(jnp, f"atleast_{_n}d")))


@entry("np.unstack")
def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """Split along an axis, in a tuple."""
    return tuple(jnp.unstack(jnp.asarray(x), axis=axis))


@entry("np.block")
def block(arrays: Any) -> Any:
    """Join nested lists of arrays in one dtype."""

    def leaves(x: Any) -> list[Any]:
        return [leaf for part in x for leaf in leaves(part)] if isinstance(x, list) else [x]

    kind = np.result_type(*(np.dtype(weak_dtype(x)) for x in leaves(arrays)))

    def converted(x: Any) -> Any:
        return [converted(part) for part in x] if isinstance(x, list) else jnp.asarray(x, kind)

    return jnp.block(converted(arrays))


@entry("np.pad")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """Pad by widths that are pairs, numbers, or named by axis."""
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(k, pad_width.get(k - array.ndim, 0)) for k in range(array.ndim)]
        pad_width = [(w, w) if np.ndim(w) == 0 else tuple(w) for w in pad_width]
    widths = _tuples(np.asarray(pad_width).astype(int).tolist())
    return jnp.pad(jnp.asarray(array), widths, mode, **{key: _tuples(operand(x)) for key, x in kwargs.items()})


def _tuples(x: Any) -> Any:
    """Return nested sequences as tuples, which JAX can use as keys."""
    x = x.tolist() if isinstance(x, np.ndarray) else x
    return tuple(map(_tuples, x)) if isinstance(x, (list, tuple)) else x


@entry("np.linspace")
def linspace(start: Any, stop: Any, num: int = 50, **options: Any) -> Any:
    """Return evenly spaced numbers in the common dtype of the ends, of which Python numbers are weak."""
    start, stop = _ends(start, stop)
    return jnp.linspace(start, stop, num, **options)


@entry("np.logspace")
def logspace(start: Any, stop: Any, num: int = 50, base: Any = 10.0, **options: Any) -> Any:
    """Return numbers with evenly spaced logarithms; the base counts in the dtype."""
    start, stop, base = _ends(start, stop, base)
    return jnp.logspace(start, stop, num, base=base, **options)


def _ends(*numbers: Any) -> Any:
    kind = common(*numbers)
    return [jnp.asarray(x, kind if kind.kind in "fc" else np.float64) for x in numbers]


@entry("np.tril")
def tril(m: Any, k: int = 0) -> Any:
    """Return the lower triangle; a vector represents a matrix whose rows are equal, as in NumPy."""
    return jnp.tril(m if m.ndim > 1 else jnp.broadcast_to(m, m.shape * 2), k)


@entry("np.triu")
def triu(m: Any, k: int = 0) -> Any:
    """Return the upper triangle; a vector represents a matrix whose rows are equal, as in NumPy."""
    return jnp.triu(m if m.ndim > 1 else jnp.broadcast_to(m, m.shape * 2), k)
