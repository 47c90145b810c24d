"""Pulls for functions that the rule book does not have: JAX's, of their lowering."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.calls import operation_name
from bridge.engines.protocol import Engine, EngineRule
from bridge.rewind.rule import Rule
from bridge.rewind.values import ground_floor, is_abstract
from bridge.xla.lowering.lower import has, lower


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

        def moved(*chosen: Any) -> Any:
            all_values = list(values)
            for k, x in zip(wanted, chosen, strict=True):
                all_values[k] = x
            return lower(self.function, tuple(all_values), kwargs)

        _, back = jax.vjp(moved, *(jnp.asarray(values[k]) for k in wanted))
        for k, found in zip(wanted, back(jnp.conj(cotangent)), strict=True):
            yield k, context.wrapped(np.zeros(found.shape, found.dtype), jnp.conj(found))


LOWERINGS = Lowerings()
