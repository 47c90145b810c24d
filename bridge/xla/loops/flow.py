"""The loops and branches of a compiled program, for staged code: those of this package, and Python's own."""

from bridge.xla.loops.ahead import Ahead
from bridge.xla.loops.control import cond, fori_loop, while_loop
from bridge.xla.loops.may_alias import returned
from bridge.xla.loops.phi import item
from bridge.xla.loops.python_branches import staged_branch, staged_choice
from bridge.xla.loops.python_loops import staged_loop, unrolling
from bridge.xla.loops.python_whiles import staged_repeat

__all__ = [
    "Ahead",
    "cond",
    "fori_loop",
    "item",
    "returned",
    "staged_branch",
    "staged_choice",
    "staged_loop",
    "staged_repeat",
    "unrolling",
    "while_loop",
]
