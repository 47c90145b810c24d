"""The entry of a loop that ran in C: undone from copies of what it overwrote, and walked back in C."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.code_position import Position
from bridge.errors import RefusedError
from bridge.loops_in_c.building import Run
from bridge.rewind.log import Entry, Overwritten, at_birth
from bridge.rewind.places import places_in
from bridge.rewind.roots import Root


class LoopEntry(Entry):
    """A loop that ran in C."""

    __slots__ = ("activated", "args", "context", "done", "ended", "left", "names", "out", "run", "saved", "site")

    overwrites = True
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
        saved: list[Overwritten],
        activated: list[Root],
    ) -> None:
        self.context, self.position, self.site, self.run = context, position, site, run
        self.args, self.ended, self.saved, self.activated = args, ended, saved, activated
        self.left = {name: value for name, value in left.items() if is_tracked(value)}
        self.out = tuple(value.place for value in self.left.values())
        self.names: list[str] = []
        self.done = 0

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

    def pull(self, ct: Any) -> Iterator[tuple[Any, Any]]:
        """The shadows of arrays are added to in place; numbers get their cotangents."""
        if self.context.walking or self.context.mending:
            raise RefusedError(
                "a gradient holds a NaN, and whether it is one where no cotangent arrives is not known of a loop in C",
                where=self.where,
                remedy='let Python run the loops (BRIDGE_LOOPS=python), or use zeros="ieee"',
            )
        run, printer = self.run, self.run.library.printer
        program, plan = run.library.program, run.library.plan
        memory: dict[int, np.ndarray] = {}
        shadows: dict[int, np.ndarray] = {}
        finals = {program.arrays[name].memory: part.saved for name, part in zip(self.names, self.saved, strict=True)}
        copies: dict[str, np.ndarray] = {}
        for k, name in enumerate(printer.given):
            array = program.arrays[name]
            value = self.args[name]
            has_place = is_tracked(value)
            if array.memory in plan.memory:
                if array.memory in finals:
                    copy = copies.get(array.memory)
                    if copy is None:
                        copy = copies[array.memory] = _alike(finals[array.memory], run.arrays[k])
                    memory[k] = copy
                elif not has_place:
                    memory[k] = _alike(self.ended[name], run.arrays[k])
            if array.kind == "f" and array.memory in plan.active_memory and has_place:
                region = value.place.region()
                shadows[k] = region
                if region.strides != run.arrays[k].strides and region.size > 1:
                    raise AssertionError("a shadow lies in another way than its memory")
        run.shadows[:] = 0
        for (name, value), one in zip(self.left.items(), ct, strict=True):
            if one is None:
                continue
            if value.shape == () and name in run.order:
                run.shadows[run.order.index(name)] = one
            else:
                run.add_to_shadow(_local_of(program, name, value), np.asarray(one))
        run.backward(memory, shadows)
        for name, value in self.args.items():
            if is_tracked(value) and value.place.active and name in run.order:
                yield value.place, np.float64(run.shadows[run.order.index(name)])


def _local_of(program: Any, name: str, value: Any) -> str:
    return f"{name}_{value.ndim}f"


def _alike(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """A copy that lies as another array does."""
    made = np.empty_like(like)
    if made.strides != like.strides:
        low, high = np.lib.array_utils.byte_bounds(like)
        room = np.empty((high - low) // like.itemsize, like.dtype)
        made = np.lib.stride_tricks.as_strided(
            room[(like.ctypes.data - low) // like.itemsize :], like.shape, like.strides
        )
    made[...] = values
    return made
