"""Taking objects apart: a walk over what they hold, which finds what is held twice and what holds numbers."""

from __future__ import annotations

from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from bridge.errors import ArgumentError
from bridge.objects.anatomy import Anatomy
from bridge.objects.levels import Level, is_opened_for_numbers, level_of
from bridge.objects.structure import LEAF, Again, Held, Node, Object, ObjectStructure, SameLeaf


def opened(leaves: list[Any], whole: Any) -> tuple[list[Any], Any]:
    """Leaves and structure with the objects among `leaves` taken apart; as given if there is none to be."""
    walk = _Walk(leaves)
    try:
        nodes = tuple(walk.node(leaf, inside=False) for leaf in leaves)
    except RecursionError:
        raise ArgumentError(
            "an object holds objects that hold objects, too many of them one in another",
            remedy="keep them in a list, and let the object hold that",
        ) from None
    if all(node is LEAF for node in nodes):
        return leaves, whole
    for leaf in walk.leaves:
        function = leaf.func if isinstance(leaf, partial) else leaf
        if type(function) is FunctionType and function.__closure__:
            walk.check_closure(function)
    return walk.leaves, ObjectStructure(whole, nodes)


def shared_parts(leaves: list[Any]) -> list[Any]:
    """The objects, lists and dicts that are put together for `leaves`, in the order in which they are."""
    walk = _Walk(leaves)
    for leaf in leaves:
        walk.node(leaf, inside=False)
    return walk.parts


def contents(part: Any) -> list[tuple[str, Any]]:
    """What an object, list or dict holds now, with names."""
    level = level_of(part)
    return [] if level is None else [*zip(level.names, level.children, strict=True)]


class _Walk:
    """One walk over the objects among some leaves."""

    def __init__(self, roots: list[Any]) -> None:
        self.leaves: list[Any] = []
        self.parts: list[Any] = []
        self._levels: dict[int, Level | None] = {}
        self._alive: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._arrays: dict[int, int] = {}
        self._unfinished: set[int] = set()
        self._reaching = self._that_reach_numbers(roots)

    def _that_reach_numbers(self, roots: list[Any]) -> set[int]:
        """What holds numbers or arrays, itself or through what it holds."""
        holders: dict[int, list[int]] = {}
        found: list[int] = []
        waiting = list(roots)
        while waiting:
            x = waiting.pop()
            if id(x) in self._levels:
                continue
            level = self._levels[id(x)] = level_of(x)
            # An id is of no other object while this one lives.
            self._alive.append(x)
            if level is None and _is_number(x):
                found.append(id(x))
            for child in () if level is None else level.children:
                holders.setdefault(id(child), []).append(id(x))
                waiting.append(child)
        reaching: set[int] = set()
        while found:
            one = found.pop()
            if one not in reaching:
                reaching.add(one)
                found += holders.get(one, ())
        return reaching

    def node(self, x: Any, inside: bool) -> Node:
        """What puts `x` together again; its leaves are appended."""
        level = self._levels[id(x)]
        if level is None:
            return self._leaf(x, inside)
        if id(x) in self._numbers:
            if id(x) in self._unfinished:
                raise ArgumentError(
                    f"a {type(x).__name__} among the arguments holds itself, and must be whole before it can be made",
                    remedy="hold what it refers to in an object of a plain class, a list or a dict",
                )
            return Again(self._numbers[id(x)])
        if isinstance(level.structure, Anatomy):
            if id(x) not in self._reaching and not level.structure.is_value:
                return self._leaf(x, inside)
            return self._object(x, level)
        if is_opened_for_numbers(level) and id(x) not in self._reaching:
            return self._leaf(x, inside)
        shared = not isinstance(x, (tuple, MethodType, partial))
        if shared:
            self._number(x)
        if type(x) not in (list, dict):
            self._unfinished.add(id(x))
        children = tuple(self.node(child, inside=True) for child in level.children)
        self._unfinished.discard(id(x))
        return Held(level.structure, children, shared, level.attributes)

    def check_closure(self, function: FunctionType) -> None:
        """Raise if a function that an object holds has the object itself in its closure: it would see the caller's."""
        waiting, seen = [function], set()
        while waiting:
            one = waiting.pop()
            seen.add(one)
            for cell in one.__closure__ or ():
                try:
                    held = cell.cell_contents
                except ValueError:  # a variable without a value yet
                    continue
                if id(held) in self._numbers:
                    raise ArgumentError(
                        f"an object among the arguments holds a function, {function.__qualname__}, with a "
                        f"{type(held).__name__} in its closure that is among the arguments too: it would see the "
                        "caller's, and not the copy that is differentiated",
                        remedy="make it a method, or give it what it needs as an argument",
                    )
                if type(held) is FunctionType and held not in seen:
                    waiting.append(held)

    def _leaf(self, x: Any, inside: bool) -> Node:
        if inside and (isinstance(x, np.ndarray) or hasattr(x, "view_as")):
            if id(x) in self._arrays:
                return SameLeaf(self._arrays[id(x)])
            self._arrays[id(x)] = len(self.leaves)
        self.leaves.append(x)
        return LEAF

    def _object(self, x: Any, level: Level) -> Object:
        self._number(x)
        count = len(level.attributes)
        children = tuple(self.node(value, inside=True) for value in level.children[:count])
        held = None
        if level.contents is not None:
            items = tuple(self.node(child, inside=True) for child in level.children[count:])
            held = Held(level.contents.structure, items, False, ())
        return Object(level.structure, level.attributes, children, held)

    def _number(self, x: Any) -> None:
        self._numbers[id(x)] = len(self.parts)
        self.parts.append(x)


def _is_number(x: Any) -> bool:
    """Whether `x` is a number or an array of any kind; truth values are none."""
    if isinstance(x, (type, bool)):
        return False
    # Asked of the class: an object may answer to any name, with any error.
    return isinstance(x, (int, float, complex)) or hasattr(type(x), "dtype") or hasattr(type(x), "place")
