"""Building the statements of the typed program: names for values, checks, and the ranges of integers."""

from __future__ import annotations

import ast
import math
import operator
from typing import NoReturn

import numpy as np

from bridge.loops_in_c.ir import Array, Assign, Check, Const, Expr, Let, Load, Op, Size, Stmt, Var
from bridge.loops_in_c.kinds import KINDS, is_integer, is_narrow
from bridge.loops_in_c.values import ONE, ZERO, Again, Axis, Elements, NotCompiled, Value, converted, placed

SMALL = 31
"""Bits of an integer that the program is given."""
_LARGEST = float(np.finfo(np.float32).max)


class Blocks:
    """The block of statements that one statement of the program becomes."""

    arrays: dict[str, Array]
    variables: dict[str, str]
    written: set[str]
    nonneg: set[str]
    width: dict[str, int]
    mixed: set[str]
    unordered: set[str]
    gapped: set[str]
    longer: set[tuple[str, int]]
    """Axes of arrays that the loop makes, which have one element in some places, and others elsewhere."""
    is_known: bool
    block: list[Stmt]
    line: int
    fresh: int

    def value(self, node: ast.expr) -> Value:
        """Read an expression, and return its value."""
        raise NotImplementedError

    def whole(self, name: str) -> Elements:
        """All of an array."""
        count = self.arrays[name].ndim
        axes = tuple(Axis(ZERO, 1, axis) for axis in range(count))
        ones = self.arrays[name].ones
        extents = tuple(ONE if axis in ones else Size("i", name, axis) for axis in range(count))
        return self._viewed(name, extents, axes)

    def local(self, name: str, kind: str, extents: tuple[Expr, ...]) -> None:
        """An array that the loop makes, perhaps in several places."""
        ones = frozenset(axis for axis, one in enumerate(extents) if one == ONE and (name, axis) not in self.longer)
        known = self.arrays[name].ones if name in self.arrays else ones
        if known - ones:
            # What has been read takes these axes for axes of one element.
            self.longer |= {(name, axis) for axis in known - ones}
            raise Again
        self.arrays[name] = Array(kind, len(extents), name, True, True, ones=ones & known)

    def _viewed(
        self, name: str, extents: tuple[Expr, ...], axes: tuple[Axis, ...], shared: frozenset[str] = frozenset()
    ) -> Elements:
        kind = self.arrays[name].kind

        def at(index: tuple[Expr, ...]) -> Expr:
            return Load(kind, name, placed(axes, index))

        return Elements(kind, extents, at, name, axes, False, shared)

    def refuse(self, reason: str, node: ast.AST | None = None) -> NoReturn:
        raise NotCompiled(reason, getattr(node, "lineno", self.line))

    def new(self, letter: str = "t") -> str:
        """A name that no source can spell; with an underscore at its end, of one statement."""
        self.fresh += 1
        return f".{letter}{self.fresh}_"

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
        """Record the bit width and the sign of an integer."""
        if is_integer(expr.kind):
            self.width[name] = self.bits(expr)
            if self.is_nonneg(expr):
                self.nonneg.add(name)

    def note_range(self, name: str, expr: Expr) -> None:
        """Record the range of an integer, which may have been another one before."""
        self.width.pop(name, None)
        self.nonneg.discard(name)
        if self.variables[name] == expr.kind:
            self._note(name, expr)

    def hold(self, expr: Expr) -> Expr:
        """A value that later statements read, in a variable."""
        if self.is_fixed(expr):
            return expr
        name = self.new("v")
        self.variables[name] = expr.kind
        self.block.append(Assign(name, expr))
        self._note(name, expr)
        return Var(expr.kind, name)

    def is_fixed(self, expr: Expr) -> bool:
        """Whether nothing changes a value: a number, or a length of an array that the loop does not make."""
        return isinstance(expr, Const) or (isinstance(expr, Size) and not self.arrays[expr.array].is_local)

    def check(self, that: Expr) -> None:
        if isinstance(that, Const):
            if not that.value:
                self.refuse("an operation that always raises")
            return
        if Check(that) not in self.block or self._may_have_changed(that):
            self.block.append(Check(that))

    def number_as(self, expr: Expr, kind: str) -> Expr:
        """A number as another kind, to which NumPy converts it."""
        if kind == "f4" and isinstance(expr, Const) and _LARGEST < abs(expr.value) < math.inf:
            self.refuse(f"{expr.value} as a float32")
        return converted(expr, kind)

    def narrowed(self, expr: Expr, kind: str) -> Expr:
        """An integer as one of fewer bits. Where it does not fit, Python warns or raises."""
        if expr.kind == kind or not is_narrow(kind):
            return converted(expr, kind)
        least, greatest = KINDS[kind].range
        expr = self.let(expr)
        self.check(_compared("ge", expr, least))
        self.check(_compared("le", expr, greatest))
        return converted(expr, kind)

    def is_nonneg(self, expr: Expr) -> bool:
        """Whether an integer is known not to be negative."""
        if expr.kind.startswith("u"):
            return True
        match expr:
            case Const():
                return expr.value >= 0
            case Var():
                return expr.name in self.nonneg
            case Size():
                return True
            case Op():
                if expr.name == "cast" and not (expr.kind == "i" and is_integer(expr.args[0].kind)):
                    return False
                return expr.name in ("add", "mul", "max", "floordiv", "cast") and all(map(self.is_nonneg, expr.args))
        return False

    def bits(self, expr: Expr) -> int:
        """How many bits an integer may take, at most."""
        return min(self._bits(expr), KINDS[expr.kind].bits)

    def _bits(self, expr: Expr) -> int:
        match expr:
            case Const():
                return int(expr.value).bit_length()
            case Var():
                return self.width.get(expr.name, 63)
            case Size():
                return 40
            case Op(name="add" | "sub"):
                return max(map(self.bits, expr.args)) + 1
            case Op(name="mul"):
                return sum(map(self.bits, expr.args))
            case Op(name="neg" | "abs" | "max" | "min" | "select"):
                return max(map(self.bits, expr.args))
            case Op(name="cast") if is_integer(expr.args[0].kind):
                return self.bits(expr.args[0])
        return 63

    def integer(self, name: str, a: Expr, b: Expr) -> Expr:
        """An operation of integers, which stops where the result does not fit."""
        if isinstance(a, Const) and isinstance(b, Const):
            value = getattr(operator, name)(a.value, b.value)
            if abs(value) < 1 << 62:
                return Const("i", value)
        if name in ("add", "sub") and b == ZERO:
            return a
        expr = Op("i", name, (converted(a, "i"), converted(b, "i")))
        if self.bits(expr) > 62:
            self.check(Op("b", f"{name}_fits", (a, b)))
            return self.let(expr)
        return expr


def _compared(name: str, expr: Expr, limit: int) -> Expr:
    """A comparison of an integer with a known one."""
    if isinstance(expr, Const):
        return Const("b", getattr(operator, name)(expr.value, limit))
    return Op("b", name, (expr, Const("i", limit)))
