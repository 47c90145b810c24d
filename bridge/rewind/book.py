"""Finding rules: the rule book is read when the first operation asks for one."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Any

from bridge.extend import RULES, ZERO_PULL
from bridge.rewind.rule import Rule

_OPTIONAL = {"special": "scipy.special"}
_read: set[str] = set()


def find(function: Any) -> Rule | None:
    """The rule of a function; None if there is none."""
    found = RULES.get(function)
    if found is None and function not in ZERO_PULL and read_book():
        found = RULES.get(function)
    return found


def open_book() -> None:
    """Read the rule book, if that has not happened yet."""
    if not _read:
        read_book()


def read_book() -> bool:
    """Import the families that were not read yet; those that need another library only once it is loaded."""
    book = importlib.import_module("bridge.rules")
    fresh = False
    for module in pkgutil.iter_modules(book.__path__):
        needs = _OPTIONAL.get(module.name.split("_")[0])
        if module.name not in _read and (needs is None or needs in sys.modules):
            _read.add(module.name)
            importlib.import_module(f"bridge.rules.{module.name}")
            fresh = True
    return fresh
