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
from bridge.rulebook.facts import NEUTRAL, Facts, facts_of
from bridge.signatures import operation_name
from bridge.xla.lowering.register import Lowering


def respelled(
    function: Any, lowering: Lowering, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """A call's arguments for the lowering, and the dtype to which its result is to be cast, if there is one.

    Arguments that are at their defaults are left out, the required ones are positional.
    """
    if lowering.raw:
        return args, kwargs, None
    signature = _signature(function)
    if signature is None:
        return tuple(map(operand, args)), kwargs, None
    given = signature.bind(*args, **kwargs).arguments
    facts = facts_of(function)
    _to_arrays(facts, signature, given)
    _promote(facts, given)
    if facts.reduces is not None and given.get("axis") in (0, -1, (0,), (-1,)) and not jnp.ndim(given["a"]):
        del given["axis"]  # NumPy lets a number be reduced along its axis 0.
    positional: list[Any] = []
    named: dict[str, Any] = {}
    cast = None
    taken, anything = _parameters(lowering.run)
    for key, parameter in signature.parameters.items():
        if key not in given or (parameter.default is not parameter.empty and _is(given[key], parameter.default)):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(given[key])
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= given[key]
        elif parameter.default is parameter.empty:
            positional.append(given[key])
        elif key in NEUTRAL and not (key in taken and (not lowering.foreign or given[key] == "F")):
            continue
        elif key == "dtype" and key not in taken and lowering.foreign:
            cast = given[key]
        elif lowering.foreign and key not in taken and not anything:
            raise NoRuleError(
                f"JAX's {operation_name(function)} has no {key}=",
                remedy=f'leave {key}= out, or use engine="native"',
            )
        else:
            named[key] = given[key]
    return tuple(positional), named, cast


def _to_arrays(facts: Facts, signature: inspect.Signature, given: dict[str, Any]) -> None:
    for key, x in given.items():
        several = key in facts.sequences or signature.parameters[key].kind is inspect.Parameter.VAR_POSITIONAL
        if several and isinstance(x, (list, tuple)):
            given[key] = type(x)(operand(part) for part in x)
        elif not facts.is_static(key) and key not in facts.nested:
            given[key] = operand(x)


def _promote(facts: Facts, given: dict[str, Any]) -> None:
    """Operands in the dtype that NumPy computes in; JAX promotes otherwise, and integers to single precision."""
    if facts.precision == "double":
        for key, x in given.items():
            kind = x.dtype.kind if hasattr(x, "dtype") and not facts.is_static(key) else ""
            if kind and kind in "fciub" and key != "fweights":
                given[key] = jnp.asarray(x, np.complex128 if kind == "c" else np.float64)
        return
    keys = facts.promotes or (() if facts.precision == "operands" else tuple(given)[:1])
    parts = [part for key in keys for part in _parts(given.get(key)) if facts.promotes or hasattr(part, "dtype")]
    if not parts or (facts.precision == "operands" and len(parts) == 1):
        return
    shared = np.result_type(*map(_dtype, parts))
    if facts.precision == "inexact" and shared.kind in "iub":
        shared = np.dtype(np.float64)
    elif facts.precision == "wide":
        if shared.kind not in "iub" or "dtype" in given:
            return
        shared = np.result_type(shared, np.uint64 if shared.kind == "u" else np.int64)
    for key in keys:
        x = given.get(key)
        if isinstance(x, (list, tuple)):
            given[key] = type(x)(jnp.asarray(part, shared) for part in x)
        elif x is not None and x is not np._NoValue:
            given[key] = jnp.asarray(x, shared)


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
        return jnp.asarray(_as_lists(x), common(*leaves))
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


def common(*operands: Any) -> np.dtype[Any]:
    """NumPy's dtype of several operands together; Python numbers are weak."""
    return np.result_type(*map(weak_for_result_type, operands))


def known(x: Any) -> np.ndarray | None:
    """The values of an array, if they are known while JAX traces; also those of one that is differentiated."""
    if not isinstance(x, jax.core.Tracer):
        return np.asarray(x)
    try:
        return np.asarray(jax.lax.stop_gradient(x))
    except jax.errors.TracerArrayConversionError:
        return None


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
