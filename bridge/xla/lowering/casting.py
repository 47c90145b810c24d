"""Numbers in another dtype, as NumPy casts them: also floats that an integer cannot hold."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax


def converted(x: Any, dtype: Any) -> Any:
    """An array of JAX in another dtype; of complex numbers that become real, the real part.

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
