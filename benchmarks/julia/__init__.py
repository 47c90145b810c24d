"""Benchmarks that need Julia: our Buffer against Julia's other systems, and calls from Python."""
