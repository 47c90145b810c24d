"""A compiled function inside of a JAX program: `jax.jit`, `jax.vmap` and `jax.grad` around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.arguments import leaves_of
from bridge.tracing import ground_floor, is_traced
from bridge.transforms import vjp
from bridge.xla.lowering import x64
from bridge.xla.signature import Dynamic, Signature
from bridge.xla.trace import TraceContext

if TYPE_CHECKING:
    from bridge.xla.compiled import Compiled


def composed(compiled: Compiled, signature: Signature, values: list[Any]) -> Any:
    """The function's result as part of the JAX program that is being traced; its reverse mode is our rewind.

    Nothing can be raised from inside of that program: where an index lies outside under `index_mode="error"`,
    every float that it returns is NaN.
    """
    from bridge.xla.compiled import Program

    program = Program(compiled.function, signature, compiled.index_mode, mends=True)
    dtypes = [leaf.dtype for leaf in signature.leaves if isinstance(leaf, Dynamic)]

    @jax.custom_vjp
    def run(*values: Any) -> list[Any]:
        with x64():
            outputs, fault, _ = program(jnp.zeros((), bool), list(values))
            return [_poisoned(x, fault) for x in outputs]

    def forward(*values: Any) -> tuple[list[Any], Any]:
        return run(*values), values

    def backward(values: Any, cts: list[Any]) -> tuple[Any, ...]:
        with x64():
            return _pulled(program, list(values), cts, dtypes)

    run.defvjp(forward, backward)
    return program.handed_out(run(*values), lambda x, is_array: x)


def _poisoned(x: Any, fault: Any) -> Any:
    return jnp.where(fault[0] == 0, x, jnp.nan) if jnp.issubdtype(x.dtype, jnp.inexact) else x


def _pulled(program: Any, values: list[Any], cts: list[Any], dtypes: list[np.dtype[Any]]) -> tuple[Any, ...]:
    """Cotangents of the dynamic leaves, by the rewind; JAX's convention for complex ones is the conjugate of ours."""
    context = TraceContext(jnp.zeros((), bool), program.index_mode, mends=True)
    with np.errstate(all="ignore"), context:
        context.faults.open()
        args, kwargs = program._entered(context, values)
        leaves, structure = leaves_of((args, kwargs))
        wanted = [k for k, leaf in enumerate(leaves) if is_traced(leaf)]
        floats = [k for k, ct in enumerate(cts) if ct.dtype != jax.dtypes.float0]

        def flat(*tracked: Any) -> list[Any]:
            from bridge.arguments import rebuilt

            own = list(leaves)
            for k, one in zip(wanted, tracked, strict=True):
                own[k] = one
            own_args, own_kwargs = rebuilt(structure, own)
            found, _ = leaves_of(program.function(*own_args, **own_kwargs))
            traced = [leaf for leaf in found if is_traced(leaf)]
            return [traced[k] for k in floats]

        _, pull = vjp(flat, *(leaves[k] for k in wanted), engine="xla")
        seeds = [context.entered(np.zeros(cts[k].shape, cts[k].dtype), jnp.conj(cts[k])) for k in floats]
        pulled = pull(seeds)
        found = [
            np.zeros(np.shape(value), jax.dtypes.float0)
            if dtype.kind not in "fc"
            else jnp.conj(context.read(ground_floor(ct).place)).astype(dtype)
            for ct, dtype, value in zip(pulled, dtypes, values, strict=True)
        ]
        fault, _ = context.faults.contents
        return tuple(x if x.dtype == jax.dtypes.float0 else _poisoned(x, fault) for x in found)
