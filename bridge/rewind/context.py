"""The rewind: run forward and log, then walk the log from its end.

For each entry, from the last to the first: take the cotangent of what it wrote from the shadow; put back
the bytes that it overwrote; ask for its pull, and add what that returns into the shadows of its inputs.
When a pull runs, memory holds what it held when the operation ran. So nothing is copied for the backward
pass, and mutation is an ordinary operation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import setitem
from typing import Any, Self

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import ArgumentError, BridgeError
from bridge.in_c import walker, watch
from bridge.rewind import strong_zeros
from bridge.rewind.cotangents import looks_of, numpy_numbers, places_of
from bridge.rewind.diagnosis import OBSERVER
from bridge.rewind.gradients import Gradients, Seeds
from bridge.rewind.handed_out import HandedOut
from bridge.rewind.indices import scatter
from bridge.rewind.interpreter import ARRAYS, CURRENT, EVENTS, Call, Listener, current_context
from bridge.rewind.interrupted import has_written
from bridge.rewind.lean import FLOATS, Lean
from bridge.rewind.log import Copy, Entry, Operation, blame, is_bounded
from bridge.rewind.ownership import Standing, must_be_numbers, refuse_read_only, wrap
from bridge.rewind.places import Element, Gathered, Place
from bridge.rewind.roots import Root
from bridge.rewind.snapshots import Snapshots
from bridge.rewind.writes import MutatingCall, Scatter, Update, Write


class Context(Gradients, Lean):
    """One differentiation: owns the log, the roots, their shadows and the constants' snapshots.

    A context manager, of one thread. Inside it, arrays made by `buffer` are tracked; `gradient` walks the
    log back. Contexts nest: memory of an inner one is made of the outer one's Buffers, so that the outer
    one differentiates the inner one's backward pass.

    Parameters
    ----------
    zeros : "strong": a cotangent that is structurally absent stays absent, also where a partial
        derivative is not finite; "ieee": it is the number 0.0 there, as in JAX.
    """

    # Whether it differentiates what is reported to it, and logs a checkpointed call as one entry.
    differentiates = checkpoints = True
    # While a compiled body is tried out: the roots whose shadows it reaches, and what these were before.
    touched: Any = None
    # Whether its class answers all events as this one does.
    _is_ordinary = True
    # Of the sweep that is under way: whether it carries marks in place of cotangents, and whether it knows from marks
    # which cotangents exist.
    walking = mending = False
    checkpointing = busy = settling = False
    _listener: Listener | None = None
    undone_from: int | None = None

    def __init__(self, *, zeros: str = "strong") -> None:
        if zeros not in ("strong", "ieee"):
            raise ArgumentError(f"zeros={zeros!r}", remedy='use zeros="strong" (the default) or zeros="ieee"')
        ARRAYS.read_rules()
        super().__init__()
        self.zeros = zeros
        self.log: list[Entry] = []
        self.snapshots = Snapshots()
        self.lean = False
        self.writes = 0
        self.roots: list[Root] = []
        self.originals: list[tuple[np.ndarray, Any]] = []
        self.merged: dict[Root, Standing] = {}
        self.handed_out: dict[Root, list[HandedOut]] = {}
        # Memory that plain arrays show which outlive the call, and what it is to hold then.
        self.finally_shown: list[tuple[np.ndarray, np.ndarray]] = []
        self.returning: dict[Root, dict[Root, bool]] = {}
        self.entered_as: list[Any] = []
        self.asked: dict[Root, Any] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._is_ordinary = all(getattr(cls, event) is getattr(Context, event) for event in EVENTS)

    def __enter__(self) -> Self:
        if is_bounded(self.log) and current_context() is not None:
            raise ArgumentError(
                "memory= of a differentiation inside another one, which keeps what the inner one does",
                where=resolve(here()),
                remedy="give it to the outer one",
            )
        super().__enter__()
        CURRENT.set(self)
        self.lean = self._may_be_lean()
        return self

    def __exit__(self, *raised: Any) -> None:
        try:
            try:
                if self.handed_out and raised[0] is None:
                    self.check_handed_out()
            finally:
                super().__exit__(*raised)
        finally:
            for memory, held in self.finally_shown:
                memory[...] = held
            watch(self.log)
            if self.once and self.loan is not None:
                # Breaks the reference cycles, so that memory is freed here and not by the garbage collector.
                del self.loan.names
                self.loan = None

    def _may_be_lean(self) -> bool:
        return self._is_ordinary and self.outer is None and not self.home.is_abstract

    @property
    def listener(self) -> Listener | None:
        """Who hears each event before the context answers it."""
        return self._listener

    @listener.setter
    def listener(self, listener: Listener | None) -> None:
        self._listener = listener
        for event in EVENTS:
            if listener is None:
                vars(self).pop(event, None)
            else:
                vars(self)[event] = partial(self._reported, event, listener)
        self.lean = listener is None and self._may_be_lean()

    def _reported(self, event: str, listener: Listener, *what: Any) -> Any:
        """Let the listener hear an event, and answer it."""
        listener.heard(event, *what)
        return getattr(type(self), event)(self, *what)

    # Forward: what arrays report becomes an entry of the log, if a gradient passes through it or memory is overwritten.

    def carries(self, dtype: np.dtype[Any]) -> bool:
        """Whether what is interpreted here may lie in memory of this dtype."""
        return dtype.kind in "fc"

    def result(self, call: Call, value: Any) -> Any:
        """Wrap `value`, the fresh result of a call, and log it if a gradient passes through it."""
        rule, wanted = call.rule, call.wanted
        if rule is None or not wanted:
            return wrap(self, value, False)
        if type(value) is np.ndarray and value.base is None and value.dtype.kind == "f":
            places = Root(self, value, True)
            out = ARRAYS.buffer(value, places)
        elif type(value) in FLOATS:
            places = Root(self, value, True)
            out = ARRAYS.scalar(value, places)
        else:
            out = wrap(self, value, True)
            places = places_of(out)
            if places is None:
                must_be_numbers(call, value)
                return out
        if self.handed_out:
            self.take_in(call.args)
        reads_output, reads = rule.needs(wanted)
        call.args = self.snapshots.keep(rule, reads, call.args, call.plain)
        if rule.broadcasts:
            output = value if reads_output else None
        else:
            call.args = numpy_numbers(call.args, call.inputs)
            output = value if reads_output else looks_of(value)
        self.log.append(Operation(here(), call, places, output, wanted))
        return out

    def copied(self, value: Any, source: Place) -> Any:
        """Wrap `value`, a copy of what lies at `source`."""
        if not source.active:
            return wrap(self, value, False)
        out = wrap(self, value, True)
        self.log.append(Copy(here(), out.place, source))
        return out

    def write(self, target: Any, key: Any, place: Place, value: Any, source: Place | None) -> None:
        """Assign `value` to `target[key]`, which lies at `place`; `source` is the place of the value, if active."""
        root = self.writable(target)
        if self.handed_out:
            self.shown_elsewhere(root, source is not None)
        array = target.value
        saved = array[key]
        if not isinstance(place, (Element, Gathered)):
            saved = saved.copy()
        entry = Write(here(), place, array, key, saved, source)
        self.overwrite(entry, target, key, saved, setitem, array, key, value)

    def update(self, call: Call, target: Any, mask: Any, run: Callable[[tuple[Any, ...]], Any]) -> None:
        """Run a ufunc with `target` as its `out`, under a mask if there is one."""
        args = call.args
        wanted = () if call.rule is None else call.wanted
        if self.handed_out:
            self.take_in(args)
            self.shown_elsewhere(target.place.root, bool(wanted) and target.dtype.kind in "fc")
        reads_output = False
        if wanted:
            reads_output, reads = call.rule.needs(wanted)
            call.args = self.snapshots.keep(call.rule, reads, args, call.plain)
        else:
            call.args = ()
        saved = target.value.copy()
        masks = call.rule is not None and mask is not None and target.place.root.active
        entry: Entry
        if target.dtype.kind in "fc" and (wanted or masks):
            entry = Update(here(), call, target, reads_output or None, wanted, saved, mask)
        else:
            entry = Write(here(), target.place, target.value, Ellipsis, saved)
        self.overwrite(entry, target, Ellipsis, saved, run, args)

    def scatter_add(self, call: Call, target: Any, key: Any) -> None:
        """`np.add.at` or `np.subtract.at`: an index named twice counts twice."""
        self.writable(target)
        array = target.value
        saved = array[key]
        (value,), (source,) = call.args, call.inputs
        source = source if self.carries(target.dtype) else None
        self.shown_elsewhere(target.place.root, source is not None)
        place = Gathered(target.place, key, saved)
        entry = Scatter(here(), place, array, key, saved, source, call.function is np.subtract)
        self.overwrite(entry, target, key, saved, scatter, call.function, array, key, value, np.shape(saved))

    def overwrite(self, entry: Any, target: Any, key: Any, saved: Any, write: Callable[..., Any], *args: Any) -> None:
        """Let NumPy write into `target[key]`, which held `saved`, and log it, also if it raises when it has written."""
        self.busy = True
        try:
            write(*args)
        except Exception as error:
            self.check_written(error, target, key, saved, partial(write, *args))
            self._written(entry, target.place.root)
            raise
        finally:
            self.busy = False
        self._written(entry, target.place.root)

    def _written(self, entry: Any, root: Root) -> None:
        self.note_written(entry)
        if self.handed_out:
            self.follow_written(root)

    def follow_written(self, root: Root) -> None:
        """After a write of the program's own: plain arrays show it already."""
        for one in self.handed_out.get(root, ()):
            if one.shares:
                one.follow()

    def check_written(self, error: Exception, target: Any, key: Any, saved: Any, again: Callable[[], Any]) -> None:
        """Raise if nothing was written, or only a part."""
        if type(error) is ValueError:
            refuse_read_only(target)
        if isinstance(error, BridgeError) or not has_written(error, target, key, saved, again):
            raise error

    def note_written(self, entry: Any) -> None:
        """Log an entry that overwrote memory."""
        self.log.append(entry)
        if entry.activates:
            entry.out.root.active = True

    def mutated(self, call: Call, targets: tuple[Any, ...], saved: tuple[Any, ...]) -> None:
        """Log a call of a mutating rule that has run."""
        call.args = tuple(self.snapshots.kept(x, True, k in call.plain) for k, x in enumerate(call.args))
        places, arrays = tuple(target.place for target in targets), tuple(target.value for target in targets)
        entry = MutatingCall(here(), call, places, arrays, saved)
        if call.wanted:
            entry.activated = tuple(p.root for p in places if p.dtype.kind in "fc" and not p.root.active)
        if self.handed_out:
            for root in [place.root for place in places]:
                for one in self.shown_elsewhere(root, root in entry.activated):
                    one.follow()
            self.take_in(call.args)
        for root in entry.activated:
            root.active = True
        self.log.append(entry)

    def take_in_write(self, one: HandedOut) -> None:
        """Log what was written through a plain array that shows memory."""
        if self.thread is None:
            one.check_left_alone()
        if self.listener is not None:
            one.refuse_search()
        buffer = one.tracked
        self.check_inside(buffer)
        self.log.append(Write(here(), buffer.place, one.memory, Ellipsis, one.before))
        self.writes += 1
        if buffer.place.root.entered:
            buffer.place.root.written = True
        one.follow()

    def left(self, tracked: Any, how: str) -> None:
        """Take note that the plain value of a tracked one was handed out; the contexts below are told."""
        if hasattr(tracked.value, "place"):
            tracked.value.place.context.left(tracked.value, how)

    # Backward.

    def rewind(self, seeds: Seeds, present: Any = None) -> None:
        """Walk the log from its end: the backward pass.

        `present` holds, entry by entry, where the cotangents structurally exist; without it they all do.
        """
        self.mending = present is not None
        for place, ct in seeds:
            if place.active:
                place.accumulate(ct)
        log = self.log
        walk = walker() if self.lean and present is None and not self.asked else None
        observe = OBSERVER.get()
        if observe is not None and self.outer is None:
            walk = observe(self, walk)
        number = len(log)
        while True:
            number = number - 1 if walk is None else walk(self, log, number - 1)
            if number < 0:
                break
            entry = log[number]
            ct = entry.take()
            if entry.overwrites:
                self.exchanging = True
                entry.undo()
                self.undone_from = number
                self.exchanging = False
            else:
                self.undone_from = number
            if ct is not None:
                try:
                    if present is None:
                        entry.push(ct)
                    else:
                        strong_zeros.push_present(entry, ct, present[number])
                except Exception as error:
                    blame(entry, error)
                    raise
                # Whoever holds it alone now may write it.
                ct = None
            if entry.activates:
                entry.forget_before()

    def forget_shadows(self) -> None:
        """Drop what cotangents are left: those of arguments, and all of them after an error."""
        for root in self.roots:
            root.shadow = None
        if self.undone_from != 0:
            for entry in self.log:
                entry.forget()

    def drop(self) -> None:
        """Let go of the log and of everything that it keeps alive."""
        self.log = []
        self.roots = []
        self.originals = []
        self.entered_as = []
        self.snapshots = Snapshots()
        self.undone_from = None
