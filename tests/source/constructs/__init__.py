"""Small functions, one or more for every construct of Python that can stand in a function.

Each takes a list, its log, and returns something that can be compared. They are run as they are and read: what they
return, raise, print and log must be the same.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

THEMES = ("calls", "classes", "closures", "expressions", "flow", "generators", "looking_inside", "stores", "targets")


def rows() -> list[Callable[[list[Any]], Any]]:
    """The functions of all themes, in the order of their files."""
    found = []
    for theme in THEMES:
        module = importlib.import_module(f"tests.source.constructs.{theme}")
        found += [f for name, f in vars(module).items() if name.startswith("row_")]
    return found
