"""Lists that the loop appends to: compiled code keeps the values in local arrays, and Python appends them afterwards.

The values of each part of what is appended lie in one local array, one after the other. If its room ends, compiled code
stops, and runs once more with more room.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from bridge.loops_in_c.aliasing import APPENDED
from bridge.loops_in_c.assigning import Assigning
from bridge.loops_in_c.ir import Array, Assign, Block, Check, Const, Each, Expr, Make, Op, Size, Stmt, Store, Var
from bridge.loops_in_c.last_items import item_of
from bridge.loops_in_c.objects import Path, text_of
from bridge.loops_in_c.values import ONE, ZERO, Again, Elements, Known, Number, Value, alike, converted


@dataclass(frozen=True)
class Column:
    """A number or an array that is appended each time, by itself or in a tuple.

    Attributes
    ----------
    values : the local array with its values.
    ndim : the axes of an array; 0 for a number.
    details : the local array with the extents and the identity of each array, which is zero for one without a name; for
        a number, whether each is a number of Python's.
    """

    values: str
    ndim: int
    details: str


@dataclass(frozen=True)
class History:
    """A list that the loop appends to: the path to it, and the variable that counts what is appended."""

    name: str
    path: Path
    count: str
    parts: tuple[Column, ...]
    is_tuple: bool


def room_of(array: str) -> str:
    """The variable that holds the size of a local array."""
    return f"{array}.room"


def filled_of(array: str) -> str:
    """The variable that counts the elements of a local array that hold the values of arrays."""
    return f"{array}.filled"


def needed_of(array: str) -> str:
    """The variable that holds the size that a local array needs."""
    return f"{array}.needed"


class Appending(Assigning):
    """Reads calls of `append`.

    Attributes
    ----------
    histories : the lists that the loop appends to, by the variables that hold them, with the place of the call.
    prologue : statements before the loop.
    lists : the variables of lists whose last items are variables, too.
    """

    lists: frozenset[str] = frozenset()

    histories: dict[str, tuple[History, tuple[int, int]]]
    prologue: list[Stmt]
    out: list[Stmt]

    def list_of(self, node: ast.expr) -> Path:
        """The path to the list to which a call appends one value; empty for anything else."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "append":
            return ()
        found = self.object_at(node.func.value)
        is_list = isinstance(found, Known) and type(found.value) is list
        return found.path if is_list and len(node.args) == 1 and not node.keywords else ()  # type: ignore[union-attr]

    def append(self, path: Path, node: ast.Call) -> None:
        """Append a number, an array, or a tuple of those to a list."""
        name = text_of(path)
        arg, count = node.args[0], f".appended.{name}"
        if name in self.lists and not (isinstance(arg, ast.Name) and arg.id == item_of(name)):
            self.refuse("a function appends to a list whose last item the loop reads", node)
        self.define(count)
        parts: list[Column] = []
        for one in arg.elts if isinstance(arg, ast.Tuple) else (arg,):
            # Each value is computed in a block of its own.
            value = self.value(one)
            parts.append(self._part(f"{count}.{len(parts)}", value, node))
            if isinstance(value, Elements):
                self._append_array(parts[-1], value, Var("i", count))
            else:
                self._append_number(parts[-1], value, Var("i", count))
        self._assign(count, Op("i", "add", (Var("i", count), ONE)))
        made, place = (
            History(name, path, count, tuple(parts), isinstance(arg, ast.Tuple)),
            (node.lineno, node.col_offset),
        )
        if self.histories.setdefault(name, (made, place)) != (made, place):
            self.refuse("a list that is appended to in several places, or other values each time", node)

    def _part(self, name: str, value: Value, node: ast.AST) -> Column:
        if isinstance(value, Number) and value.has_one_type and (not value.strong or value.weak is False):
            kind, ndim = value.strong or value.expr.kind, 0
        elif isinstance(value, Elements):
            is_alone = not value.shared if value.is_copy else self._has_identity(value)
            if value.is_part or not is_alone or not self.is_in_order(value):
                self.refuse("an array is appended that may be a view, or lie in another order in memory", node)
            kind, ndim = value.kind, len(value.extents)
        else:
            self.refuse("something else than numbers and arrays is appended", node)
        part = Column(f"{name}:{ndim}{kind}", ndim, f"{name}:{ndim}{kind}!")
        for array, one in ((part.values, kind), (part.details, "i" if ndim else "b")):
            if array not in self.arrays:
                self.arrays[array] = Array(one, 1, array, True, True)
                self.variables[room_of(array)] = self.variables[needed_of(array)] = "i"
                self.prologue.append(Block(self.line, [Make(array, (Var("i", room_of(array)),))]))
        return part

    def _has_identity(self, value: Elements) -> bool:
        """Whether a name shows a whole array, so that its identity is that of Python's array."""
        if value.array is None or self.prefix or value.array in self.gapped:
            return False
        if not self.has_identities:
            self.has_identities = True
            raise Again
        is_whole = alike(replace(value, shared=frozenset()), self.whole(value.array))
        return is_whole and value.array not in self.uncertain

    def _append_number(self, part: Column, value: Value, count: Expr) -> None:
        assert isinstance(value, Number)
        weak = value.weak if isinstance(value.weak, Expr) else Const("b", bool(value.weak))
        number = converted(value.expr, value.strong or None)
        for array, expr in ((part.values, number), (part.details, weak)):
            self._reserve(array, Op("i", "add", (count, ONE)))
            self.block.append(Store(array, (count,), expr))
            self._flush()

    def _append_array(self, part: Column, value: Elements, count: Expr) -> None:
        filled = filled_of(part.values)
        self.define(filled)
        extents = tuple(self.hold(one) for one in value.extents)
        size: Expr = ONE
        for one in extents:
            size = self.integer("mul", size, one)
        end = self.hold(self.integer("add", Var("i", filled), size))
        self._reserve(part.values, end)
        names = tuple(self.new("q") for _ in extents)
        flat: Expr = ZERO
        for name, one in zip(names, extents, strict=True):
            flat = Op("i", "add", (Op("i", "mul", (flat, one)), Var("i", name)))
        place = Op("i", "add", (Var("i", filled), flat))
        self.block.append(
            Each(names, extents, part.values, (place,), value.at(tuple(Var("i", name) for name in names)))
        )
        self._flush()
        identity: Expr = ZERO
        if not value.is_copy and value.array is not None:
            identity = self.identity(value.array)
            self.define(APPENDED)
            self._assign(APPENDED, Op("i", "max", (Var("i", APPENDED), identity)))
        for k, one in enumerate((*extents, identity)):
            place = Op("i", "add", (Op("i", "mul", (count, Const("i", part.ndim + 1))), Const("i", k)))
            self._reserve(part.details, Op("i", "add", (place, ONE)))
            self.block.append(Store(part.details, (place,), one))
            self._flush()
        self._assign(filled, end)

    def _reserve(self, array: str, size: Expr) -> None:
        """Stop if a local array is too small."""
        self.block.append(Assign(needed_of(array), size))
        self.block.append(Check(Op("b", "le", (Var("i", needed_of(array)), Size("i", array, 0)))))

    def _assign(self, name: str, expr: Expr) -> None:
        self._flush()
        self.out.append(Block(self.line, [Assign(name, expr)]))

    def _flush(self) -> None:
        if self.block:
            self.out.append(Block(self.line, self.block))
            self.block = []
