"""What can be told of an expression when it is read: what it calls, and whether it may show an array that is lent."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from bridge.rulebook.facts import facts_of
from bridge.source.implied import implied
from bridge.source.nodes import LOOP, PARTS, at, reader
from bridge.source.scopes import Scope

OF_SHAPE = frozenset({"shape", "ndim", "dtype", "size", "nbytes", "itemsize", "strides", "__class__", "__dict__"})
"""Attributes of an array that are no arrays."""

JOINERS = ("r_", "c_")
_ASKED = (*JOINERS, "__class__")

_AS_THEY_ARE = frozenset({
    "super", "locals", "globals", "vars", "eval", "exec", "dir", "__import__", "issubclass", "len", "range",
    "reversed", "callable", "id", "bool", "slice", "property",
    "classmethod", "staticmethod", "breakpoint", "input", "open", "delattr", "ord", "chr", "hash", "object", "print",
    *(name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)),
})  # fmt: skip
_WRITERS = frozenset({"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"})
_WITHOUT_STATE = frozenset({"numpy", "scipy", "math", "cmath"})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_STRINGS = tuple(getattr(ast, name) for name in ("JoinedStr", "TemplateStr") if hasattr(ast, name))
_BOUNDARIES = (*_COMPREHENSIONS, ast.Lambda, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, *_STRINGS)
_OF_PYTHON = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Constant, ast.Lambda, *_COMPREHENSIONS, *_STRINGS)
"""Expressions that give objects of Python's own classes."""
_LISTS = (ast.List, ast.Tuple, ast.ListComp)
_NAMED = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
_ARITHMETIC = (
    ast.Slice, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.operator, ast.unaryop, ast.Load
)  # fmt: skip


class Read(NamedTuple):
    """What classes of the program define that is run without being called, by name."""

    properties: frozenset[str]
    special_methods: frozenset[str]


class Looker(ast.NodeTransformer):
    """What is known of the names in a statement while it is read.

    Parameters
    ----------
    names : the globals of the module when it is read. Only what never hides an array is decided by them: modules,
        functions, classes.
    special : functions that `of` exchanges; others of NumPy's are called without asking.
    read : names of attributes and special methods that classes of the program compute and define.

    Attributes
    ----------
    properties, special_methods : the two of `read`.
    scope : the variables of the function that is being read; None outside of functions.
    """

    def __init__(self, names: dict[str, Any], special: Callable[[Any], bool], read: Read) -> None:
        self.names = names
        self.special = special
        self.properties, self.special_methods = read
        self.scope: Scope | None = None

    def is_quiet(self, node: ast.AST) -> bool:
        """Whether nothing in an expression can lend an array, or run a function that is read."""
        if isinstance(node, _BOUNDARIES) or (isinstance(node, ast.BinOp) and formats(node)):
            return False
        if self.calls_methods(implied(node)):
            return False
        if isinstance(node, ast.Call):
            if not self.is_known(node.func) or self.shows_variables(node):
                return False
            if self.writes(node) or any(one.arg == "out" for one in node.keywords) or self.lists(node):
                return False
        if isinstance(node, ast.Attribute) and (node.attr in self.properties or node.attr in _ASKED):
            return False
        return all(self.is_quiet(part) for part in ast.iter_child_nodes(node))

    def calls_methods(self, names: Iterable[str]) -> bool:
        """Whether a class of the program has one of those special methods, which is read."""
        return not self.special_methods.isdisjoint(names)

    def operand(self, node: ast.expr, names: Iterable[str], role: str = "operand") -> ast.expr:
        """An expression as it is given to what may call one of those special methods of its value.

        Its role is "operand" of a construct of one object, or "left", "right" or "container" of an operator of two.
        """
        if self.scope is None or isinstance(node, _OF_PYTHON) or not self.calls_methods(names):
            return node
        return at(node, reader(role, node)) if hasattr(node, "lineno") else reader(role, node)

    def has_arrays(self, node: ast.AST) -> bool:
        """Whether an expression names what may be an array."""
        if isinstance(node, ast.Attribute):
            return node.attr not in OF_SHAPE and not self._is_of_library(node.value)
        if isinstance(node, ast.Name):
            return self.may_be_array(node)
        if isinstance(node, ast.Subscript):
            return self.has_arrays(node.value)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                return True
            parts: list[ast.AST] = [*node.args, *node.keywords]
            return any(map(self.has_arrays, parts))
        return any(map(self.has_arrays, ast.iter_child_nodes(node)))

    def may_be_array(self, node: ast.Name) -> bool:
        """Whether a variable may hold an array."""
        scope = self.scope
        if node.id.startswith((*PARTS, LOOP)):
            return False
        if scope is not None and scope.binds(node.id):
            return not (scope.is_number(node.id) or node.id in ("self", "cls"))
        found = self.names.get(node.id, getattr(builtins, node.id, None))
        return not isinstance(found, (ModuleType, FunctionType, BuiltinFunctionType, type, str))

    def is_known(self, called: ast.expr) -> bool:
        """Whether what is called needs not be asked for: a function of NumPy's that is called as it is, or Python's."""
        if isinstance(called, ast.Name) and called.id in _AS_THEY_ARE:
            return self._is_builtin(called) and f"__{called.id}__" not in self.special_methods
        found = self._static(called)
        if found is None or isinstance(found, ModuleType) or not _is_numpys(found):
            return False
        return not self.special(found)

    def shows_variables(self, node: ast.Call) -> bool:
        """Whether a call is `locals()`, `vars()` or `dir()` of the function's own variables."""
        named = isinstance(node.func, ast.Name) and node.func.id in ("locals", "vars", "dir")
        return named and not node.args and not node.keywords and self._is_builtin(node.func)

    def lists(self, node: ast.Call) -> list[int]:
        """Which arguments of a function of NumPy's may be lists of tracked numbers where it takes an array."""
        found = [k for k, one in enumerate(node.args) if isinstance(one, _LISTS)]
        if node.args and 0 not in found and isinstance(node.args[0], _NAMED):
            named = node.args[0]
            found += [0] if not isinstance(named, ast.Name) or self.may_be_array(named) else []
        function = self._static(node.func) if found else None
        if function is None or not _is_numpys(function):
            return []
        facts = facts_of(function)
        return [] if facts.sequences or facts.nested else found

    def writes(self, node: ast.Call) -> range:
        """Which arguments a function of NumPy's writes into, of those that are given by position."""
        function = self._static(node.func) if self.is_known(node.func) else None
        if isinstance(function, np.ufunc):
            return range(function.nin, len(node.args))
        return range(min(len(node.args), 1)) if getattr(function, "__name__", "") in _WRITERS else range(0)

    def mangled(self, name: str) -> str:
        """A private name of a class as Python spells it."""
        return name if self.scope is None else self.scope.mangled(name)

    def _is_builtin(self, node: Any) -> bool:
        bound = self.scope is not None and self.scope.binds(node.id)
        return not bound and node.id not in self.names

    def _is_of_library(self, node: ast.expr) -> bool:
        """Whether an expression names a module that has no arrays which a program writes into."""
        found = self._static(node)
        return isinstance(found, ModuleType) and found.__name__.partition(".")[0] in _WITHOUT_STATE

    def _static(self, node: ast.expr) -> Any:
        """The module, function or class that a dotted global name says when the source is read; None if it is none."""
        if isinstance(node, ast.Name):
            if self.scope is not None and self.scope.binds(node.id):
                return None
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._static(node.value)
            return vars(owner).get(node.attr) if isinstance(owner, ModuleType) else None
        return None


def is_arithmetic(node: ast.AST) -> bool:
    """Whether an expression is made of names, numbers and operators only: a key with no array to look up."""
    for part in ast.walk(node):
        if not isinstance(part, _ARITHMETIC):
            return False
        if isinstance(part, ast.BinOp) and isinstance(part.left, ast.Constant) and formats(part):
            return False
    return True


def formats(node: ast.BinOp) -> bool:
    """Whether an operation may be that of `"%.3f" % loss`."""
    return isinstance(node.op, ast.Mod) and not (
        isinstance(node.left, ast.Constant) and not isinstance(node.left.value, (str, bytes))
    )


def _is_numpys(found: Any) -> bool:
    return isinstance(found, np.ufunc) or str(getattr(found, "__module__", "")).partition(".")[0] == "numpy"
