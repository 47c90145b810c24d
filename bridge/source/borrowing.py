"""What one differentiated call borrows of the program: arrays, and what objects, containers and variables hold.

A plain array that a tracked value is written into is lent: memory of the context stands for all of the memory that it
shows, and the program gets views of that where it uses the array, or another one on the same memory. When the call is
over, also after an exception, every array holds its old bits, and objects, containers and variables what they held.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from sys import getrefcount
from types import CodeType
from typing import Any

import numpy as np

from bridge.arrays.buffer import WeakScalar
from bridge.code_position import here, resolve
from bridge.errors import AliasError, EscapeError
from bridge.rewind.memory import grounded
from bridge.rewind.values import is_abstract
from bridge.rulebook import book
from bridge.source.ages import Births, age_found, checkpointed_calls
from bridge.source.exchanging import Exchange
from bridge.source.floats import Float
from bridge.source.keeping import Kept, Name, Slots, holds_state
from bridge.source.leaving import note_left, note_left_array
from bridge.source.lending import COUNT, LENT, Lent, refuse_foreign, refuse_thread, whole_of
from bridge.source.pattern import shows_pattern
from bridge.source.reading import is_rewritten
from bridge.source.second_names import SecondNames
from bridge.source.state import Watches
from bridge.state.slots import Attribute
from bridge.trees import leaves_of

# A finaliser, or a signal's handler, may differentiate while this thread holds it.
_lock = threading.RLock()
HELD: dict[int, Loan] = {}
"""Who has put tracked values into an object, by the object's identity."""

_CLASS: Name = (Attribute, "__class__")

_ROOM = 256
"""How many things are kept before it is asked whether anybody else has them."""

_HEAVY = 1 << 24
"""The same for the bytes of arrays that are lent."""

_LOOKED_AT = 64
"""How many things may be looked at for each array that is lent, if the program has many."""


class LentOutside(BaseException):
    """An array is to be lent in a part of a compiled program, and is memory from outside of it: never seen outside.

    Not an Exception: a program must not swallow it.
    """

    def __init__(self, array: np.ndarray) -> None:
        super().__init__()
        self.array = array


class Loan:
    """What one context has borrowed."""

    _room = _ROOM
    _bytes = _steps = _credit = 0

    def __init__(self, context: Any) -> None:
        self.context = context
        self.thread = threading.get_ident()
        self.arrays: list[Lent] = []
        self.touched: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.kept: dict[int, Kept] = {}
        self.unread: dict[int, str] = {}
        self.names = SecondNames(self)
        self._after: list[tuple[Kept, dict[Name, Any]]] = []
        allowed = getattr(getattr(context, "log", None), "amount", None)
        self._least = self._heavy = _HEAVY if allowed is None else min(_HEAVY, allowed // 8)

    @cached_property
    def watches(self) -> Watches:
        """The parts of the program that are watched."""
        return Watches()

    @cached_property
    def _births(self) -> Births:
        return Births(_ROOM)

    def reason(self, code: CodeType) -> str:
        """Why code runs as it is, for a message; nothing if it is read."""
        if is_rewritten(code):
            return ""
        known = self.unread.get(id(code), "it is called by Python or by a library, not by code that is read")
        return f"\n  not read from its source: {known}"

    def lend(self, array: np.ndarray, value: Any, is_alone: bool = False) -> Any:
        """The Buffer that stands for a plain array from now on, because `value` is written into it.

        `is_alone` says that a variable has the array, which will have the Buffer, and nothing else.
        """
        given = self.names.of(array)
        if given is not None:
            return given
        whole = whole_of(array)
        fresh = False
        self._sweep()
        with _lock:
            found = LENT.get(id(whole))
            if found is None:
                if self.watches.open and self.context.home.is_abstract:
                    raise LentOutside(array)
                refuse_foreign(array, whole)
                before = self.touched.get(id(whole))
                found = Lent(self, whole, None if before is None else before[1], here())
                found.is_log = type(value) is Float or is_alone or (type(value) is WeakScalar and is_abstract(value))
                # It is poisoned when everybody knows of it, so that it is given back whatever comes.
                self.arrays.append(found)
                self._bytes += whole.nbytes
                LENT[id(whole)] = found
                COUNT.told()
                found.poison()
                fresh = True
        refuse_thread(found.loan.thread, f"an array of shape {array.shape}")
        if fresh and not is_alone:
            self._exchange(found)
        return found.shown(array)

    def touch(self, array: np.ndarray) -> None:
        """Before the program writes plain values into a plain array: it may be lent later."""
        whole = whole_of(array)
        if not whole.flags.writeable:
            # Another view was made before it became read-only.
            self.mark_frozen()
        if id(whole) not in self.touched and whole.dtype.kind in "fc":
            self._sweep()
            self._bytes += whole.nbytes
            self.touched[id(whole)] = (whole, whole.copy("K"))

    def mark_frozen(self) -> None:
        """Before read-only arrays may be changed: contexts remember what those hold that they keep as they are."""
        context = self.context
        while context is not None:
            context.snapshots.mark_frozen()
            context = context.outer

    def keep(self, kind: type[Slots], thing: Any, part: Any, value: Any) -> None:
        """Before a slot of `thing` is exchanged for `value`: an attribute, an item, its contents, a variable."""
        if self.watches.open or self.watches.ambiguous:
            self.watches.note(kind, thing, part)
        kept = self.kept.get(id(thing))
        if kept is None:
            self._sweep()
            kept = self.kept[id(thing)] = Kept(thing)
        held = kept.hold(kind, part)
        if holds_state(value):
            kept.state.update(held)
            if not kept.tracked:
                self._claim(kept)
            self._hold(kept, part)

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """Inside, it does not count that tracked values are put into objects: a part of the program is tried."""
        before = {key: set(kept.state) for key, kept in self.kept.items()}
        try:
            yield
        finally:
            for key, kept in self.kept.items():
                kept.state = before.get(key, set()) | (kept.state & {_CLASS})

    def _hold(self, kept: Kept, name: Any) -> None:
        """An object of a library's that gets tracked memory is of the class that knows what to do with that."""
        held = book.holder_of(type(kept.thing))
        if held is not None and held[0] == name:
            kept.state.update(kept.hold(*_CLASS))
            kept.thing.__class__ = held[1]

    def changed(self) -> list[Kept]:
        """What was kept, of the call or of one that is over."""
        return [*self.kept.values(), *(kept for kept, _ in self._after)]

    def made(self, array: Any) -> Any:
        """Take note that an array was made in the call: it keeps what was written into it."""
        if self.watches.open:
            self.watches.made(array)
        if type(array) is np.ndarray and array.dtype.kind in "fc":
            self._births.note(array)
        return array

    def _has_made(self, array: np.ndarray) -> bool:
        return self._births.of(array) is not None

    def _sweep(self) -> None:
        """Let go of what only this loan has any more: nobody can see whether it is put back."""
        if len(self.kept) + len(self.touched) + len(self.arrays) < self._room and self._bytes < self._heavy:
            return
        # Besides the references that are counted here, what asks for the number has one.
        # A closure is a tuple, and what counts are its cells.
        spare = [key for key, one in self.kept.items() if type(one.thing) is not tuple and getrefcount(one.thing) <= 2]
        for key in spare:
            HELD.pop(key, None)
            del self.kept[key]
        for lent in self.arrays[1:]:
            lent.views = {key: pair for key, pair in lent.views.items() if getrefcount(pair[0]) > 2}
            if getrefcount(lent.array) <= (3 if id(lent.array) in self.touched else 2):
                with _lock:
                    LENT.pop(id(lent.array), None)
                    COUNT.told()
        self.arrays = [lent for k, lent in enumerate(self.arrays) if k == 0 or id(lent.array) in LENT]
        for key in [key for key, pair in self.touched.items() if key not in LENT and getrefcount(pair[0]) <= 2]:
            del self.touched[key]
        self._room = max(_ROOM, 2 * (len(self.kept) + len(self.touched) + len(self.arrays)))
        self._bytes = sum(lent.array.nbytes for lent in self.arrays) + sum(
            one.nbytes for one, _ in self.touched.values()
        )
        self._heavy = max(self._least, 2 * self._bytes)

    def _claim(self, kept: Kept) -> None:
        """Take note that an object holds tracked values until the call is over."""
        with _lock:
            holder = HELD.setdefault(id(kept.thing), self)
        refuse_thread(holder.thread, f"a {type(kept.thing).__name__}")
        kept.tracked = True

    def _exchange(self, lent: Lent) -> None:
        """Let what the program has at hand have what stands for an array where it has it, for code that is not read."""
        calls = checkpointed_calls()
        self._credit += _LOOKED_AT
        if self._credit < self._steps and len(calls) == 1:
            # Many arrays of much that the program has: looking for each of them would take the square of the time.
            return
        found = Exchange()
        age = age_found(found, calls, lent)
        self._steps, self._credit = found.steps, 0
        if len(calls) > 1:
            made = self._births.of(lent.array)
            age = age if made is None else made
            if age is not None:
                lent.buffer.place.root.serial = age

    def over(self) -> None:
        """The call has ended; memory still holds what it wrote."""
        # What a compiled program writes is known when it runs.
        for lent in () if self.context.home.is_abstract else self.arrays:
            if lent.is_log or self._has_made(lent.array):
                lent.before = np.copy(grounded(lent.buffer))

    def put_back(self) -> None:
        """Everything as it was when the call began."""
        self.names.over()
        if not (self.kept or self.arrays):
            return
        lent = {id(one.array) for one in self.arrays}
        held = [(kept, kept.exchanged(lent)) for kept in self.kept.values()]
        for kept, names in held:
            note_left(self.context, kept, names)
        self.kept = {}
        written = None
        try:
            while held:
                kept, names = held.pop()
                HELD.pop(id(kept.thing), None)
                after = kept.put_back(names)
                if names:
                    self._after.append((kept, after))
        finally:
            # What cannot be put back keeps nothing else from it.
            if held:
                self.kept = {id(kept.thing): kept for kept, _ in held}
                self.put_back()
            written = self._returned()
        if written is not None:
            raise AliasError(
                f"an array of shape {written.array.shape} that tracked values were written into was written by code "
                "that is not read: what it wrote is lost",
                where=resolve(written.where),
                remedy="let the program itself write it, or give that function a rule (bridge.mutating_rule)",
            )

    def forget(self) -> None:
        """Hold nothing any more, after everything was put back: nothing will be lent again."""
        self.arrays, self.touched, self._after = [], {}, []

    def _returned(self) -> Lent | None:
        """Give every array its bits; one that somebody has written into meanwhile, if there is one."""
        written = None
        waiting = [lent for lent in self.arrays if LENT.get(id(lent.array)) is lent]
        try:
            while waiting:
                lent = waiting.pop()
                note_left_array(self.context, lent.array, lent.is_log)
                with _lock:
                    try:
                        written = lent if lent.returned() else written
                    finally:
                        del LENT[id(lent.array)]
                        COUNT.told()
        finally:
            # What fails keeps no other array from its bits.
            if waiting:
                self._returned()
        return written

    @contextmanager
    def again(self) -> Iterator[None]:
        """Inside, what was lent is lent again: for code of the program that the backward pass runs."""
        named = self.names.again()
        try:
            with self._lent_again():
                yield
        finally:
            if named:
                self.names.over()

    @contextmanager
    def _lent_again(self) -> Iterator[None]:
        if LENT.get(id(self.arrays[0].array)) is self.arrays[0] if self.arrays else not self._after:
            yield
            return
        before = [(kept, kept.now()) for kept, _ in self._after]
        try:
            for kept, after in self._after:
                kept.restore(after)
            with _lock:
                for lent in self.arrays:
                    lent.before = lent.array.copy("K")
                    LENT[id(lent.array)] = lent
                    COUNT.told()
                    lent.poison()
            yield
        finally:
            with ExitStack() as closing:
                for kept, held in before:
                    closing.callback(kept.restore, held)
                self._returned()

    def check(self, found: Any) -> None:
        """Raise if a result shows the pattern: it was computed from an array's own memory while that was lent."""
        if self.arrays and any(map(shows_pattern, leaves_of(found)[0])):
            lent = self.arrays[0]
            arrays = ", ".join(sorted({f"{one.array.dtype} of shape {one.array.shape}" for one in self.arrays}))
            raise EscapeError(
                f"code that is not read has read an array that tracked values were written into ({arrays}): "
                "its gradient would be lost",
                where=resolve(lent.where),
                remedy="pass the array to that code as an argument, or give it a rule (bridge.rule); "
                "bridge.explain_source(f) shows what is read",
            )
