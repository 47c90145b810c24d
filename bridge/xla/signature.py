"""What a compiled program was traced for: containers, shapes, dtypes, memory that is shared, and static values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from bridge.arguments import leaves_of
from bridge.errors import AliasError, ArgumentError
from bridge.xla.ghosts import ghost_like

_NUMBERS = (float, complex, np.floating, np.complexfloating)


@dataclass(frozen=True)
class Dynamic:
    """A leaf that is an input of the compiled program.

    `weak` is the type of a Python number; `order` the axes of an array from slow to fast; `same` the number of
    an earlier leaf that is the same memory.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak: type | None = None
    order: tuple[int, ...] = ()
    same: int | None = None

    def like(self) -> Any:
        """A stand-in that looks as the leaf does."""
        if self.weak is not None:
            return self.weak(0)
        if not self.order and not self.shape:
            return self.dtype.type(0)
        packed = np.empty([self.shape[axis] for axis in self.order], self.dtype)
        return ghost_like(packed.transpose(np.argsort(self.order)))


@dataclass(frozen=True)
class Static:
    """A leaf whose value is part of the program: an integer, a text, a function, None."""

    value: Any
    kind: type


@dataclass(frozen=True)
class Signature:
    """The key under which a compiled program is kept."""

    structure: Any
    leaves: tuple[Dynamic | Static, ...]
    arrays: tuple[bool, ...]


def signature_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Signature, list[Any], bool]:
    """The signature of a call, the values of its dynamic leaves, and whether one of them is a JAX array."""
    leaves, structure = leaves_of((args, kwargs))
    described: list[Dynamic | Static] = []
    values: list[Any] = []
    known: list[tuple[int, np.ndarray]] = []
    from_jax = False
    for leaf in leaves:
        if isinstance(leaf, jax.Array):
            from_jax = True
            described.append(Dynamic(leaf.shape, np.dtype(leaf.dtype), order=tuple(range(leaf.ndim))))
            values.append(leaf)
        elif isinstance(leaf, np.ndarray):
            described.append(_described(leaf, known))
            known.append((len(described) - 1, leaf))
            values.append(leaf if leaf.dtype.isnative else leaf.astype(leaf.dtype.newbyteorder("=")))
        elif isinstance(leaf, _NUMBERS):
            weak = type(leaf) if type(leaf) in (float, complex) else None
            described.append(Dynamic((), np.result_type(leaf), weak))
            values.append(leaf)
        else:
            described.append(_static(leaf))
    is_array = tuple(isinstance(leaf, (np.ndarray, jax.Array)) for leaf in leaves)
    return Signature(structure, tuple(described), is_array), values, from_jax


def _described(array: np.ndarray, known: Sequence[tuple[int, np.ndarray]]) -> Dynamic:
    if isinstance(array, (np.ma.MaskedArray, np.matrix)):
        raise ArgumentError(
            f"an argument is a {type(array).__name__}, which changes what operations mean",
            remedy="pass a plain array (np.asarray), with np.where for a mask and @ for products",
        )
    if array.dtype.kind not in "fciub" or array.dtype.itemsize > (16 if array.dtype.kind == "c" else 8):
        raise ArgumentError(
            f"an argument has dtype {array.dtype}, which XLA does not have",
            remedy='use float64, float32, complex, integers or booleans, or engine="native"',
        )
    same = None
    for number, other in known:
        if np.may_share_memory(array, other):
            a, b = array.__array_interface__, other.__array_interface__
            if a["data"] == b["data"] and array.shape == other.shape and array.strides == other.strides:
                same = number
            elif np.shares_memory(array, other):
                raise AliasError(
                    f"two arguments of shapes {other.shape} and {array.shape} share part of their memory",
                    remedy='pass copies (x.copy()), or use engine="native", which keeps both on one memory',
                )
    order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    dtype = array.dtype.newbyteorder("=")
    return Dynamic(array.shape, dtype, order=tuple(order), same=same)


def _static(leaf: Any) -> Static:
    try:
        hash(leaf)
    except TypeError:
        raise ArgumentError(
            f"an argument of type {type(leaf).__name__} is no array, and cannot be part of what is compiled: "
            "it has no hash",
            remedy="pass arrays, numbers, or hashable values",
        ) from None
    return Static(leaf, type(leaf))
