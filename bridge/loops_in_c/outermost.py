"""What the outermost loop goes over: ranges and arrays as variables of the compiled loop, and an expression of them."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from typing import Any

from bridge.rewind.interpreter import ARRAYS
from bridge.source.iterating import Iteration

REST = ".rest"
"""The function of an expression that leaves out the first items of another one."""
FUNCTIONS: dict[str, Any] = {".range": range, ".zip": zip, ".enumerate": enumerate, REST: None}
"""Functions by names that no source can spell."""


class Outermost:
    """What a loop goes over.

    Attributes
    ----------
    live : the variables that hold it: arrays, and numbers, by names that no source can spell.
    arrays : the names of arrays among them.
    not_negative : the names of numbers that are known not to be negative.
    key : what is part of the compiled code.
    """

    def __init__(self, over: range | Iteration) -> None:
        self.live: dict[str, Any] = {}
        self.arrays: set[str] = set()
        self.not_negative: set[str] = set()
        self.key = self._of(over)
        if isinstance(over, Iteration):
            self.key = REST, self.key, self._number(over.begin)

    def _of(self, over: Any) -> Hashable:
        """The function that `over` is a call of, with the names of its arguments; the name of an array."""
        if isinstance(over, range):
            return ".range", self._number(over.start), self._number(over.stop, -1), over.step
        if isinstance(over, Iteration) and over.function is not None:
            parts = tuple(map(self._of, over.over))
            return (
                f".{over.function.__name__}",
                *parts,
                *([self._number(over.first)] if over.function is enumerate else ()),
            )
        name = f".array{len(self.live)}"
        self.live[name] = ARRAYS.seen(over.over[0] if isinstance(over, Iteration) else over)
        self.arrays.add(name)
        return name

    def _number(self, value: int, least: int = 0) -> str:
        name = f".number{len(self.live)}"
        self.live[name] = value
        if value >= least:
            self.not_negative.add(name)
        return name

    def expression(self, line: int) -> ast.expr:
        """The expression of `key`. Each part has a position of its own, by which the reader names values."""
        count = 0

        def made(key: Any) -> ast.expr:
            nonlocal count
            count += 1
            node: ast.expr = ast.Constant(key)
            if isinstance(key, str):
                node = ast.Name(key, ast.Load())
            elif isinstance(key, tuple):
                node = ast.Call(ast.Name(key[0], ast.Load()), [made(one) for one in key[1:]], [])
            node.lineno, node.col_offset = line, -count
            return ast.fix_missing_locations(node)

        return made(self.key)
