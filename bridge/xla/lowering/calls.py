"""A NumPy call as jax.numpy takes it: operands in NumPy's common dtype, without defaults and neutral keywords."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.errors import NoRuleError

# Keywords that change neither value nor shape: by which algorithm, into which memory.
NEUTRAL = frozenset({"out", "subok", "casting", "copy", "kind", "stable", "like", "device", "optimize", "order"})

# Parameters that stay as they are given, also if they are lists: everything that decides shapes or kinds.
STATIC = frozenset({
    "axis", "axes", "axisa", "axisb", "axisc", "axis1", "axis2", "shape", "newshape", "new_shape", "reps", "pad_width",
    "shift", "ord", "n", "s", "k", "num", "deg", "source", "destination", "subscripts", "indices_or_sections",
    "dtype", "mode", "norm", "func1d", "func", "funclist", "decimals", "start_axis", "tup", "arrays", "xi",
    "choices", "choicelist", "condlist", "args", "kwargs", "arys", "ndmin", "N", "dims", "discont", "varargs",
    "operands", "trim", "edge_order", "stat_length", "reflect_type", "keepdims", "kth",
})  # fmt: skip

# Their entries take the arguments as they are.
RAW = frozenset({"np.block", "np.einsum"})

# NumPy lets a number be reduced along its axis 0.
REDUCTIONS = frozenset({"np.sum", "np.prod", "np.max", "np.min", "np.amax", "np.amin", "np.any", "np.all"})

# Parameters that hold a sequence of arrays.
SEQUENCES = frozenset({"tup", "arrays", "choices", "choicelist", "condlist", "arys", "xi", "operands", "args"})

# The arrays of these have one common dtype before anything is computed.
PROMOTED = {
    "np.append": ("arr", "values"), "np.column_stack": ("tup",),
    "np.concatenate": ("arrays",), "np.convolve": ("a", "v"), "np.correlate": ("a", "v"), "np.cross": ("a", "b"),
    "np.dot": ("a", "b"), "np.dstack": ("tup",), "np.hstack": ("tup",),
    "np.inner": ("a", "b"), "np.kron": ("a", "b"), "np.linalg.cross": ("x1", "x2"),
    "np.linalg.matmul": ("x1", "x2"), "np.linalg.multi_dot": ("arrays",), "np.linalg.outer": ("x1", "x2"),
    "np.linalg.solve": ("a", "b"), "np.linalg.tensordot": ("x1", "x2"), "np.linalg.tensorsolve": ("a", "b"),
    "np.linalg.vecdot": ("x1", "x2"), "np.linalg.lstsq": ("a", "b"), "np.outer": ("a", "b"),
    "np.polyadd": ("a1", "a2"), "np.polymul": ("a1", "a2"), "np.polysub": ("a1", "a2"), "np.polyval": ("p", "x"),
    "np.stack": ("arrays",), "np.tensordot": ("a", "b"), "np.trapezoid": ("y", "x"), "np.union1d": ("ar1", "ar2"),
    "np.vdot": ("a", "b"), "np.vstack": ("tup",), "np.average": ("a", "weights"),
    "np.isin": ("element", "test_elements"),
    "np.array_equal": ("a1", "a2"), "np.array_equiv": ("a1", "a2"), "np.isclose": ("a", "b"), "np.allclose": ("a", "b"),
    "np.searchsorted": ("a", "v"), "np.linspace": ("start", "stop"), "np.geomspace": ("start", "stop"),
    "np.logspace": ("start", "stop", "base"), "np.diff": ("a", "prepend", "append"),
}  # fmt: skip

# Integers become float64 first; JAX would make them float32 or keep them.
_INEXACT_FAMILIES = {
    "np.": "angle average corrcoef cov geomspace gradient histogram i0 interp linspace logspace mean median nanmean "
    "nanmedian nanpercentile nanquantile nanstd nanvar percentile polyfit quantile roots sinc std trapezoid unwrap var",
    "np.linalg.": "cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_norm norm pinv qr slogdet solve svd "
    "svdvals tensorinv tensorsolve vector_norm",
    "np.fft.": "fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfft2 irfftn rfft rfft2 rfftn",
}
INEXACT = frozenset(prefix + name for prefix, names in _INEXACT_FAMILIES.items() for name in names.split())

# Narrow integers are summed and multiplied in 64 bits; JAX does so for reductions alone.
ACCUMULATING = frozenset(
    {"np.cumsum", "np.cumprod", "np.cumulative_sum", "np.cumulative_prod", "np.nancumsum", "np.nancumprod"}
)

# Computed in double precision whatever the operands are.
DOUBLE = frozenset({"np.corrcoef", "np.cov", "np.geomspace", "np.interp", "np.polyfit"})

# NumPy computes these with integers of 64 bits as the other operand: single precision becomes double.
WITH_INTEGERS = frozenset({"np.polyder", "np.polyint", "np.vander"})

# Python numbers are weak in these too, and no arrays as elsewhere.
WEAK = frozenset({"np.linspace", "np.logspace"})

# Methods that choose one of the values, and do not compute between two.
CHOOSING = frozenset({"inverted_cdf", "closest_observation", "lower", "higher", "nearest"})

# Their quantiles are in the common dtype of array and `q`, of which a Python number is weak.
QUANTILES = frozenset({"np.quantile", "np.percentile", "np.nanquantile", "np.nanpercentile"})


def respelled(
    function: Any, name: str, target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], renames: bool
) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """A call's arguments for `target`, and the dtype to which its result is to be cast, if there is one.

    Arguments that are at their defaults are left out, the required ones are positional. `renames` says that the
    target is JAX's own, which may lack keywords.
    """
    signature = _signature(function)
    if signature is None:
        return tuple(map(operand, args)), kwargs, None
    given = signature.bind(*args, **kwargs).arguments
    if name not in RAW:
        _to_arrays(given)
        _promote(name, given)
    if name in REDUCTIONS and given.get("axis") in (0, -1, (0,), (-1,)) and not jnp.ndim(given["a"]):
        del given["axis"]
    positional: list[Any] = []
    named: dict[str, Any] = {}
    cast = None
    taken, anything = _parameters(target)
    for key, parameter in signature.parameters.items():
        if key not in given or (parameter.default is not parameter.empty and _is(given[key], parameter.default)):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(given[key])
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= given[key]
        elif parameter.default is parameter.empty:
            positional.append(given[key])
        elif key == "order" and name in ("np.ravel", "np.reshape") and given[key] in ("K", "A"):
            raise NoRuleError(f"{name} with order={given[key]!r}", remedy='give order="C" or "F"')
        elif key in NEUTRAL and not (key in taken and (not renames or given[key] == "F")):
            continue
        elif key == "dtype" and key not in taken and renames:
            cast = given[key]
        elif renames and key not in taken and not anything:
            raise NoRuleError(f"JAX's {name} has no {key}=", remedy=f'leave {key}= out, or use engine="native"')
        else:
            named[key] = given[key]
    return tuple(positional), named, cast


def _to_arrays(given: dict[str, Any]) -> None:
    for key, x in given.items():
        if key in SEQUENCES and isinstance(x, (list, tuple)):
            given[key] = type(x)(operand(part) for part in x)
        elif key not in STATIC:
            given[key] = operand(x)


def _promote(name: str, given: dict[str, Any]) -> None:
    """Operands in NumPy's common dtype."""
    keys = PROMOTED.get(name, ())
    operands = [part for key in keys if key in given for part in _parts(given[key])]
    kind_of = weak_for_result_type if name in WEAK else _dtype
    common = np.result_type(*map(kind_of, operands)) if len(operands) > 1 else None
    if name in WITH_INTEGERS and given.get("m", 1) != 0:
        keys = tuple(given)[:1]
        common = np.result_type(_dtype(given[keys[0]]), np.int64)
    elif name in ACCUMULATING and "dtype" not in given:
        keys = tuple(given)[:1]
        kind = _dtype(given[keys[0]])
        common = np.result_type(kind, np.uint64 if kind.kind == "u" else np.int64) if kind.kind in "iub" else None
    elif name in QUANTILES:
        keys = ("a",)
        common = np.dtype(weak_dtype(given["a"]))
        if given.get("method") not in CHOOSING:
            common = np.result_type(common, weak_for_result_type(given["q"]))
    if name in INEXACT:
        if common is None and not keys:
            keys = tuple(given)[:1]
            operands = [part for part in _parts(given[keys[0]]) if hasattr(part, "dtype")] if keys else []
        if common is None and operands:
            common = np.result_type(*map(_dtype, operands))
        if common is not None and common.kind in "iub":
            common = np.dtype(np.float64)
    if name in DOUBLE:
        for key, x in given.items():
            if key != "fweights" and hasattr(x, "dtype") and x.dtype.kind in "fiub":
                given[key] = jnp.asarray(x, np.float64)
            elif hasattr(x, "dtype") and x.dtype.kind == "c":
                given[key] = jnp.asarray(x, np.complex128)
        return
    if common is None:
        return
    for key in keys:
        x = given.get(key)
        if isinstance(x, (list, tuple)):
            given[key] = type(x)(jnp.asarray(part, common) for part in x)
        elif x is not None and x is not np._NoValue:
            given[key] = jnp.asarray(x, common)


def _dtype(x: Any) -> np.dtype[Any]:
    """The dtype of an operand that NumPy makes an array of."""
    found = weak_dtype(x)
    return np.dtype(found)


def _parts(x: Any) -> list[Any]:
    if x is None or x is np._NoValue or isinstance(x, str):
        return []
    return [part for part in x if not isinstance(part, str)] if isinstance(x, (list, tuple)) else [x]


def operand(x: Any) -> Any:
    """An operand as an array or a number: lists are arrays."""
    if not isinstance(x, (list, tuple)):
        return x
    leaves = _flat(x)
    if not all(isinstance(leaf, (bool, int, float, complex, np.generic, np.ndarray, jax.Array)) for leaf in leaves):
        return x
    if any(isinstance(leaf, jax.Array) for leaf in leaves):
        common = np.result_type(*map(weak_for_result_type, leaves))
        return jnp.asarray(_as_lists(x), common)
    return np.asarray(x)


def _flat(x: Any) -> list[Any]:
    return [leaf for part in x for leaf in _flat(part)] if isinstance(x, (list, tuple)) else [x]


def _as_lists(x: Any) -> Any:
    return [_as_lists(part) for part in x] if isinstance(x, (list, tuple)) else x


def weak_dtype(x: Any) -> Any:
    """The dtype of an operand, or the Python type of a weak one."""
    kind = type(x)
    if kind in (int, float, complex):
        return kind
    if kind is bool:
        return np.dtype(bool)
    if getattr(x, "weak_type", False) and not x.ndim:
        return {"i": int, "f": float, "c": complex}.get(x.dtype.kind, x.dtype)
    return np.asarray(x).dtype if not hasattr(x, "dtype") else np.dtype(x.dtype)


def weak_for_result_type(x: Any) -> Any:
    """The same for `np.result_type`, which takes numbers for Python types."""
    found = weak_dtype(x)
    return found(0) if isinstance(found, type) else found


def strong(x: Any) -> Any:
    """An array whose dtype counts in every promotion."""
    return jax.lax.convert_element_type(x, x.dtype) if getattr(x, "weak_type", False) else x


def _is(value: Any, default: Any) -> bool:
    if value is default or value is np._NoValue:
        return True
    return type(value) is type(default) and isinstance(value, (bool, int, float, str)) and value == default


@cache
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


@cache
def _parameters(target: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """Names of the parameters of JAX's function, and whether it takes any keyword."""
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return frozenset(), True
    names = frozenset(p.name for p in parameters if p.kind is not p.VAR_KEYWORD)
    return names, any(p.kind is p.VAR_KEYWORD for p in parameters)
