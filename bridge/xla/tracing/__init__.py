"""The memory of a program that is being compiled: abstract arrays, cells, and the context that computes."""
