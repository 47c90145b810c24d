"""A log of bounded memory: arrays that nobody but the log holds go to a file, and come back when the walk needs them.

What an entry keeps for its way back is needed once, from the last to the first; so the oldest go first, and come back
last. Nothing runs twice, and every bit is what it was.
"""

from __future__ import annotations

import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, SupportsIndex

import numpy as np

from bridge.errors import MemoryBoundError
from bridge.options import as_text
from bridge.rewind.log import Entry
from bridge.rewind.spilled import Away, Block, Slot, owner_of

ENTRY = 400
"""Bytes of an entry without large arrays, about."""


class BoundedLog(list[Entry]):
    """A log that keeps at most about `amount` bytes of arrays in memory that the program does not hold itself.

    Raises
    ------
    MemoryBoundError : when an entry is appended: the entries alone take more, or the file cannot be written.
    """

    def __init__(self, context: Any, amount: int) -> None:
        super().__init__()
        self.context = weakref.ref(context)
        self.amount = amount
        self.blocks: OrderedDict[int, Block] = OrderedDict()
        # Bytes of the blocks in memory; of those that the program held when it was last looked; of the rest.
        self.present = self.pinned = self.small = 0
        # Bytes that something else takes at the moment.
        self.reserved = 0
        self.last: Entry | None = None
        self.file: Any = None
        self.end = self.written = self.read = 0

    def another(self) -> BoundedLog:
        """An empty log of the same context, for a part of its run that is walked by itself."""
        context = self.context()
        return type(self)(context, self.amount)

    def append(self, entry: Entry) -> None:
        super().append(entry)
        self.small += ENTRY
        self._meet(entry)
        if self.small > self.amount:
            raise self._told(
                f"{len(self):,} operations keep {as_text(self.small)} beside large arrays, and memory= allows "
                f"{as_text(self.amount)}",
                'give more memory, or put bridge.checkpoint around parts of the program, or use engine="xla"',
            )
        self._make_room()

    @contextmanager
    def reserving(self, amount: int) -> Iterator[None]:
        """Inside, something else takes `amount` bytes of the memory."""
        self.reserved += amount
        try:
            self._make_room()
            yield
        finally:
            self.reserved -= amount

    def extend(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.append(entry)

    def __getitem__(self, number: SupportsIndex | slice) -> Any:
        found: Any = super().__getitem__(number)
        if isinstance(number, slice):
            return [self._ready(entry) for entry in found]
        return self._ready(found)

    def __iter__(self) -> Iterator[Entry]:
        return map(self._ready, super().__iter__())

    def __reversed__(self) -> Iterator[Entry]:
        return map(self._ready, super().__reversed__())

    def _ready(self, entry: Entry) -> Entry:
        """An entry with its arrays in memory; what those before it have left in memory may go again."""
        if self.last is not None and self.last is not entry:
            # It may have exchanged arrays.
            self._meet(self.last)
        for slot, value in _slots(entry):
            if type(value) is Away and value.block.array is None:
                self._come_back(value.block)
                self._enter(value.block)
                value = slot.get()
            owner = owner_of(value)
            if owner is not None and id(owner) in self.blocks:
                self.blocks.move_to_end(id(owner))
                self.blocks[id(owner)].changed |= entry.overwrites
        self.last = entry
        self._make_room()
        return entry

    def _come_back(self, block: Block) -> None:
        try:
            block.come_back(self._read)
        except OSError as error:
            raise self._told(
                f"{as_text(block.nbytes)} of the log could not be read from their file ({error})",
                "set TMPDIR to a folder that nobody cleans meanwhile, or leave memory= out",
            ) from error

    def _meet(self, entry: Entry) -> None:
        """Know the arrays that an entry holds."""
        for slot, value in _slots(entry):
            owner = owner_of(value)
            if owner is None:
                if type(value) is np.ndarray and value.base is None:
                    self.small += value.nbytes * (entry is not self.last)
                continue
            block = self.blocks.get(id(owner))
            if block is None:
                block = Block(owner)
                self._enter(block)
            block.slots.setdefault(slot.key, slot)

    def _enter(self, block: Block) -> None:
        self.blocks[id(block.array)] = block
        self.present += block.nbytes

    def _make_room(self) -> None:
        """Send away the arrays that were not needed for longest, where memory is short; not those of the last entry."""
        # A quarter is reserved for what is not counted: gradients, temporary arrays of pulls, objects of Python.
        amount = max(0, self.amount - self.amount // 4 - self.small - self.reserved)
        if self.present - self.pinned <= amount:
            return
        needed = {id(owner_of(value)) for _, value in _slots(self.last)} if self.last is not None else set()
        needed |= {id(owner_of(value)) for _, value in _slots(super().__getitem__(-1))}
        enough, self.pinned = amount - amount // 4, 0
        for key, block in list(self.blocks.items()):
            if self.present - self.pinned <= enough:
                break
            if key in needed:
                continue
            if block.is_alone:
                try:
                    block.leave(self._write)
                except OSError as error:
                    raise self._told(
                        f"{as_text(block.nbytes)} of the log could not be written to a file in {tempfile.gettempdir()} "
                        f"({error}), where {as_text(self.end)} of it are",
                        "make room there, or set TMPDIR to a folder with more; or give more memory",
                    ) from error
            elif block.slots:
                self.pinned += block.nbytes
                continue
            del self.blocks[key]
            self.present -= block.nbytes

    def _told(self, what: str, remedy: str) -> MemoryBoundError:
        """The error, which its context raises again where the program goes on."""
        context = self.context()
        error = MemoryBoundError(what, where=super().__getitem__(-1).where, remedy=remedy)
        if context is not None:
            context.escaped = context.escaped or error
        return error

    def _write(self, data: memoryview, offset: int | None) -> int:
        if self.file is None:
            self.file = tempfile.TemporaryFile(prefix="bridge-log-", buffering=0)  # noqa: SIM115
            weakref.finalize(self, self.file.close)
        if offset is None:
            offset, self.end = self.end, self.end + len(data)
        self.file.seek(offset)
        self.written += len(data)
        while data:
            data = data[self.file.write(data) :]
        return offset

    def _read(self, data: memoryview, offset: int) -> None:
        self.file.seek(offset)
        self.read += len(data)
        while data:
            count = self.file.readinto(data)
            if not count:
                raise OSError("the file of the log has been cut off")
            data = data[count:]


def _slots(entry: Entry) -> Iterator[tuple[Slot, Any]]:
    for holder, name in entry.held():
        value = getattr(holder, name)
        if type(value) is tuple:
            for position, part in enumerate(value):
                yield Slot(holder, name, position), part
        else:
            yield Slot(holder, name, None), value
