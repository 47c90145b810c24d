"""Arrays that exchange their names in each iteration: `u, new = new, u`.

The loop is read once for each order of the names, with a variable that says whose turn it is:

    if turn == 0: (before); turn = 1; (after, of new and u)
    else: (before, of new and u); turn = 0; (after)

So each name in it shows one array, and arrays are written in place as they lie.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from bridge.source.nodes import copied

TURN = ".turn"
_MOST = 3
"""How many orders of the names there may be."""


class Turns(NamedTuple):
    """A loop without its exchange, and for each turn, which array of its beginning each name shows."""

    loop: Any
    shown: list[dict[str, str]]


def turns(loop: Any) -> Turns | None:
    """The loop without the exchange of names that is one of its own statements; None if there is none, or several."""
    places = [k for k, one in enumerate(loop.body) if _exchanged(one) is not None]
    if len(places) != 1:
        return None
    place = places[0]
    exchanged = _exchanged(loop.body[place])
    assert exchanged is not None
    before, after = loop.body[:place], loop.body[place + 1 :]
    others = ast.Module([*before, *after], [])
    again = {x.id for x in ast.walk(others) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    head = loop.target if isinstance(loop, ast.For) else loop.test
    again |= {x.id for x in ast.walk(head) if isinstance(x, ast.Name)}
    if not exchanged.keys().isdisjoint(again):
        return None
    shown = [{name: name for name in exchanged}]
    while len(shown) < _MOST:
        following = {name: shown[-1][other] for name, other in exchanged.items()}
        if following == shown[0]:
            break
        shown.append(following)
    if {name: shown[-1][other] for name, other in exchanged.items()} != shown[0]:
        return None
    return Turns(_read_in_turns(loop, before, after, shown), shown)


def _exchanged(node: ast.stmt) -> dict[str, str] | None:
    """For each name of an exchange, the one whose array it gets; None if a statement is none."""
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


def _read_in_turns(loop: Any, before: list[ast.stmt], after: list[ast.stmt], shown: list[dict[str, str]]) -> Any:
    made = copied(loop)
    body: list[ast.stmt] = []
    for number, names in reversed(list(enumerate(shown))):
        following = (number + 1) % len(shown)
        turn = ast.Assign([ast.Name(TURN, ast.Store())], ast.Constant(following))
        part = [*_renamed(before, names), turn, *_renamed(after, shown[following])]
        body = [ast.If(_is_turn(number), part, body)] if body else part
    made.body = body
    for one in ast.walk(made):
        if not hasattr(one, "lineno") and isinstance(one, (ast.stmt, ast.expr)):
            ast.copy_location(one, loop)
    return ast.fix_missing_locations(made)


def _is_turn(number: int) -> ast.expr:
    return ast.Compare(ast.Name(TURN, ast.Load()), [ast.Eq()], [ast.Constant(number)])


def _renamed(body: list[ast.stmt], names: dict[str, str]) -> list[ast.stmt]:
    return [_Renaming(names).visit(copied(one)) for one in body]


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)
