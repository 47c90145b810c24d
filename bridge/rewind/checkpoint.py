"""A checkpointed call in the log: run without keeping its entries, run again when the backward pass reaches it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import BridgeError, ContextError, RefusedError, ReplayError
from bridge.rewind.closures import Closure
from bridge.rewind.context import Context
from bridge.rewind.fingerprint import Fingerprint
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.log import Entry, Overwritten, another, at_birth
from bridge.rewind.memory import ON_ARRAYS, grounded, owner
from bridge.rewind.places import places_in
from bridge.rewind.replays import Constants, check_same, constants_of
from bridge.rewind.roots import Entered, Root, serial_now
from bridge.trees import leaves_of, rebuilt


class Gone:
    """In place of the context of values whose entries were dropped: what is said to who uses them."""

    level = -1
    lean = False
    thread = None
    home = ON_ARRAYS
    touched = None
    asked: dict[Any, Any] = {}  # noqa: RUF012

    def __init__(self, what: str, remedy: str) -> None:
        self.what, self.remedy = what, remedy

    def check_usable(self) -> None:
        raise ContextError(self.what, where=resolve(here()), remedy=self.remedy)


GONE: Any = Gone(
    "a value that a checkpointed function made is used outside, but was not returned",
    "return it from the checkpointed function",
)


class Checkpoint(Entry):
    """The entry of a checkpointed call. Its pull replays the call, and walks the log of the replay."""

    __slots__ = (
        "activated",
        "args",
        "body",
        "constants",
        "context",
        "noted",
        "plain",
        "results",
        "saved",
        "since",
        "structure",
        "written",
        "written_before",
    )

    overwrites = replays = True
    moves = False

    def __init__(
        self, context: Context, body: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.position = here()
        self.context = context
        self.body = Closure(body)
        leaves, self.structure = leaves_of((args, kwargs))
        self.plain = {k: x for k, x in enumerate(leaves) if type(x) is np.ndarray}
        self.args = [context.snapshots.of(x) if k in self.plain else x for k, x in enumerate(leaves)]
        self.written_before = {root for root in context.roots if isinstance(root, Entered) and root.written}
        self.out: tuple[Root, ...] = ()
        self.results: list[Any] = []
        self.saved: list[Overwritten] = []
        self.activated: list[Root] = []
        self.written = False
        self.constants = Constants(0, 0, frozenset(), 0, 0)
        self.noted: Fingerprint | None = None
        self.since = -1

    @property
    def activates(self) -> bool:  # type: ignore[override]
        return bool(self.activated)

    @property
    def name(self) -> str:
        return f"checkpoint({self.body.__name__})"

    def finish(self, result: Any, entries: list[Entry], since: int) -> None:
        """Keep of the call's entries only what restores the memory that existed before it."""
        self.results = self._tracked(result)
        for k, array in self.plain.items():
            # What the call has written into is memory from before it, by now, and a replay writes there again.
            lent = ARRAYS.seen(array)
            self.args[k] = self.args[k] if lent is array else lent
        self.plain = {}
        kept = {id(leaf.place.root): leaf.place.root for leaf in self.results if leaf.place.root.serial > since}
        self.out = tuple(kept.values())
        parts = [part for entry in entries for part in entry.overwritten()]
        outside = [part for part in parts if part.place.root.serial <= since]
        self.written = any(part.place.root.active for part in outside)
        self.since = since
        self.constants = constants_of(self.context, entries, since)
        self.activated = [root for entry in entries for root in entry.woken() if root.serial <= since]
        self.saved = _compressed(self.context, entries, outside)
        born = [root for entry in entries for root in entry.bore()]
        for root in (*born, *(part.place.root for part in parts)):
            if root.serial > since and id(root) not in kept:
                root.context = GONE

    def reads(self) -> Iterator[Any]:
        return places_in([leaf.place for leaf in self.args if hasattr(leaf, "place")])

    def writes(self) -> Iterator[Any]:
        return places_in([*self.out, *(part.place for part in self.saved)])

    def overwritten(self) -> Iterator[Overwritten]:
        return iter(self.saved)

    def bore(self) -> Iterator[Root]:
        return iter(self.out)

    def _tracked(self, result: Any) -> list[Any]:
        leaves, _ = leaves_of(result)
        return [leaf for leaf in leaves if hasattr(leaf, "place") and leaf.place.context is self.context]

    def take(self) -> Any:
        cts = tuple(at_birth(root) for root in self.out)
        return cts if self.written or any(ct is not None for ct in cts) else None

    def undo(self) -> None:
        swap = self.context.memory.swap
        self.saved = [
            Overwritten(place, array, key, swap(array, key, saved)) for place, array, key, saved in reversed(self.saved)
        ]

    def pull(self, ct: Any, present: Any = None) -> tuple[()]:
        with self._replayed() as results:
            self.context.rewind(self._seeds(results, ct), present)
        return ()

    def mark(self, ct: Any, walk: Callable[[Any], Any]) -> Any:
        """Walk a replay with marks in place of cotangents."""
        with self._replayed() as results:
            return walk(self._seeds(results, ct))

    @contextmanager
    def _replayed(self) -> Iterator[list[Any]]:
        """Run the call again, from the state before it, with a log of its own; end in that state."""
        context = self.context
        log, context.log = context.log, another(context.log)
        position, context.undone_from = context.undone_from, None
        written_later = [root for root in context.roots if isinstance(root, Entered) and root.written]
        written_later = [root for root in written_later if root not in self.written_before]
        for root in written_later:
            root.written = False
        if self.noted is not None:
            # A fingerprint tells operands that carry a gradient from others.
            for woken in self.activated:
                woken.active = False
        try:
            results, noted = self._run_again()
            check_same(self, results, noted)
            yield results
        finally:
            try:
                _undo_replay(context)
            finally:
                for root in written_later:
                    root.written = True
                context.log, context.undone_from = log, position

    def _run_again(self) -> tuple[list[Any], Fingerprint | None]:
        context = self.context
        try:
            with (
                context.reopened(),
                checkpointing(context, self.since),
                context.home.noted_run(context, self.since, self.noted) as noted,
            ):
                context.home.separate()
                for one in (one for given in context.handed_out.values() for one in given if one.shares):
                    one.follow()
                args, kwargs = rebuilt(self.structure, self.args)
                results = self._tracked(self.body(*args, **kwargs))
                _take_in(context)
        except (BridgeError, MemoryError):
            raise
        except Exception as error:
            raise ReplayError(
                f"{self.name} raised {type(error).__name__} when it was run again for the backward pass ({error})",
                where=self.where,
                remedy="make it depend on its arguments only, and leave what it reads as it is until the backward pass",
            ) from error
        except BaseException:
            # An interrupt may have come between a write and its entry.
            context.exchanging = True
            raise
        return results, noted

    def _seeds(self, results: list[Any], cts: Any) -> list[tuple[Any, Any]]:
        by_root = {id(root): ct for root, ct in zip(self.out, cts, strict=True) if ct is not None}
        seeds = []
        for new, old in zip(results, self.results, strict=True):
            ct = by_root.pop(id(old.place.root), None)
            if ct is not None:
                seeds.append((new.place.root, ct))
        return seeds

    def woken(self) -> list[Root]:
        return self.activated


def _take_in(context: Any) -> None:
    """Log what was written through plain arrays, in all contexts: before a checkpointed call, or inside of it."""
    while context is not None:
        context.take_in()
        context = context.outer


def _undo_replay(context: Context) -> None:
    """Memory as before a replay, of whose log a part may have been walked back."""
    if context.is_torn:
        return
    done = len(context.log) if context.undone_from is None else context.undone_from
    context.exchanging = True
    for entry in reversed(context.log[:done]):
        entry.undo()
        for woken in entry.woken():
            woken.active = False
    context.exchanging = False


@contextmanager
def checkpointing(context: Context, since: int) -> Iterator[None]:
    """Runs a checkpointed function: it may not write arrays of outer contexts, which a replay would not put back."""
    before, shown_until = context.checkpointing, context.shown_until
    context.checkpointing, context.shown_until = True, min(since, shown_until)
    try:
        yield
    finally:
        context.checkpointing, context.shown_until = before, shown_until


def record(context: Context, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a checkpointed call and log it as one entry."""
    _take_in(context)
    entry = Checkpoint(context, f, args, kwargs)
    since = serial_now()
    log, context.log = context.log, another(context.log)
    try:
        with checkpointing(context, since), context.home.noted_run(context, since) as entry.noted:
            result = f(*args, **kwargs)
            _take_in(context)
        entry.finish(result, context.log, since)
    except BaseException:
        log.extend(context.log)
        raise
    finally:
        context.log = log
    log.append(entry)
    return result


def _compressed(context: Context, entries: list[Entry], parts: list[Overwritten]) -> list[Overwritten]:
    """What restores the memory before a call: what it overwrote, or whole arrays where that is less."""
    if any(part.saved is None for part in parts):
        raise RefusedError(
            "a loop in a checkpointed function writes into an array from outside of it, and the loop is compiled",
            where=resolve(here()),
            remedy="leave bridge.checkpoint out, a compiled loop keeps only what it overwrites; or let the function "
            'write into a copy; or use engine="native"',
        )
    totals: dict[int, int] = {}
    for place, _, _, saved in parts:
        totals[id(place.root)] = totals.get(id(place.root), 0) + grounded(saved).nbytes
    heavy: dict[int, tuple[Any, np.ndarray]] = {}
    if context.outer is None:
        for place, array, _, _ in parts:
            whole = owner(array)
            if totals[id(place.root)] > whole.nbytes:
                heavy[id(whole)] = (place.root, whole)
    if not heavy:
        return parts
    for entry in reversed(entries):
        entry.undo()
    before = [Overwritten(root, array, Ellipsis, array.copy()) for root, array in heavy.values()]
    for entry in entries:
        entry.undo()
    saved_whole = {id(root) for root, _, _, _ in before}
    return [part for part in parts if id(part[0].root) not in saved_whole] + before
