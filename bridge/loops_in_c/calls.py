"""Calls of functions of the program: their bodies become part of the loop."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

from bridge.loops_in_c.appending import Appending
from bridge.loops_in_c.expressions import Read, referred
from bridge.loops_in_c.functions import ADD_AT
from bridge.loops_in_c.ir import Assign, Block, Const, Each, Stmt, Store
from bridge.loops_in_c.stopping import Branch, Inserted, Reason, without
from bridge.loops_in_c.values import Elements, Known, NotCompiled, Several, Unbound, Value, alike, bound_flag
from bridge.rulebook import book
from bridge.source.finding import Unread, is_library, statement_of
from bridge.source.nodes import copied

RESULT = ".result"
_DEEP = 8
"""How deep functions may call each other."""


class Calls(Appending):
    """Reads calls of functions.

    Attributes
    ----------
    out : the statements that the loop has become so far.
    file : that of the function whose body is read; empty for the loop's own.
    stops : branches of functions that are not compiled.
    """

    out: list[Stmt]
    calling: int = 0
    file: str = ""
    stops: Mapping[Branch, Reason]

    def statement(self, node: ast.stmt) -> None:
        """Read a statement."""
        raise NotImplementedError

    def _do_Expr(self, node: ast.Expr) -> None:
        # A call has become statements already; a text is for readers.
        name = self.list_of(node.value)
        if name is not None:
            self.append(name, node.value)  # type: ignore[arg-type]
        elif isinstance(node.value, ast.Call) and self.known(node.value.func) is ADD_AT:
            self.add_at(node.value)
        elif isinstance(node.value, ast.Name):
            self.value(node.value)
        elif not isinstance(node.value, ast.Constant):
            self.refuse("a call for its effect", node)

    def without_calls(self, node: Any) -> Any:
        """A statement or an expression without calls of functions of the program, which run before it."""
        lifting = _Lifting(self)
        made = lifting.visit(copied(node))
        return made if lifting.calls else node

    def function_of(self, node: ast.Call) -> FunctionType | None:
        """The function of the program that a call calls, by its name; None if it is something else."""
        if not isinstance(node.func, ast.Name) or node.func.id in self.names:
            value = self.names.get(node.func.id) if isinstance(node.func, ast.Name) else None
            function = value.value if isinstance(value, Known) else None
        else:
            found = self.value(node.func)
            function = found.value if isinstance(found, Known) else None
        if self.prefix and isinstance(node.func, ast.Name) and node.func.id in self.names:
            return None
        if type(function) is not FunctionType or function in book.RULES or function in book.MUTATING:
            return None
        if function.__code__.co_freevars or is_library(function.__code__.co_filename, function.__module__ or ""):
            return None
        return function

    def inlined(self, function: FunctionType, node: ast.Call, may_write: bool) -> Value:
        """Read the body of a function for one call of it; what it returns."""
        file = function.__code__.co_filename
        definition = without(self._definition(function, node), file, self.stops)
        self.read.append(Read(referred(function), "__code__", function.__code__))
        if self.calling >= _DEEP:
            self.refuse("calls that are too deep", node)
        outer, self.block = self.block, []
        values = self._arguments(function, definition, node)
        scope = self.names, self.prefix, self.look, self.globals
        self.scopes.append(self.names)
        names = function.__globals__

        own = frozenset(function.__code__.co_varnames)

        def look(name: str) -> Any:
            if name in own:
                self.refuse(f"{name} is not bound", node)
            if name in names:
                return names[name]
            if hasattr(builtins, name):
                return getattr(builtins, name)
            self.refuse(f"{name} is not bound", node)

        first = len(self.out)
        self.prefix += f".{node.lineno}.{node.col_offset}."
        self.names, self.look, self.globals = {}, look, names
        self.calling += 1
        for one in sorted(self.flagged):
            if one.startswith(self.prefix):
                self.variables[bound_flag(one)] = "b"
                self.block.append(Assign(bound_flag(one), Const("b", False)))
        for name, value in values.items():
            self.bind(name, value)
        self.out += [Block(node.lineno, self.block), *self.after]
        self.block, self.after = [], []
        outer_file, self.file = self.file, file
        try:
            result = self._body(definition)
        except NotCompiled as error:
            error.file = error.file or file
            raise
        finally:
            self.file = outer_file
        self.calling -= 1
        inner = self.prefix
        self.names, self.prefix, self.look, self.globals = scope
        self.scopes.pop()
        self.block = outer
        self.line = node.lineno
        if not may_write and _writes(self.out[first:], inner):
            self.refuse(f"a call in an expression of {function.__name__}, which writes arrays", node)
        return result

    def _definition(self, function: FunctionType, node: ast.Call) -> ast.FunctionDef:
        code = function.__code__
        try:
            tree = statement_of(code, function.__globals__).statement.tree
        except Unread as reason:
            self.refuse(f"a call of {function.__name__}, which is not read: {reason}", node)
        for one in ast.walk(tree):
            if not isinstance(one, ast.FunctionDef) or one.name != code.co_name:
                continue
            if code.co_firstlineno in (one.lineno, *(other.lineno for other in one.decorator_list)):
                return one
        self.refuse(f"a call of {function.__name__}", node)

    def _arguments(self, function: FunctionType, definition: ast.FunctionDef, node: ast.Call) -> dict[str, Value]:
        """The values of the parameters."""
        given = definition.args
        if given.vararg or given.kwarg or given.kwonlyargs or any(isinstance(one, ast.Starred) for one in node.args):
            self.refuse(f"a call of {function.__name__} with * or keywords only", node)
        parameters = [one.arg for one in (*given.posonlyargs, *given.args)]
        if len(node.args) > len(parameters):
            self.refuse(f"a call of {function.__name__} with too many arguments", node)
        values = {name: self.value(one) for name, one in zip(parameters, node.args, strict=False)}
        for one in node.keywords:
            if one.arg is None or one.arg not in parameters or one.arg in values:
                self.refuse(f"a call of {function.__name__} with such keywords", node)
            values[one.arg] = self.value(one.value)
        defaults = function.__defaults__ or ()
        for name, default in zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True):
            if name not in values:
                self.read.append(Read(referred(function), "__defaults__", defaults))
                values[name] = self.of_object(default)
        if len(values) < len(parameters):
            self.refuse(f"a call of {function.__name__} with too few arguments", node)
        return {name: values[name] for name in parameters}

    def _body(self, definition: ast.FunctionDef) -> Value:
        """Read the statements of a function; what it returns."""
        for one in _without_returns(definition.body, definition):
            self.statement(one)
        result = self.names[RESULT]
        if isinstance(result, Known) and isinstance(result.value, str) and result.value.startswith(RESULT):
            count = int(result.value.removeprefix(RESULT))
            return Several(tuple(self._returned(f"{RESULT}{number}", definition) for number in range(count)))
        return self._returned(RESULT, definition)

    def _returned(self, name: str, definition: ast.FunctionDef) -> Value:
        value = self.names[name]
        if isinstance(value, Unbound):
            self.refuse(f"{definition.name} does not return the same kind of thing each time", definition)
        if isinstance(value, Elements) and value.array is not None and value.array.startswith(self.prefix):
            # The function's own array ends with it. The caller binds a copy, which may be one of another array, too.
            shared = frozenset(one for one in value.shared if not one.startswith(self.prefix))
            is_whole = alike(replace(value, shared=frozenset()), self.whole(value.array))
            return Elements(value.kind, value.extents, value.at, shared=shared, is_part=not is_whole)
        return value


def _without_returns(body: Sequence[ast.stmt], at: ast.AST) -> list[ast.stmt]:
    """Statements that bind `RESULT` where these return: what follows an `if` becomes the end of its ways."""
    for number, one in enumerate(body):
        if isinstance(one, ast.Return):
            return [*body[:number], *_results(one)]
        if isinstance(one, ast.If) and any(isinstance(x, ast.Return) for x in ast.walk(one)):
            rest = body[number + 1 :]
            ways = [_without_returns([*way, *rest], one) for way in (one.body, one.orelse)]
            return [*body[:number], ast.copy_location(ast.If(one.test, *ways), one)]
        if isinstance(one, (ast.For, ast.While)) and any(isinstance(x, ast.Return) for x in ast.walk(one)):
            flag = f"{RESULT}.{one.lineno}.{one.col_offset}"
            loop, is_set = copied(one), ast.Name(flag, ast.Load())
            loop.body = _with_breaks(one.body, flag)
            after = Inserted(is_set, [ast.Pass()], _without_returns(body[number + 1 :], at))
            return [*body[:number], _assigned(flag, False, one), loop, _placed(after, one)]
    return [*body, *_results(ast.copy_location(ast.Return(None), at))]


def _with_breaks(body: Sequence[ast.stmt], flag: str) -> list[ast.stmt]:
    """Statements of a loop that set a flag and end the loop where these return."""
    made: list[ast.stmt] = []
    for one in body:
        if isinstance(one, ast.Return):
            made += [*_results(one), _assigned(flag, True, one), _placed(ast.Break(), one)]
        elif not any(isinstance(x, ast.Return) for x in ast.walk(one)):
            made.append(one)
        elif isinstance(one, ast.If):
            ways = [_with_breaks(way, flag) for way in (one.body, one.orelse)]
            made.append(ast.copy_location(ast.If(one.test, *ways), one))
        elif isinstance(one, (ast.For, ast.While)):
            loop = copied(one)
            loop.body = _with_breaks(one.body, flag)
            made += [loop, _placed(Inserted(ast.Name(flag, ast.Load()), [ast.Break()], []), one)]
        else:
            made.append(one)
    return made


def _assigned(name: str, value: bool, at: ast.stmt) -> ast.stmt:
    return _placed(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), at)


def _placed(node: Any, at: ast.stmt) -> Any:
    return ast.fix_missing_locations(ast.copy_location(node, at))


def _results(node: ast.Return) -> list[ast.stmt]:
    """The assignments that a return becomes. Of several values, the last says how many."""
    values = {RESULT: node.value or ast.Constant(None)}
    if isinstance(node.value, ast.Tuple):
        values = {f"{RESULT}{number}": one for number, one in enumerate(node.value.elts)}
        values[RESULT] = ast.Constant(f"{RESULT}{len(values)}")
    made = [ast.Assign([ast.Name(name, ast.Store())], value) for name, value in values.items()]
    return [_placed(one, node) for one in made]


class _Lifting(ast.NodeTransformer):
    """Puts names in the place of calls, in the order in which Python evaluates them."""

    def __init__(self, reader: Calls) -> None:
        self.reader = reader
        self.calls = 0
        self.whole: ast.expr | None = None

    def visit_Expr(self, node: ast.Expr) -> Any:
        self.whole = node.value
        return self.generic_visit(node)

    visit_Assign = visit_Expr  # type: ignore[assignment]

    def visit_Call(self, node: ast.Call) -> Any:
        is_whole = node is self.whole
        node = ast.copy_location(
            ast.Call(node.func, [self.visit(one) for one in node.args], [self.visit(one) for one in node.keywords]),
            node,
        )
        function = self.reader.function_of(node)
        if function is None:
            return node
        self.calls += 1
        value = self.reader.inlined(function, node, may_write=is_whole)
        name = f".call.{node.lineno}.{node.col_offset}"
        self.reader.names[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        # What may not be evaluated stays as it is.
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node


def _writes(out: list[Stmt], prefix: str) -> bool:
    """Whether statements write into memory that is not of a function alone."""
    for one in out:
        for value in vars(one).values():
            if isinstance(value, list) and _writes([x for x in value if isinstance(x, Stmt)], prefix):
                return True
        if isinstance(one, (Store, Each)) and not one.array.startswith(prefix):
            return True
    return False
