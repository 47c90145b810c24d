"""What an entry keeps of its operands: tracked memory by reference, plain arrays as snapshots.

Memory of the context is put back before a pull reads it; a plain array that the program changes later is
not, so it is copied when an operation reads it: small ones always, large ones once per change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.memory import holds_arrays
from bridge.rule import Rule, Shaped

SMALL = 16 * 1024


class constant(np.ndarray):
    """An array that is promised not to change: operations refer to it without a snapshot.

    `constant(array)` is a read-only view of `array` (any shape and dtype); the promise is the caller's.
    """

    def __new__(cls, array: Any) -> constant:
        view = np.asarray(array).view(cls)
        view.flags.writeable = False
        return view

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(hasattr(x, "place") for x in inputs):
            return NotImplemented
        plain = (x.view(np.ndarray) if isinstance(x, constant) else x for x in inputs)
        return getattr(ufunc, method)(*plain, **kwargs)


class Snapshots:
    """Copies of the plain arrays that operations of one context have read."""

    __slots__ = ("_large",)

    def __init__(self) -> None:
        self._large: dict[tuple[Any, ...], tuple[np.ndarray, np.ndarray]] = {}

    def of(self, array: np.ndarray) -> np.ndarray:
        """An array with the present contents of `array` that nobody will change."""
        if array.nbytes <= SMALL:
            return array.copy()
        if _is_frozen(array):
            return array
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        found = self._large.get(key)
        if found is None or not _same_bits(found[1], array):
            found = self._large[key] = (array, array.copy())
        return found[1]

    def keep(self, rule: Rule, reads: frozenset[Any], args: tuple[Any, ...], plain: tuple[int, ...]) -> tuple[Any, ...]:
        """`args` as the pull will get them: read ones kept, the others reduced to what they look like."""
        if rule.broadcasts:
            if not reads:
                return (None,) * len(args)
            if not plain and len(args) == 2:
                return (args[0] if 0 in reads else None, args[1] if 1 in reads else None)
            return tuple([(self.of(x) if k in plain else x) if k in reads else None for k, x in enumerate(args)])
        named = len(rule.parameters)
        return tuple(
            [self._kept(x, k in reads or (k >= named and "*" in reads), k in plain) for k, x in enumerate(args)]
        )

    def _kept(self, x: Any, read: bool, plain: bool) -> Any:
        if type(x) in (list, tuple) and holds_arrays(x):
            return type(x)(self._kept(part, read, type(part) is np.ndarray) for part in x)
        if read:
            return self.of(x) if plain else x
        if isinstance(x, np.ndarray) or hasattr(x, "place"):
            return Shaped(x.shape, x.dtype)
        return x


def _is_frozen(array: np.ndarray) -> bool:
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return owner is None or isinstance(owner, bytes)


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    if a.flags.c_contiguous and b.flags.c_contiguous:
        return bool(np.array_equal(a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8)))
    return a.tobytes() == b.tobytes()
