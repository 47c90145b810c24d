"""Arrays whose names are swapped in each iteration: `u, new = new, u`.

The body of the loop is compiled once for each permutation of the names. A variable selects the current one:

    if swapped == 0: (before the swap); swapped = 1; (after it, with `u` and `new` renamed)
    else: (before the swap, with `u` and `new` renamed); swapped = 0; (after it)

So each name refers to one array, which is written in place.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from bridge.source.nodes import copied

SWAPPED = ".swapped"
"""The variable that selects the permutation."""
_MOST = 3
"""The largest number of permutations."""


class Swap(NamedTuple):
    """A loop with its swap compiled away.

    Attributes
    ----------
    loop : the loop, with one copy of its body for each permutation.
    permutations : for each value of `SWAPPED`, the name by which each array was known before the loop.
    """

    loop: Any
    permutations: list[dict[str, str]]


def swap_of(loop: Any) -> Swap | None:
    """The swap of names at the top level of a loop body; None if there is none, or more than one."""
    places = [k for k, one in enumerate(loop.body) if _swapped(one) is not None]
    if len(places) != 1:
        return None
    place = places[0]
    swapped = _swapped(loop.body[place])
    assert swapped is not None
    before, after = loop.body[:place], loop.body[place + 1 :]
    others = ast.Module([*before, *after], [])
    again = {x.id for x in ast.walk(others) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    head = loop.target if isinstance(loop, ast.For) else loop.test
    again |= {x.id for x in ast.walk(head) if isinstance(x, ast.Name)}
    if not swapped.keys().isdisjoint(again):
        return None
    permutations = [{name: name for name in swapped}]
    while len(permutations) < _MOST:
        following = {name: permutations[-1][other] for name, other in swapped.items()}
        if following == permutations[0]:
            break
        permutations.append(following)
    if {name: permutations[-1][other] for name, other in swapped.items()} != permutations[0]:
        return None
    return Swap(_with_permutations(loop, before, after, permutations), permutations)


def _swapped(node: ast.stmt) -> dict[str, str] | None:
    """For each name that a statement swaps, the name whose array it gets; None if the statement is not a swap."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    left, right = node.targets[0], node.value
    if not isinstance(left, (ast.Tuple, ast.List)) or not isinstance(right, (ast.Tuple, ast.List)):
        return None
    if not all(isinstance(one, ast.Name) for one in (*left.elts, *right.elts)):
        return None
    found = {one.id: other.id for one, other in zip(left.elts, right.elts, strict=False)}  # type: ignore[attr-defined]
    is_one = len(left.elts) == len(right.elts) == len(found) and set(found) == set(found.values())
    return found if is_one and any(one != other for one, other in found.items()) else None


def _with_permutations(
    loop: Any, before: list[ast.stmt], after: list[ast.stmt], permutations: list[dict[str, str]]
) -> Any:
    made = copied(loop)
    body: list[ast.stmt] = []
    for number, names in reversed(list(enumerate(permutations))):
        following = (number + 1) % len(permutations)
        select = ast.Assign([ast.Name(SWAPPED, ast.Store())], ast.Constant(following))
        part = [*renamed(before, names), select, *renamed(after, permutations[following])]
        body = [ast.If(_is_permutation(number), part, body)] if body else part
    made.body = body
    for one in ast.walk(made):
        if not hasattr(one, "lineno") and isinstance(one, (ast.stmt, ast.expr)):
            ast.copy_location(one, loop)
    return ast.fix_missing_locations(made)


def _is_permutation(number: int) -> ast.expr:
    return ast.Compare(ast.Name(SWAPPED, ast.Load()), [ast.Eq()], [ast.Constant(number)])


def renamed(body: Sequence[Any], names: dict[str, str]) -> list[Any]:
    """Copies of statements or expressions, with other names for some variables."""
    return [_Renaming(names).visit(copied(one)) for one in body]


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)
