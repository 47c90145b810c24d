"""Loops over arrays, `enumerate`, `zip` and `reversed`: a counter, and the items at it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

from bridge.loops_in_c.calls import Calls
from bridge.loops_in_c.ir import Block, Check, Const, Expr, Op
from bridge.loops_in_c.objects import Step, at
from bridge.loops_in_c.outermost import REST
from bridge.loops_in_c.values import ONE, ZERO, Elements, Items, Listed, Number, Several, Value
from bridge.source.numba import is_range

Item = Callable[[ast.expr], ast.expr]


class Counts(NamedTuple):
    """What a counter begins with, how many values it has, their distance, and whether none is below zero."""

    start: Expr
    length: Expr
    step: Const
    is_nonneg: bool


class Iterating(Calls):
    """Reads what loops go over."""

    not_negative: frozenset[str]

    def computed(self, line: int, compute: Callable[[], Any]) -> Any:
        """Run something that may add lets; they become a block."""
        raise NotImplementedError

    def counts(self, node: ast.expr) -> Counts | None:
        """What a range counts, or one that is reversed; None of something else."""
        if not isinstance(node, ast.Call) or node.keywords or not node.args:
            return None
        if is_range(self.known(node.func)):
            call = node
            counts: Counts = self.computed(node.lineno, lambda: self._range(call))
            return counts
        inner = node.args[0]
        if self.known(node.func) is not reversed or not isinstance(inner, ast.Call) or len(node.args) != 1:
            return None
        found = self.counts(inner) if is_range(self.known(inner.func)) else None
        if found is None:
            return None
        start, count, step, is_nonneg = found
        length = self.computed(node.lineno, lambda: self.hold(self._times(step, self.integer("sub", count, ONE))))
        last = self.computed(node.lineno, lambda: self.hold(self.integer("add", start, length)))
        return Counts(last, count, Const("i", -step.value), is_nonneg)

    def _times(self, step: Expr, count: Expr) -> Expr:
        return count if step == ONE else self.integer("mul", step, count)

    def _range(self, call: ast.Call) -> Counts:
        args = [self.index_of(self.value(one)) for one in call.args]
        if not 1 <= len(args) <= 3:
            self.refuse("a range", call)
        start, stop, step = (ZERO, args[0], ONE) if len(args) == 1 else (*args, ONE)[:3]
        if not isinstance(step, Const) or step.value == 0:
            self.refuse("a step that is not known", call)
        start, stop = self.let(start), self.let(stop)
        length = self.integer("sub", stop, start) if step.value > 0 else self.integer("sub", start, stop)
        size = abs(int(step.value))
        is_nonneg = self.is_nonneg(start) if step.value > 0 else self._ends_above(call)
        if isinstance(length, Const):
            return Counts(self.hold(start), Const("i", max(-(-length.value // size), 0)), step, is_nonneg)
        if size > 1:
            more = self.integer("add", length, Const("i", size - 1))
            length = Op("i", "floordiv", (more, Const("i", size)))
        return Counts(self.hold(start), self.hold(Op("i", "max", (length, ZERO))), step, is_nonneg)

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

    def items(self, node: ast.expr) -> tuple[ast.expr, Item]:
        """How many items there are to go over, and the expression of one by its number."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == REST:
            count, item = self.items(node.args[0])
            begin = node.args[1]
            rest = _binary(count, ast.Sub(), begin)
            count = self._named(node, "rest", lambda: self.value(rest))
            return count, lambda k: item(_binary(begin, ast.Add(), k))
        counts = self.counts(node)
        if counts is not None:
            start = self._named(node, "start", lambda: Number(counts.start))
            count = self._named(node, "count", lambda: Number(counts.length))
            step = ast.Constant(counts.step.value)
            return count, lambda k: _binary(start, ast.Add(), _binary(k, ast.Mult(), step))
        function = self.known(node.func) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
        if isinstance(node, ast.Call) and function in (enumerate, zip, reversed):
            return self._of_several(function, node)
        if isinstance(node, (ast.Tuple, ast.List)) and {_type_of(one) for one in node.elts} in ({int}, {float}):
            return ast.Constant(len(node.elts)), lambda k: _one_of(node.elts, k)
        node = self.without_calls(node)
        over = self._named(node, "over", lambda: self._listed_or(self.value(node), node))
        value = self.value(over)
        if isinstance(value, Listed) and value.items is not None:
            value = value.items
        if not isinstance(value, Elements):
            self.refuse("a loop over something else than ranges and arrays", node)
        extent = value.extents[0]
        count = self._named(node, "count", lambda: Number(extent))
        return count, lambda k: ast.Subscript(over, k, ast.Load())

    def _listed_or(self, value: Value, node: ast.expr) -> Value:
        return self.numbers_of(value, node) or value

    def listed(self, node: ast.expr) -> list[Value] | None:
        """The items of a list or a tuple of objects, also enumerated or next to those of others; None of another."""
        if not isinstance(node, ast.Call):
            is_held = isinstance(node, ast.Name) and isinstance(self.names.get(node.id), (Several, Items))
            held = self.value(node) if is_held else None
            if isinstance(held, Several):
                return list(held.items)
            base = self.object_at(node)
            is_list = base is not None and base.path and type(base.value) is not dict
            if base is None or not is_list or at(base.value, Step("length")) is None:
                return None
            return [self.part(base, Step("item", number), node) for number in range(self.length(base, node))]
        function = self.known(node.func) if isinstance(node.func, ast.Name) else None
        if function is not zip and (function not in (enumerate, reversed) or node.keywords or len(node.args) != 1):
            return None
        found = [one for one in map(self.listed, node.args) if one is not None]
        if len(found) < len(node.args) or not found:
            return None
        if function is reversed:
            return found[0][::-1]
        columns = [list(map(self.of_object, range(len(found[0])))), found[0]] if function is enumerate else found
        if len({len(one) for one in columns}) > 1 and [ast.unparse(one) for one in node.keywords] != ["strict=False"]:
            self.refuse("a loop over lists of several lengths", node)
        return [Several(row) for row in zip(*columns, strict=False)]

    def _of_several(self, function: Any, node: ast.Call) -> tuple[ast.expr, Item]:
        found = [self.items(one) for one in (node.args if function is zip else node.args[:1])]
        count, first = found[0] if found else self.refuse("a loop over nothing", node)
        if function is reversed:
            if node.keywords or len(node.args) != 1 or isinstance(first(count), ast.Tuple):
                self.refuse("such a call of reversed", node)
            return count, lambda k: first(_binary(_binary(count, ast.Sub(), ast.Constant(1)), ast.Sub(), k))
        if function is enumerate:
            given = [*node.args[1:], *(one.value for one in node.keywords if one.arg == "start")]
            if len(given) > 1 or len(node.args) + len(node.keywords) != 1 + len(given):
                self.refuse("such a call of enumerate", node)
            start = given[0] if given else ast.Constant(0)
            begin = self._named(node, "start", lambda: self.value(start))
            return count, lambda k: ast.Tuple([_binary(begin, ast.Add(), k), first(k)], ast.Load())
        strict = [
            one.value.value for one in node.keywords if one.arg == "strict" and isinstance(one.value, ast.Constant)
        ]
        if len(strict) < len(node.keywords):
            self.refuse("such a call of zip", node)
        least, *others = [self.value(length).expr for length, _ in found]  # type: ignore[union-attr]
        for other in others:
            if any(strict):
                self.out.append(Block(node.lineno, [Check(Op("b", "eq", (least, other)))]))
            else:
                least = Op("i", "min", (least, other))
        count = self._named(node, "least", lambda: Number(least))
        return count, lambda k: ast.Tuple([one(k) for _, one in found], ast.Load())

    def _named(self, node: ast.expr, word: str, compute: Callable[[], Value]) -> ast.expr:
        """A name that no source can spell, for a value that the iterations read."""
        name = f".{word}.{node.lineno}.{node.col_offset}"
        self.computed(node.lineno, lambda: self.bind(name, compute()))
        value = self.names[name]
        if isinstance(value, Number) and value.expr.kind != "i":
            self.refuse("a loop over a number, or from one that is no integer", node)
        return ast.Name(name, ast.Load())

    def taken(self, target: ast.expr, item: ast.expr) -> list[ast.stmt]:
        """Assignments of an item to the variables of a loop."""
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(item, ast.Tuple):
            if len(target.elts) != len(item.elts):
                self.refuse("an assignment to several names", target)
            pairs = zip(target.elts, item.elts, strict=True)
            return [found for one, part in pairs for found in self.taken(one, part)]
        if any(isinstance(one, (ast.Subscript, ast.Attribute, ast.Starred)) for one in ast.walk(target)):
            self.refuse("a loop with such a target", target)
        made = ast.copy_location(ast.Assign([target], item), target)
        return [ast.fix_missing_locations(made)]


def _type_of(node: ast.expr) -> Any:
    """The type of a number that is written out; the node for anything else."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return node
    return type(value) if type(value) in (int, float) else node


def _one_of(nodes: list[ast.expr], k: ast.expr) -> ast.expr:
    """The one of some expressions that has this number."""
    found = nodes[-1]
    for number, one in reversed(list(enumerate(nodes[:-1]))):
        found = ast.IfExp(ast.Compare(k, [ast.Eq()], [ast.Constant(number)]), one, found)
    return found


def _binary(left: ast.expr, operator: ast.operator, right: ast.expr) -> ast.expr:
    return ast.BinOp(left, operator, right)
