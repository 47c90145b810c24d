"""What a compiled program was traced for: containers, shapes, dtypes, memory that is shared, and static values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import numpy as np

from bridge.arrays.operands import changed_meaning
from bridge.errors import AliasError, ArgumentError
from bridge.rewind.memory import ArrayMemory, Strides, address, overlaps_itself
from bridge.transforms.entering import copies_alike, sharing
from bridge.transforms.kinds import by_entries, is_sparse
from bridge.trees import key_orders, leaves_of
from bridge.xla.tracing.abstract import abstract_like

_STATIC = frozenset({int, bool, str, type(None)})
_NUMBERS = (float, complex, np.floating, np.complexfloating)


@dataclass(frozen=True)
class Dynamic:
    """A leaf that is an input of the compiled program.

    `weak` is the type of a Python number; `order` the axes of an array from slow to fast; `same` the number of
    an earlier leaf on the same memory. An array that leaves gaps, or shares its memory with others, comes in as
    the `span` elements between its first and its last; `lies` says where in them it begins, and its strides.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak: type | None = None
    order: tuple[int, ...] = ()
    same: int | None = None
    span: int = 0
    lies: tuple[int, tuple[int, ...]] | None = None

    def like_number(self) -> Any:
        """A number that looks as the leaf does."""
        return self.dtype.type(0) if self.weak is None else self.weak(0)

    def like(self) -> np.ndarray:
        """A stand-in that lies as the memory of the leaf does."""
        if self.lies is not None:
            return np.broadcast_to(np.zeros((), self.dtype), (self.span,))
        packed = np.empty([self.shape[axis] for axis in self.order], self.dtype)
        return abstract_like(packed.transpose(np.argsort(self.order) if self.order else ()))

    def shown(self, root: Any) -> Any:
        """The leaf as the function gets it, on the Buffer of the memory that came in."""
        if self.lies is None:
            return root
        offset, strides = self.lies
        return root.view_as(offset, Strides(self.shape, strides, self.dtype))


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
    orders: tuple[Any, ...] = ()

    @cached_property
    def _hash(self) -> int:
        return hash((self.structure, self.leaves, self.arrays, self.orders))

    def __hash__(self) -> int:
        return self._hash


class Call(NamedTuple):
    """One call: its signature, what comes in (memory that is passed twice once), and where that is at home.

    `home` is "traced" if JAX is tracing one of the values, else "jax" if one is a JAX array, else "numpy".
    """

    signature: Signature
    values: list[Any]
    home: str


_SEEN: dict[Any, Signature] = {}
"""Signatures of arguments that are packed arrays and numbers only: what most calls have, and again and again."""
_MANY = 4096
_ON_DEVICES: set[type] = set()
"""The types of JAX's arrays that are not being traced."""


def call_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """What a call with these arguments asks for."""
    leaves, structure = leaves_of((args, kwargs))
    orders = key_orders(args, kwargs)
    looks, values, home = _looks(leaves)
    if looks is None:
        return _described_whole(leaves, structure, orders)
    signature = _SEEN.get((structure, orders, looks))
    if signature is None:
        signature = _described_whole(leaves, structure, orders).signature
        if len(_SEEN) >= _MANY:
            _SEEN.clear()
        _SEEN[structure, orders, looks] = signature
    return Call(signature, values, home)


def _looks(leaves: list[Any]) -> tuple[Any, list[Any], str]:
    """What makes up the signature of leaves that are packed arrays and numbers, else None; what comes in; its home."""
    looks: list[Any] = []
    values: list[Any] = []
    home = "numpy"
    spans: list[tuple[int, int]] = []
    for leaf in leaves:
        kind = type(leaf)
        if kind is np.ndarray:
            dtype = leaf.dtype
            if not (leaf.flags.c_contiguous and leaf.flags.aligned and dtype.isnative and dtype.kind in "fciub"):
                return None, values, home
            looks.append((leaf.shape, dtype))
            values.append(leaf)
            start = leaf.__array_interface__["data"][0]
            spans.append((start, start + max(leaf.nbytes, 1)))
        elif kind is float or kind is complex:
            looks.append(kind)
            values.append(leaf)
        elif kind in _STATIC:
            looks.append((kind, leaf))
        elif kind in _ON_DEVICES:
            home = "jax" if home == "numpy" else home
            looks.append((jax.Array, leaf.shape, leaf.dtype))
            values.append(leaf)
        elif isinstance(leaf, jax.Array):
            home = _home(leaf, home)
            looks.append((jax.Array, leaf.shape, leaf.dtype))
            values.append(leaf)
        else:
            return None, values, home
    if len(spans) > 1:
        spans.sort()
        if any(one[1] > other[0] for one, other in pairwise(spans)):
            return None, values, home
    return tuple(looks), values, home


def is_on_device(kind: type) -> bool:
    """Whether a type is known to be that of JAX's arrays which are not being traced."""
    return kind in _ON_DEVICES


def _home(leaf: Any, before: str) -> str:
    if isinstance(leaf, jax.core.Tracer):
        return "traced"
    _ON_DEVICES.add(type(leaf))
    return "jax" if before == "numpy" else before


def _described_whole(leaves: list[Any], structure: Any, orders: tuple[Any, ...]) -> Call:
    described: list[Dynamic | Static] = []
    values: list[Any] = []
    home = "numpy"
    shared = _shared([(k, leaf) for k, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray)])
    for number, leaf in enumerate(leaves):
        if isinstance(leaf, jax.Array):
            home = _home(leaf, home)
            _check_kind(leaf.dtype)
            described.append(Dynamic(leaf.shape, np.dtype(leaf.dtype), order=tuple(range(leaf.ndim))))
            values.append(leaf)
        elif isinstance(leaf, np.ndarray):
            one, value = _described(leaf, number, shared[number])
            described.append(one)
            if one.same is None:
                values.append(value)
        elif isinstance(leaf, _NUMBERS):
            _check(np.asarray(leaf))
            weak = type(leaf) if type(leaf) in (float, complex) else None
            described.append(Dynamic((), np.result_type(leaf), weak))
            values.append(leaf)
        else:
            described.append(_static(leaf))
    is_array = tuple(isinstance(leaf, (np.ndarray, jax.Array)) for leaf in leaves)
    return Call(Signature(structure, tuple(described), is_array, orders), values, home)


def _shared(arrays: list[tuple[int, np.ndarray]]) -> dict[int, list[tuple[int, np.ndarray]]]:
    """For the number of each array those, itself among them, that lie on the same memory."""
    for _, array in arrays:
        _check(array)
    groups = sharing([array for _, array in arrays])
    return {arrays[k][0]: [arrays[m] for m in sorted(group)] for group in groups for k in group}


def _check(array: np.ndarray) -> None:
    if isinstance(array, (np.ma.MaskedArray, np.matrix)) or changed_meaning(type(array)):
        raise ArgumentError(
            f"an argument is a {type(array).__name__}, which changes what operations mean",
            remedy="pass a plain array (np.asarray), with np.where for a mask and @ for products",
        )
    _check_kind(array.dtype)


def _check_kind(dtype: Any) -> None:
    if jax.dtypes.issubdtype(dtype, jax.dtypes.extended) or not _is_known(dtype):
        raise ArgumentError(
            f"an argument has dtype {dtype}, which a compiled program does not have",
            remedy='use float64, float32, complex, integers or booleans, or engine="native"',
        )


def _is_known(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fciub" and dtype.itemsize <= (16 if dtype.kind == "c" else 8)


def _described(array: np.ndarray, number: int, group: list[tuple[int, np.ndarray]]) -> tuple[Dynamic, np.ndarray]:
    """What an array argument looks like, and what comes in for it."""
    first = group[0][0]
    same = None if first == number else first
    dtype = array.dtype if array.dtype.isnative else np.dtype(array.dtype.str[1:])
    if all(_lies(other) == _lies(array) for _, other in group) and copies_alike(array) and not overlaps_itself(array):
        order = tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))
        native = array if array.dtype.isnative else array.astype(dtype)
        return Dynamic(array.shape, dtype, order=order, same=same), native
    low = min(np.lib.array_utils.byte_bounds(other)[0] for _, other in group)
    high = max(np.lib.array_utils.byte_bounds(other)[1] for _, other in group)
    offset, item = address(array) - low, array.itemsize
    uneven = any(step % item for step in array.strides) or offset % item or (high - low) % item
    if uneven or any(other.dtype != array.dtype for _, other in group):
        raise AliasError(
            f"an argument of shape {array.shape} and dtype {array.dtype} lies at odd steps, or shares its memory with "
            "an argument of another dtype",
            remedy='pass copies (x.copy()), or use engine="native"',
        )
    described = Dynamic(array.shape, dtype, same=same, span=(high - low) // item, lies=(offset, array.strides))
    if same is not None:
        return described, array
    flat = np.zeros(described.span, dtype)
    for _, other in group:
        ArrayMemory().view(flat, address(other) - low, Strides(other.shape, other.strides, dtype))[...] = other
    return described, flat


def _lies(array: np.ndarray) -> tuple[Any, ...]:
    return address(array), array.shape, array.strides, array.dtype


def _static(leaf: Any) -> Static:
    if (hasattr(leaf, "__array__") or hasattr(leaf, "__dlpack__")) and not isinstance(leaf, (np.integer, np.bool_)):
        raise ArgumentError(
            f"an argument is an array of type {type(leaf).__module__}.{type(leaf).__name__}",
            remedy="pass NumPy's or JAX's: np.asarray(x)",
        )
    if is_sparse(leaf):
        raise by_entries(leaf, "an argument", "and cannot be part of what is compiled")
    try:
        hash(leaf)
    except (TypeError, ValueError):  # that of a memoryview which may be written
        raise ArgumentError(
            f"an argument of type {type(leaf).__name__} is no array, and cannot be part of what is compiled: "
            "it has no hash",
            remedy="pass arrays, numbers, or hashable values",
        ) from None
    return Static(leaf, type(leaf))


def in_memory(x: Any) -> np.ndarray:
    """A JAX array as one of NumPy's, to be read; without a copy where it lies in the memory of this process."""
    try:
        return np.asarray(memoryview(x))
    except (BufferError, TypeError, ValueError):
        return np.asarray(jax.device_get(x))  # asked for, which a transfer guard allows
