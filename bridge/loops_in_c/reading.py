"""From the source of a loop and the values that it begins with to its typed program.

The statements mean what Python and NumPy mean by them. What may raise, warn or need another type is a `Check`: where
it fails, Python runs the iteration. What is not in the subset raises `NotCompiled`, with the line and the reason.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import CodeType
from typing import Any

from bridge.loops_in_c.blocks import SMALL
from bridge.loops_in_c.comprehensions import Comprehensions
from bridge.loops_in_c.derivative import is_temporary
from bridge.loops_in_c.expressions import Read
from bridge.loops_in_c.ir import Array, Assign, Block, Check, Const, Expr, For, If, Op, Program, Stmt, Var, While
from bridge.loops_in_c.iterating import Counts
from bridge.loops_in_c.objects import Path
from bridge.loops_in_c.stopping import Branch, Inserted, Reason, Stop, is_stop
from bridge.loops_in_c.values import (
    ONE,
    ZERO,
    Again,
    Elements,
    Known,
    NotCompiled,
    NotConstant,
    Number,
    Unbound,
    Value,
    alike,
    bound_flag,
    in_variable,
)
from bridge.source.nodes import copied

_COPIES = 64
"""How many copies of its body loops over lists of objects may become, with the loops around them."""


class Reader(Comprehensions):
    """Reads one loop.

    Parameters
    ----------
    live : what the names hold when the loop begins: numbers as kinds, arrays as `Array`s, others as `Known`.
    arrays : the arrays among them.
    look : what a name is that the function does not assign: a global, a builtin.
    slots, root_of, code : see `Expressions`.
    bound_cells : see `Calls`.
    not_negative : names of integers that are known not to be negative.
    examples : shapes of the arrays, and values of numbers.
    stops : branches of functions that are called, which are not compiled.

    Attributes
    ----------
    has_else : whether the loop has an `else`, which Python runs.
    """

    has_else = False

    def __init__(
        self,
        live: Mapping[str, str | Array | Known],
        arrays: Mapping[str, Array],
        look: Callable[[str], Any],
        slots: Mapping[Path, str],
        root_of: Callable[[Any], str],
        code: CodeType,
        bound_cells: frozenset[str] = frozenset(),
        not_negative: frozenset[str] = frozenset(),
        examples: tuple[Mapping[str, tuple[int, ...]], Mapping[str, Any]] = ({}, {}),
        stops: Mapping[Branch, Reason] | None = None,
    ) -> None:
        self.live, self.first_arrays, self.first_look = live, arrays, look
        self.not_negative, self.first_examples, self.stops = not_negative, examples, stops or {}
        self.slots, self.slot_names, self.root_of = slots, frozenset(slots.values()), root_of
        self.first_code = code
        self.bound_cells = bound_cells
        self.stored: dict[str, None] = {}
        self.flagged: set[str] = set()
        self.typed: set[str] = set()
        self.given: set[str] = set()
        self.kinds: dict[str, str] = {}
        self.mixed: set[str] = set()
        self.unordered: set[str] = set()
        self.gapped: set[str] = set()
        self.longer: set[tuple[str, int]] = set()
        self.uncertain: set[str] = set()
        self.read: dict[Any, Read] = {}
        self.block: list[Stmt] = []

    def program(self, loop: ast.For | ast.While) -> Program:
        """The typed program of a loop."""
        for _ in range(64):
            self.is_known = True
            try:
                made = self._once(loop)
            except Again:
                continue
            if self.is_known:
                return made
        raise NotCompiled("the kinds of its numbers do not settle", loop.lineno)

    def _once(self, loop: ast.stmt) -> Program:
        self.arrays = dict(self.first_arrays)
        self.variables: dict[str, str] = {}
        self.names: dict[str, Value] = {}
        self.nonneg: set[str] = set(self.not_negative)
        self.width: dict[str, int] = {}
        self.prefix, self.look, self.globals, self.code = "", self.first_look, None, self.first_code
        self.fixed: frozenset[str] = frozenset()
        self.copy, self.copies = "", 1
        self.read, self.lists_read, self.callbacks, self.inside_of, self.file = {}, {}, [], {}, ""
        self.weak_items = {}
        self.shapes, self.examples = (dict(one) for one in self.first_examples)
        self.callers, self.after = [], []
        self.assigned = _assigned(loop) | self.stored.keys()
        self.flags: list[tuple[str, str]] = []
        self.written: set[str] = set()
        self.histories, self.prologue = {}, []
        self.fresh = 0
        self.line = loop.lineno
        self.out: list[Stmt] = [
            Block(loop.lineno, [self.rebound(name, False)]) for name in sorted(self.arrays.keys() & self.assigned)
        ]
        for name, value in self.live.items():
            found = self.names[name] = self._live(name, value)
            if name in self.typed and isinstance(found, Number) and isinstance(found.weak, bool):
                self.out.append(Block(loop.lineno, [self.typing(name, found.weak)]))
        self.statement(loop)
        body = [*self.prologue, *self.out]
        return Program(self.arrays, self.variables, body, self.written, self.callbacks)

    def _live(self, name: str, value: str | Array | Known) -> Value:
        if isinstance(value, str):
            own = value.removesuffix("w")
            kind = self.kinds.setdefault(name, own)
            self.variables[name] = kind
            if name not in self.assigned:
                self.width[name] = SMALL + 1
            weak = value.endswith("w")
            return in_variable(Var(kind, name), Number(Const(own, 0), weak), weak)
        return self.whole(name) if isinstance(value, Array) else value

    def statement(self, node: ast.stmt) -> None:
        self.line = node.lineno
        method = getattr(self, f"_do_{type(node).__name__}", None)
        if method is None:
            self.refuse(f"a statement of kind {type(node).__name__.lower()}", node)
        if isinstance(node, (ast.For, ast.While, ast.If)):
            method(node)
        elif isinstance(getattr(node, "value", None), ast.IfExp):
            self._attempt(lambda: self._simple(method, node), lambda: self._do_If(_ways(node)))
        else:
            self._simple(method, node)

    def _simple(self, method: Callable[[Any], None], node: ast.stmt) -> None:
        """Read a statement that has no others in it."""
        node = self.without_calls(node)
        outer, self.block = self.block, []
        method(node)
        if self.block:
            self._check_order(node)
            self.out.append(Block(node.lineno, self.block))
        self.out += self.after
        self.after = []
        self.block = outer

    def _attempt(
        self, first: Callable[[], Any], second: Callable[[], Any], reason: type[NotCompiled] = NotCompiled
    ) -> Any:
        """Read something in another way if it is refused in the first, for this class of reasons."""
        names, out, block, after = dict(self.names), list(self.out), self.block, list(self.after)
        copy = self.copy, self.copies
        try:
            return first()
        except reason:
            self.names = names
            self.out[:] = out
            self.block, self.after = block, after
            self.copy, self.copies = copy
            return second()

    def condition(self, node: ast.expr) -> Expr:
        """The truth of an expression. What an `and` or `or` need not evaluate may raise: then it is a branch."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            test = self.condition(node.operand)
            return Const("b", not test.value) if isinstance(test, Const) else Op("b", "not", (test,))
        if not isinstance(node, ast.BoolOp):
            return self._plain(node)
        found: Expr = self._attempt(lambda: self._plain(node), lambda: self._branches(node))
        return found

    def _plain(self, node: ast.expr) -> Expr:
        test = self.without_calls(node)
        found: Expr = self.computed(node.lineno, lambda: self.hold(self.truth(self.value(test))))
        return found

    def _branches(self, node: ast.BoolOp) -> Expr:
        first, rest = self.condition(node.values[0]), node.values[1:]
        if isinstance(first, Const):
            if not rest or first.value is isinstance(node.op, ast.Or):
                return first
            return self.condition(ast.copy_location(ast.BoolOp(node.op, rest), node))
        name = self.new("c")[:-1]
        self.variables[name] = "b"
        found = Var("b", name)
        self.out.append(Block(node.lineno, [Assign(name, first)]))
        for one in rest:
            outer, self.out = self.out, []
            skipped, unused = dict(self.names), list[Stmt]()
            value = self.condition(one)
            inner, self.out = self.out, outer
            inner.append(Block(node.lineno, [Assign(name, value)]))
            self._join(skipped, unused, self.names, inner)
            test = found if isinstance(node.op, ast.And) else Op("b", "not", (found,))
            self.out.append(If(test, inner, unused))
        return found

    def _check_order(self, node: ast.stmt) -> None:
        """The way back computes lets again from what variables held before the statement: none may be newer."""
        assigned: set[str] = set()
        for one in self.block:
            read = {x.name for expr in _exprs_of(one) for x in expr.walk() if isinstance(x, Var)}
            if read & assigned:
                self.refuse("a statement that reads a variable which it has assigned", node)
            if isinstance(one, Assign) and not is_temporary(one.name):
                assigned.add(one.name)

    def body(self, nodes: Sequence[ast.stmt]) -> list[Stmt]:
        before, self.out = self.out, []
        for number, node in enumerate(nodes):
            self.statement(node)
            rest = nodes[number + 1 :]
            if rest and _jumps(node):
                # What follows runs if no flag is set.
                flags = [Op("b", "not", (Var("b", flag),)) for flag in self.flags[-1] if flag in self.variables]
                test: Expr = flags[0]
                for one in flags[1:]:
                    test = Op("b", "and", (test, one))
                if is_stop(rest):
                    self.out.append(Block(node.lineno, [Check(Op("b", "not", (test,)))]))
                    break
                line, skipped, jumped = node.lineno, dict(self.names), list[Stmt]()
                inner = self._branch(node, "after", rest)
                self._join(skipped, jumped, self.names, inner)
                self.out.append(If(test, inner, jumped))
                self.line = line
                break
        made, self.out = self.out, before
        return made

    def computed(self, line: int, compute: Callable[[], Any]) -> Any:
        """Run something that may add lets; they become a block."""
        outer, self.block = self.block, []
        try:
            return compute()
        finally:
            if self.block:
                self.out.append(Block(line, self.block))
            self.out += self.after
            self.block, self.after = outer, []

    def _do_Pass(self, node: ast.Pass) -> None:
        pass

    def _do_Assert(self, node: ast.Assert) -> None:
        self.check(self.condition(node.test))

    def _do_Break(self, node: ast.stmt) -> None:
        if len(self.flags) == 1 and self.has_else:
            self.refuse("a break on which the else of the outermost loop depends", node)
        self._raise_flag(0, node)

    def _do_Continue(self, node: ast.stmt) -> None:
        self._raise_flag(1, node)

    def _raise_flag(self, which: int, node: ast.stmt) -> None:
        if not self.flags:
            self.refuse("a jump out of the loop", node)
        self.block.append(Assign(self.flags[-1][which], Const("b", True)))

    def _do_If(self, node: ast.If) -> None:
        test = self.condition(node.test)
        if isinstance(test, Const):
            self.out += self.body(node.body if test.value else node.orelse)
            return
        stops = is_stop(node.body), is_stop(node.orelse)
        if all(stops):
            self.statement(node.body[0])
        if any(stops):
            that = Op("b", "not", (test,)) if stops[0] else test
            self.out.append(Block(node.lineno, [Check(that)]))
            self.out += self._branch(node, *("orelse", node.orelse) if stops[0] else ("body", node.body))
            return
        before = dict(self.names)
        body = self._branch(node, "body", node.body)
        after, self.names = self.names, dict(before)
        orelse = self._branch(node, "orelse", node.orelse)
        self._join(after, body, self.names, orelse)
        self.out.append(If(test, body, orelse))

    _do_Inserted = _do_If

    def _branch(self, node: ast.stmt, part: str, statements: Sequence[ast.stmt]) -> list[Stmt]:
        """Read a branch of an `if`."""
        try:
            return self.body(statements)
        except NotCompiled as error:
            if error.branch is None and type(node) is ast.If:
                error.branch = Branch(self.file, node.lineno, node.col_offset, part)
            raise

    def _do_Stop(self, node: Stop) -> None:
        raise NotCompiled(*node.reason)

    def _join(self, one: dict[str, Value], one_out: list[Stmt], other: dict[str, Value], other_out: list[Stmt]) -> None:
        """The names after one of two ways, of which the second is the current one."""
        self.met(one, one_out, other, other_out)
        for name in sorted(one.keys() | other.keys()):
            if one.get(name) != other.get(name):
                other[name] = self._merged(name, one.get(name), other.get(name))

    def _merged(self, name: str, one: Value | None, other: Value | None) -> Value:
        if isinstance(one, Number) and isinstance(other, Number) and one.expr == other.expr:
            return self.one_of(name, one, other)
        if isinstance(one, Number) and other is None:
            return self._maybe(name, one)
        if isinstance(other, Number) and one is None:
            return self._maybe(name, other)
        if isinstance(one, Elements) and isinstance(other, Elements) and not one.is_copy:
            other = replace(other, shared=one.shared | other.shared)
            if alike(replace(one, shared=other.shared), other):
                return other
        return Unbound()

    def looped(self, body: Callable[[], list[Stmt]]) -> list[Stmt]:
        """Read the body of a loop, whose names begin as the body leaves them."""
        while True:
            first, entry = dict(self.names), dict(self.names)
            made = body()
            self.met(entry, self.out, self.names, made)
            changed = any(not alike(entry[name], value) for name, value in first.items())
            for name, value in self.names.items():
                was = entry.get(name, Unbound())
                if isinstance(was, Unbound) or alike(value, was):
                    continue
                merged = self._merged(name, value, was)
                changed = changed or not alike(merged, was)
                entry[name] = merged
            if not changed:
                break
            self.names = entry
        if self.flags:
            # After no iteration at all, names are what they were. (Python runs the whole loop if it has none.)
            for name in list(self.names):
                begun = entry.get(name)
                if begun is None or not alike(self.names[name], begun):
                    self.names[name] = self._merged(name, self.names[name], begun)
        return made

    def _do_For(self, node: ast.For) -> None:
        target = node.target
        if isinstance(target, ast.Name) and target.id not in _assigned(ast.Module(node.body, [])):
            counts = self.counts(node.iter)
            if counts is not None:
                self._attempt(
                    lambda: self.counted(node, target.id, counts, node.body),
                    lambda: self._unrolled(node, _numbers(counts, node)),
                    NotConstant,
                )
                return
        listed = self.listed(node.iter)
        if listed is not None:
            self._unrolled(node, listed)
            return
        count, item = self.items(node.iter)
        length = self.value(count).expr  # type: ignore[union-attr]
        name = f".turn.{node.lineno}.{node.col_offset}"
        first = self.taken(target, item(ast.Name(name, ast.Load())))
        self.counted(node, name, Counts(ZERO, length, ONE, True), [*first, *node.body])

    def _unrolled(self, node: ast.For, items: Sequence[Value]) -> None:
        """A loop over a list of objects: its body once for each."""
        has_break = any(isinstance(one, ast.Break) for one in own_jumps(node.body))
        if len(items) * self.copies > _COPIES or has_break:
            self.refuse(f"a loop over a list, with a break or of more than {_COPIES} iterations", node)
        flags = self._flags(node)
        outer, self.copies = self.copy, self.copies * max(len(items), 1)
        for number, item in enumerate(items):
            self.copy = f"{outer}@{number}"
            self.computed(node.lineno, lambda item=item: self.assign(node.target, item))  # type: ignore[misc]
            if isinstance(item, Number) and isinstance(item.expr, Const) and isinstance(node.target, ast.Name):
                self.names[node.target.id] = item
            self.out += self.jumping(node.body, flags)
        self.copy, self.copies = outer, self.copies // max(len(items), 1)
        self.out += self.body(node.orelse)

    def counted(self, node: ast.For, plain: str, counts: Counts, nodes: Sequence[ast.stmt]) -> None:
        start, count, step, is_nonneg = counts
        name = self.own(plain)
        if self.kinds.setdefault(name, "i") != "i":
            self.refuse(f"{plain} is not always an integer", node)
        self.variables[name] = "i"
        self.note_example(name, start)
        was_nonneg, width = name in self.nonneg, self.width.get(name)
        if is_nonneg:
            self.nonneg.add(name)
        self.width[name] = 41
        flags = self._flags(node)

        def body() -> list[Stmt]:
            self.names[plain] = Number(Var("i", name), True)
            made = self.jumping(nodes, flags)
            if name in self.flagged:
                self.variables[bound_flag(name)] = "b"
                made.insert(0, Block(node.lineno, [Assign(bound_flag(name), Const("b", True))]))
            if name in self.typed:
                made.insert(0, Block(node.lineno, [self.typing(name, True)]))
            return made

        made = self.looped(body)
        if not was_nonneg:
            self.nonneg.discard(name)
        if width is None:
            del self.width[name]
        else:
            self.width[name] = width
        self._reset(flags, node)
        self.out.append(For(name, start, count, step, made, flags[0] if flags[0] in self.variables else None))
        self._else(node, flags)

    def _do_While(self, node: ast.While) -> None:
        flags = self._flags(node)
        found: list[Any] = []
        again = self.new("c")[:-1]
        if flags[0] in self.variables:
            self.variables[again] = "b"

        def body() -> list[Stmt]:
            before, self.out = self.out, []
            test = self.condition(node.test)
            if flags[0] in self.variables:
                # After a break, Python does not evaluate the condition.
                self.out.append(Block(node.lineno, [Assign(again, test)]))
                skip = Block(node.lineno, [Assign(again, Const("b", False))])
                self.out = [skip, If(Op("b", "not", (Var("b", flags[0]),)), self.out, [])]
                test = Var("b", again)
            found[:] = [self.out, test]
            self.out = before
            return self.jumping(node.body, flags)

        made = self.looped(body)
        self._reset(flags, node)
        self.out.append(While(found[0], found[1], made))
        self._else(node, flags)

    def _else(self, node: ast.For | ast.While, flags: tuple[str, str]) -> None:
        """The statements that run if no break has been reached."""
        if flags[0] not in self.variables:
            self.out += self.body(node.orelse)
        elif node.orelse:
            skipped, unused = dict(self.names), list[Stmt]()
            made = self.body(node.orelse)
            self._join(skipped, unused, self.names, made)
            self.out.append(If(Op("b", "not", (Var("b", flags[0]),)), made, unused))

    def _flags(self, node: Any) -> tuple[str, str]:
        """Variables that say that a break and a continue have been reached, where there are any."""
        flags = self.new("brk"), self.new("cnt")
        kinds = {type(one) for one in own_jumps(node.body)}
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


def _numbers(counts: Counts, node: ast.stmt) -> list[Value]:
    """What a range counts, if that is known."""
    start, length, step, _ = counts
    if not isinstance(start, Const) or not isinstance(length, Const) or length.value > _COPIES:
        raise NotConstant("an item of a list, at a key that is not known", node.lineno)
    return [Number(Const("i", start.value + k * step.value)) for k in range(int(length.value))]


def _ways(node: Any) -> ast.If:
    """A statement with a conditional expression as its value, as two in an `if`."""
    ways = []
    for value in (node.value.body, node.value.orelse):
        one = copied(node)
        one.value = copied(value)
        ways.append([one])
    return ast.copy_location(Inserted(node.value.test, *ways), node)


def _assigned(node: ast.AST) -> set[str]:
    """The names that are assigned in a statement."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _exprs_of(stmt: Stmt) -> list[Expr]:
    """The expressions of a statement."""
    found: list[Expr] = []
    for value in vars(stmt).values():
        if isinstance(value, Expr):
            found.append(value)
        elif isinstance(value, tuple):
            parts = [x for one in value for x in (one if isinstance(one, tuple) else (one,))]
            found += [x for x in parts if isinstance(x, Expr)]
    return found


def own_jumps(nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The jumps that belong to the loop around these statements."""
    found: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, (ast.Break, ast.Continue)):
            found.append(node)
        elif isinstance(node, ast.If):
            found += own_jumps((*node.body, *node.orelse))
        elif isinstance(node, (ast.For, ast.While)):
            found += own_jumps(node.orelse)
    return found


def _jumps(node: ast.stmt) -> bool:
    return bool(own_jumps([node]))
