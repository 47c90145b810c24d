"""Functions of numbers and of each element, broadcasting, products and sums."""

from __future__ import annotations

import ast

from bridge.loops_in_c import functions
from bridge.loops_in_c.indexing import Indexing
from bridge.loops_in_c.ir import Const, Dot, Expr, Load, Op, Stride, Sum, Var
from bridge.loops_in_c.values import ONE, ZERO, Elements, Known, Number, Value, converted, loads, weak_of

_POWERS = {2: "square", 0.5: "root", 1: "pos", -1: "reciprocal"}
_RANGES = frozenset({"add", "sub", "mul"})


class Arithmetic(Indexing):
    """Reads arithmetic: elementwise functions, products and sums."""

    def binary(self, name: str, left: Value, right: Value, node: ast.AST) -> Value:
        if name == "matmul":
            return self.dot(left, right, node)
        if name == "pow":
            return self.power(left, right, node)
        if name in ("and", "or", "xor") and _kinds(left, right) != {"b"}:
            self.refuse("bits of integers", node)
        return self.elementwise(name, (left, right), node)

    def power(self, left: Value, right: Value, node: ast.AST, is_function: bool = False) -> Value:
        """`left ** right`, or `np.power(left, right)`: NumPy has shortcuts for some exponents that are one number."""
        if not isinstance(left, Elements) and not isinstance(right, Elements):
            if isinstance(left, Number) and left.expr.kind != "f":
                self.refuse("a power of an integer", node)
            return self.elementwise("power" if is_function else "pow", (left, right), node)
        if "f" not in {one.kind for one in (left, right) if isinstance(one, Elements)} or "b" in _kinds(left, right):
            self.refuse("a power of integers", node)
        if not isinstance(right, Number):
            return self.elementwise("power", (left, right), node)
        exponent = right.expr.value if isinstance(right.expr, Const) else None
        if exponent in _POWERS and (not is_function or exponent == 2):
            return self.elementwise(_POWERS[exponent], (left,), node)
        if not isinstance(right.weak, bool):
            self.refuse("an exponent that may be a number of Python's or of NumPy's", node)
        by_operator = right.weak is True and not is_function
        return self.elementwise("array_power" if by_operator else "power", (left, right), node)

    def where(self, condition: Value, one: Value, other: Value, node: ast.AST) -> Value:
        if not any(isinstance(x, Elements) for x in (condition, one, other)):
            self.refuse("where of numbers", node)
        return self.elementwise("where", (self.truths(condition, node), one, other), node)

    def clip(self, value: Value, low: Value, high: Value, node: ast.AST) -> Value:
        if not (isinstance(value, Elements) and value.kind == "f"):
            self.refuse("clip of this", node)
        if isinstance(low, Known) and low.value is None:
            return self.elementwise("minimum", (value, high), node)
        if isinstance(high, Known) and high.value is None:
            return self.elementwise("maximum", (value, low), node)
        return self.elementwise("clip", (value, low, high), node)

    def truths(self, value: Value, node: ast.AST) -> Value:
        """The truth of a number, or of each element."""
        if isinstance(value, Elements) and value.kind != "b":
            return self.elementwise("ne", (value, Number(Const(value.kind, 0))), node)
        return value if isinstance(value, Elements) else Number(self.truth(value), False)

    def elementwise(self, name: str, values: tuple[Value, ...], node: ast.AST) -> Value:
        """A function of numbers, of each element."""
        operands = [one for one in values if isinstance(one, (Number, Elements))]
        if len(operands) < len(values):
            self.refuse("an operand of this kind", node)
        numbers = [one for one in operands if isinstance(one, Number)]
        if len(numbers) == len(operands):
            found = self.scalar(name, tuple(one.expr for one in numbers), node)
            is_certain = (
                found.kind != "f"
                or functions.FUNCTIONS[name].result == "f"
                or any(x.expr.kind == "f" and x.is_certain for x in numbers)
            )
            return Number(found, weak_of(numbers), None, is_certain)
        held = [Number(self.let(one.expr), one.weak) if isinstance(one, Number) else one for one in operands]
        arrays = [one for one in held if isinstance(one, Elements)]
        extents = arrays[0].extents
        for other in arrays[1:]:
            extents = self.joint(extents, other.extents, node)
        spread = [self.broadcast(one, extents) if isinstance(one, Elements) else one for one in held]
        kinds = tuple(one.kind if isinstance(one, Elements) else one.expr.kind for one in spread)
        kind, inner = functions.typed(name, kinds) or self.refuse(f"{name} of {kinds}", node)
        if name in ("floordiv", "mod") and kind == "i":
            self.refuse("a division of integers in arrays", node)
        if functions.FUNCTIONS[name].ufunc is not None:
            self._forwards(name, arrays, node)

        wanted = [functions.kind_of(name, k, inner) for k in range(len(spread))]

        def at(index: tuple[Expr, ...]) -> Expr:
            args = [one.at(index) if isinstance(one, Elements) else one.expr for one in spread]
            return Op(kind, name, tuple(converted(x, k) for x, k in zip(args, wanted, strict=True)))

        return Elements(kind, extents, at)

    def _forwards(self, name: str, arrays: list[Elements], node: ast.AST) -> None:
        """No array may lie backwards, nor be computed from one that does: NumPy's inner loops differ there."""
        for one in (load for array in arrays for load in loads(array)):
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

    def scalar(self, name: str, args: tuple[Expr, ...], node: ast.AST) -> Expr:
        """A function of numbers without axes."""
        kinds = tuple(one.kind for one in args)
        kind, inner = functions.typed(name, kinds) or self.refuse(f"{name} of {kinds}", node)
        if kind == "i" and name in _RANGES:
            return self.integer(name, args[0], args[1])
        args = tuple(self._within(one, inner, name, node) for one in args)
        if name in ("div", "floordiv", "mod"):
            if isinstance(args[1], Const) and args[1].value == 0:
                self.refuse("a division by zero", node)
            if not isinstance(args[1], Const):
                args = args[0], self.let(args[1])
                self.check(Op("b", "ne", (args[1], Const(args[1].kind, 0))))
        converted_args = tuple(converted(one, inner) for one in args)
        known = [float(one.value) for one in converted_args if isinstance(one, Const)]
        if kind == "f" and len(known) == len(converted_args):
            try:
                return Const("f", functions.computed(name, tuple(known)))
            except (ArithmeticError, ValueError):
                self.refuse(f"{name} of these numbers raises", node)
        return Op(kind, name, converted_args)

    def _within(self, expr: Expr, inner: str, name: str, node: ast.AST) -> Expr:
        """An integer that a float can hold, if it is to become one."""
        if expr.kind != "i" or self.bits(expr) <= 53:
            return expr
        if name in ("neg", "abs"):
            self.refuse("the negative of an integer that may be large", node)
        if inner == "f":
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

    def dot(self, left: Value, right: Value, node: ast.AST) -> Value:
        if not (isinstance(left, Elements) and isinstance(right, Elements)):
            if isinstance(left, Number) or isinstance(right, Number):
                return self.elementwise("mul", (left, right), node)
            self.refuse("a product of this", node)
        if (len(left.extents), len(right.extents), left.kind, right.kind) != (1, 1, "f", "f"):
            self.refuse("a product of matrices", node)
        if left.extents[0] != right.extents[0]:
            self.check(Op("b", "eq", (left.extents[0], right.extents[0])))
        variable, name = self.new("s"), self.new("q")
        self.variables[variable] = "f"
        index = (Var("i", name),)
        one, other = left.at(index), right.at(index)
        if not (isinstance(one, Load) and isinstance(other, Load)):
            self.refuse("a product of values that are computed", node)
        self.block.append(Dot(variable, left.extents[0], name, one, other))
        return Number(Var("f", variable), False)

    def sum(self, value: Elements, node: ast.AST) -> Value:
        if len(value.extents) != 1 or value.kind != "f":
            self.refuse("a sum over several axes", node)
        variable, name = self.new("s"), self.new("q")
        self.variables[variable] = "f"
        self.block.append(Sum(variable, name, value.extents[0], value.at((Var("i", name),))))
        return Number(Var("f", variable), False)


def _kinds(*values: Value) -> set[str | None]:
    """The kinds of numbers of some values; None for one that is no number and no array."""
    return {
        one.kind if isinstance(one, Elements) else one.expr.kind if isinstance(one, Number) else None for one in values
    }
