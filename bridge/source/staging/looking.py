"""What can be told of statements and keys before they are staged: what must stay as it is, what is known anyway."""

from __future__ import annotations

import ast

from bridge.source.nodes import at, load
from bridge.source.staging.jumps import jumps
from bridge.source.staging.names import FUNCTIONS, own_parts

_OF_FRAMES = frozenset({"locals", "eval", "exec", "vars", "dir", "super", "globals", "breakpoint"})
_PLAIN_CALLS = frozenset({"isinstance", "issubclass", "callable", "type"})
_SUSPENDS = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)


def own_parts_of(body: list[ast.stmt]) -> list[ast.AST]:
    """All parts of statements that belong to their function."""
    return [part for one in body for part in own_parts(one)]


def suspends(body: list[ast.stmt]) -> bool:
    """Whether a function is a generator, or a coroutine."""
    return any(isinstance(part, _SUSPENDS) for part in own_parts_of(body))


def is_raw(node: ast.AST) -> bool:
    """Whether a loop stays a loop of Python's."""
    return isinstance(node, ast.AsyncFor) or is_blocked(node)


def keeps_jumps(node: ast.For | ast.While) -> bool:
    """Whether a loop was left with jumps of its own: those of generators stay, and those of loops that were raw."""
    return any(map(has_jumps, node.body))


def is_blocked(node: ast.AST) -> bool:
    """Whether something in a statement must run in the frame of its function."""
    return any(
        isinstance(part, _SUSPENDS)
        or (isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in _OF_FRAMES)
        or (isinstance(part, ast.Name) and part.id == "__class__")
        or (isinstance(part, ast.ImportFrom) and any(one.name == "*" for one in part.names))
        for part in own_parts(node)
    )


def has_jumps(node: ast.AST) -> bool:
    """Whether a jump is left in a statement, of a loop that stays Python's."""
    if isinstance(node, (ast.Break, ast.Continue, ast.Return)):
        return True
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return False
    if isinstance(node, (ast.For, ast.While)):
        # Its own jumps stay inside of it; what stands behind its `else` jumps out of the loop around it.
        return any(isinstance(part, ast.Return) for part in own_parts(node)) or any(map(has_jumps, node.orelse))
    return any(map(has_jumps, ast.iter_child_nodes(node)))


def is_plain(node: ast.AST) -> bool:
    """Whether the truth of an expression is known for certain whenever it is asked."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Compare):
        return is_identity(node) and any(isinstance(one, ast.Constant) and one.value is None for one in _sides(node))
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _PLAIN_CALLS
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) and is_plain(node.operand)
    return isinstance(node, ast.BoolOp) and all(map(is_plain, node.values))


def is_identity(node: ast.Compare) -> bool:
    """Whether a comparison asks whether two values are one object."""
    return len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot))


def _sides(node: ast.Compare) -> tuple[ast.expr, ast.expr]:
    return node.left, node.comparators[0]


INDICES = (ast.Name, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Attribute, ast.Call)


def may_be_index(node: ast.expr) -> bool:
    """Whether a key may hold a number that is not known yet, and can be evaluated twice."""
    parts = list(parts_of_key(node))
    return bool(parts) and all(_is_simple(one) for one in parts)


def parts_of_key(node: ast.expr | None) -> list[ast.expr]:
    """Names in a key, from which it is seen whether it is known."""
    if node is None or isinstance(node, ast.Constant):
        return []
    if isinstance(node, ast.Tuple):
        return [part for one in node.elts for part in parts_of_key(one)]
    if isinstance(node, ast.Slice):
        return [part for one in (node.lower, node.upper, node.step) for part in parts_of_key(one)]
    if isinstance(node, ast.BinOp):
        return [*parts_of_key(node.left), *parts_of_key(node.right)]
    if isinstance(node, ast.UnaryOp):
        return parts_of_key(node.operand)
    if isinstance(node, ast.Name):
        return [at(node, load(node.id))]
    return [node]


def _is_simple(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def jumps_in_finally(body: list[ast.stmt]) -> bool:
    """Whether `finally` may end what was raised, by a jump."""
    return any(jumps(last) for part in own_parts_of(body) for last in getattr(part, "finalbody", ()))
