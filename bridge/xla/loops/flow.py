"""Who runs the loops and branches of a program that is compiled: those of this package, and Python's own."""

from bridge.xla.loops.ahead import Ahead
from bridge.xla.loops.control import cond, fori_loop, while_loop
from bridge.xla.loops.python_branches import staged_branch, staged_choice
from bridge.xla.loops.python_loops import staged_loop, unrolling
from bridge.xla.loops.python_whiles import staged_repeat
from bridge.xla.loops.standing import returned

__all__ = [
    "Ahead",
    "cond",
    "fori_loop",
    "returned",
    "staged_branch",
    "staged_choice",
    "staged_loop",
    "staged_repeat",
    "unrolling",
    "while_loop",
]
