"""Functions of numbers and of each element, broadcasting, products and sums."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from bridge.loops_in_c import functions
from bridge.loops_in_c.indexing import Indexing
from bridge.loops_in_c.ir import (
    Check,
    Const,
    Dot,
    Each,
    Expr,
    Load,
    Make,
    Op,
    Product,
    Reduce,
    Size,
    Stride,
    Var,
)
from bridge.loops_in_c.kinds import KINDS, OF_PYTHON, holding, is_float, is_integer, is_narrow, promoted
from bridge.loops_in_c.values import (
    ONE,
    ZERO,
    Elements,
    Known,
    Number,
    Several,
    Value,
    chosen_weak,
    converted,
    either,
    in_variable,
    loads,
    moved,
    weak_of,
)

_POWERS = {2: "square", 0.5: "root", 1: "pos", -1: "reciprocal"}
_RANGES = frozenset({"add", "sub", "mul"})


class Arithmetic(Indexing):
    """Reads arithmetic: elementwise functions, products and sums."""

    def binary(self, name: str, left: Value, right: Value, node: ast.AST) -> Value:
        if name == "matmul":
            return self.dot(left, right, node, by_dot=False)
        if name == "pow":
            return self.power(left, right, node)
        if name in ("and", "or", "xor") and _kinds(left, right) != {"b"}:
            self.refuse("bits of integers", node)
        return self.elementwise(name, (left, right), node)

    def power(self, left: Value, right: Value, node: ast.AST, is_function: bool = False) -> Value:
        """`left ** right`, or `np.power(left, right)`: NumPy has shortcuts for some exponents that are one number."""
        if not isinstance(left, Elements) and not isinstance(right, Elements):
            if isinstance(left, Number) and isinstance(right, Number) and not is_float(left.expr.kind):
                return self._power_of_integer(left, right, node)
            return self.elementwise("power" if is_function else "pow", (left, right), node)
        if not any(is_float(one.kind) for one in (left, right) if isinstance(one, Elements)) or "b" in _kinds(
            left, right
        ):
            self.refuse("a power of integers", node)
        if not isinstance(right, Number):
            return self.elementwise("power", (left, right), node)
        strong = {kind for kind, is_weak in right.types if not is_weak}
        if isinstance(left, Elements) and left.kind not in OF_PYTHON and not strong <= {left.kind}:
            self.refuse("a power of an array of another kind", node)
        exponent = right.expr.value if isinstance(right.expr, Const) else None
        if exponent in _POWERS and (not is_function or exponent == 2):
            return self.elementwise(_POWERS[exponent], (left,), node)
        if not isinstance(right.weak, bool):
            self.refuse("an exponent that may be a number of Python's or of NumPy's", node)
        by_operator = right.weak is True and not is_function
        return self.elementwise("array_power" if by_operator else "power", (left, right), node)

    def gathered(self, base: Elements, keys: list[ast.expr], values: dict[int, Value], node: ast.AST) -> Elements:
        if any(isinstance(one, Elements) and not is_integer(one.kind) for one in values.values()):
            self.refuse("an index array that does not hold integers", node)
        if base.is_copy and len(keys) > 1:
            # NumPy's array has the order of this one and of its indices.
            local = self.temporary(base.kind, base.extents)
            self.note_layout(local, base)
            own = tuple(self.new("q") for _ in base.extents)
            index = tuple(Var("i", one) for one in own)
            self.block.append(Each(own, base.extents, local, index, base.at(index), is_first=True))
            base = self.copied(local, base.extents)
        first, last = min(values), max(values)
        if len(values) != last - first + 1:
            self.refuse("index arrays that do not lie next to each other", node)
        shape: tuple[Expr, ...] = ()
        for one in values.values():
            shape = self.joint(shape, one.extents, node) if isinstance(one, Elements) else shape
        places: dict[int, Elements] = {}
        for k, one in values.items():
            extent = base.extents[k]
            if isinstance(one, Elements):
                places[k] = self.broadcast(self._inside_all(one, extent), shape)
            else:
                places[k] = _repeated(self.inside(self.index_of(one), extent), shape)
        slices = {k: self.slice(one, base.extents[k]) for k, one in enumerate(keys) if isinstance(one, ast.Slice)}
        before = tuple(slices[k][1] for k in range(first))
        after = tuple(slices[k][1] for k in range(last + 1, len(keys)))

        def at(index: tuple[Expr, ...]) -> Expr:
            own = index[first : first + len(shape)]
            rest = iter((*index[:first], *index[first + len(shape) :]))
            full = [
                places[k].at(own) if k in places else moved(slices[k][0], slices[k][2], next(rest))
                for k in range(len(keys))
            ]
            return base.at(tuple(full))

        return Elements(base.kind, (*before, *shape, *after), at)

    def _inside_all(self, index: Elements, extent: Expr) -> Elements:
        """An array of indices, counted from the beginning, which all lie inside."""
        known = self.inside_of.get(index.array or "")
        if known is not None:
            if known != extent:
                self.check(Op("b", "eq", (known, extent)))
            return index
        given = index
        index = Elements("i", given.extents, lambda q: converted(given.at(q), "i"))
        names = tuple(self.new("q") for _ in index.extents)
        element = index.at(tuple(Var("i", one) for one in names))
        is_high_enough = Op("b", "ge", (Op("i", "add", (element, extent)), ZERO))
        self.block.append(
            Check(Op("b", "and", (is_high_enough, Op("b", "lt", (element, extent)))), names, index.extents)
        )

        def at(q: tuple[Expr, ...]) -> Expr:
            found = index.at(q)
            return Op("i", "select", (Op("b", "lt", (found, ZERO)), Op("i", "add", (found, extent)), found))

        return Elements("i", index.extents, at)

    def where(self, condition: Value, one: Value, other: Value, node: ast.AST) -> Value:
        if not any(isinstance(x, Elements) for x in (condition, one, other)):
            self.refuse("where of numbers", node)
        return self.elementwise("where", (self.truths(condition, node), one, other), node)

    def clip(self, value: Value, low: Value, high: Value, node: ast.AST) -> Value:
        if not (isinstance(value, Elements) and is_float(value.kind)):
            self.refuse("clip of this", node)
        if isinstance(low, Known) and low.value is None:
            return self.elementwise("minimum", (value, high), node)
        if isinstance(high, Known) and high.value is None:
            return self.elementwise("maximum", (value, low), node)
        return self.elementwise("clip", (value, low, high), node)

    def truths(self, value: Value, node: ast.AST) -> Value:
        """The truth of a number, or of each element."""
        if isinstance(value, Elements) and value.kind != "b":
            return self.elementwise("ne", (value, Number(Const(value.kind, 0), False)), node)
        return value if isinstance(value, Elements) else Number(self.truth(value), False)

    def _power_of_integer(self, left: Number, right: Number, node: ast.AST) -> Number:
        """A power of a Python integer. With an exponent below 0, Python makes a float of it, and runs the iteration."""
        are_pythons = left.weak is True and right.weak is True and left.is_certain and right.is_certain
        if not are_pythons or (left.expr.kind, right.expr.kind) != ("i", "i"):
            self.refuse("a power of an integer that is not Python's, or by another number", node)
        pair = left.expr, right.expr
        self.check(Op("b", "ge", (right.expr, ZERO)))
        self.check(Op("b", "power_fits", pair))
        return Number(self.let(Op("i", "int_power", pair)))

    def elementwise(self, name: str, values: tuple[Value, ...], node: ast.AST) -> Value:
        """A function of numbers, of each element."""
        operands = [one for one in values if isinstance(one, (Number, Elements))]
        if len(operands) < len(values):
            self.refuse("an operand of this kind", node)
        numbers = [one for one in operands if isinstance(one, Number)]
        if len(numbers) == len(operands):
            flag = self._deciding(name, numbers)
            if flag is not None:
                return self._by_type(name, numbers, flag, node)
            found = self.scalar(name, numbers, node)
            is_certain = (
                found.kind != "f"
                or functions.FUNCTIONS[name].result == "f"
                or any(x.expr.kind == "f" and x.is_certain for x in numbers)
            )
            return Number(found, weak_of(numbers), None, is_certain)
        held = [replace(one, expr=self.let(one.expr)) if isinstance(one, Number) else one for one in operands]
        arrays = [one for one in held if isinstance(one, Elements)]
        extents = arrays[0].extents
        for other in arrays[1:]:
            extents = self.joint(extents, other.extents, node)
        spread = [self.broadcast(one, extents) if isinstance(one, Elements) else one for one in held]
        kind, inner = self.signature(name, spread, node)
        if name in ("floordiv", "mod") and is_integer(kind):
            self.refuse("a division of integers in arrays", node)
        if functions.FUNCTIONS[name].ufunc is not None:
            self._forwards(name, arrays, node)

        wanted = [functions.kind_of(name, k, inner) for k in range(len(spread))]
        exprs = [self._as_operand(one, kind, k) for one, k in zip(spread, wanted, strict=True)]

        def at(index: tuple[Expr, ...]) -> Expr:
            args = [one.at(index) if isinstance(one, Elements) else x for one, x in zip(spread, exprs, strict=True)]
            found = tuple(converted(x, k) for x, k in zip(args, wanted, strict=True))
            # Integers of fewer bits wrap around, as NumPy's do.
            return converted(Op("i", name, found), kind) if inner == "i" != kind != "b" else Op(kind, name, found)

        return Elements(kind, extents, at)

    def signature(self, name: str, operands: Sequence[Number | Elements], node: ast.AST) -> tuple[str, str]:
        """The kind of a result, and the kind that the operands are converted to."""
        kinds = [one.kind if isinstance(one, Elements) else one.expr.kind for one in operands]
        found = _signatures(name, operands)
        if not found:
            self.refuse("a number that may be of several kinds", node)
        if len(found) > 1:
            self.refuse("a number that may be one of Python's or of NumPy's", node)
        return found.pop() or self.refuse(f"{name} of kinds {', '.join(kinds)}", node)

    def _deciding(self, name: str, numbers: Sequence[Number]) -> Expr | None:
        """The flag of a number that decides about the kind of a result: whether it is Python's is known at run time."""
        if len(_signatures(name, numbers)) < 2:
            return None
        return next((x.weak for x in numbers if isinstance(x.weak, Expr) and x.strong), None)

    def _by_type(self, name: str, numbers: Sequence[Number], flag: Expr, node: ast.AST) -> Number:
        """A function of numbers of which some are Python's where a flag is set, and else of a kind of NumPy's."""
        ways: list[Number] = []
        for is_pythons in (True, False):
            known = tuple(one.known(is_pythons) if one.weak == flag else one for one in numbers)
            found = self.elementwise(name, known, node)
            assert isinstance(found, Number)
            ways.append(found)
        one, other = ways
        kind = holding(one.expr.kind, other.expr.kind)
        chosen = self.let(Op(kind, "select", (flag, converted(one.expr, kind), converted(other.expr, kind))))
        weak = chosen_weak(flag, one.weak, other.weak)
        return either(in_variable(chosen, one, one.weak), in_variable(chosen, other, other.weak), None, weak)

    def _as_operand(self, value: Number | Elements, kind: str, inner: str) -> Expr:
        """A number as an operand, of which NumPy raises if it is Python's, and does not fit."""
        if isinstance(value, Elements):
            return ZERO
        if is_narrow(kind) and value.expr.kind != kind:
            return converted(self.narrowed(value.expr, kind), inner)
        return self.number_as(value.expr, inner)

    def _forwards(self, name: str, arrays: list[Elements], node: ast.AST) -> None:
        """No array may lie backwards, nor be computed from one that does: NumPy's inner loops differ there."""
        for one in (load for array in arrays for load in loads(array)):
            if one.array in self.gapped:
                self.refuse(f"{name} of an array that may lie backwards", node)
            steps = [x for index in one.index for x in index.walk() if isinstance(x, Op) and x.name == "mul"]
            if any(isinstance(x, Const) and x.value < 0 for step in steps for x in step.args):
                self.refuse(f"{name} of an array backwards", node)
            if not self.arrays[one.array].is_local:
                for axis in range(len(one.index)):
                    self.check(Op("b", "ge", (Stride("i", one.array, axis), ZERO)))

    def joint(self, one: tuple[Expr, ...], other: tuple[Expr, ...], node: ast.AST) -> tuple[Expr, ...]:
        """The extents that two values broadcast to."""
        if len(one) < len(other):
            one, other = other, one
        found = list(one)
        for k in range(1, len(other) + 1):
            a, b = one[-k], other[-k]
            if a == ONE:
                found[-k] = b
            elif b != ONE and a != b:
                self.check(Op("b", "eq", (a, b)))
        return tuple(found)

    def scalar(self, name: str, numbers: Sequence[Number], node: ast.AST) -> Expr:
        """A function of numbers without axes."""
        kind, inner = self.signature(name, numbers, node)
        args = tuple(self._as_operand(one, kind, one.expr.kind) for one in numbers)
        if is_integer(kind) and name in _RANGES:
            return self.narrowed(self.integer(name, args[0], args[1]), kind)
        args = tuple(self.number_as(self._within(one, inner, name, node), inner) for one in args)
        if name in ("div", "floordiv", "mod"):
            if isinstance(args[1], Const) and args[1].value == 0:
                self.refuse("a division by zero", node)
            if not isinstance(args[1], Const):
                args = args[0], self.let(args[1])
                self.check(Op("b", "ne", (args[1], Const(args[1].kind, 0))))
        known = [float(one.value) for one in args if isinstance(one, Const)]
        if kind == "f" and len(known) == len(args):
            try:
                return Const("f", functions.computed(name, tuple(known)))
            except (ArithmeticError, ValueError):
                self.refuse(f"{name} of these numbers raises", node)
        return self.narrowed(Op("i", name, args), kind) if is_narrow(kind) else Op(kind, name, args)

    def _within(self, expr: Expr, inner: str, name: str, node: ast.AST) -> Expr:
        """An integer that a float can hold, if it is to become one."""
        if not is_integer(expr.kind) or self.bits(expr) <= 53:
            return expr
        if name in ("neg", "abs"):
            self.refuse("the negative of an integer that may be large", node)
        if is_float(inner):
            expr = self.let(expr)
            self.check(Op("b", "lt", (expr, Const("i", 1 << 53))))
            self.check(Op("b", "gt", (expr, Const("i", -(1 << 53)))))
        return expr

    def broadcast(self, value: Elements, extents: tuple[Expr, ...]) -> Elements:
        """A value with the extents that it is broadcast to."""
        surplus = len(value.extents) - len(extents)
        if surplus > 0:
            self.refuse("a value with more axes than what it is stored into")
        picked: list[bool] = []
        for own, other in zip(value.extents, extents[len(extents) - len(value.extents) :], strict=True):
            if own == ONE and other != ONE:
                picked.append(False)
                continue
            picked.append(True)
            if own != other:
                self.check(Op("b", "eq", (own, other)))

        def at(index: tuple[Expr, ...]) -> Expr:
            own = index[len(index) - len(picked) :]
            return value.at(tuple(x if is_picked else ZERO for x, is_picked in zip(own, picked, strict=True)))

        return Elements(value.kind, extents, at)

    def dot(self, left: Value, right: Value, node: ast.AST, by_dot: bool = True) -> Value:
        """A product of vectors or matrices: `dot`, or `@`."""
        if by_dot and (isinstance(left, Number) or isinstance(right, Number)):
            return self.elementwise("mul", (left, right), node)
        if not (isinstance(left, Elements) and isinstance(right, Elements)):
            self.refuse("a product of this", node)
        kind = promoted(((left.kind, False), (right.kind, False)))
        if kind is None or not is_float(kind) or not {left.kind, right.kind} <= {kind, "i", "b"}:
            self.refuse(f"a product of arrays of kinds {left.kind} and {right.kind}", node)
        ranks = len(left.extents), len(right.extents)
        if max(ranks) > 2:
            self.refuse("a product of arrays of more than two axes", node)
        if left.kind != right.kind:
            left, right = (self._as_factor(one, kind, by_dot, node) for one in (left, right))
        inner = left.extents[-1], right.extents[0]
        if inner[0] != inner[1]:
            self.check(Op("b", "eq", inner))
        name = self.new("q")
        rows, columns = self.new("q") if ranks[0] == 2 else "", self.new("q") if ranks[1] == 2 else ""
        one = self._factor(left, [rows, name] if rows else [name], node)
        other = self._factor(right, [name, columns] if columns else [name], node)
        if ranks == (1, 1):
            variable = self.new("s")
            self.variables[variable] = kind
            self.block.append(Dot(variable, inner[0], name, one, other))
            return Number(Var(kind, variable), False)
        extents = (*left.extents[:-1], *right.extents[1:])
        local = self.temporary(kind, extents)
        m, n = left.extents[0] if rows else ONE, right.extents[1] if columns else ONE
        self.block.append(Product(local, rows, name, columns, (m, inner[0], n), one, other, by_dot))
        return self.copied(local, extents)

    def _as_factor(self, value: Elements, kind: str, by_dot: bool, node: ast.AST) -> Elements:
        """A factor that NumPy converts first: `dot` keeps the order of its axes, and `matmul` makes a C array of it."""
        if value.kind == kind:
            return value
        if by_dot and not self.is_in_order(value):
            self.refuse("a product of an array whose memory has an order that is not known", node)
        return self.whole(self.array_with(kind, value.extents, [((), value)]))

    def array_with(self, kind: str, extents: tuple[Expr, ...], parts: Sequence[tuple[tuple[int, ...], Value]]) -> str:
        """An array of one statement in C order: parts of it with their places along the first axes."""
        local = self.temporary(kind, extents)
        for place, part in parts:
            own = part.extents if isinstance(part, Elements) else ()
            names = tuple(self.new("q") for _ in own)
            index = tuple(Var("i", one) for one in names)
            expr = part.at(index) if isinstance(part, Elements) else part.expr  # type: ignore[union-attr]
            where = (*(Const("i", one) for one in place), *index)
            self.block.append(Each(names, own, local, where, converted(expr, kind), is_first=True))
        return local

    def array_of(self, value: Several, node: ast.AST) -> Elements:
        """The array that NumPy makes of nested lists of numbers, or of arrays of one shape."""
        parts = list(_leaves(value))
        first = parts[0] if parts else self.refuse("an array of nothing", node)
        depth, own = len(first[0]), first[1].extents if isinstance(first[1], Elements) else ()
        counts = [1 + max(place[k] for place, _ in parts if len(place) > k) for k in range(depth)]
        is_full = [place for place, _ in parts] == list(product(*map(range, counts)))
        if not is_full or any(not isinstance(one, (Number, Elements)) for _, one in parts):
            self.refuse("an array of lists that are not alike", node)
        for _, one in parts:
            extents = one.extents if isinstance(one, Elements) else ()
            if len(extents) != len(own):
                self.refuse("an array of lists that are not alike", node)
            for pair in zip(extents, own, strict=True):
                if pair[0] != pair[1]:
                    self.check(Op("b", "eq", pair))
        shape = (*(Const("i", one) for one in counts), *own)
        return self.copied(self.array_with(self._kind_of_all([one for _, one in parts], node), shape, parts), shape)

    def _kind_of_all(self, values: Sequence[Value], node: ast.AST) -> str:
        """The kind of an array that NumPy makes of these. A Python number is of NumPy's default kind."""
        kinds = [{one.kind} if isinstance(one, Elements) else {x for x, _ in one.types} for one in values]  # type: ignore[union-attr]
        certain = {kind for one in kinds for kind in one if len(one) == 1}
        several = {*certain}.union(*kinds)
        found = {
            None if "?" in several else promoted(tuple((x, False) for x in sorted(certain | {one}))) for one in several
        }
        if len(found) > 1 or None in found:
            self.refuse("an array of numbers that may be of several kinds", node)
        return str(found.pop())

    def _factor(self, value: Elements, names: list[str], node: ast.AST) -> Load:
        """One element of a factor, which lies in memory as NumPy's array does."""
        if not value.is_copy:
            found = value.at(tuple(Var("i", one) for one in names))
            assert isinstance(found, Load)
            if found.array in self.gapped or (len(found.index) > 1 and found.array in self.unordered):
                self.refuse("a product of an array whose memory has an order that is not known", node)
            return found
        if value.is_part or not self.is_in_order(value):
            reverse = self.turned(value, tuple(reversed(range(len(value.extents)))))
            if value.is_part or not self.is_in_order(reverse):
                self.refuse("a product of an array whose memory has an order that is not known", node)
            return self._factor(reverse, names[::-1], node)
        local = self.temporary(value.kind, value.extents)
        own = tuple(self.new("q") for _ in value.extents)
        index = tuple(Var("i", one) for one in own)
        self.block.append(Each(own, value.extents, local, index, value.at(index), is_first=True))
        return Load(value.kind, local, tuple(Var("i", one) for one in names))

    def outer(self, left: Value, right: Value, node: ast.AST) -> Value:
        if not (isinstance(left, Elements) and isinstance(right, Elements)):
            self.refuse("an outer product of this", node)
        if (len(left.extents), len(right.extents)) != (1, 1):
            self.refuse("an outer product of matrices", node)
        return self.elementwise("mul", (self.widened(left, [1]), self.widened(right, [0])), node)

    def reduced(self, how: str, value: Elements, axis: Value | None, node: ast.AST) -> Value:
        """A sum, product or extremum of all elements, or along axes, in NumPy's order."""
        kind = "i" if how == "sum" and value.kind in ("b", "i1", "i2", "i4") else value.kind
        if kind == "b" or (how in ("sum", "prod") and (is_narrow(kind) or (kind == "i" and how == "prod"))):
            self.refuse(f"{how} of an array of kind {value.kind}", node)
        rank = len(value.extents)
        along = self._axes(axis, rank, node)
        if along is not None and len(along) == rank:
            along = None
        if is_float(kind) and rank > 1 and how in ("sum", "prod"):
            self._check_layout(how, value, along, node)
        is_place = how in ("argmax", "argmin")
        if is_place and (not is_float(kind) or rank > 1):
            self.refuse(f"{how} of this", node)
        names = tuple(self.new("q") for _ in value.extents)
        element = converted(value.at(tuple(Var("i", one) for one in names)), kind)
        if along is None:
            if how in ("max", "min") or is_place:
                for extent in value.extents:
                    self.check(Op("b", "gt", (extent, ZERO)))
            variable, result = self.new("s"), "i" if is_place else kind
            self.variables[variable] = result
            self.block.append(Reduce(how, names, value.extents, element, variable))
            return Number(Var(result, variable), False)
        if how in ("max", "min"):
            for k in along:
                self.check(Op("b", "gt", (value.extents[k], ZERO)))
        if how == "sum" and rank - 1 not in along and is_float(kind):
            how = "sequential"
        outer = tuple(one for k, one in enumerate(names) if k not in along)
        extents = tuple(one for k, one in enumerate(value.extents) if k not in along)
        local = self.temporary(kind, extents)
        reduced = tuple(names[k] for k in along), tuple(value.extents[k] for k in along)
        self.block.append(Reduce(how, *reduced, element, "", local, outer, extents))
        return self.copied(local, extents)

    def temporary(self, kind: str, extents: tuple[Expr, ...]) -> str:
        """An array of one statement, whose elements are not yet computed."""
        local = self.new("r")
        self.local(local, kind, extents)
        self.block.append(Make(local, extents))
        return local

    def in_order(self, value: Elements) -> Elements:
        """A copy whose axes lie in memory in their order."""
        if self.is_in_order(value):
            return Elements(value.kind, value.extents, value.at)
        local = self.temporary(value.kind, value.extents)
        own = tuple(self.new("q") for _ in value.extents)
        index = tuple(Var("i", one) for one in own)
        self.block.append(Each(own, value.extents, local, index, value.at(index), is_first=True))
        return self.copied(local, value.extents)

    def copied(self, local: str, extents: tuple[Expr, ...]) -> Elements:
        """An array of one statement as a value: a name that is bound to it gets a copy."""
        return Elements(self.arrays[local].kind, extents, self.whole(local).at)

    def rolled(self, value: Elements, shift: Value, axis: Value | None, node: ast.AST) -> Value:
        """The elements, moved along one axis."""
        rank = len(value.extents)
        if axis is None and rank > 1:
            self.refuse("roll of a matrix", node)
        along = 0 if axis is None else self._axis(axis, rank, node)
        length = value.extents[along]
        by = self.let(Op("i", "mod", (self.let(self.index_of(shift)), Op("i", "max", (length, ONE)))))
        at, k = value.at, along

        def rolled(q: tuple[Expr, ...]) -> Expr:
            back = Op("i", "sub", (q[k], by))
            place = Op("i", "select", (Op("b", "lt", (back, ZERO)), Op("i", "add", (back, length)), back))
            return at((*q[:k], place, *q[k + 1 :]))

        return Elements(value.kind, value.extents, rolled)

    def joined(self, pieces: Sequence[Value], axis: int, node: ast.AST) -> Value:
        """Arrays one after the other along an axis."""
        arrays = [one for one in pieces if isinstance(one, Elements)]
        first = arrays[0] if arrays else self.refuse("a sequence of this", node)
        rank = len(first.extents)
        if len(arrays) < len(pieces) or any((x.kind, len(x.extents)) != (first.kind, rank) for x in arrays):
            self.refuse("a sequence of arrays that are not alike", node)
        if not -rank <= axis < rank:
            self.refuse("an axis that does not exist", node)
        along, length = axis % rank, first.extents[axis]
        for one in arrays[1:]:
            for k, pair in enumerate(zip(one.extents, first.extents, strict=True)):
                if k != along and pair[0] != pair[1]:
                    self.check(Op("b", "eq", pair))
            length = self.integer("add", length, one.extents[along])
        if any(not self.is_in_order(one) for one in arrays):
            self.refuse("arrays that may lie otherwise in memory", node)
        extents = (*first.extents[:along], self.let(length), *first.extents[along + 1 :])
        local = self.temporary(first.kind, extents)
        start: Expr = ZERO
        for one in arrays:
            names = tuple(self.new("q") for _ in one.extents)
            index = tuple(Var("i", name) for name in names)
            place = (*index[:along], moved(start, 1, index[along]), *index[along + 1 :])
            self.block.append(Each(names, one.extents, local, place, one.at(index), is_first=True))
            start = self.let(self.integer("add", start, one.extents[along]))
        return self.copied(local, extents)

    def triangle(self, value: Elements, shift: Value, is_lower: bool, node: ast.AST) -> Value:
        """The elements below a diagonal, or above it, and zeros."""
        if len(value.extents) != 2 or value.kind != "f" or not self.is_in_order(value):
            self.refuse("a triangle of this", node)
        by, at = self.let(self.index_of(shift)), value.at

        def element(q: tuple[Expr, ...]) -> Expr:
            distance = Op("i", "sub", (q[1], q[0]))
            inside = Op("b", "le" if is_lower else "ge", (distance, by))
            return Op("f", "select", (inside, at(q), Const("f", 0.0)))

        return Elements("f", value.extents, element)

    def difference(self, value: Elements, node: ast.AST) -> Value:
        """The differences of neighbours in a vector."""
        if len(value.extents) != 1 or not is_float(value.kind):
            self.refuse("diff of this", node)
        pair = ast.Slice(lower=ast.Constant(1)), ast.Slice(upper=ast.Constant(-1))
        later, earlier = (self.item(value, one) for one in pair)
        return self.elementwise("sub", (later, earlier), node)

    def accumulated(self, value: Elements, node: ast.AST) -> Value:
        """The sums of the first elements of a vector."""
        if len(value.extents) != 1 or not is_float(value.kind):
            self.refuse("cumsum of this", node)
        length = self.let(value.extents[0])
        local = self.temporary(value.kind, (length,))
        name = self.new("q")
        here: Expr = Var("i", name)
        later = Op("i", "add", (here, ONE))
        first = Op("i", "min", (length, ONE))
        rest = self.let(Op("i", "max", (Op("i", "sub", (length, ONE)), ZERO)))
        self.block.append(Each((name,), (first,), local, (here,), value.at((here,)), is_first=True))
        total = Op(value.kind, "add", (Load(value.kind, local, (here,)), value.at((later,))))
        self.block.append(Each((name,), (rest,), local, (later,), total, is_first=True, is_sequential=True))
        return self.copied(local, (length,))

    def mean(self, value: Elements, axis: Value | None, node: ast.AST) -> Value:
        if not is_float(value.kind):
            self.refuse("a mean of integers", node)
        count: Expr = ONE
        along = self._axes(axis, len(value.extents), node)
        for k, extent in enumerate(value.extents):
            if along is None or k in along:
                count = self.integer("mul", count, extent)
        count = self.let(count)
        self.check(Op("b", "gt", (count, ZERO)))
        # NumPy divides by an int64, and rounds the quotient to the kind of the sum.
        found = self.elementwise("div", (self.reduced("sum", value, axis, node), Number(count, False)), node)
        return self.as_kind(found, value.kind, node)

    def as_kind(self, value: Value, kind: str, node: ast.AST) -> Value:
        """A number or an array of numbers as one of NumPy's of another kind."""
        if isinstance(value, Number):
            return Number(self.number_as(self._within(value.expr, kind, "", node), kind), False)
        if not isinstance(value, Elements) or not (is_float(kind) or (kind == "i" and is_narrow(value.kind))):
            self.refuse("a conversion of this", node)
        at = value.at
        return Elements(kind, value.extents, lambda q: converted(at(q), kind), is_part=value.is_part)

    def _axes(self, axis: Value | None, rank: int, node: ast.AST) -> tuple[int, ...] | None:
        """The axes of a reduction in their order; None for all of them."""
        if axis is None or (isinstance(axis, Known) and axis.value is None):
            return None
        items = axis.items if isinstance(axis, Several) and not axis.is_list else (axis,)
        found = {self._axis(one, rank, node) for one in items}
        if len(found) < len(items) or not items:
            self.refuse("axes that are the same, or none", node)
        return tuple(sorted(found))

    def _axis(self, axis: Value, rank: int, node: ast.AST) -> int:
        if not (isinstance(axis, Number) and isinstance(axis.expr, Const) and axis.expr.kind == "i"):
            self.refuse("an axis that is not known", node)
        if not -rank <= axis.expr.value < rank:
            self.refuse("an axis that does not exist", node)
        return int(axis.expr.value) % rank

    def _check_layout(self, how: str, value: Elements, along: tuple[int, ...] | None, node: ast.AST) -> None:
        """Refuse what NumPy reduces in an order that depends on its memory: only the order of the axes is followed."""
        if not self.is_in_order(value):
            self.refuse(f"{how} of an array whose axes are not in the order of its memory", node)
        if along is not None:
            last, rank = along[-1], len(value.extents)
            if len(along) > 1 and (last == rank - 1 or along != tuple(range(along[0], last + 1))):
                self.refuse(f"{how} along such axes", node)
            if last < rank - 1:
                # NumPy drops axes of one element, and then it takes this one for the last.
                inner: Expr = ONE
                for extent in value.extents[last + 1 :]:
                    inner = self.integer("mul", inner, extent)
                self.check(Op("b", "gt", (self.let(inner), ONE)))
            return
        if value.is_part:
            self.refuse(f"{how} of a part of an array", node)
        if value.is_copy:
            return
        assert value.array is not None
        varying = [k for k, one in enumerate(value.view) if one.axis is not None]
        if varying != list(range(varying[0], len(value.view))) or any(value.view[k].step != 1 for k in varying):
            self.refuse(f"{how} of a part of an array", node)
        for k in varying[1:]:
            axis = value.view[k].axis
            assert axis is not None
            own = Size("i", value.array, k)
            if value.extents[axis] != own:
                self.refuse(f"{how} of a part of an array", node)
            if not self.arrays[value.array].is_local:
                step = Op("i", "mul", (own, Stride("i", value.array, k)))
                self.check(Op("b", "eq", (Stride("i", value.array, k - 1), step)))
        last = len(value.view) - 1
        if not self.arrays[value.array].is_packed:
            size = KINDS[value.kind].dtype.itemsize
            self.check(Op("b", "eq", (Stride("i", value.array, last), Const("i", size))))

    def is_in_order(self, value: Elements) -> bool:
        """Whether the axes of an array lie in memory in their order, and those of NumPy's array do, too."""
        if len(value.extents) < 2:
            return True
        axes = [f".axis{k}" for k in range(len(value.extents))]
        for one in value.at(tuple(Var("i", name) for name in axes)).walk():
            if not isinstance(one, Load):
                continue
            if len(one.index) > 1 and (one.array in self.unordered or not self.arrays[one.array].is_ordered):
                return False
            parts = [x for k in one.index for x in k.walk() if isinstance(x, Var) and x.name in axes]
            found = list(dict.fromkeys(axes.index(x.name) for x in parts))
            varying = [k for k in one.index if any(isinstance(x, Var) and x.name in axes for x in k.walk())]
            gathers = [any(isinstance(x, Load) for x in k.walk()) for k in varying]
            # Index arrays give the result their own order, if no other axis comes before them.
            if found != sorted(found) or gathers != sorted(gathers, reverse=True):
                return False
        return True

    def note_layout(self, local: str, value: Elements) -> None:
        """Record where an array that the loop makes may lie otherwise in NumPy: in order, and without gaps."""
        is_gapped = value.is_part if value.is_copy else self._may_have_gaps(value)
        for names, holds in ((self.unordered, is_gapped or not self.is_in_order(value)), (self.gapped, is_gapped)):
            if holds:
                self.is_known = self.is_known and local in names
                names.add(local)

    def _may_have_gaps(self, value: Elements) -> bool:
        """Whether a view may lie otherwise than a new array does."""
        array = loads(value)[0].array
        whole = self.whole(array)
        is_whole = (value.view, value.extents) == (whole.view, whole.extents)
        return not (is_whole and self.arrays[array].is_contiguous and array not in self.gapped)


def _signatures(name: str, operands: Sequence[Number | Elements]) -> set[tuple[str, str] | None]:
    """The kinds that a result may have, each with the one of its operands; none where an operand has several."""
    types = [one.types if isinstance(one, Number) else [(one.kind, False)] for one in operands]
    kinds = {kind for each in types for kind, _ in each}
    if "?" in kinds:
        return set()
    if kinds <= OF_PYTHON.keys():
        # An integer that is kept as a float is one.
        types = [[(one.kind if isinstance(one, Elements) else one.expr.kind, False)] for one in operands]
    return {functions.typed(name, one) for one in product(*types)}


def _leaves(value: Value, place: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Value]]:
    """The values in nested lists, each with its place."""
    if not isinstance(value, Several):
        yield place, value
        return
    for number, one in enumerate(value.items):
        yield from _leaves(one, (*place, number))


def _repeated(expr: Expr, extents: tuple[Expr, ...]) -> Elements:
    """An array of one number."""
    return Elements(expr.kind, extents, lambda _: expr)


def _kinds(*values: Value) -> set[str | None]:
    """The kinds of numbers of some values; None for one that is no number and no array."""
    return {
        one.kind if isinstance(one, Elements) else one.expr.kind if isinstance(one, Number) else None for one in values
    }
