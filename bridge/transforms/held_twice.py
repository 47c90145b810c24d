"""Objects, lists and dicts that are held twice: each holder gets a copy of its own, so nobody may write them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import Any

from bridge.errors import AliasError
from bridge.objects.structure import ObjectStructure
from bridge.objects.walk import contents, shared_parts


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
