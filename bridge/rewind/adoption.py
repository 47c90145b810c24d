"""Whether an array is held by one name alone: then it may be written, or handed out, in place of a copy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


class _Holder:
    """Holds one array, as a root holds its shadow."""

    __slots__ = ("shadow",)

    def __init__(self, shadow: Any) -> None:
        self.shadow = shadow


def _references(holder: Any) -> int:
    return sys.getrefcount(holder.shadow)


def _references_of_base(holder: Any) -> int:
    return sys.getrefcount(holder.shadow.base)


# What is counted for arrays that nobody else holds: interpreters differ in what they hold themselves for a moment.
_ALONE = _ALONE_AS_BASE = -1
if hasattr(sys, "getrefcount"):
    _ALONE = _references(_Holder(np.empty(2)))
    _ALONE_AS_BASE = _references_of_base(_Holder(np.empty(2).reshape(2, 1)))


def is_held_alone(holder: Any) -> bool:
    """Whether nobody but `holder`, by its attribute `shadow`, can see or write the memory of that array.

    A pull may return its own cotangent, an operand, or a view of either: then others hold it too, and the answer is no.
    """
    shadow = holder.shadow
    if type(shadow) is not np.ndarray or not shadow.flags.writeable:
        return False
    base = shadow.base
    if base is None:
        del shadow
        return _references(holder) == _ALONE
    if type(base) is not np.ndarray or base.base is not None or not base.flags.owndata:
        return False
    if base.nbytes != shadow.nbytes or not (shadow.flags.c_contiguous or shadow.flags.f_contiguous):
        return False
    del shadow, base
    return _references(holder) == _ALONE and _references_of_base(holder) == _ALONE_AS_BASE
