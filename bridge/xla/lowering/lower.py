"""NumPy functions computed by JAX: the same values in the same dtypes, also of tracers (`jit`, `vmap`, `grad`).

Most functions are jax.numpy's of the same name. What differs between the two is stated once: ufuncs take their dtypes
from `ufunc.resolve_dtypes`, other calls are spelled as jax.numpy has them (`calls`), and the functions that
mean something else there have entries in `shaping`, `linalg` and `special`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from typing import Any, cast

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
from jax.scipy import special as jax_special

from bridge.calls import operation_name
from bridge.errors import BridgeError, NoRuleError, RefusedError
from bridge.xla.lowering import arithmetic, selecting, shaping
from bridge.xla.lowering.calls import operand, respelled, strong, weak_dtype
from bridge.xla.lowering.fft import FOURIER
from bridge.xla.lowering.gamma_quantiles import GAMMA
from bridge.xla.lowering.linalg import LINALG
from bridge.xla.lowering.quantiles import QUANTILES
from bridge.xla.lowering.random import RANDOM
from bridge.xla.lowering.register import TABLE, known
from bridge.xla.lowering.special import SPECIAL

__all__ = ["has", "lower", "x64"]

_FAMILIES = (arithmetic, selecting, shaping)
ENTRIES: dict[str, Callable[..., Any]] = {
    **TABLE, **LINALG, **FOURIER, **GAMMA, **QUANTILES, **RANDOM, **SPECIAL
}  # fmt: skip

# Text, addresses in memory, and questions about dtypes: nothing that is computed.
NEVER = frozenset({
    "np.array2string", "np.array_repr", "np.array_str", "np.can_cast", "np.common_type", "np.einsum_path", "np.isnat",
    "np.may_share_memory", "np.min_scalar_type", "np.result_type", "np.shares_memory", "np.load", "np.save",
    "np.savez", "np.savez_compressed", "np.iscomplexobj", "np.isrealobj", "np.asarray", "np.array",
})  # fmt: skip

_SHAPES_OF_VALUES = (
    "NonConcreteBooleanIndexError", "ConcretizationTypeError", "TracerArrayConversionError",
    "TracerIntegerConversionError", "TracerBoolConversionError",
)  # fmt: skip
_NOT_CONCRETE = tuple(getattr(jax.errors, name) for name in _SHAPES_OF_VALUES)


_SWITCH: Any = getattr(jax, "enable_x64", None)
if not callable(_SWITCH):
    _SWITCH = jax.experimental.enable_x64  # type: ignore[attr-defined]  # before JAX 0.8

_AS_IT_IS: AbstractContextManager[None] = nullcontext()


def x64() -> AbstractContextManager[Any]:
    """Inside, JAX keeps 64 bits; in this thread only, and without a change of the user's configuration."""
    config: Any = jax.config
    if config.jax_enable_x64:  # to switch it anew would make each call slower
        return _AS_IT_IS
    return cast(AbstractContextManager[Any], _SWITCH(True))


def has(function: Any) -> bool:
    """Whether there is a lowering of `function`; single calls of it may still be refused by name."""
    method = _method_of(function)
    if method is not None:
        return method[1] in _METHODS and has(method[0])
    return _counterpart(function) is not None


def lower(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, like: Any = None) -> Any:
    """What the NumPy `function` returns for these arguments, computed with JAX; call it inside of `x64()`.

    Parameters
    ----------
    function : a function of NumPy's, a ufunc (of scipy.special too), or a bound method of a ufunc (`np.add.reduce`).
    args, kwargs : JAX arrays or tracers, NumPy arrays, numbers, lists and tuples of these, and what is static (axes,
        shapes, dtypes, strings). Python numbers, and weakly typed tracers without axes, are weak as in NumPy.
    like : something of the shapes and dtypes that NumPy returns, if that is known; its contents mean nothing.

    Raises
    ------
    NoRuleError : JAX has no such function, or not with these arguments.
    RefusedError : the shape or dtype of the result depends on values that are not known while JAX traces.
    """
    name = operation_name(function) if _method_of(function) is None else _name_of_method(function)
    if not has(function):
        raise NoRuleError(
            f"JAX has no counterpart of {name}",
            remedy='use engine="native", or write the operation with functions that jax.numpy has',
        )
    kwargs = {key: x for key, x in (kwargs or {}).items() if x is not np._NoValue}
    try:
        with jax.default_matmul_precision("highest"):
            result = _run(function, args, kwargs)
    except BridgeError:
        raise
    except _NOT_CONCRETE as error:
        raise RefusedError(
            f"the result of {name} depends in its shape or kind on values that are not known when XLA compiles it",
            remedy="select with np.where or multiply by a mask instead, or give sizes and indices as plain integers",
        ) from error
    except (TypeError, NotImplementedError, ValueError, AttributeError) as error:
        first = str(error).partition("\n")[0]
        raise NoRuleError(
            f"JAX cannot compute {name} as it is called here: {first}",
            remedy='use engine="native", or other functions and keywords',
        ) from error
    return _finished(result, like)


def _run(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    method = _method_of(function)
    if method is not None:
        return _METHODS[method[1]](method[0], *args, **kwargs)
    target = _counterpart(function)
    assert target is not None
    if isinstance(function, np.ufunc):
        return _ufunc(function, target, args, kwargs)
    name = operation_name(function)
    args, kwargs, cast = respelled(function, name, target, args, kwargs, renames=name not in ENTRIES)
    result = target(*args, **kwargs)
    return result if cast is None else _cast(result, cast)


def _ufunc(ufunc: np.ufunc, target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc on operands of the dtypes that NumPy's loop has; under a mask, zero where the mask leaves out."""
    mask = kwargs.pop("where", True)
    wished = kwargs.pop("dtype", None)
    for neutral in ("casting", "order", "subok", "out"):
        kwargs.pop(neutral, None)
    operands = [operand(x) for x in args]
    outputs = (None,) * ufunc.nout
    chosen: dict[str, Any] = (
        {} if wished is None else {"signature": (None,) * ufunc.nin + (np.dtype(wished),) * ufunc.nout}
    )
    dtypes = ufunc.resolve_dtypes((*map(weak_dtype, operands), *outputs), casting="unsafe", **chosen)
    if getattr(target, "keeps_integers", False) and type(operands[-1]) is int:
        inputs = [*(_cast(x, d) for x, d in zip(operands[:-1], dtypes, strict=False)), operands[-1]]
    else:
        inputs = [_cast(x, d) for x, d in zip(operands, dtypes, strict=False)]
    result = target(*inputs, **kwargs)
    results = result if isinstance(result, tuple) else (result,)
    results = tuple(_cast(x, d) for x, d in zip(results, dtypes[ufunc.nin :], strict=True))
    if mask is not True:
        results = tuple(jnp.where(mask, x, jnp.zeros((), x.dtype)) for x in results)
    return results if ufunc.nout > 1 else results[0]


def _cast(x: Any, dtype: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return type(x)(_cast(part, dtype) for part in x)
    x = jnp.asarray(x)
    if x.dtype == dtype:
        return strong(x)
    if x.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":
        x = jnp.real(x)
    return jax.lax.convert_element_type(x, dtype)


def _finished(result: Any, like: Any) -> Any:
    """Arrays of a definite dtype, that of NumPy's result where it is known, in NumPy's containers."""
    if isinstance(result, (tuple, list)):
        likes = like if isinstance(like, (tuple, list)) else [None] * len(result)
        parts = [_finished(x, one) for x, one in zip(result, likes, strict=True)]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if isinstance(result, (bool, int, float, complex, str)) or result is None:
        return result
    return strong(jnp.asarray(result)) if like is None else _cast(result, np.result_type(like))


@cache
def _counterpart(function: Any) -> Callable[..., Any] | None:
    """The function that computes `function`: our entry for it, else JAX's of the same name."""
    name = operation_name(function)
    if name in NEVER:
        return None
    if name in ENTRIES:
        return ENTRIES[name]
    first, *path = name.split(".")
    if name.startswith("scipy.special."):
        found: Any = getattr(jax_special, path[-1].strip("_"), None)
    elif first == "np":
        found = jnp
        for part in path:
            found = getattr(found, part, None)
    else:
        return None
    return found if callable(found) and not isinstance(found, type) else None


def _method_of(function: Any) -> tuple[np.ufunc, str] | None:
    """The ufunc and the name of its method, for a bound method of a ufunc."""
    owner = getattr(function, "__self__", None)
    return (owner, function.__name__) if isinstance(owner, np.ufunc) else None


def _name_of_method(function: Any) -> str:
    return f"{operation_name(function.__self__)}.{function.__name__}"


def _folding(ufunc: np.ufunc, dtype: Any) -> Any:
    """The ufunc as one of JAX's, whose every step has NumPy's dtypes."""
    identity = ufunc.identity
    return jnp.frompyfunc(
        lambda *pair: _cast(lower(ufunc, pair), dtype), nin=ufunc.nin, nout=1,
        identity=identity if isinstance(identity, (bool, int, float)) else None,
    )  # fmt: skip


# Reductions that are functions of their own: JAX has these as one operation, with derivatives at ties.
_REDUCTIONS: dict[tuple[str, str], Any] = {
    ("add", "reduce"): np.sum, ("multiply", "reduce"): np.prod, ("maximum", "reduce"): np.max,
    ("minimum", "reduce"): np.min, ("logical_and", "reduce"): np.all, ("logical_or", "reduce"): np.any,
    ("add", "accumulate"): np.cumsum, ("multiply", "accumulate"): np.cumprod,
}  # fmt: skip


def _fold(method: str, ufunc: np.ufunc, array: Any, *args: Any, **kwargs: Any) -> Any:
    array = jnp.asarray(array)
    names = ("indices", "axis", "dtype") if method == "reduceat" else ("axis", "dtype")
    options = dict(zip(names, args, strict=False)) | kwargs
    options.pop("out", None)
    options.setdefault("axis", 0)
    function = _REDUCTIONS.get((ufunc.__name__, method))
    if function is not None:
        return lower(function, (array,), options)
    mask, initial = options.pop("where", True), options.pop("initial", None)
    dtype = options.pop("dtype", None) or ufunc.resolve_dtypes((array.dtype, array.dtype, None))[-1]
    folding = _folding(ufunc, dtype)
    if method == "accumulate":
        steps = options["axis"]
        rows = jnp.moveaxis(array, steps, 0)
        done = [_cast(rows[0], dtype)] if len(rows) else []
        for k in range(1, len(rows)):
            done.append(folding(done[-1], rows[k]))
        return jnp.moveaxis(jnp.stack(done), 0, steps) if done else _cast(array, dtype)
    if method == "reduceat":
        return _segments(ufunc, _cast(array, dtype), **options)
    if mask is not True:
        options["where"] = mask
    if initial is not None:
        options["initial"] = initial
    return getattr(folding, method)(_cast(array, dtype), **options)


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


_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": partial(_fold, "reduce"),
    "accumulate": partial(_fold, "accumulate"),
    "reduceat": partial(_fold, "reduceat"),
    "outer": _outer,
}
