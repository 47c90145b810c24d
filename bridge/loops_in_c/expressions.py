"""Expressions of the program."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, cast

import numpy as np

from bridge.loops_in_c import functions
from bridge.loops_in_c.arithmetic import Arithmetic
from bridge.loops_in_c.attributes import is_plain
from bridge.loops_in_c.blocks import SMALL
from bridge.loops_in_c.ir import Check, Const, Dot, Expr, Make, Op, Reduce, Var
from bridge.loops_in_c.values import ONE, Elements, Known, Number, Several, Unbound, Value, converted

COMPARISONS = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip


_REDUCING = (np.sum, np.prod, np.max, np.min, np.amax, np.amin, np.mean, np.argmax, np.argmin)
MAKING = frozenset({"zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like"})


class Read(NamedTuple):
    """An object that the program reads and does not assign.

    Attributes
    ----------
    of : a reference to the object whose attribute it is, or the variable that holds it; the globals of a function that
        is called; None for the globals of the loop's own function.
    name : the name of the attribute, or of the global variable or builtin.
    value : what that was, or its class, if the loop may also run with another object `of_class`.
    """

    of: Callable[[], Any] | str | dict[str, Any] | None
    name: str
    value: Any
    of_class: bool = False


def referred(thing: Any, then: Callable[[Any], Any] | None = None) -> Callable[[], Any]:
    """A reference that does not keep an object alive, if there is one for it; `then` is called when it is gone."""
    try:
        return weakref.ref(thing, then)
    except TypeError:
        return lambda: thing


class Expressions(Arithmetic):
    """Reads expressions.

    Attributes
    ----------
    names : what the variables of the program stand for.
    read : objects that the program reads and does not assign.
    globals : those of the function that is called, whose body is read; None outside of such.
    sets_attributes : whether the loop sets attributes of objects.
    """

    names: dict[str, Value]
    read: list[Read]
    look: Callable[[str], Any]
    globals: dict[str, Any] | None = None
    sets_attributes: bool = False

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
        value = self.look(name)
        self.read.append(Read(self.globals, name, value))
        return self.of_object(value)

    def of_object(self, value: Any) -> Value:
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
            if base.value is np.add and node.attr == "at":
                return Known(functions.ADD_AT)
            if self.sets_attributes and type(base.value) is not ModuleType:
                self.refuse(f"the attribute {node.attr}, in a loop that sets attributes", node)
            if not is_plain(base.value, node.attr):
                self.refuse(f"the attribute {node.attr}, which may be computed", node)
            value = getattr(base.value, node.attr)
            if base.variable and is_instance(value):
                self.read.append(Read(base.variable, node.attr, type(value), True))
                return Known(value, f"{base.variable}.{node.attr}")
            self.read.append(Read(base.variable or referred(base.value), node.attr, value))
            return self.of_object(value)
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
            if not -len(base.items) <= index.value < len(base.items):
                self.refuse("an index of a tuple that is out of range", node)
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
            if not (isinstance(value, Elements) and value.kind == "b"):
                self.refuse("~ of something else than an array of booleans", node)
            return self.elementwise("not", (value,), node)
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
            one, left = left, self.value(right)
            known = self._compared(operator, one, left)
            if known is not None:
                return Number(Const("b", known))
            name = COMPARISONS.get(type(operator)) or self.refuse("this comparison", node)
            return self.elementwise(name, (one, left), node)

        pairs = zip(node.ops, node.comparators, strict=True)
        return self._decided("and", [lambda one=one: pair(*one) for one in pairs], node)  # type: ignore[misc]

    def _compared(self, operator: ast.cmpop, one: Value, other: Value) -> bool | None:
        """The result of a comparison that is known when the loop is read: of identity, or of texts; else None."""
        pair = [x for x in (one, other) if isinstance(x, Known)]
        are_texts = len(pair) == 2 and all(type(x.value) is str for x in pair)
        if isinstance(operator, (ast.Eq, ast.NotEq)) and are_texts:
            return (pair[0].value == pair[1].value) is isinstance(operator, ast.Eq)
        if not pair or not isinstance(operator, (ast.Is, ast.IsNot)):
            return None
        # With other objects of its class, a variable runs the same code.
        if len(pair) == 2 and any(x.variable for x in pair) and all(x.value is not None for x in pair):
            return None
        is_same = len(pair) == 2 and pair[0].value is pair[1].value
        return is_same is isinstance(operator, ast.Is)

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
            if number and any(isinstance(x, (Check, Reduce, Dot, Make)) for x in self.block[before:]):
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
        if any(isinstance(x, (Check, Reduce, Dot, Make)) for x in self.block[before:]):
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
        return self.call(function, (*args, *self._axis_of(function, node)), node)

    def _axis_of(self, function: Any, node: ast.Call) -> tuple[Value, ...]:
        """The value of the keyword `axis` of a reduction, which comes after its first argument."""
        if not node.keywords:
            return ()
        if (
            [one.arg for one in node.keywords] != ["axis"]
            or len(node.args) > 1
            or not any(function is one for one in _REDUCING)
        ):
            self.refuse("a call with keywords", node)
        return (self.value(node.keywords[0].value),)

    def method(self, base: Elements, name: str, node: ast.Call) -> Value:
        if name == "copy" and not node.args and not node.keywords:
            return Elements(base.kind, base.extents, base.at)
        if name in ("sum", "prod", "max", "min", "mean", "argmax", "argmin", "dot"):
            function = getattr(np, name)
            args = (base, *(self.value(one) for one in node.args), *self._axis_of(function, node))
            return self.call(function, args, node)
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
        name = functions.name_of(function)
        found = self._call(name, args, node)
        if found is None and len(args) == 1 and isinstance(args[0], Number):
            found = self._python_number(name, args[0])
        known = functions.FUNCTIONS.get(name)
        if found is None and known is not None and known.count == len(args) and name not in ("min", "max"):
            is_pythons = getattr(function, "__module__", "") == "math"
            if is_pythons and not all(isinstance(one, Number) for one in args):
                self.refuse(f"math.{function.__name__} of an array", node)
            found = self.elementwise(name, args, node)
            if isinstance(found, Number) and function is not abs:
                found = Number(found.expr, is_pythons)
        if found is None:
            self.refuse(f"a call of {getattr(function, '__name__', None) or ast.unparse(node)}", node)
        return found

    def _call(self, name: str, args: tuple[Value, ...], node: ast.AST) -> Value | None:
        """A call of one of the functions that are no functions of numbers; None if it is another one."""
        match name, args:
            case "dot", (one, other):
                return self.dot(one, other, node)
            case (("sum" | "prod" | "amax" | "amin" | "argmax" | "argmin"), (Elements() as one, *axis)) if (
                len(axis) < 2
            ):
                how = {"amax": "max", "amin": "min"}.get(name, name)
                return self.reduced(how, one, axis[0] if axis else None, node)
            case "mean", (Elements() as one, *axis) if len(axis) < 2:
                return self.mean(one, axis[0] if axis else None, node)
            case "cumsum", (Elements() as one,):
                return self.accumulated(one, node)
            case "roll", (Elements() as one, Number() as shift):
                return self.rolled(one, shift, node)
            case "diff", (Elements() as one,):
                return self.difference(one, node)
            case "matmul", (one, other):
                return self.dot(one, other, node, by_dot=False)
            case "outer", (one, other):
                return self.outer(one, other, node)
            case "flip", (Elements(extents=(_,)) as one,):
                return cast(Value, self.item(one, ast.Slice(step=ast.Constant(-1))))
            case "len", (Elements() as one,):
                return Number(one.extents[0])
            case (("min" | "max"), (Number() as one, Number() as other, *others)):
                found = self._extremum(name, one, other, node)
                return self._call(name, (found, *others), node) if others else found
            case "power", (one, other):
                return self.power(one, other, node, is_function=True)
            case "where", (condition, one, other):
                return self.where(condition, one, other, node)
            case "clip", (one, low, high):
                return self.clip(one, low, high, node)
            case (("logical_and" | "logical_or" | "logical_xor" | "logical_not"), _):
                truths = tuple(self.truths(one, node) for one in args)
                found = self.elementwise(name.removeprefix("logical_"), truths, node)
                return Number(found.expr, False) if isinstance(found, Number) else found
        return self.made(name, args) if name in MAKING else None

    def _extremum(self, name: str, one: Number, other: Number, node: ast.AST) -> Value:
        """`min` or `max` of Python: the first value, unless the second is beyond it."""
        kind = one.expr.kind
        if kind != other.expr.kind or kind == "b" or not (one.is_certain and other.is_certain):
            self.refuse(f"{name} of numbers of two kinds", node)
        weak = one.weak if one.weak == other.weak else None
        if kind == "i":
            return Number(Op("i", name, (one.expr, other.expr)), weak)
        first, second = self.let(one.expr), self.let(other.expr)
        is_beyond = Op("b", "lt" if name == "min" else "gt", (second, first))
        return Number(Op("f", "select", (is_beyond, second, first)), weak)

    def _python_number(self, name: str, number: Number) -> Value | None:
        """A number as a number of Python's: `int`, `float`, `bool`, and roundings to an integer."""
        rounding = {"int": "trunc", "math.floor": "floor", "math.ceil": "ceil", "round": "rint"}.get(name)
        if name == "float":
            return Number(converted(number.expr, "f"))
        if name == "bool":
            return Number(self.truth(number))
        if rounding is None:
            return None
        if number.expr.kind != "f":
            if name == "round" and number.weak is not True:
                return None
            return Number(converted(number.expr, "i"), True, None, number.is_certain)
        whole = self.let(Op("f", rounding, (number.expr,)))
        self.check(Op("b", "lt", (Op("f", "fabs", (whole,)), Const("f", float(1 << 53)))))
        return Number(Op("i", "cast", (whole,)))


def is_instance(value: Any) -> bool:
    """Whether only the attributes of an object matter to a loop."""
    kinds = type, FunctionType, ModuleType
    return type(value).__dictoffset__ != 0 and not isinstance(value, kinds) and not functions.name_of(value)
