"""Elementwise functions, and writes: axes are laid out alike, and what is not there is a number that harms nobody."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.arrays.buffer import WeakScalar
from bridge.arrays.call_forms import lists_as_arrays
from bridge.arrays.operands import NUMBERS
from bridge.arrays.overlapping import order_is_unknown
from bridge.rewind.memory import grounded
from bridge.rewind.snapshots import constant
from bridge.signatures import operation_name
from bridge.xla.bounded.bounded import Bounded, knows, refused, shown, unknown
from bridge.xla.bounded.extents import Extent
from bridge.xla.bounded.integers import made
from bridge.xla.bounded.masks import dense, inside
from bridge.xla.bounded.meeting import Joint, Side, check_lengths, laid_out, met, side_of
from bridge.xla.regions.affine import Affine
from bridge.xla.tracing.write_order import Line, keeps_its_value, line

PYTHON = (bool, int, float, complex)
_SUMS = frozenset({np.add, np.subtract, np.negative, np.positive, np.conjugate, np.real, np.imag, np.where})
"""Whose cotangents are those of the result, up to signs: what is not there passes nothing on, whatever it is."""


@knows(np.ufunc)
def ufunc_call(ufunc: np.ufunc, *args: Any, out: Any = None, where: Any = True, **kwargs: Any) -> Any:
    """A ufunc without a signature."""
    if where is not True:
        raise unknown(f"{operation_name(ufunc)} with where=", "use np.where")
    found = elementwise(ufunc, args, kwargs)
    if out is None or all(target is None for target in out if isinstance(out, tuple)):
        return found
    targets = out if isinstance(out, tuple) else (out,)
    results = found if isinstance(found, tuple) else (found,)
    for target, result in zip(targets, results, strict=True):
        if target is not None:
            stored(ufunc, target, result)
    return targets[0] if len(targets) == 1 else targets


def stored(function: Any, target: Any, result: Any) -> None:
    """Write a result into what was given for it, if NumPy would cast it so."""
    if not hasattr(target, "place") and not isinstance(target, Bounded):
        raise refused(
            f"{operation_name(function)} writes an array of run-time length into a plain array",
            "make the array inside of the program, with bridge.numpy if it is not read",
        )
    if not np.can_cast(result.dtype, target.dtype, "same_kind"):
        raise TypeError(
            f"Cannot cast {operation_name(function)} output from {result.dtype!r} to {target.dtype!r} "
            "with casting rule 'same_kind'"
        )
    target[...] = result


def _elementwise(function: Any) -> None:
    knows(function)(lambda *args, **kwargs: elementwise(function, args, kwargs))


for _one in (np.real, np.imag, np.round, np.around, np.nan_to_num, np.angle, np.sinc, np.isclose, np.i0):
    _elementwise(_one)
if hasattr(np, "fix"):  # deprecated since NumPy 2.5
    _elementwise(np.fix)


@knows(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`np.where` with three arguments."""
    if x is None or y is None:
        raise unknown("np.where with one argument", "use np.where(condition, x, y)")
    return elementwise(np.where, (condition, x, y), {})


@knows(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """`np.clip`."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if low is not None:
        a = elementwise(np.maximum, (a, low), {})
    if high is not None:
        a = elementwise(np.minimum, (a, high), {})
    if out is not None:
        stored(np.clip, out, a)
        return out
    return a


def elementwise(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function element by element, of operands that broadcast against each other."""
    for name, x in kwargs.items():
        if isinstance(x, Bounded):
            raise unknown(f"{operation_name(function)} with an array of run-time length as {name}=")
    operands = [dense(x) if isinstance(x, Bounded) else x for x in as_operands(args)]
    trace = next(x for x in operands if isinstance(x, Bounded)).trace
    joints = joined(trace, operands)
    wholes = [spread(trace, x, joints) for x in operands]
    extents = tuple(one.extent for one in joints)
    mask = inside(trace, tuple(one.size for one in joints), extents)
    if mask is not None and function not in _SUMS and not _scales(function, wholes):
        wholes = [_harmless(function, x, mask, wholes) for x in wholes]
    found = function(*wholes, **kwargs)
    if isinstance(found, tuple):
        return tuple(shown(one, extents) for one in found)
    return shown(found, extents)


def as_operands(args: tuple[Any, ...]) -> list[Any]:
    """Operands as arrays and numbers; lists are arrays."""
    args, _ = lists_as_arrays(np.add, args, {})
    return [np.asarray(x) if isinstance(x, (list, tuple)) else _checked(x) for x in args]


def _checked(x: Any) -> Any:
    if isinstance(x, (Bounded, *NUMBERS)) or hasattr(x, "place") or type(x) in (np.ndarray, constant):
        return x
    raise unknown(f"an operation with a {type(x).__name__}")


def rank(x: Any) -> int:
    """How many axes an operand has."""
    return len(x.extents) if isinstance(x, Bounded) else len(getattr(x, "shape", ()))


def joined(trace: Any, operands: list[Any]) -> list[Joint]:
    """The axes of what operands give that broadcast against each other."""
    ndim = max(map(rank, operands))
    given: list[list[Side]] = [[] for _ in range(ndim)]
    for x in operands:
        for axis in range(rank(x)):
            given[ndim - rank(x) + axis].append(side_of(x, axis))
    return [met(trace, one) for one in given]


def spread(trace: Any, x: Any, joints: list[Joint]) -> Any:
    """The static array of an operand, its axes laid out as those of the result."""
    whole = x.whole if isinstance(x, Bounded) else x
    for axis, joint in enumerate(joints[len(joints) - rank(x) :]):
        whole = laid_out(trace, whole, axis, side_of(x, axis), joint)
    return whole


def _scales(function: Any, operands: list[Any]) -> bool:
    """Whether a function multiplies an array by a finite number that carries nothing: then nothing can come back."""
    if function is np.multiply:
        return any(isinstance(x, NUMBERS) and np.isfinite(x) for x in operands)
    return function is np.divide and isinstance(operands[1], NUMBERS) and bool(np.isfinite(operands[1]) and operands[1])


def _harmless(function: Any, x: Any, mask: Any, beside: list[Any]) -> Any:
    """An operand with ones where nothing is there, so that no infinity comes back from there."""
    if isinstance(x, NUMBERS) or x.dtype.kind not in "fc" or (function is np.multiply and not x.shape):
        return x
    found = np.where(mask, x, np.ones((), x.dtype)[()])
    if isinstance(x, WeakScalar):
        kinds = [type(one) if type(one) in PYTHON else one.dtype for one in beside if not isinstance(one, WeakScalar)]
        found = found.astype(np.result_type(x.dtype.type(0).item(), *kinds))
    return found


def assign(target: Bounded, value: Any) -> None:
    """Write into all of an array of run-time length, whose static array is part of the program's memory."""
    trace, whole = target.trace, target.whole
    _check_order(target, value)
    (value,) = as_operands((value,))
    value = without_surplus(dense(value) if isinstance(value, Bounded) else value, target.ndim)
    cells = value.whole if isinstance(value, Bounded) else value
    for axis in range(rank(value)):
        own = target.ndim - rank(value) + axis
        cells = _laid_into(trace, cells, axis, side_of(value, axis), whole.shape[own], target.extents[own])
    if any(one is not None and one.most == 0 for one in target.extents):
        return
    cells = _cast(cells, whole.dtype)
    mask = inside(trace, whole.shape, target.extents)
    whole[...] = cells if mask is None else np.where(mask, cells, whole)


def _check_order(target: Bounded, value: Any) -> None:
    """Raise where NumPy may read elements of the value that it has just overwritten."""
    source = value.whole if isinstance(value, Bounded) else value
    if target.ndim != 1 or not rank(value) or getattr(source, "place", None) is None:
        return
    if source.place.root is not target.whole.place.root:
        return
    ours, theirs = target.extents[0], value.extents[-1] if isinstance(value, Bounded) else None
    if source.dtype == target.dtype:
        # Along one stride NumPy goes in the order that reads before it writes.
        if abs(_stride(target.whole, 0, ours)) == abs(_stride(source, -1, theirs)):
            return
        if keeps_its_value(_line(target.whole, ours), _line(source, theirs)):
            return
    raise order_is_unknown("of run-time length")


def _stride(whole: Any, axis: int, extent: Extent | None) -> int:
    return int(grounded(whole).strides[axis]) * (1 if extent is None else extent.step)


def _line(whole: Any, extent: Extent | None) -> Line | None:
    return line(whole.place, None if extent is None else (extent.first, extent.length, extent.step))


def _laid_into(trace: Any, cells: Any, axis: int, side: Side, size: int, extent: Extent | None) -> Any:
    """A value with its axis laid out as the one that it is written into."""
    if extent is None:
        return laid_out(trace, cells, axis, side, met(trace, [side, Side(size, None)] if size != 1 else [side]))
    if side.extent is not None or side.size != 1:
        check_lengths(trace, side.length, extent.length, broadcasts=True)
    if extent.step == 1:
        return laid_out(trace, cells, axis, side, Joint(size, extent))
    most = size if extent.most is None else min(size, extent.most)
    if not most:
        return cells
    cells = laid_out(trace, cells, axis, side, Joint(most, Extent(Affine.of(0), extent.length)))
    if cells.shape[axis] != most:
        return cells
    turns = made(trace, np.zeros(size, np.int64), _turns, extent, size, most)
    return cells[(slice(None),) * axis + (turns,)]


def _turns(extent: Extent, size: int, most: int) -> Any:
    return jnp.clip((np.arange(size) - extent.first.value()) // extent.step, 0, most - 1)


@knows(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """`np.copyto`."""
    if casting != "same_kind":
        raise unknown("np.copyto with casting=")
    (src,) = as_operands((src if where is True else np.where(where, src, dst),))
    stored(np.copyto, dst, src if hasattr(src, "dtype") else np.asarray(src))


def without_surplus(value: Any, ndim: int) -> Any:
    """A value without leading axes of length 1 that its target does not have."""
    while rank(value) > ndim:
        length = side_of(value, 0).length
        if not length.is_constant or length.constant != 1:
            raise ValueError(f"could not broadcast an array of {rank(value)} axes into one of {ndim}")
        value = value[0]
    return value


def _cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value in the dtype of the memory it is written into, so that what stays there is not rounded."""
    own = np.result_type(getattr(value, "dtype", type(value)))
    if own == dtype or (own.kind == "c" and dtype.kind != "c"):
        return value
    return value.astype(dtype) if hasattr(value, "astype") else dtype.type(value)
