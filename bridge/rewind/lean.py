"""The commonest events in few steps: two operands of a ufunc, one element read or written.

What they log is what the general events of a context log, in entries that hold what they need themselves and make the
records that others ask for only when they are asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.code_position import Position
from bridge.rewind.interpreter import ARRAYS, Call
from bridge.rewind.log import Copy, Cotangents, Entry, Operation
from bridge.rewind.ownership import Ownership, wrap
from bridge.rewind.places import Element
from bridge.rewind.roots import Root
from bridge.rewind.writes import Write

FLOATS = frozenset({np.float64, np.float32})
"""The kinds of elements that are read and written in few steps."""


class One(Operation):
    """A ufunc of one operand, whose result is a new root."""

    __slots__ = ("place", "rule", "x")

    def __init__(self, plan: Any, x: Any, place: Any, out: Root, value: Any, position: Any) -> None:
        self.rule, self.wanted, keeps_output, keeps_x, _ = plan
        self.x = x if keeps_x else None
        self.place = place
        self.out = out
        self.output = value if keeps_output else None
        self.position = position

    @property
    def call(self) -> Call:  # type: ignore[override]
        return Call(self.rule.function, self.rule, (self.x,), (self.place,))

    @property
    def name(self) -> str:
        return str(self.rule.name)

    def held(self) -> Iterator[tuple[Any, str]]:
        yield self, "output"
        yield self, "x"

    def push(self, ct: Any) -> None:
        cotangent = self.rule.per_argument[0](ct, self.output, self.x)
        if cotangent is not None:
            self.place.accumulate(cotangent)


class Pair(Operation):
    """A ufunc of two operands, whose results are a new root."""

    __slots__ = ("rule", "x", "x_place", "y", "y_place")

    def __init__(
        self, plan: Any, x: Any, y: Any, x_place: Any, y_place: Any, out: Root, value: Any, position: Any
    ) -> None:
        self.rule, self.wanted, keeps_output, keeps_x, keeps_y = plan
        self.x = x if keeps_x else None
        self.y = y if keeps_y else None
        self.x_place = x_place
        self.y_place = y_place
        self.out = out
        self.output = value if keeps_output else None
        self.position = position

    @property
    def call(self) -> Call:  # type: ignore[override]
        return Call(self.rule.function, self.rule, (self.x, self.y), (self.x_place, self.y_place))

    @property
    def name(self) -> str:
        return str(self.rule.name)

    def held(self) -> Iterator[tuple[Any, str]]:
        yield self, "output"
        yield self, "x"
        yield self, "y"

    def push(self, ct: Any) -> None:
        pulls = self.rule.per_argument
        if self.x_place is not None:
            cotangent = pulls[0](ct, self.output, self.x, self.y)
            if cotangent is not None:
                self.x_place.accumulate(cotangent)
        if self.y_place is not None:
            cotangent = pulls[1](ct, self.output, self.x, self.y)
            if cotangent is not None:
                self.y_place.accumulate(cotangent)


class ElementRead(Copy):
    """One element that was read from `parent`."""

    __slots__ = ("key", "parent")

    def __init__(self, out: Root, parent: Any, key: Any, position: Position) -> None:
        self.position = position
        self.out = out
        self.parent = parent
        self.key = key

    @property
    def source(self) -> Element:
        return Element(self.parent, self.key, self.out)

    def push(self, ct: Any) -> None:
        region = self.parent.region()
        region[self.key] += ct

    def held(self) -> Iterator[tuple[Any, str]]:
        return iter(())


class ElementWrite(Write):
    """One element that was written in `parent`, whose memory is `array`."""

    __slots__ = ("parent",)

    @property
    def out(self) -> Element:
        return Element(self.parent, self.key, self.array[self.key])

    def __init__(self, parent: Any, array: Any, key: Any, saved: Any, source: Any, position: Position) -> None:
        self.position = position
        self.parent = parent
        self.array = array
        self.key = key
        self.saved = saved
        self.source = source
        self.activates = source is not None and not parent.root.active

    def held(self) -> Iterator[tuple[Any, str]]:
        yield self, "array"

    def take(self) -> Any:
        if self.parent.root.shadow is None:
            return None
        region = self.parent.region()
        ct = region[self.key]
        region[self.key] = 0
        return ct

    def undo(self) -> None:
        self.saved = self.parent.root.context.memory.swap(self.array, self.key, self.saved)

    def push(self, ct: Any) -> None:
        if self.source is not None:
            self.source.accumulate(ct)

    def pull(self, ct: Any) -> Cotangents:
        return () if self.source is None else ((self.source, ct),)


class Lean(Ownership):
    """The commonest events of a context, for contexts in which they mean what `Context` makes of them."""

    # Slots, because the compiled part asks for them at each operation.
    __slots__ = ("handed_out", "lean", "log", "merged", "originals", "thread", "writes")

    # Whether they do: no context is outside, values are known, no subclass overrides an event, and no listener is set.
    lean: bool
    log: list[Entry]

    def one(self, plan: Any, value: Any, x: Any, place: Any, position: Position) -> Any:
        """`result` of a ufunc with a pull, of one operand that carries a gradient."""
        out = self._fresh(value)
        if out is not NotImplemented:
            self.log.append(One(plan, x, place, out.place, value, position))
        return out

    def pair(self, plan: Any, value: Any, x: Any, y: Any, x_place: Any, y_place: Any, position: Position) -> Any:
        """`result` of a ufunc with one pull for each of its two operands, of which one carries a gradient at least."""
        if self.handed_out:
            self.take_in((x, y))
        out = self._fresh(value)
        if out is not NotImplemented:
            self.log.append(Pair(plan, x, y, x_place, y_place, out.place, value, position))
        return out

    def _fresh(self, value: Any) -> Any:
        """A result as a tracked one on a root of its own; NotImplemented for what is none that carries a gradient."""
        if type(value) in FLOATS:
            return ARRAYS.scalar(value, Root(self, value, True))
        if type(value) is np.ndarray and value.base is None and value.dtype.kind == "f":
            return ARRAYS.buffer(value, Root(self, value, True))
        out = wrap(self, value, True)
        root = getattr(out, "place", None)
        return out if type(root) is Root and root.active else NotImplemented

    def element(self, value: Any, parent: Any, key: Any, position: Position) -> Any:
        """`copied` of one float, which was read at a key of plain integers."""
        active = parent.active
        root = Root(self, value, active)
        if active:
            self.log.append(ElementRead(root, parent, key, position))
        return ARRAYS.scalar(value, root)

    def write_element(self, target: Any, key: Any, value: Any, source: Any, position: Position) -> None:
        """`write` of a float of the target's dtype at a key of plain integers."""
        saved = target.value[key]
        root = self.writable(target)
        shown = self.shown_elsewhere(root, source is not None) if self.handed_out else ()
        array = target.value
        array[key] = value
        self.log.append(ElementWrite(target.place, array, key, saved, source, position))
        if source is not None:
            root.active = True
        for one in shown:
            one.follow()
