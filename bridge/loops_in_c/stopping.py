"""Branches that are not compiled: compiled code stops before an iteration that takes one, and Python runs it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bridge.source.nodes import copied


class Branch(NamedTuple):
    """A branch of an `if`.

    Attributes
    ----------
    file : the file of the function that is called; empty for the loop's own function.
    line, column : the position of the `if`.
    part : "body", "orelse", or "after" for the statements that follow an `if` which continues or breaks a loop.
    """

    file: str
    line: int
    column: int
    part: str


Reason = tuple[str, int, str]
"""Why something is not compiled, with its line and file, as the arguments of `NotCompiled`."""


class Stop(ast.stmt):
    """The statement in place of a branch that is not compiled, for this `reason`."""

    reason: Reason


class Inserted(ast.If):
    """An `if` that the program does not have: all its branches are compiled."""


def without(node: Any, file: str, branches: Mapping[Branch, Reason]) -> Any:
    """A statement without these branches."""
    return _Stopping(file, branches).visit(copied(node)) if branches else node


def straight(node: Any) -> Any:
    """A statement in which those of each `try` follow each other: compiled code stops where one of them raises."""
    return _Straightening().visit(copied(node)) if any(isinstance(one, ast.Try) for one in ast.walk(node)) else node


def is_stop(body: Sequence[ast.stmt]) -> bool:
    """Whether compiled code stops where these statements begin."""
    return bool(body) and isinstance(body[0], Stop)


class _Straightening(ast.NodeTransformer):
    def visit_Try(self, node: ast.Try) -> Any:
        self.generic_visit(node)
        body = [*node.body, *node.orelse]
        parts = [one for part in body for one in ast.walk(part)]
        if any(isinstance(one, (ast.Return, ast.Break, ast.Continue)) for one in parts) and node.finalbody:
            return node
        return [*body, *node.finalbody]


class _Stopping(ast.NodeTransformer):
    def __init__(self, file: str, branches: Mapping[Branch, Reason]) -> None:
        self.file, self.branches = file, branches

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for part in ("body", "orelse"):
            statements = getattr(node, part, None)
            if not isinstance(statements, list):
                continue
            if isinstance(node, ast.If):
                statements[:] = self._stop(node, part) or statements
            for k, one in enumerate(statements):
                stop = self._stop(one, "after")
                if stop:
                    statements[k + 1 :] = stop
                    break
        return node

    def _stop(self, node: ast.stmt, part: str) -> list[ast.stmt]:
        """The statement in place of a branch, if that is not compiled."""
        branch = Branch(self.file, node.lineno, node.col_offset, part)
        if not isinstance(node, ast.If) or branch not in self.branches:
            return []
        made = ast.copy_location(Stop(), node)
        made.reason = self.branches[branch]
        return [made]
