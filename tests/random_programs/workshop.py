"""What the generator of programs knows while it writes one: the values that the lines so far give."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tests.random_programs.program import GLOBALS, HELD, Line

MAX_SIZE = 24


class Declined(Exception):
    """A statement found nothing that it could work on."""


class Workshop:
    """The lines written so far, run under plain NumPy as they are written.

    `scope` holds every live name. A name is a tracked array, a tracked scalar, or a plain
    constant (which the program may change, but only with plain values).
    """

    def __init__(self, dice: Random, inputs: dict[str, np.ndarray]) -> None:
        self.dice = dice
        self.scope: dict[str, Any] = {**GLOBALS, "np": np, HELD: inputs["x"], **inputs}
        self.plain: set[str] = set()
        self.lines: list[Line] = []
        self._count = 0

    def integer(self, low: int, high: int) -> int:
        return self.dice.randint(low, high)

    def choose(self, options: Any) -> Any:
        options = list(options)
        if not options:
            raise Declined
        return self.dice.choice(options)

    def number(self) -> float:
        """A constant with few digits, so that a failure prints short."""
        return (10 * self.integer(-15, 15) + 5) / 100

    def fresh(self, prefix: str = "v") -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def write(self, text: str, body: list[str] | None = None) -> None:
        """Append a statement and run it."""
        line = Line(text, [Line(inner) for inner in body or []])
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            exec("\n".join(line.render("")), self.scope)
        self.lines.append(line)

    def arrays(self, suits: Callable[[np.ndarray], bool] = lambda a: True) -> list[str]:
        """Names of tracked arrays, not empty, with one axis or more and a suitable value, newest last."""
        return [n for n, v in self._tracked() if isinstance(v, np.ndarray) and v.ndim and v.size and suits(v)]

    def writable(self, suits: Callable[[np.ndarray], bool] = lambda a: True) -> list[str]:
        return self.arrays(lambda a: a.flags.writeable and suits(a))

    def scalars(self) -> list[str]:
        return [n for n, v in self._tracked() if np.ndim(v) == 0]

    def constants(self) -> list[str]:
        return sorted(self.plain)

    def value(self, source: str) -> Any:
        return eval(source, self.scope)

    def largest(self) -> list[tuple[float, str]]:
        found = [(float(np.max(np.abs(v))), n) for n, v in self._tracked() if np.size(v)]
        return sorted(found, reverse=True)

    def forget(self, name: str) -> None:
        self.write(f"del {name}")

    def _tracked(self) -> list[tuple[str, Any]]:
        return [
            (n, v)
            for n, v in self.scope.items()
            if n not in self.plain and n != HELD and isinstance(v, np.ndarray | np.floating) and v.dtype.kind == "f"
        ]
