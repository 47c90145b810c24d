"""Cotangents of views whose elements share memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.rewind.memory import grounded, overlaps_itself


def scatter_into_overlapping(region: Any, ct: Any) -> None:
    """Add to a self-overlapping view so that elements that share memory all count.

    Zero-stride axes are summed first; what overlaps beyond that is added one axis position at a time,
    in order of the smallest strides, each addition then being free of overlap.
    """
    strides = grounded(region).strides
    zero = tuple(axis for axis, stride in enumerate(strides) if stride == 0 and region.shape[axis] > 1)
    if zero:
        ct = np.sum(ct, axis=zero, keepdims=True)
        region = region[tuple(slice(0, 1) if axis in zero else slice(None) for axis in range(region.ndim))]
    _add_axis_by_axis(region, ct)


def _add_axis_by_axis(region: Any, ct: Any) -> None:
    if not overlaps_itself(grounded(region)):
        region += ct
        return
    axis = min((n, axis) for axis, n in enumerate(region.shape) if n > 1)[1]
    for k in range(region.shape[axis]):
        key = (slice(None),) * axis + (slice(k, k + 1),)
        _add_axis_by_axis(region[key], ct[key])
