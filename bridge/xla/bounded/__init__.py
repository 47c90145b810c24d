"""Arrays whose lengths are known only when the program runs, within bounds: `x[i:j]` of a compiled program.

Such an array is a part of one of static shape, `whole`, and what is computed with it is a program on that one, under
masks. A context never meets a run-time length, and so all derivatives of such programs are those of static ones.
"""

from bridge.xla.bounded import contracting, elementwise, indexing, reducing, shaping

__all__ = ["contracting", "elementwise", "indexing", "reducing", "shaping"]
