"""A function's variables: which names it binds, which hold numbers only, how private names are spelled."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from bridge.source.nodes import HELPER

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_INNER = (*_FUNCTIONS, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Scope:
    """The variables of one function, and of the functions around it."""

    def __init__(self, node: Any, outer: Scope | None, owner: str | None) -> None:
        self.outer = outer
        self.owner = owner
        self.bound: set[str] = set(_arguments(node.args))
        self.rebinds_outer: set[str] = set()
        self.globals: set[str] = set()
        self._in_part = False
        self._values: dict[str, list[ast.expr | None]] = {name: [None] for name in self.bound}
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        for statement in body:
            self._look_at(statement)
        self.bound -= self.rebinds_outer
        self._shared = set(_shared(body))
        self._numbers = self._found_numbers()

    def binds(self, name: str) -> bool:
        """Whether a name is a variable of this function, or of one around it, not a global one."""
        return name in self.bound or (self.outer is not None and self.outer.binds(name))

    def is_own(self, name: str) -> bool:
        """Whether a variable is bound by statements of this function alone, and no other function reads it."""
        return name in self.bound and name not in self._shared

    def is_number(self, name: str) -> bool:
        """Whether a variable holds nothing but numbers of Python's: counters, lengths."""
        return name in self._numbers

    def is_global(self, name: str) -> bool:
        """Whether a function says that a name which it binds is a global variable."""
        return name in self.globals

    def mangled(self, name: str) -> str:
        """A private name as Python spells it inside of a class."""
        if self.owner is None or not name.startswith("__") or name.endswith("__"):
            return name
        return f"_{self.owner.lstrip('_')}{name}" if self.owner.strip("_") else name

    def _bind(self, target: ast.AST, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.bound.add(target.id)
            self._values.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            shape = value if isinstance(value, ast.Attribute) and value.attr == "shape" else None
            for k, one in enumerate(target.elts):
                self._bind(one, parts[k] if len(parts) == len(target.elts) else shape)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, None)

    def _look_at(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            self.rebinds_outer.update(() if self._in_part else node.names)
            if isinstance(node, ast.Global):
                self.globals.update(node.names)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr, ast.AugAssign)):
            self._bind(node.target, node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._bind_loop(node)
        elif isinstance(node, ast.comprehension):
            # No number: outside of the comprehension the name may be that of a global array.
            self._bind(node.target, None)
        elif isinstance(node, ast.FunctionDef) and is_part(node):
            # A part of this function that was made a function of its own: its variables are this one's.
            before, self._in_part = self._in_part, True
            for one in node.body:
                self._look_at(one)
            self._in_part = before
            return
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._bind(ast.Name(node.name, ast.Store()), None)
            return
        elif isinstance(node, ast.Lambda):
            return
        else:
            for name in _other_names(node):
                self._bind(ast.Name(name, ast.Store()), None)
        for name, part in ast.iter_fields(node):
            if name not in ("target", "targets") or isinstance(node, ast.Delete):
                for one in part if isinstance(part, list) else (part,):
                    if isinstance(one, ast.AST):
                        self._look_at(one)

    def _bind_loop(self, node: ast.For | ast.AsyncFor) -> None:
        called = node.iter.func.id if isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name) else ""
        if called == "enumerate" and isinstance(node.target, ast.Tuple) and node.target.elts:
            self._bind(node.target.elts[0], ast.Constant(0))
            for one in node.target.elts[1:]:
                self._bind(one, None)
        else:
            self._bind(node.target, _counter(node.iter))

    def _found_numbers(self) -> frozenset[str]:
        found = {name for name in self.bound if name not in self.rebinds_outer}
        while True:
            kept = {name for name in found if all(_is_number(value, found) for value in self._values.get(name, [None]))}
            if kept == found:
                return frozenset(found)
            found = kept


def scopes_of(statement: ast.stmt) -> dict[ast.AST, Scope]:
    """The scope of every function in a statement."""
    found: dict[ast.AST, Scope] = {}

    def walk(node: ast.AST, outer: Scope | None, owner: str | None) -> None:
        if is_part(node) and outer is not None:
            found[node] = outer
        elif isinstance(node, _FUNCTIONS):
            outer = found[node] = Scope(node, outer, owner)
        elif isinstance(node, ast.ClassDef):
            owner = node.name
        for part in ast.iter_child_nodes(node):
            walk(part, outer, owner)

    walk(statement, None, None)
    return found


def is_part(node: ast.AST) -> bool:
    """Whether a function is a part of the one around it (`staging`)."""
    return isinstance(node, ast.FunctionDef) and node.name.startswith(HELPER)


def _shared(body: list[Any]) -> Iterator[str]:
    """Names in functions, classes and comprehensions inside of a body, and names that expressions bind."""
    for statement in body:
        for part in ast.walk(statement):
            if isinstance(part, _INNER) and not is_part(part):
                yield from (one.id for one in ast.walk(part) if isinstance(one, ast.Name))
            elif isinstance(part, ast.NamedExpr):
                yield part.target.id


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    rest = (one for one in (arguments.vararg, arguments.kwarg) if one is not None)
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest):
        yield one.arg


def _other_names(node: ast.AST) -> Iterator[str]:
    """Names that a statement binds beside assignments: imports, handlers, patterns, `with`."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for one in node.names:
            yield (one.asname or one.name).partition(".")[0]
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        yield from [node.name] if node.name else []
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
    elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield node.id


def _counter(values: ast.expr) -> ast.expr | None:
    """A number, if a loop runs over a range; else None."""
    called = values.func.id if isinstance(values, ast.Call) and isinstance(values.func, ast.Name) else ""
    return ast.Constant(0) if called in ("range", "prange") else None


def _is_number(value: ast.expr | None, numbers: set[str]) -> bool:
    """Whether an expression gives a number, if those names do."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, (int, float, complex, str, bool))
    if isinstance(value, ast.Name):
        return value.id in numbers
    if isinstance(value, ast.BinOp):
        return _is_number(value.left, numbers) and _is_number(value.right, numbers)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand, numbers)
    if isinstance(value, ast.Subscript):
        return isinstance(value.value, ast.Attribute) and value.value.attr == "shape"
    if isinstance(value, ast.Attribute):
        return value.attr in ("shape", "ndim", "size")
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "len"
    return False
