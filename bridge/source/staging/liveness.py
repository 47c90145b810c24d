"""Which variables may still be read after a loop or a branch: only these leave it.

Walked from the end of a function, in which `break`, `continue` and `return` have left the statements that become
functions (`jumps`). Where something is not known, a variable counts as live.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bridge.source.staging.names import bound, captured, read


class Liveness:
    """What is live after, and read at the begin of, each `for`, `while` and `if` of a function.

    Parameters
    ----------
    stops : flags that loops look at after each turn.

    Attributes
    ----------
    after : names that may be read once a statement is over, by statement.
    exposed : names whose value from before a loop its turns may read or hand on: what the body or the condition reads
        before it is bound, and what is read later and not bound in every turn; by statement.
    """

    def __init__(self, body: Sequence[ast.stmt], stops: Mapping[ast.AST, tuple[str, ...]]) -> None:
        self.stops = stops
        self.after: dict[ast.AST, set[str]] = {}
        self.exposed: dict[ast.AST, set[str]] = {}
        self.always = captured(body)
        self._jumps: list[set[str]] = []
        self._loops: dict[tuple[Any, ...], _Loop] = {}
        self.block(body, set())

    def block(self, statements: Sequence[ast.stmt], live: set[str]) -> set[str]:
        """What is live before statements, if `live` is so after them."""
        for statement in reversed(statements):
            live = self.statement(statement, live)
        return live

    def statement(self, node: Any, live: set[str]) -> set[str]:
        """What is live before one statement."""
        if isinstance(node, ast.If):
            self.after[node] = live | self.always
            return read(node.test) | self.block(node.body, live) | self.block(node.orelse, live)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(node, live)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            # What it calls at its end may suppress an error: any statement of the body may be the last one that runs.
            always, self.always = self.always, self.always | live
            inside = self.block(node.body, live)
            self.always = always
            given = {name for one in node.items for name in read(one.context_expr)}
            return given | live | (inside - _named(*(one.optional_vars for one in node.items)))
        if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            return self._try(node, live)
        if isinstance(node, ast.Match):
            cases = [self.block(case.body, live) | read(case.guard) | read(case.pattern) for case in node.cases]
            return read(node.subject) | live.union(*cases)
        if isinstance(node, (ast.Break, ast.Continue)):
            return set(self._jumps[-1]) if self._jumps else set(live)
        if isinstance(node, (ast.Return, ast.Raise)):
            return read(node) | set().union(*self._jumps)
        if isinstance(node, ast.Assign):
            return (live - _named(*node.targets)) | read(node)
        if isinstance(node, ast.AugAssign):
            return live | read(node) | _named(node.target)
        if isinstance(node, ast.AnnAssign):
            return (live - (_named(node.target) if node.value is not None else set())) | read(node.value)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return (live - {node.name}) | read(node)
        return live | read(node)

    def _loop(self, node: Any, live: set[str]) -> set[str]:
        """What is live before a loop.

        Its body is walked until nothing more is found live, and so are the loops in it each time; what was found for
        the same names is therefore kept, or that would double with each loop around.
        """
        key = (node, frozenset(live), frozenset(self.always), *map(frozenset, self._jumps))
        found = self._loops.get(key)
        if found is None:
            before = self._looked_through(node, live)
            parts = {*ast.walk(node)}
            found = self._loops[key] = _Loop(before, _of(self.after, parts), _of(self.exposed, parts))
        self.after |= found.after
        self.exposed |= found.exposed
        return set(found.before)

    def _looked_through(self, node: Any, live: set[str]) -> set[str]:
        after = self.block(node.orelse, live)
        self.after[node] = after | self.always
        is_for = not isinstance(node, ast.While)
        target = _named(node.target) if is_for else set()
        test = {*self.stops.get(node, ())} | (set() if is_for else read(node.test))
        self._jumps.append(set())
        head = set(after)
        while True:
            self._jumps[-1] = live | head
            found = after | test | (self.block(node.body, head) - target) | head
            if found == head:
                break
            head = found
        # What a turn may leave as it was is read by it, if it is read after the loop.
        self.exposed[node] = (self.block(node.body, head) - target) | test | self.always
        self._jumps.pop()
        return head | (read(node.iter) if is_for else set())

    def _try(self, node: Any, live: set[str]) -> set[str]:
        last = self.block(node.finalbody, live)
        handlers = last.union(*(self.block(one.body, last) | read(one.type) for one in node.handlers))
        # Any statement of the body may be the last one that runs.
        always, self.always = self.always, self.always | handlers
        body = self.block(node.body, self.block(node.orelse, last))
        self.always = always
        return body | handlers | (live - bound([node]))


@dataclass(frozen=True)
class _Loop:
    """What is live before a loop, and what was found of the statements in it."""

    before: set[str]
    after: dict[ast.AST, set[str]]
    exposed: dict[ast.AST, set[str]]


def _of(found: dict[ast.AST, set[str]], parts: set[ast.AST]) -> dict[ast.AST, set[str]]:
    return {node: names for node, names in found.items() if node in parts}


def _named(*targets: Any) -> set[str]:
    """Names that targets bind, whatever happens."""
    found: set[str] = set()
    for target in targets:
        if isinstance(target, ast.Name):
            found.add(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            found |= _named(*target.elts)
        elif isinstance(target, ast.Starred):
            found |= _named(target.value)
    return found
