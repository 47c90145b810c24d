"""NumPy functions computed by JAX; one family a file, named as in the rule book."""
