"""A recorded program in the one form that all corpora are brought to: a name, and what makes the call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class LeftOut(Exception):
    """There is nothing to differentiate, or plain Python already fails; the message says why."""


@dataclass(frozen=True)
class Call:
    """A function with fresh state, fresh arguments, the positions that are differentiated, and further keywords."""

    function: Callable[..., Any]
    arguments: Sequence[Any]
    positions: tuple[int, ...] = (0,)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    """A program by name. `make` raises `LeftOut` where there is no program; `engines` are all if none are named."""

    name: str
    make: Callable[[], Call]
    engines: tuple[str, ...] = ()
