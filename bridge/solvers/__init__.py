"""Derivatives of what solvers find: implicit functions, compositions, searches that are not differentiated."""
