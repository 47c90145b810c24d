"""A random program: NumPy source and its inputs. Every evaluator runs the same source."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

# How the caller lays out an argument: the layout decides which reshapes alias.
LAYOUTS = (
    "{}",
    "np.asfortranarray({})",
    "{}[::-1].copy()[::-1]",
    "np.repeat({}, 2, axis=-1)[..., ::2]",
    "np.ascontiguousarray({}.T).T",
)


class Box:
    """An object of a program, for attributes."""


# The name under which a program finds the caller's first array, beside its parameter.
HELD = "held"
# What a program finds beside `np`.
GLOBALS: dict[str, Any] = {"numpy": np, "Box": Box, "ThreadPoolExecutor": ThreadPoolExecutor}


@dataclass
class Line:
    """A statement (of more than one line, if it must stay whole), or the head of a block with its body."""

    text: str
    body: list[Line] = field(default_factory=list)

    def render(self, indent: str = "    ") -> Iterator[str]:
        yield textwrap.indent(self.text, indent)
        for line in self.body:
            yield from line.render(indent + "    ")


@dataclass
class RandomProgram:
    """`function(np)` is a real function of the inputs that computes in the namespace `np`.

    Arrays are created with `like=` or by operations on the inputs, so the source also runs with
    plain NumPy as `np`. Constants come from `numpy` in any case.
    """

    inputs: tuple[np.ndarray, ...]
    layouts: tuple[str, ...]
    lines: list[Line]
    result: str = "0.0"

    @property
    def source(self) -> str:
        body = [text for line in self.lines for text in line.render()]
        return "\n".join([f"def f({', '.join(self.parameters)}):", *body, f"    return {self.result}", ""])

    @property
    def file(self) -> str:
        """What tracebacks and messages call the file of the program."""
        return f"<random program {hash(self.source):x}>"

    @property
    def parameters(self) -> tuple[str, ...]:
        return ("x", "y", "z")[: len(self.inputs)]

    def function(self, namespace: ModuleType) -> Callable[..., Any]:
        scope: dict[str, Any] = {**GLOBALS, "np": namespace}
        linecache.cache[self.file] = (len(self.source), None, self.source.splitlines(keepends=True), self.file)
        exec(compile(self.source, self.file, "exec"), scope)
        return scope["f"]

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """The program in NumPy alone."""
        function = self.function(np)
        return lambda *inputs: held_by(function, inputs)(*inputs)

    def __repr__(self) -> str:
        inputs = ""
        for name, x, layout in zip(self.parameters, self.inputs, self.layouts, strict=True):
            values = f"np.array({np.round(x.astype(float), 2).tolist()}, np.{x.dtype})"
            inputs += f"{name} = {layout.format(values)}\n"
        inputs += f"{HELD} = x\n" if HELD in self.source else ""
        return f"\nimport numpy\nimport numpy as np\n\n{inputs}\n\n{self.source}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def held_by(function: Callable[..., Any], inputs: Sequence[np.ndarray]) -> Callable[..., Any]:
    """The function of a program, whose caller holds the first input under another name."""
    function.__globals__[HELD] = inputs[0]
    return function
