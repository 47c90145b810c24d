"""Loops in C: a loop over numbers and arrays is compiled, with its adjoint, and runs as one entry of the log."""
