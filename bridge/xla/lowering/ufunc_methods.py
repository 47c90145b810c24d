"""`reduce`, `accumulate`, `reduceat` and `outer` of ufuncs; those that are functions of their own by these."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.errors import RefusedError
from bridge.rewind.facts import METHODS
from bridge.signatures import operation_name
from bridge.xla.lowering.calls import known, operand
from bridge.xla.lowering.lower import cast_to, lower
from bridge.xla.lowering.register import UFUNC_METHODS


def _folding(ufunc: np.ufunc, dtype: Any) -> Any:
    """The ufunc as one of JAX's, whose every step has NumPy's dtypes."""
    identity = ufunc.identity
    return jnp.frompyfunc(
        lambda *pair: cast_to(lower(ufunc, pair), dtype), nin=ufunc.nin, nout=1,
        identity=identity if isinstance(identity, (bool, int, float)) else None,
    )  # fmt: skip


def _fold(method: str, ufunc: np.ufunc, array: Any, *args: Any, **kwargs: Any) -> Any:
    array = jnp.asarray(array)
    names = ("indices", "axis", "dtype") if method == "reduceat" else ("axis", "dtype")
    options = dict(zip(names, args, strict=False)) | kwargs
    options.pop("out", None)
    options.setdefault("axis", 0)
    function = METHODS.get((ufunc, method))
    if function is not None:
        return lower(function, (array,), options)
    mask, initial = options.pop("where", True), options.pop("initial", None)
    dtype = options.pop("dtype", None) or ufunc.resolve_dtypes((array.dtype, array.dtype, None))[-1]
    folding = _folding(ufunc, dtype)
    if method == "accumulate":
        steps = options["axis"]
        rows = jnp.moveaxis(array, steps, 0)
        done = [cast_to(rows[0], dtype)] if len(rows) else []
        for k in range(1, len(rows)):
            done.append(folding(done[-1], rows[k]))
        return jnp.moveaxis(jnp.stack(done), 0, steps) if done else cast_to(array, dtype)
    if method == "reduceat":
        return _segments(ufunc, cast_to(array, dtype), **options)
    if mask is not True:
        options["where"] = mask
    if initial is not None:
        options["initial"] = initial
    return getattr(folding, method)(cast_to(array, dtype), **options)


def _segments(ufunc: np.ufunc, array: Any, indices: Any, axis: int) -> Any:
    starts = known(operand(indices))
    if starts is None:
        raise RefusedError(
            f"the segments of {operation_name(ufunc)}.reduceat depend on values that are not known when it is compiled",
            remedy="give their starts as plain integers",
        )
    ends = [*starts[1:].tolist(), array.shape[axis]]
    segments = [
        jnp.take(array, np.arange(start, max(end, start + 1)), axis) for start, end in zip(starts, ends, strict=True)
    ]
    return jnp.stack([lower(ufunc.reduce, (x,), {"axis": axis}) for x in segments], axis)


def _outer(ufunc: np.ufunc, a: Any, b: Any, **kwargs: Any) -> Any:
    a, b = operand(a), operand(b)
    lifted = jnp.reshape(a, jnp.shape(a) + (1,) * jnp.ndim(b)) if jnp.ndim(b) and jnp.ndim(a) else a
    return lower(ufunc, (lifted, b), kwargs)


for _method in ("reduce", "accumulate", "reduceat"):
    UFUNC_METHODS[_method] = partial(_fold, _method)
UFUNC_METHODS["outer"] = _outer
