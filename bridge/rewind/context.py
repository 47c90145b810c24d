"""The rewind: run forward and log, then walk the log from its end.

For each entry, from the last to the first: take the cotangent of what it wrote from the shadow; put back
the bytes that it overwrote; ask for its pull, and add what that returns into the shadows of its inputs.
When a pull runs, memory holds what it held when the operation ran. So nothing is copied for the backward
pass, and mutation is an ordinary operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import setitem
from typing import Any, Self

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import ArgumentError, BridgeError
from bridge.in_c import walker, watch
from bridge.rewind import strong_zeros
from bridge.rewind.cotangents import looks_of, numpy_numbers, places_of
from bridge.rewind.gradients import Gradients, Seeds
from bridge.rewind.handed_out import HandedOut
from bridge.rewind.indices import scatter
from bridge.rewind.interpreter import ARRAYS, CURRENT, Call, Listener, current_context
from bridge.rewind.interrupted import has_written
from bridge.rewind.lean import Lean
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
    # Of the sweep that is under way: whether it carries marks in place of cotangents, and whether it knows from marks
    # which cotangents exist.
    walking = mending = False

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
        self.checkpointing = self.busy = False
        self.roots: list[Root] = []
        self.originals: list[tuple[np.ndarray, Any]] = []
        self.merged: dict[Root, Standing] = {}
        self.handed_out: dict[Root, list[HandedOut]] = {}
        # Memory that plain arrays show which outlive the call, and what it is to hold then.
        self.finally_shown: list[tuple[np.ndarray, np.ndarray]] = []
        self.returning: dict[Root, dict[Root, bool]] = {}
        self.settling = False
        self.entered_as: list[Any] = []
        self.asked: dict[Root, Any] = {}
        self.listener: Listener | None = None
        self.undone_from: int | None = None

    def __enter__(self) -> Self:
        if is_bounded(self.log) and current_context() is not None:
            raise ArgumentError(
                "memory= of a differentiation inside another one, which keeps what the inner one does",
                where=resolve(here()),
                remedy="give it to the outer one",
            )
        super().__enter__()
        CURRENT.set(self)
        events = all(getattr(type(self), name) is getattr(Context, name) for name in ("result", "copied", "write"))
        self.lean = events and self.outer is None and not self.home.is_abstract
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

    # Forward: what arrays report becomes an entry of the log, if a gradient passes through it or memory is overwritten.

    def carries(self, dtype: np.dtype[Any]) -> bool:
        """Whether what is interpreted here may lie in memory of this dtype."""
        return dtype.kind in "fc"

    def result(self, call: Call, value: Any) -> Any:
        """Wrap `value`, the fresh result of a call, and log it if a gradient passes through it."""
        if self.listener is not None:
            self.listener.heard("result", call, value)
        rule, wanted = call.rule, call.wanted
        if rule is None or not wanted:
            return wrap(self, value, False)
        if type(value) is np.ndarray and value.base is None and value.dtype.kind == "f":
            places = Root(self, value, True)
            out = ARRAYS.buffer(value, places)
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
        if call.names:
            call.args, call.kwargs = call.spelled(call.args)
        self.log.append(Operation(here(4), call, places, output, wanted))
        return out

    def copied(self, value: Any, source: Place) -> Any:
        """Wrap `value`, a copy of what lies at `source`."""
        if self.listener is not None:
            self.listener.heard("copied", value, source)
        if not source.active:
            return wrap(self, value, False)
        out = wrap(self, value, True)
        self.log.append(Copy(here(), out.place, source))
        return out

    def write(self, target: Any, key: Any, place: Place, value: Any, source: Place | None) -> None:
        """Assign `value` to `target[key]`, which lies at `place`; `source` is the place of the value, if active."""
        if self.listener is not None:
            self.listener.heard("write", target, key, place, value, source)
        root = self.writable(target)
        shown = self.shown_elsewhere(root, source is not None) if self.handed_out else ()
        array = target.value
        saved = array[key]
        if not isinstance(place, (Element, Gathered)):
            saved = saved.copy()
        complaint = None
        self.busy = True
        try:
            array[key] = value
        except Exception as error:
            complaint = self.despite(error, target, key, saved, partial(setitem, array, key, value))
        finally:
            self.busy = False
        self.log.append(Write(here(), place, array, key, saved, source))
        root.active = root.active or source is not None
        for one in shown:
            one.follow()
        if complaint is not None:
            raise complaint

    def update(self, call: Call, target: Any, mask: Any, run: Callable[[tuple[Any, ...]], Any]) -> None:
        """Run a ufunc with `target` as its `out`, under a mask if there is one."""
        if self.listener is not None:
            self.listener.heard("update", call, target, mask)
        position = here(4)
        args, root = call.args, target.place.root
        wanted = () if call.rule is None else call.wanted
        shown: Sequence[HandedOut] = ()
        if self.handed_out:
            self.take_in(args)
            shown = self.shown_elsewhere(root, bool(wanted) and target.dtype.kind in "fc")
        reads_output = False
        if wanted:
            reads_output, reads = call.rule.needs(wanted)
            call.args = self.snapshots.keep(call.rule, reads, args, call.plain)
        else:
            call.args = ()
        saved = target.value.copy()
        complaint = None
        self.busy = True
        try:
            run(args)
        except Exception as error:
            complaint = self.despite(error, target, Ellipsis, saved, partial(run, args))
        finally:
            self.busy = False
        if target.dtype.kind in "fc" and (wanted or (call.rule is not None and mask is not None and root.active)):
            self.log.append(Update(position, call, target, reads_output or None, wanted, saved, mask))
            root.active = True
        else:
            self.log.append(Write(position, target.place, target.value, Ellipsis, saved))
        for one in shown:
            one.follow()
        if complaint is not None:
            raise complaint

    def scatter_add(self, call: Call, target: Any, key: Any) -> None:
        """`np.add.at` or `np.subtract.at`: an index named twice counts twice."""
        if self.listener is not None:
            self.listener.heard("scatter_add", call, target, key)
        root = self.writable(target)
        array = target.value
        saved = array[key]
        (value,), (source,) = call.args, call.inputs
        complaint = None
        source = source if self.carries(target.dtype) else None
        shown = self.shown_elsewhere(root, source is not None)
        self.busy = True
        try:
            scatter(call.function, array, key, value, np.shape(saved))
        except Exception as error:
            again = partial(scatter, call.function, array, key, value, np.shape(saved))
            complaint = self.despite(error, target, key, saved, again)
        finally:
            self.busy = False
        place = Gathered(target.place, key, saved)
        self.log.append(Scatter(here(), place, array, key, saved, source, call.function is np.subtract))
        root.active = root.active or source is not None
        for one in shown:
            one.follow()
        if complaint is not None:
            raise complaint

    def despite(self, error: Exception, target: Any, key: Any, saved: Any, again: Callable[[], Any]) -> Exception:
        """The error, once the write that raised it is logged; raises it if nothing was written."""
        if type(error) is ValueError:
            refuse_read_only(target)
        if isinstance(error, BridgeError) or not has_written(error, target, key, saved, again):
            raise error
        return error

    def mutated(self, call: Call, targets: tuple[Any, ...], saved: tuple[Any, ...]) -> None:
        """Log a call of a mutating rule that has run."""
        if self.listener is not None:
            self.listener.heard("mutated", call, targets)
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
        number = len(log)
        while number > 0:
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
        self.snapshots = Snapshots()
        self.undone_from = None
