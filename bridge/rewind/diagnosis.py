"""What a backward pass does to cotangents: where the first NaN arises, and which operations amplify them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from bridge.code_position import warn
from bridge.rewind.log import Entry
from bridge.rewind.memory import grounded

Walk = Callable[[Any, list[Entry], int], int]
"""Walks a log back from the entry of a number. Returns the number of the first entry that is left; -1 at the end."""

OBSERVER: ContextVar[Callable[[Any, Walk | None], Walk | None] | None] = ContextVar("bridge.observer", default=None)
"""Called with an outermost context and its walk in C when a backward pass begins. Returns the walk to use instead."""

LARGE = 1e8
"""The amplification of cotangents from which on it is reported."""


class Growth(NamedTuple):
    """What the operations of one line do to the largest cotangent.

    Attributes
    ----------
    operations : how many made it larger.
    factor : the product of their factors, as a power of ten.
    largest : the largest factor of one of them.
    """

    operations: int
    factor: float
    largest: float


class Diagnosis:
    """What was seen in backward passes.

    Attributes
    ----------
    first_nan : the first entry whose pull makes a NaN of cotangents without one; None if there is none.
    amplification : the largest cotangent, in units of the largest one of the results.
    lines : what the operations of each line did, by `file:line` and name.
    """

    def __init__(self) -> None:
        self.first_nan: Entry | None = None
        self.amplification = 0.0
        self.lines: dict[tuple[str, str], Growth] = defaultdict(lambda: Growth(0, 0.0, 1.0))
        self._unit = 0.0

    @contextmanager
    def observing(self) -> Iterator[None]:
        """Inside, backward passes are observed, unless something else observes them."""
        token = None if OBSERVER.get() is not None else OBSERVER.set(self._observe)
        try:
            yield
        finally:
            if token is not None:
                OBSERVER.reset(token)

    def _observe(self, context: Any, walk: Walk | None) -> Walk:
        """A walk that processes no entry: it looks at the shadows before and after each one."""
        del walk
        pending: list[tuple[Entry, list[Any], float]] = []

        def look(context: Any, log: list[Entry], number: int) -> int:
            if pending:
                self._after(*pending.pop())
            if number >= 0:
                entry = log[number]
                inputs = [place.root for place in entry.reads()]
                before = [_largest(root) for root in (*inputs, *(place.root for place in entry.writes()))]
                # NaN is the largest.
                pending.append((entry, inputs, float(np.max(before)) if before else 0.0))
            return number

        return look

    def _after(self, entry: Entry, inputs: list[Any], before: float) -> None:
        after = float(np.max([_largest(root) for root in inputs])) if inputs else 0.0
        if math.isnan(before) or before == 0.0:
            return
        if math.isnan(after):
            self.first_nan = self.first_nan or entry
            return
        self._unit = self._unit or before
        self.amplification = max(self.amplification, after / self._unit)
        if after > before:
            line, factor = (entry.where or "", entry.name), after / before
            count, power, largest = self.lines[line]
            self.lines[line] = Growth(count + 1, power + math.log10(factor), max(largest, factor))

    def warn_of_nan(self, gradients: Sequence[Any]) -> None:
        """If a gradient has a NaN, name the operation in whose pull the first one arises."""
        if self.first_nan is not None and any(np.any(np.isnan(grounded(one))) for one in gradients):
            remedy = "keep the operands away from there; np.where(bad, safe, x) before the operation does that"
            if self.first_nan.replays:
                remedy += "; BRIDGE_LOOPS=python names the statement"
            warn(
                f"a gradient has a NaN: the first one arises in the pull of {self.first_nan.name}, called at "
                f"{self.first_nan.where}, where a finite cotangent meets a derivative that is infinite or NaN\n"
                f"  remedy: {remedy}"
            )

    def warn_of_growth(self) -> None:
        """If the cotangents were amplified much, name the operation that contributes most."""
        if self.growth:
            warn(
                f"{self.growth}\n  remedy: the gradient is that of the program as it is written, and of no use for "
                "optimization; differentiate fewer steps, or another scheme"
            )

    @property
    def growth(self) -> str:
        """A sentence that names the operation that amplifies most; empty if the amplification is below `LARGE`."""
        if not self.amplification >= LARGE:
            return ""
        (where, name), most = max(self.lines.items(), key=lambda one: one[1].factor)
        return (
            f"the backward pass amplifies cotangents {self.amplification:.1e} times, so rounding errors as well: "
            f"{most.operations:,} calls of {name} at {where} contribute a factor of 1e{most.factor:.0f}, each at most "
            f"{most.largest:.3g}"
        )


def _largest(root: Any) -> float:
    """The largest absolute value of a shadow; NaN if it has one."""
    shadow = grounded(root.shadow) if root.shadow is not None else None
    return 0.0 if shadow is None or not np.size(shadow) else float(np.max(np.abs(shadow)))
