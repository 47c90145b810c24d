"""What is made of a program's source: the same statements, with calls, stores and loads that ask `operations`.

Nothing moves to another frame and no name of the program is touched: what is inserted is looked up in a constant,
helper variables have names that no source can spell, and every node keeps the position of the one that it stands for.

* `f(x)` becomes `R.of(f)(x)`: what is called in place of `f` is decided when it is called.
* `a[k] = v` becomes `t = v; R.into(a, t)[k] = t`: memory that a tracked value is written into is lent to the context.
* A name, an attribute or an element that may be a lent array is looked up, `R.seen(a) if R.lent else a`: in a program
  that lends nothing, that is one test for an expression.
"""

from __future__ import annotations

import ast
import builtins
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from bridge.rewind.facts import facts_of
from bridge.source.scopes import Scope, scopes_of

READER = "\0bridge"
"""The constant that stands for `operations.READER` until the code is compiled."""

_AS_THEY_ARE = frozenset({
    "super", "locals", "globals", "vars", "eval", "exec", "dir", "__import__", "issubclass", "len", "range",
    "enumerate", "zip", "reversed", "hasattr", "callable", "id", "bool", "slice", "property", "next",
    "classmethod", "staticmethod", "breakpoint", "input", "open", "delattr", "ord", "chr", "hash", "object", "print",
    *(name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)),
})  # fmt: skip
_OF_SHAPE = frozenset({"shape", "ndim", "dtype", "size", "nbytes", "itemsize", "strides", "__class__", "__dict__"})
_WITHOUT_STATE = frozenset({"numpy", "scipy", "math", "cmath"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_MADE_OF_PARTS = (ast.Starred, ast.Slice, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.FormattedValue)
_LOAD = ast.Load()
_LISTS = (ast.List, ast.Tuple, ast.ListComp)
_NAMED = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
_BOUNDARIES = (*_COMPREHENSIONS, ast.Lambda, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.JoinedStr)

_Node = TypeVar("_Node", bound=ast.AST)


class Rewriter(ast.NodeTransformer):
    """Rewrites the functions of one statement.

    Parameters
    ----------
    names : the globals of the module when it is read. Only what never hides an array is decided by them: modules,
        functions, classes.
    special : functions that `of` exchanges; others of NumPy's are called without asking.
    properties : names of attributes whose getters are read.
    """

    def __init__(self, names: dict[str, Any], special: Any, properties: frozenset[str]) -> None:
        self.names = names
        self.special = special
        self.properties = properties
        self.scope: Scope | None = None
        self.scopes: dict[ast.AST, Scope] = {}
        self._temporaries = 0

    def rewritten(self, statement: ast.stmt) -> ast.stmt:
        """The statement, rewritten; `statement` is used up."""
        self.scopes = scopes_of(statement)
        made: ast.stmt = self.visit(statement)
        return ast.fix_missing_locations(made)

    # Scopes: only bodies of functions are rewritten, and what is evaluated in them.

    def visit_FunctionDef(self, node: Any) -> Any:
        node.args = self._defaults(node.args)
        node.decorator_list = [self._decorator(one) for one in node.decorator_list]
        outer, self.scope = self.scope, self.scopes[node]
        node.body = self._body(node.body)
        self.scope = outer
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        node.args = self._defaults(node.args)
        outer, self.scope = self.scope, self.scopes[node]
        node.body = self.visit(node.body)
        self.scope = outer
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        # The body of a class is no function's: its names are attributes. Methods in it are rewritten.
        outer, self.scope = self.scope, None
        node.body = self._body(node.body)
        self.scope = outer
        return node

    def _defaults(self, arguments: ast.arguments) -> ast.arguments:
        arguments.defaults = [self.visit(one) for one in arguments.defaults]
        arguments.kw_defaults = [one if one is None else self.visit(one) for one in arguments.kw_defaults]
        return arguments

    def _decorator(self, node: ast.expr) -> ast.expr:
        return self.visit(node) if self.scope is None or self._is_known(node) else self._of(self.visit(node))

    def _body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [one for statement in statements for one in _listed(self.visit(statement))]

    # Statements that store.

    def visit_Assign(self, node: ast.Assign) -> Any:
        node.value = self.visit(node.value)
        if len(node.targets) == 1:
            node.value = self._rebound(node.targets[0], node.value)
        if self.scope is None or all(map(_is_name, node.targets)):
            return node
        if len(node.targets) == 1 and isinstance(node.targets[0], (ast.Tuple, ast.List)):
            return self._unpacked(node, node.targets[0])
        value = self._temporary()
        stores = [one for target in node.targets for one in self._store(target, value, node)]
        return [_at(node, ast.Assign([_store_name(value)], node.value)), *stores, self._forget(node, value)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is not None:
            node.value = self.visit(node.value)
        if self.scope is None or node.value is None or isinstance(node.target, ast.Name):
            return node
        value = self._temporary()
        stores = self._store(node.target, value, node)
        return [_at(node, ast.Assign([_store_name(value)], node.value)), *stores, self._forget(node, value)]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        target = node.target
        if self.scope is None or (isinstance(target, ast.Name) and self.scope.is_number(target.id)):
            node.value = self.visit(node.value)
            return node
        before: list[ast.stmt] = []
        used = [held := self._temporary(), value := self._temporary()]
        if isinstance(target, ast.Name):
            loaded: ast.expr = ast.Name(target.id, ast.Load())
            after: list[ast.stmt] = [ast.Assign([target], self._rebound(target, _load(held)))]
        else:
            base = self._temporary()
            used.append(base)
            before.append(ast.Assign([_store_name(base)], self.visit(target.value)))
            if isinstance(target, ast.Attribute):
                loaded = ast.Attribute(_load(base), target.attr, ast.Load())
                after = self._stored_attribute(base, target.attr, held)
            else:
                key = self._key(self.visit(target.slice))
                used.append(at := self._temporary())
                before.append(ast.Assign([_store_name(at)], key))
                loaded = ast.Subscript(_load(base), _load(at), ast.Load())
                into = self._reader("into", _load(base), _load(held))
                stands = base
                if isinstance(target.value, ast.Name) and self.scope.is_own(target.value.id):
                    stands = target.value.id
                after = [
                    ast.Assign([_store_name(stands)], into),
                    ast.Assign([ast.Subscript(_load(stands), _load(at), ast.Store())], _load(held)),
                ]
        seen = ast.IfExp(self._lent(), self._reader("seen", loaded), _copy(loaded))
        middle: list[ast.stmt] = [
            ast.Assign([_store_name(held)], seen),
            ast.Assign([_store_name(value)], self.visit(node.value)),
            ast.Assign([_store_name(held)], self._reader("into", _load(held), _load(value))),
            ast.AugAssign(_store_name(held), node.op, _load(value)),
        ]
        return [_at(node, one) for one in (*before, *middle, *after, self._forget(node, *used))]

    def visit_With(self, node: Any) -> Any:
        for item in node.items:
            item.context_expr = self.visit(item.context_expr)
        node.body = self._body(node.body)
        return node

    visit_AsyncWith = visit_With

    def visit_match_case(self, node: ast.match_case) -> Any:
        node.guard = node.guard and self.visit(node.guard)
        node.body = self._body(node.body)
        return node

    def visit_Delete(self, node: ast.Delete) -> Any:
        if self.scope is None:
            return node
        found: list[ast.stmt] = []
        target: Any
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                keep = self._reader("keep", self.visit(target.value), ast.Constant(target.attr), ast.Constant(None))
                found.append(ast.Expr(keep))
                target = ast.Attribute(_copy(target.value), target.attr, ast.Del())
            elif isinstance(target, ast.Subscript):
                target = self.generic_visit(target)
            found.append(ast.Delete([target]))
        return [_at(node, one) for one in found] if all(map(_is_simple, node.targets)) else node

    def visit_For(self, node: Any) -> Any:
        node.iter = self.visit(node.iter)
        node.body, node.orelse = self._body(node.body), self._body(node.orelse)
        if self.scope is not None and not _is_name(node.target):
            item = self._temporary()
            stores = self._store(node.target, item, node)
            node.target = _at(node, _store_name(item))
            node.body = [*stores, *node.body]
        return node

    visit_AsyncFor = visit_For

    def _unpacked(self, node: ast.Assign, target: Any) -> list[ast.stmt]:
        """`x, a[k] = v`: unpacked into helper variables, then stored from left to right."""
        names, stores = self._parts(target, node)
        unpack = _at(node, ast.Assign([names], node.value))
        used = [one.id for one in ast.walk(names) if isinstance(one, ast.Name) and one.id.startswith(".")]
        return [unpack, *stores, *([self._forget(node, *used)] if used else [])]

    def _parts(self, target: ast.expr, node: ast.stmt) -> tuple[ast.expr, list[ast.stmt]]:
        if isinstance(target, ast.Starred):
            inner, stores = self._parts(target.value, node)
            return _at(node, ast.Starred(inner, ast.Store())), stores
        if isinstance(target, (ast.Tuple, ast.List)):
            found = [self._parts(one, node) for one in target.elts]
            return type(target)([one for one, _ in found], ast.Store()), [s for _, stores in found for s in stores]
        value = self._temporary()
        return _store_name(value), self._store(target, value, node)

    def _store(self, target: ast.expr, value: str, node: ast.stmt) -> list[ast.stmt]:
        """Statements that store the helper variable `value` where `target` says."""
        if isinstance(target, ast.Subscript):
            into = self._reader("into", self.visit(target.value), _load(value))
            before: list[ast.stmt] = []
            if isinstance(target.value, ast.Name) and self.scope is not None and self.scope.is_own(target.value.id):
                # From here on the variable is what stands for the array, which needs no look.
                before = [_at(node, ast.Assign([_store_name(target.value.id)], into))]
                into = _load(target.value.id)
            place = ast.Subscript(into, self._index(target.slice), ast.Store())
            return [*before, _at(node, ast.Assign([place], _load(value)))]
        if isinstance(target, ast.Attribute):
            base = self._temporary()
            first = _at(node, ast.Assign([_store_name(base)], self.visit(target.value)))
            stored = [_at(node, one) for one in self._stored_attribute(base, target.attr, value)]
            return [first, *stored, self._forget(node, base)]
        if isinstance(target, (ast.Tuple, ast.List)):
            names, stores = self._parts(target, node)
            return [_at(node, ast.Assign([names], _load(value))), *stores]
        return [_at(node, ast.Assign([target], _load(value)))]

    def _rebound(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """What a variable is given; a global one is remembered first."""
        if self.scope is None or not isinstance(target, ast.Name) or not self.scope.is_global(target.id):
            return value
        return _at(target, self._reader("rebind", ast.Constant(target.id), value))

    def _stored_attribute(self, base: str, name: str, value: str) -> list[ast.stmt]:
        kept = self._reader("keep", _load(base), ast.Constant(self._mangled(name)), _load(value))
        return [ast.Assign([ast.Attribute(kept, name, ast.Store())], _load(value))]

    # Expressions.

    def visit(self, node: ast.AST) -> Any:
        if self.scope is None or not isinstance(node, ast.expr) or isinstance(node, _MADE_OF_PARTS):
            return super().visit(node)
        if not isinstance(getattr(node, "ctx", _LOAD), ast.Load) or not self._is_quiet(node):
            return super().visit(node)
        if not self._has_arrays(node):
            return node
        plain = node
        return _at(node, ast.IfExp(self._lent(), _Seen(self).visit(_copy(node)), plain))

    def visit_Call(self, node: ast.Call) -> Any:
        if self.scope is None:
            return self.generic_visit(node)
        listed = self._lists(node) if self._is_known(node.func) else None
        node.args = [self.visit(one) for one in node.args]
        node.keywords = [self.visit(one) for one in node.keywords]
        if listed is not None:
            for k in listed:
                node.args[k] = _at(node, self._reader("array", node.args[k]))
            return node
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        elif not isinstance(node.func, ast.Name):
            node.func = self.visit(node.func)
        node.func = self._of(node.func)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        node.left, node.right = self.visit(node.left), self.visit(node.right)
        if self.scope is not None and _formats(node):
            return _at(node, self._reader("mod", node.left, node.right))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        node.value = self.visit(node.value)
        if self.scope is not None and isinstance(node.ctx, ast.Load) and node.attr in self.properties:
            return _at(node, self._reader("attribute", node.value, ast.Constant(self._mangled(node.attr))))
        if self.scope is not None and isinstance(node.ctx, ast.Load) and node.attr not in _OF_SHAPE:
            return _at(node, self._reader("seen", node))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        node.value = self.visit(node.value)
        if self.scope is not None:
            node.slice = self._index(node.slice)
            if isinstance(node.value, ast.Attribute) and node.value.attr in ("r_", "c_"):
                node.value = _at(node, self._of(node.value))
            elif isinstance(node.ctx, ast.Load) and not isinstance(node.slice, (ast.Slice, ast.Tuple)):
                return _at(node, self._reader("seen", node))
        return node

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        node.iter = self.visit(node.iter)
        node.ifs = [self.visit(one) for one in node.ifs]
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        node.value = self.visit(node.value)
        return node

    def _index(self, node: ast.expr) -> Any:
        """A key: numbers and slices of numbers are no arrays that could be lent."""
        return node if isinstance(node, (ast.Name, ast.Constant)) or self._is_arithmetic(node) else self.visit(node)

    def _key(self, node: ast.expr) -> ast.expr:
        """A key as an expression that can be kept in a variable."""
        if isinstance(node, ast.Slice):
            bounds = (one or ast.Constant(None) for one in (node.lower, node.upper, node.step))
            return self._reader("slice", *bounds)
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._key(one) for one in node.elts], ast.Load())
        return node

    def _is_arithmetic(self, node: ast.AST) -> bool:
        kinds = (
            ast.Slice,
            ast.Tuple,
            ast.BinOp,
            ast.UnaryOp,
            ast.Name,
            ast.Constant,
            ast.operator,
            ast.unaryop,
            ast.Load,
        )
        return all(isinstance(part, kinds) for part in ast.walk(node)) and not _formats_inside(node)

    # What needs no look.

    def _is_quiet(self, node: ast.AST) -> bool:
        """Whether nothing in an expression can lend an array, or run a function that is read."""
        if isinstance(node, _BOUNDARIES) or (isinstance(node, ast.BinOp) and _formats(node)):
            return False
        if isinstance(node, ast.Call) and not (
            self._is_known(node.func) and not any(k.arg == "out" for k in node.keywords)
        ):
            return False
        if isinstance(node, ast.Call) and self._lists(node):
            return False
        if isinstance(node, ast.Attribute) and (node.attr in self.properties or node.attr in ("r_", "c_")):
            return False
        return all(self._is_quiet(part) for part in ast.iter_child_nodes(node))

    def _has_arrays(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr not in _OF_SHAPE and not self._is_of_library(node.value)
        if isinstance(node, ast.Name):
            return self.may_be_array(node)
        if isinstance(node, ast.Subscript):
            return self._has_arrays(node.value)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                return True
            parts: list[ast.AST] = [*node.args, *node.keywords]
            return any(map(self._has_arrays, parts))
        return any(map(self._has_arrays, ast.iter_child_nodes(node)))

    def may_be_array(self, node: ast.Name) -> bool:
        """Whether a variable may hold an array."""
        scope = self.scope
        assert scope is not None
        if scope.binds(node.id):
            return not (scope.is_number(node.id) or node.id in ("self", "cls"))
        found = self.names.get(node.id, getattr(builtins, node.id, None))
        return not isinstance(found, (ModuleType, FunctionType, BuiltinFunctionType, type, str))

    def _is_of_library(self, node: ast.expr) -> bool:
        """Whether an expression names a module that has no arrays which a program writes into."""
        found = self._static(node)
        return isinstance(found, ModuleType) and found.__name__.partition(".")[0] in _WITHOUT_STATE

    def _static(self, node: ast.expr) -> Any:
        """The module, function or class that a dotted global name says when the source is read; None if it is none."""
        if isinstance(node, ast.Name):
            if self.scope is not None and self.scope.binds(node.id):
                return None
            found = self.names.get(node.id)
        elif isinstance(node, ast.Attribute):
            owner = self._static(node.value)
            found = getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
        else:
            return None
        return found

    def _is_known(self, node: ast.expr) -> bool:
        """Whether what is called needs not be asked for: a function of NumPy's that is called as it is, or Python's."""
        if isinstance(node, ast.Name) and node.id in _AS_THEY_ARE:
            scope = self.scope
            return not (scope is not None and scope.binds(node.id)) and node.id not in self.names
        found = self._static(node)
        if found is None or isinstance(found, ModuleType) or not _is_numpys(found):
            return False
        return not self.special(found)

    def _lists(self, node: ast.Call) -> list[int]:
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

    # Pieces of what is inserted.

    def _reader(self, name: str, *args: ast.expr) -> ast.expr:
        return ast.Call(ast.Attribute(ast.Constant(READER), name, ast.Load()), list(args), [])

    def _of(self, node: ast.expr) -> ast.expr:
        return _at(node, self._reader("of", node))

    def _lent(self) -> ast.expr:
        return ast.Attribute(ast.Constant(READER), "lent", ast.Load())

    def _temporary(self) -> str:
        self._temporaries += 1
        return f".{self._temporaries}"

    def _forget(self, node: ast.AST, *names: str) -> ast.stmt:
        return _at(node, ast.Delete([ast.Name(name, ast.Del()) for name in names]))

    def _mangled(self, name: str) -> str:
        return self.scope.mangled(name) if self.scope is not None else name


class _Seen(ast.NodeTransformer):
    """A copy of a quiet expression in which every array is looked up among those that are lent."""

    def __init__(self, rewriter: Rewriter) -> None:
        self.rewriter = rewriter

    def _looked_up(self, node: Any) -> Any:
        return _at(node, self.rewriter._reader("seen", node))

    def visit_Name(self, node: ast.Name) -> Any:
        return self._looked_up(node) if self.rewriter.may_be_array(node) else node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if not self.rewriter._has_arrays(node):
            return node
        if not isinstance(node.value, ast.Name) or self.rewriter.may_be_array(node.value):
            node.value = self.visit(node.value)
        return self._looked_up(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        node.value = self.visit(node.value)
        if not self.rewriter._is_arithmetic(node.slice):
            node.slice = self.visit(node.slice)
        # A part of an array is looked up with the array; an element of a list or a dictionary by itself.
        return node if isinstance(node.slice, (ast.Slice, ast.Tuple)) else self._looked_up(node)

    def visit_Call(self, node: ast.Call) -> Any:
        node.args = [self.visit(one) for one in node.args]
        node.keywords = [self.visit(one) for one in node.keywords]
        return node


def _is_numpys(found: Any) -> bool:
    return isinstance(found, np.ufunc) or str(getattr(found, "__module__", "")).partition(".")[0] == "numpy"


def _formats(node: ast.BinOp) -> bool:
    """Whether an operation may be that of `"%.3f" % loss`."""
    return isinstance(node.op, ast.Mod) and not (
        isinstance(node.left, ast.Constant) and not isinstance(node.left.value, str)
    )


def _formats_inside(node: ast.AST) -> bool:
    return any(isinstance(part, ast.BinOp) and isinstance(part.left, ast.Constant) and _formats(part)
               for part in ast.walk(node))  # fmt: skip


def _is_name(target: ast.AST) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_is_name, target.elts))
    return isinstance(target, ast.Name) or (isinstance(target, ast.Starred) and _is_name(target.value))


def _is_simple(target: ast.expr) -> bool:
    return not isinstance(target, ast.Attribute) or isinstance(target.value, ast.Name)


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store_name(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _at(origin: ast.AST, node: _Node) -> _Node:
    """`node` at the position of `origin`, and what it is made of too, where it has no position yet."""
    for part in ast.walk(node):
        if "lineno" in part._attributes and getattr(part, "lineno", None) is None:
            ast.copy_location(part, origin)
    return node


def _copy(node: _Node) -> _Node:
    """A copy of an expression, positions included."""
    made: Any = type(node)(**{name: _copied(value) for name, value in ast.iter_fields(node)})
    return ast.copy_location(made, node)


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(one) for one in value]
    return _copy(value) if isinstance(value, ast.AST) else value
