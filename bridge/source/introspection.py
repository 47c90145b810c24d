"""What a program that is read asks of arrays beside their values: memory, protocols, size, warnings and errors."""

from __future__ import annotations

import functools
import struct
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.code_position import here, resolve
from bridge.errors import EscapeError, RefusedError, TraceError
from bridge.rewind.escapes import noted
from bridge.rewind.interpreter import current_context
from bridge.rewind.memory import grounded
from bridge.rewind.values import is_abstract
from bridge.source.callees import SPECIAL
from bridge.source.targets import carries

_MEMORY = frozenset({"__array_interface__", "__array_struct__", "__dlpack__", "__dlpack_device__"})
"""Protocols by which an array's memory is given out."""


def _hasattr(thing: Any, name: str) -> bool:
    """`hasattr(x, name)`: of a tracked array as of the array."""
    return (is_tracked(thing) and name in _MEMORY) or hasattr(thing, name)


def _getattr(thing: Any, name: str, *default: Any) -> Any:
    """`getattr(x, name)`: the same."""
    if is_tracked(thing):
        if name in _MEMORY:
            raise _refused(thing, name, "its memory is not given out", "use the array itself; or bridge.detach(x)")
        if name == "__array_priority__":
            return (np.empty(0) if hasattr(thing, "view_as") else np.float64(0)).__array_priority__
    return getattr(thing, name, *default)


def _getsizeof(thing: Any, *default: Any) -> int:
    """`sys.getsizeof(x)`: the size of what a tracked value stands for."""
    if not is_tracked(thing):
        return sys.getsizeof(thing, *default)
    if is_abstract(thing):
        raise _refused(thing, "sys.getsizeof()", "it depends on whose its memory is", "use x.nbytes")
    return sys.getsizeof(grounded(thing), *default)


def _memory_of(function: Callable[..., Any], number: int) -> Callable[..., Any]:
    """A function that writes or reads the memory of this argument, or of arrays in it, past NumPy's protocols."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > number and carries(args[number]):
            raise EscapeError(
                f"{function.__name__}(...) looks at the memory of a tracked value: its gradient would be lost",
                where=resolve(here()),
                remedy="use the array itself; or bridge.detach(x), if no gradient should pass",
            )
        return function(*args, **kwargs)

    return call


def _bytes_of(kind: Callable[..., Any]) -> Callable[..., Any]:
    """What gives out the bytes of an array: a tracked one's derivatives are not in them."""
    name = getattr(kind, "__name__", str(kind))

    @functools.wraps(kind, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and is_tracked(args[0]):
            error = EscapeError(
                f"{name}(...) looks at the bytes of a tracked value: its gradient would be lost",
                where=resolve(here()),
                remedy="use the array itself; or bridge.detach(x), if no gradient should pass",
            )
            raise noted(args[0], error)
        return kind(*args, **kwargs)

    return call


def _from_dlpack(array: Any, /, **options: Any) -> Any:
    """`np.from_dlpack(x)`: a tracked array shows its own memory; `device=` and `copy=` are NumPy's to judge."""
    if not is_tracked(array):
        return np.from_dlpack(array, **options)
    np.from_dlpack(np.empty(0), **options)
    return array.copy() if options.get("copy") else array[...]


def _geterr() -> Any:
    """`np.geterr()`."""
    context = current_context()
    now: Any = np.geterr()
    return now if context is None else context.home.errors(now)


def _seterr(*args: Any, **kwargs: Any) -> Any:
    """`np.seterr(...)`, which returns what was before."""
    before = _geterr()
    np.seterr(*args, **kwargs)
    _set_errors(args, kwargs)
    return before


def _set_errors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, str] | None:
    """Tell the program that is compiled what was set; what the program saw before."""
    context = current_context()
    given = dict(zip(("all", "divide", "over", "under", "invalid"), args, strict=False)) | kwargs
    return None if context is None else context.home.set_errors(given)


class _ErrorState(np.errstate):
    """`np.errstate(...)` in a program that is compiled."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.given = {name: value for name, value in given.items() if name != "call"}
        self.before: Any = None

    def __enter__(self) -> None:
        super().__enter__()
        self.before = _set_errors((), self.given)

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        _set_errors((), self.before or {})


def _errstate(**given: Any) -> Any:
    """`np.errstate(...)`."""
    context = current_context()
    is_traced = context is not None and context.home.is_abstract
    return (_ErrorState if is_traced else np.errstate)(**given)


class _Unknown(list[Any]):
    """Warnings that were recorded while a program was traced, where NumPy gives none: nobody knows how many come."""

    def _refuse(self, *args: Any) -> Any:
        error = TraceError(
            "the program asks which warnings were recorded: what NumPy warns of depends on numbers, which are not "
            "known while it is compiled",
            where=resolve(here()),
            remedy='test the numbers, np.isfinite(y); or engine="native"',
        )
        context = current_context()
        if context is not None:
            context.escaped = context.escaped or error
        raise error

    __len__ = __iter__ = __getitem__ = __bool__ = __contains__ = __eq__ = __reversed__ = _refuse
    pop = index = count = copy = _refuse


class _Recording(warnings.catch_warnings):
    """`warnings.catch_warnings(record=True)` in a program that is compiled."""

    def __enter__(self) -> Any:
        found = super().__enter__()
        return found if found is None else _Unknown()


def _catch(*args: Any, **kwargs: Any) -> Any:
    """`warnings.catch_warnings(...)`."""
    context = current_context()
    is_traced = context is not None and context.home.is_abstract
    return (_Recording if is_traced else warnings.catch_warnings)(*args, **kwargs)


def _refused(thing: Any, name: str, why: str, remedy: str) -> RefusedError:
    error = RefusedError(
        f"{name} of a tracked array of shape {thing.shape}: {why}", where=resolve(here()), remedy=remedy
    )
    found: RefusedError = noted(thing, error)
    return found


SPECIAL.update({hasattr: _hasattr, getattr: _getattr, sys.getsizeof: _getsizeof})
SPECIAL.update(
    {
        np.from_dlpack: _from_dlpack,
        np.geterr: _geterr,
        np.seterr: _seterr,
        np.errstate: _errstate,
        warnings.catch_warnings: _catch,
    }
)
SPECIAL.update({np.nditer: _memory_of(np.nditer, 0), struct.pack_into: _memory_of(struct.pack_into, 1)})
SPECIAL.update({kind: _bytes_of(kind) for kind in (memoryview, bytes, bytearray, np.frombuffer)})
