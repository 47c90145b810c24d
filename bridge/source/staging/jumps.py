"""`break`, `continue` and `return` out of what becomes a function: flags that say that a jump was made, and guards.

* Where one side of an `if` always jumps, what follows moves to the other side: `if c: return a` and `return b` become
  the sides of one `if`.
* Elsewhere what follows is guarded: `if not flag: ...`. A loop looks at its flags after each turn.
* `return v` sets a helper variable, which the end of the function returns; names that every path returns, it returns
  itself: nothing binds them any more.

Loops that stay loops of Python's (`is_raw`) keep their own `break` and `continue`.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Sequence, Set
from typing import Any

from bridge.source.nodes import HELPER, at, load, reader, store
from bridge.source.staging.names import bound, own_parts, read

RETURNED, VALUE = f"{HELPER}returned", f"{HELPER}value"


class Jumps:
    """Lowers the jumps of one function.

    Parameters
    ----------
    is_raw : whether a loop stays as it is.
    arguments : the function's parameters.

    Attributes
    ----------
    stops : for each loop with jumps the flags that end it.
    """

    def __init__(self, is_raw: Callable[[ast.AST], bool], arguments: Set[str]) -> None:
        self.is_raw = is_raw
        self.arguments = arguments
        self.stops: dict[ast.AST, tuple[str, ...]] = {}
        self._numbers = 0
        self._given: ast.expr | None = None

    def lowered(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The body of a function, without jumps out of what becomes a function."""
        last = body[-1]
        if not any(map(_returns, body[:-1])) and (isinstance(last, ast.Return) or not _returns(last)):
            stays = [last] if isinstance(last, ast.Return) else []
            found, _ = self._block(body[: len(body) - len(stays)], None)
            return [*found, *stays]
        where = body[0]
        self._given = given = _same_everywhere(body, self.arguments)
        found, may = self._block(body, None)
        if given is None and not _always(body):
            nothing = at(body[-1], ast.Assign([store(VALUE, body[-1])], ast.Constant(None)))
            found += _guarded(may, [nothing], body[-1]) if may else [nothing]
        first = at(where, ast.Assign([store(RETURNED, where)], ast.Constant(False)))
        value = given or at(body[-1], reader("returned", load(VALUE)))
        return [first, *found, at(body[-1], ast.Return(value))]

    def _block(self, statements: Sequence[ast.stmt], loop: Any) -> tuple[list[ast.stmt], set[str]]:
        """Statements without jumps, and the flags that they may set; `loop` is that around them: flags, or "raw"."""
        out: list[ast.stmt] = []
        flags: set[str] = set()
        for number, one in enumerate(statements):
            rest = statements[number + 1 :]
            made, may, ends = self._statement(one, rest, loop)
            out += made
            flags |= may
            if ends:
                break
            if may and rest:
                guarded, more = self._block(rest, loop)
                out += _guarded(may, guarded, rest[0])
                return out, flags | more
        return out, flags

    def _statement(self, node: Any, rest: Sequence[ast.stmt], loop: Any) -> tuple[list[ast.stmt], set[str], bool]:
        """What becomes of a statement, flags that it may set, and whether the rest is not to follow it."""
        if isinstance(node, (ast.Break, ast.Continue)):
            if loop is None or loop == "raw":
                return [node], set(), True
            flag = loop[isinstance(node, ast.Continue)]
            return [_set(flag, node)], {flag}, True
        if isinstance(node, ast.Return):
            made: list[ast.stmt] = [_set(RETURNED, node)]
            if self._given is None:
                made.insert(0, at(node, ast.Assign([store(VALUE, node)], node.value or ast.Constant(None))))
            jump: list[ast.stmt] = [at(node, ast.Break())] if loop == "raw" else []
            return [*made, *jump], {RETURNED}, True
        if not jumps(node):
            return [node], set(), False
        if isinstance(node, ast.If):
            return self._if(node, rest, loop)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            made, may = self._loop(node, loop)
            return made, may, False
        flags: set[str] = set()
        for name, part in ast.iter_fields(node):
            if name in ("body", "handlers", "orelse", "finalbody", "cases") and part:
                flags |= self._parts(part, loop, flags if name == "orelse" else set())
        return [node], flags, False

    def _parts(self, parts: list[Any], loop: Any, before: set[str]) -> set[str]:
        """Lower the parts of `with`, `try` or `match` in place; returns the flags that they may set."""
        if isinstance(parts[0], ast.stmt):
            first = parts[0]
            made, flags = self._block(parts, loop)
            parts[:] = _guarded(before, made, first) if before else made
            return flags
        found: set[str] = set()
        for one in parts:
            one.body, flags = self._block(one.body, loop)
            found |= flags
        return found

    def _if(self, node: ast.If, rest: Sequence[ast.stmt], loop: Any) -> tuple[list[ast.stmt], set[str], bool]:
        moves_to_else, moves_to_body = _always(node.body), _always(node.orelse)
        moved = moves_to_else or moves_to_body
        body = [*node.body, *rest] if moves_to_body and not moves_to_else else node.body
        orelse = [*node.orelse, *rest] if moves_to_else else node.orelse
        node.body, flags = self._block(body, loop)
        node.orelse, more = self._block(orelse, loop) if orelse else ([], set())
        node.body = node.body or [at(node, ast.Pass())]
        return [node], flags | more, moved

    def _loop(self, node: Any, around: Any) -> tuple[list[ast.stmt], set[str]]:
        self._numbers += 1
        broken, continued = f"{HELPER}broken{self._numbers}", f"{HELPER}continued{self._numbers}"
        raw = self.is_raw(node)
        node.body, flags = self._block(node.body, "raw" if raw else (broken, continued))
        orelse, more = self._block(node.orelse, around) if node.orelse else ([], set())
        node.orelse = orelse
        may = (flags | more) & {RETURNED}
        if raw:
            after: list[ast.stmt] = [at(node, ast.Break())] if around == "raw" and RETURNED in flags else []
            return [node, *_if_set(RETURNED, after, node)], may | (more - {RETURNED})
        stops = tuple(flag for flag in (broken, RETURNED) if flag in flags)
        self.stops[node] = stops
        if continued in flags:
            node.body.insert(0, _clear(continued, node.body[0]))
        made: list[ast.stmt] = [_clear(broken, node)] if broken in flags else []
        made.append(node)
        if orelse and stops:
            node.orelse = []
            made += _guarded(set(stops), orelse, orelse[0])
        if RETURNED in flags and around == "raw":
            made += _if_set(RETURNED, [at(node, ast.Break())], node)
        return made, may | (more - {RETURNED})


def _set(flag: str, where: ast.AST) -> ast.stmt:
    return at(where, ast.Assign([store(flag, where)], ast.Constant(True)))


def _clear(flag: str, where: ast.AST) -> ast.stmt:
    return at(where, ast.Assign([store(flag, where)], ast.Constant(False)))


def _guarded(flags: set[str], statements: list[ast.stmt], where: ast.AST) -> list[ast.stmt]:
    """Statements that run if none of the flags is set."""
    if not statements:
        return []
    # A condition for each flag: to join them would ask for the truth of one that is not known yet.
    made: list[ast.stmt] = statements
    for flag in sorted(flags):
        made = [at(where, ast.If(ast.UnaryOp(ast.Not(), load(flag)), made, []))]
    return made


def _if_set(flag: str, statements: list[ast.stmt], where: ast.AST) -> list[ast.stmt]:
    return [at(where, ast.If(load(flag), statements, []))] if statements else []


def _same_everywhere(body: Sequence[ast.stmt], arguments: Set[str]) -> ast.expr | None:
    """What a function returns on every path, if that is names and constants, which mean the same at its end."""
    parts = [part for statement in body for part in own_parts(statement)]
    returns = [one for one in parts if isinstance(one, ast.Return)]
    given = returns[-1].value if returns else None
    if given is None or not _always(body) or {ast.dump(one) for one in returns} != {ast.dump(returns[-1])}:
        return None
    # What follows a `try` may bind names after its return.
    if any(isinstance(one, (ast.Try, ast.TryStar)) and _returns(one) for one in parts):
        return None
    plain = given.elts if isinstance(given, ast.Tuple) else [given]
    if not all(isinstance(one, (ast.Name, ast.Constant)) for one in plain):
        return None
    # A name that has no value on the other paths would have none at the end, for all that is known.
    before = itertools.takewhile(lambda one: not _returns(one), body)
    certain = arguments | bound(one for one in before if isinstance(one, (ast.Assign, ast.AnnAssign, ast.AugAssign)))
    uncertain = bound(body) - certain | bound(one for one in parts if isinstance(one, ast.Delete))
    return None if uncertain & read(given) else given


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda))


def _returns(node: ast.AST) -> bool:
    """Whether a statement may return from its function."""
    if isinstance(node, ast.Return):
        return True
    return not _is_function(node) and any(map(_returns, ast.iter_child_nodes(node)))


def jumps(node: ast.AST) -> bool:
    """Whether a statement has jumps in it."""
    if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
        return True
    return not _is_function(node) and any(jumps(part) for part in ast.iter_child_nodes(node))


def _always(statements: Sequence[ast.stmt]) -> bool:
    """Whether nothing that follows statements ever runs."""
    return any(map(_ends, statements))


def _ends(node: Any) -> bool:
    if isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
        return True
    if isinstance(node, ast.If):
        return bool(node.orelse) and _always(node.body) and _always(node.orelse)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return False  # a context manager may swallow what was raised
    if isinstance(node, ast.While):
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return endless and not any(_breaks(part) for part in node.body)
    return False


def _breaks(node: ast.AST) -> bool:
    """Whether a statement may break off the loop around it."""
    if isinstance(node, ast.Break):
        return True
    if _is_function(node) or isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        return False
    return any(map(_breaks, ast.iter_child_nodes(node)))
