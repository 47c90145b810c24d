"""The state that a loop of the program carries, inferred by trials, and the iterations of the loop.

An iteration runs for trial first with the present state, then with the state that any iteration may find, until the
types of what it leaves are stable (`carried_values`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import TraceError
from bridge.rewind.fingerprint import Fingerprint, parting
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.operands import Retake
from bridge.rewind.ownership import Standing
from bridge.rewind.roots import Root, ground_of, serial_now
from bridge.rewind.values import lowered_to
from bridge.source.nodes import HELPER
from bridge.source.staging.truth import NotOneLoop, is_true, truth, unknown
from bridge.source.state import variables_of
from bridge.state.slots import GONE, Variable
from bridge.trees import containers_of
from bridge.xla.loops.carried_values import (
    Memory,
    Unlike,
    alike,
    check_apart,
    growth,
    handed_on,
    read_cell,
)
from bridge.xla.loops.loop_variable import LoopVariable
from bridge.xla.loops.may_alias import Left, all_known, handed_to_the_next_turn, may_be, others_of
from bridge.xla.loops.phi import keep
from bridge.xla.loops.taped import replay_error, was_marked
from bridge.xla.loops.trial_cache import PlanMismatch, abstract_values
from bridge.xla.loops.trial_errors import check_cause
from bridge.xla.loops.trials import TrialPart, with_lent
from bridge.xla.tracing.integers import Bounds

Names = tuple[str, ...]

_TRIALS = 8
"""How often what a loop carries is looked for before it is given up."""

_TURNS_UNLIKE = 3
"""How many turns may do something else than the one before."""


class LoopState:
    """A loop of the program: its iterations, the state that they carry, and the flags that end it."""

    def __init__(
        self,
        context: Any,
        turn: Callable[[Any], None],
        body: Any,
        names: tuple[Names, ...],
        may_be_empty: bool,
        own: float = math.inf,
        exchanges: bool = False,
        asks: Callable[[], Any] = lambda: None,
    ) -> None:
        self.own = own
        self.asks = asks
        self.since = serial_now()
        self.exchanges = exchanges
        self.exchanged = False
        self.writes_carried = False
        self.has_other_names = False
        live, exposed, stored, stops = names
        leaving = tuple(dict.fromkeys((*live, *exposed, *stops)))
        self.context = context
        self.code = body.__code__
        self.is_called = was_marked(body)
        self.live = frozenset(live)
        self.may_be_empty = may_be_empty
        self.then: list[Any] = []
        self.number: Any = None
        self.is_planned = False
        # Fingerprints of turns, and what they left, of which none was like the one before.
        self.unconfirmed: list[tuple[Fingerprint, list[Any]]] = []
        self.tried_since = 0
        self.scratch = variables_of(body, tuple(name for name in stored if name not in leaving))
        self.carried = [
            LoopVariable(one, one.get(), one.name in exposed or one.name in stops or may_be_empty)
            for one in variables_of(body, leaving)
        ]
        self.stops = [one for one in self.carried if one.place.name in stops]
        self.part = TrialPart(context, turn, [one.place for one in self.carried] + self.scratch)

    def find(self, bounds: Bounds) -> None:
        """Find out what is carried; NotOneLoop if that cannot be."""
        for _ in range(_TRIALS):
            with self._begun():
                then, (after, growths), since, watch = self.part.tried(bounds, self._set, self._left)
            check_apart(zip([one.place for one in self.carried], after, strict=True), since)
            hands = handed_on(self.carried, after) if self.exchanges else frozenset()
            self.exchanged = self.exchanged or any(
                leaf.place.root in hands
                for one, left in zip(self.carried, after, strict=True)
                if isinstance(one.by, Memory) and left is not GONE
                for leaf, cell in zip(containers_of(left)[0], one.by.cells, strict=False)
                if hasattr(leaf, "view_as") and leaf is not cell
            )
            changes = [
                one.tried(self.context, was, left, grown, since, hands)
                for one, was, left, grown in zip(self.carried, then, after, growths, strict=True)
            ]
            changes.append(self._follow(after))
            known = {one.key for one in self.part.places}
            more = [(place, before) for key, (place, before) in watch.parts.items() if key not in known]
            for place, before in more:
                self.carried.append(LoopVariable(place, before, True))
            self.part.add(more)
            if not more and not any(changes):
                self._check_names()
                self.unconfirmed, self.tried_since = [(self.part.fingerprint, after)], since
                return
        raise NotOneLoop("what its turns leave does not become the same")

    def _follow(self, after: list[Any]) -> bool:
        """Let memory that is carried follow what turns may leave in it; whether more is known of that than before."""
        has_met = self._let_follow(after)
        self._hand_on(after)
        return self._learn() or has_met

    def _let_follow(self, after: list[Any]) -> bool:
        """Let carried memory follow the arrays that it may be; returns whether an iteration may leave another one."""
        changes = [
            one.meet(self.context, self.code, left, self.since) for one, left in zip(self.carried, after, strict=True)
        ]
        places = [one.place for one in self.carried]
        keep(self.context, [chosen for one in self.carried for chosen in one.choosing], places)
        for one in self.carried:
            one.follow()
        return any(changes)

    def _learn(self) -> bool:
        """Let a later turn know what memory that is carried may be; whether it has not known that before."""
        known, found = self.part.merged, self.context.merged
        cells = {cell.place.root for one in self.carried if isinstance(one.by, Memory) for cell in one.by.own}
        met = {one for cell in cells for one in (cell, *others_of(self.context, cell))}
        # What a trial has made is nobody's any more.
        older = {one for one in met if one in found and one not in cells and one.serial <= self.since}
        left = {one: older for one in cells & found.keys()} | dict.fromkeys(older, cells)
        more = {
            one: Standing(found[one].position, found[one].others & those, found[one].apart & those)
            for one, those in left.items()
        }
        self.part.merged = all_known(known, more)
        self.has_other_names = self.has_other_names or bool(more)
        return any(one not in known or not more[one].apart <= known[one].apart for one in more if more[one].others)

    def _confirm(self, left: list[Any]) -> None:
        """Look whether a turn did what the last trial did.

        Raises
        ------
        Retake : it did something else. The turn is to be run again: what it found may have been the first of its kind.
        TraceError : it does something else each time. It changes what nobody sees or can put back.
        """
        if not self.unconfirmed:
            return
        fingerprint, after = self.unconfirmed[-1]
        differs = parting(fingerprint, self.part.fingerprint)
        plain = [one.place.name for one, a, b in zip(self.carried, after, left, strict=True) if not alike(a, b)]
        if differs is None and not plain:
            self.unconfirmed = []
            return
        if len(self.unconfirmed) < _TURNS_UNLIKE:
            self.unconfirmed.append((self.part.fingerprint, left))
            raise Retake(may_run_again=True)
        what = differs or f"{plain[0]} has another value"
        if self.is_called:
            raise replay_error(here(), what)
        raise TraceError(
            f"a turn of a loop does something else each time it is run: {what}",
            where=resolve(here()),
            remedy="let it depend on what the function is given: no iterators, files or counters from outside of the "
            'loop; or use engine="native"',
        )

    def _check_names(self) -> None:
        """Raise if a turn writes into an array that may have other names, and then gives up its name for another one.

        Memory stands for what the name is bound to, turn by turn; a write into it would not be seen by other names.
        """
        seen: set[int] = set()
        for one in self.carried:
            if not isinstance(one.by, Memory) or not one.is_read or one.start is GONE:
                continue
            for leaf, cell in zip(containers_of(one.start)[0], one.by.cells, strict=True):
                root = getattr(getattr(cell, "place", None), "root", None)
                older = getattr(getattr(leaf, "place", None), "root", None)
                if cell is leaf or not np.shape(leaf) or older in one.followed:
                    continue
                is_written_elsewhere = older is not None and older in self.part.written
                if root not in self.part.written and not is_written_elsewhere and not self.exchanged:
                    continue
                self.writes_carried = True
                if is_written_elsewhere or older is None or id(older) in seen or self._may_have_other_names(older):
                    raise Unlike(
                        f"a turn writes into the array of {one.place.name}, which may have other names, and then binds "
                        f"another one to it (write it in place: {one.place.name}[...] = ...)"
                    )
                seen.add(id(older))

    def _may_have_other_names(self, older: Root) -> bool:
        """Whether the program may reach memory that a place had before the loop by something else."""
        if older.serial > self.own:
            return False
        loan = self.context.loan
        if loan is None:
            return True
        held = [(one.place, one.place.get()) for one in self.carried]
        for place, _ in held:
            place.set(None)
        try:
            return bool(loan.names.reaches({older, *others_of(self.context, older)}))
        finally:
            for place, value in held:
                place.set(value)

    @property
    def first(self) -> list[Any]:
        """The values that the first iteration finds."""
        starts = [one.start for one in self.carried if one.is_read and one.start is not GONE]
        return [leaf for start in starts for leaf in containers_of(start)[0]]

    def adopt(self, plan: list[Any]) -> None:
        """Carry what it carried when it was met before."""
        self.is_planned = True
        for one, own in zip(self.carried, plan, strict=True):
            one.adopt(self.context, own)
        # An iteration that leaves an array which it did not make does not fit the plan.
        self._let_follow([one.start if one.is_read else GONE for one in self.carried])

    def _unfollowed(self) -> list[Any]:
        """Memory of arrays that names are bound to, and what that was before the loop, if it does not follow that."""
        return [
            ground_of(array.place.root)
            for one in self.carried
            if isinstance(one.by, Memory) and one.is_read and one.start is not GONE
            for leaf, cell in zip(containers_of(one.start)[0], one.by.cells, strict=True)
            if cell is not leaf and np.shape(leaf)
            for array in (leaf, cell)
            if hasattr(array, "view_as") and array.place.root not in one.followed
        ]

    def _set(self, k: Any) -> list[Any]:
        """Let the places hold what they hold in the turn with number `k`."""
        values = [one.by.at(k) for one in self.carried]
        first = self.context.home.trace.first_turns
        for one, value in zip(self.carried, values, strict=True):
            one.place.set(value)
            if isinstance(one.place, Variable) and one.start is GONE and value is not GONE:
                first[id(one.place.cell)] = value, k
        self.then = values
        return values

    def _left(self) -> tuple[list[Any], list[int | None]]:
        """What a turn has left, and by how much integers have grown."""
        after = self._get()
        self.asks()
        return after, [growth(*pair) for pair in zip(self.then, after, strict=True)]

    def _hand_on(self, left: list[Any]) -> None:
        """Take note of what memory that is carried may be in the next turn."""
        handed_to_the_next_turn(
            self.context,
            [
                Left(cell.place.root, leaf.place.root, self.since if cell.place.root in one.following else None)
                for one, value in zip(self.carried, left, strict=True)
                if isinstance(one.by, Memory) and value is not GONE
                for cell, leaf in zip(one.by.cells, containers_of(value)[0], strict=False)
                if hasattr(cell, "view_as") and hasattr(leaf, "view_as")
            ],
        )

    def _get(self) -> list[Any]:
        return [ARRAYS.seen(one.place.get()) for one in self.carried]

    def step(self, k: Any) -> None:
        """One turn, the one with number `k`."""
        since = serial_now()
        with (
            self._begun(),
            self.part.watched({place.key for place in self.part.places}),
            self.part.state(),
        ):
            unfollowed = [(cell, cell.version) for cell in self._unfollowed()] if self.is_planned else []
            with self.part.heard(self.tried_since) if self.unconfirmed else nullcontext():
                then = self._set(k)
                self.part.run(k)
            left = self._get()
            if any(cell.version != version for cell, version in unfollowed):
                # Whether it has other names was not asked.
                raise PlanMismatch
            self._confirm(left)
            if self.is_planned:
                check_apart(zip([one.place for one in self.carried], left, strict=True), since)
                for one, was, value in zip(self.carried, then, left, strict=True):
                    one.check(was, value, since)
            self._hand_on(left)
            for one, value in zip(self.carried, left, strict=True):
                one.take(value)
            for one in self.carried:
                one.settle()
            if self.number is not None:
                self.number[...] = k + 1

    @contextmanager
    def _begun(self) -> Iterator[None]:
        """Inside runs one turn, which notes the variables that have no value in the first one."""
        trace = self.context.home.trace
        before, trace.first_turns = trace.first_turns, dict(trace.first_turns)
        try:
            yield
        finally:
            trace.first_turns = before

    def count_turns(self) -> None:
        """Keep the number of the turn in memory, for what is asked between two turns."""
        self.number = self.context.constant_buffer(np.zeros((), np.int64))

    @property
    def varying(self) -> list[Any]:
        """The integers and masks, of the outermost context, that each turn writes."""
        cells = [cell for one in self.carried if isinstance(one.by, Memory) for cell in one.by.own]
        if self.number is not None:
            cells.append(self.number)
        return [ground_of(cell.place.root) for cell in cells if cell.dtype.kind in "iub"]

    @property
    def turns(self) -> Any:
        """How many turns were made."""
        return read_cell(self.number, "weak")

    def finish(self, count: Any) -> None:
        """Let the places hold what the last of `count` turns has left."""
        unbound = [one.place.name for one in self.carried if one.start is GONE and isinstance(one.by, Memory)]
        # A name that only the next turn may read is not missed when there is none.
        names = ", ".join(name for name in unbound if name in self.live and not name.startswith(HELPER))
        if self.may_be_empty and names:
            error = UnboundLocalError(f"{names}: bound in a loop that made no turn ({resolve(here())})")
            self.context.home.trace.faults.check_raises(lowered_to(self.context.home.trace, count <= 0), error)
        for one in self.carried:
            self._stands_for_first(one)
            one.place.set(one.left(count, self.may_be_empty))
        for place in self.scratch:
            place.set(GONE)

    def _stands_for_first(self, one: LoopVariable) -> None:
        """Take note that a place may hold afterwards what it held before the loop, if no turn has left another."""
        if not isinstance(one.by, Memory) or one.start is GONE:
            return
        for leaf, cell in zip(containers_of(one.start)[0], one.by.cells, strict=True):
            if leaf is cell or not hasattr(leaf, "view_as"):
                continue
            root = cell.place.root
            if self.may_be_empty or self.exchanged or root in self.context.merged:
                may_be(self.context, root, leaf.place.root, leaf.place.root in one.followed)

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


def run_planned(
    context: Any,
    make: Callable[[], LoopState],
    bounds: Bounds,
    what: tuple[Any, ...],
    run: Callable[[LoopState], None],
    found: Callable[[], None] = lambda: None,
) -> None:
    """Find out what a loop carries, and run it; or run it as it was found to be when it was met before.

    `found()` is called in between, and may raise NotOneLoop.
    """
    plans = context.home.trace.plans
    loop = make()
    key = (what[0].__code__, *what[1:], context.level, loop.may_be_empty, abstract_values(loop.part.places))
    heard = context.home.trace.fingerprint
    forget = heard.unless_tried_again() if heard is not None else None

    def begin(loop: LoopState) -> None:
        if heard is not None and forget is not None:
            # How its state was found is another thing in a run that finds a plan.
            forget()
            heard.heard_state(loop.first)
        run(loop)

    if key in plans:
        try:
            loop.adopt(plans[key])
            begin(loop)
            return
        except Exception as error:
            check_cause(context, error, was_tried=True)
            plans.pop(key, None)
            if forget is not None:
                forget()
            loop = make()
    with_lent(context, lambda: loop.find(bounds))
    found()
    is_simple = not loop.writes_carried and not loop.exchanged and not loop.has_other_names
    if len(loop.part.places) == len(key[-1]) and is_simple:
        plans[key] = [one.plan() for one in loop.carried]
    begin(loop)
