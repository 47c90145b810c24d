"""Plans: what is the same in all calls of a Julia function with one structure of arguments, containers included."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from bridge.arrays.operands import changed_meaning
from bridge.code_position import here, resolve
from bridge.errors import ArgumentError
from bridge.julia.calls import Kept, OtherLayout, ask, kept_number, run
from bridge.julia.choosing import Prepared, begun, chosen
from bridge.julia.convert import in_plain_layout, reversed_axes, shared
from bridge.julia.sparse import SparseParts, entries_along, is_sparse, like, parts_of
from bridge.rewind.memory import grounded
from bridge.transforms.arguments import check_leaves
from bridge.transforms.entering import is_differentiable
from bridge.trees import containers_of, rebuilt


def is_own(leaf: Any) -> bool:
    """Whether a leaf is juliacall's object for a value of Julia's."""
    juliacall = sys.modules.get("juliacall")
    return juliacall is not None and isinstance(leaf, juliacall.AnyValue)


def holds_floats(leaf: Any) -> bool:
    """Whether a leaf is Julia's own value, of whose numbers a gradient can be asked."""
    if not is_own(leaf):
        return False
    kept = Kept(kept_number(leaf))
    return bool(ask(kept.key, "holds_floats"))


KINDS = {np.ndarray: "a", float: "f", int: "i", bool: "b", complex: "c", str: "s", type(None): "n"} | {
    scalar: "g" for scalar in {np.dtype(letter).type for letter in "?bhiqBHIQefdFD"}
}


class Flattened:
    """The arguments of one call: leaves, and the structures around them.

    `given` are the leaves as the caller has them, `leaves` with NumPy's arrays for those of other libraries. A sparse
    matrix is the leaves of its parts, in `positional` as in `leaves`; `matrices` are those in positional arguments, by
    the number of their first leaf, and `containers` is the structure in which each is one leaf.
    """

    __slots__ = ("containers", "given", "keywords", "leaves", "matrices", "named", "positional", "positions")

    def __init__(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.leaves, self.positional, self.matrices = _apart(tuple(args))
        self.containers = self.positional if not self.matrices else containers_of(tuple(args))[1]
        self.keywords: Any = None
        self.named = 0
        if kwargs:
            leaves, self.keywords, _ = _apart(kwargs)
            self.named = len(leaves)
            self.leaves += leaves
        self.given = self.leaves
        self.leaves = [leaf if type(leaf) in KINDS else shared(leaf) for leaf in self.leaves]
        self.positions = [child.num_leaves for child in self.positional.children()]

    def of_argument(self, number: int) -> range:
        """The numbers of the leaves of a positional argument."""
        start = sum(self.positions[:number])
        return range(start, start + self.positions[number])

    def argument(self, number: int, leaves: Sequence[Any]) -> Any:
        """`leaves` in the containers of a positional argument; entries of a sparse matrix in one like it."""
        return rebuilt(self.containers.child(number), self.whole(number, leaves, like))

    def whole(self, number: int, leaves: Sequence[Any], together: Callable[[Any, Any], Any]) -> Sequence[Any]:
        """`leaves` with one for each sparse matrix of a positional argument: `together(matrix, entries)`."""
        if not self.matrices:
            return leaves
        start, k = self.of_argument(number).start, 0
        found = []
        while k < len(leaves):
            matrix = self.matrices.get(start + k)
            found.append(leaves[k] if matrix is None else together(matrix, leaves[k]))
            k += 1 if matrix is None else len(SparseParts._fields)
        return found

    def tangents(self, number: int, given: Sequence[Any]) -> list[Any]:
        """One of `given`, or None, for each leaf of a positional argument; they are one for each sparse matrix."""
        remaining = iter(given)
        found: list[Any] = []
        leaves = self.of_argument(number)
        while len(found) < len(leaves):
            matrix = self.matrices.get(leaves.start + len(found))
            one = next(remaining)
            found.append(one if matrix is None else entries_along(matrix, one))
            found += [None] * (0 if matrix is None else len(SparseParts._fields) - 1)
        return found

    def own(self, number: int) -> set[int]:
        """Leaves of a positional argument that are Julia's own values with floats."""
        return {k for k in self.of_argument(number) if holds_floats(self.leaves[k])}

    def check(self, number: int, allow_int: bool, own: Container[int] = ()) -> None:
        """Raise ArgumentError if a leaf of a positional argument cannot be differentiated, but for those in `own`."""
        given = [0.0 if k in own else self.leaves[k] for k in self.of_argument(number)]
        leaves = self.whole(number, given, lambda matrix, entries: entries)
        check_leaves(list(leaves), self.containers.child(number), number, allow_int)

    def differentiable(self) -> tuple[int, ...]:
        """The leaves of positional arguments that can be differentiated, but for Julia's own values."""
        count = len(self.leaves) - self.named
        return tuple(k for k in range(count) if is_differentiable(self.leaves[k]))


def _apart(tree: Any) -> tuple[list[Any], Any, dict[int, Any]]:
    """Leaves and structure with sparse matrices taken apart, and these by the number of their first leaf."""
    leaves, structure = containers_of(tree)
    if all(type(leaf) in KINDS or not is_sparse(leaf) for leaf in leaves):
        return leaves, structure, {}
    matrices, found, start = {}, [], 0
    for leaf in leaves:
        if is_sparse(leaf):
            matrices[start] = leaf
        found.append(parts_of(leaf) if start in matrices else leaf)
        start += len(SparseParts._fields) if start in matrices else 1
    return *containers_of(rebuilt(structure, found)), matrices


def kind(leaf: Any) -> str:
    """The letter that tells Julia what a leaf is."""
    found = KINDS.get(type(leaf))
    if found is not None:
        return found
    if isinstance(leaf, (np.ma.MaskedArray, np.matrix)) or changed_meaning(type(leaf)):
        raise ArgumentError(
            f"an argument is a {type(leaf).__name__}, which changes what operations mean",
            remedy="pass a plain array (np.asarray)",
        )
    return "a" if isinstance(leaf, np.ndarray) else "g" if isinstance(leaf, np.generic) else "o"


def plan(
    function: Prepared,
    flat: Flattened,
    wanted: tuple[int, ...] = (),
    written: tuple[int, ...] = (),
    has_aux: bool = False,
) -> Kept:
    """The plan of calls like this one; made at the first of them."""
    kinds = "".join(map(kind, flat.leaves))
    key = (kinds, flat.positional, flat.keywords, wanted, written, has_aux)
    found = function.plans.get(key)
    if found is None:
        order = function.order
        positional, names = encoded(flat.positional, order)
        keywords, keyword_names = encoded(flat.keywords, order) if flat.keywords is not None else ("", "")
        number = ask(
            function.kept.key, "plan", kinds, positional, names, keywords, keyword_names,
            " ".join(map(str, wanted)), " ".join(map(str, written)), "aux" if has_aux else "", function.ad,
        )  # fmt: skip
        found = function.plans[key] = Kept(number)
        if wanted:
            begun(function, found, _told(kinds, positional, keywords))
    return found


def _told(kinds: str, *structures: str) -> str:
    """The letters of leaves with one, "S", for a sparse matrix; structures as Julia reads them."""
    found, number = "", 0
    for token in " ".join(structures).split():
        if token in (_LEAF, *_SPARSE.values()):
            found += kinds[number] if token == _LEAF else "S"
            number += 1 if token == _LEAF else len(SparseParts._fields)
    return found


_LEAF = "-1"
_SPARSE = {"keep": "sparse", "reversed": "turned"}
"""What stands for the parts of a sparse matrix, by the order of axes."""


def encoded(structure: Any, order: str = "keep") -> tuple[str, str]:
    """An optree structure as Julia reads it: tokens in prefix order, and the names, divided by zero characters.

    Tuples and lists become tuples; dictionaries, named tuples and dataclasses that optree knows, named tuples; the
    parts of a sparse matrix, one.
    """
    tokens: list[str] = []
    names: list[str] = []
    _encode(structure, tokens, names, _SPARSE[order])
    return " ".join(tokens), "\0".join(names)


def _encode(structure: Any, tokens: list[str], names: list[str], sparse: str) -> None:
    if structure.is_leaf():
        tokens.append(_LEAF)
        return
    if structure.type is SparseParts:
        tokens.append(sparse)
        return
    children = structure.children()
    fields = getattr(structure.type, "_fields", None)
    entries = list(fields) if fields is not None else structure.entries()
    if children and all(isinstance(entry, str) for entry in entries):
        tokens.append(str(-2 - len(children)))
        names += entries
    elif issubclass(structure.type, dict) and children:
        raise ArgumentError(
            f"a dictionary with the keys {entries!r} has no counterpart in Julia, where it becomes a named tuple",
            where=resolve(here()),
            remedy="use strings as keys, or a list or tuple",
        )
    else:
        tokens.append(str(len(children)) if not issubclass(structure.type, dict) else "-2")
    for child in children:
        _encode(child, tokens, names, sparse)


def filled(layout: Any, leaves: Sequence[Any]) -> Any:
    """Julia's containers around `leaves`; `layout` holds the leaves' numbers."""
    if isinstance(layout, tuple):
        return tuple(filled(part, leaves) for part in layout)
    if isinstance(layout, dict):
        return {name: filled(part, leaves) for name, part in layout.items()}
    return leaves[layout]


def sent(leaves: Sequence[Any], order: str) -> tuple[Any, ...]:
    """Leaves as Julia's entries take them: plain values, and the numbers of all other objects."""
    return tuple(_sent(reversed_axes(leaf) if order == "reversed" else leaf) for leaf in leaves)


def _sent(leaf: Any) -> Any:
    if is_own(leaf):
        return kept_number(leaf)
    leaf = grounded(leaf)
    if kind(leaf) != "o":
        return leaf
    kept = getattr(leaf, "kept", None)
    return ask(kept.key, "again") if isinstance(kept, Kept) else kept_number(leaf)


def run_plan(function: Prepared, entry: Any, kept: Kept, leaves: Sequence[Any], *more: Any) -> Any:
    """Call an entry with leaves, which are copied into a plain layout if Julia cannot wrap them as they lie."""
    return chosen(function, kept, lambda: _run_plan(function, entry, kept, leaves, *more))


def _run_plan(function: Prepared, entry: Any, kept: Kept, leaves: Sequence[Any], *more: Any) -> Any:
    try:
        given = sent(leaves, function.order)
        return run(entry, kept.key, (given, *more) if more else given, function.name)
    except OtherLayout:
        given = sent([in_plain_layout(grounded(leaf)) for leaf in leaves], function.order)
        return run(entry, kept.key, (given, *more) if more else given, function.name)
