"""Python's own numbers: functions of the standard library and of SciPy that return them, whatever they are given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Aside, Case, Facts, pulls


def _number(x):
    """Python's float, or complex, of a number of NumPy's: it does not widen the dtype of what it meets."""
    return complex(x) if np.iscomplexobj(x) else float(x)


python_number = pulls(_number, lambda ct, out, x: ct, structure="elementwise", facts=Facts(precision="double"))
"""A tracked number, or array of one element, as a number of Python's."""


def with_value(tracked, value):
    """What is tracked, of another value that differs from its own by rounding alone: then its bits are that value's."""
    return tracked + (value - Aside("the standard library").value_of(tracked))


def cases() -> Iterator[Case]:
    yield Case(_number, (np.array(1.5),))
    yield Case(_number, (np.array(0.5 - 2j),))
