"""The last item of a list is a variable to a loop that appends to it: `x.append(x[-1] * a)`.

`x[-1]` becomes a variable of that name, and `x.append(value)` an assignment to it, followed by `x.append` of it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from bridge.arrays.buffer import Buffer
from bridge.loops_in_c.objects import is_number
from bridge.source.nodes import copied


def item_of(name: str) -> str:
    """The variable that is the last item of a list."""
    return f"{name}[-1]"


def lists_read(loop: ast.AST) -> frozenset[str]:
    """The variables whose item -1 is read in a loop."""
    return frozenset(filter(None, map(_list_of, ast.walk(loop))))


def last_items(names: Set[str], live: Mapping[str, Any]) -> dict[str, Any]:
    """The last items of lists by their variables: numbers and arrays, of lists that have no other variable."""
    lists = [id(one) for one in live.values() if type(one) is list]
    found = {name: live[name] for name in names if type(live.get(name)) is list}
    items = {name: one[-1] for name, one in found.items() if one and lists.count(id(one)) == 1}
    return {name: one for name, one in items.items() if is_number(one) or isinstance(one, (np.ndarray, Buffer))}


def with_last_items(loop: Any, names: Set[str]) -> Any:
    """A loop in which the last items of lists are variables."""
    return _Naming(names).visit(copied(loop))


def _list_of(node: ast.AST) -> str:
    """The variable whose item -1 an expression reads; empty for anything else."""
    if (
        not isinstance(node, ast.Subscript)
        or not isinstance(node.ctx, ast.Load)
        or not isinstance(node.value, ast.Name)
    ):
        return ""
    key = node.slice
    is_last = isinstance(key, ast.UnaryOp) and isinstance(key.op, ast.USub) and isinstance(key.operand, ast.Constant)
    return node.value.id if is_last and type(key.operand.value) is int and key.operand.value == 1 else ""  # type: ignore[attr-defined]


class _Naming(ast.NodeTransformer):
    def __init__(self, names: Set[str]) -> None:
        self.names = names

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        name = _list_of(node)
        if name in self.names:
            return ast.copy_location(ast.Name(item_of(name), ast.Load()), node)
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        self.generic_visit(node)
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "append":
            return node
        owner = call.func.value
        if not isinstance(owner, ast.Name) or owner.id not in self.names or len(call.args) != 1 or call.keywords:
            return node
        item = item_of(owner.id)
        bound = ast.copy_location(ast.Assign([ast.Name(item, ast.Store())], call.args[0]), node)
        call.args = [ast.copy_location(ast.Name(item, ast.Load()), call.args[0])]
        return [ast.fix_missing_locations(bound), node]
