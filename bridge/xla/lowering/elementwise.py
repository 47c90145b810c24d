"""Casts as NumPy makes them, and ufuncs that are one operation of XLA.

jax.numpy traces each of its functions apart and puts the result in place, which costs several times what the
operation does: `direct` goes without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.xla.lowering.register import entry


def converted(x: Any, dtype: Any) -> Any:
    """Return an array of JAX in another dtype; of complex numbers that become real, the real part.

    XLA gives the nearest integer that there is, and 0 for NaN. NumPy casts as C does on x86-64: through 32 or 64 bits
    with a sign, of which the lower ones are kept; what these cannot hold, NaN too, becomes the least of them.
    """
    wanted = np.dtype(dtype)
    if x.dtype.kind == "c" and wanted.kind not in "cb":
        x = jnp.real(x)
    if x.dtype.kind != "f" or wanted.kind not in "iu":
        return lax.convert_element_type(x, wanted)
    if wanted == np.uint64:
        # The upper half is that of the signed integers, moved up.
        moved = _in_signed(jnp.where(x >= _UPPER, x - jnp.asarray(_UPPER, x.dtype), x), np.int64).astype(wanted)
        return jnp.where(x >= _UPPER, moved ^ np.uint64(1 << 63), moved)
    through = np.int64 if wanted in (np.int64, np.uint32) else np.int32
    return lax.convert_element_type(_in_signed(x, through), wanted)


_UPPER = 2.0**63


def _in_signed(x: Any, dtype: Any) -> Any:
    least = np.iinfo(dtype).min
    return jnp.where(x < -float(least), lax.convert_element_type(x, dtype), np.array(least, dtype))


@entry("bridge.rules.python_numbers._number")
def number(x: Any) -> Any:
    """Return a number in the width of Python's numbers."""
    return jnp.asarray(x).astype(complex if jnp.iscomplexobj(x) else float)


_REAL, _NUMBERS, _FLOATS, _BOOL, _ANY = "fiu", "fciu", "f", "b", "fciub"

_DIRECT: dict[Any, tuple[Callable[..., Any], str]] = {
    np.add: (lax.add, _NUMBERS),
    np.subtract: (lax.sub, _NUMBERS),
    np.multiply: (lax.mul, _NUMBERS),
    np.divide: (lax.div, _FLOATS),
    np.negative: (lax.neg, _NUMBERS),
    np.square: (lax.square, _REAL),
    np.sqrt: (lax.sqrt, _FLOATS),
    np.exp: (lax.exp, _FLOATS),
    np.log: (lax.log, _FLOATS),
    np.sin: (lax.sin, _FLOATS),
    np.cos: (lax.cos, _FLOATS),
    np.tanh: (lax.tanh, _FLOATS),
    np.maximum: (lax.max, _REAL),
    np.minimum: (lax.min, _REAL),
    np.less: (lax.lt, _REAL),
    np.less_equal: (lax.le, _REAL),
    np.greater: (lax.gt, _REAL),
    np.greater_equal: (lax.ge, _REAL),
    np.equal: (lax.eq, _ANY),
    np.not_equal: (lax.ne, _ANY),
    np.logical_and: (lax.bitwise_and, _BOOL),
    np.logical_or: (lax.bitwise_or, _BOOL),
    np.logical_not: (lax.bitwise_not, _BOOL),
}


def direct(ufunc: np.ufunc, operands: Sequence[Any]) -> Any:
    """Compute a ufunc of arrays of one dtype, broadcast; None if it is not known to be one operation for them."""
    found = _DIRECT.get(ufunc)
    if found is None or not any(isinstance(x, jax.Array) for x in operands):
        return None
    run, kinds = found
    dtype = operands[0].dtype
    if dtype.kind not in kinds or any(x.dtype != dtype or getattr(x, "weak_type", False) for x in operands):
        return None
    shape = operands[0].shape if len(operands) == 1 else np.broadcast_shapes(*(x.shape for x in operands))
    return run(*(spread(x, shape) for x in operands))


def spread(x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast an array to a shape; return itself if it has that shape."""
    if x.shape == shape:
        return x
    if not x.shape and not isinstance(x, jax.Array):
        return lax.full(shape, x, x.dtype)
    return lax.broadcast_in_dim(x, shape, range(len(shape) - x.ndim, len(shape)))
