"""Hooks in loops of rewritten code, by which compiled C code can take over at the beginning of an iteration.

`for x in a: ...` becomes

    i, k = a, None
    while True:
        k = R.enter(number, k, i)
        if R.binds(k):
            if R.has(k, "y"): y = R.bound(k, "y")        for each variable that the loop binds
        for x in R.rest(k, i): ...
        else: k = R.ended(k)
        if R.over(k): break
    i = k = None

`k` is the progress of the loop (`Progress`), or None while Python runs all of it. `while` loops call `R.more(k)` in
their condition. `enter` is `bridge.loops_in_c.tiers.enter`.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from bridge.errors import ArgumentError, choice
from bridge.options import Loops
from bridge.rewind.context import Context
from bridge.rewind.forward import ForwardContext
from bridge.rewind.interpreter import current_context
from bridge.source import callees
from bridge.source.iterating import Iteration, iteration
from bridge.source.nodes import LOOP, at, copied, load, reader, store
from bridge.source.operations import READERS, Reader
from bridge.source.reading import Looping, looped_code, twin
from bridge.source.staging.liveness import Liveness
from bridge.source.twins import twins


class Loop(NamedTuple):
    """A loop of the program, as it is written, and the variables that may be read after it or by later iterations."""

    node: ast.For | ast.While
    live: frozenset[str]
    file: str


SITES: list[Loop] = []
"""All loops with hooks. Their index is their number."""

REASONS: dict[int, str] = {}
"""Why Python has run loops, by their numbers: `file:line: reason`."""

RAN: set[int] = set()
"""The numbers of the loops that have run in C."""

STOPS: dict[int, list[str]] = {}
"""The branches that Python runs of loops that have run in C, by their numbers: `file:line: reason`."""


VARIABLE = "BRIDGE_LOOPS"
"""The environment variable that selects how loops run where `loops=` is not given."""

MODES = ("auto", "c", "python")
"""The values of `loops=`: in C after a loop has taken long, in C from its beginning, and in Python."""

_HOME = "bridge.loops_in_c.tiers"


def chosen(loops: str | None) -> str:
    """The value of `loops=`; if that is None, the one of the environment variable, else "auto".

    Raises
    ------
    ArgumentError : the value is not one of `MODES`.
    """
    name, value = ("loops", loops) if loops is not None else (VARIABLE, os.environ.get(VARIABLE) or "auto")
    if value not in MODES:
        raise ArgumentError(
            f"{name}={value!r}" if loops is not None else f"{name}={value}", remedy=choice(value, MODES)
        )
    return value


def steady() -> Loops:
    """How loops run in checks, whose results must not depend on timing: never "auto"."""
    return "c" if chosen(None) == "c" else "python"


def check(loops: str | None, engine: str, source: bool | None) -> None:
    """Raise ArgumentError for an unknown `loops=`, or one that contradicts `engine=` or `source=`."""
    if loops is not None and chosen(loops) == "c" and engine not in ("eager", "native"):
        raise ArgumentError(f'loops="c" with engine="{engine}"', remedy='loops run in C under engine="eager"')
    if loops == "c" and source is False:
        raise ArgumentError('loops="c" with source=False', remedy="leave out source=False: loops in C are read")


class Progress:
    """The progress of a loop, from which Python continues.

    Attributes
    ----------
    values : variables that compiled code has bound.
    rest : what Python's `for` goes on with now.
    later : what is left after that; None if nothing is.
    is_over : whether a `while` is over.
    has_ended : whether Python has seen the end of `rest`, not a `break`.
    """

    later: Any = None
    has_ended = False

    def __init__(self, values: dict[str, Any], rest: Any, is_over: bool) -> None:
        self.values, self.rest, self.is_over = values, rest, is_over

    def more(self) -> bool:
        """Whether Python's `while` may look at its condition."""
        return not self.is_over

    def over(self) -> bool:
        """Python's part has ended; whether that was the last one."""
        return True


_ENDED = Progress({}, (), True)
_ENDED.has_ended = True


@cache
def _runner() -> Callable[..., Any]:
    """The function that runs a loop in C. It is imported on first use."""
    runner: Callable[..., Any] = import_module(_HOME).enter
    return runner


_OF_ALL = frozenset({"locals", "vars", "dir", "eval", "exec", "globals", "_getframe", "currentframe", "f_locals"})
"""Functions and attributes that may read every variable."""


_DEEP = 5
"""The deepest nesting of loops with hooks. Python allows twenty nested blocks, and a loop with hooks is two."""


class _Marker(ast.NodeTransformer):
    """Inserts the hooks into the loops of one statement."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.depth = 0
        self.is_function = False
        self.names: set[str] = set()
        self.live: dict[ast.AST, set[str]] = {}

    def visit_FunctionDef(self, node: Any) -> Any:
        before, self.is_function, self.depth = (self.is_function, self.depth, self.live, self.names), True, 0
        lives = Liveness(node.body, {})
        # Where compiled code stops, Python goes on with what the next iterations read.
        self.live = {one: after | lives.exposed.get(one, set()) for one, after in lives.after.items()}
        inside = [*ast.walk(node)]
        self.names = {one.id for one in inside if isinstance(one, ast.Name)}
        self.names |= {one.attr for one in inside if isinstance(one, ast.Attribute)} & _OF_ALL
        node = self.generic_visit(node)
        self.is_function, self.depth, self.live, self.names = before
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
        if not self.is_function or self.depth == _DEEP or _is_not_plain(original):
            return self.generic_visit(node)
        self.depth += 1
        number, label = len(SITES), f"{LOOP}{self.depth}"
        live = self.live[node] if self.names.isdisjoint(_OF_ALL) else self.names
        SITES.append(Loop(original, frozenset(live), self.file))
        self.generic_visit(node)
        self.depth -= 1
        found, over = f"{label}k", f"{label}i"
        # Python places a call of a method in the last line of a statement.
        head = node.target if isinstance(node, ast.For) else node.test
        asked: list[ast.expr] = [ast.Constant(number), load(found)]
        before: list[ast.stmt] = [at(node, ast.Assign([store(found, node)], ast.Constant(None)))]
        if isinstance(node, ast.For):
            before.append(at(node, ast.Assign([store(over, node)], _iterated(node.iter))))
            asked.append(load(over))
            node.iter = at(node.iter, reader("rest", load(found), load(over)))
        else:
            node.test = at(head, ast.BoolOp(ast.And(), [reader("more", load(found)), node.test]))
        parts: list[ast.stmt] = [at(head, ast.Assign([store(found, node)], reader("enter", *asked)))]
        binding: list[ast.stmt] = []
        for name in sorted(bound(original)):
            left = ast.Assign([store(name, node)], reader("bound", load(found), ast.Constant(name)))
            binding.append(ast.If(reader("has", load(found), ast.Constant(name)), [left], []))
        if binding:
            parts.append(at(head, ast.If(reader("binds", load(found)), binding, [])))
        after, node.orelse = node.orelse, [at(head, ast.Assign([store(found, node)], reader("ended", load(found))))]
        parts += [node, at(head, ast.If(reader("over", load(found)), [ast.Break()], []))]
        made = [*before, at(node, ast.While(ast.Constant(True), parts, []))]
        if after:
            made.append(at(head, ast.If(reader("finished", load(found)), after, [])))
        names = [found] if isinstance(node, ast.While) else [found, over]
        made.append(at(node, ast.Assign([store(name, node) for name in names], ast.Constant(None))))
        return made


def bound(node: ast.AST) -> set[str]:
    """The variables that a statement binds. Those of a comprehension are its own."""
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return set()
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Store) else set()
    return set().union(*map(bound, ast.iter_child_nodes(node)))


def _is_not_plain(loop: ast.For | ast.While) -> bool:
    """Whether a loop has something that never runs in C, and that makes other code of it."""
    if isinstance(loop, ast.For) and not _is_held(loop.iter):
        return True
    kinds = (ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda, ast.FunctionDef, ast.ClassDef, ast.Delete, ast.NamedExpr)
    return any(isinstance(one, kinds) for one in ast.walk(loop))


def _is_held(over: ast.expr) -> bool:
    """Whether a loop may go over a range or arrays, which lie in a variable before it begins."""
    if isinstance(over, ast.Call):
        named = over.func.id if isinstance(over.func, ast.Name) else getattr(over.func, "attr", "")
        is_plain = not any(isinstance(one, ast.Starred) for one in over.args) and all(one.arg for one in over.keywords)
        return is_plain and (named in _RANGES or named in _OF_PARTS or named in _MAKING)
    return isinstance(over, (ast.Name, ast.Attribute, ast.Subscript))


_RANGES = frozenset({"range", "prange"})
"""`range`, and Numba's, which is `range` without threads."""
_OF_PARTS = frozenset({"enumerate", "zip", "reversed"})
"""Functions that go over ranges and arrays."""
_MAKING = frozenset({"arange", "linspace", "logspace", "geomspace", "array", "asarray"})
"""Functions of NumPy that make arrays to go over."""


def _iterated(node: ast.expr) -> ast.expr:
    """`R.iterated(zip, ...)` in the place of `zip(...)`."""
    if not _is_held(node) or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return node
    if node.func.id not in _OF_PARTS:
        return node
    made = reader("iterated", node.func, *map(_iterated, node.args))
    assert isinstance(made, ast.Call)
    made.keywords = node.keywords
    return at(node, made)


def marked(tree: ast.stmt, file: str) -> ast.stmt:
    """A statement of a file, with hooks in its loops; `tree` is consumed."""
    made: ast.stmt = _Marker(file).visit(tree)
    return made


class LoopReader(Reader):
    """The reader of code whose loops have hooks."""

    __slots__ = ()

    def of(self, callee: Any) -> Any:
        """The function to call. Loops of the program's own functions are looked at first."""
        found = callees.of(callee)
        if type(found) is FunctionType:
            kept = twins.get(id(callee))
            if kept is None or kept.function is not found:
                return _looped(found)
            if kept.looped is None:
                kept.looped = _looped(found)
            return kept.looped
        if type(found) is MethodType and type(found.__func__) is FunctionType:
            function = _looped(found.__func__)
            return found if function is found.__func__ else MethodType(function, found.__self__)
        return found

    def enter(self, number: int, found: Progress | None, iterable: Any = None) -> Progress | None:
        """A loop begins, or goes on: how far it has come."""
        context = current_context()
        if not may_run(context):
            return None
        left: Progress | None = _runner()(context, number, iterable, found)
        return left

    def iterated(self, function: Any, /, *args: Any, **keywords: Any) -> Any:
        """What a loop over `function(*args)` goes over, if that can be divided into parts; else that itself."""
        found = iteration(function, args, keywords)
        if found is not None:
            return found
        return self.of(function)(*(iter(one) if type(one) is Iteration else one for one in args), **keywords)

    def rest(self, found: Progress | None, iterable: Any) -> Any:
        """What the loop in Python goes on with."""
        return iterable if found is None else found.rest

    def more(self, found: Progress | None) -> bool:
        """Whether a `while` may go on in Python."""
        return found is None or found.more()

    def binds(self, found: Progress | None) -> bool:
        """Whether a compiled loop has bound variables."""
        return found is not None and bool(found.values)

    def has(self, found: Progress, name: str) -> bool:
        """Whether it has bound this one."""
        return name in found.values

    def bound(self, found: Progress, name: str) -> Any:
        """What it has bound it to."""
        return found.values.pop(name)

    def ended(self, found: Progress | None) -> Progress:
        """Python's part of the loop has ended without `break`."""
        if found is None:
            return _ENDED
        found.has_ended = True
        return found

    def over(self, found: Progress | None) -> bool:
        """Python's part of the loop is over; whether the loop is."""
        return found is None or found.over()

    def finished(self, found: Progress | None) -> bool:
        """Whether the loop has ended without `break`."""
        return found is not None and found.has_ended


def _looped(function: FunctionType) -> FunctionType:
    """A function with hooks in its loops; itself if its code is not read."""
    code = looped_code(function.__code__, function.__globals__)
    return function if code is function.__code__ else twin(function, code)


def may_run(context: Any) -> bool:
    """Whether loops of a context may run in C: the only one there is, on arrays, by the rule book."""
    if type(context) is ForwardContext:
        is_plain = context.listener is None and not context.home.is_abstract
    else:
        is_plain = type(context) is Context and context.lean
    return is_plain and context.loops != "python" and context.outer is None


READER = LoopReader()
READERS.append(READER)
Looping.reader = READER
Looping.marked = marked
