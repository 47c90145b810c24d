"""What a program itself changes of what was there before it: once, while it is traced, and not when it runs compiled.

Variables, attributes and elements are compared with what they were before the trace, and so are generators, iterators
and arrays. A program that changes one of them is traced again in each call, so that the change is made each time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np

from bridge.code_position import warn
from bridge.rewind.memory import owner
from bridge.rewind.values import describes
from bridge.state.graph import held_by
from bridge.state.slots import GONE, Attribute, Item, Slot, contents_of
from bridge.state.snapshot import Snapshot
from bridge.xla.moving import EVERYBODYS, Moving, moves
from bridge.xla.outside import VALUES, Keys, key_of, same, slot_of, value_of
from bridge.xla.reach import Reach


@dataclass(frozen=True)
class Change:
    """Something that a program has changed; `back` and `again` let it be as it was before the trace, and after it.

    What it has become `is_unknown` if it shows, as a text, what is known only when the program runs.
    """

    name: str
    back: Callable[[], None]
    again: Callable[[], None]
    is_unknown: bool = False


class Before:
    """What functions can reach by names, as it was before they ran."""

    def __init__(self) -> None:
        self._reads: dict[Any, tuple[str, Any, Any]] = {}
        self._containers = Snapshot()
        self._moving: dict[int, Moving] = {id(one): Moving(one) for one in EVERYBODYS}
        self._reach = Reach()
        self._held: dict[int, Any] = {}

    def hold(self, function: Any) -> list[np.ndarray]:
        """Remember what a function knows; the arrays among it."""
        known, arrays = len(self._reach.reached), len(self._reach.arrays)
        for name, read, container in self._reach.walk(function):
            if container is None:
                self._reads.setdefault(key_of(read), (name, read, value_of(read)))
            elif not isinstance(container, tuple):
                slot = contents_of(container)
                if slot.key not in self._containers.parts:
                    self._containers.add(slot, slot.get())
        for thing in filter(moves, islice(self._reach.reached.values(), known, None)):
            if id(thing) not in self._moving:
                self._moving[id(thing)] = Moving(thing)
        found = self._reach.arrays[arrays:]
        self._held.update((id(thing), thing) for thing in map(owner, found))
        return found

    def reaches(self, thing: Any) -> bool:
        """Whether a thing was there before: a function of the program can reach it by names."""
        return id(thing) in self._reach.reached or id(thing) in self._held

    def changes(self) -> Iterator[Change]:
        """What is not as it was."""
        for name, read, before in self._reads.values():
            now = value_of(read)
            if isinstance(now, Keys):
                yield from _that_came(read.args[0], now.come_since(before))
            elif not same(now, before):
                yield _of_slot(name, slot_of(read), before, now)
        for slot, before, now in self._containers.changed():
            yield _of_slot(f"the elements of a {type(slot.thing).__name__}", slot, before, now)
        for moving in self._moving.values():
            if moving.has_moved():
                yield Change(moving.name, moving.back, moving.here())


def _that_came(holder: Any, names: list[str]) -> Iterator[Change]:
    """Names that a program has put into a class, or a dictionary of names."""
    for name in names:
        slot = (Attribute if isinstance(holder, type) else Item)(holder, name)
        yield _of_slot(name, slot, GONE, slot.get())


def _of_slot(name: str, slot: Slot, before: Any, now: Any) -> Change:
    return Change(name, partial(slot.set, before), partial(slot.set, now), _shows_unknown(now, _DEEP))


def _shows_unknown(value: Any, deep: int) -> bool:
    """Whether a value, or something in it, is a text of what a compiled program computes when it runs."""
    if isinstance(value, str):
        return describes(value)
    if not deep or isinstance(value, (*VALUES, type, ModuleType, np.ndarray)):
        return False
    keys = value.keys() if isinstance(value, dict) else ()
    return any(_shows_unknown(one, deep - 1) for one in (*keys, *held_by(value)))


def change_of(array: np.ndarray, before: np.ndarray) -> Change:
    """The change of an array, which was something else before."""
    name = f"an array of shape {array.shape} that is not among the arguments"
    return Change(name, partial(np.copyto, array, before), partial(np.copyto, array, array.copy()))


def say_what_is_left(names: Collection[str]) -> None:
    """Tell the user of what the program puts somewhere, and a compiled call does not."""
    if names:
        warn(
            f"compiled calls leave {', '.join(names)} as {'it was' if len(names) == 1 else 'they were'}, where the "
            "program puts what it computes"
            "\n  remedy: return that, and put it there after the call"
        )


def say_what_is_asked_once(names: Collection[str]) -> None:
    """Tell the user of clocks and files that a compiled call does not ask again."""
    if names:
        warn(
            f"compiled programs do not call {', '.join(names)} again: what it gave while they were traced is a "
            "constant of them"
            "\n  remedy: ask before the call, and pass that as an argument"
        )


_DEEP = 4
"""How deep what has changed is looked into."""
