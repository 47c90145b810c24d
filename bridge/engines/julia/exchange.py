"""Values on their way to Julia for one call: arrays by address with their axes reversed, the rest by value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.errors import NoRuleError


class Exchange:
    """What one call hands over. It keeps the arrays alive whose memory Julia sees."""

    def __init__(self, module: Any, name: str) -> None:
        self.module = module
        self.name = name
        self.kept: list[np.ndarray] = []

    def nested(self, positions: Any, convert: Callable[[int], Any]) -> Any:
        """`convert` of one position, or of a tuple of them."""
        return tuple(map(convert, positions)) if isinstance(positions, tuple) else convert(positions)

    def value(self, x: Any, wanted: bool = False, keyword: bool = False) -> Any:
        """A value as Julia gets it; `wanted` ones are arrays, as are NumPy's own numbers."""
        if x is None or isinstance(x, (bool, str)):
            return x
        if isinstance(x, (int, float, complex)) and not isinstance(x, np.generic):
            return self.array(np.asarray(x)) if wanted else x
        if isinstance(x, list) and _holds_numbers(x):
            return self.array(np.asarray(x) if x else np.zeros(0, np.int64))
        if isinstance(x, (list, tuple)):
            return tuple(self.value(part, wanted and hasattr(part, "dtype"), keyword) for part in x)
        if isinstance(x, (np.ndarray, np.generic)):
            plain = np.ndim(x) == 0 and not wanted and (keyword or x.dtype.kind in "iub")
            return x.item() if plain else self.array(np.asarray(x))
        if x is Ellipsis:
            return "..."
        raise NoRuleError(
            f'engine="julia" has no rule for {self.name} with an argument of type {type(x).__name__}',
            remedy='use engine="native"',
        )

    def array(self, x: np.ndarray) -> Any:
        """An array that shares the memory of `x`, or of a copy in C order."""
        kind, size = x.dtype.kind, x.dtype.itemsize
        if kind not in "fciub" or size > (16 if kind == "c" else 8):
            raise NoRuleError(
                f'engine="julia" has no arrays of dtype {x.dtype}',
                remedy='use engine="native", or convert to float64 with astype',
            )
        if kind in "iu":
            x = x.astype(np.int64, copy=False)
        if not x.dtype.isnative:
            x = x.astype(x.dtype.newbyteorder("="))
        return self._shared(np.require(x, requirements=["C", "A"]) if x.ndim else x.copy())

    def target(self, x: Any) -> Any:
        """Memory that Julia writes or reads as it is: an array, None, or a sequence of these."""
        if x is None:
            return None
        if isinstance(x, (list, tuple)):
            return tuple(map(self.target, x))
        return self._shared(np.asarray(x, order="C"))

    def _shared(self, x: np.ndarray) -> Any:
        self.kept.append(x)
        return self.module.array(f"{x.dtype.kind}{x.dtype.itemsize}", x.ctypes.data, x.shape[::-1])


def _holds_numbers(x: Any) -> bool:
    """Whether nested lists hold numbers only: an array that was written out."""
    if isinstance(x, (list, tuple)):
        return all(map(_holds_numbers, x))
    return isinstance(x, (int, float, complex, np.generic))


def target_for(x: Any) -> Any:
    """Memory for the cotangent of an argument: of its shape and dtype, a list for a sequence, None for no float."""
    if isinstance(x, (list, tuple)):
        return [target_for(part) for part in x]
    dtype = getattr(x, "dtype", None) or np.asarray(x).dtype
    return np.empty(np.shape(x), dtype) if dtype.kind in "fc" else None
