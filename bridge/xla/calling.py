"""Calls that look like one that ran before: what is left to do of them before the program runs, and after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge.trees import key_orders, leaves_of
from bridge.xla.interrupts import interruptible, quiet
from bridge.xla.lowering.lower import x64
from bridge.xla.meshes import Placed
from bridge.xla.signature import in_memory, is_on_device
from bridge.xla.traced import Program

Look = tuple[Any, ...]

_PACKED, _OWNS = 0x101, 0x4
"""NumPy's flags of an array that is contiguous in C order and aligned, and of one that owns its memory."""
_NUMBERS = (float, complex)
_CONTAINERS = frozenset({list, tuple, dict})
_STATIC = frozenset({int, bool, str, type(None)})
_LONGEST = 1024
"""Calls after which the plain program is tried again at the latest."""


class Nans:
    """Which program of a signature a call begins with, by the NaNs that calls before it met.

    The plain program is faster; where it meets a NaN, the one that mends gradients has to run as well. So after a NaN
    calls begin with the one that mends, and the plain one is tried again ever more rarely.
    """

    __slots__ = ("_calls", "_span")

    def __init__(self) -> None:
        self._calls = 0
        self._span = 1

    def are_expected(self) -> bool:
        """Whether this call begins with the program that mends."""
        if not self._calls:
            return False
        self._calls -= 1
        return True

    def met(self) -> None:
        """Note that the plain program has met one."""
        self._span = self._calls = min(2 * self._span, _LONGEST)

    def not_met(self) -> None:
        """Note that the plain program has met none."""
        self._span = 1


class Ready:
    """A program that has run: what calls that look alike need of it.

    `is_current()` says whether what it read without being given it is as it was, `is_apart(owners)` whether a call's
    arguments are other memory.
    """

    __slots__ = ("is_apart", "is_current", "nans", "program", "run")

    def __init__(self, program: Program, run: Placed, nans: Nans, plain: bool) -> None:
        self.program = program
        self.nans = nans
        # What comes in as NumPy's arrays lies nowhere yet.
        self.run: Callable[..., Any] = run.run if plain else run
        self.is_current = program.captured.is_current
        self.is_apart = program.captured.is_apart

    def called(self, values: list[Any]) -> tuple[list[Any], np.ndarray | None]:
        """Run it: its outputs, and what it noted if that is something."""
        with x64():
            if self.program.polls:
                outputs, notes = interruptible(self.run, values, lambda: True)
            else:
                outputs, notes = self.run(quiet(), values)
        return outputs, noted(notes)


def look_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Look | None, list[Any], bool, list[int]]:
    """What arguments look like, what of them comes in, whether that is NumPy's, and by identity whose memory it is.

    The look is None for all but the plainest.

    Arguments of one look have one signature: packed arrays that share no memory, or arrays of JAX, and numbers, in
    containers of the same structure.
    """
    if not kwargs and _CONTAINERS.isdisjoint(map(type, args)):
        return _look_of_leaves((), args)
    leaves, structure = leaves_of((args, kwargs))
    return _look_of_leaves((structure, key_orders(args, kwargs)), leaves)


def _look_of_leaves(start: Look, leaves: Sequence[Any]) -> tuple[Look | None, list[Any], bool, list[int]]:
    look: list[Any] = [*start]
    values: list[Any] = []
    owners: list[int] = []
    plain = on_device = False
    for x in leaves:
        kind = type(x)
        if kind is np.ndarray:
            flags = x.flags.num
            owner = x if flags & _OWNS else x.base
            if flags & _PACKED != _PACKED or type(owner) is not np.ndarray or not owner.flags.num & _OWNS:
                return None, values, True, owners
            plain = True
            owners.append(id(owner))
            look += (x.shape, x.dtype)
            values.append(x)
        elif kind in _NUMBERS:
            plain = True
            look.append(kind)
            values.append(x)
        elif kind in _STATIC:
            look += (kind, x)
        elif is_on_device(kind):
            on_device = True
            look += (kind, x.shape, x.dtype)
            values.append(x)
        else:
            return None, values, True, owners
    if (plain and on_device) or (len(owners) > 1 and len(set(owners)) < len(owners)):
        return None, values, True, owners
    return tuple(look), values, not on_device, owners


def noted(notes: Any) -> np.ndarray | None:
    """What a program noted while it ran, if that is something: number and value of a fault, whether there was a NaN."""
    if notes is None:
        return None
    found = in_memory(notes)
    return found if found.any() else None
