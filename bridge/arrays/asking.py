"""Whether pandas or xarray do, with their labels, what NumPy does without: they are asked, on other numbers.

Of every labelled operand there is a twin of random numbers under the same labels; what is asked is run on the twins by
their library, and on their numbers by NumPy. Where the two differ, a program on labelled arrays is not one on NumPy's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.rewind import labels
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.memory import grounded

_NUMBERS = np.random.default_rng(20)


class Twins:
    """Operands for their library and for NumPy: `twins(args)` gives both, containers as they are.

    `actual` : the numbers are those that the program has, instead of random ones.
    """

    def __init__(self, actual: bool = False) -> None:
        self.actual = actual
        self._made: dict[int, tuple[Any, Any]] = {}

    def __call__(self, x: Any) -> tuple[Any, Any]:
        if type(x) in (list, tuple):
            pairs = [self(part) for part in x]
            return type(x)(one for one, _ in pairs), type(x)(other for _, other in pairs)
        if type(x) is dict:
            found = {name: self(part) for name, part in x.items()}
            return {name: one for name, (one, _) in found.items()}, {name: other for name, (_, other) in found.items()}
        if type(x) is slice:
            bounds = [self(bound)[0] for bound in (x.start, x.stop, x.step)]
            return slice(*bounds), slice(*bounds)
        if id(x) not in self._made:
            self._made[id(x)] = self._pair(x)
        return self._made[id(x)]

    def _pair(self, x: Any) -> tuple[Any, Any]:
        if type(x) is ARRAYS.labelled:
            values = self.numbers(x.__bridge_array__)
            return labels.around(x.__bridge_label__, values), np.array(values)
        if hasattr(x, "place"):
            values = self.numbers(x)
            return values, values.copy() if type(values) is np.ndarray else values
        if labels.holds_tracked(x):
            raise labels.refused(
                "an array of xarray's around a tracked one meets an argument of xarray's",
                "only the former knows its labels",
                "write the tracked number on the left: k * x",
            )
        if labels.is_labelled(x):
            return x, labels.values_of(x)
        return x, x

    def numbers(self, tracked: Any) -> Any:
        """Numbers as a tracked array, or number, has them; NaNs where it has NaNs."""
        plain = grounded(tracked)
        kind = np.asarray(plain).dtype
        if self.actual or kind.kind not in "fc":
            return plain.copy() if type(plain) is np.ndarray else plain
        if type(plain) is not np.ndarray:
            return type(plain)(0.5 + _NUMBERS.random())
        drawn = np.asarray(0.5 + _NUMBERS.random(plain.shape), kind)
        if kind.kind == "c":
            drawn += 1j * _NUMBERS.random(plain.shape)
        drawn[np.isnan(plain)] = np.nan
        return drawn


def method(name: str) -> Callable[..., Any]:
    """The method of this name of whatever is its first argument."""
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """What an augmented assignment makes of a copy, and whether it is that very copy."""

    def update(x: Any, other: Any) -> Any:
        copied = x.copy()
        updated = function(copied, other)
        return updated, copied, updated is copied

    return update


def written(x: Any, key: Any, value: Any) -> Any:
    """A copy of an array in which something was written."""
    x = x.copy()
    x[key] = value
    return x


def ask(what: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], twins: Any) -> Any:
    """What their library answers to a call; RefusedError, saying `what` it is, where NumPy answers something else."""
    theirs, ours = twins((args, kwargs))
    name = next((labels.name_of(x) for x in _flat(theirs) if labels.is_labelled(x)), "labelled array")
    what = f"{what} of a {name}, or of what comes of it"
    before = [(one, one.copy()) for one in _arrays(ours)]
    found = _answer(function, *theirs)
    plain = _answer(function, *ours)
    if isinstance(found, Exception):
        raise labels.refused(what, f"it raises {type(found).__name__} ({found})") from found
    if isinstance(plain, Exception) or not _agree(found, plain):
        theirs, ours = Twins(actual=True)((args, kwargs))
        told = f"{_told(_answer(function, *theirs))}, without labels {_told(_answer(function, *ours))}"
        raise labels.refused(what, f"labels, or NaNs, which it skips, or defaults of its own count: it gives {told}")
    if any(not np.array_equal(one, then, equal_nan=one.dtype.kind in "fc") for one, then in before):
        raise labels.refused(what, "it writes into it", "write x[...] = values")
    return found


def _answer(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)
    except Exception as error:
        return error


def _agree(theirs: Any, ours: Any) -> bool:
    """Whether two answers are the same numbers, up to the order in which they are added."""
    if isinstance(theirs, (tuple, list)) and isinstance(ours, (tuple, list)):
        return len(theirs) == len(ours) and all(map(_agree, theirs, ours))
    if labels.is_table(theirs) or theirs is None or np.shape(theirs) != np.shape(ours):
        return theirs is ours is None
    if not hasattr(theirs, "dtype") and not isinstance(theirs, (int, float, complex)):
        return bool(theirs == ours)
    one, other = labels.values_of(theirs), np.asarray(ours)
    if one.dtype.kind not in "fciub" or other.dtype.kind not in "fciub":
        return one.dtype == other.dtype and bool(np.all(one == other))
    if (one.dtype.kind in "fc") != (other.dtype.kind in "fc"):
        return False
    return np.allclose(one, other, rtol=1e-9 if other.dtype.itemsize >= _DOUBLE else 1e-4, atol=0.0, equal_nan=True)


_DOUBLE = 8


def _told(answer: Any) -> str:
    if isinstance(answer, Exception):
        return type(answer).__name__
    if isinstance(answer, (tuple, list)) or getattr(getattr(answer, "dtype", None), "kind", "O") not in "fciub":
        return f"a {type(answer).__name__}"
    numbers = labels.values_of(answer)
    text = np.array2string(numbers, precision=4, threshold=6, edgeitems=2).replace("\n", "")
    return f"{text} of shape {numbers.shape}" if numbers.shape else text


def _flat(x: Any) -> list[Any]:
    if isinstance(x, (tuple, list)):
        return [one for part in x for one in _flat(part)]
    return _flat(list(x.values())) if isinstance(x, dict) else [x]


def _arrays(x: Any) -> list[np.ndarray]:
    return [one for one in _flat(x) if type(one) is np.ndarray]
