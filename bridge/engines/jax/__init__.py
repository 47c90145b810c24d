"""The engine "jax": every pull is that of JAX."""
