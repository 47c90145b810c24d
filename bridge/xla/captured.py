"""What a compiled program has read without being given it: globals, closures, attributes, and arrays.

A program is traced once, so that their values are part of it; where one has changed, it must be traced again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from bridge.rewind.memory import ArrayMemory, Strides, address, owner
from bridge.rewind.rule_book import edition
from bridge.rewind.snapshots import constant
from bridge.xla.outside import VALUES, Read, names_of, value_of
from bridge.xla.tracing.abstract import AbstractArray


class Captured:
    """Names and arrays outside of a program, with the values that they had when it was traced.

    Attributes
    ----------
    functions : those of modules and classes that the program called, once it has run.
    writes : the program writes its arguments, or plain arrays.
    """

    writes = False

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self._function = function
        self._arrays: dict[tuple[Any, ...], tuple[weakref.ref[np.ndarray], int, Strides, np.ndarray]] = {}
        self._names: list[tuple[str, Read, Any]] = []
        self._quick: list[tuple[Read, Any]] = []
        self._owners: frozenset[int] = frozenset()
        self._bits: list[tuple[weakref.ref[np.ndarray], bytes]] | None = None
        self.functions: tuple[FunctionType, ...] = ()
        self._called: dict[CodeType, FunctionType] = {}
        self._contents: dict[int, tuple[Any, list[Any]]] = {}
        self._before: dict[Any, Any] = {}
        self._hold(function)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Inside, the program is traced. Of a trace that fails nothing stays: the next one meets another state."""
        if self._function is not None:
            self._contents = {}
            self._hold(self._function)
        arrays, called, writes = dict(self._arrays), dict(self._called), self.writes
        try:
            yield
        except BaseException:
            self._arrays, self._called, self.writes = arrays, called, writes
            raise
        self.close()

    def _hold(self, function: Any) -> None:
        """Remember what a function knows, and what the containers hold that it knows, before it runs.

        A program that changes its own object or array (`self.n += 1`, `w[:] = ...`) is another one in the next call.
        """
        for _, read, one in names_of(function):
            if one is not None:
                self._contents.setdefault(id(one), (one, _contents(one)))
                continue
            value = value_of(read)
            if isinstance(value, np.ndarray):
                self.add(value)
            if _is_attribute(read):
                self._before.setdefault(_place(read), value)

    def called(self, function: FunctionType) -> None:
        """Note a function of the program before it runs: one of a module's or a class's, with the globals it reads.

        What was made in the call, or is reached through variables, is not noted here.
        """
        if function.__closure__ is None and function.__code__ not in self._called and self._function is not None:
            self._called[function.__code__] = function
            self._hold(function)

    def add(self, array: Any) -> None:
        """Note an array that the program reads; `bridge.constant` is promised not to change."""
        if not isinstance(array, np.ndarray) or isinstance(array, (AbstractArray, constant)) or not array.size:
            return
        if 0 in array.strides:
            # Elements that are shown again and again need be looked at once.
            array = array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]
        whole = owner(array)
        key = (id(whole), address(array), array.shape, array.strides, array.dtype)
        if key not in self._arrays and (whole.flags.writeable or array.flags.writeable):
            lies = Strides(array.shape, array.strides, array.dtype)
            try:
                self._arrays[key] = (weakref.ref(whole), address(array) - address(whole), lies, array.copy())
            except TypeError:  # a kind of array that cannot be referred to weakly
                return

    def close(self) -> None:
        """Note the names that the function reads, now that it has run once."""
        if self._function is None:
            return
        function, self._function = partial(self._function, *self._called.values()), None
        self.functions, self._called = tuple(self._called.values()), {}
        contents, self._contents = self._contents, {}
        before, self._before = self._before, {}
        for name, read, container in names_of(function):
            if container is not None and not _is_as_before(container, contents):
                # The program writes into it itself, while it is traced only: a log.
                continue
            value = value_of(read)
            if isinstance(value, np.ndarray):
                self.add(value)
            self._names.append((name, read, before.get(_place(read), value) if _is_attribute(read) else value))
        self._names.append(("the rule book", edition, edition()))
        self._prepare()

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
        self._quick = [(read, value) for _, read, value in self._names]
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
        if self._bits is None:
            return self.changed() is None
        try:
            for read, before in self._quick:
                if read() is not before:
                    return self.changed() is None
        except ValueError:  # a cell that is empty
            return self.changed() is None
        for reference, bits in self._bits:
            whole = reference()
            if whole is not None and whole.tobytes() != bits:
                return False
        return True

    def changed(self) -> str | None:
        """What has changed since the program was traced: a name, or the look of an array."""
        for name, read, before in self._names:
            now = value_of(read)
            if now is not before and not (type(now) is type(before) and isinstance(now, VALUES) and _same(now, before)):
                return name
        for key, (reference, offset, lies, before) in list(self._arrays.items()):
            whole = reference()
            if whole is None:
                self._arrays.pop(key, None)
            elif not _same_bits(ArrayMemory().view(whole, offset, lies), before):
                return f"an array of shape {lies.shape} that is not among the arguments"
        return None


_SMALL = 1 << 14
"""Bytes of the largest array that is compared by a copy of its bits."""

_BLOCK = 1 << 14
"""Elements of large arrays that are compared at a time."""


def _is_attribute(read: Read) -> bool:
    """Whether a read is of an attribute of an object: no variable's, which may count what is traced."""
    if not isinstance(read, partial) or len(read.args) < 2:
        return False
    holder = read.args[0]
    return not isinstance(holder, CellType) and not (isinstance(holder, dict) and "__builtins__" in holder)


def _place(read: Any) -> Any:
    return read.func, id(read.args[0]), read.args[1]


def _contents(container: Any) -> list[Any]:
    return list(container.items() if isinstance(container, dict) else container)


def _is_as_before(container: Any, before: dict[int, tuple[Any, list[Any]]]) -> bool:
    """Whether a container has the same things as before the program ran."""
    found = before.get(id(container))
    now = _contents(container)
    if found is None or len(found[1]) != len(now):
        return False
    if isinstance(container, dict):
        return all(a[0] is b[0] and a[1] is b[1] for a, b in zip(found[1], now, strict=True))
    return all(a is b for a, b in zip(found[1], now, strict=True))


def _same(a: Any, b: Any) -> bool:
    """Whether two values of one kind are the same to a program; zeros have signs, and NaNs have bits."""
    if isinstance(a, (float, complex, np.generic)):
        return np.asarray(a).tobytes() == np.asarray(b).tobytes()
    return bool(a == b)


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    if a.flags.c_contiguous:
        kind = np.uint64 if a.nbytes % 8 == 0 else np.uint8
        one, other = a.reshape(-1).view(kind), b.reshape(-1).view(kind)
        # Block by block, so that what the comparison makes stays in the processor's cache.
        return all(
            np.array_equal(one[k : k + _BLOCK], other[k : k + _BLOCK]) for k in range(0, max(1, one.size), _BLOCK)
        )
    return a.tobytes() == b.tobytes()
