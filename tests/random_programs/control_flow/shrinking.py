"""Making a failing program small: lines are left out, and blocks replaced by their bodies, while the failure stays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.random_programs.control_flow.program import Program
from tests.random_programs.program import Line


def smallest(program: Program, fails: Callable[[Program], bool], seconds: float) -> Program:
    """The smallest program that was found to fail alike in that time."""
    end = time.monotonic() + seconds
    shorter = True
    while shorter:
        shorter = False
        for lines in shortened(program.lines):
            if time.monotonic() > end:
                return program
            candidate = replace(program, lines=lines)
            if compiles(candidate) and fails(candidate):
                program, shorter = candidate, True
                break
    return program


def shortened(lines: tuple[Line, ...]) -> Iterator[tuple[Line, ...]]:
    """Without one of the lines, the largest first; then with a block's body in its place; then with a smaller body."""
    for k in sorted(range(len(lines)), key=lambda k: -size(lines[k])):
        yield lines[:k] + lines[k + 1 :]
    for k, line in enumerate(lines):
        if line.body and not line.text.startswith("def "):
            yield (*lines[:k], *line.body, *lines[k + 1 :])
    for k, line in enumerate(lines):
        for body in shortened(tuple(line.body)):
            if body:
                yield (*lines[:k], Line(line.text, list(body)), *lines[k + 1 :])


def size(line: Line) -> int:
    return 1 + sum(map(size, line.body))


def compiles(program: Program) -> bool:
    try:
        compile(program.text, "candidate", "exec")
    except SyntaxError:
        return False
    return True
