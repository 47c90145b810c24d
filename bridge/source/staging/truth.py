"""Whether a value is true, if that is known; and what to say of a program that wants to know more."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.rewind.values import concrete, is_abstract, known
from bridge.source.special_methods import operand


class NotOneLoop(Exception):
    """A loop or a branch of a program cannot be one of the compiled program; the argument says why.

    `done` turns of a loop have run by themselves.
    """

    done = 0


def unknown(value: Any) -> bool:
    """Whether a value is a number, or an array, whose truth is not known while the program is compiled."""
    return is_abstract(value) and known(value) is None


def is_true(value: Any) -> bool:
    """The truth of a value that is known."""
    return bool(concrete(value, "a condition")) if is_abstract(value) else bool(operand(value))


def truth(value: Any) -> Any:
    """Whether a number that is not known is true: a boolean that is not known."""
    number = value.reshape(())[()] if hasattr(value, "view_as") and value.size == 1 else value
    if hasattr(number, "view_as"):
        # NumPy's own words.
        bool(np.zeros(value.shape))
    return number if number.dtype == np.bool_ else number != 0
