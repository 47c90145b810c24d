"""What is known of the calls of one signature: how long they took, how they run, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from bridge.code_position import is_internal
from bridge.errors import BridgeError

FIRST = 1.0
"""Seconds that eager calls of one signature have taken before it is looked at whether they can be compiled."""

TIMES_TRACING = 4.0
"""How many times longer compiling is expected to take than tracing does, which has been measured when it is asked."""

CHANGES = 3
"""How often what a program reads without being given it may change before the program stays eager."""


class Changed(Exception):
    """What a compiled program read without being given it is another thing now; `name` says what."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass
class Account:
    """The calls of one signature.

    Attributes
    ----------
    looks : what the arguments look like.
    state : "eager" as long as nothing is decided, "traced", "compiled" (not yet trusted), "trusted", "stays eager".
    calls, spent, fastest : eager calls, the seconds of all of them, and of the fastest.
    needed : how much `spent` must be before the next step.
    price : seconds that tracing, then also compiling, took.
    compiled : seconds of the fastest compiled call.
    kinds : of Python's own numbers in the result, what they are; a compiled program returns NumPy's for some of them.
    changes : how often what the program reads without being given it has changed.
    why, where : the reason to stay eager, and the line of the program.
    """

    looks: str
    state: str = "eager"
    calls: int = 0
    spent: float = 0.0
    fastest: float = math.inf
    needed: float = field(default_factory=lambda: FIRST)
    price: float = 0.0
    compiled: float = math.inf
    changes: int = 0
    kinds: tuple[type | None, ...] = ()
    why: str = ""
    where: str | None = None

    @property
    def is_due(self) -> bool:
        """Whether compiling is worth a try: calls come again, and have taken as long as it may take."""
        return self.state in ("eager", "traced", "compiled") and self.calls > 0 and self.spent >= self.needed

    def ran(self, seconds: float) -> None:
        """Note an eager call."""
        self.calls += 1
        self.spent += seconds
        self.fastest = min(self.fastest, seconds)

    def stays_eager(self, why: str, where: str | None = None) -> None:
        """Note that no call of this signature is compiled."""
        self.state, self.why, self.where = "stays eager", why, where

    def failed(self, error: BaseException) -> None:
        """Note what compiling raised."""
        if isinstance(error, BridgeError):
            remedy = "" if error.remedy is None else f"; remedy: {error.remedy}"
            self.stays_eager(f"{error.what}{remedy}", error.where or _line_of(error.__traceback__))
        else:
            text = str(error).partition("\n")[0]
            self.stays_eager(f"{type(error).__name__}: {text}", _line_of(error.__traceback__))

    def changed(self, name: str) -> None:
        """Note that a program which was compiled is another one now."""
        self.changes += 1
        if self.changes >= CHANGES:
            self.stays_eager(f"{name} changes between calls, and is part of what is compiled; pass it as an argument")
        else:
            self.state, self.needed = "eager", self.spent + self.needed + self.price

    def __str__(self) -> str:
        eager = f"eager {_seconds(self.fastest)}" if self.calls else "not called"
        if self.state == "trusted":
            return f"{self.looks}: compiled in {_seconds(self.price)}; a call takes {_seconds(self.compiled)}, {eager}"
        if self.state == "stays eager":
            where = "" if self.where is None else f"\n    at {self.where}"
            return f"{self.looks}: stays eager: {self.why}{where}"
        return f"{self.looks}: {eager}, {self.calls} calls took {_seconds(self.spent)}; {self._waits_for()}"

    def _waits_for(self) -> str:
        if self.state == "compiled":
            return "compiled, and compared with an eager call when it is called again"
        return f"compiling is tried when they have taken {_seconds(self.needed)}"


def _seconds(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def _line_of(trace: TracebackType | None) -> str | None:
    """The innermost line of the user's in a traceback."""
    found: Any = None
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_internal(code.co_filename):
            found = f"{code.co_filename}:{trace.tb_lineno} in {code.co_name}"
        trace = trace.tb_next
    return found
