"""Functions that take what compiled code takes: arrays of NumPy, of one dtype, contiguous, and writable.

They stand for kernels of ctypes, cffi, Cython and Numba, none of which knows a Buffer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

KERNEL: dict[str, Any] = {"orders": 1, "dtypes": (np.float64,), "layouts": "C", "empty": False}
"""What a rule over one of them declares."""


def strict(*arrays: Any) -> None:
    """Refuse whatever a compiled signature refuses."""
    for x in arrays:
        if type(x) is not np.ndarray:
            raise TypeError("argument must be an ndarray")
        if x.dtype != np.float64:
            raise TypeError(f"array must have data type float64, not {x.dtype}")
        if not x.flags.c_contiguous:
            raise TypeError("array must have flags ['C_CONTIGUOUS']")
        if not x.flags.writeable:
            raise ValueError("buffer source array is read-only")
        if not x.size:
            raise ValueError("array is empty")


def square(x: Any) -> Any:
    """Elements squared, in memory of its own."""
    strict(x)
    return np.multiply(x, x, out=np.empty_like(x))


def square_adjoint(ct: Any, x: Any) -> Any:
    """The adjoint of `square`."""
    strict(ct, x)
    return np.multiply(2 * x, ct, out=np.empty_like(x))


def scale(a: Any, factor: float) -> None:
    """Elements scaled, in place."""
    strict(a)
    a *= factor


def scale_adjoint(ct: Any, factor: float) -> Any:
    """The adjoint of `scale`."""
    strict(ct)
    return np.multiply(ct, factor, out=np.empty_like(ct))
