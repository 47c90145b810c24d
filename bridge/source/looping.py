"""Loops of read code that may run in C: before each, the code asks, and goes on with what the compiled loop has left.

`for x in a: ...` becomes

    i = a
    k = R.enter(number, i)
    i = R.rest(k, i)
    if R.has(k, "y"): y = R.bound(k, "y")        for each variable that the loop binds
    for x in i: ...

and so does `while`, whose condition is false when all of it has run. `bridge.loops_in_c` says what `enter` does.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from bridge.code_position import callers_frame
from bridge.errors import ArgumentError, choice
from bridge.rewind.context import Context
from bridge.rewind.interpreter import current_context
from bridge.source import callees
from bridge.source.nodes import HELPER, at, copied, load, reader, store
from bridge.source.operations import READERS, Reader
from bridge.source.reading import Looping, looped_code, twin
from bridge.source.staging.liveness import Liveness


class Loop(NamedTuple):
    """A loop of the program, as it is written, and the variables that may be read when it is over."""

    node: ast.For | ast.While
    live: frozenset[str]


SITES: list[Loop] = []
"""The loops of code that was made to ask, by their numbers."""


VARIABLE = "BRIDGE_LOOPS"
"""The environment variable that selects how loops run: "python", the default, or "c"."""

_HOME = "bridge.loops_in_c.running"


def is_asked_for() -> bool:
    """Whether loops are to run in C; ArgumentError for a value of the variable that says neither."""
    value = os.environ.get(VARIABLE, "") or "python"
    if value not in ("python", "c"):
        raise ArgumentError(f"{VARIABLE}={value}", remedy=choice(value, ("python", "c")))
    return value == "c"


@cache
def _runner() -> Callable[[Any, int, Any, Any], Any]:
    """The function that runs a loop in C. It is imported on first use."""
    runner: Callable[[Any, int, Any, Any], Any] = import_module(_HOME).enter
    return runner


_OF_ALL = frozenset({"locals", "vars", "dir", "eval", "exec", "globals"})
"""Functions that may read every variable."""


class _Marker(ast.NodeTransformer):
    """Lets the functions of one statement ask before their loops."""

    def __init__(self) -> None:
        self.depth = 0
        self.is_function = False
        self.names: set[str] = set()
        self.live: dict[ast.AST, set[str]] = {}

    def visit_FunctionDef(self, node: Any) -> Any:
        before, self.is_function, self.depth = (self.is_function, self.depth, self.live), True, 0
        self.live = Liveness(node.body, {}).after
        self.names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        node = self.generic_visit(node)
        self.is_function, self.depth, self.live = before
        return node

    def visit_AsyncFunctionDef(self, node: Any) -> Any:
        return node

    def visit_ClassDef(self, node: Any) -> Any:
        before, self.is_function = self.is_function, False
        node = self.generic_visit(node)
        self.is_function = before
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node

    def visit_For(self, node: ast.For) -> Any:
        return self._loop(node)

    def visit_While(self, node: ast.While) -> Any:
        return self._loop(node)

    def _loop(self, node: Any) -> Any:
        original = copied(node)
        if not self.is_function or node.orelse or _is_not_plain(original):
            return self.generic_visit(node)
        self.depth += 1
        number, label = len(SITES), f"{HELPER}loop{self.depth}"
        live = self.live[node] if self.names.isdisjoint(_OF_ALL) else self.names
        SITES.append(Loop(original, frozenset(live)))
        self.generic_visit(node)
        self.depth -= 1
        found, over = f"{label}k", f"{label}i"
        before: list[ast.stmt] = []
        asked: list[ast.expr] = [ast.Constant(number)]
        if isinstance(node, ast.For):
            before.append(at(node, ast.Assign([store(over, node)], node.iter)))
            asked.append(load(over))
            node.iter = at(node, load(over))
        before.append(at(node, ast.Assign([store(found, node)], reader("enter", *asked))))
        if isinstance(node, ast.For):
            before.append(at(node, ast.Assign([store(over, node)], reader("rest", load(found), load(over)))))
        else:
            node.test = at(node.test, ast.BoolOp(ast.And(), [reader("more", load(found)), node.test]))
        for name in sorted(_bound(original)):
            left = ast.Assign([store(name, node)], reader("bound", load(found), ast.Constant(name)))
            before.append(at(node, ast.If(reader("has", load(found), ast.Constant(name)), [left], [])))
        return [*before, node]


def _bound(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _is_not_plain(loop: ast.AST) -> bool:
    """Whether a loop has something that never runs in C, and that makes other code of it."""
    kinds = (ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda, ast.FunctionDef, ast.ClassDef, ast.Delete, ast.NamedExpr)
    return any(isinstance(one, kinds) for one in ast.walk(loop))


def marked(tree: ast.stmt) -> ast.stmt:
    """The statement, whose functions ask before their loops; `tree` is used up."""
    made: ast.stmt = _Marker().visit(tree)
    return made


class LoopReader(Reader):
    """What a statement asks whose loops may run in C."""

    __slots__ = ()

    def of(self, callee: Any) -> Any:
        """The function to call. Loops of the program's own functions are looked at first."""
        found = callees.of(callee)
        if type(found) is FunctionType:
            code = looped_code(found.__code__, found.__globals__)
            return found if code is found.__code__ else twin(found, code)
        if type(found) is MethodType and type(found.__func__) is FunctionType:
            code = looped_code(found.__func__.__code__, found.__func__.__globals__)
            return found if code is found.__func__.__code__ else MethodType(twin(found.__func__, code), found.__self__)
        return found

    def enter(self, number: int, iterable: Any = None) -> Any:
        """A loop begins: what a compiled one has left, or None."""
        context = current_context()
        if not may_run(context):
            return None
        return _runner()(context, number, iterable, callers_frame())

    def rest(self, found: Any, iterable: Any) -> Any:
        """What the loop in Python goes on with."""
        return iterable if found is None else found.rest

    def more(self, found: Any) -> bool:
        """Whether a `while` may go on in Python."""
        return found is None or not found.is_over

    def has(self, found: Any, name: str) -> bool:
        """Whether a compiled loop has bound a variable."""
        return found is not None and name in found.values

    def bound(self, found: Any, name: str) -> Any:
        """What it has bound a variable to."""
        return found.values[name]


def may_run(context: Any) -> bool:
    """Whether loops of a context may run in C: the only one there is, in reverse mode, on arrays, by the rule book."""
    return type(context) is Context and context.outer is None and context.lean


READER = LoopReader()
READERS.append(READER)
Looping.reader = READER
Looping.marked = marked
