"""The tangent of a loop: its statements, each after one that computes the tangent of what it writes.

Tangents lie in arrays and variables of their own, so the result is a program like any other, without a log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bridge.loops_in_c.derivative import Plan, activity, is_active
from bridge.loops_in_c.functions import FUNCTIONS, ONE, ZERO, op, test
from bridge.loops_in_c.ir import (
    Assign,
    Block,
    Callback,
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
    Product,
    Program,
    Reduce,
    Stmt,
    Store,
    Var,
    While,
)
from bridge.loops_in_c.kinds import is_float
from bridge.loops_in_c.values import NotCompiled


def tangent_of(name: str) -> str:
    """The name of the tangent of an array or a variable."""
    return f".dot_{name[1:]}" if name.startswith(".") else f"tangent of {name}"


def with_tangents(program: Program, active_memory: set[str], active_variables: set[str]) -> tuple[Program, Plan]:
    """The program with its tangents, and what has one, from the memory and variables that have one at its beginning.

    Raises
    ------
    NotCompiled : it has a statement whose tangent Python computes.
    """
    plan = activity(program, active_memory, active_variables)
    plan.is_forward = True
    made = Tangents(program, plan)
    body = made.all_of(program.body)
    return replace(program, arrays=made.arrays, variables=made.variables, body=body), plan


class Tangents:
    """Builds the statements, with the arrays and variables that they need."""

    def __init__(self, program: Program, plan: Plan) -> None:
        self.program, self.plan = program, plan
        self.arrays = program.arrays | {
            tangent_of(name): replace(one, memory=tangent_of(one.memory))
            for name, one in program.arrays.items()
            if self._has_tangent(name)
        }
        self.variables = program.variables | {
            tangent_of(name): kind
            for name, kind in program.variables.items()
            if name in plan.active_variables and is_float(kind)
        }

    def all_of(self, body: Iterable[Stmt]) -> list[Stmt]:
        return [made for one in body for made in self._of(one)]

    def _has_tangent(self, array: str) -> bool:
        one = self.program.arrays[array]
        return is_float(one.kind) and one.memory in self.plan.active_memory

    def _of(self, one: Stmt) -> Iterator[Stmt]:
        match one:
            case Block():
                yield Block(one.line, [made for part in one.body for made in self._effects(part, one.line)])
            case For():
                yield replace(one, body=self.all_of(one.body))
            case While():
                yield replace(one, before=self.all_of(one.before), body=self.all_of(one.body))
            case If():
                yield replace(one, body=self.all_of(one.body), orelse=self.all_of(one.orelse))
            case _:
                raise AssertionError(one)

    def _effects(self, one: Stmt, line: int) -> list[Stmt]:
        """A statement of a block, after those that compute tangents from what it reads."""
        match one:
            case Let() if one.name in self.plan.active_variables:
                return [Let(tangent_of(one.name), self._or_zero(one.expr)), one]
            case Assign() if tangent_of(one.name) in self.variables:
                return [Assign(tangent_of(one.name), self._or_zero(one.expr)), one]
            case Store() if self._has_tangent(one.array):
                return [replace(one, array=tangent_of(one.array), expr=self._or_zero(one.expr)), one]
            case Each() if self._has_tangent(one.array):
                moved = replace(one, array=tangent_of(one.array), expr=self._or_zero(one.expr))
                if isinstance(moved.expr, Const):
                    moved.is_buffered = False
                return [moved, one]
            case Make() if self._has_tangent(one.array):
                return [Make(tangent_of(one.array), one.extents), one]
            case Reduce() if tangent_of(one.variable) in self.variables or (one.array and self._has_tangent(one.array)):
                return self._reduction(one, line)
            case Dot() if tangent_of(one.variable) in self.variables:
                expr = self._sum([op("mul", *pair) for pair in self._moved_factors(one.left, one.right)])
                return [Reduce("sum", (one.name,), (one.extent,), _not_minus_zero(expr), tangent_of(one.variable)), one]
            case Product() if self._has_tangent(one.array):
                return [*self._product(one), one]
            case Callback():
                raise NotCompiled("a call of Python in forward mode", line)
        return [one]

    def _reduction(self, one: Reduce, line: int) -> list[Stmt]:
        if one.how == "prod" and is_active(self.program, self.plan, one.expr):
            return [*self._product_of_elements(one, line), one]
        target = replace(
            one, variable=one.variable and tangent_of(one.variable), array=one.array and tangent_of(one.array)
        )
        moved = self._or_zero(one.expr)
        if one.how not in ("max", "min"):
            how = "sum" if one.how == "prod" else one.how
            return [replace(target, how=how, expr=_not_minus_zero(moved)), one]
        # The elements that are equal to an extremum share it.
        best: Expr = Var(one.expr.kind, one.variable)
        best = Load(one.expr.kind, one.array, one.index) if one.array else best
        wins = test("or", test("eq", one.expr, best), test("isnan", one.expr))
        parts = replace(target, how="sum", expr=_not_minus_zero(op("select", wins, moved, ZERO)))
        if one.variable:
            count = f"{tangent_of(one.variable)}n_"
            self.variables[count] = "f"
            winners = replace(one, how="sum", expr=op("select", wins, ONE, ZERO), variable=count)
            share = op("div", Var(one.expr.kind, target.variable), Var("f", count))
            return [one, parts, winners, Assign(target.variable, share)]
        counts = self._another(one.array, "n")
        winners = replace(one, how="sum", expr=Op(one.expr.kind, "select", (wins, ONE, ZERO)), array=counts)
        share = op("div", *(Load(one.expr.kind, name, one.index) for name in (target.array, counts)))
        divided = Each(one.outer, one.outer_extents, target.array, one.index, share)
        return [one, Make(counts, one.outer_extents), parts, winners, divided]

    def _product_of_elements(self, one: Reduce, line: int) -> list[Stmt]:
        """Factor by factor: the tangent of a product of two, with the product so far."""
        kind, extents, index = one.expr.kind, one.outer_extents, one.index
        start: list[Stmt]
        if one.variable:
            moved, so_far = tangent_of(one.variable), f"{tangent_of(one.variable)}p_"
            self.variables[so_far] = kind
            start = [Assign(moved, Const(kind, 0.0)), Assign(so_far, Const(kind, 1.0))]
            before: tuple[Expr, Expr] = Var(kind, moved), Var(kind, so_far)
        else:
            moved, so_far = tangent_of(one.array), self._another(one.array, "p")
            firsts = (moved, Const(kind, 0.0)), (so_far, Const(kind, 1.0))
            start = [Make(so_far, extents), *(Each(one.outer, extents, name, index, first) for name, first in firsts)]
            before = Load(kind, moved, index), Load(kind, so_far, index)
        values = (
            op("add", op("mul", before[0], one.expr), op("mul", before[1], self._or_zero(one.expr))),
            op("mul", before[1], one.expr),
        )
        steps = zip((moved, so_far), values, strict=True)
        step: list[Stmt] = [Assign(name, value) if one.variable else Store(name, index, value) for name, value in steps]
        body: list[Stmt] = [Block(line, step)]
        for name, extent in reversed(tuple(zip((*one.outer, *one.names), (*extents, *one.extents), strict=True))):
            self.variables[name] = "i"
            body = [For(name, Const("i", 0), extent, Const("i", 1), body)]
        return [*start, *body]

    def _another(self, array: str, letter: str) -> str:
        """One more local array of the kind and rank of another."""
        name = f"{tangent_of(array)}{letter}_"
        self.arrays[name] = replace(self.program.arrays[array], memory=name)
        return name

    def _moved_factors(self, left: Load, right: Load) -> list[tuple[Load, Load]]:
        """The products whose sum is the tangent of a product."""
        found = []
        if self._has_tangent(left.array):
            found.append((replace(left, array=tangent_of(left.array)), right))
        if self._has_tangent(right.array):
            found.append((left, replace(right, array=tangent_of(right.array))))
        return found

    def _product(self, one: Product) -> list[Stmt]:
        m, _, n = one.counts
        extents = tuple(count for name, count in ((one.rows, m), (one.columns, n)) if name)
        made: list[Stmt] = []
        target = tangent_of(one.array)
        for number, (left, right) in enumerate(self._moved_factors(one.left, one.right)):
            array = self._another(one.array, "p") if number else target
            if number:
                made.append(Make(array, extents))
            made.append(replace(one, array=array, left=left, right=right, by_dot=False))
            if number:
                total = op("add", *(Load(left.kind, name, one.index) for name in (target, array)))
                made.append(Each(one.names, extents, target, one.index, total))
        return made or [Each(one.names, extents, target, one.index, ZERO)]

    def _or_zero(self, expr: Expr) -> Expr:
        return self.of(expr) or Const(expr.kind, 0.0)

    def _sum(self, parts: Sequence[Expr]) -> Expr:
        total = parts[0] if parts else ZERO
        for one in parts[1:]:
            total = op("add", total, one)
        return total

    def of(self, expr: Expr) -> Expr | None:
        """The tangent of a value; None where it is zero."""
        if not is_active(self.program, self.plan, expr):
            return None
        match expr:
            case Var():
                return Var(expr.kind, tangent_of(expr.name))
            case Load():
                return Load(expr.kind, tangent_of(expr.array), expr.index)
            case Op(name="cast"):
                return Op(expr.kind, "cast", (self._or_zero(expr.args[0]),))
            case Op():
                return self._sum(list(self._parts(expr)))
        raise AssertionError(expr)

    def _parts(self, expr: Op) -> Iterator[Expr]:
        """What each argument contributes: a share of a cotangent is linear in it, and so is its own transpose."""
        function = FUNCTIONS[expr.name]
        for share, x in zip(function.shares, expr.args, strict=False):
            moved = self.of(x)
            if share is None or moved is None:
                continue
            if function.chooses:
                # The share of 1, so that the tangent is computed once, and only where it is chosen.
                chosen = share(ONE, *expr.args)
                assert isinstance(chosen, Op)
                yield op("select", chosen.args[0], op("mul", moved, chosen.args[1]), ZERO)
            else:
                part = share(moved, *expr.args)
                assert part is not None
                yield part


def _not_minus_zero(expr: Expr) -> Expr:
    """A summand that is not -0.0: sums of these depend on NumPy's version, and Python computes them."""
    return expr if isinstance(expr, Const) else Op(expr.kind, "add", (expr, Const(expr.kind, 0.0)))
