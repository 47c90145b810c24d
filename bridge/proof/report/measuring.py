"""Measures a differentiation line by line: a thread samples the forward pass, a clock times the backward pass."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread, get_ident
from time import perf_counter
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from bridge.code_position import is_internal, line_of
from bridge.loops_in_c.entry import LoopEntry
from bridge.rewind.bounded_log import ENTRY
from bridge.rewind.context import Context
from bridge.rewind.diagnosis import OBSERVER, Walk
from bridge.rewind.log import Entry
from bridge.rewind.memory import grounded, owner
from bridge.rewind.spilled import Away
from bridge.source import programs
from bridge.source.finding import is_library
from bridge.transforms import grad

PERIOD = 1e-3
"""Seconds between two samples."""
_SWITCH = 5e-4
"""The longest time, in seconds, that a sample waits for a thread that runs Python code."""


class Frame(NamedTuple):
    """A line of a function that runs."""

    file: str
    line: int
    function: str


Stack = tuple[Frame, ...]


class Measurement:
    """What the runs of a call took, line by line.

    Attributes
    ----------
    stacks : seconds by "forward" or "backward" and the lines of the program, the outermost first. In the backward pass
        that is the line of the operation that is pulled. An empty stack is for everything else.
    count : the number of samples.
    log : entries and bytes of the last log, by lines.
    loops : the entries of loops in C in the last log.
    """

    def __init__(self) -> None:
        self.stacks: dict[tuple[str, Stack], float] = defaultdict(float)
        self.count = 0
        self.log: dict[Frame, tuple[int, int]] = {}
        self.loops: list[LoopEntry] = []
        self._thread = get_ident()
        self._is_forward = False
        self._forward = 0.0
        self._pulled: Stack = ()
        self._last = 0.0
        self._spans: list[tuple[float, float, Stack]] = []
        self._lines: dict[tuple[int, int], tuple[CodeType, tuple[Frame]]] = {}
        self._known: dict[tuple[Frame], tuple[Frame]] = {}

    def run(self, call: Callable[[], Any]) -> Any:
        """Run a call and measure it. Returns its result."""
        token = OBSERVER.set(self._observe)
        try:
            with self._sampling():
                self.loops, self.log, self._spans = [], {}, []
                self._pulled, self._is_forward, self._last = (), True, perf_counter()
                result = call()
                if self._is_forward:
                    self._end_forward()
                self._switch(())
            self._settle()
            return result
        finally:
            self._is_forward = False
            OBSERVER.reset(token)

    @contextmanager
    def _sampling(self) -> Iterator[None]:
        """Inside, another thread samples the stack of this one."""
        done, before = Event(), sys.getswitchinterval()
        thread = Thread(target=self._sample, args=(done,), name="bridge.profile", daemon=True)
        thread.start()
        try:
            sys.setswitchinterval(min(before, _SWITCH))
            yield
        finally:
            done.set()
            thread.join()
            sys.setswitchinterval(before)

    def _sample(self, done: Event) -> None:
        last = perf_counter()
        while not done.wait(PERIOD):
            now, stack = perf_counter(), _stack_of(sys._current_frames().get(self._thread))
            if self._is_forward:
                # Code that holds the interpreter's lock delays the sample: it gets the time since the last one.
                self._spans.append((max(last, self._last), now, stack))
            last = now

    def _end_forward(self) -> None:
        now = perf_counter()
        self._forward = now - self._last
        self._is_forward, self._last = False, now

    def _settle(self) -> None:
        """Divide the time of a forward pass among the lines. The times of loops in C are known exactly."""
        sampled: dict[Frame, Stack] = {stack[-1]: stack for _, _, stack in self._spans if stack}
        edges, covered = [0.0], [0.0]
        stacks: list[Stack] = []
        for entry in self.loops:
            begin, end = entry.interval
            edges += begin, end
            covered += covered[-1], covered[-1] + end - begin
            line = self._line_of(entry)
            stacks.append(sampled.get(line[0], line))
            self.stacks["forward", stacks[-1]] += end - begin
        self.count += len(self._spans)
        spans = np.array([span[:2] for span in self._spans] or [(0.0, 0.0)])
        seconds = np.diff(spans - np.interp(spans, edges, covered))[:, 0]
        rest, total = self._forward - covered[-1], float(seconds.sum())
        if total <= 0.0:
            self.stacks["forward", ()] += rest
        for (begin, end, stack), one in zip(self._spans, seconds.tolist(), strict=False):
            self.stacks["forward", stack] += one * rest / total if total > 0.0 else 0.0
            number = bisect_left(edges, end)
            if number % 2 == 0:
                # Python computed a part of a loop in C.
                part = end - max(begin, edges[number - 1])
                self.stacks["forward", stack] += part
                self.stacks["forward", stacks[number // 2 - 1]] -= part

    def _switch(self, pulled: Stack) -> None:
        """From here on the time is that of another line."""
        now = perf_counter()
        self.stacks["backward", self._pulled] += now - self._last
        self._pulled, self._last = pulled, now

    def _observe(self, context: Context, walk: Walk | None) -> Walk | None:
        """A walk through the log that is timed; it calls `walk` for runs of entries of one line."""
        if get_ident() != self._thread:
            return walk
        outer, log = self._pulled, context.log
        if self._is_forward:
            self._end_forward()
            self._weigh(context)
        else:
            self._switch(outer)
        # Entries whose arrays are in a file stay there.
        lines = [self._line_of(entry) for entry in list.__iter__(log)]
        begins = list(range(len(lines)))
        for number in range(1, len(lines)):
            if lines[number] is lines[number - 1]:
                begins[number] = begins[number - 1]
        if type(log) is not list:
            walk = None
        # `walk` stops where there is no entry.
        part: list[Any] = [None] * len(lines)
        self._last = perf_counter()

        def timed(context: Any, log: list[Entry], number: int) -> int:
            while number >= 0:
                self._switch(lines[number])
                if walk is None:
                    return number
                begin = begins[number]
                part[begin : number + 1] = log[begin : number + 1]
                number = walk(context, part, number)
                if number >= begin:
                    return number
            self._switch(outer)
            return number

        return timed

    def _weigh(self, context: Context) -> None:
        """Count the entries of each line and the bytes that they keep. Memory of the arguments does not count."""
        known = set()
        for buffer in context.entered_as:
            original = getattr(buffer.place.root, "original", buffer.value)
            known |= {id(owner(grounded(one))) for one in (buffer.value, original)}
        for entry in list.__iter__(context.log):
            (frame,), kept = self._line_of(entry), dict(_kept(entry))
            count, nbytes = self.log.get(frame, (0, 0))
            self.log[frame] = count + 1, nbytes + sum(kept[key] for key in kept if key not in known)
            known.update(kept)
            if isinstance(entry, LoopEntry):
                self.loops.append(entry)

    def _line_of(self, entry: Entry) -> tuple[Frame]:
        code, instruction = entry.position
        # Code is compared by its contents, which is slow.
        found = self._lines.get((id(code), instruction))
        if found is None:
            line = (Frame(code.co_filename, line_of(entry.position), _name(code)),)
            found = self._lines[id(code), instruction] = code, self._known.setdefault(line, line)
        return found[1]


def _kept(entry: Entry) -> Iterator[tuple[int, int]]:
    """What an entry keeps in memory or in a file, as a key and a number of bytes."""
    yield id(entry), ENTRY
    values = [getattr(holder, name) for holder, name in entry.held()]
    if entry.replays:
        values += [part.saved for part in entry.overwritten()]
    if isinstance(entry, LoopEntry):
        yield id(entry.run), entry.run.nbytes
        for record in () if entry.run.callbacks is None else entry.run.callbacks.records:
            for inner in record.entries:
                yield from _kept(inner)
    for value in values:
        for one in value if type(value) is tuple else (value,):
            if type(one) is Away:
                yield id(one.block), one.block.nbytes
            elif isinstance(one, np.ndarray):
                whole = owner(one)
                yield id(whole), whole.nbytes


def _stack_of(frame: FrameType | None) -> Stack:
    """The lines of the user's functions that run; those of a library's if the program belongs to one."""
    found: list[tuple[Frame, bool]] = []
    caller = ""
    while frame is not None and frame.f_code is not _RUN:
        code, file = frame.f_code, frame.f_code.co_filename
        if not is_internal(file) and not _is_generated(frame):
            line = Frame(file, frame.f_lineno or code.co_firstlineno, _name(code))
            found.append((line, is_library(file, frame.f_globals.get("__name__") or "")))
            caller = frame.f_back.f_code.co_filename if frame.f_back else ""
        frame = frame.f_back
    users = [line for line, is_of_library in found if not is_of_library]
    if not users and caller in _CALLERS:
        users = [line for line, _ in found]
    return tuple(reversed(users))


_CALLERS = (programs.__file__, grad.__file__)
"""The files whose functions call the program."""


def _is_generated(frame: FrameType) -> bool:
    """Whether a frame runs a frozen module, or a method that Python writes for a data class or a named tuple."""
    code, module = frame.f_code, frame.f_globals.get("__name__") or ""
    if code.co_filename.startswith("<frozen "):
        return True
    return code.co_filename == "<string>" and (code.co_name.startswith("__") or module.startswith("namedtuple_"))


def _name(code: CodeType) -> str:
    return code.co_qualname.rpartition("<locals>.")[2]


_RUN = Measurement.run.__code__
