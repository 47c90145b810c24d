"""Snapshots: slots with the values that they held, which are compared and put back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from bridge.state.slots import Slot


class Snapshot:
    """Slots with the values that they held when they were added.

    Attributes
    ----------
    parts : the slots and their values, by the slots' keys.
    """

    def __init__(self, slots: Iterable[Slot] = ()) -> None:
        self.parts: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        for slot in slots:
            self.add(slot, slot.get())

    def add(self, slot: Slot, before: Any) -> None:
        """Keep a slot with a value that it held, unless it is kept with an earlier one."""
        self.parts.setdefault(slot.key, (slot, before))

    def changed(self) -> list[tuple[Any, Any, Any]]:
        """The slots that hold another value now: each with the earlier value and the present one."""
        found = ((slot, before, slot.get()) for slot, before in self.parts.values())
        return [(slot, before, now) for slot, before, now in found if not slot.is_same(before, now)]

    def put_back(self) -> None:
        """Let every slot hold what it held, the last that was added first."""
        for slot, before in reversed(self.parts.values()):
            slot.set(before)

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Inside, the slots hold what they held; afterwards, what they hold now."""
        changed = self.changed()
        try:
            for slot, before, _ in reversed(changed):
                slot.set(before)
            yield
        finally:
            for slot, _, now in changed:
                slot.set(now)
