"""One unmodified program as a record: how it is made, what it is called with, and what must come of its gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

RIGHT = "right"


@dataclass(frozen=True)
class Program:
    """A function of numbers and arrays, in plain NumPy; it knows nothing of this package.

    Parameters
    ----------
    make : builds the function with fresh state. What it captured is built before the differentiated call.
    arguments : copied for each call.
    argnums : positions of the arguments that are differentiated.
    expected : "right", or the name of the error that comes instead, a colon and a fragment of its message.
    step : the first step of the differences; small where a branch lies near.
    tolerance : of a directional derivative, relative to the largest one.
    effects : whether the program leaves something behind that is not an array (a counter, a history of plain
        numbers); it stays, as after a plain call.
    long : whether only CI runs it.
    """

    name: str
    field: str
    make: Callable[[], Callable[..., Any]]
    arguments: tuple[Any, ...]
    argnums: int | tuple[int, ...] = 0
    expected: str = RIGHT
    step: float = 1e-2
    tolerance: float = 1e-6
    effects: bool = False
    long: bool = False

    def __str__(self) -> str:
        return f"{self.field}: {self.name}"

    @property
    def positions(self) -> tuple[int, ...]:
        return (self.argnums,) if isinstance(self.argnums, int) else self.argnums


@dataclass
class Field:
    """The programs of one field of work. Calling it records one."""

    name: str
    programs: list[Program] = field(default_factory=list)

    def __call__(self, name: str, make: Callable[[], Callable[..., Any]], *arguments: Any, **options: Any) -> None:
        self.programs.append(Program(name, self.name, make, arguments, **options))
