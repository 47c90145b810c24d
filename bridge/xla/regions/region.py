"""Regions: a part of an array of known shape, to be read, written and added to at the cost of the part."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.regions.chains import apart, inside, pushed
from bridge.xla.regions.keys import window_of
from bridge.xla.regions.layouts import steps_between
from bridge.xla.regions.steps import Broadcast, Paired, Pairs, Part, Take, fitted
from bridge.xla.regions.window_access import add_to_window, read_window, write_window
from bridge.xla.regions.windows import Check, Window

Shape = tuple[int, ...]

MODES = ("error", "clip", "fill", "drop")
"""What happens to run-time starts out of range.

"error" and "clip" move the window into range (in "error" the caller raises after the run); "fill" reads NaN (0 for
integers, False for booleans) and "drop" 0 for the elements that lie outside, and both drop what is written there.
"""


class Region:
    """A part of a cell: steps from the cell to what is shown, composed where two make one.

    Immutable; regions are equal if they show the same elements at the same places by the same steps.
    """

    __slots__ = ("cell_shape", "shape", "steps")

    def __init__(self, cell_shape: Shape, steps: tuple[Any, ...] = ()) -> None:
        self.cell_shape, self.steps = cell_shape, steps
        self.shape: Shape = steps[-1].shape if steps else cell_shape

    @classmethod
    def whole(cls, shape: Shape) -> Region:
        """All of a cell of this shape."""
        return cls(tuple(shape))

    def index(self, key: Any) -> Region:
        """What `self[key]` shows, for a key of integers, slices, None and Ellipsis; integers may be `Affine`.

        An `Affine` index or bound counts from the end where it is negative. Slices with `Affine` bounds have a static
        length, and have to lie in the array.

        Raises
        ------
        IndexError : a static index is out of range, or a slice is longer than the axis.
        RefusedError : the length of a slice depends on a run-time value.
        """
        return self._then(window_of(key, self.shape))

    def layout(self, parent: np.ndarray, view: np.ndarray) -> Region:
        """What `view`, an array on the memory of `parent`, shows of it; `parent` stands for this region.

        Only addresses, shapes, strides and dtypes count. RefusedError if the memory is seen as another dtype,
        other than real as complex and back.
        """
        if parent.shape != self.shape:
            raise ValueError(f"an array of shape {parent.shape} stands for a region of shape {self.shape}")
        return self._then(*steps_between(parent, view))

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the cell, as it lies there."""
        return not self.steps

    @property
    def is_most(self) -> bool:
        """Whether it is half of the cell or more, in one static block: then it is written as all of the cell."""
        return len(self.steps) == 1 and isinstance(self.steps[0], Window) and self.steps[0].is_most

    @property
    def dynamic(self) -> bool:
        """Whether it depends on the run which elements are shown."""
        return any(isinstance(step, Window) and step.is_dynamic for step in self.steps)

    def dtype_of(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The dtype of what it shows of a cell of this dtype."""
        for step in self.steps:
            dtype = _dtype_after(step, dtype)
        return dtype

    def checks(self) -> list[Check]:
        """The run-time integers that are not known to be in range, and their ranges, inclusive."""
        return [check for step in self.steps if isinstance(step, Window) for check in step.checks()]

    def read(self, cell: Any, mode: str = "error") -> Any:
        """The values that the region shows of `cell`."""
        for step in self.steps:
            cell = _read(step, cell, mode)
        return cell

    def write(self, cell: Any, value: Any, mode: str = "error") -> Any:
        """`cell` with `value`, broadcast and cast, in the region. AliasError if it shows an element twice."""
        return self._change(cell, value, mode, _write)

    def add(self, cell: Any, value: Any, mode: str = "error") -> Any:
        """`cell` with `value`, broadcast and cast, added to the region; elements shown twice get both."""
        return self._change(cell, value, mode, _add)

    def _change(self, cell: Any, value: Any, mode: str, last: Any) -> Any:
        """Read down to the last step, change there, and write the results back up."""
        inner = [cell]
        for at, step in enumerate(self.steps[:-1]):
            if last is _add and not step.is_injective:
                rest = Region(step.shape, self.steps[at + 1 :])
                parts = rest.add(jnp.zeros(step.shape, inner[-1].dtype), value, mode)
                changed = step.add(inner[-1], parts)
                break
            inner.append(_read(step, inner[-1], mode))
        else:
            at = len(self.steps) - 1
            if at < 0:
                value = fitted(value, self.shape, cell.dtype)
                return value if last is _write else cell + value
            dtype = _dtype_after(self.steps[-1], inner[-1].dtype)
            changed = last(self.steps[-1], inner[-1], fitted(value, self.shape, dtype), mode)
        for step, x in zip(self.steps[:at][::-1], inner[:at][::-1], strict=True):
            changed = _write(step, x, changed, mode)
        return changed

    def _then(self, *steps: Any) -> Region:
        chain, shape = self.steps, self.shape
        for step in steps:
            if isinstance(step, Window) and 0 in step.shape:
                step = Take(shape, np.empty(step.shape, np.int32))
            chain, shape = pushed(chain, step), step.shape
        return Region(self.cell_shape, chain)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and (self.cell_shape, self.steps) == (other.cell_shape, other.steps)

    def __hash__(self) -> int:
        return hash((self.cell_shape, self.steps))

    def __repr__(self) -> str:
        return f"Region(cell_shape={self.cell_shape}, shape={self.shape}, steps={self.steps})"


def same(a: Region, b: Region) -> bool:
    """Whether both are known to show the same elements at the same places, whatever happens out of range."""
    return a == b


def disjoint(a: Region, b: Region, mode: str = "error") -> bool:
    """Whether two regions of one cell are known to have no element in common.

    In mode "clip", windows that may be moved into range may come to overlap; in mode "error" such runs do not count.
    """
    return 0 in a.shape or 0 in b.shape or apart(a.steps, b.steps, mode)


def contains(a: Region, b: Region, mode: str = "error") -> bool:
    """Whether every element of `b` is known to be in `a`: a write of all of `a` leaves nothing of `b`."""
    return 0 in b.shape or inside(a.steps, b.steps, mode)


def _read(step: Any, x: Any, mode: str) -> Any:
    return read_window(step, x, mode) if isinstance(step, Window) else step.read(x)


def _write(step: Any, x: Any, value: Any, mode: str) -> Any:
    return write_window(step, x, value, mode) if isinstance(step, Window) else step.write(x, value)


def _add(step: Any, x: Any, value: Any, mode: str) -> Any:
    if isinstance(step, Window):
        return add_to_window(step, x, value, mode)
    if isinstance(step, (Take, Broadcast)):
        return step.add(x, value)
    return step.write(x, step.read(x) + value)


def _dtype_after(step: Any, dtype: Any) -> np.dtype:
    """The dtype of what a step shows of an array of this dtype."""
    if isinstance(step, (Part, Pairs)):
        return np.empty(0, dtype).real.dtype
    return np.result_type(dtype, np.complex64) if isinstance(step, Paired) else np.dtype(dtype)
