"""Attributes of objects are variables to a loop: arrays, lists and numbers that it reads, and numbers that it sets."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.source.nodes import copied

Chain = tuple[str, ...]
"""A variable, and attributes, each of what was before it."""


class Found(NamedTuple):
    """What an attribute is, of which object, and whether the loop sets it."""

    value: Any
    owner: Any
    is_set: bool


def chains(loop: ast.AST) -> dict[Chain, bool]:
    """The chains of attributes in a loop, and whether it sets the last of each."""
    found: dict[Chain, bool] = {}
    bound = {one.id for one in ast.walk(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    for one in ast.walk(loop):
        if not isinstance(one, ast.Attribute):
            continue
        chain = _chain(one)
        if chain is not None and chain[0] not in bound:
            found[chain] = found.get(chain, False) or not isinstance(one.ctx, ast.Load)
    return found


def values(found: Mapping[Chain, bool], names: Mapping[str, Any]) -> dict[Chain, Found]:
    """The arrays, lists and numbers that chains lead to, by the part of the chain that leads to them.

    Numbers that are set count if no other chain leads to them.
    """
    values: dict[Chain, Found] = {}
    for chain in found:
        value = names.get(chain[0])
        for count, name in enumerate(chain[1:], 2):
            if type(value) is ModuleType or not is_plain(value, name):
                break
            owner, value = value, getattr(value, name)
            if is_number(value) or is_tracked(value) or type(value) in (np.ndarray, list):
                part = chain[:count]
                values[part] = Found(value, owner, found.get(part, False))
                break
    slots = Counter((id(one.owner), chain[-1]) for chain, one in values.items())
    return {
        chain: one
        for chain, one in values.items()
        if not one.is_set or (_is_settable(one) and slots[id(one.owner), chain[-1]] == 1)
    }


def is_number(value: Any) -> bool:
    """Whether something is a number of Python's or NumPy's, tracked or not."""
    return type(value) in (int, float, bool) or isinstance(value, np.generic) or (is_tracked(value) and not value.shape)


def _is_settable(one: Found) -> bool:
    kind: Any = type(one.owner)
    return is_number(one.value) and kind.__setattr__ is object.__setattr__


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
        if chain in self.found:
            return ast.copy_location(ast.Name(".".join(chain), node.ctx), node)
        return self.generic_visit(node)
