"""A compiled function inside of a JAX program: `jax.jit`, `jax.vmap`, `jax.grad`, `jax.jvp` and the rest around it.

For JAX the function is one operation, whose derivatives are the rewind and forward mode of this package, compiled
likewise; so JAX never differentiates through memory, and derivatives of any order are ours. This module says how such
operations are run, batched, pushed and pulled.

They are traced and lowered in 64 bit, whatever the program around them does, so that 32-bit programs of JAX can hold
them. `batches` has for each `jax.vmap` around an operation, from the innermost, its size, and which of the inputs
have that axis in front; all outputs have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir

from bridge.xla.lowering.lower import x64
from bridge.xla.meshes import described, on_explicit_axes, plain, varying_alike, without_mesh
from bridge.xla.subprogram import Subprogram

Batches = tuple[tuple[int, tuple[bool, ...]], ...]

program_p = Primitive("bridge_program")
"""A subprogram, run."""

tangent_p = Primitive("bridge_tangent")
"""Its derivative along tangents of the inputs `moving`, which come after the inputs; linear in these."""

program_p.multiple_results = tangent_p.multiple_results = True


def run_in_jax(subprogram: Subprogram, values: Sequence[Any]) -> list[Any]:
    """The program's results as part of the JAX program that is being traced.

    Nothing can be raised from inside of that program: where an index lies outside under `index_mode="error"`,
    or a loop wants more than its limit, every float that it returns is NaN.
    """

    def run(*values: Any) -> list[Any]:
        return program_p.bind(*varying_alike(values), subprogram=subprogram, batches=())

    with x64():
        return on_explicit_axes(run, list(map(jnp.asarray, values)), subprogram.outputs)


def _function(subprogram: Subprogram, batches: Batches) -> Callable[..., list[Any]]:
    """The subprogram as a function of JAX values; where a gradient holds a NaN, its mending program runs."""
    jaxpr, watches = subprogram.plain

    def run(*values: Any) -> list[Any]:
        *outputs, nan = _batched(jaxpr, batches)(*values)
        if not watches:
            return outputs
        mending = _batched(subprogram.mending, batches)
        return lax.cond(jnp.any(nan), lambda: list(mending(*values)[:-1]), lambda: outputs)

    return run


def _batched(jaxpr: Any, batches: Batches) -> Callable[..., Any]:
    function = jaxpr_as_fun(jaxpr)
    for size, flags in batches:
        function = jax.vmap(function, in_axes=tuple(0 if flag else None for flag in flags), axis_size=size)
    return function


@lru_cache(maxsize=256)
def _jitted(subprogram: Subprogram, batches: Batches) -> Any:
    return jax.jit(_function(subprogram, batches))


def _run(subprogram: Subprogram, batches: Batches, values: Sequence[Any]) -> Any:
    with x64(), without_mesh():
        return _jitted(subprogram, batches)(*values)


def _described(outputs: Sequence[Any], batches: Batches, avals: Sequence[Any]) -> list[Any]:
    sizes = tuple(size for size, _ in reversed(batches))
    with x64():
        return [described((*sizes, *one.shape), one.dtype, avals) for one in outputs]


def _tangent_of(aval: Any) -> Any:
    """JAX's type of the tangents of a value: `float0` for integers and booleans."""
    inexact = jnp.issubdtype(aval.dtype, jnp.inexact)
    return aval if inexact else described(aval.shape, jax.dtypes.float0, [aval])


def _lowered(context: Any, subprogram: Subprogram, batches: Batches, operands: Sequence[Any]) -> Any:
    context = context.replace(avals_in=list(map(plain, context.avals_in)))
    with x64(), without_mesh():
        return mlir.lower_fun(_function(subprogram, batches), multiple_results=True)(context, *operands)


def _extended(batches: Batches, chosen: Sequence[int], more: int = 0) -> Batches:
    """The flags of all inputs, then again those of the chosen ones, then `more` that always have the axis."""
    return tuple((size, (*flags, *(flags[k] for k in chosen), *(True,) * more)) for size, flags in batches)


# A subprogram, run.


@program_p.def_impl
def _program_run(*values: Any, subprogram: Subprogram, batches: Batches) -> Any:
    return _run(subprogram, batches, values)


@program_p.def_abstract_eval
def _program_described(*avals: Any, subprogram: Subprogram, batches: Batches) -> Any:
    return _described(subprogram.outputs, batches, avals)


def _program_lowered(context: Any, *operands: Any, subprogram: Subprogram, batches: Batches) -> Any:
    return _lowered(context, subprogram, batches, operands)


def _program_pushed(values: Any, tangents: Any, subprogram: Subprogram, batches: Batches) -> Any:
    with x64():
        outputs = program_p.bind(*values, subprogram=subprogram, batches=batches)
        moving = tuple(k for k, tangent in enumerate(tangents) if type(tangent) is not ad.Zero)
        changes = [ad.Zero(_tangent_of(aval)) for aval in map(jax.typeof, outputs)]
        found = tangent_p.bind(
            *values,
            *(tangents[k] for k in moving),
            subprogram=subprogram,
            moving=moving,
            batches=_extended(batches, moving),
        )
        for k, change in zip(subprogram.floats, found, strict=True):
            changes[k] = change
        return outputs, changes


# Its derivative.


@tangent_p.def_impl
def _tangent_run(*values: Any, subprogram: Subprogram, moving: tuple[int, ...], batches: Batches) -> Any:
    return _run(subprogram.pushed(moving), batches, values)


@tangent_p.def_abstract_eval
def _tangent_described(*avals: Any, subprogram: Subprogram, moving: tuple[int, ...], batches: Batches) -> Any:
    return _described([subprogram.outputs[k] for k in subprogram.floats], batches, avals)


def _tangent_lowered(
    context: Any, *operands: Any, subprogram: Subprogram, moving: tuple[int, ...], batches: Batches
) -> Any:
    return _lowered(context, subprogram.pushed(moving), batches, operands)


def _tangent_pushed(
    values: Any, tangents: Any, subprogram: Subprogram, moving: tuple[int, ...], batches: Batches
) -> Any:
    count = len(subprogram.avals)
    with x64():
        outputs = tangent_p.bind(*values, subprogram=subprogram, moving=moving, batches=batches)
        if all(type(tangent) is ad.Zero for tangent in tangents[:count]):
            changes = [ad.instantiate_zeros(tangent) for tangent in tangents[count:]]
            return outputs, tangent_p.bind(
                *values[:count], *changes, subprogram=subprogram, moving=moving, batches=batches
            )
        changing = tuple(k for k, tangent in enumerate(tangents) if type(tangent) is not ad.Zero)
        return outputs, tangent_p.bind(
            *values,
            *(tangents[k] for k in changing),
            subprogram=subprogram.pushed(moving),
            moving=changing,
            batches=_extended(batches, changing),
        )


def _tangent_pulled(cts: Any, *inputs: Any, subprogram: Subprogram, moving: tuple[int, ...], batches: Batches) -> Any:
    count = len(subprogram.avals)
    wanted = [j for j, one in enumerate(inputs[count:]) if ad.is_undefined_primal(one)]
    result: list[Any] = [None] * len(inputs)
    if all(type(ct) is ad.Zero for ct in cts):
        for j in wanted:
            result[count + j] = ad.Zero(inputs[count + j].aval)
        return result
    own = tuple((size, flags[:count]) for size, flags in batches)
    with x64():
        cts = [ad.instantiate_zeros(ct) for ct in cts]
        found = program_p.bind(
            *inputs[:count],
            *cts,
            subprogram=subprogram.pulled(tuple(moving[j] for j in wanted)),
            batches=_extended(own, (), len(cts)),
        )
        for j, ct in zip(wanted, found, strict=True):
            # The outermost axis is the first one.
            shared = [axis for axis, (_, flags) in enumerate(reversed(batches)) if not flags[count + j]]
            result[count + j] = jnp.sum(ct, axis=tuple(shared)) if shared else ct
    return result


# Both.


def _over(primitive: Primitive) -> Callable[..., Any]:
    def batched(values: Any, dims: Any, *, batches: Batches, **params: Any) -> Any:
        size = next(x.shape[d] for x, d in zip(values, dims, strict=True) if d is not None)
        avals = params["subprogram"].avals
        with x64():
            # A NumPy array that is mapped over comes in its own dtype; in 32-bit JAX it stands for one of 32 bit.
            values = [*map(jnp.asarray, values[: len(avals)], [aval.dtype for aval in avals]), *values[len(avals) :]]
            moved = [x if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(values, dims, strict=True)]
            flags = tuple(d is not None for d in dims)
            outputs = primitive.bind(*moved, batches=(*batches, (size, flags)), **params)
        return outputs, [0] * len(outputs)

    return batched


mlir.register_lowering(program_p, _program_lowered)
mlir.register_lowering(tangent_p, _tangent_lowered)
ad.primitive_jvps[program_p] = _program_pushed
ad.primitive_jvps[tangent_p] = _tangent_pushed
ad.primitive_transposes[tangent_p] = _tangent_pulled
batching.primitive_batchers[program_p] = _over(program_p)
batching.primitive_batchers[tangent_p] = _over(tangent_p)
