"""The fingerprint of a run: what a body did, so that it can be told whether it did the same when it was run again."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bridge.rewind.interpreter import Call, Listener
from bridge.rewind.places import is_place
from bridge.rewind.roots import Root, serial_now
from bridge.rewind.values import ground_floor
from bridge.signatures import operation_name

Step = tuple[Any, ...]


class Held:
    """What memory held through which no gradient passes: two runs look alike, whatever it was.

    Memory is told by its serial number, and what it held at another time by its version. `origin` is what it was made
    of, if that is known; `contents` is what compiled programs compare while they run, if they can.
    """

    __slots__ = ("contents", "origin", "serial", "version")

    def __init__(self, root: Root) -> None:
        self.serial = root.serial
        self.origin = root.origin
        self.version, self.contents = root.held_now()

    def __eq__(self, other: object) -> bool:
        return type(other) is Held

    def __hash__(self) -> int:
        return hash(Held)

    def is_as(self, other: Held, runs: tuple[Fingerprint, Fingerprint]) -> bool | None:
        """Whether it is what another run has read; None if only its contents tell."""
        if (self.serial, self.version) == (other.serial, other.version) or self.contents is other.contents:
            return True
        if self.origin is not None and other.origin is not None:
            return bool(self.origin == other.origin)
        # What two runs have made themselves is what their operations made it.
        both = all(one.serial > run.began for one, run in zip((self, other), runs, strict=True))
        return True if both else None


class Fingerprint:
    """The operations of one run, as its context was told of them: plain operands by value, memory by number.

    Memory that existed before the body, up to the serial number `since`, is known by its own number, other memory by
    the step that made it, and the order in which it appears. `around` is the fingerprint of a body around this one,
    `earlier` that of the run which this one repeats.
    """

    def __init__(self, since: int, around: Fingerprint | None, earlier: Fingerprint | None = None) -> None:
        self.since = since
        self.began = serial_now()
        self.around = around
        self.earlier = earlier
        # What was decided about memory; None where one name stands for two decisions.
        self._decided: dict[Any, bool | None] = {}
        self.steps: list[Step] = []
        self._born_after: list[int] = []
        self._young: dict[Root, tuple[int, int]] = {}
        self._counts: Counter[int] = Counter()
        self._places: dict[Any, int] = {}
        self._before: Listener | None = None

    @contextmanager
    def listening(self, context: Any) -> Iterator[None]:
        """Inside, note what a context is told; who listened before still hears it, but for a fingerprint.

        To the fingerprint of a body around this one a run counts when it is closed: how often a body is run for one
        loop differs between runs.
        """
        before, context.listener = context.listener, self
        self._before = but_for_a_fingerprint(before)
        try:
            yield
        finally:
            context.listener = before

    def heard(self, event: str, *what: Any) -> None:
        """Note an event."""
        self._born_after.append(serial_now())
        self.steps.append((event, *self._heard(event, what)))
        if self._before is not None:
            self._before.heard(event, *what)

    def unless_tried_again(self) -> Callable[[], None]:
        """What makes it forget all that it hears from here on: a part of the body that has failed is run once more."""
        steps, born = len(self.steps), len(self._born_after)
        places, young, counts = dict(self._places), dict(self._young), self._counts.copy()

        def forget() -> None:
            del self.steps[steps:], self._born_after[born:]
            self._places, self._young, self._counts = dict(places), dict(young), counts.copy()

        return forget

    def close(self) -> None:
        """Tell the fingerprint around this one what was done in this run; the last time is what counts."""
        if self.around is not None:
            steps, places = self.around.steps, self.around._places
            if self not in places:
                places[self] = len(steps)
                steps.append(())
            steps[places[self]] = "body", *self.steps

    def heard_tape(self, tape: Any) -> None:
        """Note a body that is replayed: also by what it has read without a gradient."""
        taken = [one.held for one in tape.outside if hasattr(one, "held")]
        constants = tuple([self._constant(x) for x in taken if not x.place.root.active])
        self._born_after.append(serial_now())
        self.steps.append(("body", tape.outline(), constants))

    def heard_state(self, values: Iterable[Any]) -> None:
        """Note what a loop begins with, whatever memory was made for it."""
        told = [self._told(x) if hasattr(x, "place") and x.place.root.active else self._constant(x) for x in values]
        self._born_after.append(serial_now())
        self.steps.append(("state", *told))

    def decides(self, key: Any, root: Root, ask: Callable[[], bool]) -> bool:
        """What was decided about memory at `key` when this run, or one around it, was the first; what `ask` says else.

        What names reach is another thing when a body is run again, long after the program has gone on.
        """
        named, chain = (key, self._looks_like(root)), list(self._chain())
        for one in chain:
            known = None if one.earlier is None else one.earlier._decided.get(named)
            if known is not None:
                break
        else:
            known = ask()
        for one in chain:
            one._decided[named] = known if one._decided.get(named, known) is known else None
        return known

    def _chain(self) -> Iterator[Fingerprint]:
        one: Fingerprint | None = self
        while one is not None:
            yield one
            one = one.around

    def _looks_like(self, root: Root) -> Step:
        """The number of memory but for what else was made by the same step."""
        if root.serial > self.since:
            return "young", bisect(self._born_after, root.serial)
        return ("old", root.serial) if self.around is None else ("around", *self.around._looks_like(root))

    def _heard(self, event: str, what: tuple[Any, ...]) -> Iterator[Any]:
        if event != "write":
            # How an update is run, and what a mutating call has overwritten, follows from the rest.
            yield from map(self._told, what[:-1] if event in ("update", "mutated") else what)
            return
        target, key, place, value, source = what
        yield from map(self._told, (target, key, place))
        yield self._told(value) if source is not None else self._constant(value)
        yield self._told(source)

    def _constant(self, x: Any) -> Any:
        """The same of an operand through which no gradient passes: also by what it holds, if it is not known."""
        if isinstance(x, (list, tuple)):
            return tuple(map(self._constant, x))
        if not hasattr(x, "place"):
            return self._told(x)
        place = ground_floor(x).place
        return *self._told(x), self._held(place.root), *self._keys(place)

    def _held(self, root: Root) -> Held:
        return root.origin if isinstance(root.origin, Held) else Held(root)

    def _operands(self, args: Any, inputs: Any) -> Any:
        """Operands, of which those count by their look whose places, which are told as well, carry a gradient."""
        if isinstance(args, (list, tuple)) and isinstance(inputs, (list, tuple)) and len(args) == len(inputs):
            return tuple(map(self._operands, args, inputs))
        return self._constant(args) if inputs is None else self._told(args)

    def recipe(self, call: Call) -> Any:
        """What tells memory apart that a call made of plain operands and of memory whose origin is known; else None."""
        told = self._origins(call.args)
        return None if told is None else hash((call.name, told, self._told(dict(call.kwargs)), call.names))

    def recipe_of_write(self, place: Any, value: Any) -> Any:
        """The same of memory, after such a value is written into a place of it."""
        origin = place.root.origin
        told = None if origin is None or isinstance(origin, Held) else self._origins(value)
        return None if told is None else hash((origin, *self._keys(place), told))

    def origin_of_copy(self, source: Any) -> Any:
        """What memory is made of that is a copy of what lies at a place."""
        root = source.root
        if root.origin is not None and not isinstance(root.origin, Held):
            return hash((root.origin, *self._keys(source)))
        return self._held(root) if root.origin is not None or root.serial <= self.began else None

    def _origins(self, x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            parts = tuple(map(self._origins, x))
            return None if any(part is None for part in parts) else parts
        if not hasattr(x, "place"):
            return (self._told(x),)
        place = ground_floor(x).place
        origin = place.root.origin
        return None if origin is None or isinstance(origin, Held) else (origin, *self._keys(place))

    def _told(self, x: Any) -> Any:
        """What a context is told, in a form that can be compared; values that are not known count by their look."""
        if isinstance(x, Call):
            rest = (x.inputs, dict(x.kwargs), x.plain, x.names)
            return x.name, self._operands(x.args, x.inputs), *map(self._told, rest)
        if is_place(x):
            return self._place(x)
        if hasattr(x, "place"):
            return "tracked", x.shape, x.dtype
        if isinstance(x, np.ndarray):
            return x.shape, x.dtype.str, hash(x.tobytes()) if x.dtype.kind in "fciub" else None
        if isinstance(x, (bool, int, float, complex, np.generic)):
            return type(x), np.asarray(x).tobytes()
        if isinstance(x, (list, tuple)):
            return tuple(map(self._told, x))
        if isinstance(x, dict):
            return tuple((name, self._told(part)) for name, part in x.items())
        if isinstance(x, slice):
            return tuple(map(self._told, (x.start, x.stop, x.step)))
        if isinstance(x, (str, bytes, type(None), type(Ellipsis))):
            return x
        return operation_name(getattr(x, "function", x)) if callable(x) else type(x)

    def _place(self, place: Any) -> Step:
        return (*self._number(place.root), *self._keys(place))

    def _keys(self, place: Any) -> Iterator[Any]:
        while place is not place.root:
            yield self._constant(getattr(place, "key", None))
            place = place.parent

    def _number(self, root: Root) -> Step:
        if root.serial > self.since:
            if root not in self._young:
                step = bisect(self._born_after, root.serial)
                self._young[root] = step, self._counts[step]
                self._counts[step] += 1
            return ("young", *self._young[root])
        return ("old", root.serial) if self.around is None else ("around", *self.around._number(root))


def but_for_a_fingerprint(listener: Any) -> Listener | None:
    """A listener, of whom the fingerprint of a body around is no part."""
    if listener is None or isinstance(listener, Fingerprint):
        return None
    apart: Any = getattr(listener, "but_for_a_fingerprint", lambda: listener)
    found: Listener = apart()
    return found


def constants(one: Fingerprint) -> Iterator[Held]:
    """What memory held through which no gradient passes, in the order in which a run has read it."""
    waiting: list[Any] = [one.steps]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Held):
            yield part
        elif isinstance(part, (list, tuple)):
            waiting += reversed(part)


def parting(one: Fingerprint, other: Fingerprint) -> str | None:
    """Where two runs of a body part, for a message; None if they did the same."""
    for number, (a, b) in enumerate(zip(one.steps, other.steps, strict=False)):
        if a != b:
            what = a[1][0] if a[0] == "result" else a[0]
            return f"operation {number + 1} of {len(one.steps)} ({what}) differs"
    if len(one.steps) != len(other.steps):
        return f"{len(one.steps)} operations before, {len(other.steps)} now"
    return None
