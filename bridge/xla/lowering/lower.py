"""NumPy functions computed by JAX: the same values in the same dtypes, also of tracers (`jit`, `vmap`, `grad`).

Most functions are jax.numpy's of the same name. What differs between the two is stated once: ufuncs take their dtypes
from `ufunc.resolve_dtypes`, other calls are spelled as jax.numpy has them (`calls`), and the functions that
mean something else there have entries in their family's file.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NoReturn, cast

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np

from bridge.code_position import here, resolve
from bridge.engines.protocol import Engine, EngineRule
from bridge.errors import BridgeError, NoRuleError, RefusedError
from bridge.rewind.values import ground_floor, is_abstract
from bridge.rulebook.rule import Rule
from bridge.signatures import operation_name
from bridge.xla.lowering.calls import operand, respelled, strong, weak_dtype
from bridge.xla.lowering.elementwise import converted, direct
from bridge.xla.lowering.register import Lowering, called, lowering_of

_SHAPES_OF_VALUES = (
    "NonConcreteBooleanIndexError", "ConcretizationTypeError", "TracerArrayConversionError",
    "TracerIntegerConversionError", "TracerBoolConversionError",
)  # fmt: skip
_NOT_CONCRETE = tuple(getattr(jax.errors, name) for name in _SHAPES_OF_VALUES)


_SWITCH: Any = getattr(jax, "enable_x64", None)
if not callable(_SWITCH):
    _SWITCH = jax.experimental.enable_x64  # type: ignore[attr-defined]  # before JAX 0.8

_highest = partial(jax.default_matmul_precision, "highest")
_AS_IT_IS: AbstractContextManager[None] = nullcontext()


def x64() -> AbstractContextManager[Any]:
    """Inside, JAX keeps 64 bits; in this thread only, and without a change of the user's configuration."""
    if FORKED:
        refuse()
    config: Any = jax.config
    if config.jax_enable_x64:  # to switch it anew would make each call slower
        return _AS_IT_IS
    return cast(AbstractContextManager[Any], _SWITCH(True))


def has(function: Any) -> bool:
    """Whether there is a lowering of `function`; single calls of it may still be refused by name."""
    return lowering_of(function) is not None


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
    name, lowering = operation_name(function), lowering_of(function)
    if lowering is None:
        raise NoRuleError(
            f"JAX has no counterpart of {called(name)}",
            remedy='use engine="native", write the operation with functions that jax.numpy has, or say what it is '
            "in JAX with bridge.extend.lowering",
        )
    kwargs = {key: x for key, x in (kwargs or {}).items() if x is not np._NoValue}
    try:
        with _AS_IT_IS if isinstance(function, np.ufunc) and not function.signature else _highest():
            result = _run(function, lowering, args, kwargs)
    except BridgeError:
        raise
    except _NOT_CONCRETE as error:
        raise RefusedError(
            f"the result of {called(name)} depends in its shape or kind on values that are not known when XLA "
            "compiles it",
            remedy="select with np.where or multiply by a mask instead, or give sizes and indices as plain integers",
        ) from error
    except (TypeError, NotImplementedError, ValueError, AttributeError) as error:
        first = str(error).partition("\n")[0]
        raise NoRuleError(
            f"JAX cannot compute {called(name)} as it is called here: {first}",
            remedy='use engine="native", or other functions and keywords',
        ) from error
    return _finished(result, like)


def _run(function: Any, lowering: Lowering, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if isinstance(function, np.ufunc):
        return _ufunc(function, lowering, args, kwargs)
    args, kwargs, dtype = respelled(function, lowering, args, kwargs)
    result = lowering.run(*args, **kwargs)
    return result if dtype is None else cast_to(result, dtype)


def _ufunc(ufunc: np.ufunc, lowering: Lowering, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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
    if dtypes[-1] == np.bool_ and any(type(x) is int or _is_weak_integer(x) for x in operands):
        # Python's integers are compared as they are, also with arrays of narrower ones.
        operands, dtypes = _comparable(operands, dtypes)
    last = type(operands[-1])
    if lowering.keeps_integers and (last is int or (last is float and (dtypes[0].kind == "c" or operands[-1] == 0.5))):
        inputs = [*(cast_to(x, d) for x, d in zip(operands[:-1], dtypes, strict=False)), operands[-1]]
    else:
        inputs = [_input(x, d) for x, d in zip(operands, dtypes, strict=False)]
    result = direct(ufunc, inputs) if (lowering.foreign or lowering.direct) and not kwargs else None
    if result is None:
        result = lowering.run(*(jnp.asarray(x) if type(x) is np.ndarray else x for x in inputs), **kwargs)
    results = result if isinstance(result, tuple) else (result,)
    results = tuple(cast_to(x, d) for x, d in zip(results, dtypes[ufunc.nin :], strict=True))
    if mask is not True:
        results = tuple(jnp.where(mask, x, jnp.zeros((), x.dtype)) for x in results)
    return results if ufunc.nout > 1 else results[0]


def _is_weak_integer(x: Any) -> bool:
    return getattr(x, "weak_type", False) and x.dtype.kind == "i"


def _comparable(operands: list[Any], dtypes: Any) -> tuple[list[Any], Any]:
    """Operands among which there are Python's integers, in a dtype that holds all; one that none holds as infinite."""
    if dtypes[0].kind not in "iu":
        return operands, dtypes
    limits = np.iinfo(np.uint64 if dtypes[0] == np.uint64 else np.int64)
    if any(type(x) is int and not limits.min <= x <= limits.max for x in operands):
        operands = [x if type(x) is not int else np.inf if x > limits.max else -np.inf for x in operands]
        return operands, [np.dtype(float)] * (len(dtypes) - 1) + [dtypes[-1]]
    return operands, [np.dtype(limits.dtype)] * (len(dtypes) - 1) + [dtypes[-1]]


def _input(x: Any, dtype: Any) -> Any:
    """An operand in the dtype of NumPy's loop; a plain number as an array of NumPy's, to be spread where it is used."""
    if isinstance(x, (float, int, np.floating, np.integer)) and np.dtype(dtype).kind in "fciu":
        return np.asarray(x, dtype)
    return cast_to(x, dtype)


def cast_to(x: Any, dtype: Any) -> Any:
    """A result in another dtype; the real part, where complex numbers become real."""
    if isinstance(x, (tuple, list)):
        return type(x)(cast_to(part, dtype) for part in x)
    if not isinstance(x, jax.Array):
        x = jnp.asarray(x)
    if x.dtype == dtype:
        return strong(x)
    return converted(x, dtype)


def _finished(result: Any, like: Any) -> Any:
    """Arrays of a definite dtype, that of NumPy's result where it is known, in NumPy's containers."""
    if isinstance(result, (tuple, list)):
        likes = like if isinstance(like, (tuple, list)) else [None] * len(result)
        parts = [_finished(x, one) for x, one in zip(result, likes, strict=True)]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if isinstance(result, (bool, int, float, complex, str)) or result is None:
        return result
    return strong(jnp.asarray(result)) if like is None else cast_to(result, np.result_type(like))


class Lowerings(Engine):
    """Any function that JAX has, under the rule book's rule where there is one."""

    name = "xla"

    def rule(self, function: Any, native: Rule | None) -> Rule | None:
        if native is not None:
            return native
        return LoweredRule(function, operation_name(function), None) if has(function) else None


class LoweredRule(EngineRule):
    """A rule whose pull is that of `jax.vjp`."""

    def pull(self, ct: Any, out: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[int, ...]) -> Any:
        """Yield `(position, cotangent)`, computed by the tracing context."""
        context = next(ground_floor(x).place.context for x in (ct, *args) if is_abstract(x))
        values = [context.read(ground_floor(x).place) if is_abstract(x) else x for x in args]
        cotangent = context.read(ground_floor(ct).place) if is_abstract(ct) else jnp.asarray(ct)

        if context.is_dry:
            for k in wanted:
                yield k, context.blank(np.shape(values[k]), np.result_type(values[k]))
            return

        def moved(*chosen: Any) -> Any:
            all_values = list(values)
            for k, x in zip(wanted, chosen, strict=True):
                all_values[k] = x
            return lower(self.function, tuple(all_values), kwargs)

        _, back = jax.vjp(moved, *(jnp.asarray(values[k]) for k in wanted))
        for k, found in zip(wanted, back(jnp.conj(cotangent)), strict=True):
            yield k, context.wrapped(np.zeros(found.shape, found.dtype), jnp.conj(found))


FORKED: list[int] = []
"""The number of this process, if it was forked from one in which JAX ran: XLA's threads are not in it."""


def refuse() -> NoReturn:
    """Say that nothing is compiled, or run, in this process."""
    raise RefusedError(
        f"process {FORKED[0]} was forked from one in which JAX had started: XLA's threads stayed there, and a compiled "
        "call would wait for them for ever",
        where=resolve(here()),
        remedy='start processes by multiprocessing.get_context("spawn") or "forkserver", fork before the first '
        'compiled call, or use engine="native" in forked ones',
    )


def _note_fork() -> None:
    bridge = sys.modules.get("jax._src.xla_bridge")
    has_started = getattr(bridge, "backends_are_initialized", None)
    if has_started is not None and has_started():
        FORKED[:] = [os.getpid()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


ENGINE = Lowerings()
