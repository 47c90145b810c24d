"""Objects, lists and dicts that two arguments hold: each gets a copy of its own, so that no function may write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridge.errors import AliasError
from bridge.objects.structure import ObjectStructure
from bridge.objects.walk import contents, shared_parts


class HeldTwice:
    """The copies of what several arguments hold, and what was in them when the function began.

    Parameters
    ----------
    given : of each argument that holds objects its name, its structure, the caller's, and the function's.
    """

    def __init__(self, given: Sequence[tuple[str, ObjectStructure, Any, Any]]) -> None:
        found: dict[int, list[tuple[str, Any]]] = {}
        for name, structure, original, entered in given:
            for part, copy in zip(_parts(structure, original), _parts(structure, entered), strict=True):
                found.setdefault(id(part), []).append((name, copy))
        self._copies: list[tuple[Any, str, list[tuple[str, Any]]]] = []
        for copies in found.values():
            if len(copies) > 1:
                names = " and ".join(name for name, _ in copies)
                self._copies += [(copy, names, contents(copy)) for _, copy in copies]

    def check(self) -> None:
        """Raise AliasError if the function has written one of the copies: the others did not follow."""
        for copy, names, before in self._copies:
            now = contents(copy)
            written = next((n for n, value in now if not any(n == m and value is old for m, old in before)), None)
            if written is None and len(now) == len(before):
                continue
            what = type(copy).__name__ + (written or "")
            raise AliasError(
                f"{names} hold the same {type(copy).__name__}, and the function wrote into it ({what}): "
                "what the other one holds is a copy, and did not follow",
                remedy="pass it once, and reach it through that argument",
            )


def _parts(structure: ObjectStructure, tree: Any) -> list[Any]:
    return shared_parts(structure.whole.flatten_up_to(tree))
