"""What classes of the program define that is run without being called: properties and special methods."""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Iterator
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from bridge.source.finding import is_library, opened
from bridge.source.implied import NAMES, OF_ONE_OBJECT
from bridge.source.quiet import Read


def defined(tree: ast.stmt) -> Read:
    """What classes of the program, and those inside of a statement, define: of properties those that it names."""
    asked = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} | NAMES
    properties: set[str] = set()
    methods: set[str] = set()
    if asked & _OF_SUBCLASSES or any(map(_is_of_subclass, _values())):
        methods |= _OPERATORS
    for one in _classes():
        held = vars(one)
        for name in held.keys() & asked:
            value = held.get(name)
            if isinstance(value, (property, cached_property)):
                properties.add(name)
            elif isinstance(value, FunctionType):
                methods.add(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            functions = [part for part in node.body if isinstance(part, ast.FunctionDef)]
            methods.update(part.name for part in functions)
            properties.update(part.name for part in functions if part.decorator_list)
    return Read(frozenset(properties), frozenset(methods) & NAMES)


def _classes() -> list[type]:
    """Classes that modules of the program name, each once."""
    # Not what a module's object says of itself, which may warn or raise.
    return list({id(one): one for one in _values() if issubclass(type(one), type)}.values())


def _values() -> Iterator[Any]:
    for module in _modules.of_the_program():
        yield from list(vars(module).values())


def _is_of_subclass(value: Any) -> bool:
    """Whether a value is a masked array or a matrix, whose classes define operators."""
    return issubclass(type(value), np.ndarray) and isinstance(value, (np.ma.MaskedArray, np.matrix))


_OF_SUBCLASSES = frozenset({"ma", "MaskedArray", "masked_array", "matrix", "asmatrix"})
_OPERATORS = frozenset(name for name in NAMES - OF_ONE_OBJECT if hasattr(np.ndarray, name))


class _Modules:
    """The modules of the program, looked for anew when others are loaded: most are libraries', thousands with JAX."""

    def __init__(self) -> None:
        self._known: tuple[list[Any], set[str], list[ModuleType]] = ([], set(), [])

    def of_the_program(self) -> list[ModuleType]:
        loaded, libraries, found = self._known
        now = list(sys.modules.values())
        if libraries != opened:
            loaded, found = [], []
        if len(now) != len(loaded) or not all(map(operator.is_, now, loaded)):
            # They come a few at a time, while a first gradient is traced.
            judged = dict.fromkeys(map(id, loaded), False) | dict.fromkeys(map(id, found), True)
            found = [one for one in now if isinstance(one, ModuleType) and _is_known(one, judged)]
            self._known = now, set(opened), found
        return found


def _is_known(module: ModuleType, judged: dict[int, bool]) -> bool:
    """Whether a module is one of the program's, if that has been `judged` before as it was."""
    found = judged.get(id(module))
    return _is_of_the_program(module) if found is None else found


_modules = _Modules()


def _is_of_the_program(module: ModuleType) -> bool:
    return not is_library(getattr(module, "__file__", None) or "", module.__name__)
