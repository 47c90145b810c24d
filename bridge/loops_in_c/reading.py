"""From the source of a loop and the values that it begins with to its typed program.

The statements mean what Python and NumPy mean by them. What may raise, warn or need another type is a `Check`: where
it fails, Python runs the iteration. What is not in the subset raises `NotCompiled`, with the line and the reason.
"""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from bridge.loops_in_c import functions
from bridge.loops_in_c.ir import (
    Array,
    Assign,
    Block,
    Check,
    Const,
    Dot,
    Each,
    Expr,
    For,
    If,
    Let,
    Load,
    Make,
    Op,
    Program,
    Size,
    Stmt,
    Store,
    Sum,
    Var,
    While,
)


class NotCompiled(Exception):
    """A loop stays in Python: `reason`, at `line`."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(f"line {line}: {reason}")
        self.reason, self.line = reason, line


class _Again(Exception):
    """A variable has turned out to hold another kind of number: read once more."""


@dataclass(frozen=True)
class Number:
    """A value without axes; `weak` if it is a number of Python's; `flag` is the variable that says if it is bound."""

    expr: Expr
    weak: bool = True
    flag: str | None = None


@dataclass(frozen=True)
class Axis:
    """One axis of a memory's index: where a view starts, and how far one step of the view's axis goes."""

    start: Expr
    step: int = 0
    axis: int | None = None


@dataclass(frozen=True)
class Elements:
    """A value with axes: its extents, and each element by its indices. `view` tells where it lies, if it is a view."""

    kind: str
    extents: tuple[Expr, ...]
    at: Callable[[tuple[Expr, ...]], Expr]
    array: str | None = None
    view: tuple[Axis, ...] = ()
    is_copy: bool = True


@dataclass(frozen=True)
class Known:
    """An object that is known when the loop is read: a module, a function, a dtype, None, a text."""

    value: Any


@dataclass(frozen=True)
class Several:
    """A tuple."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Unbound:
    """What a name holds at the beginning of an iteration, where that is another thing than at its end."""


Value = Number | Elements | Known | Several | Unbound

ZERO, ONE = Const("i", 0), Const("i", 1)
_COMPARISONS = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul",
}  # fmt: skip
_SMALL = 31
_RANGES = frozenset({"add", "sub", "mul"})


class Reader:
    """Reads one loop.

    Parameters
    ----------
    live : what the names hold when the loop begins: numbers as kinds, arrays as `Array`s, others as they are.
    look : what a name is that the function does not assign: a global, a builtin.
    """

    def __init__(
        self,
        live: Mapping[str, Any],
        arrays: Mapping[str, Array],
        look: Callable[[str], Any],
        not_negative: frozenset[str] = frozenset(),
    ) -> None:
        self.live = live
        self.not_negative = not_negative
        self.flagged: set[str] = set()
        self.first_arrays = arrays
        self.look = look
        self.kinds: dict[str, str] = {}
        self.mixed: set[str] = set()
        self.read: dict[str, Any] = {}

    def program(self, loop: ast.For | ast.While) -> Program:
        """The typed program of a loop."""
        for _ in range(8):
            try:
                return self._once(loop)
            except _Again:
                continue
        raise NotCompiled("the kinds of its numbers do not settle", loop.lineno)

    def _once(self, loop: ast.stmt) -> Program:
        self.arrays = dict(self.first_arrays)
        self.variables: dict[str, str] = {}
        self.names: dict[str, Value] = {}
        self.nonneg: set[str] = set(self.not_negative)
        self.width: dict[str, int] = dict.fromkeys(_assigned(loop), 63)
        self.stores = Counter(_stores(loop))
        self.flags: list[tuple[str, str]] = []
        self.written: set[str] = set()
        self.fresh = 0
        self.line = loop.lineno
        for name, value in self.live.items():
            self.names[name] = self._live(name, value)
        self.out: list[Stmt] = []
        self.statement(loop)
        return Program(self.arrays, self.variables, self.out, self.written)

    def _live(self, name: str, value: Any) -> Value:
        if isinstance(value, str) and value[:1] in "ifb" and len(value) <= 2:
            kind = self.kinds.setdefault(name, value[0])
            self.variables[name] = kind
            return Number(Var(kind, name), value.endswith("w"))
        if isinstance(value, Array):
            return self._whole(name, value)
        return Known(value)

    def _whole(self, name: str, array: Array) -> Elements:
        axes = tuple(Axis(ZERO, 1, axis) for axis in range(array.ndim))
        return self._viewed(name, tuple(Size("i", name, axis) for axis in range(array.ndim)), axes)

    def _viewed(self, name: str, extents: tuple[Expr, ...], axes: tuple[Axis, ...]) -> Elements:
        kind = self.arrays[name].kind

        def at(index: tuple[Expr, ...]) -> Expr:
            return Load(kind, name, _placed(axes, index))

        return Elements(kind, extents, at, name, axes, False)

    def refuse(self, reason: str, node: ast.AST | None = None) -> NoReturn:
        raise NotCompiled(reason, getattr(node, "lineno", self.line))

    # Small things that statements are made of.

    def new(self, letter: str = "t") -> str:
        self.fresh += 1
        return f"{letter}{self.fresh}_"

    def let(self, expr: Expr) -> Expr:
        """A name for a value, unless it is one or a number."""
        if isinstance(expr, (Const, Var, Size)):
            return expr
        for one in self.block:
            if isinstance(one, Let) and one.expr == expr and not self._may_have_changed(expr):
                return Var(expr.kind, one.name)
        name = self.new()
        self.block.append(Let(name, expr))
        self._note(name, expr)
        return Var(expr.kind, name)

    def _may_have_changed(self, expr: Expr) -> bool:
        """Whether a statement has had an effect already that may alter a value."""
        effects = [one for one in self.block if not isinstance(one, (Let, Check))]
        return bool(effects) and any(isinstance(one, (Load, Var)) for one in expr.walk())

    def _note(self, name: str, expr: Expr) -> None:
        """Take note of what is known of an integer."""
        if expr.kind == "i":
            self.width[name] = self.bits(expr)
            if self.is_nonneg(expr):
                self.nonneg.add(name)

    def hold(self, expr: Expr) -> Expr:
        """A value that later statements read, in a variable."""
        if isinstance(expr, (Const, Size)):
            return expr
        name = self.new("v")
        self.variables[name] = expr.kind
        self.block.append(Assign(name, expr))
        self._note(name, expr)
        return Var(expr.kind, name)

    def check(self, that: Expr) -> None:
        if isinstance(that, Const):
            if not that.value:
                self.refuse("an operation that always raises")
            return
        if Check(that) not in self.block or self._may_have_changed(that):
            self.block.append(Check(that))

    def is_nonneg(self, expr: Expr) -> bool:
        """Whether an integer is known not to be negative."""
        match expr:
            case Const():
                return expr.value >= 0
            case Var():
                return expr.name in self.nonneg
            case Size():
                return True
            case Op():
                return expr.name in ("add", "mul", "max", "floordiv") and all(map(self.is_nonneg, expr.args))
        return False

    def bits(self, expr: Expr) -> int:
        """How many bits an integer may take, at most."""
        match expr:
            case Const():
                return int(expr.value).bit_length()
            case Var():
                return self.width.get(expr.name, _SMALL + 1)
            case Size():
                return 40
            case Op(name="add" | "sub"):
                return max(map(self.bits, expr.args)) + 1
            case Op(name="mul"):
                return sum(map(self.bits, expr.args))
            case Op(name="neg" | "abs" | "max" | "min" | "select"):
                return max(map(self.bits, expr.args))
        return 63

    def integer(self, name: str, a: Expr, b: Expr) -> Expr:
        """An operation of integers, which stops where the result does not fit."""
        if isinstance(a, Const) and isinstance(b, Const):
            value = getattr(operator, name)(a.value, b.value)
            if abs(value) < 1 << 62:
                return Const("i", value)
        if name in ("add", "sub") and b == ZERO:
            return a
        expr = Op("i", name, (a, b))
        if self.bits(expr) > 62:
            self.check(Op("b", f"{name}_fits", (a, b)))
            return self.let(expr)
        return expr

    # Statements.

    def statement(self, node: ast.stmt) -> None:
        self.line = node.lineno
        method = getattr(self, f"_do_{type(node).__name__}", None)
        if method is None:
            self.refuse(f"a statement of kind {type(node).__name__.lower()}", node)
        if isinstance(node, (ast.For, ast.While, ast.If)):
            method(node)
            return
        outer, self.block = getattr(self, "block", None), []
        method(node)
        if self.block:
            self._check_order(node)
            self.out.append(Block(node.lineno, self.block))
        self.block = outer

    def _check_order(self, node: ast.stmt) -> None:
        """The way back computes lets again from what variables held before the statement: none may be newer."""
        assigned: set[str] = set()
        for one in self.block:
            read = {x.name for expr in _exprs_of(one) for x in expr.walk() if isinstance(x, Var)}
            if read & assigned:
                self.refuse("a statement that reads a variable which it has assigned", node)
            if isinstance(one, Assign) and not one.name.endswith("_"):
                assigned.add(one.name)

    def body(self, nodes: Sequence[ast.stmt]) -> list[Stmt]:
        before, self.out = self.out, []
        for number, node in enumerate(nodes):
            self.statement(node)
            rest = nodes[number + 1 :]
            if rest and _jumps(node):
                # What follows runs if no flag is set.
                line, inner = node.lineno, self.body(rest)
                flags = [Op("b", "not", (Var("b", flag),)) for flag in self.flags[-1] if flag in self.variables]
                test: Expr = flags[0]
                for one in flags[1:]:
                    test = Op("b", "and", (test, one))
                self.out.append(If(test, inner, []))
                self.line = line
                break
        made, self.out = self.out, before
        return made

    def computed(self, line: int, compute: Callable[[], Any]) -> Any:
        """Run something that may add lets; they become a block."""
        outer, self.block = getattr(self, "block", None), []
        try:
            return compute()
        finally:
            if self.block:
                self.out.append(Block(line, self.block))
            self.block = outer

    def _do_Pass(self, node: ast.Pass) -> None:
        pass

    def _do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.refuse("a call for its effect", node)

    def _do_Break(self, node: ast.stmt) -> None:
        self._raise_flag(0, node)

    def _do_Continue(self, node: ast.stmt) -> None:
        self._raise_flag(1, node)

    def _raise_flag(self, which: int, node: ast.stmt) -> None:
        if not self.flags:
            self.refuse("a jump out of the loop", node)
        self.block.append(Assign(self.flags[-1][which], Const("b", True)))

    def _do_Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        if len(node.targets) > 1:
            value = self._held(value)
        for target in node.targets:
            self.assign(target, value)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        name = _OPERATORS.get(type(node.op)) or self.refuse("this operator", node)
        target = self.target(node.target)
        before = self.value(node.target) if target is None else target
        if isinstance(before, Load):
            before = Number(before, False)
        value = self.binary(name, before, self.value(node.value), node)
        if isinstance(before, Elements) and isinstance(node.target, ast.Name):
            self.fill(before, value)
        elif target is None:
            self.assign(node.target, value)
        elif isinstance(target, Elements):
            self.fill(target, value)
        else:
            self.store(target, value)

    def target(self, node: ast.expr) -> Any:
        """Where an item of an array lies; None for a name."""
        if isinstance(node, ast.Name):
            return None
        if isinstance(node, ast.Subscript):
            base = self.value(node.value)
            if isinstance(base, Elements) and base.array is not None:
                return self.item(base, node.slice)
        self.refuse("a store into this", node)

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            if not isinstance(value, Several) or len(value.items) != len(target.elts):
                self.refuse("an assignment to several names", target)
            if any(isinstance(one, ast.Starred) for one in target.elts):
                self.refuse("a starred target", target)
            held = [self._held(one) for one in value.items]
            for one, item in zip(target.elts, held, strict=True):
                self.assign(one, item)
        elif isinstance(target, ast.Name):
            self.bind(target.id, value)
        else:
            place = self.target(target)
            if isinstance(place, Elements):
                self.fill(place, value)
            else:
                self.store(place, value)

    def _held(self, value: Value) -> Value:
        """A number of a tuple, before the names that it is assigned to change."""
        if isinstance(value, Number):
            return Number(self.hold(value.expr), value.weak)
        if isinstance(value, Elements):
            self.refuse("an array in a tuple")
        return value

    def bind(self, name: str, value: Value) -> None:
        """A name of the program stands for a value."""
        if isinstance(value, Number):
            kind = self.kinds.setdefault(name, value.expr.kind)
            expr = value.expr
            if kind != expr.kind:
                joined = "f" if "f" in (kind, expr.kind) else "i"
                if joined != kind:
                    self.kinds[name] = joined
                    self.mixed.add(name)
                    raise _Again
                self.mixed.add(name)
                expr = converted(expr, kind)
            self.variables[name] = kind
            self.block.append(Assign(name, expr))
            self._flag(name)
            self.names[name] = Number(Var(kind, name), value.weak)
        elif isinstance(value, Elements):
            if name in self.variables:
                self.refuse(f"{name} holds a number and an array")
            self.names[name] = self._bound(name, value)
        else:
            parts = value.items if isinstance(value, Several) else ()
            if any(isinstance(one, Number) and not isinstance(one.expr, (Const, Size)) for one in parts):
                self.refuse(f"{name} is a tuple of numbers")
            self.names[name] = value

    def _flag(self, name: str) -> None:
        """Say that a variable is bound, where that is not known otherwise."""
        if name in self.flagged:
            self.variables[bound_flag(name)] = "b"
            self.block.append(Assign(bound_flag(name), Const("b", True)))

    def _maybe(self, name: str, value: Number) -> Number:
        """A number of which it is known only at run time whether it is bound."""
        if name not in self.flagged:
            self.flagged.add(name)
            raise _Again
        return Number(value.expr, value.weak, bound_flag(name))

    def _bound(self, name: str, value: Elements) -> Elements:
        if not value.is_copy:
            axes = tuple(Axis(self._variable(name, one.start), one.step, one.axis) for one in value.view)
            assert value.array is not None
            if self.arrays[value.array].is_local and value.array != name:
                self.refuse(f"{name} is a view of {value.array}, which the loop makes")
            return self._viewed(value.array, tuple(self._variable(name, one) for one in value.extents), axes)
        local = f"{name}_{len(value.extents)}{value.kind}"
        reads = {one.array for one in _loads(value)}
        if local in reads:
            copy = f"{local}c"
            self._make(copy, value)
            value = self._whole(copy, self.arrays[copy])
        self._make(local, value)
        return self._whole(local, self.arrays[local])

    def _make(self, local: str, value: Elements) -> None:
        self.arrays[local] = Array(value.kind, len(value.extents), local, True, True)
        self.block.append(Make(local, value.extents))
        names = tuple(self.new("q") for _ in value.extents)
        index = tuple(Var("i", one) for one in names)
        self.block.append(Each(names, value.extents, local, index, value.at(index)))

    def _variable(self, name: str, expr: Expr) -> Expr:
        """A place of a view that a name stands for, as a variable: it stays as it is."""
        if isinstance(expr, (Const, Size)):
            return expr
        own = self.new("p")[:-1]
        self.variables[own] = "i"
        self.block.append(Assign(own, expr))
        self._note(own, expr)
        return Var("i", own)

    def store(self, place: Load, value: Value) -> None:
        """One element is written."""
        if not isinstance(value, Number):
            self.refuse("an array is stored into an element")
        self.written.add(place.array)
        self.block.append(Store(place.array, place.index, self._cast(value.expr, place.kind)))

    def _cast(self, expr: Expr, kind: str) -> Expr:
        if "fib".index(expr.kind) < "fib".index(kind):
            self.refuse(f"a value of kind {expr.kind} is stored into an array of kind {kind}")
        return converted(expr, kind)

    def fill(self, place: Elements, value: Value) -> None:
        """All elements of a view are written."""
        assert place.array is not None
        if isinstance(value, Number):
            at: Callable[[tuple[Expr, ...]], Expr] = lambda index, expr=self.let(value.expr): expr  # noqa: E731
        elif isinstance(value, Elements):
            at = self.broadcast(value, place.extents).at
        else:
            self.refuse("a store of this")
        self.written.add(place.array)
        names = tuple(self.new("q") for _ in place.extents)
        index = tuple(Var("i", one) for one in names)
        target = place.at(index)
        assert isinstance(target, Load)
        expr = self._cast(at(index), place.kind)
        memory = self.arrays[place.array].memory
        others = [
            one for one in expr.walk() if isinstance(one, Load) and self.arrays[one.array].memory == memory
        ]
        is_buffered = any((one.array, one.index) != (target.array, target.index) for one in others)
        self.block.append(Each(names, place.extents, place.array, target.index, expr, is_buffered))

    def broadcast(self, value: Elements, extents: tuple[Expr, ...]) -> Elements:
        """A value with the extents that it is broadcast to."""
        surplus = len(value.extents) - len(extents)
        if surplus > 0:
            self.refuse("a value with more axes than what it is stored into")
        picked: list[bool] = []
        for own, other in zip(value.extents, extents[-len(value.extents) :], strict=True):
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

    # Control flow.

    def _do_If(self, node: ast.If) -> None:
        test = self.computed(node.lineno, lambda: self.hold(self.truth(self.value(node.test))))
        if isinstance(test, Const):
            for one in node.body if test.value else node.orelse:
                self.statement(one)
            return
        before = dict(self.names)
        body = self.body(node.body)
        after, self.names = self.names, dict(before)
        orelse = self.body(node.orelse)
        for name in after.keys() | self.names.keys():
            one, other = after.get(name), self.names.get(name)
            if one != other:
                self.names[name] = self._merged(name, one, other)
        self.out.append(If(test, body, orelse))

    def _merged(self, name: str, one: Value | None, other: Value | None) -> Value:
        if isinstance(one, Number) and isinstance(other, Number) and one.expr == other.expr:
            return Number(one.expr, one.weak and other.weak, one.flag or other.flag)
        if isinstance(one, Number) and other is None:
            return self._maybe(name, one)
        if isinstance(other, Number) and one is None:
            return self._maybe(name, other)
        if isinstance(one, Elements) and isinstance(other, Elements) and one.array == other.array:
            if not one.is_copy and one.view == other.view and one.extents == other.extents:
                return one
        return Unbound()

    def looped(self, body: Callable[[], list[Stmt]]) -> list[Stmt]:
        """Read the body of a loop, whose names begin as the body leaves them."""
        before = dict(self.names)
        while True:
            entry = dict(self.names)
            made = body()
            changed = False
            for name, value in self.names.items():
                was = entry.get(name, Unbound())
                if isinstance(was, Unbound) or _alike(value, was):
                    continue
                merged = self._merged(name, value, was)
                changed = changed or not _alike(merged, was)
                entry[name] = merged
            if not changed:
                break
            self.names = entry
        if self.flags:
            # After no iteration at all, names are what they were. (Python runs the whole loop if it has none.)
            for name in list(self.names):
                was = before.get(name)
                if was is None or not _alike(self.names[name], was):
                    self.names[name] = self._merged(name, self.names[name], was)
        return made

    def _do_For(self, node: ast.For) -> None:
        if node.orelse:
            self.refuse("else of a loop", node)
        if not isinstance(node.target, ast.Name):
            self.refuse("a loop with several variables", node)
        call = node.iter
        if not isinstance(call, ast.Call) or call.keywords or self.known(call.func) is not range:
            self.refuse("a loop over something else than a range", node)
        start, count, step = self.computed(node.lineno, lambda: self._range(call))
        name = node.target.id
        if self.kinds.setdefault(name, "i") != "i":
            self.refuse(f"{name} is not always an integer", node)
        if self.stores[name] > 1 and name in _assigned(ast.Module(node.body, [])):
            self.refuse(f"{name} is assigned in its own loop", node)
        self.variables[name] = "i"
        goes_up = step.value > 0
        was_nonneg, width = name in self.nonneg, self.width.get(name)
        if self.is_nonneg(start) if goes_up else self._ends_above(call):
            self.nonneg.add(name)
        self.width[name] = 41
        flags = self._flags(node)

        def body() -> list[Stmt]:
            self.names[name] = Number(Var("i", name), True)
            made = self.jumping(node.body, flags)
            if name in self.flagged:
                self.variables[bound_flag(name)] = "b"
                made.insert(0, Block(node.lineno, [Assign(bound_flag(name), Const("b", True))]))
            return made

        made = self.looped(body)
        if not was_nonneg:
            self.nonneg.discard(name)
        if width is not None:
            self.width[name] = width
        self._reset(flags, node)
        self.out.append(For(name, start, count, step, made, flags[0] if flags[0] in self.variables else None))

    def _ends_above(self, call: ast.Call) -> bool:
        """Whether a range that counts down ends at -1 or above."""
        stop = call.args[1]
        if isinstance(stop, ast.Name):
            return stop.id in self.not_negative
        try:
            value = ast.literal_eval(stop)
        except ValueError:
            return False
        return isinstance(value, int) and value >= -1

    def _range(self, call: ast.Call) -> tuple[Expr, Expr, Expr]:
        args = [self.index_of(self.value(one)) for one in call.args]
        if not 1 <= len(args) <= 3:
            self.refuse("a range", call)
        start, stop, step = (ZERO, args[0], ONE) if len(args) == 1 else (*args, ONE)[:3]
        if not isinstance(step, Const) or step.value == 0:
            self.refuse("a step that is not known", call)
        start, stop = self.let(start), self.let(stop)
        length = self.integer("sub", stop, start) if step.value > 0 else self.integer("sub", start, stop)
        size = abs(int(step.value))
        if size > 1:
            more = self.integer("add", length, Const("i", size - 1))
            length = Op("i", "floordiv", (more, Const("i", size)))
        return self.hold(start), self.hold(Op("i", "max", (length, ZERO))), step

    def _do_While(self, node: ast.While) -> None:
        if node.orelse:
            self.refuse("else of a loop", node)
        flags = self._flags(node)
        found: list[Any] = []

        def body() -> list[Stmt]:
            before, self.out = self.out, []
            test = self.computed(node.lineno, lambda: self.hold(self.truth(self.value(node.test))))
            tests, self.out = self.out, before
            if flags[0] in self.variables:
                test = Op("b", "and", (Op("b", "not", (Var("b", flags[0]),)), test))
            found[:] = [tests, test]
            return self.jumping(node.body, flags)

        made = self.looped(body)
        self._reset(flags, node)
        self.out.append(While(found[0], found[1], made))

    def _flags(self, node: Any) -> tuple[str, str]:
        """Variables that say that a break and a continue have been reached, where there are any."""
        flags = self.new("brk"), self.new("cnt")
        kinds = {type(one) for one in _own_jumps(node.body)}
        for flag, kind in zip(flags, (ast.Break, ast.Continue), strict=True):
            if kind in kinds:
                self.variables[flag] = "b"
        return flags

    def jumping(self, nodes: Sequence[ast.stmt], flags: tuple[str, str]) -> list[Stmt]:
        """The body of a loop with these flags."""
        self.flags.append(flags)
        made = self.body(nodes)
        self.flags.pop()
        if flags[1] in self.variables:
            made.insert(0, Block(self.line, [Assign(flags[1], Const("b", False))]))
        return made

    def _reset(self, flags: tuple[str, str], node: ast.stmt) -> None:
        if flags[0] in self.variables:
            self.out.append(Block(node.lineno, [Assign(flags[0], Const("b", False))]))

    # Expressions.

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
            if abs(value) >= 1 << _SMALL:
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
                return Number(found.expr, found.weak)
            return found
        return self.of_object(name, self.look(name), node)

    def of_object(self, name: str, value: Any, node: ast.expr) -> Value:
        self.read[name] = value
        if isinstance(value, bool):
            return Number(Const("b", value))
        if isinstance(value, int) and abs(value) < 1 << _SMALL:
            return Number(Const("i", value))
        if isinstance(value, float):
            return Number(Const("f", float(value)), not isinstance(value, np.generic))
        return Known(value)

    def _of_Attribute(self, node: ast.Attribute) -> Value:
        base = self.value(node.value)
        if isinstance(base, Known):
            try:
                found = getattr(base.value, node.attr)
            except AttributeError:
                self.refuse(f"no attribute {node.attr}", node)
            return self.of_object(ast.unparse(node), found, node)
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

    def turned(self, base: Elements, axes: tuple[int, ...]) -> Elements:
        extents = tuple(base.extents[k] for k in axes)
        if base.view and not base.is_copy:
            assert base.array is not None
            view = tuple(
                one if one.axis is None else Axis(one.start, one.step, axes.index(one.axis)) for one in base.view
            )
            return self._viewed(base.array, extents, view)
        return Elements(base.kind, extents, lambda q: base.at(tuple(q[axes.index(k)] for k in range(len(axes)))))

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
            return Number(self.loaded(found), False)
        return found

    def loaded(self, expr: Expr) -> Expr:
        return expr

    def item(self, base: Elements, key: ast.expr) -> Any:
        """`base[key]`: a view, or the expression of one element."""
        keys = list(key.elts) if isinstance(key, ast.Tuple) else [key]
        spread = [k for k, one in enumerate(keys) if isinstance(one, ast.Constant) and one.value is Ellipsis]
        if spread:
            at = spread[0]
            missing = len(base.extents) - (len(keys) - 1)
            keys[at : at + 1] = [ast.Slice()] * missing
        keys += [ast.Slice()] * (len(base.extents) - len(keys))
        if len(keys) != len(base.extents):
            self.refuse("an index with more parts than axes", key)
        starts: list[Expr] = []
        steps: list[int] = []
        extents: list[Expr] = []
        for one, extent in zip(keys, base.extents, strict=True):
            if isinstance(one, ast.Slice):
                start, length, step = self.slice(one, extent)
                starts.append(start)
                steps.append(step)
                extents.append(length)
            else:
                starts.append(self.inside(self.index_of(self.value(one)), extent))
                steps.append(0)
        kept = [k for k, step in enumerate(steps) if step]

        def at_base(index: tuple[Expr, ...]) -> tuple[Expr, ...]:
            full = list(starts)
            for position, k in enumerate(kept):
                full[k] = _moved(starts[k], steps[k], index[position])
            return tuple(full)

        if not kept:
            return base.at(tuple(starts))
        if base.is_copy or base.array is None:
            return Elements(base.kind, tuple(extents), lambda q: base.at(at_base(q)))
        axes = []
        for one in base.view:
            if one.axis is None:
                axes.append(one)
                continue
            start = _moved(one.start, one.step, starts[one.axis])
            if steps[one.axis]:
                axes.append(Axis(self.let(start), one.step * steps[one.axis], kept.index(one.axis)))
            else:
                axes.append(Axis(start))
        return self._viewed(base.array, tuple(extents), tuple(axes))

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
        if not isinstance(value, Number) or value.expr.kind != "i":
            self.refuse("an index that is no integer")
        name = getattr(value.expr, "name", None)
        if name in self.mixed:
            self.refuse(f"{name} is an index, and not always an integer")
        return value.expr

    def truth(self, value: Value) -> Expr:
        if isinstance(value, Number):
            if value.expr.kind == "b":
                return value.expr
            return Op("b", "ne", (value.expr, Const(value.expr.kind, 0)))
        if isinstance(value, Known):
            return Const("b", bool(value.value))
        self.refuse("the truth of this")

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
        name = _OPERATORS.get(type(node.op)) or self.refuse("this operator", node)
        return self.binary(name, self.value(node.left), self.value(node.right), node)

    def binary(self, name: str, left: Value, right: Value, node: ast.AST) -> Value:
        if name == "matmul":
            return self.dot(left, right, node)
        if name == "pow":
            return self.power(left, right, node)
        return self.elementwise(name, (left, right), node)

    def power(self, left: Value, right: Value, node: ast.AST) -> Value:
        exponent = right.expr.value if isinstance(right, Number) and isinstance(right.expr, Const) else None
        if isinstance(left, Elements) and left.kind == "f" and exponent is not None:
            if exponent == 2:
                return self.elementwise("square", (left,), node)
            if exponent == 0.5:
                return self.elementwise("sqrt", (left,), node)
            if exponent == 1:
                return self.elementwise("pos", (left,), node)
            if exponent == -1:
                return self.elementwise("reciprocal", (left,), node)
        if isinstance(left, Number) and left.expr.kind != "f":
            self.refuse("a power of an integer", node)
        if isinstance(left, Elements) or isinstance(right, Elements):
            self.refuse("a power of an array", node)
        return self.elementwise("pow", (left, right), node)

    def elementwise(self, name: str, values: tuple[Value, ...], node: ast.AST) -> Value:
        """A function of numbers, of each element."""
        for one in values:
            if not isinstance(one, (Number, Elements)):
                self.refuse("an operand of this kind", node)
        if all(isinstance(one, Number) for one in values):
            return Number(self.scalar(name, tuple(one.expr for one in values), node), all(one.weak for one in values))  # type: ignore[union-attr]
        held = [Number(self.let(one.expr), one.weak) if isinstance(one, Number) else one for one in values]  # type: ignore[union-attr]
        arrays = [one for one in held if isinstance(one, Elements)]
        extents = arrays[0].extents
        for one in arrays[1:]:
            extents = self.joint(extents, one.extents, node)
        spread = [self.broadcast(one, extents) if isinstance(one, Elements) else one for one in held]
        kinds = tuple(one.kind if isinstance(one, Elements) else one.expr.kind for one in spread)
        kind, inner = functions.typed(name, kinds) or self.refuse(f"{name} of {kinds}", node)
        if name in ("floordiv", "mod"):
            self.refuse("a division of integers in arrays", node)

        def at(index: tuple[Expr, ...]) -> Expr:
            args = [one.at(index) if isinstance(one, Elements) else one.expr for one in spread]
            return Op(kind, name, tuple(converted(one, inner) for one in args))

        return Elements(kind, extents, at)

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
        wide = [one for one in args if one.kind == "i" and self.bits(one) > 53]
        if wide and (inner == "f" or name in ("neg", "abs", "floordiv", "mod")):
            self.refuse("an integer that may be large", node)
        if name in ("div", "floordiv", "mod"):
            if isinstance(args[1], Const) and args[1].value == 0:
                self.refuse("a division by zero", node)
            if not isinstance(args[1], Const):
                args = args[0], self.let(args[1])
                self.check(Op("b", "ne", (args[1], Const(args[1].kind, 0))))
        converted_args = tuple(converted(one, inner) for one in args)
        if kind == "f" and all(isinstance(one, Const) for one in converted_args):
            try:
                return Const("f", functions.computed(name, tuple(float(one.value) for one in converted_args)))
            except (ArithmeticError, ValueError):
                self.refuse(f"{name} of these numbers raises", node)
        return Op(kind, name, converted_args)

    def _of_Compare(self, node: ast.Compare) -> Value:
        if len(node.ops) != 1:
            self.refuse("a chained comparison", node)
        name = _COMPARISONS.get(type(node.ops[0])) or self.refuse("this comparison", node)
        return self.elementwise(name, (self.value(node.left), self.value(node.comparators[0])), node)

    def _of_BoolOp(self, node: ast.BoolOp) -> Value:
        # The operands after the first are computed in any case: they may not have checks of their own.
        values = []
        for number, one in enumerate(node.values):
            before = len(self.block)
            operand = self.value(one)
            if not isinstance(operand, Number) or operand.expr.kind != "b":
                self.refuse("and/or of something else than conditions", node)
            values.append(operand.expr)
            if number and any(isinstance(x, (Check, Sum, Dot)) for x in self.block[before:]):
                self.refuse("and/or of what may raise", node)
        name = "and" if isinstance(node.op, ast.And) else "or"
        found = values[0]
        for one in values[1:]:
            found = Op("b", name, (found, one))
        return Number(found)

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

    def call(self, function: Any, args: tuple[Value, ...], node: ast.AST) -> Value:
        name = functions.BY_OBJECT.get(function) if isinstance(function, (type, np.ufunc)) or callable(function) else None
        if name == "dot" and len(args) == 2:
            return self.dot(args[0], args[1], node)
        if name == "sum" and len(args) == 1 and isinstance(args[0], Elements):
            return self.sum(args[0], node)
        if name == "flip" and len(args) == 1 and isinstance(args[0], Elements) and len(args[0].extents) == 1:
            return self.item(args[0], ast.Slice(step=ast.Constant(-1)))
        if name == "len" and isinstance(args[0], Elements):
            return Number(args[0].extents[0])
        if name == "float" and len(args) == 1 and isinstance(args[0], Number):
            return Number(converted(args[0].expr, "f"))
        if name in ("min", "max") and len(args) == 2 and all(isinstance(one, Number) for one in args):
            one, other = (x.expr for x in args)  # type: ignore[union-attr]
            if one.kind == other.kind == "i":
                return Number(Op("i", name, (one, other)))
        if name in functions.FUNCTIONS and name not in ("min", "max"):
            if functions.FUNCTIONS[name].count == len(args):
                return self.elementwise(name, args, node)
        said = getattr(function, "__name__", None) or ast.unparse(node)
        self.refuse(f"a call of {said}", node)

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


def bound_flag(name: str) -> str:
    """The variable that says whether another one is bound."""
    return f"{name}?"


def converted(expr: Expr, kind: str | None) -> Expr:
    """A number as another kind."""
    if kind is None or expr.kind == kind:
        return expr
    if isinstance(expr, Const):
        return Const(kind, float(expr.value) if kind == "f" else int(expr.value))
    return Op(kind, "cast", (expr,))


def _placed(axes: tuple[Axis, ...], index: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return tuple(
        one.start if one.axis is None else _moved(one.start, one.step, index[one.axis]) for one in axes
    )


def _moved(start: Expr, step: int, index: Expr) -> Expr:
    """`start + step * index`."""
    if step == 0:
        return start
    moved = index if step == 1 else Op("i", "mul", (Const("i", step), index))
    if start == ZERO:
        return moved
    if index == ZERO:
        return start
    if isinstance(start, Const) and isinstance(moved, Const):
        return Const("i", start.value + moved.value)
    return Op("i", "add", (start, moved))


def _alike(one: Value, other: Value) -> bool:
    if isinstance(one, Elements) and isinstance(other, Elements):
        return (one.array, one.view, one.extents, one.is_copy) == (other.array, other.view, other.extents, other.is_copy)
    return one == other


def _loads(value: Elements) -> list[Load]:
    index = tuple(Var("i", "q") for _ in value.extents)
    return [one for one in value.at(index).walk() if isinstance(one, Load)]


def _assigned(node: ast.AST) -> set[str]:
    """The names that are assigned in a statement."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _stores(node: ast.AST) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]


def _exprs_of(stmt: Stmt) -> list[Expr]:
    """The expressions of a statement."""
    found: list[Expr] = []
    for value in vars(stmt).values():
        if isinstance(value, Expr):
            found.append(value)
        elif isinstance(value, tuple):
            found += [x for x in value if isinstance(x, Expr)]
    return found


def _own_jumps(nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The jumps that belong to the loop around these statements."""
    found: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, (ast.Break, ast.Continue)):
            found.append(node)
        elif isinstance(node, ast.If):
            found += _own_jumps((*node.body, *node.orelse))
    return found


def _jumps(node: ast.stmt) -> bool:
    return bool(_own_jumps([node]))

