"""`hello`: a square and its derivative."""

from __future__ import annotations

import bridge
from benchmarks.gradbench.evaluation import Eval, Function


def square(x: float) -> float:
    """The square of a number."""
    return x * x


double = bridge.grad(square, engine="native")


EVAL = Eval(lambda given: (float(given),), {"square": Function(square, float), "double": Function(double, float)})
