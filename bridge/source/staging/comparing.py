"""Comparisons of a program that is compiled: of numbers that are not known, and none of their texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.arrays.buffer import is_weak, weak
from bridge.arrays.unknown_text import refuse_decision
from bridge.rewind.values import describes
from bridge.source.binary_operators import compared
from bridge.source.staging.numbers import contained
from bridge.source.staging.truth import unknown


def compare(name: str, left: Any, right: Any) -> Any:
    """`left < right`, or whatever the operator is."""
    check_text(left)
    check_text(right)
    if name in ("in", "not in"):
        found = contained(left, right)
        if name == "in":
            return found
        return np.logical_not(found) if unknown(found) else not found
    return compared(name, left, right)


def identical(left: Any, right: Any) -> Any:
    """`left is right`; of Python's booleans that may not be known."""
    both = left, right
    if any(map(unknown, both)) and all(type(one) is bool or (is_weak(one) and one.dtype == np.bool_) for one in both):
        return weak(np.equal(left, right))
    return left is right


def check_text(one: Any) -> None:
    """Raise if the program decides by the text of a value that is known only when it runs."""
    if isinstance(one, str) and describes(one):
        raise refuse_decision(one)
