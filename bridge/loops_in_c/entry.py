"""The entry of a loop that ran in C: undone from copies of what it overwrote, and walked back in C."""

from __future__ import annotations

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
from bridge.rewind.log import Entry, Overwritten, at_birth
from bridge.rewind.places import places_in
from bridge.rewind.roots import Root


class LoopEntry(Entry):
    """A loop that ran in C."""

    __slots__ = (
        "activated", "appended", "args", "arrays", "context", "done", "ended", "left", "names", "out", "run", "saved",
        "site",
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
        ended: dict[str, np.ndarray],
        left: dict[str, Any],
        arrays: dict[str, str],
        saved: list[Overwritten],
        activated: list[Root],
    ) -> None:
        self.context, self.position, self.site, self.run = context, position, site, run
        self.args, self.ended, self.saved, self.activated = args, ended, saved, activated
        self.arrays = arrays
        self.left = {name: value for name, value in left.items() if is_tracked(value)}
        self.out = tuple(value.place for value in self.left.values())
        self.appended: list[Appended] = []
        self.names: list[str] = []
        self.done = 0

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
        return places_in([x.place for x in self.args.values() if is_tracked(x)])

    def writes(self) -> Iterator[Any]:
        return places_in([*self.out, *(part.place for part in self.saved)])

    def overwritten(self) -> Iterator[Overwritten]:
        return iter(self.saved)

    def bore(self) -> Iterator[Root]:
        return iter(self.out)

    def woken(self) -> list[Root]:
        return self.activated

    def take(self) -> Any:
        cts = tuple(at_birth(root) for root in self.out)
        is_reached = any(part.place.root.shadow is not None for part in self.saved)
        return cts if is_reached or any(ct is not None for ct in cts) else None

    def undo(self) -> None:
        swap = self.context.memory.swap
        self.saved = [
            Overwritten(place, array, key, swap(array, key, saved)) for place, array, key, saved in self.saved
        ]

    def pull(self, ct: Any, present: Marks | None = None) -> tuple[()]:
        """Add to the shadows of what the loop began with; where cotangents are `present`, if that is given."""
        run = self.run
        shadows = self._regions()
        self._seed(ct)
        if present is None:
            run.backward(self._memory(), shadows)
            reached = None
        else:
            run.marks[:] = present.numbers
            run.backward(self._memory(), shadows, present.copies(), present.local)
            reached = run.marks
        for name, value in self._numbers():
            number = run.order.index(name)
            if reached is None or reached[number]:
                value.place.accumulate(value.dtype.type(run.shadows[number]))
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
        for (name, value), one in zip(self.left.items(), ct, strict=False):
            if one is None:
                continue
            if value.shape == () and name in run.order:
                present.numbers[run.order.index(name)] = np.isnan(one)
            else:
                present.local[self.arrays[name]] = np.isnan(one).astype(float)
        for appended, one in self._of_appended(ct):
            if appended.array not in present.local:
                present.local[appended.array] = np.zeros(run.room(appended.array))
            present.local[appended.array][appended.begin : appended.begin + one.size] = np.isnan(one)
        marks = present.copies()
        run.shadows[:] = 0.0
        run.marks[:] = present.numbers
        nothing = {k: like(0.0, run.arrays[k]) for k in regions}
        run.backward(self._memory(), nothing, marks, present.local)
        for k, region in regions.items():
            if k in written:
                region[...] = np.where(marks[k] != 0.0, np.nan, 0.0)
            else:
                region[marks[k] != 0.0] = np.nan
        for name, value in self._numbers():
            if run.marks[run.order.index(name)]:
                value.place.accumulate(value.dtype.type(np.nan))
        return present

    def _seed(self, ct: Any) -> None:
        """Give what the loop has left its cotangents."""
        run = self.run
        run.shadows[:] = 0.0
        for appended, one in self._of_appended(ct):
            run.add_to_shadow(appended.array, one, appended.begin)
        for (name, value), one in zip(self.left.items(), ct, strict=False):
            if one is None:
                continue
            if value.shape == () and name in run.order:
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
        for name, value in self.args.items():
            # A variable may have held an array before the loop, and a number since.
            if is_tracked(value) and value.shape == () and value.place.active and name in self.run.order:
                yield name, value

    def _memory(self) -> dict[int, np.ndarray]:
        """Copies of what arrays held after the loop, of those that the way back reads and the loop has written."""
        run, printer = self.run, self.run.library.printer
        program, plan = run.library.program, run.library.plan
        finals = {program.arrays[name].memory: part for name, part in zip(self.names, self.saved, strict=True)}
        copies: dict[Any, np.ndarray] = {}
        memory: dict[int, np.ndarray] = {}
        for k, name in enumerate(printer.given):
            label = program.arrays[name].memory
            if label not in plan.memory:
                continue
            if label in finals:
                window = finals[label].array
                if label not in copies:
                    copies[label] = like(finals[label].saved, window)
                memory[k] = within(copies[label], window, run.arrays[k])
            elif not is_tracked(self.args[name]):
                # Names of one array are names of one copy.
                place = _window(run.arrays[k])
                if place not in copies:
                    copies[place] = like(self.ended[name], run.arrays[k])
                memory[k] = copies[place]
        return memory

    def _regions(self) -> dict[int, np.ndarray]:
        """The shadows of the arrays that carry a gradient."""
        run, plan = self.run, self.run.library.plan
        found: dict[int, np.ndarray] = {}
        for k, name in enumerate(run.library.printer.given):
            array, value = run.library.program.arrays[name], self.args[name]
            if not is_float(array.kind) or array.memory not in plan.active_memory or not is_tracked(value):
                continue
            region = found[k] = value.place.region()
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
        shown = {program.arrays[name].memory: part.array for name, part in zip(self.names, self.saved, strict=True)}
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
