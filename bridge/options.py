"""What users may write as options: names, as types, and amounts of memory."""

from __future__ import annotations

import math
import re
from typing import Any, Literal

from bridge.errors import ArgumentError

Engine = Literal["eager", "native", "julia", "jax", "xla", "auto"]
Zeros = Literal["strong", "ieee"]
IndexMode = Literal["error", "clip", "fill", "drop"]
Loops = Literal["auto", "c", "python"]


_UNITS = {
    "b": 1,
    **{f"{prefix}b": 1000**power for power, prefix in enumerate("kmgt", 1)},
    **{f"{prefix}ib": 1024**power for power, prefix in enumerate("kmgt", 1)},
}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*")


def bytes_of(memory: Any) -> int | None:
    """The bytes of "512MB", "2GB", "1.5 GiB", or of an integer; None for None, which bounds nothing.

    Raises
    ------
    ArgumentError : it is something else, or no more than 0.
    """
    if memory is None:
        return None
    found = None
    if isinstance(memory, str):
        match = _AMOUNT.fullmatch(memory.lower())
        if match is not None and match[2] in _UNITS:
            found = math.floor(float(match[1]) * _UNITS[match[2]])
    elif isinstance(memory, int) and not isinstance(memory, bool):
        found = memory
    if found is None or found <= 0:
        raise ArgumentError(
            f"memory={memory!r} is no amount of memory",
            remedy='write "512MB", "2GB", "1.5GiB", or a number of bytes',
        )
    return found


def as_text(amount: int) -> str:
    """An amount of memory for a message: at most three digits."""
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if amount >= size:
            return f"{amount / size:.3g} {unit}"
    return f"{amount} bytes"
