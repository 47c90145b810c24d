"""Variables that a function binds once and reads once, in the same turn of the same loop: nobody reads them again."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence, Set

from bridge.source.staging.names import COMPREHENSIONS, FUNCTIONS

_APART = (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)
"""What may be run at another time than where it stands, or several times."""


def read_once(body: Sequence[ast.stmt], arguments: Set[str]) -> set[ast.Name]:
    """Where a function reads such variables."""
    names = [part for statement in body for part in ast.walk(statement) if isinstance(part, ast.Name)]
    reads = Counter(one.id for one in names if isinstance(one.ctx, ast.Load))
    binds = Counter(one.id for one in names if not isinstance(one.ctx, ast.Load))
    binds.update(arguments)
    given = {name for name in reads if reads[name] == binds[name] == 1}
    return set(_in_block(body, arguments & given, given))


def _in_block(block: Sequence[ast.stmt], ready: Set[str], given: Set[str]) -> Iterator[ast.Name]:
    ready = set(ready)
    for statement in block:
        yield from (one for one in _evaluated(statement) if one.id in ready)
        for inner in _blocks(statement):
            yield from _in_block(inner, set(), given)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            (target,) = statement.targets
            if isinstance(target, ast.Name) and target.id in given:
                ready.add(target.id)


def _evaluated(node: ast.AST) -> Iterator[ast.Name]:
    """Names that are read at most once where a statement runs once."""
    if isinstance(node, ast.Name):
        yield node
    if isinstance(node, _APART):
        return
    if isinstance(node, ast.For):
        yield from _evaluated(node.iter)
        return
    if not isinstance(node, (ast.While, ast.AsyncFor)):
        for part in ast.iter_child_nodes(node):
            yield from _evaluated(part)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks right inside of a statement."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return
    for _, part in ast.iter_fields(node):
        if isinstance(part, list) and part and isinstance(part[0], ast.stmt):
            yield part
        elif isinstance(part, list):
            for one in part:
                if isinstance(one, (ast.excepthandler, ast.match_case)):
                    yield from _blocks(one)
