"""A log of bounded memory: arrays that nobody but the log holds go to a file, and come back when the walk needs them.

What an entry keeps for its way back is needed once, from the last to the first; so the oldest go first, and come back
last. Nothing runs twice, and every bit is what it was. An array goes with all views of it that entries hold, and only
while nobody else can see it: whether that is so, its count of references says.
"""

from __future__ import annotations

import sys
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from bridge.amounts import as_text
from bridge.errors import MemoryBoundError
from bridge.rewind.log import Entry

LARGE = 1 << 14
"""Bytes of an array from which on it may go to the file; smaller ones stay."""

_ENTRY = 400
"""Bytes of an entry without large arrays, about."""


class Layout(NamedTuple):
    """How a view lies in an array: its distance from the array's first byte, and the rest."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    writeable: bool


class Away:
    """Stands where an entry held an array, or a view of one (`layout`), which lies in the file."""

    __slots__ = ("block", "layout")

    def __init__(self, block: Block, layout: Layout | None) -> None:
        self.block = block
        self.layout = layout


class Slot(NamedTuple):
    """Where an entry holds an array: an attribute, or an element of a tuple there."""

    holder: Any
    name: str
    position: int | None

    def get(self) -> Any:
        value = getattr(self.holder, self.name)
        if self.position is None:
            return value
        return value[self.position] if type(value) is tuple and self.position < len(value) else None

    def set(self, value: Any) -> None:
        if self.position is not None:
            parts = list(getattr(self.holder, self.name))
            parts[self.position] = value
            value = tuple(parts)
        setattr(self.holder, self.name, value)

    @property
    def key(self) -> tuple[int, str, int | None]:
        return id(self.holder), self.name, self.position


class Block:
    """An array that owns its memory, in memory or in the file, and where entries hold it or views of it."""

    __slots__ = ("array", "changed", "dtype", "in_c_order", "nbytes", "offset", "shape", "slots")

    def __init__(self, array: np.ndarray) -> None:
        self.array: np.ndarray | None = array
        self.shape, self.dtype, self.nbytes = array.shape, array.dtype, array.nbytes
        self.in_c_order = bool(array.flags.c_contiguous)
        # Whether the file does not hold what memory holds.
        self.changed = True
        self.offset: int | None = None
        self.slots: dict[Any, Slot] = {}

    @property
    def is_alone(self) -> bool:
        """Whether nobody but the slots can see the array; slots that hold something else by now are dropped."""
        return self.strangers == (0, 0)

    @property
    def strangers(self) -> tuple[int, int]:
        """References to the array, and to views of it, that are no slot's."""
        direct, stale = 0, []
        views: dict[int, list[Any]] = {}
        value: Any = None
        for key, slot in self.slots.items():
            value = slot.get()
            if value is self.array:
                direct += 1
            elif type(value) is np.ndarray and value.base is self.array:
                views.setdefault(id(value), [value, 0])[1] += 1
            else:
                stale.append(key)
        value = None
        for key in stale:
            del self.slots[key]
        if not self.slots:
            return 1, 1
        of_views = sum(sys.getrefcount(pair[0]) - pair[1] - _OF_VIEW for pair in views.values())
        return sys.getrefcount(self.array) - direct - len(views) - _OF_ARRAY, of_views

    def leave(self, write: Any) -> None:
        """Go to the file; `write` stores bytes and returns where."""
        array = self.array
        assert array is not None
        if self.changed:
            self.offset = write(_bytes_of(array), self.offset)
            self.changed = False
        start = array.__array_interface__["data"][0]
        away: dict[int, tuple[Any, Away]] = {}
        for slot in self.slots.values():
            value = slot.get()
            if id(value) not in away:
                away[id(value)] = value, Away(self, None if value is array else _layout(value, start))
            slot.set(away[id(value)][1])
        self.array = None

    def come_back(self, read: Any) -> None:
        """Be in memory again, in every slot; `read` fills bytes."""
        array = np.empty(self.shape, self.dtype, order="C" if self.in_c_order else "F")
        read(_bytes_of(array), self.offset)
        whole = array if self.in_c_order else array.T
        back: dict[int, np.ndarray] = {}
        for slot in self.slots.values():
            value = slot.get()
            if type(value) is not Away or value.block is not self:
                continue
            if id(value) not in back:
                back[id(value)] = array if value.layout is None else _view(whole, value.layout)
            slot.set(back[id(value)])
        self.array = array


def _bytes_of(array: np.ndarray) -> memoryview:
    in_order = array if array.flags.c_contiguous else array.T
    flat: Any = in_order.reshape(-1).view(np.uint8)
    return memoryview(flat)


def _layout(view: np.ndarray, start: int) -> Layout:
    distance = view.__array_interface__["data"][0] - start
    return Layout(distance, view.shape, view.strides, view.dtype, bool(view.flags.writeable))


def _view(whole: np.ndarray, layout: Layout) -> np.ndarray:
    made: np.ndarray = np.ndarray(layout.shape, layout.dtype, whole, layout.offset, layout.strides)
    made.flags.writeable = layout.writeable
    return made


def _owner(value: Any) -> np.ndarray | None:
    """The array that owns the memory of a large plain one, if it may go to the file; else None."""
    if type(value) is not np.ndarray:
        return None
    found = value if value.base is None else value.base
    if type(found) is not np.ndarray or found.base is not None or found.nbytes < LARGE or found.dtype.hasobject:
        return None
    flags = found.flags
    return found if flags.owndata and (flags.c_contiguous or flags.f_contiguous) else None


def _slots(entry: Entry) -> Iterator[tuple[Slot, Any]]:
    for holder, name in entry.held():
        value = getattr(holder, name)
        if type(value) is tuple:
            for position, part in enumerate(value):
                yield Slot(holder, name, position), part
        else:
            yield Slot(holder, name, None), value


class _Holder:
    """Holds an array as an entry does."""

    def __init__(self, held: Any) -> None:
        self.held = held


def _calibrated() -> tuple[int, int]:
    """What is counted beside slots, for arrays and for views that nobody else holds: interpreters differ in that."""
    made = np.empty(2)
    block = Block(made)
    for slot in (Slot(_Holder(made), "held", None), Slot(_Holder(made[:1]), "held", None)):
        block.slots[slot.key] = slot
    del made
    return block.strangers


_OF_ARRAY = _OF_VIEW = 0
_OF_ARRAY, _OF_VIEW = _calibrated()


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
        self.last: Entry | None = None
        self.file: Any = None
        self.end = self.written = self.read = 0

    def another(self) -> BoundedLog:
        """An empty log of the same context, for a part of its run that is walked by itself."""
        context = self.context()
        return type(self)(context, self.amount)

    def append(self, entry: Entry) -> None:
        super().append(entry)
        self.small += _ENTRY
        self._meet(entry)
        if self.small > self.amount:
            raise self._told(
                f"{len(self):,} operations keep {as_text(self.small)} beside large arrays, and memory= allows "
                f"{as_text(self.amount)}",
                'give more memory, or put bridge.checkpoint around parts of the program, or use engine="xla"',
            )
        self._make_room()

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
            owner = _owner(value)
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
            owner = _owner(value)
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
        if self.present - self.pinned <= self.amount:
            return
        needed = {id(_owner(value)) for _, value in _slots(self.last)} if self.last is not None else set()
        needed |= {id(_owner(value)) for _, value in _slots(super().__getitem__(-1))}
        enough, self.pinned = self.amount - self.amount // 4, 0
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
