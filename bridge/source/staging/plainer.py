"""Statements and expressions in plainer ones of Python's, of the same meaning, which can be staged."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from bridge.source.nodes import HELPER, PART, at, copied, load, reader, store
from bridge.source.staging.names import COMPREHENSIONS, FUNCTIONS, own_parts

_COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp)
_CHANGES = frozenset({"pop", "popleft", "popitem", "append", "remove", "next", "send", "read", "readline"})


def plainer(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of one function's body, rewritten; functions inside of it are left to themselves."""
    of_module = {name for one in body for part in own_parts(one) if isinstance(part, ast.Global) for name in part.names}
    plain = _Plainer(of_module)
    found: list[ast.stmt] = []
    for one in body:
        made = plain.visit(one)
        found += made if isinstance(made, list) else [made]
    return found


def plainer_expression(node: ast.expr) -> ast.expr:
    """An expression, likewise."""
    made: ast.expr = _Plainer().visit(node)
    return made


class _Plainer(ast.NodeTransformer):
    def __init__(self, of_module: Iterable[str] = ()) -> None:
        self.subjects = 0
        self.made = 0
        self.of_module = frozenset(of_module)
        # The functions that the statement needs, where there is one and names in it mean what they mean outside.
        self.needed: list[ast.stmt] | None = None

    def visit(self, node: ast.AST) -> Any:
        before = self.needed
        if isinstance(node, ast.stmt):
            self.needed = []
        elif isinstance(node, COMPREHENSIONS):
            self.needed = None
        found = super().visit(node)
        needed, self.needed = self.needed, before
        if not isinstance(node, ast.stmt) or not needed:
            return found
        return [*needed, *(found if isinstance(found, list) else [found])]

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef

    def visit_Assert(self, node: ast.Assert) -> Any:
        """`assert test, words` is `if not test: raise AssertionError(words)`."""
        self.generic_visit(node)
        made = ast.Call(load("AssertionError"), [] if node.msg is None else [node.msg], [])
        return at(node, ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Raise(made, None)], []))

    def visit_While(self, node: ast.While) -> Any:
        """A test that changes something is asked once a turn: `while True: if not test: break`."""
        changes = _changes(node.test)
        self.generic_visit(node)
        if not changes or any(map(_jumps, node.orelse)):
            return node
        ends = at(node.test, ast.If(ast.UnaryOp(ast.Not(), node.test), [*node.orelse, at(node, ast.Break())], []))
        return at(node, ast.While(ast.Constant(True), [ends, *node.body], []))

    def visit_Match(self, node: ast.Match) -> Any:
        """`match` of values, names and wildcards is `if` and `elif`."""
        self.generic_visit(node)
        if not all(_is_plain_pattern(one.pattern) for one in node.cases):
            return node
        self.subjects += 1
        subject = f"{HELPER}subject{self.subjects}"
        rest: list[ast.stmt] = []
        for case in reversed(node.cases):
            pattern, bound = case.pattern, _bound(case.pattern)
            tests = [*_tests(pattern, subject), *([] if case.guard is None else [case.guard])]
            first = [] if bound is None else [at(pattern, ast.Assign([store(bound, pattern)], load(subject)))]
            if tests:
                test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
                rest = [*first, at(pattern, ast.If(test, case.body, rest))]
            else:
                rest = [*first, *case.body]
        return [at(node, ast.Assign([store(subject, node)], node.subject)), *rest]

    def visit_Call(self, node: ast.Call) -> Any:
        """`sum(v for x in a if test)` is `sum(v if test else 0 for x in a)`; `any` and `all` likewise.

        So it is where the name is Python's, and the test is not known, by `sum(R.joined(t, ...) for x in a for t in
        (test,) if R.admits(t, ...))`.
        """
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("any", "all") and self.needed is not None and len(node.args) == 1 and not node.keywords:
            targets = _binds(node.args[0])
            if targets:
                return self._as_loop(node, name, targets)
        self.generic_visit(node)
        if name not in JOINED or len(node.args) != 1 or node.keywords or not _has_condition(node.args[0]):
            return node
        given: Any = node.args[0]
        last = given.generators[-1]
        test = last.ifs[0] if len(last.ifs) == 1 else at(given, ast.BoolOp(ast.And(), last.ifs))
        named = [ast.Constant(name), load(name), load(_TEST)]
        admits = at(test, reader("admits", *named))
        asked = ast.comprehension(store(_TEST, test), at(test, ast.Tuple([test], ast.Load())), [admits], 0)
        last.ifs = []
        given.generators.append(asked)
        value = ast.Lambda(ast.arguments([], [], ast.arg(PART), [], [], None, []), given.elt)
        given.elt = at(given.elt, reader("joined", *map(copied, named), value))
        return node

    def _as_loop(self, node: ast.Call, name: str, targets: set[str]) -> ast.expr:
        """`any((v := f(x)) > 0 for x in a)` is a function with a loop that ends at the first that is true.

        It binds names, which have to be those of the element at which it stops.
        """
        self.made += 1
        called, items = f"{HELPER}{name}{self.made}", f"{HELPER}items"
        given: Any = node.args[0]
        decides = name == "any"
        test = given.elt if decides else at(given.elt, ast.UnaryOp(ast.Not(), given.elt))
        body: ast.stmt = at(given.elt, ast.If(test, [ast.Return(ast.Constant(decides))], []))
        first = given.generators[0]
        iterated, first.iter = first.iter, at(first.iter, load(items))
        for one in reversed(given.generators):
            for condition in reversed(one.ifs):
                body = at(condition, ast.If(condition, [body], []))
            body = at(one.target, ast.For(one.target, one.iter, [body], []))
        of_module = sorted(targets & self.of_module)
        own = sorted(targets - self.of_module)
        names: list[ast.stmt] = [ast.Global(of_module)] if of_module else []
        names += [ast.Nonlocal(own)] if own else []
        arguments = ast.arguments([], [ast.arg(items)], None, [], [], None, [])
        more: Any = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
        last = ast.Return(ast.Constant(not decides))
        made = ast.FunctionDef(called, arguments, [*names, body, last], [], None, **more)
        assert self.needed is not None
        # It never runs, and says that the statement binds these names.
        binds = ast.Assign([ast.Name(one, ast.Store()) for one in sorted(targets)], ast.Constant(0))
        self.needed += [at(node, made), at(node, ast.If(ast.Constant(False), [binds], []))]
        joining = at(node.func, reader("joining", ast.Constant(name), node.func, load(called)))
        return at(node, ast.Call(joining, [self.visit(iterated)], []))


JOINED = frozenset({"sum", "any", "all"})
_TEST = f"{HELPER}condition"


def _has_condition(node: ast.expr) -> bool:
    """Whether a comprehension has conditions, in its last part only, and nothing that binds or waits."""
    if not isinstance(node, _COMPREHENSIONS) or not node.generators[-1].ifs:
        return False
    if any(one.ifs or one.is_async for one in node.generators[:-1]) or node.generators[-1].is_async:
        return False
    return not any(isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for part in ast.walk(node))


def _binds(node: ast.expr) -> set[str]:
    """The names that a generator expression binds outside of itself; none if it cannot be a loop of a function."""
    if not isinstance(node, ast.GeneratorExp) or any(one.is_async for one in node.generators):
        return set()
    parts = list(ast.walk(node))
    if any(isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda)) for part in parts):
        return set()
    return {part.target.id for part in parts if isinstance(part, ast.NamedExpr)}


def _changes(test: ast.expr) -> bool:
    """Whether asking a test changes what the program has."""
    for part in ast.walk(test):
        if isinstance(part, ast.NamedExpr):
            return True
        if isinstance(part, ast.Call):
            called = part.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in _CHANGES:
                return True
    return False


def _jumps(node: ast.AST) -> bool:
    """Whether a statement holds a `break` or a `continue` of a loop around it."""
    if isinstance(node, (ast.Break, ast.Continue)):
        return True
    if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.For, ast.While, ast.AsyncFor)):
        return False
    return any(map(_jumps, ast.iter_child_nodes(node)))


def _is_plain_pattern(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None
    if isinstance(pattern, ast.MatchOr):
        return all(isinstance(one, ast.MatchValue) for one in pattern.patterns)
    return isinstance(pattern, (ast.MatchValue, ast.MatchSingleton))


def _bound(pattern: ast.pattern) -> str | None:
    return pattern.name if isinstance(pattern, ast.MatchAs) else None


def _tests(pattern: ast.pattern, subject: str) -> list[ast.expr]:
    """What is asked of the subject; nothing if the pattern always matches."""
    if isinstance(pattern, ast.MatchValue):
        return [at(pattern, ast.Compare(load(subject), [ast.Eq()], [pattern.value]))]
    if isinstance(pattern, ast.MatchSingleton):
        return [at(pattern, ast.Compare(load(subject), [ast.Is()], [ast.Constant(pattern.value)]))]
    if isinstance(pattern, ast.MatchOr):
        return [at(pattern, ast.BoolOp(ast.Or(), [test for one in pattern.patterns for test in _tests(one, subject)]))]
    return []
