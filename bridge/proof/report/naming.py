"""What a program calls its memory: `y` of `y = np.zeros(n)`, `self.flux` of `self.flux[1:] = ...`."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator
from functools import lru_cache

from bridge.code_position import Position, span

_LONGEST = 40
"""Names of more characters than that say less than the operation does."""

# Lines and columns of an expression or a statement: first and last line, first and last column.
Extent = tuple[int | None, int | None, int | None, int | None]
# The names that one node of a syntax tree gives, and of which extent.
Naming = Callable[[ast.AST], Iterator[tuple[Extent, str]]]


def made_at(position: Position) -> str | None:
    """The name under which the program keeps what the operation at a position makes.

    None where the value has no name: an operand of a larger expression, an argument, what is returned.
    """
    return _name_at(position, _made)


def written_at(position: Position) -> str | None:
    """The array into which the operation at a position writes; None where the program has no name for it."""
    return _name_at(position, _written)


def _name_at(position: Position, naming: Naming) -> str | None:
    file, _, *extent = span(position)
    return _names_in("".join(linecache.getlines(file)), naming).get(tuple(extent)) if len(extent) == 4 else None


@lru_cache(maxsize=64)
def _names_in(source: str, naming: Naming) -> dict[tuple[int | None, ...], str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        # Code that was made at run time under the name of another file.
        return {}
    return {extent: name for node in ast.walk(tree) for extent, name in naming(node) if len(name) <= _LONGEST}


def _made(node: ast.AST) -> Iterator[tuple[Extent, str]]:
    match node:
        case ast.Assign(targets=[target, *_], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
            if isinstance(target, (ast.Name, ast.Attribute)) or _is_keyed(target):
                yield _extent(value), ast.unparse(target)
        case ast.NamedExpr(target=target, value=value):
            yield _extent(value), target.id
        case ast.AugAssign(target=ast.Name(id=name)):
            yield _extent(node), name
        case ast.Name() | ast.Attribute():
            # What is not tracked yet is taken up where its name is read.
            yield _extent(node), ast.unparse(node)


def _written(node: ast.AST) -> Iterator[tuple[Extent, str]]:
    match node:
        case ast.AugAssign(target=target):
            yield _extent(node), _array(target)
        case ast.Subscript(ctx=ast.Store()):
            yield _extent(node), _array(node)
        case ast.Name() | ast.Attribute():
            yield _extent(node), ast.unparse(node)
        case ast.Call(keywords=keywords):
            for keyword in keywords:
                if keyword.arg == "out" and isinstance(keyword.value, (ast.Name, ast.Attribute, ast.Subscript)):
                    yield _extent(node), _array(keyword.value)


def _array(target: ast.expr) -> str:
    """The array into which a program writes: `u` of `u[1:, 0]`."""
    while isinstance(target, ast.Subscript) and not _is_keyed(target):
        target = target.value
    return ast.unparse(target)


def _is_keyed(target: ast.expr) -> bool:
    """Whether it is an item of a dictionary."""
    return (
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and isinstance(target.slice.value, str)
    )


def _extent(node: ast.expr | ast.stmt) -> Extent:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
