"""Lists and tuples read at a number that is not known: their elements as the rows of one array."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.rewind.values import is_abstract
from bridge.source.floats import Float, weak
from bridge.source.staging.items import tracked


class Table:
    """A list or a tuple, whose elements are floats, or arrays or numbers of NumPy's of one shape and dtype."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __getitem__(self, key: Any) -> Any:
        if not is_abstract(key) or np.ndim(key) or key.dtype.kind not in "iu":
            return self.values[key]
        if all(type(one) in (float, Float) for one in self.values):
            return weak(_stacked([np.float64(one) if type(one) is float else one for one in self.values])[key])
        found = _stacked(self.values)[key]
        # What is written into an element of a list stays there: this is a copy, and cannot be written.
        return np.broadcast_to(found, found.shape) if np.ndim(found) else found


def table(values: Any) -> Any:
    """A list or a tuple as a table, if it can be one; else as it is."""
    if type(values) not in (list, tuple) or not values:
        return values
    if all(type(one) in (float, Float) for one in values):
        return Table(values)
    looks = {(np.shape(one), getattr(one, "dtype", None)) for one in values}
    return Table(values) if len(looks) == 1 and next(iter(looks))[1] is not None else values


def _stacked(values: Any) -> Any:

    return tracked(np.stack([np.asarray(one) if isinstance(one, np.generic) else one for one in values]))
