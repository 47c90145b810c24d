"""The engine "jax": every pull is that of `jax.vjp`. JAX is imported when the first rule is asked for."""

from bridge.engines.jax.engine import ENGINE as ENGINE
