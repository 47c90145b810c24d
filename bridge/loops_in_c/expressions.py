"""Expressions of the program."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from bridge.loops_in_c import functions
from bridge.loops_in_c.arithmetic import Arithmetic
from bridge.loops_in_c.blocks import SMALL
from bridge.loops_in_c.ir import Check, Const, Dot, Expr, Op, Sum, Var
from bridge.loops_in_c.values import ONE, Elements, Known, Number, Several, Unbound, Value, converted

COMPARISONS = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul",
}  # fmt: skip


MAKING = frozenset({"zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like"})


class Read(NamedTuple):
    """An object that the program reads and does not assign.

    Attributes
    ----------
    names : the globals of a function that is called; None for the variables of the loop's own function.
    text : a name, or a chain of attributes of one.
    value : what that was.
    code : its code, of a function.
    """

    names: dict[str, Any] | None
    text: str
    value: Any
    code: Any = None


class Expressions(Arithmetic):
    """Reads expressions.

    Attributes
    ----------
    names : what the variables of the program stand for.
    read : objects that the program reads and does not assign.
    globals : those of the function that is called, whose body is read; None outside of such.
    """

    names: dict[str, Value]
    read: list[Read]
    look: Callable[[str], Any]
    globals: dict[str, Any] | None = None

    def known(self, node: ast.expr) -> Any:
        """The object that an expression names, if it is known; else None."""
        value = self.value(node, may_fail=True)
        return value.value if isinstance(value, Known) else None

    def value(self, node: ast.expr, may_fail: bool = False) -> Value:
        method = getattr(self, f"_of_{type(node).__name__}", None)
        if method is None:
            self.refuse(f"an expression of kind {type(node).__name__.lower()}", node)
        found: Value = method(node)
        return found

    def _of_Constant(self, node: ast.Constant) -> Value:
        value = node.value
        if isinstance(value, bool):
            return Number(Const("b", value))
        if isinstance(value, int):
            if abs(value) >= 1 << SMALL:
                self.refuse("an integer of more than 31 bits", node)
            return Number(Const("i", value))
        if isinstance(value, float):
            return Number(Const("f", value))
        return Known(value)

    def _of_Name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self.names:
            found = self.names[name]
            if isinstance(found, Unbound):
                self.refuse(f"{name} is not the same kind of thing in each iteration", node)
            if isinstance(found, Number) and found.flag is not None:
                self.check(Var("b", found.flag))
                return Number(found.expr, found.weak, None, found.is_certain)
            return found
        return self.of_object(name, self.look(name), node)

    def of_object(self, name: str, value: Any, node: ast.expr) -> Value:
        self.read.append(Read(self.globals, name, value))
        if isinstance(value, bool):
            return Number(Const("b", value))
        if isinstance(value, int) and abs(value) < 1 << SMALL:
            return Number(Const("i", value))
        if isinstance(value, float):
            return Number(Const("f", float(value)), not isinstance(value, np.generic))
        return Known(value)

    def _of_Attribute(self, node: ast.Attribute) -> Value:
        base = self.value(node.value)
        if isinstance(base, Known):
            if not _is_plain(base.value, node.attr):
                self.refuse(f"the attribute {node.attr}, which may be computed", node)
            return self.of_object(ast.unparse(node), getattr(base.value, node.attr), node)
        if isinstance(base, Elements):
            if node.attr == "shape":
                return Several(tuple(Number(one) for one in base.extents))
            if node.attr == "ndim":
                return Number(Const("i", len(base.extents)))
            if node.attr == "size":
                size: Expr = ONE
                for one in base.extents:
                    size = self.integer("mul", size, one)
                return Number(size)
            if node.attr == "T":
                return self.turned(base, tuple(reversed(range(len(base.extents)))))
        self.refuse(f"the attribute {node.attr}", node)

    def _of_Tuple(self, node: ast.Tuple) -> Value:
        return Several(tuple(self.value(one) for one in node.elts))

    def _of_Subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        if isinstance(base, Several):
            index = self.index_of(self.value(node.slice))
            if not isinstance(index, Const):
                self.refuse("an index of a tuple that is not known", node)
            return base.items[int(index.value)]
        if not isinstance(base, Elements):
            self.refuse("an item of this", node)
        found = self.item(base, node.slice)
        if isinstance(found, Expr):
            return Number(found, False)
        return found

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return Number(Op("b", "not", (self.truth(value),)))
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Invert):
            self.refuse("~", node)
        if isinstance(value, Number) and isinstance(value.expr, Const) and value.expr.kind != "b":
            return Number(Const(value.expr.kind, -value.expr.value), value.weak)
        return self.elementwise("neg", (value,), node)

    def _of_BinOp(self, node: ast.BinOp) -> Value:
        name = OPERATORS.get(type(node.op)) or self.refuse("this operator", node)
        return self.binary(name, self.value(node.left), self.value(node.right), node)

    def _of_Compare(self, node: ast.Compare) -> Value:
        left = self.value(node.left)

        def pair(operator: ast.cmpop, right: ast.expr) -> Value:
            nonlocal left
            name = COMPARISONS.get(type(operator)) or self.refuse("this comparison", node)
            one, left = left, self.value(right)
            return self.elementwise(name, (one, left), node)

        pairs = zip(node.ops, node.comparators, strict=True)
        return self._decided("and", [lambda one=one: pair(*one) for one in pairs], node)  # type: ignore[misc]

    def _of_BoolOp(self, node: ast.BoolOp) -> Value:
        name = "and" if isinstance(node.op, ast.And) else "or"
        return self._decided(name, [lambda one=one: self.value(one) for one in node.values], node)  # type: ignore[misc]

    def _decided(self, name: str, operands: list[Callable[[], Value]], node: ast.AST) -> Value:
        """`and` or `or`. Operands after the first are computed in any case: they may not have checks of their own."""
        if len(operands) == 1:
            return operands[0]()
        numbers: list[Number] = []
        for number, compute in enumerate(operands):
            before = len(self.block)
            operand = compute()
            if not isinstance(operand, Number) or operand.expr.kind != "b":
                self.refuse("and/or of something else than conditions", node)
            numbers.append(operand)
            if number and any(isinstance(x, (Check, Sum, Dot)) for x in self.block[before:]):
                self.refuse("and/or of what may raise", node)
        found = numbers[0].expr
        for other in numbers[1:]:
            found = Op("b", name, (found, other.expr))
        weak = numbers[0].weak
        return Number(found, weak if all(one.weak == weak for one in numbers) else None)

    def _of_IfExp(self, node: ast.IfExp) -> Value:
        test = self.truth(self.value(node.test))
        before = len(self.block)
        one, other = self.value(node.body), self.value(node.orelse)
        if any(isinstance(x, (Check, Sum, Dot)) for x in self.block[before:]):
            self.refuse("a conditional expression of what may raise", node)
        if not (isinstance(one, Number) and isinstance(other, Number)):
            self.refuse("a conditional expression of arrays", node)
        kind = one.expr.kind
        if (kind, one.weak) != (other.expr.kind, other.weak):
            self.refuse("a conditional expression of two kinds", node)
        return Number(Op(kind, "select", (self.let(test), one.expr, other.expr)), one.weak)

    def _of_Call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if isinstance(base, Elements):
                return self.method(base, node.func.attr, node)
        function = self.known(node.func)
        if any(isinstance(one, ast.Starred) for one in node.args):
            self.refuse("a call with *", node)
        args = tuple(self.value(one) for one in node.args)
        if node.keywords:
            self.refuse("a call with keywords", node)
        return self.call(function, args, node)

    def method(self, base: Elements, name: str, node: ast.Call) -> Value:
        if name == "copy" and not node.args and not node.keywords:
            return Elements(base.kind, base.extents, base.at)
        if name in ("sum", "dot") and not node.keywords:
            return self.call(getattr(np, name), (base, *(self.value(one) for one in node.args)), node)
        self.refuse(f"the method {name}", node)

    def made(self, name: str, args: tuple[Value, ...]) -> Value | None:
        """An array that NumPy makes: zeros, or ones. What `empty` holds is zero, too."""
        value = Const("f", 1.0 if name.startswith("ones") else 0.0)
        first = args[0] if len(args) == 1 else None
        if name.endswith("_like"):
            return (
                Elements("f", first.extents, lambda _: value)
                if isinstance(first, Elements) and first.kind == "f"
                else None
            )
        items = first.items if isinstance(first, Several) else (first,)
        extents = [self.index_of(one) for one in items if isinstance(one, Number)]
        if len(extents) < len(items):
            return None
        for one in extents:
            self.check(Op("b", "ge", (one, Const("i", 0))))
        return Elements("f", tuple(map(self.let, extents)), lambda _: value)

    def call(self, function: Any, args: tuple[Value, ...], node: ast.AST) -> Value:
        name = (
            functions.BY_OBJECT.get(function) if isinstance(function, (type, np.ufunc)) or callable(function) else None
        )
        if name == "dot" and len(args) == 2:
            return self.dot(args[0], args[1], node)
        if name == "sum" and len(args) == 1 and isinstance(args[0], Elements):
            return self.sum(args[0], node)
        if name == "flip" and len(args) == 1 and isinstance(args[0], Elements) and len(args[0].extents) == 1:
            return self.item(args[0], ast.Slice(step=ast.Constant(-1)))
        if name in MAKING:
            found = self.made(name, args)
            if found is not None:
                return found
        if name == "len" and isinstance(args[0], Elements):
            return Number(args[0].extents[0])
        if name == "float" and len(args) == 1 and isinstance(args[0], Number):
            return Number(converted(args[0].expr, "f"))
        if name in ("min", "max") and len(args) == 2 and all(isinstance(one, Number) for one in args):
            one, other = (x.expr for x in args)  # type: ignore[union-attr]
            if one.kind == other.kind == "i":
                return Number(Op("i", name, (one, other)), args[0].weak if args[0].weak == args[1].weak else None)  # type: ignore[union-attr]
        known = functions.FUNCTIONS.get(name or "")
        if name is not None and known is not None and name not in ("min", "max") and known.count == len(args):
            result = self.elementwise(name, args, node)
            # A function of NumPy's gives a number of NumPy's.
            is_numpy = isinstance(result, Number) and function is not abs
            return Number(result.expr, False) if is_numpy else result  # type: ignore[union-attr]
        said = getattr(function, "__name__", None) or ast.unparse(node)
        self.refuse(f"a call of {said}", node)


def _is_plain(thing: Any, name: str) -> bool:
    """Whether an attribute is what a module or an object holds: nothing computes it."""
    if type(thing) is ModuleType:
        return name in vars(thing)
    kind: Any = type(thing)
    if kind.__getattribute__ is not object.__getattribute__ or name not in getattr(thing, "__dict__", {}):
        return False
    return not any(hasattr(vars(one).get(name), "__get__") for one in kind.__mro__)
