"""From memory to steps: what a NumPy view shows of the array that it is a view of.

Nothing here looks at the contents of the arrays, only at addresses, shapes, strides and dtypes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.xla.regions.steps import Broadcast, Paired, Pairs, Reshape, Take
from bridge.xla.regions.windows import Axis, Window, axis, whole_axes, window

Shape = tuple[int, ...]
Step = Any


class Memory(NamedTuple):
    """How elements of one size lie: the first one's address, and the strides, in bytes."""

    address: int
    shape: Shape
    strides: tuple[int, ...]

    @property
    def long_axes(self) -> list[int]:
        """The axes with more than one place, the largest strides first."""
        return sorted((k for k, n in enumerate(self.shape) if n > 1), key=lambda k: -abs(self.strides[k]))

    def matches(self, other: Memory) -> bool:
        """Whether both show the same elements at the same places."""
        here = self.address == other.address and self.shape == other.shape
        return here and all(self.strides[k] == other.strides[k] for k in self.long_axes)


def memory_of(array: np.ndarray) -> Memory:
    """How an array lies in memory."""
    return Memory(array.__array_interface__["data"][0], array.shape, array.strides)


def steps_between(parent: np.ndarray, view: np.ndarray) -> list[Step]:
    """What to do to the values of `parent` to get those of `view`.

    Raises
    ------
    RefusedError : the view shows the memory as another dtype, other than real as complex and back.
    """
    outer, inner = memory_of(parent), memory_of(view)
    if parent.dtype == view.dtype:
        return _steps(outer, inner, parent.itemsize)
    real, pair = view.dtype, parent.dtype
    if pair.kind == "c" and real.kind == "f" and 2 * real.itemsize == pair.itemsize:
        parts = Memory(outer.address, (*outer.shape, 2), (*outer.strides, real.itemsize))
        return [Pairs(parent.shape), *_steps(parts, inner, real.itemsize)]
    if pair.kind == "f" and real.kind == "c" and real.itemsize == 2 * pair.itemsize and _halves(parent):
        shape = (*parent.shape[:-1], parent.shape[-1] // 2)
        whole = Memory(outer.address, shape, (*outer.strides[:-1], real.itemsize))
        return [Reshape(parent.shape, (*shape, 2)), Paired(shape), *_steps(whole, inner, real.itemsize)]
    raise RefusedError(
        f"a view of {parent.dtype} memory of shape {parent.shape} as {view.dtype}",
        remedy="only real and complex of one precision share memory with a meaning; use astype for a copy",
    )


def _halves(parent: np.ndarray) -> bool:
    """Whether the last axis can be read as pairs."""
    return parent.ndim > 0 and parent.shape[-1] % 2 == 0 and parent.strides[-1] == parent.itemsize


def _steps(parent: Memory, view: Memory, itemsize: int) -> list[Step]:
    if math.prod(view.shape) == 0:
        return [] if view.shape == parent.shape else [Take(parent.shape, np.empty(view.shape, np.int32))]
    if parent.matches(view):
        return []
    repeated = {k for k in view.long_axes if view.strides[k] == 0}
    if repeated:
        once = tuple(1 if k in repeated else n for k, n in enumerate(view.shape))
        return [*_steps(parent, view._replace(shape=once), itemsize), Broadcast(once, view.shape)]
    part = _as_window(parent, view)
    if part is not None:
        return [part]
    return _as_reshape(parent, view, itemsize) or [Take(parent.shape, _checked(parent, view, _positions(parent, view)))]


def _digits(parent: Memory) -> list[tuple[int, int, int]] | None:
    """The axes of an array as digits of an address, largest first: axis, |stride| and length.

    None if an element is reached in two ways. Axes of stride 0 count as having one place: any will do.
    """
    digits = [(k, abs(parent.strides[k]), parent.shape[k]) for k in parent.long_axes if parent.strides[k]]
    reach = 0
    for _, stride, length in reversed(digits):
        if stride <= reach:
            return None
        reach += stride * (length - 1)
    return digits


def _lowest(memory: Memory) -> int:
    """The address of the element that lies first in memory."""
    return memory.address + sum(min(0, s) * (n - 1) for s, n in zip(memory.strides, memory.shape, strict=True) if n)


def _as_window(parent: Memory, view: Memory) -> Window | None:
    """The view as slices and a permutation of the parent's axes."""
    digits = _digits(parent)
    if digits is None:
        return None
    starts = dict.fromkeys(range(len(parent.shape)), 0)
    offset = view.address - _lowest(parent)
    for k, stride, _ in digits:
        starts[k], offset = divmod(offset, stride)
    shown: dict[int, tuple[int, int]] = {}
    for j in view.long_axes:
        size = abs(view.strides[j])
        k, stride = next(((k, stride) for k, stride, _ in digits if stride <= size), (-1, 1))
        if k < 0 or k in shown or size % stride:
            return None
        shown[k] = (j, view.strides[j] // stride)
    axes: list[Axis] = []
    for k, length in enumerate(parent.shape):
        j, step = shown.get(k, (-1, 1))
        size = view.shape[j] if j >= 0 else 1
        ends = (starts[k], starts[k] + (size - 1) * step)
        if offset or min(ends) < 0 or max(ends) >= length:
            return None
        backward = parent.strides[k] < 0 and length > 1
        axes.append(axis(length - 1 - starts[k] if backward else starts[k], size, -step if backward else step))
    where = {j: k for k, (j, _) in shown.items()}
    return window(parent.shape, tuple(axes), tuple(where.get(j) for j in range(len(view.shape))))


def _as_reshape(parent: Memory, view: Memory, itemsize: int) -> list[Step]:
    """The view as a reshape of the parent, or of the parent's axes in the order of memory; else nothing."""
    if math.prod(parent.shape) != math.prod(view.shape):
        return []
    direct = _reshaped(parent, view.shape, itemsize)
    if direct is not None and direct.matches(view):
        return [Reshape(parent.shape, view.shape)]
    sorted_parent, to_parent = _in_memory_order(parent)
    sorted_view, from_view = _in_memory_order(view)
    middle = _reshaped(sorted_parent, sorted_view.shape, itemsize)
    if middle is None or not middle.matches(sorted_view):
        return []
    return [to_parent, Reshape(sorted_parent.shape, sorted_view.shape), _inverse(from_view)]


def _reshaped(memory: Memory, shape: Shape, itemsize: int) -> Memory | None:
    """How NumPy would show this memory in another shape; None if it would have to copy."""
    stand_in = as_strided(np.empty(1, np.dtype(f"V{itemsize}")), memory.shape, memory.strides)
    try:
        return Memory(memory.address, shape, stand_in.reshape(shape, copy=False).strides)
    except ValueError:
        return None


def _in_memory_order(memory: Memory) -> tuple[Memory, Window]:
    """The same elements in the order of their addresses, and the window that shows them so."""
    order = memory.long_axes
    axes = list(whole_axes(memory.shape))
    for k in order:
        if memory.strides[k] < 0:
            axes[k] = axis(memory.shape[k] - 1, memory.shape[k], -1)
    shape = tuple(memory.shape[k] for k in order)
    turned = Memory(_lowest(memory), shape, tuple(abs(memory.strides[k]) for k in order))
    return turned, window(memory.shape, tuple(axes), tuple(order))


def _inverse(part: Window) -> Window:
    """The window that undoes a permutation of axes and their directions."""
    steps = [part.axes[k].step for k in part.outputs if k is not None]
    axes = tuple(axis(n - 1 if step < 0 else 0, n, step) for n, step in zip(part.shape, steps, strict=True))
    where = {k: j for j, k in enumerate(part.outputs)}
    return window(part.shape, axes, tuple(where.get(k) for k in range(len(part.lengths))))


def _positions(parent: Memory, view: Memory) -> np.ndarray:
    """For each element of the view the position, in C order, of an element of the parent at the same address."""
    wanted = _offsets(view) + (view.address - _lowest(parent))
    digits = _digits(parent)
    if digits is not None:
        weights = np.cumprod([1, *parent.shape[:0:-1]])[::-1] if parent.shape else np.ones(0, int)
        positions = np.zeros(view.shape, np.int64)
        for k, stride, length in digits:
            place, wanted = np.divmod(wanted, stride)
            positions += weights[k] * (length - 1 - place if parent.strides[k] < 0 else place)
        return positions
    addresses = _offsets(parent).ravel() + (parent.address - _lowest(parent))
    order = np.argsort(addresses, kind="stable")
    return order[np.searchsorted(addresses, wanted.ravel(), sorter=order)].reshape(view.shape)


def _checked(parent: Memory, view: Memory, positions: np.ndarray) -> np.ndarray:
    """`positions`, if each is that of an element of the parent at the address of one of the view."""
    there = _offsets(parent).ravel() + parent.address
    inside = (positions >= 0) & (positions < there.size)
    if not np.array_equal(there[np.where(inside, positions, 0)], _offsets(view) + view.address) or not inside.all():
        raise RefusedError(
            f"a view of shape {view.shape} shows memory outside of its base, a part of shape {parent.shape}",
            where=resolve(here()),
            remedy="make it of the whole array: as_strided(y[::-1], ...) in place of as_strided(y[-1:], ...)",
        )
    return positions


def _offsets(memory: Memory) -> np.ndarray:
    """Where each element lies, in bytes, counted from the first one's address."""
    offsets = np.zeros(memory.shape, np.int64)
    for k, (n, stride) in enumerate(zip(memory.shape, memory.strides, strict=True)):
        offsets += (np.arange(n) * stride).reshape((-1,) + (1,) * (len(memory.shape) - 1 - k))
    return offsets
