"""Memory that stands for one array or another, as a branch has it: a write into either would be one into both.

What a name is bound to by a branch is memory of its own, which both sides write: the program may read it. If it stands
for arrays that have other names, who else sees a write is not known, and a write is an error (`Ownership.writable`).
What a function is about to return may stand for arrays that it goes on to write, on paths that do not return it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bridge.code_position import here
from bridge.source.staging.jumps import VALUE
from bridge.trees import containers_of


def stood_for(context: Any, name: str, root: Any, older: Iterable[Any]) -> None:
    """Take note that memory which a name is bound to stands for older memory."""
    if name == VALUE:
        context.returning.setdefault(root, []).extend(older)
    else:
        position = here()
        context.merged.update((one, position) for one in (root, *older))


def passed_on(context: Any, value: Any, cell: Any) -> None:
    """What is about to be returned is copied into another cell."""
    root = getattr(getattr(value, "place", None), "root", None)
    if root is not None and root in context.returning:
        context.returning.setdefault(cell.place.root, []).extend([root, *context.returning[root]])


def returned(context: Any, value: Any) -> None:
    """A function returns: from now on, what it gives has another name."""
    for leaf in containers_of(value)[0]:
        root = getattr(getattr(leaf, "place", None), "root", None)
        if root is not None and root in context.returning:
            position = here()
            context.merged.update((one, position) for one in (root, *context.returning.pop(root)))
