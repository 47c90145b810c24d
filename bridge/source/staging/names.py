"""Which variables of a function statements bind, and which they read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that statements bind or delete in the function that they are of."""
    return {name for node in nodes for part in own_parts(node) for name in _bound_by(part)}


def read(node: ast.AST | None) -> set[str]:
    """Names that an expression or a statement may read, in functions inside of it too."""
    if node is None:
        return set()
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Store)}


def own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all parts of it that belong to the same function."""
    yield node
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        for part in _evaluated_outside(node):
            yield from own_parts(part)
        return
    if isinstance(node, COMPREHENSIONS):
        # Its targets are its own; what `:=` binds in it is the function's.
        yield from (part for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
        return
    for part in ast.iter_child_nodes(node):
        yield from own_parts(part)


def captured(body: Iterable[ast.AST]) -> set[str]:
    """Names in functions and classes inside of a function: they may be read whenever these run."""
    found: set[str] = set()
    for statement in body:
        for part in ast.walk(statement):
            if isinstance(part, (*FUNCTIONS, ast.ClassDef)):
                found.update(one.id for one in ast.walk(part) if isinstance(one, ast.Name))
                found.update(
                    name for one in ast.walk(part) if isinstance(one, (ast.Nonlocal, ast.Global)) for name in one.names
                )
            elif isinstance(part, (ast.Nonlocal, ast.Global)):
                found.update(part.names)
    return found


def _evaluated_outside(node: Any) -> Iterator[ast.AST]:
    if isinstance(node, ast.ClassDef):
        yield from (*node.decorator_list, *node.bases, *node.keywords)
        return
    yield from getattr(node, "decorator_list", ())
    yield from node.args.defaults
    yield from (one for one in node.args.kw_defaults if one is not None)


def _bound_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield node.id
    elif isinstance(node, ast.NamedExpr):
        yield node.target.id
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from ((one.asname or one.name).partition(".")[0] for one in node.names)
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        yield from [node.name] if node.name else []
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
