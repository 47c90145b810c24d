"""Containers in which objects of the user's classes are taken apart: their leaves, and what puts them together again.

What is taken apart is a graph, not a tree. An object, list or dict that is found twice is put together once, and so
is one that refers to itself; an array that objects hold at two places is one leaf.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import optree

from bridge.objects.anatomy import Anatomy
from bridge.objects.levels import level_of, names_attributes, names_in


@dataclass(frozen=True)
class Leaf:
    """A place for a leaf."""


@dataclass(frozen=True)
class SameLeaf:
    """A second place of the array that is leaf `number`."""

    number: int


@dataclass(frozen=True)
class Again:
    """A second place of object, list or dict `number`."""

    number: int


@dataclass(frozen=True)
class Held:
    """A container that optree or JAX knows: its own level of structure; `shared` if it can be found twice."""

    level: Any
    children: tuple[Node, ...]
    shared: bool
    names: tuple[str, ...] = field(compare=False)


@dataclass(frozen=True)
class Object:
    """An object of a class that is taken apart; `contents` is the dict or list that it derives from."""

    anatomy: Anatomy
    attributes: tuple[str, ...]
    children: tuple[Node, ...]
    contents: Held | None


Node = Leaf | SameLeaf | Again | Held | Object
LEAF = Leaf()


class Mismatch(ValueError):
    """A tree has other containers, or other objects, than those that it is to follow."""


@dataclass(frozen=True)
class ObjectStructure:
    """The structure of containers that hold objects: `whole`, as optree has it, and a node for each of its leaves."""

    whole: Any
    nodes: tuple[Node, ...]

    @cached_property
    def num_leaves(self) -> int:
        return sum(map(_count, self.nodes))

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """Containers and objects around `leaves`; constructors of objects do not run."""
        maker = _Maker(leaves)
        return optree.tree_unflatten(self.whole, [maker.made(node) for node in self.nodes])

    def along(self, tree: Any) -> list[Any]:
        """The leaves of a tree that follows this structure; None stands for an object or container without any."""
        found: list[Any] = []
        try:
            parts = self.whole.flatten_up_to(tree)
        except (ValueError, TypeError) as error:
            raise Mismatch(str(error)) from error
        for node, part in zip(self.nodes, parts, strict=True):
            _follow(node, part, found)
        return found

    def paths(self) -> list[tuple[str, bool]]:
        """What each leaf is called in source code, behind the name of the whole, and whether an object holds it."""
        outer = [(accessor.codify(""), names_attributes(accessor)) for accessor in self.whole.accessors()]
        return [
            (name, held or node is not LEAF)
            for (prefix, held), node in zip(outer, self.nodes, strict=True)
            for name in _paths(node, prefix)
        ]

    def __str__(self) -> str:
        return str(self.whole.unflatten([_Shown(_described(node)) for node in self.nodes]))


class _Maker:
    """Puts nodes together, with new leaves."""

    def __init__(self, leaves: Sequence[Any]) -> None:
        self._leaves = leaves
        self._next = iter(leaves)
        self._parts: list[Any] = []

    def made(self, node: Node) -> Any:
        """The object, container or leaf of a node."""
        if isinstance(node, Leaf):
            return next(self._next)
        if isinstance(node, SameLeaf):
            return self._leaves[node.number]
        if isinstance(node, Again):
            return self._parts[node.number]
        if isinstance(node, Object):
            shell = node.anatomy.shell()
            self._parts.append(shell)
            values = [self.made(child) for child in node.children]
            contents = None if node.contents is None else self.made(node.contents)
            node.anatomy.fill(shell, node.attributes, values, contents)
            return shell
        return self._held(node)

    def _held(self, node: Held) -> Any:
        kind = getattr(node.level, "type", None)
        if kind in (list, dict) and node.shared:
            # What they hold may refer to them.
            part: Any = kind()
            self._parts.append(part)
            whole = node.level.unflatten([self.made(child) for child in node.children])
            part.extend(whole) if kind is list else part.update(whole)
            return part
        number = len(self._parts)
        if node.shared:
            self._parts.append(None)
        whole = node.level.unflatten([self.made(child) for child in node.children])
        if node.shared:
            self._parts[number] = whole
        return whole


def _follow(node: Node, part: Any, found: list[Any]) -> None:
    """Append the leaves of `part`, which has the structure of `node`."""
    if isinstance(node, Leaf):
        found.append(part)
    elif isinstance(node, SameLeaf):
        found[node.number] = _agreeing(found[node.number], part)
    elif isinstance(node, Again):
        return
    elif part is None:
        found += [None] * _count(node)
    elif isinstance(node, Object):
        if type(part) is not node.anatomy.kind:
            raise Mismatch(f"a {type(part).__name__} stands where a {node.anatomy.kind.__name__} is")
        state = node.anatomy.state(part)
        for name, child in zip(node.attributes, node.children, strict=True):
            _follow(child, state.get(name), found)
        if node.contents is not None:
            _follow(node.contents, node.anatomy.contents(part), found)
    else:
        level = level_of(part)
        if level is None or level.structure != node.level:
            raise Mismatch(f"a {type(part).__name__} stands where {node.level} is")
        for child, value in zip(node.children, level.children, strict=True):
            _follow(child, value, found)


def _agreeing(one: Any, other: Any) -> Any:
    """What is said of an array that an object holds at two places."""
    if other is None or one is other:
        return one
    if one is None:
        return other
    plain = not (hasattr(one, "place") or hasattr(other, "place"))
    if plain and np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind in "fc"):
        return one
    raise Mismatch("an array that is held at two places is given two values: give the same, or None at one of them")


def _count(node: Node) -> int:
    if isinstance(node, (SameLeaf, Again)):
        return 0
    if isinstance(node, Leaf):
        return 1
    contents = _count(node.contents) if isinstance(node, Object) and node.contents is not None else 0
    return contents + sum(map(_count, node.children))


def _paths(node: Node, prefix: str) -> Iterator[str]:
    if isinstance(node, Leaf):
        yield prefix
    elif isinstance(node, Object):
        for name, child in zip(node.attributes, node.children, strict=True):
            yield from _paths(child, f"{prefix}.{name}")
        if node.contents is not None:
            yield from _paths(node.contents, prefix)
    elif isinstance(node, Held):
        for name, child in zip(names_in(node.level, node.names), node.children, strict=True):
            yield from _paths(child, prefix + name)


def _described(node: Node) -> str:
    if isinstance(node, Leaf):
        return "*"
    if isinstance(node, Object):
        inner = ", ".join(f"{n}={_described(c)}" for n, c in zip(node.attributes, node.children, strict=True))
        return f"{node.anatomy.kind.__name__}({inner})"
    if isinstance(node, Held):
        return f"({', '.join(map(_described, node.children))})"
    return "the same"


class _Shown:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text
