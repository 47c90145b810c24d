"""Memory, objects and containers that arguments hold twice: who may write them, and what their tangents are."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bridge.errors import AliasError, CotangentError, RefusedError
from bridge.objects.structure import ObjectStructure
from bridge.objects.walk import contents, shared_parts
from bridge.rewind.memory import ArrayMemory, Strides, address, grounded
from bridge.rewind.values import is_abstract
from bridge.transforms.entering import whole_of


class HeldTwice:
    """The copies of what is held twice, and what was in them when the function began.

    Parameters
    ----------
    given : of each argument that holds others its name, its structure, the caller's, and the function's.
    """

    def __init__(self, given: Sequence[tuple[str, Any, Any, Any]]) -> None:
        found: dict[int, list[tuple[str, Any]]] = {}
        for name, structure, original, entered in given:
            for part, copy in _containers(original, entered, name):
                found.setdefault(id(part), []).append(copy)
            if isinstance(structure, ObjectStructure):
                for part, copy in zip(_parts(structure, original), _parts(structure, entered), strict=True):
                    found.setdefault(id(part), []).append((name, copy))
        self._copies: list[tuple[Any, str, list[tuple[str, Any]]]] = []
        for copies in found.values():
            if len(copies) > 1:
                names = " and ".join(name for name, _ in copies)
                self._copies += [(copy, names, _contents(copy)) for _, copy in copies]

    def __bool__(self) -> bool:
        return bool(self._copies)

    def check(self, changed: Iterable[Any] = ()) -> None:
        """Raise AliasError if the function has written one of the copies: the others did not follow.

        `changed` are those that it is known to have written, also if they hold now what they held before.
        """
        known = {id(one) for one in changed}
        for copy, names, before in self._copies:
            now = _contents(copy)
            written = next((n for n, value in now if not any(n == m and value is old for m, old in before)), None)
            if written is None and len(now) == len(before) and id(copy) not in known:
                continue
            what = type(copy).__name__ + (written or "")
            raise AliasError(
                f"{names} hold the same {type(copy).__name__}, and the function wrote into it ({what}): "
                "what the other one holds is a copy, and did not follow",
                remedy="pass it once, and reach it through that argument",
            )


def _parts(structure: ObjectStructure, tree: Any) -> list[Any]:
    return shared_parts(structure.whole.flatten_up_to(tree))


def _contents(part: Any) -> list[tuple[str, Any]]:
    """What a container or an object holds now, with names."""
    if isinstance(part, dict):
        return [(f"[{key!r}]", value) for key, value in part.items()]
    return [(f"[{k}]", value) for k, value in enumerate(part)] if isinstance(part, (list, deque)) else contents(part)


def _containers(original: Any, entered: Any, name: str) -> Iterable[tuple[Any, tuple[str, Any]]]:
    """The containers of a tree that can be written: the caller's, and with its name the function's."""
    kind = type(original)
    if kind in _WRITABLE:
        yield original, (name, entered)
    elif not issubclass(kind, tuple):
        return
    for key, one in original.items() if issubclass(kind, dict) else enumerate(original):
        if type(one) in _WRITABLE or issubclass(type(one), tuple):
            yield from _containers(one, entered[key], f"{name}[{key!r}]")


_WRITABLE = frozenset({dict, list, deque, OrderedDict, defaultdict})


def said_once(tangents: list[Any], originals: Sequence[Any], places: Sequence[Any]) -> list[Any]:
    """Tangents with None for views that lie in an array that has one itself; they must say the same."""
    on_root: dict[int, list[int]] = {}
    for number, place in enumerate(places):
        on_root.setdefault(id(place.root), []).append(number)
    said = list(tangents)
    for numbers in on_root.values():
        if len(numbers) > 1:
            whole = numbers[whole_of([originals[number] for number in numbers]) or 0]
            for number in numbers:
                if number != whole:
                    _check_part(originals[whole], tangents[whole], originals[number], tangents[number])
                    said[number] = None
    return said


def _check_part(whole: Any, tangent: Any, part: Any, given: Any) -> None:
    """Raise unless the tangent `given` for a view is what `tangent` says of the array in which it lies."""
    if given is None:
        return
    if is_abstract(tangent) or is_abstract(given):
        raise RefusedError(
            f"an array of shape {np.shape(whole)} and a view of it have a tangent each, which must be the same where "
            "both lie, and a compiled program cannot compare them",
            remedy='give None for the view, or use engine="native"',
        )
    whole, part = grounded(whole), grounded(part)
    memory = np.zeros(whole.size, whole.dtype)
    low = np.lib.array_utils.byte_bounds(whole)[0]
    parts = [
        ArrayMemory().view(memory, address(array) - low, Strides(array.shape, array.strides, array.dtype))
        for array in (whole, part)
    ]
    if tangent is not None:
        parts[0][...] = grounded(tangent)
    if not np.array_equal(parts[1], np.asarray(grounded(given), whole.dtype), equal_nan=True):
        raise CotangentError(
            f"an array of shape {whole.shape} and a view of it of shape {part.shape} have tangents that are not the "
            "same where both lie",
            remedy="give None for the view: the tangent of the array says it all",
        )


_PIECE = 1 << 15
_FEW_BYTES = 2048
"""Bytes up to which two arrays are compared faster as copies than by NumPy."""


def holds_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays of one shape hold the same values; NaNs are the same."""
    if one.size > _PIECE and one.dtype == other.dtype and one.flags.c_contiguous and other.flags.c_contiguous:
        return _same_pieces(one.reshape(-1), other.reshape(-1))
    return _same_values(one, other)


def _same_values(one: np.ndarray, other: np.ndarray) -> bool:
    if one.nbytes <= _FEW_BYTES and one.dtype == other.dtype and one.tobytes() == other.tobytes():
        return True
    return np.array_equal(one, other) or np.array_equal(one, other, equal_nan=True)


def _same_pieces(one: np.ndarray, other: np.ndarray) -> bool:
    starts = range(0, one.size, _PIECE)
    return all(_same_values(one[k : k + _PIECE], other[k : k + _PIECE]) for k in starts)
