"""Chains of steps: two that make one, and what is known of two chains of one array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bridge.xla.regions.affine import Affine
from bridge.xla.regions.steps import Broadcast, Pairs, Part, Reshape, Take
from bridge.xla.regions.windows import Window, are_disjoint, axis, composed, does_contain, whole_axes, window

Steps = tuple[Any, ...]


def pushed(steps: Steps, step: Any) -> Steps:
    """The chain with one more step at its end, in as few steps as are found to do."""
    if isinstance(step, Reshape):
        step = _without_unit_axes_moved(step)
    if isinstance(step, Window) and step.is_identity:
        return steps
    if isinstance(step, (Reshape, Broadcast)) and step.lengths == step.shape:
        return steps
    joined = _joined(steps[-1], step) if steps else None
    if joined is None:
        return (*steps, step)
    steps = steps[:-1]
    for one in joined:
        steps = pushed(steps, one)
    return steps


def _without_unit_axes_moved(step: Reshape) -> Reshape | Window:
    """A reshape that only adds and drops axes of length 1, as a window, which composes with other windows."""
    before, after = ([k for k, n in enumerate(shape) if n != 1] for shape in (step.lengths, step.shape))
    if [step.lengths[k] for k in before] != [step.shape[k] for k in after]:
        return step
    where = dict(zip(after, before, strict=True))
    return window(step.lengths, whole_axes(step.lengths), tuple(where.get(k) for k in range(len(step.shape))))


def _joined(last: Any, step: Any) -> list[Any] | None:
    """Steps, to be pushed one by one, that do what these two do; None if there are no better ones."""
    match last, step:
        case Window(), Window():
            both = composed(last, step)
            return None if both is None else [both]
        case Part(), Window() | Reshape() | Broadcast() | Take():
            return [step, Part(step.shape, last.which)]
        case Take(), Window() if not step.is_dynamic:
            return [Take(last.lengths, _shown(step, last.positions))]
        case Take(), Reshape():
            return [Take(last.lengths, last.positions.reshape(step.shape))]
        case Take(), Take():
            return [Take(last.lengths, last.positions.ravel()[step.positions])]
        case Reshape(), Take():
            return [Take(last.lengths, step.positions)]
        case Reshape(), Reshape():
            return [Reshape(last.lengths, step.shape)]
        case Reshape(), Window():
            return _flat_window(last, step)
        case Broadcast(), Window():
            return _before_broadcast(last, step)
        case Pairs(), Window() if step.axes[-1].size == 1 and step.axes[-1].start.is_constant:
            one = window(last.lengths, step.axes[:-1], step.outputs)
            return [one, Part(one.shape, step.axes[-1].start.constant)]
    return None


def _shown(part: Window, array: np.ndarray) -> np.ndarray:
    """What a static window shows of a NumPy array."""
    places = [one.start.constant + one.step * np.arange(one.size) for one in part.axes]
    kept = [k for k in part.outputs if k is not None]
    block = array[np.ix_(*places)] if places else array
    dropped = tuple(k for k in range(block.ndim) if k not in kept)
    return block.squeeze(dropped).transpose([sorted(kept).index(k) for k in kept]).reshape(part.shape)


def _before_broadcast(last: Broadcast, step: Window) -> list[Any] | None:
    """A window of a broadcast array as a broadcast window: the repeated axes show their one place."""
    if any(step.axes[k].guard is not None for k in last.repeated):
        return None
    axes = list(step.axes)
    for k in last.repeated:
        axes[k] = axis(0, 1)
    one = window(last.lengths, tuple(axes), step.outputs)
    return [one, Broadcast(one.shape, step.shape)]


def _flat_window(last: Reshape, step: Window) -> list[Any] | None:
    """A contiguous window of a reshaped flat array as a window of the flat array, reshaped."""
    if len(last.lengths) != 1 or any(one.guard is not None for one in step.axes):
        return None
    long = [k for k, one in enumerate(step.axes) if one.size != 1]
    if [k for k in step.outputs if k is not None] != long or 0 in step.shape:
        return None
    first = long[0] if long else len(step.axes)
    if any(one.step != 1 for one in step.axes):
        return None
    if any(one.size != n for one, n in zip(step.axes[first + 1 :], step.lengths[first + 1 :], strict=True)):
        return None
    start, weight = Affine(0), 1
    for one, n in zip(step.axes[::-1], step.lengths[::-1], strict=True):
        start, weight = start + one.start * weight, weight * n
    size = math.prod(step.shape)
    return [window(last.lengths, (axis(start, size),), (0,)), Reshape((size,), step.shape)]


def apart(a: Steps, b: Steps, mode: str) -> bool:
    """Whether two chains of one array show no element in common; False if that is not known."""
    if _are_parts(a, b):
        return a[-1].which != b[-1].which or apart(a[:-1], b[:-1], mode)
    shared, a, b = _split(a, b)
    if not a or not b or not all(step.is_injective for step in shared):
        return False
    match a[0], b[0]:
        case Window(), Window():
            return are_disjoint(a[0], b[0], mode)
        case Take(), Take():
            return not np.intersect1d(a[0].positions, b[0].positions).size
    return False


def inside(a: Steps, b: Steps, mode: str) -> bool:
    """Whether chain `a` shows every element that `b` shows; False if that is not known."""
    if _are_parts(a, b):
        return a[-1].which == b[-1].which and inside(a[:-1], b[:-1], mode)
    _, a, b = _split(a, b)
    if _cover_all(a):
        return True
    if not b or not _cover_all(a[1:]):
        return False
    match a[0], b[0]:
        case Window(), Window():
            return does_contain(a[0], b[0], mode)
        case Take(), Take():
            return bool(np.isin(b[0].positions, a[0].positions).all())
    return False


def _split(a: Steps, b: Steps) -> tuple[Steps, Steps, Steps]:
    """The steps that both begin with, and the rest of each."""
    k = 0
    while k < min(len(a), len(b)) and a[k] == b[k]:
        k += 1
    return a[:k], a[k:], b[k:]


def _cover_all(steps: Sequence[Any]) -> bool:
    return all(step.is_bijective for step in steps)


def _are_parts(a: Steps, b: Steps) -> bool:
    """Whether both show real or imaginary parts of elements of the cell itself."""
    return all(
        bool(steps)
        and isinstance(steps[-1], Part)
        and all(isinstance(step, (Window, Take, Reshape, Broadcast)) for step in steps[:-1])
        for steps in (a, b)
    )
