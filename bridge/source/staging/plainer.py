"""Statements and expressions in plainer ones of Python's, of the same meaning, which can be staged."""

from __future__ import annotations

import ast
from typing import Any

from bridge.source.nodes import HELPER, PART, at, copied, load, reader, store
from bridge.source.staging.names import FUNCTIONS

_COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp)
_CHANGES = frozenset({"pop", "popleft", "popitem", "append", "remove", "next", "send", "read", "readline"})


def plainer(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of one function's body, rewritten; functions inside of it are left to themselves."""
    plain = _Plainer()
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
    def __init__(self) -> None:
        self.subjects = 0

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef

    def visit_Assert(self, node: ast.Assert) -> Any:
        """`assert test, words` is `if not test: raise AssertionError(words)`."""
        made = ast.Call(load("AssertionError"), [] if node.msg is None else [node.msg], [])
        return at(node, ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Raise(made, None)], []))

    def visit_While(self, node: ast.While) -> Any:
        """A test that changes something is asked once a turn: `while True: if not test: break`."""
        self.generic_visit(node)
        if not _changes(node.test) or any(map(_jumps, node.orelse)):
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
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
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


JOINED = frozenset({"sum", "any", "all"})
_TEST = f"{HELPER}condition"


def _has_condition(node: ast.expr) -> bool:
    """Whether a comprehension has conditions, in its last part only, and nothing that binds or waits."""
    if not isinstance(node, _COMPREHENSIONS) or not node.generators[-1].ifs:
        return False
    if any(one.ifs or one.is_async for one in node.generators[:-1]) or node.generators[-1].is_async:
        return False
    return not any(isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for part in ast.walk(node))


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
