"""Python's loops in a program that is compiled, as loops of XLA.

A turn is run for trial, with the program's state as it is before the loop, and then with state as any turn may find it,
until what it leaves is of the same look (`carrying`). What cannot be carried, or cannot be traced with an index that is
not known, is no loop (`NotOneLoop`), and is unrolled. The first turn may run by itself, if it leaves other things than
the later ones do; if arrays change their names, as many turns as it takes until each has its first name again are one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.rewind.forward import ForwardContext
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.roots import serial_now
from bridge.rewind.values import is_abstract, lowered_to
from bridge.source.nodes import HELPER
from bridge.source.staging.truth import NotOneLoop, is_true, truth, unknown
from bridge.source.state import GONE, Place, variables_of
from bridge.trees import containers_of
from bridge.xla.loops.carrying import (
    Constant,
    Counter,
    Memory,
    Rebound,
    Unlike,
    check_apart,
    equal,
    growth,
    is_integer,
    look_of,
    memory,
)
from bridge.xla.loops.control import read_cell
from bridge.xla.loops.dry_runs import asked
from bridge.xla.loops.plans import Stale, looks
from bridge.xla.loops.repeating import Turns, repeat
from bridge.xla.loops.trials import Part, with_lent
from bridge.xla.tracing.integers import Bounds, affine_of

Names = tuple[str, ...]

_TRIALS = 8
"""How often what a loop carries is looked for before it is given up."""

_PERIODS = 3
"""How many turns may be one: the longest cycle in which arrays change their names."""


class Carried:
    """A place of the program's state, and how a loop carries it."""

    def __init__(self, place: Place, start: Any, is_read: bool) -> None:
        self.place = place
        self.start = ARRAYS.seen(start)
        self.is_read = is_read
        self.by: Constant = Constant(self.start)
        self.sample: Any = None

    def tried(self, context: Any, then: Any, after: Any, growth: int | None, since: int) -> bool:
        """Take what a turn for trial found and left; whether it is carried otherwise now."""
        start = self.start if self.is_read else GONE
        old = self.by
        if isinstance(old, Counter) and growth == old.step:
            return False
        if isinstance(old, Memory) and growth is not None and is_integer(start):
            self.by = Counter(start, growth)
            return True
        if isinstance(old, Memory):
            look = look_of(self.place, then, after, since)
            if look is None:
                return False
            if look.structure != old.look.structure:
                raise NotOneLoop(f"what {self.place.name} holds changes from turn to turn")
            if not look.is_wider_than(old.look):
                return False
        look = look_of(self.place, start, after, since)
        if look is not None:
            self.by = memory(context, look, start, after)
            self.sample = after
        return look is not None

    def plan(self) -> Any:
        """How it is carried, to be kept for the next time."""
        if isinstance(self.by, Memory):
            return self.by.look, self.sample
        return self.by.step if isinstance(self.by, Counter) else None

    def adopt(self, context: Any, plan: Any) -> None:
        """Let it be carried as it was the last time."""
        start = self.start if self.is_read else GONE
        if isinstance(plan, tuple):
            look, self.sample = plan
            if start is not GONE and containers_of(start)[1] != look.structure:
                raise Stale
            self.by = memory(context, look, start, self.sample)
        elif plan is not None:
            self.by = Counter(start, plan)

    def check(self, then: Any, after: Any, since: int) -> None:
        """Raise Stale if a turn leaves something that is not carried as planned."""
        if isinstance(self.by, Counter):
            fits = growth(then, after) == self.by.step
        elif isinstance(self.by, Memory):
            look = look_of(self.place, then, after, since)
            fits = look is None or (look.structure == self.by.look.structure and not look.is_wider_than(self.by.look))
        else:
            fits = after is GONE or equal(after, self.by.value)
        if not fits:
            raise Stale


class Loop:
    """A loop of the program: its turns, what they carry, and the flags that end it."""

    def __init__(
        self,
        context: Any,
        turn: Callable[[Any], None],
        body: Any,
        names: tuple[Names, ...],
        may_be_empty: bool,
        own: float = math.inf,
    ) -> None:
        self.own = own
        self.writes_carried = False
        live, exposed, stored, stops = names
        leaving = tuple(dict.fromkeys((*live, *exposed, *stops)))
        self.context = context
        self.may_be_empty = may_be_empty
        self.then: list[Any] = []
        self.number: Any = None
        self.is_planned = False
        self.scratch = variables_of(body, tuple(name for name in stored if name not in leaving))
        self.carried = [
            Carried(one, one.get(), one.name in exposed or one.name in stops or may_be_empty)
            for one in variables_of(body, leaving)
        ]
        self.stops = [one for one in self.carried if one.place.name in stops]
        self.part = Part(context, turn, [one.place for one in self.carried] + self.scratch)

    def find(self, bounds: Bounds) -> None:
        """Find out what is carried; NotOneLoop if that cannot be."""
        for _ in range(_TRIALS):
            then, (after, growths), since, watch = self.part.tried(bounds, self._set, self._left)
            check_apart(zip([one.place for one in self.carried], after, strict=True), since)
            changes = [
                one.tried(self.context, was, left, grown, since)
                for one, was, left, grown in zip(self.carried, then, after, growths, strict=True)
            ]
            known = {one.key for one in self.part.places}
            more = [(place, before) for key, (place, before) in watch.parts.items() if key not in known]
            for place, before in more:
                self.carried.append(Carried(place, before, True))
            self.part.add(more)
            if not more and not any(changes):
                self._check_names()
                return
        raise NotOneLoop("what its turns leave does not become the same")

    def _check_names(self) -> None:
        """Raise if a turn writes into an array that may have other names, and then gives up its name for another one.

        Memory stands for what the name is bound to, turn by turn; a write into it would not be seen by other names.
        """
        seen: dict[int, str] = {}
        for one in self.carried:
            if not isinstance(one.by, Memory) or not one.is_read or one.start is GONE:
                continue
            for leaf, cell in zip(containers_of(one.start)[0], one.by.cells, strict=True):
                root = getattr(getattr(cell, "place", None), "root", None)
                if cell is leaf or root not in self.part.written or not np.shape(leaf):
                    continue
                self.writes_carried = True
                older = getattr(getattr(leaf, "place", None), "root", None)
                if older is None or older.serial <= self.own or seen.setdefault(id(older), "") != "":
                    raise Unlike(
                        f"a turn writes into the array of {one.place.name}, which may have other names, and then binds "
                        f"another one to it (write it in place: {one.place.name}[...] = ...)"
                    )
                seen[id(older)] = one.place.name

    def adopt(self, plan: list[Any]) -> None:
        """Carry what it carried when it was met before."""
        self.is_planned = True
        for one, own in zip(self.carried, plan, strict=True):
            one.adopt(self.context, own)

    def _set(self, k: Any) -> list[Any]:
        """Let the places hold what they hold in the turn with number `k`."""
        values = [one.by.at(k) for one in self.carried]
        for one, value in zip(self.carried, values, strict=True):
            one.place.set(value)
        self.then = values
        return values

    def _left(self) -> tuple[list[Any], list[int | None]]:
        """What a turn has left, and by how much integers have grown."""
        after = self._get()
        return after, [growth(*pair) for pair in zip(self.then, after, strict=True)]

    def _get(self) -> list[Any]:
        return [ARRAYS.seen(one.place.get()) for one in self.carried]

    def step(self, k: Any) -> None:
        """One turn, the one with number `k`."""
        since = serial_now()
        with self.part.watched({place.key for place in self.part.places}), self.part.state():
            then = self._set(k)
            self.part.run(k)
            left = self._get()
            if self.is_planned:
                check_apart(zip([one.place for one in self.carried], left, strict=True), since)
                for one, was, value in zip(self.carried, then, left, strict=True):
                    one.check(was, value, since)
            for one, value in zip(self.carried, left, strict=True):
                one.by.take(value)
            for one in self.carried:
                one.by.settle()
            if self.number is not None:
                self.number[...] = k + 1

    def count_turns(self) -> None:
        """Keep the number of the turn in memory, for what is asked between two turns."""
        self.number = self.context.constant_buffer(np.zeros((), np.int64))

    @property
    def turns(self) -> Any:
        """How many turns were made."""
        return read_cell(self.number, "weak")

    def finish(self, count: Any) -> None:
        """Let the places hold what the last of `count` turns has left."""
        unbound = [one.place.name for one in self.carried if one.start is GONE and isinstance(one.by, Memory)]
        names = ", ".join(name for name in unbound if not name.startswith(HELPER))
        if self.may_be_empty and names:
            error = UnboundLocalError(f"{names}: bound in a loop that made no turn ({resolve(here())})")
            self.context.home.trace.faults.check_raises(lowered_to(self.context.home.trace, count <= 0), error)
        for one in self.carried:
            one.place.set(one.by.at(count))
        for place in self.scratch:
            place.set(GONE)

    def going(self) -> Any:
        """Whether no flag is set."""
        wanted: Any = True
        for one in self.stops:
            flag = one.by.at(self.turns)
            if unknown(flag):
                wanted = np.logical_not(truth(flag)) & wanted
            elif is_true(flag):
                return False
        return wanted


def staged_loop(context: Any, items: Any, body: Any, live: Names, exposed: Names, stored: Names, stops: Names) -> None:
    """`for` over items with numbers; NotOneLoop, with the number of turns that were made, if it is to be unrolled."""
    names = live, exposed, stored, stops
    count = items.count
    if is_abstract(count):
        _counted(context, items, body, names, 0, 1, math.inf)
        return
    done, own = 0, math.inf
    while True:
        try:
            _in_periods(context, items, body, names, done, own)
            return
        except Unlike as error:
            error.done = done
            if done or count < 3:
                raise
            # What a turn leaves may look as what it found, from the second one on.
            own = serial_now()
            body(items.at(0))
            done = 1
            flags = [one.get() for one in variables_of(body, stops)]
            if any(map(unknown, flags)) or any(map(is_true, flags)):
                error.done = count if not any(map(unknown, flags)) else done
                raise
        except NotOneLoop as error:
            error.done = done
            raise


def _in_periods(context: Any, items: Any, body: Any, names: tuple[Names, ...], done: int, own: float) -> None:
    """The turns after the first `done`, as many of them as one as it takes until arrays have their names again."""
    for period in range(1, _PERIODS + 1):
        if items.count - done < 2 * period:
            raise NotOneLoop("it is short")
        try:
            with_lent(context, partial(_counted, context, items, body, names, done, period, own))
            return
        except Rebound:
            if period == _PERIODS:
                raise


def _counted(context: Any, items: Any, body: Any, names: Any, done: int, period: int, own: float) -> None:
    """The turns of a `for` loop after the first `done`, each `period` of them as one.

    Memory with a higher number than `own` was made by the turn that ran by itself, and has no older names.
    """
    count, rows = items.count, None

    def turn(k: Any) -> None:
        for one in range(period):
            number = k if period == 1 else k * period + one
            body(items.at(number + done if done else number))
            if period > 1 and any(unknown(flag.get()) or is_true(flag.get()) for flag in variables_of(body, names[3])):
                raise NotOneLoop("it may end between two turns that would have to be one")

    if is_abstract(count):
        low, high = affine_of(count).bounds()
        may_be_empty = low is None or low < 1
        turns = count if low is not None and low >= 0 else np.maximum(count, 0)
        if high is None and _is_logged(context):
            faults = context.home.trace.faults
            rows = faults.limit()
            faults.check_turns(rows, lowered_to(context.home.trace, turns > rows), affine_of(turns))
    else:
        low = high = turns = (count - done) // period
        may_be_empty = False

    def run(loop: Loop) -> None:
        going = None
        if any(isinstance(one.by, Memory) for one in loop.stops):
            loop.count_turns()
            going = loop.going
        end = repeat(context, Turns(0, turns, going, rows=rows), loop.step)
        loop.finish(turns if going is None else end)

    _planned(context, lambda: Loop(context, turn, body, names, may_be_empty, own), (0, high), (body, done, period), run)
    if period > 1:
        for k in range(done + turns * period, count):
            body(items.at(k))


def _planned(
    context: Any, make: Callable[[], Loop], bounds: Bounds, what: tuple[Any, ...], run: Callable[[Loop], None]
) -> None:
    """Find out what a loop carries, and run it; or run it as it was found to be when it was met before."""
    plans = context.home.trace.plans
    loop = make()
    key = (what[0].__code__, *what[1:], context.level, loop.may_be_empty, looks(loop.part.places))
    if key in plans:
        try:
            loop.adopt(plans[key])
            run(loop)
            return
        except Exception:
            del plans[key]
            loop = make()
    with_lent(context, lambda: loop.find(bounds))
    if len(loop.part.places) == len(key[-1]) and not loop.writes_carried:
        plans[key] = [one.plan() for one in loop.carried]
    run(loop)


def staged_repeat(context: Any, test: Any, body: Any, live: Names, exposed: Names, stored: Names, stops: Names) -> None:
    """`while`."""
    with_lent(context, lambda: _repeated(context, test, body, live, exposed, stored, stops))


def _repeated(context: Any, test: Any, body: Any, live: Names, exposed: Names, stored: Names, stops: Names) -> None:
    def turn(k: Any) -> None:
        body()
        test()

    loop = Loop(context, turn, body, (live, exposed, stored, stops), may_be_empty=True)
    loop.find((0, None))
    _check_condition(context, test)
    count = _count(loop, test)
    if count is not None:
        loop.part.run = lambda k: body()
        repeat(context, Turns(0, count), loop.step)
        loop.finish(count)
        return

    def going() -> Any:
        with loop.part.state():
            loop._set(loop.turns)
            wanted = test()
            wanted = truth(wanted) if unknown(wanted) else np.bool_(is_true(wanted))
            return wanted & loop.going()

    faults = context.home.trace.faults
    rows = faults.limit() if _is_logged(context) else None
    loop.count_turns()
    loop.part.run = lambda k: body()
    end = repeat(context, Turns(0, _MANY, going, rows=rows), loop.step)
    if rows is not None:
        wants_more = np.logical_or(end > rows, asked(context, going))
        faults.check_turns(rows, lowered_to(context.home.trace, wants_more), affine_of(end))
    loop.finish(end)


def _check_condition(context: Any, test: Any) -> None:
    """NotOneLoop if the condition of a `while` does more than to ask."""
    asks = Part(context, lambda k: test(), [])
    _, _, since, watch = asks.tried((0, None), lambda k: None, lambda: None)
    names = [place.name for place, _ in watch.parts.values()]
    if names or any(root.serial <= since for root in asks.written):
        raise NotOneLoop(f"its condition changes {names[0] if names else 'an array'}")


def _is_logged(context: Any) -> bool:
    """Whether what a loop overwrites is kept, turn by turn."""
    while context.differentiates:
        if not isinstance(context, ForwardContext):
            return True
        context = context.outer
    return False


def _count(loop: Loop, test: Any) -> int | None:
    """How many turns a `while` makes whose condition depends on counters alone; None if it is another one."""
    if any(isinstance(one.by, Memory) for one in loop.stops):
        return None
    names = {one.place.name for one in loop.carried if isinstance(one.by, Counter) and not is_abstract(one.by.value)}
    varying = {one.place.name for one in loop.carried if isinstance(one.by, Memory)} | {
        one.place.name for one in loop.carried if isinstance(one.by, Counter) and is_abstract(one.by.value)
    }
    read = set(test.__code__.co_freevars)
    if not names & read or varying & read or any("." in one.place.name for one in loop.carried):
        return None
    for k in range(_MOST_TURNS):
        with loop.part.state():
            loop._set(k)
            wanted = test()
            if unknown(wanted):
                return None
            if not is_true(wanted):
                return k
    return None


_MANY = 2**62
_MOST_TURNS = 1_000_000
"""Turns that are counted of a `while` loop whose condition depends on counters alone."""


def unrolling(context: Any, count: Any, reason: str) -> None:
    """Take note that a loop is unrolled, and why."""
    context.home.trace.length.note_unrolled(here(), count, reason)


__all__ = ["Carried", "Loop", "staged_loop", "staged_repeat", "unrolling"]
