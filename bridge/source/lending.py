"""Memory of a plain array for which a Buffer stands while a differentiated call runs.

The array's own memory holds NaNs of one pattern meanwhile, so that code which is not read, and reaches it by another
way, computes nothing that looks right; and a result that shows the pattern is an error.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from operator import is_
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from bridge.code_position import Position, here, resolve
from bridge.errors import AliasError, ContextError, EscapeError
from bridge.rewind.borrowed import settle
from bridge.rewind.memory import Strides, address, grounded, owner
from bridge.source.pattern import PATTERNS, bits_of, fill, is_filled, width

LENT: dict[int, Lent] = {}
"""What is lent to any context of any thread, by the identity of the array that owns the memory."""

NAMED: dict[tuple[int, int], Any] = {}
"""Arrays of the caller's for which arguments stand, by thread and by the identity of the array that owns the memory."""


_NUMBERS = itertools.count(1)


class Lent:
    """The memory of one array, for which a Buffer stands.

    Attributes
    ----------
    array : the owner of the memory.
    buffer : what stands for it.
    before : what it held when the call began.
    is_log : what is written into it stays when the call is over: floats that the program made of tracked numbers, or
        the program has made it in the call.
    """

    is_log = False

    def __init__(self, loan: Any, array: np.ndarray, before: np.ndarray | None, where: Position) -> None:
        self.loan = loan
        self.number = next(_NUMBERS)
        self.array = array
        self.where = where
        settle(array)
        self.before = array.copy("K") if before is None else before
        self.buffer = loan.context.constant_buffer(array.copy("K"))
        self.views: dict[int, tuple[np.ndarray, Any]] = {}

    def poison(self) -> None:
        """Let the array's own memory hold the pattern."""
        fill(bits_of(self.array), self.number)

    def returned(self) -> bool:
        """Give the array its old bits; whether somebody has written into it meanwhile."""
        try:
            return not is_filled(bits_of(self.array), self.number)
        finally:
            self.array[...] = self.before

    def shown(self, array: np.ndarray) -> Any:
        """The Buffer that stands for `array`, which shows some of the memory."""
        if array is self.array:
            return self.buffer
        found = self.views.get(id(array))
        if found is not None:
            return found[1]
        like = Strides(array.shape, array.strides, array.dtype)
        if array.shape == self.array.shape and array.strides == self.array.strides and array.dtype == self.array.dtype:
            view = self.buffer
        else:
            if width(array.dtype) != width(self.array.dtype) or array.dtype.kind not in "fc":
                raise AliasError(
                    f"memory of dtype {self.array.dtype} that tracked values were written into is read as "
                    f"{array.dtype}",
                    where=resolve(here()),
                    remedy="use astype for a copy",
                )
            view = self.buffer.view_as(address(array) - address(self.array), like)
            if not array.flags.writeable:
                grounded(view).flags.writeable = False
        self.views[id(array)] = (array, view)
        return view


class Count:
    """How many arrays are lent or shown under other names, in all threads; told to rewritten code."""

    tell: Callable[[int], None] = staticmethod(lambda number: None)
    number = 0

    def told(self) -> None:
        """Tell it after a change."""
        self.number = len(LENT) + len(NAMED)
        self.tell(self.number)


COUNT = Count()

_MOST = 256


def lent_to(array: np.ndarray) -> Any:
    """The Buffer that stands for a plain array; None if nothing of its memory is lent."""
    found = _standing_for(array if array.base is None else whole_of(array), array)
    if found is None:
        return None
    refuse_thread(found.loan.thread, f"an array of shape {array.shape}")
    return found.shown(array)


def _standing_for(whole: np.ndarray, array: np.ndarray) -> Any:
    """Who knows what stands for an array, whose memory `whole` owns or got from elsewhere; None if nothing does."""
    found = LENT.get(id(whole))
    if found is None and NAMED:
        found = NAMED.get((threading.get_ident(), id(whole)))
    if found is None and LENT and not whole.flags.owndata:
        return _lying_in(array)
    return found


def _lying_in(array: np.ndarray) -> Any:
    """What is lent where an array lies that got its memory by an address: DLPack, ctypes, another library."""
    low, high = byte_bounds(array)
    for lent in list(LENT.values()):
        first, last = byte_bounds(lent.array)
        if low < last and first < high:
            if first <= low and high <= last:
                return lent
            raise _nothing_stands_for(array)
    return None


SHOWS = (tuple, np.ndarray, np.flatiter, np.nditer, memoryview)
"""Classes of objects that show arrays, besides arrays themselves."""


def stands_for(value: Any) -> Any:
    """What stands for an object that shows an array, if that is lent; else the object itself."""
    if issubclass(type(value), tuple):
        return _tuple_of(value)
    if type(value) is np.nditer:
        return _looked_into(value)
    array: Any = value.base if type(value) is np.flatiter else value.obj if type(value) is memoryview else value
    found = _standing_for(whole_of(array), array) if issubclass(type(array), np.ndarray) else None
    if found is None:
        return value
    refuse_thread(found.loan.thread, f"an array of shape {array.shape}")
    shown = found.shown(array)
    if shown is array:
        return value
    if type(value) is np.flatiter and value.index == 0:
        return shown.flat
    raise _nothing_stands_for(value)


def _looked_into(iterator: np.nditer) -> Any:
    """An iterator of NumPy's; if an array of its is lent, what tells where it stands, and nothing that it shows."""
    shown = [(array, lent_to(array)) for array in iterator.operands]
    if any(found is not None and found is not array for array, found in shown):
        return Walk(iterator)
    return iterator


class Walk:
    """Where an iterator of NumPy's stands in an array that is lent: its elements are another's to show."""

    _TELLS = frozenset(
        {"finished", "index", "iterindex", "iternext", "iterrange", "itersize", "multi_index", "ndim", "nop", "reset"}
    ) | {"shape", "close", "has_index", "has_multi_index"}

    def __init__(self, iterator: np.nditer) -> None:
        self._iterator = iterator

    def __getattr__(self, name: str) -> Any:
        if name in self._TELLS:
            return getattr(self._iterator, name)
        raise _nothing_stands_for(self._iterator)

    def _refuse(self, *args: Any) -> Any:
        raise _nothing_stands_for(self._iterator)

    __iter__ = __next__ = __getitem__ = __setitem__ = __len__ = __enter__ = _refuse


def _nothing_stands_for(value: Any) -> EscapeError:
    kind = type(value)
    return EscapeError(
        f"a {kind.__module__}.{kind.__qualname__} shows memory of an array that tracked values were written into, and "
        "nothing can stand for it",
        where=resolve(here()),
        remedy="use the array itself, or np.asarray(x) of it before the write",
    )


def _tuple_of(value: tuple[Any, ...]) -> Any:
    """A tuple, with what stands for the arrays in it that are lent."""
    if len(value) > _MOST:
        # It is data; its elements are looked up one by one.
        return value
    parts = [lent_to(one) if type(one) is np.ndarray else None for one in value]
    parts = [
        _tuple_of(one) if issubclass(type(one), tuple) else one if part is None else part
        for one, part in zip(value, parts, strict=True)
    ]
    if all(map(is_, parts, value)):
        return value
    if type(value) is tuple:
        return tuple(parts)
    return value._make(parts) if hasattr(value, "_make") else value


def whole_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory which an array shows, also through a memoryview."""
    whole: Any = owner(array)
    while isinstance(inner := _behind(whole.base), np.ndarray):
        whole = owner(inner)
    found: np.ndarray = whole
    return found


def _behind(base: Any) -> Any:
    """The array behind what an array gives as its base: a memoryview, or what `as_strided` makes."""
    return base.obj if isinstance(base, memoryview) else getattr(base, "base", None)


def refuse_foreign(array: np.ndarray, whole: np.ndarray) -> None:
    """EscapeError if the memory of an array, that of `whole`, cannot be lent."""
    what = None
    if whole.base is not None:
        what = f"its memory belongs to a {type(getattr(whole.base, 'obj', whole.base)).__name__}"
    elif type(whole) is not np.ndarray:
        what = f"it is a {type(whole).__name__}"
    elif whole.dtype.kind not in "fc" or width(whole.dtype) not in PATTERNS:
        what = f"its dtype is {whole.dtype}, which carries no gradient"
    elif not whole.flags.writeable:
        what = "its memory is read-only"
    elif not whole.dtype.isnative:
        what = "its bytes are in the other order"
    if what is None:
        return
    raise EscapeError(
        f"a tracked value is written into a plain array of shape {array.shape} and dtype {array.dtype} that cannot be "
        f"lent to the differentiation: {what}",
        where=resolve(here()),
        remedy=_instead(array.dtype),
    )


def _instead(dtype: Any) -> str:
    if dtype.names is not None:
        return f"write into arrays of floats in the place of its fields {', '.join(map(repr, dtype.names))}"
    if dtype.kind == "O":
        return "keep tracked values in a list, or in an array of floats"
    return "write into a copy of it: np.array(x, dtype=float)"


def refuse_thread(thread: int, what: str) -> None:
    """ContextError if `what` is changed by a differentiation of another thread."""
    if thread != threading.get_ident():
        raise ContextError(
            f"{what} is changed by a differentiation that runs in another thread",
            where=resolve(here()),
            remedy="give each thread an object of its own (copy.deepcopy)",
        )
