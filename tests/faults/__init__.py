"""Faults: an exception at every point of a differentiated call, and what must hold afterwards."""
