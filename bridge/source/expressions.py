"""Expressions: what is called is asked for, and what may be lent is looked up.

* `f(x)` becomes `R.of(f)(x)`: what is called in place of `f` is decided when it is called.
* A name, an attribute or an element that may be a lent array is looked up. In an expression that lends nothing itself,
  that is one test for all of it: `R.seen(a) + R.seen(b) if R.lent else a + b`.
* `x.name` becomes `R.getter(x, "name")()` where a class of the program has a property of that name, which is read.
* `x.__class__` becomes `R.kind(x)`, since `x` may be tracked.
* `text % x` becomes `R.text(text) % x`, since `x` may be tracked.
* `a + b` becomes `R.left(a) + R.right(b)`, and `a[k]` becomes `R.operand(a)[k]`, where a class of the program has a
  special method that may be called: it is read.
* `locals()` becomes `R.variables(locals())`, without helper variables.
"""

from __future__ import annotations

import ast
from typing import Any

from bridge.source.implied import ITERATION, TRUTH, implied
from bridge.source.nodes import asks_reader, at, begin_at_attribute, copied, if_lent, of, reader
from bridge.source.quiet import JOINERS, OF_SHAPE, Looker, formats, is_arithmetic

_PARTS = tuple(getattr(ast, name) for name in ("FormattedValue", "Interpolation") if hasattr(ast, name))
_MADE_OF_PARTS = (ast.Starred, ast.Slice, ast.Tuple, ast.List, ast.Set, ast.Dict, *_PARTS)
_ITERATED = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.IfExp)
_OF_IDENTITY = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
_LOAD = ast.Load()


class Expressions(Looker):
    """Rewrites expressions of a function."""

    def visit(self, node: ast.AST) -> Any:
        if self.scope is None or not isinstance(node, ast.expr) or isinstance(node, _MADE_OF_PARTS):
            return super().visit(node)
        if not isinstance(getattr(node, "ctx", _LOAD), ast.Load) or not self.is_quiet(node):
            return super().visit(node)
        return if_lent(_Seen(self).visit(copied(node)), node) if self.has_arrays(node) else node

    def visit_Call(self, node: ast.Call) -> Any:
        if self.scope is None:
            return self.generic_visit(node)
        if asks_reader(node):
            node.args = [self.visit(one) for one in node.args]
            node.keywords = [self.visit(one) for one in node.keywords]
            node.func = self.visit(node.func) if isinstance(node.func, ast.Call) else node.func
            return node
        if self.shows_variables(node):
            return at(node, reader("variables", node))
        listed = self.lists(node) if self.is_known(node.func) else None
        written = self.writes(node)
        node.args = [self.visit(one) for one in node.args]
        node.keywords = [self.visit(one) for one in node.keywords]
        for k in written:
            node.args[k] = at(node.args[k], reader("touched", node.args[k]))
        for one in node.keywords:
            if one.arg == "out":
                one.value = at(one.value, reader("touched", one.value))
        if listed is not None:
            for k in listed:
                node.args[k] = at(node.args[k], reader("array", node.args[k]))
            return _evaluating(node)
        if isinstance(node.func, ast.Attribute):
            if not any(isinstance(one, ast.Starred) for one in node.args) and all(one.arg for one in node.keywords):
                begin_at_attribute(node, node.func)
            node.func.value = self.visit(node.func.value)
        elif not isinstance(node.func, ast.Name):
            node.func = self.visit(node.func)
        node.func = of(node.func)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        may_format = formats(node)
        node.left, node.right = self.visit(node.left), self.visit(node.right)
        if self.scope is not None and may_format:
            node.left = at(node.left, reader("text", node.left))
            return node
        names = implied(node)
        node.left, node.right = self.operand(node.left, names, "left"), self.operand(node.right, names, "right")
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        node.operand = self.operand(self.visit(node.operand), implied(node))
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        names = implied(node)
        node.left, node.comparators = self.visit(node.left), [self.visit(one) for one in node.comparators]
        compared = (node.left, *node.comparators)
        roles = ["left"] * len(node.ops) + ["right"]
        if any(isinstance(op, _OF_IDENTITY) for op in node.ops):
            # In a chain, an operand may take part in a test of identity and in another comparison.
            roles = [""] * len(compared) if len(node.ops) > 1 else ["", "container"]
        node.left, *node.comparators = (
            self.operand(one, names, role) if role else one for one, role in zip(compared, roles, strict=True)
        )
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        node.test = self.operand(self.visit(node.test), TRUTH)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        node.value = self.visit(node.value)
        if self.scope is None or not isinstance(node.ctx, ast.Load):
            return node
        if node.attr in self.properties:
            found = self.got(node.value, node)
            return at(found, reader("seen", found))
        if node.attr == "__class__":
            return at(node, reader("kind", node.value))
        return node if node.attr in OF_SHAPE else at(node, reader("seen", node))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        joins = isinstance(node.value, ast.Attribute) and node.value.attr in JOINERS
        node.value = self.visit(node.value)
        if self.scope is None:
            return node
        node.slice = self.key(node.slice)
        if joins:
            node.value = of(node.value)
            return node
        if isinstance(node.ctx, ast.Load):
            node.value = self.operand(node.value, implied(node))
        if isinstance(node.ctx, ast.Load) and not isinstance(node.slice, (ast.Slice, ast.Tuple)):
            return at(node, reader("seen", node))
        return node

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        node.iter = self.visit(node.iter) if node.is_async else self.looped(node.iter)
        node.ifs = [self.operand(self.visit(one), TRUTH) for one in node.ifs]
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        node.value = self.visit(node.value)
        return node

    def looped(self, node: ast.expr) -> Any:
        """What a loop runs over: a plain array may be lent before its last element has had its turn."""
        if self.scope is None:
            return self.visit(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and self.is_known(node.func):
            if node.func.id == "reversed":
                node.args = [self.looped(one) for one in node.args]
                return node
            return self.visit(node)
        made = self.visit(node)
        return self.operand(at(made, reader("elements", made)) if isinstance(node, _ITERATED) else made, ITERATION)

    def key(self, node: ast.expr) -> Any:
        """A key: numbers and slices of numbers are no arrays that could be lent."""
        return node if isinstance(node, (ast.Name, ast.Constant)) or is_arithmetic(node) else self.visit(node)

    def got(self, thing: ast.expr, attribute: ast.Attribute) -> ast.expr:
        """An attribute that may be a property of the program's."""
        getter = reader("getter", thing, ast.Constant(self.mangled(attribute.attr)))
        made = at(attribute, ast.Call(getter, [], []))
        begin_at_attribute(made, attribute)
        return made


class _Seen(ast.NodeTransformer):
    """A copy of a quiet expression in which every array is looked up among those that are lent."""

    def __init__(self, known: Looker) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> Any:
        return at(node, reader("seen", node)) if self.known.may_be_array(node) else node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if not self.known.has_arrays(node):
            return node
        if not isinstance(node.value, ast.Name) or self.known.may_be_array(node.value):
            node.value = self.visit(node.value)
        return at(node, reader("seen", node))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        node.value = self.visit(node.value)
        if not is_arithmetic(node.slice):
            node.slice = self.visit(node.slice)
        # A part of an array is looked up with the array; an element of a list or a dictionary by itself.
        return node if isinstance(node.slice, (ast.Slice, ast.Tuple)) else at(node, reader("seen", node))

    def visit_Call(self, node: ast.Call) -> Any:
        node.args = [self.visit(one) for one in node.args]
        node.keywords = [self.visit(one) for one in node.keywords]
        return _evaluating(node)


def _evaluating(node: ast.Call) -> Any:
    """A call that is left as it is; the text that `eval` runs is looked at, and what it gives out is looked up."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in ("eval", "exec") and node.args and not isinstance(node.args[0], ast.Starred):
        node.args[0] = at(node.args[0], reader("evaluated", node.args[0]))
    return at(node, reader("seen", node)) if name == "eval" else node
