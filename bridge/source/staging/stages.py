"""Loops, branches and choices of a statement as calls of functions, whose variables stay the function's own.

* `for x in a: body` becomes `def body(x): nonlocal ...; ...` and `R.loop(a, body, ...)`; so do `while` and `if`.
* `a if c else b`, `a and b`, `not a`, `a < b < c` become calls that get functions for what may not be evaluated.
* What `plainer` makes plainer comes first.
* `a[k]` becomes `R.table(a, k)[k]`: an array that the program has, read at an index that is not known yet.

What is inserted keeps the positions of the program. `control` says what the calls do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any, ClassVar

from bridge.source.nodes import HELPER, PART, at, load, reader
from bridge.source.quiet import JOINERS
from bridge.source.staging.jumps import Jumps
from bridge.source.staging.liveness import Liveness
from bridge.source.staging.looking import (
    INDICES,
    has_jumps,
    is_blocked,
    is_identity,
    is_plain,
    is_raw,
    jumps_in_finally,
    keeps_jumps,
    may_be_index,
    own_parts_of,
    parts_of_key,
    suspends,
)
from bridge.source.staging.names import bound
from bridge.source.staging.once import read_once
from bridge.source.staging.plainer import plainer, plainer_expression

COUNTED = frozenset({
    "range", "prange", "enumerate", "zip", "reversed", "min", "max", "int", "bool", "len", "any", "all", "round",
    "sorted", "print", "input", "open",
})  # fmt: skip
"""Functions of Python's to which numbers may be given that are not known yet, or whose calls are seen."""


_NAMING = frozenset({"vars", "dir"})
"""Functions of Python's that say which attributes there are."""


def staged(tree: ast.stmt) -> ast.stmt:
    """The statement, staged; `tree` is used up."""
    made: ast.stmt = _Stager().visit(tree)
    return made


class _Stager(ast.NodeTransformer):
    """Stages the functions of one statement."""

    def __init__(self) -> None:
        self.liveness: Any = None
        self.jumps: Any = None
        self.locals: set[str] = set()
        self.rebinds: set[str] = set()
        self.once: set[ast.Name] = set()
        self.numbers = 0

    def visit_FunctionDef(self, node: Any) -> Any:
        if self.liveness is not None or not isinstance(node, ast.AsyncFunctionDef):
            node.decorator_list = [self.visit(one) for one in node.decorator_list]
            node.args = self.visit(node.args)
        before = self.liveness, self.jumps, self.locals, self.rebinds, self.once, self.numbers
        self.numbers = 0
        documentation = _documentation(node.body)
        if jumps_in_finally(node.body):
            # What was raised ends there: no flag can say that.
            self.liveness = None
            node.body = [*documentation, *self._block(node.body)]
            self.liveness, self.jumps, self.locals, self.rebinds, self.once, self.numbers = before
            return node
        names = bound(node.body)
        body = plainer(node.body) or [at(node, ast.Pass())]
        names |= bound(body)
        of_module, of_functions = _declared(body, ast.Global), _declared(body, ast.Nonlocal)
        declared = of_module | of_functions
        arguments = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        self.once = read_once(body, arguments - declared)
        self.jumps = Jumps(is_raw, arguments)
        body = body if suspends(body) else self.jumps.lowered(body)
        # What no run reaches is left out, and binds variables all the same.
        binds = bound(body) | names
        bound_inside = sorted(binds - arguments - declared)
        self.locals = (binds | arguments) - declared
        self.rebinds = of_functions
        self.liveness = Liveness(body, self.jumps.stops)
        made = self._block(body)
        self.liveness, self.jumps, self.locals, self.rebinds, self.once, self.numbers = before
        first: list[ast.stmt] = [ast.Global(sorted(of_module))] if of_module else []
        first += [ast.Nonlocal(sorted(of_functions))] if of_functions else []
        first = [at(node, one) for one in first]
        node.body = [*documentation, *first, *_bindings(bound_inside, node), *made]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        before, self.liveness = self.liveness, None
        node.body = self._block(node.body)
        self.liveness = before
        return node

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for one in statements:
            made = self.visit(one)
            found += made if isinstance(made, list) else [made]
        return found

    def generic_visit(self, node: Any) -> Any:
        for name, part in ast.iter_fields(node):
            if isinstance(part, list) and part and isinstance(part[0], ast.stmt):
                setattr(node, name, self._block(part))
            elif isinstance(part, list):
                setattr(node, name, [self.visit(one) if isinstance(one, ast.AST) else one for one in part])
            elif isinstance(part, ast.AST):
                setattr(node, name, self.visit(part))
        return node

    # Statements.

    def visit_Global(self, node: Any) -> Any:
        # In a body that becomes a function it would say nothing of the function around: that begins with all of them.
        return node if self.liveness is None else at(node, ast.Pass())

    visit_Nonlocal = visit_Global

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        self.generic_visit(node)
        if self.liveness is None or not isinstance(node.target, ast.Name):
            return node
        # Annotations keep a variable from being a loop's or a branch's, and say only which names the function has.
        said = at(node, ast.AnnAssign(ast.Name(f"{HELPER}annotated", ast.Store()), node.annotation, None, 1))
        return [said] if node.value is None else [at(node, ast.Assign([node.target], node.value)), said]

    def visit_For(self, node: ast.For) -> Any:
        if self.liveness is None or is_raw(node) or keeps_jumps(node):
            return self.generic_visit(node)
        self.numbers += 1
        name, element = f"{HELPER}body{self.numbers}", f"{HELPER}element"
        stored = bound([node.target, *node.body])
        live, exposed = self._live(node)
        first = at(node.target, ast.Assign([node.target], load(element)))
        body = self._function(name, [ast.arg(element)], stored, [first, *self._block(node.body)], node)
        values = self.visit(node.iter)
        names = self._names(stored, live, exposed)
        stops = _names(self.jumps.stops.get(node, ()))
        # Who has the iterator besides may go on with it, where the loop leaves it early.
        last = [ast.Constant(True)] if self._is_last(node.iter, live) else []
        call = at(node.iter, reader("loop", values, load(name), *names, stops, *last))
        return [body, at(node, ast.Expr(call)), *self._block(node.orelse)]

    def visit_While(self, node: ast.While) -> Any:
        if self.liveness is None or is_raw(node) or keeps_jumps(node):
            return self.generic_visit(node)
        self.numbers += 1
        name, test = f"{HELPER}body{self.numbers}", f"{HELPER}test{self.numbers}"
        stored = bound([node.test, *node.body])
        live, exposed = self._live(node)
        answer = at(node.test, ast.Return(self.visit(node.test)))
        asked = self._function(test, [], bound([node.test]), [answer], node.test)
        body = self._function(name, [], stored, self._block(node.body), node)
        names = self._names(stored, live, exposed)
        stops = _names(self.jumps.stops.get(node, ()))
        call = at(node.test, reader("repeat", load(test), load(name), *names, stops))
        return [asked, body, at(node, ast.Expr(call)), *self._block(node.orelse)]

    def visit_If(self, node: ast.If) -> Any:
        if self.liveness is None or is_plain(node.test) or is_blocked(node) or has_jumps(node):
            return self.generic_visit(node)
        self.numbers += 1
        then, otherwise = f"{HELPER}then{self.numbers}", f"{HELPER}else{self.numbers}"
        stored = bound([*node.body, *node.orelse])
        live, _ = self._live(node)
        test = self.visit(node.test)
        made = [self._function(then, [], stored, self._block(node.body), node)]
        last: ast.expr = ast.Constant(None)
        if node.orelse:
            made.append(self._function(otherwise, [], stored, self._block(node.orelse), node))
            last = load(otherwise)
        call = at(node.test, reader("branch", test, load(then), last, *self._names(stored, live, set())))
        return [*made, at(node, ast.Expr(call))]

    def visit_Try(self, node: ast.Try) -> Any:
        self.generic_visit(node)
        if self.liveness is not None and node.handlers and not suspends([node]):
            node.body = _guarded(node.body)
        return node

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        if self.liveness is not None and any(map(_swallows, node.items)) and not suspends([node]):
            node.body = _guarded(node.body)
        return node

    def _live(self, node: ast.AST) -> tuple[set[str], set[str]]:
        liveness = self.liveness
        return liveness.after.get(node, self.locals), liveness.exposed.get(node, self.locals)

    def _is_last(self, node: ast.expr, live: set[str]) -> bool:
        """Whether an expression is a variable of the function's that is not read any more, if these are live."""
        return isinstance(node, ast.Name) and node.id in self.locals and node.id not in live

    def _names(self, stored: set[str], live: set[str], exposed: set[str]) -> list[ast.expr]:
        """Which variables leave a body, which are read before it binds them, and all that it binds."""
        own = {name for name in stored if name in self.locals or name in self.rebinds}
        return [
            _names(own & live),
            _names(own & exposed),
            _names(own),
        ]

    def _function(
        self, name: str, arguments: list[ast.arg], stored: set[str], body: list[ast.stmt], where: Any
    ) -> ast.stmt:
        """A function of the statements of a body, which binds the variables of the function around it."""
        own = sorted(one for one in stored if one in self.locals or one in self.rebinds)
        declared = sorted(stored - set(own))
        first: list[ast.stmt] = [ast.Nonlocal(own)] if own else []
        first += [ast.Global(declared)] if declared else []
        given = ast.arguments([], arguments, ast.arg(PART), [], [], None, [])
        more: Any = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
        return at(where, ast.FunctionDef(name, given, [*first, *body], [], None, **more))

    # Expressions.

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        # Its defaults are evaluated around it: in a class the functions that are made see none of the class's names.
        node.args = self.visit(node.args)
        before = self.liveness
        self.liveness = before or _NOTHING
        node.body = self.visit(plainer_expression(node.body))
        self.liveness = before
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            # Who is called asks for it.
            node.func.value = self.visit(node.func.value)
            node.args = [self.visit(one) for one in node.args]
            node.keywords = [self.visit(one) for one in node.keywords]
            return node
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and self.liveness is not None:
            name = node.func.id
            if name in COUNTED or (name in _NAMING and node.args):
                last: list[ast.expr] = [ast.Constant(True)] if node.args and node.args[0] in self.once else []
                node.func = at(node.func, reader("counted", node.func, *last))
            elif name == "globals":
                return at(node, reader("given", node))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if self.liveness is None or not isinstance(node.ctx, ast.Load) or node.attr in JOINERS:
            return node
        return at(node, reader("given", node))

    def visit_Delete(self, node: ast.Delete) -> Any:
        self.generic_visit(node)
        if self.liveness is None:
            return node
        asked = [
            at(one, ast.Expr(reader("deleting", at(one, load(one.value.id)), ast.Constant(one.attr))))
            for one in node.targets
            if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
        ]
        return [*asked, node]

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        self.generic_visit(node)
        return node if self.liveness is None else at(node, reader("text", node))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        node.value = self.visit(node.value)
        if node.format_spec is not None:
            # It is a text of several parts as well, and must stay one.
            self.generic_visit(node.format_spec)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        if not self._is_staged(node.body, node.orelse) or is_plain(node.test):
            return self.generic_visit(node)
        test, body, orelse = self.visit(node.test), self.visit(node.body), self.visit(node.orelse)
        return at(node, reader("choice", test, _function_of(body), _function_of(orelse)))

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        if not self._is_staged(*node.values[1:]) or all(map(is_plain, node.values)):
            return self.generic_visit(node)
        values = [self.visit(one) for one in node.values]
        name = "both" if isinstance(node.op, ast.And) else "either"
        made = values.pop()
        while values:
            first = values.pop()
            made = at(node, reader(name, first, _function_of(made)))
        return made

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and self.liveness is not None and not is_plain(node.operand):
            return at(node, reader("negated", node.operand))
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        if is_identity(node) and self.liveness is not None and not is_plain(node):
            self.generic_visit(node)
            made = at(node, reader("identical", node.left, node.comparators[0]))
            return made if isinstance(node.ops[0], ast.Is) else at(node, reader("negated", made))
        asks_container = isinstance(node.ops[0], (ast.In, ast.NotIn))
        if (len(node.ops) == 1 and not asks_container) or not self._is_staged(*node.comparators) or is_plain(node):
            return self.generic_visit(node)
        parts = [self.visit(one) for one in (node.left, *node.comparators)]
        named: Any = tuple(_OPERATORS[type(one)] for one in node.ops)
        operators = ast.Constant(named)
        return at(node, reader("compared", operators, parts[0], *map(_function_of, parts[1:])))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        if self.liveness is None or not isinstance(node.ctx, ast.Load):
            return node
        joins = isinstance(node.value, ast.Attribute) and node.value.attr in JOINERS
        if not may_be_index(node.slice):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            computed = all(isinstance(one, (*INDICES, ast.Constant)) for one in parts) and not joins
            return at(node, reader("item", node.value, node.slice)) if computed and parts_of_key(node.slice) else node
        node.value = at(node.value, reader("table", node.value, *parts_of_key(node.slice)))
        return node

    def _is_staged(self, *delayed: ast.expr) -> bool:
        """Whether parts of an expression may become functions."""
        if self.liveness is None:
            return False
        parts = [part for one in delayed for part in ast.walk(one)]
        return not any(isinstance(part, ast.NamedExpr) or is_blocked(part) for part in parts)


class _Nothing:
    """The liveness of a lambda, which has no statements."""

    after: ClassVar[dict[ast.AST, set[str]]] = {}
    exposed: ClassVar[dict[ast.AST, set[str]]] = {}


_NOTHING = _Nothing()
_OPERATORS = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Is: "is_",
    ast.IsNot: "is_not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def _guarded(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements whose errors the program may catch."""
    begin, end = (at(body[0], ast.Expr(reader(name))) for name in ("trying", "tried"))
    return [begin, at(body[0], ast.Try(body, [], [], [end]))]


def _swallows(item: ast.withitem) -> bool:
    """Whether a context manager is one that errors end at."""
    called = item.context_expr.func if isinstance(item.context_expr, ast.Call) else None
    return (getattr(called, "attr", None) or getattr(called, "id", None)) == "suppress"


def _names(names: Iterable[str]) -> ast.expr:
    """Names, in order, as a constant."""
    found: Any = tuple(sorted(names))
    return ast.Constant(found)


def _function_of(node: ast.expr) -> ast.expr:
    """`lambda: node`."""
    return at(node, ast.Lambda(ast.arguments([], [], ast.arg(PART), [], [], None, []), node))


def _documentation(body: list[ast.stmt]) -> list[ast.stmt]:
    """The docstring of a function, taken out of its body."""
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return [body.pop(0)]
    return []


def _declared(body: list[ast.stmt], kind: Any) -> set[str]:
    """Names of `global` or `nonlocal` statements of a function."""
    return {name for part in own_parts_of(body) if isinstance(part, kind) for name in part.names}


def _bindings(names: list[str], where: ast.AST) -> list[ast.stmt]:
    """A statement that never runs, and makes names variables of the function."""
    if not names:
        return []
    made = ast.Assign([ast.Name(name, ast.Store()) for name in names], ast.Constant(0))
    return [at(where, ast.If(ast.Constant(False), [made], []))]
