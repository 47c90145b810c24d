"""The log: one entry for each thing that happened, which knows what it read and wrote, how to undo it, and its pull."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bridge.code_position import Position, here, resolve
from bridge.errors import BridgeError, RuleError
from bridge.rewind.interpreter import Call
from bridge.rewind.places import Picked, places_in
from bridge.rewind.roots import Root

_LARGE = 1 << 16

Cotangents = Iterable[tuple[Any, Any]]


class Overwritten(NamedTuple):
    """What an entry overwrote: `array[key]`, which lies at `place`, held `saved`; after an undo it is the other way."""

    place: Any
    array: Any
    key: Any
    saved: Any


class Entry:
    """One thing that happened: where it wrote (`out`), how to undo it, and its pull.

    `call` is the function that was called, where there is one. `activates`: it was the first to write a value that
    carries a gradient into its root, so that nothing before it has a cotangent there. `moves`: its
    pull hands its cotangent on as it is. `replays`: its pull runs the program again, and walks the log of that.
    """

    __slots__ = ("out", "position")

    out: Any
    position: Position
    call: Call | None = None
    activates: bool = False
    overwrites: bool = False
    moves: bool = True
    replays: bool = False

    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def where(self) -> str | None:
        """`file:line` of the user's call."""
        return resolve(self.position)

    def reads(self) -> Iterator[Any]:
        """The places of the values that it took, as far as they carry a gradient."""
        return iter(())

    def writes(self) -> Iterator[Any]:
        """The places that it wrote, those of new memory among them."""
        return places_in(self.out)

    def overwritten(self) -> Iterator[Overwritten]:
        """What it overwrote of memory that was there before, in the order of the writes."""
        return iter(())

    def bore(self) -> Iterator[Root]:
        """The roots that it made."""
        return iter(())

    def held(self) -> Iterator[tuple[Any, str]]:
        """Where it holds arrays for its way back: objects, and attributes of these with an array or a tuple of them."""
        return iter(())

    def woken(self) -> Iterable[Root]:
        """The roots that this entry was the first to give a value that carries a gradient."""
        return (self.out.root,) if self.activates else ()

    def take(self) -> Any:
        """The cotangent of what this entry wrote; None if there is none."""
        return self.out.take()

    def undo(self) -> None:
        """Exchange the bytes that this entry wrote and those that it overwrote; twice is nothing."""

    def pull(self, ct: Any) -> Cotangents:
        """`(place, cotangent)` of each input, given the cotangent of the output."""
        raise NotImplementedError

    def push(self, ct: Any) -> None:
        """Add what `pull` gives to the shadows of the inputs."""
        for place, cotangent in self.pull(ct):
            if cotangent is not None:
                place.accumulate(cotangent)

    def forget_before(self) -> None:
        """Before this entry, the roots that it woke held constants."""
        for root in self.woken():
            root.shadow = None
            root.active = False

    def forget(self) -> None:
        """Drop every shadow that this entry can reach."""
        for place in self.writes():
            place.root.shadow = None


class Birth(Entry):
    """An entry whose output is a new root."""

    __slots__ = ()

    def bore(self) -> Iterator[Root]:
        return self.writes()

    def take(self) -> Any:
        return at_birth(self.out)


def at_birth(root: Root) -> Any:
    """Take the cotangent of a root that was made by the entry at hand."""
    ct = root.shadow
    root.shadow = None
    asked = root.context.asked
    if asked and root in asked:
        asked[root] = ct
    return ct


class Operation(Birth):
    """A function of arrays whose results are new roots."""

    __slots__ = ("call", "output", "wanted")

    moves = False
    call: Call

    def __init__(self, position: Position, call: Call, out: Any, output: Any, wanted: tuple[int, ...]) -> None:
        self.position = position
        self.call = call
        self.out = out
        self.output = output
        self.wanted = wanted

    @property
    def name(self) -> str:
        return self.call.rule.name

    def reads(self) -> Iterator[Any]:
        return places_in(self.call.inputs)

    def held(self) -> Iterator[tuple[Any, str]]:
        yield self, "output"
        yield self.call, "args"

    def take(self) -> Any:
        out = self.out
        if type(out) is Root and not out.context.asked:
            ct, out.shadow = out.shadow, None
            return ct
        if type(out) is Root:
            return at_birth(out)
        cts = tuple(None if place is None else at_birth(place) for place in out)
        return None if all(ct is None for ct in cts) else cts

    def pull(self, ct: Any) -> Cotangents:
        call = self.call
        rule, inputs = call.rule, call.inputs
        if rule.broadcasts and rule.per_argument is not None:
            pulls = rule.per_argument
            return [(inputs[k], pulls[k](ct, self.output, *call.args)) for k in self.wanted]
        return self._pull_any(ct)

    def push(self, ct: Any) -> None:
        call = self.call
        rule = call.rule
        pulls = rule.per_argument
        if not rule.broadcasts or pulls is None:
            if pulls is not None and rule.takes_arrays and not (call.kwargs or call.names):
                self._push_each(ct)
                return
            for place, cotangent in self._pull_any(ct):
                place.accumulate(cotangent)
            return
        inputs, output, args = call.inputs, self.output, call.args
        for k in self.wanted:
            cotangent = pulls[k](ct, output, *args)
            if cotangent is not None:
                inputs[k].accumulate(cotangent)

    def _push_each(self, ct: Any) -> None:
        """`push` of a function that takes arrays by position: large cotangents are added to others as they are made."""
        call = self.call
        rule, args, output = call.rule, call.args, self.output
        for k in self.wanted:
            place = call.inputs[k]
            if rule.adding is not None and math.prod(place.shape) >= _LARGE and place.holds_own_shadow:
                region = place.region()
                alike = type(region) is type(ct) is np.ndarray
                if alike and rule.adding[k](region, ct, output, *args):
                    continue
            cotangent = rule.per_argument[k](ct, output, *args)
            if cotangent is not None:
                place.accumulate(self._checked(place, cotangent))

    def through(self, ct: Any) -> Cotangents:
        """What `pull` would give if every partial derivative were one: the cotangent itself, for each input."""
        return [(self.call.inputs[k], ct) for k in self.wanted]

    def at(self, args: tuple[Any, ...], output: Any) -> Operation:
        """The same operation at other operands."""
        return Operation(self.position, self.call.on(args), self.out, output, self.wanted)

    def _pull_any(self, ct: Any) -> Iterator[tuple[Any, Any]]:
        call = self.call
        args, kwargs = call.spelled(call.args) if call.names else (call.args, call.kwargs)
        for number, cotangent in call.rule.pull(ct, self.output, args, kwargs, self.wanted):
            place = call.inputs[number]
            if cotangent is None:
                continue
            if isinstance(place, (list, tuple)):
                yield from self._pull_sequence(place, cotangent)
            elif call.rule.broadcasts:
                yield place, cotangent
            else:
                yield place, self._checked(place, cotangent)

    def _pull_sequence(self, places: Any, cotangents: Any) -> Iterator[tuple[Any, Any]]:
        if len(cotangents) != len(places):
            raise RuleError(
                f"the pull of {self.name} returned {len(cotangents)} cotangents for a sequence of {len(places)} arrays",
                remedy="return a list with one cotangent (or None) for each array of the sequence",
            )
        for place, cotangent in zip(places, cotangents, strict=True):
            if place is None or cotangent is None:
                continue
            if isinstance(place, (list, tuple)):
                yield from self._pull_sequence(place, cotangent)
            else:
                yield place, self._checked(place, cotangent)

    def _checked(self, place: Any, cotangent: Any) -> Any:
        if getattr(cotangent, "shape", None) is None:
            cotangent = np.asarray(cotangent)
        if cotangent.shape != place.shape:
            raise RuleError(
                f"the pull of {self.name} returned a cotangent of shape {cotangent.shape} "
                f"for an input of shape {place.shape}",
                remedy="return one that has the input's shape: sum over the axes along which it was broadcast "
                "(bridge.extend.sum_to_shape)",
            )
        return cotangent


class Copy(Birth):
    """A read that made a copy (an element, a gather, `copy`): the cotangent goes to where it was read."""

    __slots__ = ("source",)

    def __init__(self, position: Position, out: Root, source: Any) -> None:
        self.position = position
        self.out = out
        self.source = source

    @property
    def name(self) -> str:
        return "getitem" if isinstance(self.source, Picked) else "copy"

    def reads(self) -> Iterator[Any]:
        yield self.source

    def held(self) -> Iterator[tuple[Any, str]]:
        if isinstance(self.source, Picked):
            yield self.source, "key"

    def pull(self, ct: Any) -> Cotangents:
        return ((self.source, ct),)


def is_bounded(log: list[Entry]) -> bool:
    """Whether a log is a `bridge.rewind.bounded_log.BoundedLog`."""
    return hasattr(log, "amount")


def another(log: Any) -> list[Entry]:
    """An empty log for a part of a run, which keeps within what the log of the whole keeps within."""
    made: list[Entry] = log.another() if is_bounded(log) else []
    return made


def blame(entry: Entry, error: Exception) -> None:
    """Say in the error of a pull which operation it belongs to, and where that was called."""
    note = f"in the pull of {entry.name}, called at {entry.where}"
    if isinstance(error, BridgeError):
        if error.where is None:
            error.add_place(note)
    else:
        error.add_note(note)
        call = getattr(entry, "call", None)
        if call is not None and any(hasattr(x, "place") for x in call.args):
            error.add_note(
                "  remedy: it was given tracked arrays, as for a higher derivative: write it with NumPy functions that "
                "have rules, or say orders=1 where the rule is registered, if it runs compiled code"
            )


class placed:
    """Errors of a pull that runs where its operation is called, as in forward mode, say where that is."""

    def __enter__(self) -> None:
        """Nothing is kept."""

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        where = resolve(here()) if isinstance(error, BridgeError) else None
        if isinstance(error, BridgeError) and where is not None:
            error.add_place(where)
