"""What a compiled program has read without being given it: globals, closures, attributes, and arrays.

A program is traced once, so that their values are part of it; where one has changed, it must be traced again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from bridge.errors import TraceError
from bridge.rewind.memory import ArrayMemory, Strides, address, owner
from bridge.rewind.snapshots import constant
from bridge.rewind.values import describes
from bridge.rulebook.book import edition
from bridge.state.slots import GONE
from bridge.xla.changes import Before, Change, change_of
from bridge.xla.guards import Guards
from bridge.xla.moving import CannotGoBack
from bridge.xla.outside import Elements, Read, layout_of, same, shape_of, slot_of, value_of
from bridge.xla.reach import Reach
from bridge.xla.tracing.abstract import AbstractArray


class Captured:
    """Names and arrays outside of a program, with the values that they had when it was traced.

    Attributes
    ----------
    functions : those of modules and classes that the program called, once it has run.
    changes : what the program changes itself; it must be traced again in each call.
    left : what it would change to a text of values that it computes; a compiled call leaves that as it was.
    writes : the program writes its arguments, or plain arrays.
    """

    writes = False

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self._function = function
        self._arrays: dict[tuple[Any, ...], tuple[weakref.ref[np.ndarray], int, Strides, np.ndarray]] = {}
        self._names: list[tuple[str, Read, Any]] = []
        self._guards = Guards(())
        self._owners: frozenset[int] = frozenset()
        self._bits: list[tuple[weakref.ref[np.ndarray], bytes]] | None = None
        self.functions: tuple[FunctionType, ...] = ()
        self.changes: tuple[Change, ...] = ()
        self.left: tuple[str, ...] = ()
        self._called: dict[CodeType, FunctionType] = {}
        self._asks: dict[str, tuple[Read, Any]] = {}
        self._before = Before()
        self._hold(function)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Inside, the program is traced. Of a trace that fails nothing stays: the next one meets another state."""
        if self._function is not None:
            self._before = Before()
            self._hold(self._function)
        arrays, called, writes = dict(self._arrays), dict(self._called), self.writes
        try:
            yield
        except BaseException:
            self._arrays, self._called, self.writes = arrays, called, writes
            raise
        self.close()

    def _hold(self, function: Any) -> None:
        """Remember what a function knows before it runs: what it changes itself, it changes in each call."""
        for array in self._before.hold(function):
            self.add(array)

    def called(self, function: FunctionType) -> None:
        """Note a function of the program before it runs: one of a module's or a class's, with the globals it reads.

        What was made in the call, or is reached through variables, is not noted here.
        """
        if function.__closure__ is None and function.__code__ not in self._called and self._function is not None:
            self._called[function.__code__] = function
            self._hold(function)

    def asks(self, name: str, ask: Read) -> None:
        """Note what the program asks of the process, as it is now."""
        self._asks.setdefault(name, (ask, ask()))

    def add(self, array: Any) -> None:
        """Note an array that the program reads; `bridge.constant` is promised not to change."""
        if not isinstance(array, np.ndarray) or isinstance(array, (AbstractArray, constant)) or not array.size:
            return
        if 0 in array.strides:
            # Elements that are shown again and again need be looked at once.
            array = array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]
        whole = owner(array)
        key = (id(whole), address(array), array.shape, array.strides, array.dtype)
        # One that is read-only can be made writable again if its memory is NumPy's own.
        may_change = whole.base is None or whole.flags.writeable or array.flags.writeable
        if key not in self._arrays and may_change:
            lies = Strides(array.shape, array.strides, array.dtype)
            try:
                self._arrays[key] = (weakref.ref(whole), address(array) - address(whole), lies, array.copy())
            except TypeError:  # a kind of array that cannot be referred to weakly
                return

    def note(self, name: str, read: Read) -> None:
        """Note a value that the program has asked for."""
        self._names.append((name, read, read()))

    def reaches(self, thing: Any) -> bool:
        """Whether the program can reach a thing by names, before it runs."""
        return self._before.reaches(thing)

    def close(self) -> None:
        """Note the names that the function reads, now that it has run once."""
        if self._function is None:
            return
        functions, self._function = (self._function, *self._called.values()), None
        self.functions, self._called = tuple(self._called.values()), {}
        before, self._before = self._before, Before()
        changes = (*before.changes(), *self._changes_of_arrays())
        self.left = tuple(change.name for change in changes if change.is_unknown)
        _let(change.back for change in changes if change.is_unknown)
        reach = Reach()
        for name, read, container in reach.walk(*functions):
            value = value_of(read)
            if container is None and describes(value):
                # An attribute that was not there before the trace.
                self.left = (*self.left, name)
                slot_of(read).set(GONE)
                continue
            self._names.append((name, read, value))
        self._names += [(name, ask, told) for name, (ask, told) in self._asks.items()]
        look = shape_of if reach.asked.names.isdisjoint(_OF_LAYOUTS) else layout_of
        for array in reach.arrays:
            self.add(array)
            self._names.append(("the shape of an array", partial(look, array), look(array)))
        self._names.append(("the rule book", edition, edition()))
        self.changes = tuple(change for change in changes if not change.is_unknown)
        self._prepare()

    def _changes_of_arrays(self) -> Iterator[Change]:
        for now, before in self._seen():
            if not _same_bits(now, before):
                yield change_of(now, before.copy())
                before[...] = now

    def _seen(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The arrays as they are, and as they were when they were first read."""
        for key, (reference, offset, lies, before) in list(self._arrays.items()):
            whole = reference()
            if whole is None:
                self._arrays.pop(key, None)
            else:
                yield ArrayMemory().view(whole, offset, lies), before

    def start_again(self) -> None:
        """While the program is traced: let everything be as it was, because it is traced a second time."""
        _let(change.back for change in self._before.changes())
        for now, before in self._seen():
            if not _same_bits(now, before):
                now[...] = before

    def put_back(self) -> None:
        """Let what the program has changed be as it was, because it is to be traced once more in the same call."""
        _let(change.back for change in self.changes)

    @contextmanager
    def as_before(self) -> Iterator[None]:
        """Inside, what the program has changed is as it was before it."""
        self.put_back()
        try:
            yield
        finally:
            _let(change.again for change in self.changes)

    def shared_with(self, leaves: Sequence[Any]) -> frozenset[tuple[int, int]]:
        """Which arguments, by number, show memory of which arrays that the program reads; nothing if it writes none."""
        if not self.writes:
            return frozenset()
        owners = {key[0] for key, (reference, *_) in self._arrays.items() if reference() is not None}
        found = ((k, id(owner(leaf))) for k, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray))
        return frozenset(pair for pair in found if pair[1] in owners)

    def is_apart(self, owners: Sequence[int]) -> bool:
        """Whether the arrays that own the memory of a call's arguments are none that the program reads."""
        return not self.writes or self._owners.isdisjoint(owners)

    def _prepare(self) -> None:
        """Make ready to tell quickly that all is as it was."""
        self._guards = Guards((read, value_of(read)) for _, read, _ in self._names)
        self._owners = frozenset(key[0] for key in self._arrays)
        self._bits, bits = None, []
        for reference, offset, lies, before in self._arrays.values():
            whole = reference()
            if whole is None:
                continue
            is_whole = not offset and Strides(whole.shape, whole.strides, whole.dtype) == lies
            if not is_whole or not whole.flags.c_contiguous or whole.nbytes > _SMALL:
                return
            bits.append((reference, before.tobytes()))
        self._bits = bits

    def is_current(self) -> bool:
        """Whether all is as it was when the program was traced: the same objects, and arrays of the same bits."""
        if self._bits is None or self.changes:
            return self.changed() is None
        try:
            if not self._guards.hold():
                return self._is_the_same()
        except ValueError:  # a cell that is empty
            return self.changed() is None
        for reference, bits in self._bits:
            whole = reference()
            if whole is not None and whole.tobytes() != bits:
                return False
        return True

    def _is_the_same(self) -> bool:
        """Whether all is as it was, though some of it is another object, or there is more of it."""
        if self.changed() is not None:
            return False
        self._prepare()
        return True

    def changed(self) -> str | None:
        """What has changed since the program was traced, or is changed by itself: a name, or the look of an array."""
        return f"{self.changes[0].name}, which it changes itself," if self.changes else self.changed_since()

    def changed_since(self) -> str | None:
        """What has changed since the program was traced."""
        for name, read, before in self._names:
            now = value_of(read)
            if not same(now, before):
                return before.what_differs(now) if isinstance(before, Elements) else name
        for now, before in self._seen():
            if not _same_bits(now, before):
                return f"an array of shape {before.shape} that is not among the arguments"
        return None


def _let(moves: Iterable[Callable[[], None]]) -> None:
    """Let things be as they were; what can only move on is an error."""
    try:
        for move in moves:
            move()
    except CannotGoBack as error:
        raise TraceError(
            f"the program must be traced a second time, and asks a {error}, which cannot give again what it has given",
            remedy="make a list of it, and pass that as an argument",
        ) from None


_OF_LAYOUTS = frozenset({"flags", "strides", "dtype"})
"""What a program asks for if it makes a difference how an array lies."""

_SMALL = 1 << 14
"""Bytes of the largest array that is compared by a copy of its bits."""

_BLOCK = 1 << 14
"""Elements of large arrays that are compared at a time."""


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    if a.flags.c_contiguous and not a.dtype.hasobject:
        kind = np.uint64 if a.nbytes % 8 == 0 else np.uint8
        one, other = a.reshape(-1).view(kind), b.reshape(-1).view(kind)
        # Block by block, so that what the comparison makes stays in the processor's cache.
        return all(
            np.array_equal(one[k : k + _BLOCK], other[k : k + _BLOCK]) for k in range(0, max(1, one.size), _BLOCK)
        )
    return a.tobytes() == b.tobytes()
