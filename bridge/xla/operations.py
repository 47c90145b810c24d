"""Parts of JAX programs that are ours as operations of JAX: how they are run, batched, pushed and pulled.

They are traced and lowered in 64 bit, whatever the program around them does, so that 32-bit programs of JAX can hold
them. `batches` says for each `jax.vmap` around an operation, from the innermost, which of its inputs have that
axis in front; all outputs have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir

from bridge.xla.composing import Part
from bridge.xla.lowering import x64

Batches = tuple[tuple[bool, ...], ...]

program_p = Primitive("bridge_program")
"""A part, run."""

tangent_p = Primitive("bridge_tangent")
"""The derivative of a part along tangents of its inputs `moving`, which come after the inputs; linear in these."""

program_p.multiple_results = tangent_p.multiple_results = True


def _function(part: Part, batches: Batches) -> Callable[..., list[Any]]:
    """The part as a function of JAX values; where a gradient holds a NaN, its mending program runs."""
    jaxpr, watches = part.plain

    def run(*values: Any) -> list[Any]:
        *outputs, nan = _batched(jaxpr, batches)(*values)
        if not watches:
            return outputs
        mending = _batched(part.mending, batches)
        return lax.cond(jnp.any(nan), lambda: list(mending(*values)[:-1]), lambda: outputs)

    return run


def _batched(jaxpr: Any, batches: Batches) -> Callable[..., Any]:
    def over(function: Callable[..., Any], flags: tuple[bool, ...]) -> Callable[..., Any]:
        return jax.vmap(function, in_axes=tuple(0 if flag else None for flag in flags))

    return reduce(over, batches, jaxpr_as_fun(jaxpr))


def _pushed(part: Part, moving: tuple[int, ...]) -> Part:
    return part.pushed(moving)


@lru_cache(maxsize=256)
def _jitted(part: Part, batches: Batches) -> Any:
    return jax.jit(_function(part, batches))


@lru_cache(maxsize=1024)
def _avals(part: Part, batches: Batches, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    with x64():
        structs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in inputs]
        found = jax.eval_shape(_batched(part.plain[0], batches), *structs)[:-1]
    return tuple((one.shape, one.dtype) for one in found)


def _abstract(part: Part, batches: Batches, avals: Sequence[Any]) -> list[Any]:
    inputs = tuple((aval.shape, np.dtype(aval.dtype)) for aval in avals)
    # Not made by way of JAX's public functions, which would make 32-bit values of them in a 32-bit program.
    with x64():
        return [jax.core.ShapedArray(shape, dtype) for shape, dtype in _avals(part, batches, inputs)]


def _run(part: Part, batches: Batches, values: Sequence[Any]) -> Any:
    with x64():
        return _jitted(part, batches)(*values)


def _lowered(context: Any, part: Part, batches: Batches, operands: Sequence[Any]) -> Any:
    with x64():
        return mlir.lower_fun(_function(part, batches), multiple_results=True)(context, *operands)


@program_p.def_impl
def _run_program(*values: Any, part: Part, batches: Batches) -> Any:
    return _run(part, batches, values)


@program_p.def_abstract_eval
def _describe_program(*avals: Any, part: Part, batches: Batches) -> Any:
    return _abstract(part, batches, avals)


@tangent_p.def_impl
def _run_tangent(*values: Any, part: Part, moving: tuple[int, ...], batches: Batches) -> Any:
    return _run(part.pushed(moving), batches, values)


@tangent_p.def_abstract_eval
def _describe_tangent(*avals: Any, part: Part, moving: tuple[int, ...], batches: Batches) -> Any:
    # As the part's own floats, so that no forward mode is traced where only reverse mode is wanted.
    count = len(part.avals)
    whole = _abstract(part, tuple(flags[:count] for flags in batches), avals[:count]) if batches == () else None
    if whole is not None:
        return [whole[k] for k in part.floats]
    sizes = [
        next(aval.shape[len(batches) - 1 - _inside(batches, level, k)] for k, aval in enumerate(avals) if flags[k])
        for level, flags in enumerate(batches)
    ]
    with x64():
        return [
            jax.core.ShapedArray((*reversed(sizes), *part.outputs[k].shape), part.outputs[k].dtype)
            for k in part.floats
        ]


def _inside(batches: Batches, level: int, number: int) -> int:
    raise NotImplementedError


mlir.register_lowering(
    program_p, lambda context, *operands, part, batches: _lowered(context, part, batches, operands)
)
mlir.register_lowering(
    tangent_p,
    lambda context, *operands, part, moving, batches: _lowered(context, part.pushed(moving), batches, operands),
)
