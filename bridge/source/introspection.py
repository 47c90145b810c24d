"""What a program that is read asks of tracked arrays beside their values: protocols that they speak, their size."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.escapes import noted
from bridge.rewind.memory import grounded
from bridge.rewind.values import is_abstract
from bridge.source.callees import SPECIAL

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


def _refused(thing: Any, name: str, why: str, remedy: str) -> RefusedError:
    error = RefusedError(
        f"{name} of a tracked array of shape {thing.shape}: {why}", where=resolve(here()), remedy=remedy
    )
    found: RefusedError = noted(thing, error)
    return found


SPECIAL.update({hasattr: _hasattr, getattr: _getattr, sys.getsizeof: _getsizeof})
