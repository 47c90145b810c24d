"""Tiered compilation of loops: Python runs a loop first, and it is compiled in the background when it takes long.

Python runs a loop in parts. At the beginning of each part everything that the loop knows lies in variables, so compiled
code can take over there.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from bridge.arrays.buffer import Buffer
from bridge.code_position import callers_frame
from bridge.errors import RefusedError
from bridge.loops_in_c.compiling import running
from bridge.loops_in_c.running import Site, beginning, obstacle, site_of
from bridge.loops_in_c.values import NotCompiled
from bridge.source.looping import RAN, REASONS, Progress

HOT = 0.03
"""Seconds in Python after which a loop is compiled."""
WORTH = 3e-4
"""Seconds that a loop takes in Python, below which the cost of a call of compiled code is too high."""
PART = 3e-3
"""Seconds that Python runs a loop before it asks again."""
WAITS = False
"""Whether a loop waits for the compiler; tests set it."""
_COMPILERS = 2
"""How many compilers of one process run at the same time."""
_REFUSALS = 3
"""How often a loop is tried that does not fit."""


@dataclass
class Heat:
    """How long Python has run a loop."""

    seconds: float = 0.0
    iterations: int = 0
    entries: int = 0
    refusals: int = 0

    def is_slower(self, left: Progress) -> bool:
        """Whether compiled code has taken longer for its iterations than Python does: its calls of Python are slow."""
        return self.iterations > 0 and left.seconds > WORTH and left.seconds > self.of_one * left.iterations

    @property
    def of_one(self) -> float:
        """Seconds of one iteration."""
        return self.seconds / self.iterations if self.iterations else 0.0


_heats: dict[int, Heat] = {}


class Part(Progress):
    """The next `count` iterations of a loop, which Python runs and times; then `later`."""

    def __init__(self, heat: Heat, over: Any, count: int, values: dict[str, Any]) -> None:
        is_for = over is not None
        super().__init__(values, over[:count] if is_for else None, False)
        self.later = over[count:] if is_for else None
        count = len(self.rest) if is_for else count
        self.heat, self.count, self.left, self.is_paused = heat, count, 0 if is_for else count, False
        self.begun = perf_counter()

    def more(self) -> bool:
        if self.left:
            self.left -= 1
            return True
        self.is_paused = True
        return False

    def over(self) -> bool:
        self.heat.seconds += perf_counter() - self.begun
        self.heat.iterations += self.count - self.left
        return not (self.has_ended and (self.is_paused or (self.later is not None and len(self.later) > 0)))


def enter(context: Any, number: int, iterable: Any, found: Progress | None) -> Progress | None:
    """A loop begins, or a part of it that `found` leaves: what compiled code has left, a part, or None for all of it.

    Raises
    ------
    RefusedError : `loops="c"`, and it does not run in C.
    """
    heat = _heats.get(number)
    if heat is None:
        heat = _heats[number] = Heat()
    over = iterable if found is None else found.later
    at_once = context.loops == "c"
    if not at_once and heat.refusals < _REFUSALS and heat.seconds < HOT:
        heat.entries += found is None
        return _part(heat, over, found)
    in_python = None if found is None else Progress({}, over, False)
    if _is_traced() or (not at_once and (heat.refusals >= _REFUSALS or _expected(heat, over) < WORTH)):
        return in_python
    site = site_of(number)
    try:
        left = _in_c(context, site, over, at_once or WAITS)
    except NotCompiled as error:
        # A `with` or a transform around the loop may be gone next time.
        heat.refusals += obstacle(context) is None
        where = f"{error.file or site.loop.file}:{error.line}"
        REASONS[number] = f"{where}: {error.reason}"
        if not at_once:
            return in_python
        raise RefusedError(
            f"the loop in line {site.node.lineno} does not run in C: {error.reason}",
            where=where,
            remedy='loops="auto" leaves it to Python; or write what is named in another way',
        ) from None
    if left is None:
        return _part(heat, over, found)
    RAN.add(number)
    REASONS.pop(number, None)
    if not at_once and not WAITS and heat.is_slower(left):
        heat.refusals += 1
        REASONS[number] = f"{site.loop.file}:{site.node.lineno}: it takes longer in C than in Python"
    if left.is_over or not (left.rest is None or _has_parts(left.rest)):
        return left
    # Compiled code has stopped before an iteration, which Python runs.
    return Part(heat, left.rest, 1, left.values)


def _in_c(context: Any, site: Site, over: Any, waits: bool) -> Progress | None:
    """What compiled code has left; None while it is being compiled, or where it stops too often."""
    reason = obstacle(context)
    if reason is not None:
        raise NotCompiled(reason, site.node.lineno)
    if not waits and running() >= _COMPILERS:
        return None
    begun = beginning(context, site, over, callers_frame())
    return begun.run() if waits or begun.is_ready() else None


def _has_parts(over: Any) -> bool:
    """Whether Python can run a loop over something in parts."""
    return type(over) is range or (type(over) is Buffer and over.ndim > 0)


def _expected(heat: Heat, over: Any) -> float:
    """Seconds that Python needs for what is left."""
    return heat.of_one * len(over) if _has_parts(over) else heat.seconds / max(heat.entries, 1)


def _part(heat: Heat, over: Any, found: Progress | None) -> Progress | None:
    """A part of the loop; None if the loop cannot be parted."""
    if over is not None and not _has_parts(over):
        return None
    count = 1
    if heat.iterations:
        count = max(1, int(PART / max(heat.of_one, 1e-9)))
        if type(found) is Part:
            count = min(count, 2 * found.count)
    return Part(heat, over, count, {})


def _is_traced() -> bool:
    """Whether a debugger, a profiler or a coverage tool is active."""
    if sys.gettrace() is not None or sys.getprofile() is not None:
        return True
    return sys.version_info >= (3, 12) and any(sys.monitoring.get_tool(tool) is not None for tool in range(3))
