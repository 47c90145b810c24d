"""Index arrays of run-time length: `x[cols]` where `cols` is `indices[a:b]`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bridge.xla.bounded.bounded import Bounded, Extents, knows, shown, unknown
from bridge.xla.bounded.elementwise import as_operands, assign, rank
from bridge.xla.bounded.extents import Extent
from bridge.xla.bounded.integers import clamped, is_equal, made, maximum, number
from bridge.xla.bounded.masks import dense, element, inside, masked
from bridge.xla.bounded.meeting import Joint, laid_out, met, side_of
from bridge.xla.regions.affine import Affine

Basic = Callable[[Any, list[Any]], Any]


@dataclass
class Picked:
    """An array and the index arrays that pick from it, all of static shape.

    Parameters
    ----------
    whole, extents : the array, its slices taken.
    indices : for each axis that is indexed, integers of one shape, or one; what is not there is in range.
    joint : the axis of the result, where a length of theirs is known only at run time.
    """

    trace: Any
    whole: Any
    extents: Extents
    indices: dict[int, Any]
    joint: Joint | None

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(self.indices.get(k, slice(None)) for k in range(len(self.extents)))

    @property
    def at(self) -> int:
        """Where NumPy puts the axes of the index arrays in the result."""
        axes = sorted(self.indices)
        return axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0

    def extents_of(self, ndim: int) -> Extents:
        """Those of the result."""
        rest = [one for k, one in enumerate(self.extents) if k not in self.indices]
        own = [None] * (ndim - len(rest)) if self.joint is None else [self.joint.extent]
        return tuple([*rest[: self.at], *own, *rest[self.at :]])


def gathered(x: Any, parts: list[Any], basic: Basic) -> Any:
    """`x[parts]` where some parts are index arrays; a copy."""
    picked = _picked(x, parts, basic)
    found = picked.whole[picked.key]
    return shown(found, picked.extents_of(len(np.shape(found))))


def scattered(x: Any, parts: list[Any], basic: Basic, value: Any) -> None:
    """`x[parts] = value`; of an index that is named several times the last value stays."""
    picked = _picked(x, parts, basic)
    if any(one is not None for one in picked.extents):
        raise unknown("a write at index arrays beside slices of run-time length", "write row by row")
    sample = picked.whole[picked.key]
    shape = np.shape(sample)
    fresh = np.zeros_like(sample)
    extents = picked.extents_of(len(shape))
    assign(Bounded(fresh, extents), value)
    one = None if picked.joint is None else picked.joint.extent
    if one is None:
        picked.whole[picked.key] = fresh
        return
    # What is not there writes what the last one that is there writes, to the same place; if none is, what lies there.
    trace, size = picked.trace, shape[picked.at]
    last = Extent(clamped(trace, one.first + one.length - 1, Affine.of(0), Affine.of(max(0, size - 1))), one.length)
    mask = inside(trace, (size,), (one,))
    if mask is None:
        picked.whole[picked.key] = fresh
        return
    for axis, index in picked.indices.items():
        if rank(index):
            picked.indices[axis] = np.where(mask, index, element(trace, index, 0, last))
    is_empty = made(trace, np.bool_(False), is_equal, one.length, 0)
    spread = np.reshape(mask, (size,) + (1,) * (len(shape) - 1 - picked.at))
    value = np.where(spread, fresh, element(trace, fresh, picked.at, last))
    picked.whole[picked.key] = np.where(is_empty, picked.whole[picked.key], value)


def _unbuffered(ufunc: np.ufunc, x: Any, index: Any, value: Any) -> None:
    """`np.add.at` or `np.subtract.at` of a Buffer and an index array of run-time length."""
    if not isinstance(index, Bounded) or isinstance(x, Bounded):
        raise unknown(f"np.{ufunc.__name__}.at with such a key", "use an array of static shape and one index array")
    picked = _picked(x, [index, *[slice(None)] * (x.ndim - 1)], lambda array, parts: array)
    fresh = np.zeros_like(picked.whole[picked.key])
    cells = Bounded(fresh, picked.extents_of(len(fresh.shape)))
    assign(cells, value)
    ufunc.at(picked.whole, picked.key, masked(cells, 0))


knows(np.add.at)(partial(_unbuffered, np.add))
knows(np.subtract.at)(partial(_unbuffered, np.subtract))


def _picked(x: Any, parts: list[Any], basic: Basic) -> Picked:
    if any(part is None or _is_mask(part) for part in parts):
        raise unknown("an index of new axes or masks beside index arrays", "index in two steps, or use np.where")
    x = basic(x, [part if type(part) is slice else slice(None) for part in parts])
    x = dense(x) if isinstance(x, Bounded) else x
    whole, extents = (x.whole, x.extents) if isinstance(x, Bounded) else (x, (None,) * x.ndim)
    trace = whole.place.context.home.trace
    axes = [k for k, part in enumerate(parts) if type(part) is not slice]
    indices = dict(zip(axes, as_operands(tuple(parts[k] for k in axes)), strict=True))
    for k, one in indices.items():
        if np.result_type(getattr(one, "dtype", type(one))).kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        extent = extents[k]
        if extent is not None:
            indices[k] = _on_axis(trace, one, extent, whole.shape[k])
    if not any(isinstance(one, Bounded) for one in indices.values()):
        return Picked(trace, whole, extents, indices, None)
    if any(rank(one) > 1 for one in indices.values()):
        raise unknown("index arrays of several axes and a run-time length")
    indices = {k: dense(one) if isinstance(one, Bounded) else one for k, one in indices.items()}
    joint = met(trace, [side_of(one, 0) for one in indices.values() if rank(one)])
    mask = inside(trace, (joint.size,), (joint.extent,))
    for k, one in indices.items():
        if rank(one):
            cells = laid_out(trace, one.whole if isinstance(one, Bounded) else one, 0, side_of(one, 0), joint)
            indices[k] = cells if mask is None else np.where(mask, cells, 0)
    return Picked(trace, whole, extents, indices, joint)


def _is_mask(part: Any) -> bool:
    return isinstance(part, bool) or getattr(getattr(part, "dtype", None), "kind", "") == "b"


def _on_axis(trace: Any, index: Any, extent: Extent, size: int) -> Any:
    """Indices of what is there as indices of the static axis."""
    if trace.index_mode in ("fill", "drop"):
        raise unknown(f"index_mode={trace.index_mode!r} for elements", 'use index_mode="error" or "clip"')
    length = number(trace, extent.length)
    counted = np.where(index < 0, index + length, index)
    wrong = np.any(np.logical_or(counted < 0, counted >= length))
    trace.faults.check_places(wrong, size)
    top = number(trace, maximum(trace, Affine.of(0), extent.length - 1))
    first = number(trace, clamped(trace, extent.first, Affine.of(0), Affine.of(size)))
    return np.minimum(np.maximum(counted, 0), top) + first
