"""NumPy arrays as Julia arrays and back: shared memory where layout allows, copies otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import ArgumentError
from bridge.julia.calls import OtherLayout, entries, run
from bridge.rewind.memory import grounded


def to_julia(array: Any, order: str = "keep") -> Any:
    """A Julia array (juliacall's) of a NumPy array, on the same memory where its layout allows.

    Fortran's order becomes an `Array`, C's order the transpose or permuted view of one; any other layout a copy.
    The Julia array keeps NumPy's memory alive, and sees later changes of it.

    Parameters
    ----------
    array : float16/32/64, complex64/128, integer or boolean array of any shape; or what np.asarray makes one of.
    order : "keep": the same shape; "reversed": the axes reversed, so that C's order becomes an `Array`.
    """
    given = np.asarray(grounded(array))
    if checked_order(order) == "reversed":
        given = given.T
    kept = entries()
    try:
        key = run(kept.keep_array, 0, (given,))
    except OtherLayout:
        key = run(kept.keep_array, 0, (in_plain_layout(given),))
    return kept.julia.take_b(key)


def to_numpy(value: Any, order: str = "keep") -> Any:
    """A Julia value as Python's own: arrays (copied), NumPy numbers, tuples, dictionaries.

    Any AbstractArray of numbers becomes a dense array of its size; what has no counterpart stays juliacall's.
    """
    if isinstance(value, (np.ndarray, np.generic, float, int, complex, str, bool, type(None))):
        return value
    kept = entries()
    converted = run(kept.fetch, int(kept.julia.keep_b(value)), ())
    return reversed_axes(converted) if checked_order(order) == "reversed" else converted


def checked_order(order: str) -> str:
    """`order` if it is one; ArgumentError otherwise."""
    if order not in ("keep", "reversed"):
        raise ArgumentError(
            f"order={order!r}", remedy='use order="keep" (the same shapes in Julia) or "reversed" (axes reversed)'
        )
    return order


def reversed_axes(value: Any) -> Any:
    """Arrays in containers with their axes reversed; no copies."""
    if isinstance(value, np.ndarray) or (hasattr(value, "place") and hasattr(value, "transpose")):
        return value.transpose()
    if isinstance(value, (tuple, list)):
        parts = [reversed_axes(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {name: reversed_axes(part) for name, part in value.items()}
    return value


_OF_THIS_MACHINE = frozenset({1, 3})
"""DLPack's numbers of memory that the processor reads: its own, and what CUDA has pinned there."""


def shared(leaf: Any) -> Any:
    """An array of another library (JAX, PyTorch) as NumPy's on the same memory, by DLPack; anything else as it is.

    Raises
    ------
    ArgumentError : it lies on a device, or its library does not hand it out.
    """
    kind = type(leaf)
    if isinstance(leaf, (np.ndarray, np.generic)) or not hasattr(kind, "__dlpack__") or hasattr(leaf, "place"):
        return leaf
    name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    try:
        if leaf.__dlpack_device__()[0] in _OF_THIS_MACHINE:
            return np.from_dlpack(leaf)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise ArgumentError(
            f"an argument is a {name} that cannot be handed to Julia: {str(error).partition(chr(10))[0]}",
            where=resolve(here()),
            remedy="differentiate by PyTorch through bridge.torch.function, by JAX through bridge.julia.to_jax; "
            "or pass np.asarray(x), x.detach()",
        ) from error
    raise ArgumentError(
        f"an argument is a {name} in the memory of a device, which Julia does not see here",
        where=resolve(here()),
        remedy="pass a copy in the memory of this machine: np.asarray(x), x.cpu()",
    )


def in_plain_layout(leaf: Any) -> Any:
    """An array as it is if Julia can wrap it, else a copy in Fortran's order and the machine's byte order."""
    if not isinstance(leaf, (np.ndarray, np.generic)):
        return leaf
    dtype = leaf.dtype
    if dtype.kind not in "fciub" or dtype.itemsize > (16 if dtype.kind == "c" else 8):
        raise ArgumentError(
            f"an array of dtype {dtype} has no counterpart in Julia",
            where=resolve(here()),
            remedy="convert it to a float, complex, integer or boolean array of at most 64 bits a number",
        )
    if not isinstance(leaf, np.ndarray):
        return leaf
    flags = leaf.flags
    if dtype.isnative and flags.aligned and (flags.c_contiguous or flags.f_contiguous):
        return leaf
    return np.array(leaf, dtype.newbyteorder("="), order="F", copy=True, subok=False)
