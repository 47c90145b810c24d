"""Statements that store: what is stored is held in a helper variable, and its place asks who takes it.

* `a[k] = v` becomes `t = v; R.into(a, t)[k] = t`: memory that a tracked value is written into is lent to the context.
  A variable that no other function has becomes what stands for its array: `a = R.into_own(a, t, []); a[k] = t`.
* `x.name = v` becomes `t = v; b = x; R.keep(b, "name", t).name = t`: objects have afterwards what they had before.
* `a[k] += v` loads the element once, as Python does, and stores it as `a[k] = ...` does.
* `x, a[k] = v` unpacks into helper variables, which are stored from left to right; what is nested is unpacked when
  its turn comes. So do `for a[k] in ...` and `with ... as a[k]`, at the begin of their bodies.
* `for x in a` becomes `for x in R.elements(a)`: an array may be lent while a loop runs over it.
* `case Kind():` becomes `k = R.pattern(Kind); ... case k():`, since what is matched may be tracked.
* A global variable that is stored is remembered first: `g = R.rebind("g", v)`.
"""

from __future__ import annotations

import ast
from typing import Any

from bridge.source.expressions import Expressions
from bridge.source.implied import MANAGEMENT, TRUTH, implied
from bridge.source.nodes import HELPER, assign, at, copied, forget, if_lent, load, reader, store


class Storing(Expressions):
    """Rewrites statements that store."""

    helpers = 0
    in_part = False
    """Whether what is rewritten is a part of a function, which binds no variables of its own."""

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The statements, rewritten; they forget their helper variables, whose names serve again."""
        found: list[ast.stmt] = []
        for statement in statements:
            self.helpers = 0
            made = self.visit(statement)
            found += made if isinstance(made, list) else [made]
        return found

    def visit_Assign(self, node: ast.Assign) -> Any:
        value = self.visit(node.value)
        if self.scope is None or all(map(self._is_variable, node.targets)):
            node.value = value
            return node
        if len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                node.value = self._rebound(target, value)
                return node
            if isinstance(target, (ast.Tuple, ast.List)):
                return self._unpacked(target, value)
        held = self._helper()
        stores = [one for target in node.targets for one in self._stored(target, held)]
        return [assign(store(held, node.value), value), *stores, forget(_last(node.targets[-1]), held)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return node
        value = self.visit(node.value)
        if self.scope is None or isinstance(node.target, ast.Name):
            node.value = value
            return node
        held = self._helper()
        # The annotation stays: a name of an enclosing function in it makes a closure, though nothing evaluates it.
        first = at(node.value, ast.AnnAssign(store(held, node.value), node.annotation, value, 0))
        return [first, *self._stored(node.target, held), forget(node.target, held)]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        target = node.target
        if self.scope is None or (isinstance(target, ast.Name) and self.scope.is_number(target.id)):
            node.value = self.visit(node.value)
            return node
        held, value = self._helper(), self._helper()
        used, before, loaded, after = self._read_and_written(target, held)
        held_then_changed = ast.AugAssign(store(held, target), node.op, load(value))
        middle = [
            assign(store(held, target), at(target, loaded)),
            assign(store(value, node.value), self.visit(node.value)),
            assign(store(held, target), self.operand(reader("into", load(held), load(value)), implied(node), "left")),
            at(node, held_then_changed),
        ]
        return [*before, *middle, *after, forget(target, held, value, *used)]

    def _read_and_written(self, target: Any, held: str) -> tuple[list[str], list[ast.stmt], ast.expr, list[ast.stmt]]:
        """The place that `target` names: helpers, statements that find it, its value, statements that store `held`."""
        if isinstance(target, ast.Name):
            return [], [], self._seen(at(target, load(target.id))), self._stored(target, held)
        base = self._helper()
        thing: ast.expr = self.visit(target.value)
        before = [assign(store(base, target.value), thing)]
        if isinstance(target, ast.Attribute):
            attribute = ast.Attribute(at(target, load(base)), target.attr, ast.Load())
            is_property = target.attr in self.properties
            loaded = self.got(attribute.value, ast.copy_location(attribute, target)) if is_property else attribute
            return [base], before, self._seen(at(target, loaded)), self._attribute_stored(base, target, held)
        before = [assign(store(base, target.value), at(thing, reader("changed", thing)))]
        key = self._helper()
        before.append(assign(store(key, target.slice), self._kept_key(self.key(target.slice))))
        container = self.operand(at(target, load(base)), ("__getitem__",))
        element = at(target, ast.Subscript(container, load(key), ast.Load()))
        into = reader("into", load(base), load(held))
        own = self._own_variable(target.value)
        taker = self.operand(into if own is None else load(own), ("__setitem__",))
        place = at(target, ast.Subscript(taker, load(key), ast.Store()))
        after = [] if own is None else [assign(store(own, target.value), into)]
        return [base, key], before, self._seen(element), [*after, assign(place, load(held))]

    def visit_Delete(self, node: ast.Delete) -> Any:
        if self.scope is not None:
            node.targets = [self._deleted(target) for target in node.targets]
        return node

    def visit_For(self, node: ast.For) -> Any:
        node.iter = self.looped(node.iter)
        return self._looping(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> Any:
        node.iter = self.visit(node.iter)
        return self._looping(node)

    def _looping(self, node: Any) -> Any:
        node.body, node.orelse = self.body(node.body), self.body(node.orelse)
        node.target, stores = self._stored_in_body(node.target)
        node.body = [*stores, *node.body]
        return node

    def visit_With(self, node: Any) -> Any:
        body = self.body(node.body)
        for k, item in reversed(list(enumerate(node.items))):
            item.context_expr = self.visit(item.context_expr)
            if isinstance(node, ast.With):
                item.context_expr = self.operand(item.context_expr, MANAGEMENT)
            if item.optional_vars is not None:
                item.optional_vars, stores = self._stored_in_body(item.optional_vars)
                if stores:
                    # The targets of an item are stored before the next one is entered.
                    inner = node.items[k + 1 :]
                    body = [*stores, *([at(item.context_expr, type(node)(inner, body))] if inner else body)]
                    node.items = node.items[: k + 1]
        node.body = body
        return node

    visit_AsyncWith = visit_With

    def visit_If(self, node: Any) -> Any:
        node.test = self.operand(self.visit(node.test), TRUTH)
        node.body, node.orelse = self.body(node.body), self.body(node.orelse)
        return node

    visit_While = visit_If

    def visit_Match(self, node: ast.Match) -> Any:
        node.subject = self.visit(node.subject)
        kinds: list[ast.stmt] = []
        for pattern in (part for case in node.cases for part in ast.walk(case.pattern)):
            if self.scope is not None and isinstance(pattern, ast.MatchClass):
                held = self._helper()
                kinds.append(assign(store(held, node.subject), reader("pattern", pattern.cls)))
                pattern.cls = at(pattern.cls, load(held))
        # The body of a case that matches may use the helpers: no pattern is asked after it.
        node.cases = [self.visit(case) for case in node.cases]
        return [*kinds, node]

    def visit_match_case(self, node: ast.match_case) -> Any:
        node.guard = node.guard and self.visit(node.guard)
        node.body = self.body(node.body)
        return node

    def _stored_in_body(self, target: ast.expr) -> tuple[ast.expr, list[ast.stmt]]:
        """A target that is a variable, and what stores it, at the begin of a body, where `target` says."""
        if self.scope is None or self._is_variable(target):
            return target, []
        self.helpers = 0
        held = self._helper()
        stores = self._stored(target, held)
        return store(held, target), [*stores, forget(_last(target), held)]

    def _stored(self, target: Any, value: str) -> list[ast.stmt]:
        """Statements that store a helper variable where `target` says."""
        if isinstance(target, ast.Subscript):
            own = self._own_variable(target.value)
            asked = [self.visit(target.value), load(value)]
            into = reader("into", *asked) if own is None else reader("into_own", *asked, ast.List([], ast.Load()))
            before = [] if own is None else [assign(store(own, target.value), into)]
            array = self.operand(into if own is None else load(own), ("__setitem__",))
            place = at(target, ast.Subscript(array, self.key(target.slice), ast.Store()))
            return [*before, assign(place, load(value))]
        if isinstance(target, ast.Attribute):
            base = self._helper()
            found = assign(store(base, target.value), self.visit(target.value))
            return [found, *self._attribute_stored(base, target, value), forget(target, base)]
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._unpacked(target, load(value))
        return [assign(target, self._rebound(target, load(value)))]

    def _unpacked(self, target: Any, value: ast.expr) -> list[ast.stmt]:
        names: list[ast.expr] = []
        stores: list[ast.stmt] = []
        used: list[str] = []
        for one in target.elts:
            used.append(held := self._helper())
            starred = isinstance(one, ast.Starred)
            name = store(held, target)
            names.append(at(target, ast.Starred(name, ast.Store())) if starred else name)
            stores += self._stored(one.value if starred else one, held)
        unpacked = at(target, type(target)(names, ast.Store()))
        return [assign(unpacked, value), *stores, *([forget(_last(target), *used)] if used else [])]

    def _attribute_stored(self, base: str, target: ast.Attribute, value: str) -> list[ast.stmt]:
        if target.attr in self.properties:
            setter = reader("set_attribute", load(base), ast.Constant(self.mangled(target.attr)), load(value))
            return [at(target, ast.Expr(setter))]
        place = ast.Attribute(self._kept(load(base), target.attr, load(value)), target.attr, ast.Store())
        return [assign(at(target, place), load(value))]

    def _deleted(self, target: Any) -> ast.expr:
        if isinstance(target, ast.Attribute):
            kept = self._kept(self.visit(target.value), target.attr, ast.Constant(None))
            return at(target, ast.Attribute(kept, target.attr, ast.Del()))
        if isinstance(target, (ast.Tuple, ast.List)):
            target.elts = [self._deleted(one) for one in target.elts]
        elif isinstance(target, ast.Subscript):
            target.value = self.operand(self.visit(target.value), ("__delitem__",))
            target.slice = self.key(target.slice)
        return target

    def _kept(self, thing: ast.expr, name: str, value: ast.expr) -> ast.expr:
        return reader("keep", thing, ast.Constant(self.mangled(name)), value)

    def _rebound(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """What a variable is given; a global one is remembered first."""
        if self._is_variable(target) or not isinstance(target, ast.Name):
            return value
        return at(value if hasattr(value, "lineno") else target, reader("rebind", ast.Constant(target.id), value))

    def _kept_key(self, node: ast.expr) -> ast.expr:
        """A key as an expression that can be kept in a variable."""
        if isinstance(node, ast.Slice):
            return at(
                node, reader("slice", *(one or ast.Constant(None) for one in (node.lower, node.upper, node.step)))
            )
        if isinstance(node, ast.Tuple):
            return at(node, ast.Tuple([self._kept_key(one) for one in node.elts], ast.Load()))
        return node

    def _seen(self, node: ast.expr) -> ast.expr:
        return if_lent(at(node, reader("seen", copied(node))), node)

    def _own_variable(self, node: ast.expr) -> str | None:
        """The name of a variable that this function alone has; None if an expression is something else."""
        own = isinstance(node, ast.Name) and self.scope is not None and self.scope.is_own(node.id)
        own = own and not self.in_part
        return node.id if own and isinstance(node, ast.Name) else None

    def _is_variable(self, target: ast.expr) -> bool:
        """Whether a target binds nothing but variables of functions."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return all(map(self._is_variable, target.elts))
        if isinstance(target, ast.Starred):
            return self._is_variable(target.value)
        return isinstance(target, ast.Name) and not (self.scope is not None and self.scope.is_global(target.id))

    def _helper(self) -> str:
        self.helpers += 1
        return f"{HELPER}{self.helpers}"


def _last(target: Any) -> Any:
    """The part of a target that is stored last."""
    while True:
        if isinstance(target, (ast.Tuple, ast.List)) and target.elts:
            target = target.elts[-1]
        elif isinstance(target, ast.Starred):
            target = target.value
        else:
            return target
