"""Reads and writes of windows: `lax.slice` and its kin; what they cost is the window, not the array."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.xla.regions.affine import Affine
from bridge.xla.regions.steps import adder
from bridge.xla.regions.windows import Axis, Window

_MASKED = ("fill", "drop")


def read_window(part: Window, x: Any, mode: str) -> Any:
    """What the window shows of `x`."""
    guarded = _guarded(part, mode)
    starts, spans = _block(part, guarded, mode)
    static = all(isinstance(start, int) for start in starts)
    steps = [1 if k in guarded else abs(one.step) for k, one in enumerate(part.axes)]
    if static and (tuple(spans) != part.lengths or any(step > 1 for step in steps)):
        block = lax.slice(x, starts, [start + span for start, span in zip(starts, spans, strict=True)], steps)
    elif static:
        block = x
    else:
        block = _cut(x, starts, spans)
        if any(step > 1 for step in steps):
            block = lax.slice(block, [0] * len(spans), spans, steps)
    if guarded:
        block = _gathered(part, block, guarded, mode)
    return _arranged(part, block)


def write_window(part: Window, x: Any, value: Any, mode: str) -> Any:
    """`x` with `value`, of the window's shape and x's dtype, in the window."""
    value = _unarranged(part, value)
    guarded = _guarded(part, mode)
    if part.is_bijective:
        return value
    starts, spans = _block(part, guarded, mode)
    if guarded:
        block = _cut(x, starts, spans)
        value = block.at[_mesh(part, guarded)].set(value, mode="drop", unique_indices=True)
    elif any(abs(one.step) > 1 for one in part.axes):
        value = lax.select(_mask(part, spans), _spread(part, value), _cut(x, starts, spans))
    if part.is_most:
        return jax.jit(put_most, static_argnums=0)(tuple(starts), x, value)
    return _put(x, value, starts)


def add_to_window(part: Window, x: Any, value: Any, mode: str) -> Any:
    """`x` with `value`, of the window's shape and x's dtype, added in the window."""
    value = _unarranged(part, value)
    guarded = _guarded(part, mode)
    starts, spans = _block(part, guarded, mode)
    if part.is_bijective and x.dtype != np.bool_:
        return x + value
    if part.is_most and x.dtype != np.bool_:
        # What is added outside is the number that changes nothing, not even the sign of a zero.
        nothing = np.negative(np.zeros((), x.dtype))
        rest = [(s, n - s - m, 0) for s, n, m in zip(starts, x.shape, value.shape, strict=True)]
        return x + lax.pad(value, nothing, rest)
    block = _cut(x, starts, spans)
    if guarded:
        block = adder(block.at[_mesh(part, guarded)])(value, mode="drop", unique_indices=True)
    else:
        block = block + _spread(part, value)
    return _put(x, block, starts)


def _guarded(part: Window, mode: str) -> list[int]:
    """The axes on which elements may lie outside, and are to be masked."""
    return [k for k, one in enumerate(part.axes) if one.guard is not None] if mode in _MASKED else []


def _block(part: Window, guarded: list[int], mode: str) -> tuple[list[Any], list[int]]:
    """Start and span of the smallest contiguous block that holds the window; whole axes where masks are needed."""
    starts = [0 if k in guarded else start_in_range(one) for k, one in enumerate(part.axes)]
    spans = [part.lengths[k] if k in guarded else one.span for k, one in enumerate(part.axes)]
    return starts, spans


def start_in_range(one: Axis) -> Any:
    """The lowest place of an axis, moved into range where it might not be."""
    corner = one.corner
    if one.guard is None:
        return corner.value()
    guard = one.guard
    rest = corner - guard.base * guard.scale
    base = lax.clamp(*(jnp.asarray(end, int) for end in (guard.low, guard.base.value(), guard.high)))
    return base * guard.scale + rest.value() if (guard.scale, rest) != (1, Affine(0)) else base


def _cut(x: Any, starts: list[Any], spans: list[int]) -> Any:
    if tuple(spans) == x.shape:
        return x
    if all(isinstance(start, int) for start in starts):
        return lax.slice(x, starts, [start + span for start, span in zip(starts, spans, strict=True)])
    return lax.dynamic_slice(x, list(map(position, starts)), spans, allow_negative_indices=False)


def _put(x: Any, block: Any, starts: list[Any]) -> Any:
    if block.shape == x.shape:
        return block
    return lax.dynamic_update_slice(x, block, list(map(position, starts)), allow_negative_indices=False)


def position(start: Any) -> Any:
    """A place on an axis as JAX takes it with the least ado: an array of its default integers."""
    return start if isinstance(start, jax.Array) else _constant(int(start))


@lru_cache(maxsize=1024)
def _constant(place: int) -> Any:
    with jax.ensure_compile_time_eval():
        return jnp.asarray(place, int)


def put_most(starts: tuple[int, ...], x: Any, block: Any) -> Any:
    """`x` with a block that is most of it: an elementwise choice, which XLA fuses with what is around it.

    It is jitted by itself, so that `equations/placing.py` finds it.
    """
    rest = [(start, n - start - m, 0) for start, n, m in zip(starts, x.shape, block.shape, strict=True)]
    return lax.select(_inside(x.shape, starts, block.shape), lax.pad(block, np.zeros((), block.dtype), rest), x)


def _inside(shape: tuple[int, ...], starts: Sequence[int], sizes: tuple[int, ...]) -> Any:
    """Which places of an array lie in a block."""
    mask: Any = None
    for axis, (n, start, size) in enumerate(zip(shape, starts, sizes, strict=True)):
        if size != n:
            place = lax.broadcasted_iota(np.int32, shape, axis)
            part = (place >= start) & (place < start + size)
            mask = part if mask is None else mask & part
    return mask


def _arranged(part: Window, block: Any) -> Any:
    """A block with the array's axes, in ascending order of places, as the window shows it."""
    backward = [k for k, one in enumerate(part.axes) if one.step < 0]
    if backward:
        block = lax.rev(block, backward)
    kept, order = _order(part)
    block = _reshaped(block, [part.axes[k].size for k in kept])
    if list(order) != sorted(order):
        block = lax.transpose(block, order)
    return _reshaped(block, part.shape)


def _unarranged(part: Window, value: Any) -> Any:
    """The inverse of `_arranged`."""
    kept, order = _order(part)
    value = _reshaped(value, [part.axes[kept[k]].size for k in order])
    if list(order) != sorted(order):
        value = lax.transpose(value, np.argsort(order).tolist())
    value = _reshaped(value, [one.size for one in part.axes])
    backward = [k for k, one in enumerate(part.axes) if one.step < 0]
    return lax.rev(value, backward) if backward else value


def _reshaped(x: Any, shape: Sequence[int]) -> Any:
    return x if x.shape == tuple(shape) else lax.reshape(x, shape)


def _order(part: Window) -> tuple[list[int], list[int]]:
    """The axes of the array that the window shows, ascending, and their permutation in the window."""
    shown = [k for k in part.outputs if k is not None]
    kept = sorted(shown)
    return kept, [kept.index(k) for k in shown]


def _spread(part: Window, value: Any) -> Any:
    """A value with zeros between its elements, where the window has steps."""
    if all(abs(one.step) == 1 for one in part.axes):
        return value
    return lax.pad(value, jnp.zeros((), value.dtype), [(0, 0, abs(one.step) - 1) for one in part.axes])


def _mask(part: Window, spans: list[int]) -> Any:
    """Which places of the block the window shows."""
    mask: Any = np.ones((), bool)
    for k, one in enumerate(part.axes):
        if abs(one.step) > 1:
            shown = np.arange(spans[k]) % abs(one.step) == 0
            mask = mask & lax.broadcast_in_dim(jnp.asarray(shown), spans, (k,))
    return mask


def places_of(one: Axis) -> tuple[Any, Any]:
    """The places of an axis, ascending, as written, and which of them may be touched."""
    assert one.guard is not None
    places = jnp.asarray(one.corner.value(), int) + np.arange(one.size) * abs(one.step)
    first, last = one.guard.extent()
    return places, (places >= first.value()) & (places <= last.value())


def _gathered(part: Window, block: Any, guarded: list[int], mode: str) -> Any:
    """The elements at the places of the guarded axes, filled where they lie outside."""
    nothing = filling(block.dtype) if mode == "fill" else np.zeros((), block.dtype)
    inside: Any = True
    for k in guarded:
        places, valid = places_of(part.axes[k])
        block = jnp.take(block, jnp.clip(places, 0, part.lengths[k] - 1), axis=k, mode="clip")
        inside = inside & valid.reshape((-1,) + (1,) * (block.ndim - 1 - k))
    return jnp.where(inside, block, nothing)


def filling(dtype: Any) -> Any:
    """What stands for an element that is not there, as a NumPy scalar: NaN, 0, or False."""
    if jnp.issubdtype(dtype, np.complexfloating):
        return np.dtype(dtype).type(complex(np.nan, np.nan))
    return np.dtype(dtype).type(np.nan if jnp.issubdtype(dtype, np.floating) else 0)


def _mesh(part: Window, guarded: list[int]) -> tuple[Any, ...]:
    """Open mesh of places inside the block; what may not be touched gets places beyond its end, no two alike."""
    mesh: list[Any] = []
    for k, one in enumerate(part.axes):
        places: Any = np.arange(one.size) * abs(one.step)
        if k in guarded:
            places, valid = places_of(one)
            places = jnp.where(valid, places, part.lengths[k] + np.arange(one.size))
        mesh.append(places.reshape((-1,) + (1,) * (len(part.axes) - 1 - k)))
    return tuple(mesh)
