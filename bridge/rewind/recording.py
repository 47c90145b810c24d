"""The forward half of a context: what dispatch reports becomes an entry of the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bridge.arrays.buffer import Buffer, wrap
from bridge.arrays.operands import unwrapped
from bridge.position import Position, here, resolve
from bridge.rewind.cotangents import (
    looks_of,
    numpy_numbers,
    places_of,
    refuse_late_write,
    refuse_read_only,
    refuse_write_outside,
)
from bridge.rewind.interpreter import CURRENT
from bridge.rewind.log import Copy, Operation
from bridge.rewind.places import Element, Entered, Gathered, Place, Root
from bridge.rewind.snapshots import Snapshots
from bridge.rewind.writes import MutatingCall, Scatter, Update, Write

if TYPE_CHECKING:
    from bridge.rewind.log import Entry
    from bridge.rewind.rule import Rule


_WANTED: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (0, 1))


def active_positions(inputs: tuple[Any, ...]) -> tuple[int, ...]:
    """Positions of the operands that carry a gradient."""
    if len(inputs) == 2:
        first, second = inputs
        return _WANTED[(first is not None) + 2 * (second is not None)]
    return tuple([k for k, place in enumerate(inputs) if place is not None])


class Recording:
    """Runs operations as they are, and logs those through which a gradient passes or that overwrite memory."""

    log: list[Entry]
    writes: int
    busy: bool
    snapshots: Snapshots

    def result(
        self,
        rule: Rule,
        value: Any,
        inputs: tuple[Any, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        plain: tuple[int, ...],
        names: tuple[str, ...] = (),
    ) -> Any:
        """Wrap `value`, the fresh result of an operation, and log it if a gradient passes through it."""
        wanted = active_positions(inputs)
        if not wanted:
            return wrap(self, value, False)
        if type(value) is np.ndarray and value.base is None and value.dtype.kind == "f":
            places = Root(self, value, True)
            out = Buffer(value, places)
        else:
            out = wrap(self, value, True)
            places = places_of(out)
            if places is None:
                return out
        reads_output, reads = rule.needs(wanted)
        kept = self.snapshots.keep(rule, reads, args, plain)
        if not rule.broadcasts:
            kept = numpy_numbers(kept, inputs)
        if names:
            kept, kwargs = kept[: -len(names)], kwargs | dict(zip(names, kept[-len(names) :], strict=True))
        output = value if reads_output else None if rule.broadcasts else looks_of(value)
        self.log.append(Operation(here(4), rule, places, output, inputs, wanted, kept, kwargs))
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
        array = target.value
        saved = array[key]
        if not isinstance(place, (Element, Gathered)):
            saved = saved.copy()
        self.busy = True
        try:
            array[key] = value
        except ValueError:
            refuse_read_only(target)
            raise
        finally:
            self.busy = False
        activates = source is not None and not root.active
        root.active = root.active or activates
        self.log.append(Write(here(), place, array, key, saved, source, activates))

    def update(
        self,
        rule: Rule | None,
        target: Any,
        inputs: tuple[Any, ...],
        args: tuple[Any, ...],
        plain: tuple[int, ...],
        mask: Any,
        run: Callable[[tuple[Any, ...]], Any],
    ) -> None:
        """Run a ufunc with `target` as its `out`, under a mask if there is one."""
        array = target.value
        position = here(4)
        wanted = active_positions(inputs) if rule else ()
        reads_output, kept = False, ()
        if rule and wanted:
            reads_output, reads = rule.needs(wanted)
            kept = self.snapshots.keep(rule, reads, args, plain)
        saved = array.copy()
        complaint = None
        self.busy = True
        try:
            run(args)
        except FloatingPointError as error:
            # NumPy has written the result all the same.
            complaint = error
        except ValueError:
            refuse_read_only(target)
            raise
        finally:
            self.busy = False
        self._log_update(position, rule, target, reads_output, inputs, wanted, kept, saved, mask)
        if complaint is not None:
            raise complaint

    def _log_update(
        self,
        position: Position,
        rule: Rule | None,
        target: Any,
        reads_output: bool,
        inputs: tuple[Any, ...],
        wanted: tuple[int, ...],
        kept: tuple[Any, ...],
        saved: Any,
        mask: Any,
    ) -> None:
        root, array = target.place.root, target.value
        if rule is None or (not wanted and (mask is None or not root.active)):
            self.log.append(Write(position, target.place, array, Ellipsis, saved, None, False))
            return
        if target.dtype.kind not in "fc":
            self.log.append(Write(position, target.place, array, Ellipsis, saved, None, False))
            return
        activates = not root.active
        root.active = True
        out = target.place
        self.log.append(
            Update(
                position, rule, out, True if reads_output else None, inputs, wanted, kept, array, saved, mask, activates
            )
        )

    def scatter_add(self, ufunc: np.ufunc, target: Any, key: Any, operand: Any) -> None:
        """`np.add.at` or `np.subtract.at`: an index named twice counts twice."""
        root = self.writable(target)
        array = target.value
        saved = array[key]
        (value,), (source,), _ = unwrapped(self, (operand,))
        self.busy = True
        try:
            ufunc.at(array, key, value)
        finally:
            self.busy = False
        activates = source is not None and not root.active
        root.active = root.active or activates
        place = Gathered(target.place, key, saved)
        self.log.append(Scatter(here(), place, array, key, saved, source, activates, ufunc is np.subtract))

    def mutated(self, entry: MutatingCall, active: bool) -> None:
        """Log a call of a mutating rule that has run."""
        fresh = [p.root for p in entry.out if active and p.dtype.kind in "fc" and not p.root.active]
        for root in fresh:
            root.active = True
        entry.activated = tuple(fresh)
        self.log.append(entry)

    def writable(self, target: Any) -> Root:
        """The root of `target`, marked as written; raises if its memory may not be written."""
        place = target.place
        root: Root = place if type(place) is Root else place.root
        self.writes += 1
        current = CURRENT.get()
        if current is not self and current is not None and current.checkpointing and not current.busy:
            refuse_write_outside(target)
        if isinstance(root, Entered):
            if root.read_as_constant and not root.written:
                refuse_late_write(target)
            if root.guard is not None:
                root.guard.refuse(resolve(here()))
            root.written = True
        return root
