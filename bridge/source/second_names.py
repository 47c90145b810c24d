"""The caller's arrays under other names than the parameter's: what an attribute, a global or a closure has of them.

An argument is a copy in the context's memory. As long as nobody writes it, whoever has the caller's own array reads the
same numbers there, as constants. From the first write on, under whichever name, the memory of the argument stands for
all that shows the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from contextlib import suppress
from functools import partial
from threading import get_ident
from types import CodeType, MethodType
from typing import Any
from weakref import ref

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import AliasError
from bridge.rewind.memory import Strides, address, grounded
from bridge.source.lending import COUNT, NAMED, whole_of
from bridge.source.reaching import may_reach, may_reach_memory


class Named:
    """What stands for an array of the caller's that owns memory of arguments.

    Attributes
    ----------
    array : the owner of the memory.
    buffer : an argument on it.
    """

    def __init__(self, loan: Any, array: np.ndarray, buffer: Any) -> None:
        self.loan = loan
        self.array = array
        self.buffer = buffer

    def shown(self, array: np.ndarray) -> Any:
        """What stands for `array`, which shows some of the memory: itself, if none of that is an argument's."""
        self.loan.context.home.note(array)
        return standing(self.loan.context, array)


class SecondNames:
    """Which arrays of the caller's one call may meet, and for which the arguments stand by now.

    Attributes
    ----------
    program, caller : the function that the call runs, and what it is given; the code that calls it.
    """

    program: tuple[Any, ...] = ()
    caller: CodeType | None = None
    _owners: dict[int, tuple[np.ndarray, Any]] | None = None
    _is_apart: bool | None = None

    def __init__(self, loan: Any) -> None:
        self._loan = loan
        self._named: dict[tuple[int, int], Named] = {}

    def owners(self) -> dict[int, tuple[np.ndarray, Any]]:
        """The arrays that own memory of arguments, of this context and of those around it, each with an argument."""
        if self._owners is None:
            self._owners = {}
            context = self._loan.context
            while context is not None:
                for original, buffer in context.originals:
                    whole = whole_of(original)
                    self._owners.setdefault(id(whole), (whole, buffer))
                context = context.outer
        return self._owners

    def of(self, array: np.ndarray) -> Any:
        """Before a plain array is written: what takes the write if it shows memory of arguments, else None."""
        self._loan.context.home.note_writes()
        if not self.may_show(array):
            return None
        shown = standing(self._loan.context, array)
        return None if shown is array else shown

    def may_show(self, array: np.ndarray) -> bool:
        """Whether a plain array lies in the array that owns memory of an argument."""
        return id(array if array.base is None else whole_of(array)) in self.owners()

    def written(self, root: Any) -> None:
        """An argument on this root is written for the first time: its other names show that."""
        self._loan.context.home.note_writes()
        if not self.are_none():
            context = self._loan.context
            self._note(context, [original for original, buffer in context.originals if buffer.place.root is root])

    def are_none(self) -> bool:
        """Whether the program reaches the caller's arrays under no other name."""
        if self._is_apart is None:
            # A program that did once may do so again: to look for it costs more than to follow names that are none.
            self._is_apart = not _has_reached(self.program) and not may_reach(self.program, self.owners(), self.caller)
            if not self._is_apart:
                _note_reached(self.program)
        return self._is_apart

    def reaches(self, roots: Set[Any], but: Iterable[Any] = ()) -> bool:
        """Whether the program may reach memory of its own, as things are now, by any name; `but` by some objects."""
        if not self.program or any(lent.buffer.place.root in roots for lent in self._loan.arrays):
            return True
        originals = [x for x, buffer in self._loan.context.originals if buffer.place.root in roots]
        if any(hasattr(x, "place") for x in map(grounded, originals)):
            return True
        owners = {id(whole_of(x)) for x in originals}
        return may_reach_memory(self.program[0], owners, roots, self.caller, but)

    def _note(self, context: Any, originals: list[np.ndarray]) -> None:
        for original in originals:
            whole = whole_of(original)
            key = get_ident(), id(whole)
            if key not in NAMED:
                NAMED[key] = self._named[key] = Named(self._loan, whole, self.owners()[id(whole)][1])
                COUNT.told()
            outer = context.outer
            if outer is not None:
                # The argument is itself a copy of what entered the differentiation around.
                inside = [o for o, buffer in outer.originals if np.may_share_memory(grounded(buffer), original)]
                self._note(outer, inside)

    def over(self) -> None:
        """The call is over: the caller's arrays are themselves again."""
        self.program = ()
        for key in self._named:
            if NAMED.pop(key, None) is not None:
                COUNT.told()

    def again(self) -> list[tuple[int, int]]:
        """What stood for other arrays stands for them again; returns what did not."""
        fresh = [key for key in self._named if key not in NAMED]
        for key in fresh:
            NAMED[key] = self._named[key]
            COUNT.told()
        return fresh


def standing(context: Any, array: Any) -> Any:
    """The part of an argument that stands for an array of the caller's, in this context or one around it; else itself.

    `array` may be tracked in a context around: what enters an inner differentiation is a copy of that.
    """
    if context is None or getattr(getattr(array, "place", None), "context", None) is context:
        return array
    below = standing(context.outer, array)
    ground = grounded(below)
    for original, buffer in context.originals:
        if ground is original:
            return buffer
        if np.may_share_memory(ground, original):
            found = _part(original, buffer, ground)
            if found is not None:
                return found
    return below


def _part(original: np.ndarray, buffer: Any, array: np.ndarray) -> Any:
    """What `array` shows of an argument; None if it shows nothing of it, AliasError if it shows other memory too."""
    like = Strides(array.shape, array.strides, array.dtype)
    offset = address(array) - address(original)
    low, high = np.lib.array_utils.byte_bounds(original)
    first, last = np.lib.array_utils.byte_bounds(array)
    is_same = offset == 0 and like == Strides(original.shape, original.strides, original.dtype)
    if is_same:
        view = buffer
    elif not np.shares_memory(array, original):
        return None
    elif like.dtype != original.dtype or not low <= first <= last <= high or high - low != original.nbytes:
        raise AliasError(
            f"an array of shape {array.shape} and dtype {array.dtype} shows memory of an argument of shape "
            f"{original.shape} and dtype {original.dtype}, which the function writes, and more, or in another "
            "dtype: the name still holds the old values",
            where=resolve(here()),
            remedy="read the argument itself, or pass the whole array",
        )
    else:
        view = buffer.view_as(offset, like)
    if not array.flags.writeable:
        view = view[...] if view is buffer else view
        grounded(view).flags.writeable = False
    return view


_reached: dict[int, ref[Any]] = {}
"""Programs that have been found to reach arguments under other names, by identity."""


def _has_reached(program: tuple[Any, ...]) -> bool:
    return bool(program) and id(_owner(program[0])) in _reached


def _note_reached(program: tuple[Any, ...]) -> None:
    if program:
        one = _owner(program[0])
        # Of some objects there are no references.
        with suppress(TypeError):
            _reached[id(one)] = ref(one, partial(_forget, id(one)))


def _forget(key: int, _: object) -> None:
    _reached.pop(key, None)


def _owner(f: Any) -> Any:
    return f.__self__ if type(f) is MethodType else f
