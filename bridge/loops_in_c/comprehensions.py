"""List comprehensions, and `sum`, `min`, `max`, `any` and `all` of what a loop may go over: loops of their own.

A list of numbers lies in a local array. It does not change: methods and stores that would change it are refused.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence

from bridge.loops_in_c.ir import Block, Check, Const, Op
from bridge.loops_in_c.iterating import Counts, Iterating
from bridge.loops_in_c.swapping import renamed
from bridge.loops_in_c.values import ONE, ZERO, Again, Elements, Listed, Number, Value


class Item(ast.Assign):
    """The assignment of a value to an item of a new list."""


class Comprehensions(Iterating):
    """Reads comprehensions of one `for` without conditions, and folds.

    Attributes
    ----------
    weak_items : for each list whether it holds numbers of Python's.
    """

    weak_items: dict[str, bool]

    def counted(self, node: ast.For, plain: str, counts: Counts, nodes: Sequence[ast.stmt]) -> None:
        """Read a loop that counts."""
        raise NotImplementedError

    def comprehended(self, node: ast.ListComp | ast.GeneratorExp) -> Listed:
        one = node.generators[0]
        if len(node.generators) > 1 or one.ifs or one.is_async:
            self.refuse("a comprehension with conditions, or with several loops", node)
        place = f"{node.lineno}.{node.col_offset}{self.copy}"
        name, counter = f".list.{place}", ast.Name(f".index.{place}", ast.Load())
        bound = [x.id for x in ast.walk(one.target) if isinstance(x, ast.Name)]
        # No source can spell these names.
        target, element = renamed([one.target, node.elt], {x: f".{x}.{place}" for x in bound})
        count, item = self.items(one.iter)
        length = self.value(count).expr  # type: ignore[union-attr]
        first = self.taken(target, item(counter))
        kind = self.kinds.setdefault(f"{self.own(name)}[]", "f")
        self.weak_items.pop(self.own(name), None)
        zeros = Elements(kind, (length,), lambda _: Const(kind, 0))
        self.computed(node.lineno, lambda: self.bind(name, zeros))
        place_of_item = ast.Subscript(ast.Name(name, ast.Load()), counter, ast.Store())
        last = _placed(Item([place_of_item], element), node.elt)
        self._over(node, counter, Counts(ZERO, length, ONE, True), [*first, last])
        found = self.value(ast.Name(name, ast.Load()))
        assert isinstance(found, Elements)
        return Listed(self.weak_items[self.own(name)], found)

    def _do_Item(self, node: Item) -> None:
        value = self.value(node.value)
        types = value.types if isinstance(value, Number) else []
        if not isinstance(value, Number) or len(types) != 1 or not isinstance(value.weak, bool):
            self.refuse("a list of something else than numbers of one type", node)
        target = node.targets[0]
        assert isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
        name = self.own(target.value.id)
        if self.kinds[f"{name}[]"] != types[0][0]:
            self.kinds[f"{name}[]"] = types[0][0]
            raise Again
        if self.weak_items.setdefault(name, value.weak) is not value.weak:
            self.refuse("a list of numbers of Python's and of NumPy's", node)
        self.assign(target, value)

    def folded(self, how: str, node: ast.Call) -> Value:
        count, item = self.items(node.args[0])
        length = self.value(count).expr  # type: ignore[union-attr]
        place = f"{node.lineno}.{node.col_offset}.{node.end_col_offset}{self.copy}"
        found, counter = (ast.Name(f".{word}.{place}", ast.Load()) for word in ("fold", "index"))
        begin: ast.expr = item(ast.Constant(0))
        following: ast.expr = ast.Call(node.func, [found, item(counter)], [])
        if how == "sum":
            begin = ast.BinOp(node.args[1] if len(node.args) > 1 else ast.Constant(0), ast.Add(), begin)
            following = ast.BinOp(found, ast.Add(), item(counter))
        elif how in ("any", "all"):
            begin = ast.Constant(how == "all")
            ways = (ast.Constant(True), found) if how == "any" else (found, ast.Constant(False))
            following = ast.IfExp(item(counter), *ways)
        is_counted = how not in ("any", "all")
        if is_counted:
            self.out.append(Block(node.lineno, [Check(Op("b", "gt", (length, ZERO)))]))
        self.statement(_assigned(found, begin, node))
        value = self.value(found)
        if how == "sum" and sys.version_info >= (3, 12) and isinstance(value, Number) and value.types != [("f", False)]:
            # Python rounds a sum of its floats otherwise.
            if value.expr.kind == "f":
                self.refuse("a sum of Python's floats", node)
        start = ONE if is_counted else ZERO
        rest = self.computed(node.lineno, lambda: self.hold(self.integer("sub", length, start)))
        self._over(node, counter, Counts(start, rest, ONE, True), [_assigned(found, following, node)])
        return self.value(found)

    def _over(self, node: ast.expr, counter: ast.Name, counts: Counts, body: list[ast.stmt]) -> None:
        loop = ast.copy_location(ast.For(ast.Name(counter.id, ast.Store()), counter, body, []), node)
        self.counted(loop, counter.id, counts, body)


def _assigned(target: ast.Name, value: ast.expr, node: ast.expr) -> ast.stmt:
    return _placed(ast.Assign([ast.Name(target.id, ast.Store())], value), node)


def _placed(node: ast.stmt, at: ast.expr) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(node, at))
