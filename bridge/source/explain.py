"""What was read of a function, as code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

from bridge.errors import ArgumentError, with_article
from bridge.source.finding import Unread, is_library, statement_of
from bridge.source.looping import RAN, REASONS, SITES, STOPS
from bridge.source.nodes import HELPER, READER, copied
from bridge.source.numba import is_jitted
from bridge.source.reading import rewritten_tree


def explain_source(function: Any) -> str:
    """The source of a function as it is run when it is differentiated, or the reason why it is run as it is.

    In the text, `bridge.of(f)` says what is called for `f`, and `bridge.into(a, v)` what takes a write of `v` into `a`,
    with `into_own` where `a` is a variable that this function alone has. `bridge.seen(a) if bridge.lent else a` is `a`,
    or what stands for it while it is lent. Names such as `_1` are of helper variables. Below it, a comment for each
    loop says whether it has run in C, and if not, why; and that loops over `numba.prange` run in one thread.

    Parameters
    ----------
    function : a Python function, one that Numba compiles, or a method of an object or a class.

    Raises
    ------
    ArgumentError : it is something else: compiled code, a function of NumPy's, an object with `__call__`.
    """
    plain: Any = function.__func__ if isinstance(function, MethodType) else function
    plain = plain.py_func if is_jitted(plain) else plain
    if not isinstance(plain, FunctionType):
        kind = with_article(type(function).__name__)
        raise ArgumentError(f"{kind} has no source", remedy="give a Python function or method")
    code, names = plain.__code__, plain.__globals__
    try:
        if is_library(code.co_filename, names.get("__name__") or ""):
            raise Unread(f"{code.co_qualname} belongs to an installed library")
        statement = statement_of(code, names).statement
        tree = rewritten_tree(copied(statement.tree), names, statement.whole)
        found = next(node for node in ast.walk(tree) if _is_at(node, code.co_name, code.co_firstlineno))
        told = list(_of_loops(statement.tree, code))
        return "\n".join((ast.unparse(_Readable().visit(found)), *told))
    except (Unread, RecursionError) as reason:
        return f"# not read: {reason}"


def _of_loops(tree: ast.AST, code: CodeType) -> Iterator[str]:
    """For each loop of a function, a comment that says what became of it."""
    function = next(node for node in ast.walk(tree) if _is_at(node, code.co_name, code.co_firstlineno))
    numbers = {(one.node.lineno, one.node.col_offset): k for k, one in enumerate(SITES) if one.file == code.co_filename}
    below = list(ast.iter_child_nodes(function))
    while below:
        node = below.pop(0)
        if isinstance(node, (ast.For, ast.While)):
            number = numbers.get((node.lineno, node.col_offset), -1)
            if "prange(" in ast.unparse(node).partition("\n")[0]:
                yield f"# line {node.lineno}: one thread runs this loop over prange."
            if number in RAN and number not in REASONS:
                yield f"# line {node.lineno}: this loop has run in C."
                yield from (f"#     Python runs a branch, {one}" for one in STOPS.get(number, ()))
                continue
            reason = f", {REASONS[number]}" if number in REASONS else ", if it has run."
            yield f"# line {node.lineno}: Python has run this loop{reason}"
        below[:0] = ast.iter_child_nodes(node)


def _is_at(node: ast.AST, name: str, line: int) -> bool:
    if name == "<lambda>":
        return isinstance(node, ast.Lambda) and node.lineno == line
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != name:
        return False
    return line in (node.lineno, *(one.lineno for one in node.decorator_list))


class _Readable(ast.NodeTransformer):
    """Helper variables and the reader by names that can be read."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Name("bridge", ast.Load()) if node.value == READER else node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(f"_{node.id[1:]}", node.ctx) if node.id.startswith(HELPER) else node
