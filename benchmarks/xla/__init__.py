"""Gradients compiled by XLA: MutationBridge's beside JAX's own."""
