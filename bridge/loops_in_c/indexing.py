"""Items of arrays and tuples: indices and slices, as NumPy takes them."""

from __future__ import annotations

import ast
from typing import Any

from bridge.loops_in_c.blocks import Blocks
from bridge.loops_in_c.ir import Const, Expr, Op, Var, Where
from bridge.loops_in_c.kinds import is_integer
from bridge.loops_in_c.values import ONE, ZERO, Axis, Elements, Known, Number, Several, Value, converted, moved


class Key(ast.expr):
    """A part of a key that has been read."""

    def __init__(self, node: ast.expr, found: Value) -> None:
        super().__init__()
        self.found = found
        ast.copy_location(self, node)


class Indexing(Blocks):
    """Reads items.

    Attributes
    ----------
    inside_of : for arrays of indices that all lie inside, the length of what they are indices of.
    """

    inside_of: dict[str, Expr]

    def item(self, base: Elements, key: ast.expr) -> Any:
        """`base[key]`: a view, or the expression of one element."""
        keys = self._keys(key)
        fresh = [one for one in keys if self._is_newaxis(one)]
        if fresh:
            rest = [one for one in keys if one not in fresh]
            found = self.item(base, ast.copy_location(ast.Tuple(rest), key)) if rest else base
            if not isinstance(found, Elements):
                self.refuse("a new axis of a number", key)
            shown = [one for one in keys if one in fresh or self._is_slice(one)]
            if any(isinstance(one, ast.Constant) and one.value is Ellipsis for one in shown):
                self.refuse("a new axis next to ...", key)
            return self.widened(found, [k for k, one in enumerate(shown) if one in fresh])
        keys = [part for one in keys for part in self._without_mask(one)]
        spread = [k for k, one in enumerate(keys) if isinstance(one, ast.Constant) and one.value is Ellipsis]
        if spread:
            at = spread[0]
            missing = len(base.extents) - (len(keys) - 1)
            keys[at : at + 1] = [ast.Slice()] * missing
        keys += [ast.Slice()] * (len(base.extents) - len(keys))
        if len(keys) != len(base.extents):
            self.refuse("an index with more parts than axes", key)
        values = {k: self.value(one) for k, one in enumerate(keys) if not isinstance(one, ast.Slice)}
        if any(isinstance(one, Elements) for one in values.values()):
            return self.gathered(base, keys, values, key)
        starts: list[Expr] = []
        steps: list[int] = []
        extents: list[Expr] = []
        for number, (one, extent) in enumerate(zip(keys, base.extents, strict=True)):
            if isinstance(one, ast.Slice):
                start, length, step = self.slice(one, extent)
                starts.append(start)
                steps.append(step)
                extents.append(length)
            else:
                starts.append(self.inside(self.index_of(values[number]), extent))
                steps.append(0)
        kept = [k for k, step in enumerate(steps) if step]

        def at_base(index: tuple[Expr, ...]) -> tuple[Expr, ...]:
            full = list(starts)
            for position, k in enumerate(kept):
                full[k] = moved(starts[k], steps[k], index[position])
            return tuple(full)

        if not kept:
            return base.at(tuple(starts))
        if base.is_copy or base.array is None:
            is_run = self.is_in_order(base) and kept == list(range(kept[0], len(keys)))
            is_run = is_run and all(steps[k] == 1 for k in kept) and extents[1:] == list(base.extents[kept[0] + 1 :])
            is_part = base.is_part or not is_run
            return Elements(base.kind, tuple(extents), lambda q: base.at(at_base(q)), is_part=is_part)
        axes: list[Axis] = []
        for own in base.view:
            if own.axis is None:
                axes.append(own)
                continue
            start = moved(own.start, own.step, starts[own.axis])
            if steps[own.axis]:
                axes.append(Axis(self.let(start), own.step * steps[own.axis], kept.index(own.axis)))
            else:
                axes.append(Axis(start))
        return self._viewed(base.array, tuple(extents), tuple(axes), base.shared)

    def _keys(self, key: ast.expr) -> list[ast.expr]:
        """The parts of a key. A variable may hold a tuple of them."""
        if isinstance(key, ast.Tuple):
            return list(key.elts)
        if isinstance(key, (ast.Name, ast.Call)):
            found = self.value(key)
            is_tuple = isinstance(found, Several) and not found.is_list
            return [Key(key, one) for one in (found.items if is_tuple else (found,))]  # type: ignore[union-attr]
        return [key]

    def _without_mask(self, key: ast.expr) -> list[ast.expr]:
        """A part of a key; in the place of a mask, the indices that it selects."""
        if isinstance(key, (ast.Slice, ast.Constant)):
            return [key]
        value = self.array_like(self.value(key), key)
        if isinstance(value, Several):
            # A tuple in a key is an array.
            only = value.items[0] if len(value.items) == 1 else None
            value = self.widened(only, [0]) if isinstance(only, Elements) else self.array_of(value, key)
        if isinstance(value, Elements) and value.kind == "b":
            return [Key(key, one) for one in self.positions(value)]
        return [Key(key, value)]

    def _of_Key(self, node: Key) -> Value:
        return node.found

    def array_like(self, value: Value, node: ast.AST) -> Value:
        """A value as an operand of NumPy's: the array of a list of numbers."""
        raise NotImplementedError

    def array_of(self, value: Several, node: ast.AST) -> Elements:
        """The array that NumPy makes of a list."""
        raise NotImplementedError

    def is_in_order(self, value: Elements) -> bool:
        """Whether the axes of an array lie in memory in their order, and those of NumPy's array do, too."""
        raise NotImplementedError

    def positions(self, mask: Elements) -> list[Elements]:
        """The indices along each axis at which a mask is true."""
        names = tuple(self.new("q") for _ in mask.extents)
        arrays = tuple(self.new("r") for _ in names)
        for one in arrays:
            self.local(one, "i", (Var("i", ".extent"),))
        self.block.append(Where(arrays, names, mask.extents, mask.at(tuple(Var("i", one) for one in names))))
        self.inside_of |= dict(zip(arrays, mask.extents, strict=True))
        return [self.whole(one) for one in arrays]

    def gathered(self, base: Elements, keys: list[ast.expr], values: dict[int, Value], node: ast.AST) -> Elements:
        """The elements at arrays of indices, which lie next to each other in the key."""
        raise NotImplementedError

    def _is_newaxis(self, key: ast.expr) -> bool:
        if isinstance(key, ast.Constant):
            return key.value is None
        if not isinstance(key, (ast.Name, ast.Attribute, Key)):
            return False
        value = self.value(key)
        return isinstance(value, Known) and value.value is None

    def _is_slice(self, key: ast.expr) -> bool:
        return isinstance(key, ast.Slice) or (isinstance(key, ast.Constant) and key.value is Ellipsis)

    def widened(self, base: Elements, fresh: list[int]) -> Elements:
        """A value with new axes of one element, which have these numbers in the result."""
        own = [k for k in range(len(base.extents) + len(fresh)) if k not in fresh]
        extents: list[Expr] = [ONE] * (len(base.extents) + len(fresh))
        for k, extent in zip(own, base.extents, strict=True):
            extents[k] = extent
        if base.is_copy or base.array is None:
            at = base.at
            return Elements(base.kind, tuple(extents), lambda q: at(tuple(q[k] for k in own)), is_part=base.is_part)
        axes = tuple(one if one.axis is None else Axis(one.start, one.step, own[one.axis]) for one in base.view)
        return self._viewed(base.array, tuple(extents), axes, base.shared)

    def inside(self, index: Expr, extent: Expr) -> Expr:
        """An index, counted from the beginning, that lies inside."""
        if isinstance(index, Const):
            if index.value >= 0:
                self.check(Op("b", "lt", (index, extent)))
                return index
            found = self.let(self.integer("add", extent, index))
            self.check(Op("b", "ge", (found, ZERO)))
            return found
        index = self.let(index)
        if not self.is_nonneg(index):
            wrapped = Op("i", "add", (index, extent))
            index = self.let(Op("i", "select", (Op("b", "lt", (index, ZERO)), wrapped, index)))
            self.check(Op("b", "ge", (index, ZERO)))
        self.check(Op("b", "lt", (index, extent)))
        return index

    def slice(self, node: ast.Slice, extent: Expr) -> tuple[Expr, Expr, int]:
        """Start, length and step of a slice, as NumPy cuts it off."""
        step = 1
        if node.step is not None:
            found = self.index_of(self.value(node.step))
            if not isinstance(found, Const) or found.value == 0:
                self.refuse("a slice with a step that is not known", node)
            step = int(found.value)
        if step == 1 and self._is_of_one(node):
            # Of an array without this element, NumPy's slice is empty. Python runs the iteration then.
            first = ast.Constant(0) if node.lower is None else node.lower
            return self.inside(self.index_of(self.value(first)), extent), ONE, 1
        if step > 0:
            start = ZERO if node.lower is None else self.clipped(node.lower, extent)
            stop = extent if node.upper is None else self.clipped(node.upper, extent)
            if start == ZERO and step == 1:
                return start, stop, step
            length = self.integer("sub", stop, start)
            if step > 1:
                length = Op("i", "floordiv", (self.integer("add", length, Const("i", step - 1)), Const("i", step)))
            return start, self.let(Op("i", "max", (length, ZERO))), step
        if node.lower is not None or node.upper is not None:
            self.refuse("a slice backwards with bounds", node)
        length = extent
        if step < -1:
            length = Op("i", "floordiv", (self.integer("add", extent, Const("i", -step - 1)), Const("i", -step)))
        return self.let(self.integer("sub", extent, ONE)), self.let(length), step

    def _is_of_one(self, node: ast.Slice) -> bool:
        """Whether a slice is written as one of one element: `:1`, `2:3`, `-1:`."""
        lower, upper = (None if one is None else _written(one) for one in (node.lower, node.upper))
        if node.upper is None:
            return lower == -1
        return (
            upper is not None and (node.lower is None or lower is not None) and upper - (lower or 0) == 1 and upper != 0
        )

    def clipped(self, node: ast.expr, extent: Expr) -> Expr:
        bound = self.index_of(self.value(node))
        if isinstance(bound, Const) and bound.value < 0:
            return self.let(Op("i", "max", (self.integer("add", extent, bound), ZERO)))
        if not self.is_nonneg(bound):
            bound = self.let(bound)
            wrapped = Op("i", "max", (Op("i", "add", (bound, extent)), ZERO))
            bound = Op("i", "select", (Op("b", "lt", (bound, ZERO)), wrapped, bound))
        return self.let(Op("i", "min", (bound, extent)))

    def index_of(self, value: Value) -> Expr:
        """An integer that is used as an index."""
        if not isinstance(value, Number) or not is_integer(value.expr.kind):
            self.refuse("an index that is no integer")
        name = getattr(value.expr, "name", None)
        if name in self.mixed:
            self.refuse(f"{name} is an index, and not always an integer")
        return converted(value.expr, "i")

    def turned(self, base: Elements, axes: tuple[int, ...]) -> Elements:
        extents = tuple(base.extents[k] for k in axes)
        if base.view and not base.is_copy:
            assert base.array is not None
            view = tuple(
                one if one.axis is None else Axis(one.start, one.step, axes.index(one.axis)) for one in base.view
            )
            return self._viewed(base.array, extents, view, base.shared)
        return Elements(base.kind, extents, lambda q: base.at(tuple(q[axes.index(k)] for k in range(len(axes)))))

    def truth(self, value: Value) -> Expr:
        if isinstance(value, Number):
            if value.expr.kind == "b":
                return value.expr
            return Op("b", "ne", (value.expr, Const(value.expr.kind, 0)))
        if isinstance(value, Known) and (value.value is None or isinstance(value.value, str)):
            return Const("b", bool(value.value))
        self.refuse("the truth of this")


def _written(node: ast.expr) -> int | None:
    """An integer that is written out; None if it is something else."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int else None
