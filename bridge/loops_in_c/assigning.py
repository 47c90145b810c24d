"""Assignments: to variables, to elements, and to views of arrays."""

from __future__ import annotations

import ast
from typing import Any

from bridge.loops_in_c.expressions import OPERATORS, Expressions
from bridge.loops_in_c.ir import Array, Assign, Const, Each, Expr, Load, Make, Size, Store, Var
from bridge.loops_in_c.values import (
    Again,
    Axis,
    Elements,
    Number,
    Several,
    Value,
    bound_flag,
    converted,
    loads,
    local_name,
)


class Assigning(Expressions):
    """Reads assignments.

    Attributes
    ----------
    kinds : what kind of number each variable holds.
    prefix : what the variables of the function that is read are called after; empty for those of the loop's own.
    mixed : those that hold several kinds.
    flagged : those of which it is known only at run time whether they are bound.
    """

    kinds: dict[str, str]
    prefix: str
    flagged: set[str]

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
        name = OPERATORS.get(type(node.op)) or self.refuse("this operator", node)
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
            return Number(self.hold(value.expr), value.weak, None, value.is_certain)
        if isinstance(value, Elements):
            self.refuse("an array in a tuple")
        return value

    def bind(self, name: str, value: Value) -> None:
        """Bind a variable of the program to a value."""
        if isinstance(value, Number):
            own = self.prefix + name
            kind = self.kinds.setdefault(own, value.expr.kind)
            expr = value.expr
            if kind != expr.kind:
                joined = "f" if "f" in (kind, expr.kind) else "i"
                if joined != kind:
                    self.kinds[own] = joined
                    self.mixed.add(own)
                    raise Again
                self.mixed.add(own)
                expr = converted(expr, kind)
            self.variables[own] = kind
            self.block.append(Assign(own, expr))
            self._flag(own)
            self.names[name] = Number(Var(kind, own), value.weak, None, value.is_certain and kind == value.expr.kind)
        elif isinstance(value, Elements):
            if self.prefix + name in self.variables:
                self.refuse(f"{name} holds a number and an array")
            self.names[name] = self._bound(self.prefix + name, value)
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
        own = self.prefix + name
        if own not in self.flagged:
            self.flagged.add(own)
            raise Again
        return Number(value.expr, value.weak, bound_flag(own), value.is_certain)

    def _bound(self, name: str, value: Elements) -> Elements:
        if not value.is_copy:
            axes = tuple(Axis(self._variable(name, one.start), one.step, one.axis) for one in value.view)
            assert value.array is not None
            if self.arrays[value.array].is_local and value.array != name:
                self.refuse(f"{name} is a view of {value.array}, which the loop makes")
            return self._viewed(value.array, tuple(self._variable(name, one) for one in value.extents), axes)
        local = local_name(name, len(value.extents), value.kind)
        reads = {one.array for one in loads(value)}
        if local in reads:
            copy = f"{local}c"
            self._make(copy, value)
            value = self.whole(copy)
        self._make(local, value)
        return self.whole(local)

    def _make(self, local: str, value: Elements) -> None:
        self.note_order(local, value)
        self.arrays[local] = Array(value.kind, len(value.extents), local, True, True)
        self.block.append(Make(local, value.extents))
        names = tuple(self.new("q") for _ in value.extents)
        index = tuple(Var("i", one) for one in names)
        self.block.append(Each(names, value.extents, local, index, value.at(index)))

    def _variable(self, name: str, expr: Expr) -> Expr:
        """Keep the start or extent of a view in a variable of its own: later assignments do not change the view."""
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
            number = self.let(value.expr)
            value = Elements(number.kind, (), lambda _: number)
        if not isinstance(value, Elements):
            self.refuse("a store of this")
        at = self.broadcast(value, place.extents).at
        self.written.add(place.array)
        names = tuple(self.new("q") for _ in place.extents)
        index = tuple(Var("i", one) for one in names)
        target = place.at(index)
        assert isinstance(target, Load)
        expr = self._cast(at(index), place.kind)
        memory = self.arrays[place.array].memory
        others = [one for one in expr.walk() if isinstance(one, Load) and self.arrays[one.array].memory == memory]
        is_buffered = any((one.array, one.index) != (target.array, target.index) for one in others)
        self.block.append(Each(names, place.extents, place.array, target.index, expr, is_buffered))
