"""A NumPy call's arguments as Julia gets them: in the order and under the names of an entry of Julia's table.

Arrays go by address, with their axes reversed, the rest by value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bridge.errors import NoRuleError
from bridge.rulebook.facts import NEUTRAL
from bridge.rulebook.rule import Rule
from bridge.signatures import first_pull


class Row(NamedTuple):
    """One entry of the table: its arguments as Julia spells them."""

    name: str
    positional: tuple[str, ...]
    variadic: bool
    keywords: tuple[str, ...]
    file: str

    @classmethod
    def of(cls, row: Any) -> Row:
        """The entry that Julia describes by a tuple."""
        name, positional, variadic, keywords, file = row
        return cls(str(name), tuple(map(str, positional)), bool(variadic), tuple(map(str, keywords)), str(file))


class Arrangement(NamedTuple):
    """Positions among a call's arguments (a tuple of them for a sequence of operands), as the entry takes them."""

    positional: tuple[Any, ...]
    keywords: dict[str, Any]


def arranged(
    row: Row, native: Rule | None, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Arrangement:
    """Where the entry finds its arguments among `args` and the values of `kwargs`; NoRuleError for what it lacks."""
    values = (*args, *kwargs.values())
    if isinstance(function, np.ufunc) and not kwargs:
        return Arrangement(tuple(range(len(args))), {})
    found = _signature(native, function)
    positions = found.bind(*range(len(args)), **{name: len(args) + k for k, name in enumerate(kwargs)}).arguments
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    leading = len(row.positional) - row.variadic
    skipped = ""
    for name, parameter in found.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(positions.get(name, ()))
        elif parameter.kind is parameter.VAR_KEYWORD:
            for other in positions.get(name, {}):
                _check_neutral(row, other)
        elif name not in positions or _is_default(values[positions[name]], parameter.default):
            skipped = skipped or (name if name in row.positional[:leading] else "")
        elif len(positional) < leading and not skipped:
            positional.append(positions[name])
        elif name in row.keywords:
            keywords[name] = positions[name]
        elif values[positions[name]] is not None:
            if name in row.positional and skipped:
                raise NoRuleError(
                    f'engine="julia" has no rule for {row.name} with {name}= and without {skipped}=',
                    remedy=f'give {skipped}= too, or use engine="native"',
                )
            _check_neutral(row, name)
    return Arrangement(tuple(positional), keywords)


def _check_neutral(row: Row, name: str) -> None:
    # A cotangent has the precision of its value; pulls call `out` otherwise.
    if name not in NEUTRAL and name not in ("dtype", "_out"):
        raise NoRuleError(
            f'engine="julia" has no rule for {row.name} with {name}=',
            remedy=f'use engine="native", or give the entry of {row.name} in {row.file} this keyword',
        )


def _signature(native: Rule | None, function: Any) -> inspect.Signature:
    if native is None:
        return _signature_of(function, 0)
    equivalent = getattr(native.joint, "equivalent", None)
    if equivalent is not None:
        return _signature_of(equivalent, 0)
    pull = native.joint or first_pull(native.per_argument)
    return _signature_of(pull, 2)


@cache
def _signature_of(function: Callable[..., Any], leading: int) -> inspect.Signature:
    signature = inspect.signature(function)
    return signature.replace(parameters=list(signature.parameters.values())[leading:])


def _is_default(value: Any, default: Any) -> bool:
    if value is default or value is np._NoValue:
        return True
    return type(value) is type(default) and isinstance(value, (bool, int, float, str)) and value == default


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
