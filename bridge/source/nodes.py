"""Pieces of syntax trees: what is inserted into a program, and where a message or a debugger will see it.

A piece that stands for a part of the program has that part's position, so that tracebacks with their carets, `pdb`,
coverage and `logging` show the lines that the program has, in the order in which they run.
"""

from __future__ import annotations

import ast
from typing import Any, TypeVar

READER = "\0bridge"
"""The constant that stands for `operations.READER` until the code is compiled."""

HELPER = "."
"""What names of helper variables begin with: no source can spell them."""

PART = f"{HELPER}part"
"""The parameter by which code of a part of a function is known."""

PARTS = tuple(HELPER + name for name in ("body", "test", "then", "else"))
"""What names of functions begin with that are parts of the function around them."""

_WHOLE = (ast.Lambda, ast.JoinedStr, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

Node = TypeVar("Node", bound=ast.AST)

LOOP = f"{HELPER}loop"
"""What the variables of a loop begin with that may run in C."""


def reader(name: str, *args: ast.expr) -> ast.expr:
    """`R.name(*args)`."""
    found = ast.Attribute(ast.Constant(READER), name, ast.Load())
    if args and _is_placed(args[0]):
        at(first(args[0]), found)
    return ast.Call(found, list(args), [])


def asks_reader(node: ast.Call) -> bool:
    """Whether a call is one of the reader's, or of what the reader gave."""
    called: ast.AST = node
    while isinstance(called, ast.Call):
        called = called.func
    return isinstance(called, ast.Attribute) and isinstance(called.value, ast.Constant) and called.value.value == READER


def of(called: ast.expr) -> ast.expr:
    """`R.of(called)`."""
    made = at(called, reader("of", called))
    if isinstance(called, ast.Attribute):
        begin_at_attribute(made, called)
    return made


def if_lent(seen: ast.expr, plain: ast.expr) -> ast.expr:
    """`seen if R.lent else plain`."""
    lent = ast.Attribute(ast.Constant(READER), "lent", ast.Load())
    return at(first(plain), ast.IfExp(lent, seen, plain))


def assign(target: ast.expr, value: ast.expr) -> ast.stmt:
    """`target = value`, where the target is."""
    return at(target, ast.Assign([target], value))


def load(name: str) -> ast.Name:
    """A variable that is read."""
    return ast.Name(name, ast.Load())


def store(name: str, where: ast.AST) -> ast.Name:
    """A variable that is bound, at the position of `where`."""
    return at(where, ast.Name(name, ast.Store()))


def forget(where: ast.AST, *names: str) -> ast.stmt:
    """`del names`."""
    return at(where, ast.Delete([ast.Name(name, ast.Del()) for name in names]))


def at(origin: ast.AST, node: Node) -> Node:
    """`node` at the position of `origin`, and what it is made of too, down to what has a position already."""
    if not _is_placed(node):
        if node._attributes:
            ast.copy_location(node, origin)
        for name in node._fields:
            part = getattr(node, name, None)
            if isinstance(part, ast.AST):
                if part._fields:
                    at(origin, part)
            elif isinstance(part, list):
                for one in part:
                    if isinstance(one, ast.AST):
                        at(origin, one)
    return node


def begin_at_attribute(node: ast.expr, attribute: ast.Attribute) -> None:
    """Let a call that stands for `x.method(...)` begin at the line of `method`, where Python says that it is called."""
    if attribute.end_lineno is not None and attribute.lineno != attribute.end_lineno:
        node.lineno = attribute.end_lineno
        node.col_offset = max((attribute.end_col_offset or 0) - len(attribute.attr), 0)


def first(node: ast.AST) -> ast.AST:
    """What is evaluated first of an expression: its line runs first."""
    while True:
        if isinstance(node, (ast.IfExp, ast.NamedExpr)):
            node = node.test if isinstance(node, ast.IfExp) else node.value
            continue
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr) and _is_placed(part)]
        if not parts or isinstance(node, _WHOLE):
            return node
        node = parts[0]


def copied(node: Node) -> Node:
    """A copy of a tree, positions included."""
    made = type(node).__new__(type(node))
    vars(made).update({name: _copied(value) for name, value in vars(node).items()})
    return made


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(one) for one in value]
    return copied(value) if isinstance(value, ast.AST) else value


def _is_placed(node: ast.AST) -> bool:
    return getattr(node, "lineno", None) is not None
