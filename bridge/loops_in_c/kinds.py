"""The kinds of numbers: their names in NumPy and in C, and the kind that several of them are promoted to.

"f", "i" and "b" are float64, int64 and bool: Python numbers are of these kinds, too. Other kinds have NumPy's names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

Type = tuple[str, bool]
"""The type of a number: its kind, and whether it is a Python number, which is weak when NumPy promotes it."""


@dataclass(frozen=True)
class Kind:
    """A kind of numbers.

    Attributes
    ----------
    dtype : of an array, and of a NumPy scalar.
    number : the C type of a variable.
    element : the C type of an element of an array.
    """

    dtype: np.dtype
    number: str
    element: str

    @property
    def is_float(self) -> bool:
        """Whether numbers may carry a gradient."""
        return self.dtype.kind == "f"

    @property
    def is_integer(self) -> bool:
        """Whether numbers may be indices."""
        return self.dtype.kind in "iu"

    @property
    def bits(self) -> int:
        """How many bits an integer may take, apart from its sign."""
        return self.dtype.itemsize * 8 - (self.dtype.kind == "i") if self.is_integer else 1

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest integer."""
        found = np.iinfo(self.dtype)
        return int(found.min), int(found.max)


KINDS: dict[str, Kind] = {
    "f": Kind(np.dtype(np.float64), "F", "F"),
    "f4": Kind(np.dtype(np.float32), "S", "S"),
    "i": Kind(np.dtype(np.int64), "I", "I"),
    "i4": Kind(np.dtype(np.int32), "I", "int32_t"),
    "i2": Kind(np.dtype(np.int16), "I", "int16_t"),
    "i1": Kind(np.dtype(np.int8), "I", "int8_t"),
    "u4": Kind(np.dtype(np.uint32), "I", "uint32_t"),
    "u2": Kind(np.dtype(np.uint16), "I", "uint16_t"),
    "u1": Kind(np.dtype(np.uint8), "I", "uint8_t"),
    "b": Kind(np.dtype(np.bool_), "B", "B"),
}
BY_DTYPE = {one.dtype: name for name, one in KINDS.items()}
BY_TYPE: dict[type, str] = {one.dtype.type: name for name, one in KINDS.items()}
"""The kinds of NumPy's scalars."""
OF_PYTHON: dict[str, float | int | bool] = {"f": 0.0, "i": 0, "b": False}
"""The kinds that Python numbers have, each with a number."""


def is_float(kind: str) -> bool:
    """Whether numbers of a kind may carry a gradient."""
    return KINDS[kind].is_float


def is_integer(kind: str) -> bool:
    """Whether numbers of a kind may be indices."""
    return KINDS[kind].is_integer


def is_narrow(kind: str) -> bool:
    """Whether a kind is of integers with fewer than 64 bits."""
    return kind != "i" and is_integer(kind)


def holding(one: str, other: str) -> str:
    """The kind of a variable that holds numbers of two kinds, exactly."""
    if one == other:
        return one
    return "f" if is_float(one) or is_float(other) else "i"


@cache
def promoted(types: Sequence[Type], least: type | None = None) -> str | None:
    """The kind of NumPy's result for these types, at least `least`; None if it is not one of these kinds."""
    given = [OF_PYTHON[kind] if is_weak else KINDS[kind].dtype for kind, is_weak in types]
    return BY_DTYPE.get(np.result_type(*given, *([] if least is None else [least])))
