"""The table of conventions, docs/conventions.md, as data: what the gradient is at kinks, jumps and infinities.

The page is the table: tests evaluate each of its rows, and reports cite them. In a checkout it lies in `docs`; a wheel
carries it inside of the package.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROW = re.compile(r"^\| `(?P<function>[^`]+)` \| `(?P<at>[^`]+)` \| `(?P<gradient>[^`]+)` \|(?P<why>.*)\|$")
_PACKAGE = Path(__file__).parent.parent.parent
_PLACES = (_PACKAGE / "conventions.md", _PACKAGE.parent / "docs" / "conventions.md")


class Convention(NamedTuple):
    """One row: the gradient of the sum of `function`, an expression in `x`, at the point `at`, and why."""

    function: str
    at: str
    gradient: str
    why: str
    section: str

    def __str__(self) -> str:
        reason = f": {self.why}" if self.why else ""
        return f"the gradient of {self.function} at {self.at} is {self.gradient}{reason}"


def page() -> Path | None:
    """Where the table lies; None in an installation without it."""
    return next((path for path in _PLACES if path.is_file()), None)


@cache
def table() -> tuple[Convention, ...]:
    """All rows of the page; none in an installation without it."""
    path = page()
    rows: list[Convention] = []
    section = ""
    for line in [] if path is None else path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        match = ROW.match(line)
        if match:
            function, at, gradient, why = match.groups()
            rows.append(Convention(function, at, gradient, why.strip(), section))
    return tuple(rows)


def convention_of(name: str) -> Convention | None:
    """The first row about an operation (`np.abs`), among those about kinks first."""
    return next((row for row in table() if row.function.startswith(f"{name}(")), None)
