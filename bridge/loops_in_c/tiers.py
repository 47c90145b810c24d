"""Tiered compilation of loops: Python runs a loop first, and it is compiled in the background when it takes long.

Python runs a loop in parts. At the beginning of each part everything that the loop knows lies in variables, so compiled
code can take over there.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import Any

from bridge.code_position import callers_frame
from bridge.errors import RefusedError
from bridge.loops_in_c.compiling import running
from bridge.loops_in_c.running import Site, beginning, obstacle, site_of
from bridge.loops_in_c.values import NotCompiled
from bridge.rewind.log import is_bounded
from bridge.source.iterating import Iteration
from bridge.source.looping import RAN, REASONS, STOPS, Progress

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
_STOPS = 3
"""After how many stops it is decided whether compiled code is faster than Python."""
_MANY = 16
"""Iterations between two stops for which compiled code is worth it, where time does not decide."""


@dataclass
class Heat:
    """How long Python has run a loop, and lately compiled code, which has stopped `stops` times.

    `readings` is how often a loop that stops too often may be read once more, with all its branches, for other types.
    """

    seconds: float = 0.0
    iterations: int = 0
    entries: int = 0
    refusals: int = 0
    stops: int = 0
    seconds_in_c: float = 0.0
    iterations_in_c: int = 0
    stops_too_often: bool = False
    readings: int = 3
    slow_runs: int = 0

    @property
    def of_one(self) -> float:
        """Seconds of one iteration."""
        return self.seconds / self.iterations if self.iterations else 0.0

    def note(self, done: int, seconds: float, has_stopped: bool, is_timed: bool) -> None:
        """Take note of a run of compiled code; after some stops, decide whether Python is faster.

        Where it is not timed, the count of iterations decides.
        """
        self.stops += has_stopped
        self.seconds_in_c += seconds
        self.iterations_in_c += done
        # Calls of Python are slow.
        is_timed &= self.of_one > 0.0
        is_slow = is_timed and not WAITS and seconds > max(WORTH, self.of_one * done)
        self.slow_runs += is_slow and done > 0 and not has_stopped
        if self.stops > _STOPS:
            least = self.seconds_in_c / self.of_one if is_timed else _MANY * self.stops
            self.stops_too_often = self.iterations_in_c < least
            self.stops, self.seconds_in_c, self.iterations_in_c = 0, 0.0, 0


_heats: dict[int, Heat] = {}


class Part(Progress):
    """The next `count` iterations of a loop, which Python runs and times; then `later`."""

    def __init__(self, heat: Heat, over: Any, count: int, values: dict[str, Any], is_timed: bool = True) -> None:
        is_for = over is not None
        super().__init__(values, over[:count] if is_for else None, False)
        self.later = over[count:] if is_for else None
        count = len(self.rest) if is_for else count
        self.heat, self.count, self.left, self.is_paused = heat, count, 0 if is_for else count, False
        self.begun, self.is_timed = perf_counter(), is_timed

    def more(self) -> bool:
        if self.left:
            self.left -= 1
            return True
        self.is_paused = True
        return False

    def over(self) -> bool:
        if self.is_timed:
            self.heat.seconds += perf_counter() - self.begun
            self.heat.iterations += self.count - self.left
        return not (self.has_ended and (self.is_paused or (self.later is not None and len(self.later) > 0)))


def why_not_yet(number: int) -> str:
    """Why a loop that has not been refused has not run in C so far."""
    heat = _heats.get(number)
    if heat is None or heat.seconds < HOT:
        return f"it has taken less than {1e3 * HOT:.0f} ms so far"
    if heat.seconds < WORTH * heat.entries:
        return f"it takes less than {1e3 * WORTH:.1f} ms each time"
    return "the compiled code was not ready"


def enter(context: Any, number: int, iterable: Any, found: Progress | None) -> Progress | None:
    """A loop begins, or a part of it that `found` leaves: what compiled code has left, a part, or None for all of it.

    Raises
    ------
    RefusedError : `loops="c"`, and it does not run in C.
    """
    heat = _heats.get(number)
    if heat is None:
        heat = _heats[number] = Heat()
    over = Iteration.of(iterable) if found is None else found.later
    at_once = context.loops == "c"
    if not at_once and heat.refusals < _REFUSALS and heat.seconds < HOT:
        heat.entries += found is None
        return _part(heat, over, found)
    in_python = None if found is None else Progress({}, over, False)
    if _is_traced() or (not at_once and (heat.refusals >= _REFUSALS or _expected(heat, over) < WORTH)):
        return in_python
    site = site_of(number)
    if not at_once and heat.slow_runs >= _REFUSALS:
        REASONS[number] = f"{site.loop.file}:{site.node.lineno}: it takes longer in C than in Python"
        return in_python
    if heat.stops_too_often:
        if not (site.stops and heat.readings):
            where = f"{site.loop.file}:{site.node.lineno}"
            REASONS[number] = "; ".join((f"{where}: compiled code stops too often", *_stops_of(site)))
            return in_python
        heat.readings, heat.stops_too_often = heat.readings - 1, False
        site.stop_nowhere()
    try:
        left = _in_c(context, heat, site, over, at_once or WAITS)
    except NotCompiled as error:
        # A `with`, a transform around the loop, or `memory=` may be gone next time.
        heat.refusals += obstacle(context) is None and not is_bounded(context.log)
        where = f"{error.file or site.loop.file}:{error.line}"
        if type(found) is not Part or number not in REASONS:
            REASONS[number] = f"{where}: {error.reason}"
        if found is None and not at_once and (over is None or (_has_parts(over) and len(over) > 1)):
            # After an iteration, names may hold other types: 0 at first, and an array from then on.
            return Part(heat, over, 1, {})
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
    heat.refusals = 0
    REASONS.pop(number, None)
    STOPS[number] = _stops_of(site)
    if left.is_over or not (left.rest is None or _has_parts(left.rest)):
        return left
    # Compiled code has stopped before an iteration, which Python runs; it may take longer than others.
    return Part(heat, left.rest, 1, left.values, not heat.iterations)


def _stops_of(site: Site) -> list[str]:
    """The branches that are not compiled, with the reasons."""
    return [f"{file or site.loop.file}:{line}: {reason}" for reason, line, file in site.stops.values()]


def _in_c(context: Any, heat: Heat, site: Site, over: Any, waits: bool) -> Progress | None:
    """What compiled code has left; None while it is being compiled, or where Python runs the next iterations."""
    reason = obstacle(context)
    if reason is not None:
        raise NotCompiled(reason, site.node.lineno)
    if not waits and running() >= _COMPILERS:
        return None
    while True:
        # Another process may have the processor meanwhile.
        known, start = len(site.stops), thread_time()
        try:
            begun = beginning(context, site, over, callers_frame())
            seconds = thread_time() - start
            left = begun.run() if waits or begun.is_ready() else None
        except NotCompiled as error:
            if site.stop_at(error) or len(site.stops) > known:
                continue
            raise
        heat.note(begun.done, seconds + begun.seconds, begun.has_stopped, context.loops != "c")
        return left


def _has_parts(over: Any) -> bool:
    """Whether Python can run a loop over something in parts."""
    return type(over) is range or type(over) is Iteration


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
