"""Arguments of SciPy's functions, as their stand-ins take them: arrays of floats, checked as SciPy checks them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.extend import as_array, known, refuse


def inexact(x: Any) -> Any:
    """An argument as an array of floats or complex numbers; integers become float64, as in SciPy."""
    x = as_array(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def checked(x: Any, check_finite: bool = True) -> Any:
    """`inexact`, and SciPy's ValueError where a number is not finite and `check_finite` asks for that."""
    x = inexact(x)
    values = known(x) if check_finite else None
    if values is not None and not np.isfinite(values).all():
        raise ValueError("array must not contain infs or NaNs")
    return x


def square(a: Any, check_finite: bool = True) -> Any:
    """`checked`, of one square matrix or several."""
    a = checked(a, check_finite)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"expected a square matrix, or a batch of them, and got an array of shape {a.shape}")
    return a


def must_be_matrices(*arrays: Any) -> None:
    """Raise ValueError for an array with fewer than two axes, which SciPy would take for a matrix."""
    for x in arrays:
        if x.ndim < 2:
            raise ValueError(f"expected a matrix, or a batch of them, and got an array of shape {x.shape}")


def same_type(*arrays: Any) -> tuple[Any, ...]:
    """Arrays in their common dtype."""
    kind = np.result_type(*(x.dtype for x in arrays))
    return tuple(x if x.dtype == kind else x.astype(kind) for x in arrays)


def must_be_known(x: Any, function: str, why: str) -> Any:
    """The plain value of an argument; RefusedError in a program that is compiled, where it is not known."""
    value = known(x)
    if value is None:
        refuse(f"{function}: {why}, which are not known while the program is compiled", "use engine='native' for it")
    return value


def over_batch(core: Callable[..., Any], arrays: tuple[Any, ...], dims: tuple[int, ...]) -> Any:
    """`core` of each of the arrays in a batch, whose leading axes are broadcast; `dims` counts the axes that it takes.

    What `core` returns, one array or a tuple of them, is stacked.
    """
    batches = [x.shape[: x.ndim - d] for x, d in zip(arrays, dims, strict=True)]
    batch = np.broadcast_shapes(*batches)
    if not batch:
        return core(*arrays)
    flat = [
        np.reshape(np.broadcast_to(x, batch + x.shape[x.ndim - d :]), (math.prod(batch), *x.shape[x.ndim - d :]))
        for x, d in zip(arrays, dims, strict=True)
    ]
    found = [core(*(x[k] for x in flat)) for k in range(math.prod(batch))]

    def stacked(parts: Any) -> Any:
        joined = np.stack(parts)
        return np.reshape(joined, batch + joined.shape[1:])

    return tuple(map(stacked, zip(*found, strict=True))) if isinstance(found[0], tuple) else stacked(found)
