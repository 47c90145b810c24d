"""What classes of the program define is known when a statement is read, whenever they came."""

from __future__ import annotations

import ast
import sys
from types import ModuleType

import numpy as np
import pytest

from bridge.source import finding
from bridge.source.defining import defined

TREE = ast.parse("def f(a):\n    return a.came_later + a.not_there").body[0]
CLASSES = """
class Late:
    @property
    def came_later(self):
        return 1

    def __matmul__(self, other):
        return 2
"""


@pytest.fixture
def late() -> ModuleType:
    return ModuleType("late_module")


@pytest.mark.parametrize("classes_first", [True, False])
def test_of_a_module_that_came_later(late: ModuleType, classes_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not defined(TREE).properties
    if classes_first:
        exec(CLASSES, vars(late))
    monkeypatch.setitem(sys.modules, late.__name__, late)
    assert defined(TREE).properties == ({"came_later"} if classes_first else set())
    exec(CLASSES, vars(late))
    found = defined(TREE)
    assert found.properties == {"came_later"} and "__matmul__" in found.special_methods
    monkeypatch.delitem(sys.modules, late.__name__)
    assert not defined(TREE).properties


def test_of_a_module_in_the_place_of_another(late: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, late.__name__, ModuleType(late.__name__))
    assert not defined(TREE).properties
    exec(CLASSES, vars(late))
    monkeypatch.setitem(sys.modules, late.__name__, late)
    assert defined(TREE).properties == {"came_later"}


def test_of_a_library_from_when_it_is_read(late: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    exec(CLASSES, vars(late))
    late.__file__ = np.__file__.replace("numpy", "late_module")
    monkeypatch.setitem(sys.modules, late.__name__, late)
    assert not defined(TREE).properties
    finding.read_library(late.__name__)
    try:
        assert defined(TREE).properties == {"came_later"}
    finally:
        finding.opened.discard(late.__name__)
    assert not defined(TREE).properties


def test_of_a_class_inside_of_the_statement() -> None:
    (tree,) = ast.parse("def f(a):\n" + CLASSES.replace("\n", "\n    ") + "\n    return Late()").body
    assert "came_later" in defined(tree).properties
