"""What is made of a program's source: the same statements, with calls, stores and loads that ask `operations`.

Nothing moves to another frame and no name of the program is touched: what is inserted is looked up in a constant, `R`,
helper variables have names that no source can spell, and every node keeps the position of the one that it stands for.
`expressions` and `storing` say what is made of each expression and statement; only bodies of functions are rewritten,
and what is evaluated in them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from bridge.source.nodes import of
from bridge.source.quiet import Read
from bridge.source.scopes import Scope, is_part, scopes_of
from bridge.source.storing import Storing


class Rewriter(Storing):
    """Rewrites the functions of one statement; the parameters are those of `quiet.Looker`."""

    def __init__(self, names: dict[str, Any], special: Callable[[Any], bool], read: Read) -> None:
        super().__init__(names, special, read)
        self._scopes: dict[ast.AST, Scope] = {}

    def rewritten(self, statement: ast.stmt) -> ast.stmt:
        """The statement, rewritten; `statement` is used up."""
        self._scopes = scopes_of(statement)
        made: ast.stmt = self.visit(statement)
        return ast.fix_missing_locations(made)

    def visit_FunctionDef(self, node: Any) -> Any:
        if not is_part(node):
            self._defaults(node.args)
            node.decorator_list = [self._decorator(one) for one in node.decorator_list]
        outer, self.scope = self.scope, self._scopes[node]
        before, self.in_part = self.in_part, is_part(node)
        node.body = self.body(node.body)
        self.scope, self.in_part = outer, before
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self._defaults(node.args)
        outer, self.scope = self.scope, self._scopes[node]
        node.body = self.visit(node.body)
        self.scope = outer
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        # The body of a class is no function's: its names are attributes. Methods in it are rewritten.
        outer, self.scope = self.scope, None
        node.body = self.body(node.body)
        self.scope = outer
        return node

    def visit_TypeAlias(self, node: Any) -> Any:
        # Its value is evaluated when it is asked for, in a scope of its own.
        return node

    def _defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = [self.visit(one) for one in arguments.defaults]
        arguments.kw_defaults = [one if one is None else self.visit(one) for one in arguments.kw_defaults]

    def _decorator(self, node: ast.expr) -> ast.expr:
        return self.visit(node) if self.scope is None or self.is_known(node) else of(self.visit(node))
