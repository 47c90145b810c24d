"""Plain masks that follow from positions, as triangles and diagonals do: made where they are needed.

A program that holds one as a constant is as large as the mask, and XLA computes with it while it compiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jax import lax
from numpy.lib.stride_tricks import sliding_window_view

_LARGE = 4096


def made_by_position(mask: Any) -> Any:
    """A band of a matrix by the distance from its diagonal, where a large plain mask is one; anything else as it is."""
    if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.ndim != 2 or mask.size < _LARGE:
        return mask
    rows, columns = mask.shape
    # What lies at each distance from the diagonal, if it is the same everywhere along it.
    along = np.concatenate([mask[:0:-1, 0], mask[0]])
    there = np.flatnonzero(along)
    if not there.size or there[-1] - there[0] + 1 != there.size:
        return mask
    if not np.array_equal(mask, sliding_window_view(along, columns)[::-1]):
        return mask
    least, most = (int(end) - (rows - 1) for end in (there[0], there[-1]))
    distance = lax.iota(np.int32, columns) - lax.broadcasted_iota(np.int32, mask.shape, 0)
    found = None
    if least > 1 - rows:
        found = distance >= least
    if most < columns - 1:
        found = distance <= most if found is None else found & (distance <= most)
    return mask if found is None else found
