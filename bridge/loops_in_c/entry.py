"""The entry of a loop that ran in C: undone from copies of what it overwrote, and walked back in C."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.code_position import Position
from bridge.errors import RefusedError
from bridge.loops_in_c.appended import Appended
from bridge.loops_in_c.building import Run
from bridge.loops_in_c.callbacks import like, within
from bridge.loops_in_c.kinds import is_float
from bridge.loops_in_c.replaying import Replay
from bridge.rewind.checkpoint_schedule import Placement, Size
from bridge.rewind.log import Entry, Overwritten, at_birth
from bridge.rewind.places import places_in
from bridge.rewind.roots import Root


class LoopEntry(Entry):
    """A loop that ran in C."""

    __slots__ = (
        "activated", "appended", "args", "arrays", "context", "copies", "done", "has_stopped", "interval", "left",
        "names", "out", "plain", "run", "schedule", "shown", "site", "size", "windows",
    )  # fmt: skip

    overwrites = replays = True
    moves = False

    def __init__(
        self,
        context: Any,
        position: Position,
        site: Any,
        run: Run,
        args: dict[str, Any],
        plain: dict[str, np.ndarray],
        left: dict[str, Any],
        arrays: dict[str, str],
        windows: dict[str, Overwritten],
        activated: list[Root],
    ) -> None:
        self.context, self.position, self.site, self.run = context, position, site, run
        self.activated, self.arrays = activated, arrays
        # Places, not arrays: a bounded log moves arrays to a file that only entries hold.
        self.args = {name: value.place for name, value in args.items() if is_tracked(value)}
        self.left = {name: value.place for name, value in left.items() if is_tracked(value)}
        self.out = tuple(self.left.values())
        self.names, self.plain = list(plain), tuple(plain.values())
        self.windows = {name: part.place for name, part in windows.items()}
        self.shown = tuple(part.array for part in windows.values())
        self.copies = tuple(part.saved for part in windows.values())
        # How its log is made again; None if it has one.
        self.schedule: Placement | None = None
        self.size: Size | None = None
        self.appended: list[Appended] = []
        self.done, self.has_stopped = 0, False
        # When its forward pass began and ended, as `time.perf_counter` counts.
        self.interval = 0.0, 0.0

    def append(self, appended: list[Appended]) -> None:
        """Take note of the values that the loop has appended to lists."""
        self.appended = appended
        self.out = (*self.out, *(one.place for one in appended))

    @property
    def activates(self) -> bool:  # type: ignore[override]
        return bool(self.activated)

    @property
    def name(self) -> str:
        return "a loop in C"

    def reads(self) -> Iterator[Any]:
        return places_in([*self.args.values()])

    def writes(self) -> Iterator[Any]:
        return places_in([*self.out, *self.windows.values()])

    def overwritten(self) -> Iterator[Overwritten]:
        for place, shown, saved in zip(self.windows.values(), self.shown, self.copies, strict=True):
            yield Overwritten(place, shown, Ellipsis, saved)

    def held(self) -> Iterator[tuple[Any, str]]:
        yield self.run, "arrays"
        yield from ((self, name) for name in ("shown", "copies", "plain"))

    def bore(self) -> Iterator[Root]:
        return iter(self.out)

    def woken(self) -> list[Root]:
        return self.activated

    def take(self) -> Any:
        cts = tuple(at_birth(root) for root in self.out)
        is_reached = any(place.root.shadow is not None for place in self.windows.values())
        return cts if is_reached or any(ct is not None for ct in cts) else None

    def undo(self) -> None:
        swap = self.context.memory.swap
        self.copies = tuple(swap(array, key, saved) for _, array, key, saved in self.overwritten())

    def pull(self, ct: Any, present: Marks | None = None) -> tuple[()]:
        """Add to the shadows of what the loop began with; where cotangents are `present`, if that is given."""
        run = self.run
        shadows = self._regions()
        if present is None:
            self._backward(ct, shadows)
            reached = None
        else:
            run.marks[:] = present.numbers
            self._backward(ct, shadows, present.copies(), present.local)
            reached = run.marks
        for name, place in self._numbers():
            number = run.order.index(name)
            if reached is None or reached[number]:
                place.accumulate(place.root.dtype.type(run.shadows[number]))
        return ()

    def mark(self, ct: Any, walk: object) -> Marks:
        """Walk it back with marks in place of cotangents: NaN where one exists. Returns where they existed after it."""
        run = self.run
        regions = self._regions()
        written = self._windows()
        wholes: dict[Any, np.ndarray] = {}
        places: dict[int, tuple[Any, np.ndarray, np.ndarray]] = {}
        for k, region in regions.items():
            array = run.arrays[k]
            window = written.get(k)
            key = _window(array) if window is None else id(window)
            if key not in wholes:
                wholes[key] = like(0.0, array if window is None else window)
            places[k] = key, array if window is None else window, array
            if window is not None:
                within(wholes[key], window, array)[...] = np.isnan(region)
        present = Marks(wholes, places, np.zeros(len(run.marks)), {})
        for (name, place), one in zip(self.left.items(), ct, strict=False):
            if one is None:
                continue
            if place.shape == () and name in run.order:
                present.numbers[run.order.index(name)] = np.isnan(one)
            else:
                present.local[self.arrays[name]] = np.isnan(one).astype(float)
        for appended, one in self._of_appended(ct):
            alike = [other for other in self.appended if other.array == appended.array]
            end = max(other.begin + math.prod(other.place.shape) for other in alike)
            present.local.setdefault(appended.array, np.zeros(end))
            present.local[appended.array][appended.begin : appended.begin + one.size] = np.isnan(one)
        marks = present.copies()
        run.marks[:] = present.numbers
        nothing = {k: like(0.0, run.arrays[k]) for k in regions}
        self._backward(None, nothing, marks, present.local)
        for k, region in regions.items():
            if k in written:
                region[...] = np.where(marks[k] != 0.0, np.nan, 0.0)
            else:
                region[marks[k] != 0.0] = np.nan
        for name, place in self._numbers():
            if run.marks[run.order.index(name)]:
                place.accumulate(place.root.dtype.type(np.nan))
        return present

    def _backward(self, ct: Any, shadows: dict[int, np.ndarray], *marks: Any) -> None:
        """Walk the loop back, from the cotangents of what it has left; from none if `ct` is None."""
        run = self.run
        memory, written = self._memory()
        run.shadows[:] = 0.0

        def seed() -> None:
            if ct is not None:
                self._seed(ct)

        if self.schedule is None or self.size is None:
            run.backward(run.logs, seed, memory, shadows, *marks)
            return
        replay = Replay(run, written, self.schedule, self.done)
        with self.context.log.reserving(self.schedule.bytes(self.size)):
            run.backward(replay.logs, seed, memory, shadows, *marks)

    def _seed(self, ct: Any) -> None:
        """Give what the loop has left its cotangents."""
        run = self.run
        for appended, one in self._of_appended(ct):
            run.add_to_shadow(appended.array, one, appended.begin)
        for (name, place), one in zip(self.left.items(), ct, strict=False):
            if one is None:
                continue
            if place.shape == () and name in run.order:
                run.shadows[run.order.index(name)] = one
            else:
                run.add_to_shadow(self.arrays[name], np.asarray(one))

    def _of_appended(self, ct: Any) -> Iterator[tuple[Appended, np.ndarray]]:
        """The cotangents of values that the loop has appended to lists."""
        for appended, one in zip(self.appended, ct[len(self.left) :], strict=True):
            if one is not None:
                yield appended, np.asarray(one).ravel()

    def _numbers(self) -> Iterator[tuple[str, Any]]:
        """The numbers that the loop began with and that carry a gradient."""
        for name, place in self.args.items():
            # A variable may have held an array before the loop, and a number since.
            if place.shape == () and place.active and name in self.run.order:
                yield name, place

    def _memory(self) -> tuple[dict[int, np.ndarray], list[np.ndarray]]:
        """Copies of arrays for the backward pass, and of these the memory that the loop writes.

        They hold what the arrays held after the loop, those that the backward pass reads and the loop has written. If
        it runs parts of the loop again, they hold what the arrays held before it.
        """
        run, printer = self.run, self.run.library.printer
        program, plan = run.library.program, run.library.plan
        parts = zip(self.windows, self.overwritten(), strict=True)
        overwritten = {program.arrays[name].memory: part for name, part in parts}
        plain = dict(zip(self.names, self.plain, strict=True))
        labels = {program.arrays[name].memory for name in program.written}
        copies: dict[Any, np.ndarray] = {}
        written: dict[Any, np.ndarray] = {}
        memory: dict[int, np.ndarray] = {}
        for k, name in enumerate(printer.given):
            label = program.arrays[name].memory
            if self.schedule is None and label not in plan.memory:
                continue
            if label in overwritten:
                _, window, _, after = overwritten[label]
                if label not in copies:
                    copies[label] = like(after if self.schedule is None else window, window)
                    written[label] = copies[label]
                memory[k] = within(copies[label], window, run.arrays[k])
            elif name not in self.args:
                # Names of one array are names of one copy.
                place = _window(run.arrays[k])
                if place not in copies:
                    copies[place] = like(plain[name], run.arrays[k])
                if label in labels:
                    written[place] = copies[place]
                memory[k] = copies[place]
        return memory, list(written.values())

    def _regions(self) -> dict[int, np.ndarray]:
        """The shadows of the arrays that carry a gradient."""
        run, plan = self.run, self.run.library.plan
        found: dict[int, np.ndarray] = {}
        for k, name in enumerate(run.library.printer.given):
            array, place = run.library.program.arrays[name], self.args.get(name)
            if not is_float(array.kind) or array.memory not in plan.active_memory or place is None:
                continue
            region = found[k] = place.region()
            alike = zip(region.shape, region.strides, run.arrays[k].strides, strict=True)
            if any(extent > 1 and one != other for extent, one, other in alike):
                raise RefusedError(
                    f"the gradient of an array of shape {region.shape} lies with strides {region.strides}, "
                    f"and the array with {run.arrays[k].strides}",
                    where=self.where,
                    remedy="let Python run the loops (BRIDGE_LOOPS=python), or copy the array before the loop",
                )
        return found

    def _windows(self) -> dict[int, np.ndarray]:
        """Of the arrays on memory that the loop has written, all that it knows of that memory."""
        program = self.run.library.program
        shown = {program.arrays[name].memory: array for name, array in zip(self.windows, self.shown, strict=True)}
        given = self.run.library.printer.given
        return {k: shown[one] for k, name in enumerate(given) if (one := program.arrays[name].memory) in shown}


class Marks(NamedTuple):
    """Where cotangents existed when a loop was over: not zero, in memory, in variables, and in local arrays.

    `places` has for each array the memory that it lies in, an array that shows all of that, and the array itself.
    """

    wholes: dict[Any, np.ndarray]
    places: dict[int, tuple[Any, np.ndarray, np.ndarray]]
    numbers: np.ndarray
    local: dict[str, np.ndarray]

    def copies(self) -> dict[int, np.ndarray]:
        """The arrays once more, for one way back."""
        made = {key: like(whole, whole) for key, whole in self.wholes.items()}
        return {k: within(made[key], window, array) for k, (key, window, array) in self.places.items()}


def _window(array: np.ndarray) -> tuple[Any, ...]:
    """Where the elements of an array lie."""
    return array.ctypes.data, array.shape, array.strides
