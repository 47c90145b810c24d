"""The steps of a region that are not windows: reshapes, real and imaginary parts, broadcasts, and elements by position.

Each knows the shape of its result (`shape`), whether no element of the array appears twice in it (`is_injective`)
and whether every element appears, too (`is_bijective`).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.errors import AliasError, RefusedError

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Reshape:
    """The same elements, in C order, in another shape."""

    lengths: Shape
    shape: Shape

    is_bijective = is_injective = True

    def read(self, x: Any) -> Any:
        return lax.reshape(x, self.shape)

    def write(self, x: Any, value: Any) -> Any:
        return lax.reshape(value, self.lengths)


@dataclass(frozen=True)
class Part:
    """The real (0) or imaginary (1) part of a complex array."""

    shape: Shape
    which: int

    is_bijective = False
    is_injective = True

    def read(self, x: Any) -> Any:
        return lax.imag(x) if self.which else lax.real(x)

    def write(self, x: Any, value: Any) -> Any:
        return lax.complex(lax.real(x), value) if self.which else lax.complex(value, lax.imag(x))


@dataclass(frozen=True)
class Pairs:
    """Complex numbers as pairs of reals, on a new last axis."""

    lengths: Shape

    is_bijective = is_injective = True

    @property
    def shape(self) -> Shape:
        return (*self.lengths, 2)

    def read(self, x: Any) -> Any:
        return jnp.stack([lax.real(x), lax.imag(x)], -1)

    def write(self, x: Any, value: Any) -> Any:
        return lax.complex(value[..., 0], value[..., 1])


@dataclass(frozen=True)
class Paired:
    """Pairs of reals on the last axis as complex numbers."""

    shape: Shape

    is_bijective = is_injective = True

    def read(self, x: Any) -> Any:
        return lax.complex(x[..., 0], x[..., 1])

    def write(self, x: Any, value: Any) -> Any:
        return jnp.stack([lax.real(value), lax.imag(value)], -1)


@dataclass(frozen=True)
class Broadcast:
    """An array repeated along axes on which it has length 1."""

    lengths: Shape
    shape: Shape

    is_bijective = is_injective = False

    @property
    def repeated(self) -> tuple[int, ...]:
        return tuple(k for k, (one, many) in enumerate(zip(self.lengths, self.shape, strict=True)) if one != many)

    def read(self, x: Any) -> Any:
        return jnp.broadcast_to(x, self.shape)

    def write(self, x: Any, value: Any) -> Any:
        raise _repeated("a broadcast view")

    def add(self, x: Any, value: Any) -> Any:
        total = jnp.any if x.dtype == np.bool_ else jnp.sum
        return x + total(value, axis=self.repeated, keepdims=True).astype(x.dtype)


class Take:
    """Elements at static positions in C order; compared by content."""

    is_bijective = False

    def __init__(self, lengths: Shape, positions: np.ndarray) -> None:
        self.lengths = lengths
        small = math.prod(lengths) <= np.iinfo(np.int32).max
        self.positions = np.ascontiguousarray(positions, np.int32 if small else np.int64).reshape(positions.shape)

    @property
    def shape(self) -> Shape:
        return self.positions.shape

    @cached_property
    def is_injective(self) -> bool:
        return np.unique(self.positions).size == self.positions.size

    @cached_property
    def _content(self) -> tuple[Shape, Shape, bytes]:
        return self.lengths, self.shape, hashlib.blake2b(self.positions.tobytes()).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Take) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def read(self, x: Any) -> Any:
        if not self.positions.size:
            return jnp.zeros(self.shape, x.dtype)
        flat = lax.reshape(x, (x.size,)).at[self.positions.ravel()]
        return flat.get(mode="promise_in_bounds", unique_indices=self.is_injective).reshape(self.shape)

    def write(self, x: Any, value: Any) -> Any:
        if not self.positions.size:
            return x
        if not self.is_injective:
            raise _repeated("a view in which elements of its array appear more than once")
        flat = lax.reshape(x, (x.size,)).at[self.positions.ravel()]
        return flat.set(value.ravel(), mode="promise_in_bounds", unique_indices=True).reshape(x.shape)

    def add(self, x: Any, value: Any) -> Any:
        if not self.positions.size:
            return x
        flat = lax.reshape(x, (x.size,)).at[self.positions.ravel()]
        unique = self.is_injective
        return adder(flat)(value.ravel(), mode="promise_in_bounds", unique_indices=unique).reshape(x.shape)


def _repeated(what: str) -> AliasError:
    return AliasError(
        f"a write through {what}: which value an element keeps is not defined",
        remedy="write into the array itself, or copy the view first",
    )


def adder(places: Any) -> Any:
    """What adds to `x.at[...]`; for booleans, as in NumPy, that is `or`."""
    return places.max if places.array.dtype == np.bool_ else places.add


def fitted(value: Any, shape: Shape, dtype: Any) -> Any:
    """A value as NumPy assigns it: broadcast, without leading axes of length 1 too many, and cast."""
    value = jnp.asarray(value)
    if jnp.issubdtype(value.dtype, np.complexfloating) and not jnp.issubdtype(dtype, np.complexfloating):
        raise RefusedError(
            f"complex values of shape {value.shape} written into {np.dtype(dtype)} memory",
            remedy="write the real or the imaginary part, or make the memory complex",
        )
    surplus = value.ndim - len(shape)
    if surplus > 0 and value.shape[:surplus] == (1,) * surplus:
        value = lax.reshape(value, value.shape[surplus:])
    return jnp.broadcast_to(lax.convert_element_type(value, dtype), shape)
