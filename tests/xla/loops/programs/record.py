"""A program with Python's loops and branches, of one array of six numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Function = Callable[[Any], Any]


@dataclass
class Family:
    """Programs of one kind. As a decorator it records a function as one of them."""

    name: str
    programs: list[tuple[str, Function]] = field(default_factory=list)

    def __call__(self, function: Function) -> Function:
        self.programs.append((f"{self.name}: {function.__name__}".replace("_", " "), function))
        return function
