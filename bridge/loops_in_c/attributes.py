"""Attributes of objects that a loop reads, and does not set, are to it what variables are: `self.u[i]`, `self.dt`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.source.nodes import copied

Chain = tuple[str, ...]
"""A variable, and attributes, each of what was before it."""


def chains(loop: ast.AST) -> list[Chain]:
    """The chains of attributes in a loop, the longest of each."""
    found = {_chain(one) for one in ast.walk(loop) if isinstance(one, ast.Attribute)}
    bound = {one.id for one in ast.walk(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return sorted(one for one in found if one is not None and one[0] not in bound)


def values(found: Iterable[Chain], names: Mapping[str, Any]) -> dict[Chain, Any]:
    """The arrays and numbers that chains lead to, by the part of the chain that leads to them."""
    values: dict[Chain, Any] = {}
    for chain in found:
        value = names.get(chain[0])
        for count, name in enumerate(chain[1:], 2):
            if type(value) is ModuleType or not is_plain(value, name):
                break
            value = getattr(value, name)
            if is_tracked(value) or type(value) in (np.ndarray, int, float, bool) or isinstance(value, np.generic):
                values[chain[:count]] = value
                break
    return values


def as_variables(loop: Any, found: Iterable[Chain]) -> Any:
    """A loop that reads variables, named like the chains, in their place."""
    return _Naming(frozenset(found)).visit(copied(loop))


def is_plain(thing: Any, name: str) -> bool:
    """Whether an attribute is what a module or an object holds: nothing computes it."""
    if type(thing) is ModuleType:
        return name in vars(thing)
    kind: Any = type(thing)
    if kind.__getattribute__ is not object.__getattribute__ or name not in getattr(thing, "__dict__", {}):
        return False
    return not any(hasattr(vars(one).get(name), "__get__") for one in kind.__mro__)


def _chain(node: ast.expr) -> Chain | None:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else None


class _Naming(ast.NodeTransformer):
    def __init__(self, found: frozenset[Chain]) -> None:
        self.found = found

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        chain = _chain(node)
        if chain in self.found and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Name(".".join(chain), ast.Load()), node)
        return self.generic_visit(node)
