"""GradBench's evals as NumPy programs that write in place; the derivatives are `bridge`'s.

Each module has an `EVAL`: how an input becomes arguments, and the functions that the eval asks for. Those are plain
functions with transforms in them: run as they are by the native engine, compiled whole by XLA.
"""
