"""The mutants of a module: each changes one thing in the body of one function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

Swaps = dict[type[Any], tuple[type[Any], ...]]

COMPARISONS: Swaps = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: Swaps = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}


@dataclass(frozen=True)
class Mutant:
    """The `number`-th of a file's: on these lines, `change` is what was and what it becomes."""

    file: str
    number: int
    first: int
    last: int
    source: str
    change: str

    @property
    def key(self) -> str:
        return f"{self.file} {self.number} {self.change}"

    def __str__(self) -> str:
        return f"{self.file}:{self.first}: {self.source}\n    {self.change}"


class Mutating(ast.NodeTransformer):
    """Goes through the bodies of functions; notes every change that could be made, and makes the `wanted`-th.

    What stands below a family's `cases` is about the cases. Annotations, defaults, decorators and texts stay. What is
    replaced remains in the tree, where it never runs: so a closure has the variables that it had.
    """

    def __init__(self, wanted: int = -1) -> None:
        self.wanted = wanted
        self.found: list[tuple[Any, str]] = []
        self.inside = False

    def visit_Module(self, node: ast.Module) -> ast.Module:
        for k, statement in enumerate(node.body):
            if isinstance(statement, ast.FunctionDef) and statement.name == "cases":
                break
            node.body[k] = self.visit(statement)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        outside, self.inside = self.inside, True
        node.body = [self.visit(statement) for statement in node.body]
        self.inside = outside
        for k, decorator in enumerate(node.decorator_list):
            node.decorator_list[k] = self.visit(decorator)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        outside, self.inside = self.inside, True
        node.body = self.visit(node.body)
        self.inside = outside
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        return node

    def visit_keyword(self, node: ast.keyword) -> Any:
        # That two sequences are of one length is asserted: no run shows it.
        return node if node.arg == "strict" else super().generic_visit(node)

    def visit_If(self, node: ast.If) -> Any:
        return self._tested(node)

    visit_While = visit_IfExp = visit_If

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        node.iter = self.visit(node.iter)
        node.ifs = [self._negated(self.visit(test), test) for test in node.ifs]
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not self.inside:
            return super().generic_visit(node)
        made = None
        for change, changed in alternatives(node):
            if self._is_chosen(node, change):
                made = changed
        visited = super().generic_visit(node)
        return visited if made is None else _beside(made, visited)

    def _tested(self, node: Any) -> Any:
        if self.inside:
            node.test = self._negated(node.test, node.test)
        return super().generic_visit(node)

    def _negated(self, test: ast.expr, before: ast.expr) -> ast.expr:
        if isinstance(before, (ast.Compare, ast.UnaryOp)) or not self.inside:
            return test
        chosen = self._is_chosen(before, f"if {ast.unparse(before)} → if not ({ast.unparse(before)})")
        return _placed(ast.UnaryOp(ast.Not(), test), before) if chosen else test

    def _is_chosen(self, node: ast.AST, change: str) -> bool:
        self.found.append((node, change))
        return len(self.found) - 1 == self.wanted


def alternatives(node: Any) -> Iterator[tuple[str, Any]]:
    """What `node` could be instead, with a word on it; None in place of a statement that is left out."""
    was = ast.unparse(node) if isinstance(node, (ast.expr, ast.stmt)) else ""
    for changed in _replacements(node):
        becomes = "left out" if isinstance(changed, ast.Pass) else ast.unparse(changed)
        yield f"{was} → {becomes}", changed


def _replacements(node: Any) -> Iterator[Any]:
    match node:
        case ast.Compare():
            for k, operator in enumerate(node.ops):
                for swapped in COMPARISONS[type(operator)]:
                    yield ast.Compare(node.left, [*node.ops[:k], swapped(), *node.ops[k + 1 :]], node.comparators)
        case ast.BinOp():
            for swapped in ARITHMETIC.get(type(node.op), ()):
                yield ast.BinOp(node.left, swapped(), node.right)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float() | complex()):
            yield ast.Constant(node.value + 1)
        case ast.AugAssign():
            for swapped in ARITHMETIC.get(type(node.op), ()):
                yield ast.AugAssign(node.target, swapped(), node.value)
        case ast.Return(value=ast.expr()) if not _is_none(node.value):
            yield ast.Return(ast.Constant(None))
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.Expr() if not isinstance(node.value, ast.Constant):
            yield ast.Pass()
        case ast.Raise() | ast.Delete():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _beside(made: Any, node: Any) -> Any:
    """What was made of a node, with the node where it never runs."""
    if isinstance(node, ast.expr):
        return _placed(ast.IfExp(ast.Constant(True), made, node), node)
    return _placed(ast.If(ast.Constant(True), [made], [node]), node)


def _placed(made: Any, node: Any) -> Any:
    return ast.fix_missing_locations(ast.copy_location(made, node))


def mutants_of(file: str, source: str) -> list[Mutant]:
    mutating, lines = Mutating(), source.splitlines()
    mutating.visit(ast.parse(source))
    return [
        Mutant(
            file,
            k,
            node.lineno,
            node.end_lineno or node.lineno,
            lines[node.lineno - 1].strip(),
            " ".join(change.split()),
        )
        for k, (node, change) in enumerate(mutating.found)
    ]


def codes(source: str, path: str, number: int = -1) -> dict[tuple[str, int, int], CodeType]:
    """The code of every function of a file, with the change of that number: by name, line, and order on the line."""
    # A constant that repeats on a line is one node for each place where it stands, so trees are never shared.
    tree = Mutating(number).visit(ast.parse(source))
    found: dict[tuple[str, int, int], CodeType] = {}
    pending = [compile(tree, path, "exec", dont_inherit=True)]
    while pending:
        code = pending.pop(0)
        inner = [one for one in code.co_consts if isinstance(one, CodeType)]
        for one in inner:
            name, k = (one.co_qualname, one.co_firstlineno), 0
            while (*name, k) in found:
                k += 1
            found[(*name, k)] = one
        pending += inner
    return found
