"""Places of a log on arrays of our own: an independent account of what an entry reads and writes.

`bridge.rewind.places` says where cotangents go; this module says where *tangents* go, with NumPy's own indexing.
The two are each other's transpose, which is how an entry is proved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.rewind.memory import ArrayMemory
from bridge.rewind.places import Alias, Layout, Picked, View
from bridge.rewind.roots import Root

_MEMORY = ArrayMemory()


def blank(root: Root) -> np.ndarray:
    """Zeros that lie as the memory of a root does."""
    if root.strides is None:
        return np.zeros(root.shape, root.dtype)
    order = sorted(range(len(root.shape)), key=lambda axis: -root.strides[axis])  # type: ignore[index]
    packed = np.zeros(tuple(root.shape[axis] for axis in order), root.dtype)
    return np.transpose(packed, np.argsort(order))


def laid(root: Root, values: Any) -> np.ndarray:
    """Values (None for zeros) in memory that lies as that of a root does."""
    array = blank(root)
    if values is not None:
        array[...] = values
    return array


def read(place: Any, array: np.ndarray) -> Any:
    """What lies at a place, if the root's memory were `array`."""
    if isinstance(place, Root):
        return array
    base = read(place.parent, array)
    if isinstance(place, (View, Picked)):
        return base[place.key]
    if isinstance(place, Layout):
        return _MEMORY.view(base, *place.key)
    assert isinstance(place, Alias)
    return base


def write(place: Any, array: np.ndarray, value: Any) -> None:
    """Assign at a place of `array`, as NumPy does: of duplicates the last one stays."""
    if isinstance(place, Picked):
        read(place.parent, array)[place.key] = value
    else:
        read(place, array)[...] = value


def random_tangent(root: Root, rng: np.random.Generator) -> np.ndarray:
    """Normal random numbers that lie as the memory of a root does."""
    array = blank(root)
    array[...] = rng.standard_normal(root.shape)
    if root.dtype.kind == "c":
        array[...] += 1j * rng.standard_normal(root.shape)
    return array
