"""Expressions of the program."""

from __future__ import annotations

import ast
import math
import numbers
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple, cast

import numpy as np

from bridge.loops_in_c import functions
from bridge.loops_in_c.arithmetic import Arithmetic
from bridge.loops_in_c.blocks import SMALL
from bridge.loops_in_c.ir import Check, Const, Dot, Expr, Make, Op, Reduce, Var
from bridge.loops_in_c.kinds import BY_DTYPE, BY_TYPE, KINDS, OF_PYTHON, holding, is_float, is_integer
from bridge.loops_in_c.objects import ABSENT, Found, Path, Step, at, bound, is_number, is_variable, kind_of
from bridge.loops_in_c.values import (
    ONE,
    ZERO,
    Elements,
    Items,
    Known,
    Listed,
    NotConstant,
    Number,
    Several,
    Unbound,
    Undescribed,
    Value,
    chosen_weak,
    converted,
    either,
    in_variable,
)

COMPARISONS = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip


_REDUCING = (np.sum, np.prod, np.max, np.min, np.amax, np.amin, np.mean, np.argmax, np.argmin)
MAKING = frozenset({"zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like", "eye", "full", "array"})


class Read(NamedTuple):
    """An object that the program reads and does not assign.

    Attributes
    ----------
    of : a reference to the object of which it is a part, or the path to that; the globals of a function that is
        called; None for the globals of the loop's own function.
    name : the step to the part, or the name of the global variable or builtin.
    value : what that was.
    is_own : whether the object itself holds it, not its class.
    kind : its `kind_of`, if the loop may also run with another object of that; then there is no `value`.
    """

    of: Callable[[], Any] | Path | dict[str, Any] | None
    name: Step | str
    value: Any = None
    is_own: bool = True
    kind: tuple[Any, ...] = ()


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
    code : the code object of the function whose body is read, as it is written.
    slots : the names of the slots that have been described, by the paths to them.
    root_of : a name for an object that no variable leads to; `Undescribed` if that is new.
    """

    names: dict[str, Value]
    read: dict[Any, Read]
    lists_read: dict[Path, None]
    look: Callable[[str], Any]
    slots: Mapping[Path, str]
    root_of: Callable[[Any], str]
    globals: dict[str, Any] | None = None
    code: CodeType

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
            if isinstance(found, Items):
                names = [ast.copy_location(ast.Name(f"{name}.{k}", ast.Load()), node) for k in range(found.count)]
                return Several(tuple(map(self._of_Name, names)), found.is_list)
            if isinstance(found, Listed) and found.items is None:
                items = self._of_Name(ast.copy_location(ast.Name(f"{name}.items", ast.Load()), node))
                assert isinstance(items, Elements)
                return Listed(found.weak, items)
            if isinstance(found, Number) and found.flag is not None:
                self.check(Var("b", found.flag))
                return replace(found, flag=None)
            return found
        if name.startswith("__") and name not in self.code.co_names and not name.endswith("__"):
            self.refuse(f"{name}, which has another name in a class", node)
        value = self.look(name)
        if self.globals is not None and is_variable(value) and not is_number(value):
            return self.part(Known(self.globals, (self.root_of(self.globals),)), Step("item", name), node)
        self.note(Read(self.globals, name, value))
        return self.of_object(value)

    def note(self, read: Read) -> None:
        """Note what the loop reads and does not assign."""
        self.read[read.of if isinstance(read.of, tuple) else id(read.of), read.name] = read

    def of_object(self, value: Any) -> Value:
        if isinstance(value, bool):
            return Number(Const("b", value))
        if isinstance(value, int) and abs(value) < 1 << SMALL:
            return Number(Const("i", value))
        if type(value) in BY_TYPE:
            return Number(Const(BY_TYPE[type(value)], value.item()), False)
        if isinstance(value, float):
            return Number(Const("f", float(value)), not isinstance(value, np.generic))
        has_parts = kind_of(value) and (type(value) is not FunctionType or value.__closure__)
        return Known(value, (self.root_of(value),) if has_parts else ())

    def part(self, base: Known, step: Step, node: ast.AST) -> Value:
        """A part of an object: a slot, or something that is known."""
        path = (*base.path, step)
        if type(base.value) is list:
            self.lists_read[base.path] = None
        if path in self.slots:
            name = self.slots[path]
            if name not in self.names:
                self.refuse(f"{name} is not bound", node)
            return self._of_Name(ast.copy_location(ast.Name(name, ast.Load()), node))
        found = at(base.value, step)
        if found is None or found.value is ABSENT or self._is_computed(found):
            self.refuse(f"the {step.kind} {step.key}, which may be computed", node)
        if not base.path:
            self.note(Read(referred(base.value), step, found.value, found.is_own))
            return self.of_object(found.value)
        value = bound(base.value, found)
        if is_variable(value):
            raise Undescribed(path)
        if type(value) is MethodType and not found.is_own:
            self.note(Read(base.path, step, found.value, False))
            return Known(value, path)
        kind = kind_of(value)
        self.note(Read(base.path, step, None if kind else value, found.is_own, kind))
        return Known(value, path) if kind else self.of_object(value)

    def numbers_of(self, base: Value, node: ast.AST) -> Listed | None:
        """A list of numbers of one type that an object is, which the loop does not change; None of anything else."""
        if not isinstance(base, Known) or not base.path or type(base.value) is not list or not base.value:
            return None
        kind = type(base.value[0])
        step = Step("numbers", kind)
        if kind not in (int, float, np.int64, np.float64) or at(base.value, step) is None:
            return None
        items = self.part(base, step, node)
        return Listed(kind in (int, float), items) if isinstance(items, Elements) else None

    def _is_computed(self, found: Found) -> bool:
        """Whether what a class has is a descriptor, and not a function."""
        return not found.is_own and hasattr(type(found.value), "__get__") and type(found.value) is not FunctionType

    def _of_Attribute(self, node: ast.Attribute) -> Value:
        base = self.value(node.value)
        if isinstance(base, Known):
            if base.value is np.add and node.attr == "at":
                return Known(functions.ADD_AT)
            return self.part(base, self.step_of(base, node), node)
        if isinstance(base, Elements):
            if node.attr in ("shape", "ndim", "size"):
                return self._measured(node.attr, base.extents)
            if node.attr == "dtype":
                return Known(KINDS[base.kind].dtype)
            if node.attr == "T":
                return self.turned(base, tuple(reversed(range(len(base.extents)))))
        self.refuse(f"the attribute {node.attr}", node)

    def _float(self, text: str, node: ast.AST) -> float:
        try:
            return float(text)
        except ValueError:
            self.refuse("float of this text", node)

    def _measured(self, name: str, extents: tuple[Expr, ...]) -> Value:
        """The shape, the number of axes or the number of elements of a value with these extents."""
        if name == "shape":
            return Several(tuple(map(Number, extents)))
        size: Expr = ONE if name == "size" else Const("i", len(extents))
        for one in extents if name == "size" else ():
            size = self.integer("mul", size, one)
        return Number(size)

    def _is_instance(self, value: Value, kinds: Value, node: ast.AST) -> bool:
        """`isinstance`, of a value whose class is known."""
        if isinstance(kinds, Several):
            return any([self._is_instance(value, one, node) for one in kinds.items])
        kind: Any = kinds.value if isinstance(kinds, Known) else None
        if type(kind) is not type and getattr(kind, "__module__", "") not in ("numbers", "collections.abc"):
            self.refuse("isinstance with such a class", node)
        return issubclass(self._class_of(value, node), kind)

    def _class_of(self, value: Value, node: ast.AST) -> type:
        match value:
            case Elements():
                return np.ndarray
            case Number(types=((kind, is_weak),)):
                return type(OF_PYTHON[kind]) if is_weak else KINDS[kind].dtype.type
            case Listed() | Several(is_list=True):
                return list
            case Several():
                return tuple
            case Known():
                return type(value.value)
        self.refuse("the class of this", node)

    def _of_Tuple(self, node: ast.Tuple) -> Value:
        return Several(tuple(self.value(one) for one in node.elts))

    def _of_List(self, node: ast.List) -> Value:
        if any(isinstance(one, ast.Starred) for one in node.elts):
            self.refuse("a list with *", node)
        return Several(tuple(self.value(one) for one in node.elts), True)

    def _of_Subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        if isinstance(base, Several):
            index = self.index_of(self.value(node.slice))
            if not isinstance(index, Const):
                self.refuse("an index of a tuple that is not known", node)
            if not -len(base.items) <= index.value < len(base.items):
                self.refuse("an index of a tuple that is out of range", node)
            return base.items[int(index.value)]
        if isinstance(base, Known) and base.path:
            try:
                return self.part(base, self.step_of(base, node), node)
            except NotConstant:
                base = self.numbers_of(base, node) or base
                if isinstance(base, Known):
                    raise
        if isinstance(base, Listed):
            assert base.items is not None
            if isinstance(node.slice, ast.Slice):
                self.refuse("a slice of a list", node)
            found = self.inside(self.index_of(self.value(node.slice)), base.items.extents[0])
            return Number(base.items.at((found,)), base.weak)
        if not isinstance(base, Elements):
            self.refuse("an item of this", node)
        found = self.item(base, node.slice)
        if isinstance(found, Expr):
            return Number(found, False)
        return found

    def step_of(self, base: Known, node: ast.Attribute | ast.Subscript) -> Step:
        """The step to an attribute, or to an item of a dictionary or a list."""
        if isinstance(node, ast.Attribute):
            return Step("attribute", self._plain_name(node.attr))
        key = self.value(node.slice)
        if isinstance(key, Number) and isinstance(key.expr, Const) and key.expr.kind == "i":
            number = int(key.expr.value)
            is_from_end = number < 0 and type(base.value) is not dict
            return Step("item", number + self.length(base, node) if is_from_end else number)
        if isinstance(key, Known) and type(key.value) is str:
            return Step("item", key.value)
        raise NotConstant("an item of this, at a key that is not known", node.lineno)

    def _plain_name(self, name: str) -> str:
        """The name of an attribute. A class adds its name to those that begin with two underscores."""
        names = self.code.co_names
        if not name.startswith("__") or name.endswith("__") or name in names:
            return name
        found = [one for one in names if one.startswith("_") and one.endswith(name)]
        return found[0] if len(found) == 1 else self.refuse(f"the attribute {name}, which has another name in a class")

    def length(self, base: Known, node: ast.AST) -> int:
        """The length of a list or a tuple."""
        found = at(base.value, Step("length"))
        if found is None or not base.path:
            self.refuse("the length of this", node)
        self.lists_read[base.path] = None
        self.note(Read(base.path, Step("length"), found.value))
        return int(found.value)

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
        if isinstance(value, Number) and isinstance(value.expr, Const) and value.expr.kind in ("f", "f4", "i"):
            return Number(Const(value.expr.kind, -value.expr.value), value.weak)
        return self.elementwise("neg", (value,), node)

    def _of_BinOp(self, node: ast.BinOp) -> Value:
        name = OPERATORS.get(type(node.op)) or self.refuse("this operator", node)
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left, Elements) or isinstance(right, Elements):
            left, right = self.array_like(left, node), self.array_like(right, node)
        return self.binary(name, left, right, node)

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
        if len(pair) == 2 and any(x.path for x in pair) and all(x.value is not None for x in pair):
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
        if (kind, one.weak, one.strong) != (other.expr.kind, other.weak, other.strong):
            self.refuse("a conditional expression of two kinds", node)
        return Number(Op(kind, "select", (self.let(test), one.expr, other.expr)), one.weak, strong=one.strong)

    def _of_Call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if isinstance(base, Elements):
                return self.method(base, node.func.attr, node)
        function = self.known(node.func)
        args = self.arguments(node)
        if functions.name_of(function) in MAKING:
            found = self.made(function, args, node)
            return found or self.refuse(f"a call of {function.__name__}", node)
        if isinstance(function, np.ufunc) or (getattr(function, "__module__", None) or "").startswith("numpy"):
            args = tuple(self.array_like(one, node) for one in args)
        return self.call(function, (*args, *self._axis_of(function, node)), node)

    def arguments(self, node: ast.Call) -> tuple[Value, ...]:
        """The values of the arguments without names."""
        raise NotImplementedError

    def array_like(self, value: Value, node: ast.AST) -> Value:
        """A value as an operand of NumPy's: the array of a list of numbers."""
        found = value if isinstance(value, Listed) else self.numbers_of(value, node)
        return value if found is None else found.array

    def _axis_of(self, function: Any, node: ast.Call) -> tuple[Value, ...]:
        """The value of the keyword `axis` of a reduction, which comes after its first argument."""
        if not node.keywords:
            return ()
        if (
            [one.arg for one in node.keywords] != ["axis"]
            or len(node.args) > 1 + (function is np.roll)
            or not any(function is one for one in (*_REDUCING, np.roll, np.concatenate))
        ):
            self.refuse("a call with keywords", node)
        return (self.value(node.keywords[0].value),)

    def method(self, base: Elements, name: str, node: ast.Call) -> Value:
        if name == "copy" and not node.args and not node.keywords:
            return self.in_order(base)
        if name == "astype" and len(node.args) == 1 and not node.keywords:
            return self.as_kind(base, self._kind_of_dtype(node.args[0]), node)
        if name in ("sum", "prod", "max", "min", "mean", "argmax", "argmin", "dot"):
            function = getattr(np, name)
            args = (base, *(self.value(one) for one in node.args), *self._axis_of(function, node))
            return self.call(function, args, node)
        self.refuse(f"the method {name}", node)

    def _kind_of_dtype(self, node: ast.expr) -> str:
        """The kind that an expression names as a dtype."""
        dtype = self.known(node)
        if isinstance(dtype, type) and (issubclass(dtype, np.generic) or any(dtype is x for x in (float, int, bool))):
            dtype = np.dtype(dtype)
        found = BY_DTYPE.get(dtype) if isinstance(dtype, np.dtype) else None
        return found or self.refuse("this dtype", node)

    def made(self, function: Any, args: tuple[Value, ...], node: ast.Call) -> Value | None:
        """An array that NumPy makes: of zeros or ones, of a number, or of a list. What `empty` holds is zero, too."""
        name = functions.name_of(function)
        first, *rest = args or (None,)
        given = ""
        if [one.arg for one in node.keywords] == ["dtype"]:
            given = self._kind_of_dtype(node.keywords[0].value)
        elif node.keywords:
            self.refuse("a call with keywords", node)
        if len(rest) != (name == "full"):
            return None
        if name == "array":
            return self._as_array(first, given, node)
        like = first if name.endswith("_like") else None
        kind = given or (like.kind if isinstance(like, Elements) else "f")
        value = converted(Const("b", name.startswith("ones")), kind)
        if name == "full" and isinstance(rest[0], Number):
            filled = self._as_array(Several((rest[0],)), given, node)
            assert filled is not None
            kind, value = filled.kind, filled.at((ZERO,))
        elif name == "full":
            return None
        if isinstance(like, Elements) and not self.is_in_order(like):
            self.refuse("an array like one whose memory has an order that is not known", node)
        if name.endswith("_like"):
            return Elements(kind, like.extents, lambda _: value) if isinstance(like, Elements) else None
        items = first.items if isinstance(first, Several) else (first,)
        extents = [self.index_of(one) for one in items if isinstance(one, Number)]
        if len(extents) < len(items):
            return None
        for one in extents:
            self.check(Op("b", "ge", (one, Const("i", 0))))
        lengths = tuple(map(self.let, extents))
        if name == "eye":
            ways = converted(Const("b", True), kind), converted(Const("b", False), kind)
            is_square = isinstance(first, Number)
            return (
                Elements(kind, lengths * 2, lambda q: Op(kind, "select", (Op("b", "eq", q), *ways)))
                if is_square
                else None
            )
        return Elements(kind, lengths, lambda _: value)

    def _as_array(self, value: Value | None, kind: str, node: ast.AST) -> Elements | None:
        """The array that NumPy makes of a list, of this kind if one is given; None of something else."""
        if isinstance(value, Listed):
            found = value.array
        elif isinstance(value, Several):
            found = self.array_of(value, node)
        else:
            return None
        made = self.as_kind(found, kind, node) if kind not in ("", found.kind) else found
        assert isinstance(made, Elements)
        return made

    def call(self, function: Any, args: tuple[Value, ...], node: ast.AST) -> Value:
        name = functions.name_of(function)
        if isinstance(function, type) and is_float(BY_TYPE.get(function, "b")) and len(args) == 1:
            number = args[0] if isinstance(args[0], Number) else self.refuse("a conversion of an array", node)
            return self.as_kind(number, BY_TYPE[function], node)
        if function is math.trunc and any(
            isinstance(one, Number) and not (one.weak is True or one.is_pythons_float) for one in args
        ):
            self.refuse("math.trunc of a number that is no float", node)
        found = self._call(name, args, node)
        if found is None and len(args) == 1 and isinstance(args[0], Number):
            found = self._python_number(name, args[0])
        known = functions.FUNCTIONS.get(name)
        if found is None and known is not None and known.count == len(args) and name not in ("min", "max"):
            is_pythons = getattr(function, "__module__", "") == "math"
            if is_pythons and not all(isinstance(one, Number) for one in args):
                self.refuse(f"math.{function.__name__} of an array", node)
            if is_pythons and not name.startswith("math."):
                args = tuple(_as_pythons(one) for one in args)
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
            case "roll", (Elements() as one, Number() as shift, *axis) if len(axis) < 2:
                return self.rolled(one, shift, axis[0] if axis else None, node)
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
            case "len", (Listed(items=Elements() as one),):
                return Number(one.extents[0])
            case "len", (Several(items),):
                return Number(Const("i", len(items)))
            case (("np.copy" | "deepcopy"), (Elements() as one,)) if name == "np.copy" or self.is_in_order(one):
                return Elements(one.kind, one.extents, one.at)
            case "deepcopy", (Number() as one,):
                return one
            case "float", (Known(value=str() as text),):
                return Number(Const("f", self._float(text, node)))
            case "isinstance", (one, kinds):
                return Number(Const("b", self._is_instance(one, kinds, node)))
            case "isscalar", (one,):
                return Number(
                    Const("b", issubclass(self._class_of(one, node), (np.generic, numbers.Number, str, bytes)))
                )
            case (("shape" | "ndim" | "size"), (Elements() | Number() as one,)):
                return self._measured(name, one.extents if isinstance(one, Elements) else ())
            case "len", (Known() as one,):
                return Number(Const("i", self.length(one, node)))
            case (("min" | "max"), (Number() as one, Number() as other, *others)):
                found = self._extremum(name, one, other, node)
                return self._call(name, (found, *others), node) if others else found
            case "power", (one, other):
                return self.power(one, other, node, is_function=True)
            case (("hstack" | "vstack" | "concatenate"), (Several(items), *axis)) if len(axis) < 2:
                return self._stacked(name, items, axis[0] if axis else None, node)
            case (("triu" | "tril"), (Elements() as one, *shift)) if len(shift) < 2:
                return self.triangle(one, shift[0] if shift else Number(Const("i", 0)), name == "tril", node)
            case (("where" | "nonzero"), (Elements() as one,)):
                found = self.truths(one, node)
                assert isinstance(found, Elements)
                return Several(tuple(Elements("i", x.extents, x.at) for x in self.positions(found)))
            case "where", (condition, one, other):
                return self.where(condition, one, other, node)
            case "clip", (one, low, high):
                return self.clip(one, low, high, node)
            case (("logical_and" | "logical_or" | "logical_xor" | "logical_not"), _):
                truths = tuple(self.truths(one, node) for one in args)
                found = self.elementwise(name.removeprefix("logical_"), truths, node)
                return Number(found.expr, False) if isinstance(found, Number) else found
        return None

    def _stacked(self, name: str, items: tuple[Value, ...], axis: Value | None, node: ast.AST) -> Value:
        """`hstack`, `vstack` or `concatenate`."""
        if name == "vstack":
            items = tuple(
                self.widened(one, [0]) if isinstance(one, Elements) and len(one.extents) == 1 else one for one in items
            )
        along = 0
        if name == "hstack":
            along = int(not any(isinstance(one, Elements) and len(one.extents) == 1 for one in items))
        elif axis is not None:
            found = axis.expr if isinstance(axis, Number) and name == "concatenate" else None
            along = int(found.value) if isinstance(found, Const) else self.refuse("an axis that is not known", node)
        return self.joined(items, along, node)

    def _extremum(self, name: str, one: Number, other: Number, node: ast.AST) -> Value:
        """`min` or `max` of Python: the first value, unless the second is beyond it."""
        kinds = one.expr.kind, other.expr.kind
        if len({*map(is_float, kinds)}) > 1 or "b" in kinds or not (one.is_certain and other.is_certain):
            self.refuse(f"{name} of numbers of two kinds", node)
        if kinds[0] == kinds[1] and is_integer(kinds[0]):
            return Number(Op(kinds[0], name, (one.expr, other.expr)), one.weak if one.weak == other.weak else None)
        kind = holding(*kinds)
        first, second = (replace(x, expr=self.let(x.expr)) for x in (one, other))
        is_beyond = self.let(self.scalar("lt" if name == "min" else "gt", (second, first), node))
        weak = chosen_weak(is_beyond, second.weak, first.weak)
        chosen = Op(kind, "select", (is_beyond, converted(second.expr, kind), converted(first.expr, kind)))
        return either(in_variable(chosen, one, one.weak), in_variable(chosen, other, other.weak), None, weak)

    def _python_number(self, name: str, number: Number) -> Value | None:
        """A number as a number of Python's: `int`, `float`, `bool`, and roundings to an integer."""
        rounding = {"int": "trunc", "math.floor": "floor", "math.ceil": "ceil", "round": "rint"}.get(name)
        if name == "float":
            return Number(converted(number.expr, "f"))
        if name == "bool":
            return Number(self.truth(number))
        if rounding is None:
            return None
        if not is_float(number.expr.kind):
            if name == "round" and number.weak is not True:
                return None
            return Number(converted(number.expr, "i"), True, None, number.is_certain)
        whole = self.let(Op("f", rounding, (converted(number.expr, "f"),)))
        self.check(Op("b", "lt", (Op("f", "fabs", (whole,)), Const("f", float(1 << 53)))))
        return Number(Op("i", "cast", (whole,)))


def _as_pythons(value: Value) -> Value:
    """A number as a function of `math` takes it: a float64."""
    if not isinstance(value, Number) or value.expr.kind in OF_PYTHON:
        return value
    return Number(converted(value.expr, "f"))
