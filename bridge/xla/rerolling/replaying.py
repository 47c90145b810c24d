"""Running a tape: it is a NumPy program again, on the memory of whatever context is open."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from threading import get_ident
from typing import Any

import numpy as np

from bridge.arrays.dispatch import call
from bridge.code_position import REPLAYED
from bridge.rewind.interpreter import current_context
from bridge.transforms.loops import fori_loop
from bridge.trees import leaves_of, rebuilt
from bridge.xla.rerolling.encoding import Datum, Notes, NotRepeatable, Reader, tabled
from bridge.xla.rerolling.repeats import Repeat
from bridge.xla.rerolling.tape import Entry, look_of

Repeating = Callable[[int, int, Callable[[Any, Any], Any], Any], Any]


def in_python(lower: int, upper: int, body: Callable[[Any, Any], Any], value: Any) -> Any:
    """A loop that stays one of Python."""
    for i in range(lower, upper):
        value = body(i, value)
    return value


class Player:
    """Runs the items of a tape.

    Parameters
    ----------
    notes : the constants of the tape.
    loop : how repeats run: `fori_loop`, or `in_python`.
    """

    def __init__(self, notes: Notes, loop: Repeating = fori_loop) -> None:
        self.notes = notes
        self.loop = loop

    def run(self, items: list[Any], memory: dict[Any, Any]) -> None:
        """Run items on `memory`, which holds tracked values by their numbers on the tape, and gets the new ones."""
        mine = get_ident()
        before = REPLAYED.get(mine)
        try:
            for item in items:
                values = [memory[root] for root in item.roots]
                self._item(item, list(item.integers), values, [(number, ()) for number in item.data], memory)
        finally:
            _put_back(mine, before)

    def _item(
        self, item: Any, integers: list[Any], roots: list[Any], data: list[Datum], memory: dict[Any, Any]
    ) -> None:
        REPLAYED[get_ident()] = item.position
        run = self._entry if type(item) is Entry else self._repeat
        made = run(item, integers, roots, data)
        memory.update(zip(item.born, made, strict=True))

    def _entry(self, entry: Entry, integers: list[Any], roots: list[Any], data: list[Datum]) -> list[Any]:
        reader = Reader(self.notes, integers, roots, data)
        made = [leaf for leaf in leaves_of(self._result(entry, reader))[0] if hasattr(leaf, "place")]
        if entry.kind in ("write", "update", "scatter"):
            return []
        if tuple(map(look_of, made)) != entry.looks:
            raise NotRepeatable
        return made

    def _result(self, entry: Entry, reader: Reader) -> Any:
        kind, note = entry.kind, entry.note
        if kind == "call":
            args, kwargs = reader.operand(note)
            return call(entry.function, args, kwargs)
        if kind == "new":
            context = current_context()
            assert context is not None
            return context.constant_buffer(np.array(reader.operand(note), order="K"))
        target = reader.operand(note if kind == "copy" else note[0])
        if kind == "copy":
            dtype, order = entry.function
            return _copied(target, dtype, order)
        if kind == "read":
            return target[reader.operand(note[1])]
        if kind == "write":
            key = reader.operand(note[1])
            value = reader.operand(note[2])
            target[key] = value
        elif kind == "update":
            operands, mask = reader.operand(note[1]), reader.operand(note[2])
            entry.function(*operands, out=target, **({} if mask is None else {"where": mask}))
        else:
            key = reader.operand(note[1])
            entry.function.at(target, key, reader.operand(note[2]))
        return None

    def _repeat(self, repeat: Repeat, integers: list[Any], roots: list[Any], data: list[Datum]) -> list[Any]:
        fixed: dict[Any, Any] = {("outer", k): value for k, value in enumerate(roots)}
        first = roots[len(roots) - len(repeat.carried) :] if repeat.carried else []
        blank = [np.zeros(look[1], look[2])[()] if look[0].__name__ == "Scalar" else np.zeros(look[1], look[2])
                 for look in repeat.looks[len(first) :]]  # fmt: skip

        def body(i: Any, carried: Any) -> Any:
            mine = get_ident()
            before = REPLAYED.get(mine)
            memory: dict[Any, Any] = fixed | {("carried", k): value for k, value in enumerate(carried[: len(first)])}
            starts, given = iter(integers), iter(data)
            steps_taken: dict[Any, Any] = {}
            try:
                for part in repeat.body:
                    now = [_stepped(next(starts), step, i, steps_taken) for step in part.steps]
                    looked_up = [
                        (number, (*indices, i) if varies else indices)
                        for varies, (number, indices) in zip(part.varies, islice(given, len(part.varies)), strict=True)
                    ]
                    self._item(part.item, now, [memory[use] for use in part.uses], looked_up, memory)
            finally:
                _put_back(mine, before)
            return [memory[number] for number in repeat.returned]

        return self.loop(0, repeat.count, body, [*first, *blank])


def _stepped(start: Any, step: Any, i: Any, taken: dict[Any, Any]) -> Any:
    """An integer in repetition `i`: so many steps further, or as far further as a table says."""
    if step == 0:
        return start
    if type(step) is int:
        return start + i * step
    if type(i) is int:
        return start + step[i]
    if step not in taken:
        taken[step] = tabled(np.array(step), 0, (i,))
    return start + taken[step]


def _copied(source: Any, dtype: Any, order: str) -> Any:
    if dtype is not None:
        return source.astype(dtype)
    return source.copy(order) if hasattr(source, "view_as") else source.copy()


def _put_back(mine: int, before: Any) -> None:
    if before is None:
        REPLAYED.pop(mine, None)
    else:
        REPLAYED[mine] = before


__all__ = ["Player", "in_python", "leaves_of", "rebuilt"]
