"""Calls of functions of the program: their bodies become part of the loop."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from bridge.loops_in_c.appending import Appending
from bridge.loops_in_c.expressions import Read, referred
from bridge.loops_in_c.functions import ADD_AT
from bridge.loops_in_c.ir import Assign, Block, Const, Each, Load, Stmt, Store
from bridge.loops_in_c.objects import Step, at, is_ruled
from bridge.loops_in_c.stopping import Branch, Inserted, Reason, straight, without
from bridge.loops_in_c.values import (
    Elements,
    Items,
    Known,
    Listed,
    NotCompiled,
    Number,
    Several,
    Unbound,
    Value,
    alike,
    bound_flag,
    read_by,
)
from bridge.source.finding import Unread, is_library
from bridge.source.nodes import copied
from bridge.source.numba import is_jitted, is_of_floats, is_vectorized
from bridge.source.reading import source_of

RESULT, FIRST = ".result", ".first"
NO_KEYWORDS: dict[str, Any] = {}
"""What a parameter `**keywords` holds if no other keywords are given."""
_DEEP = 8
"""How deep functions may call each other."""


class Definition(NamedTuple):
    """The source of a function: its name, parameters and statements, and what was compiled from it."""

    name: str
    args: ast.arguments
    body: list[ast.stmt]
    node: ast.AST
    code: CodeType


class Callee(NamedTuple):
    """A function of the program that is called.

    Attributes
    ----------
    known : the function as a value, with the path to its free variables and defaults.
    first : the object of a method, and arguments of a `partial`.
    named : arguments of a `partial` by their names.
    is_elementwise : whether it is of `numba.vectorize`, so that it takes and returns numbers of NumPy's.
    """

    function: Any
    known: Known
    first: tuple[Value, ...]
    named: Mapping[str, Value]
    is_elementwise: bool = False


class Calls(Appending):
    """Reads calls of functions.

    Attributes
    ----------
    out : the statements that the loop has become so far.
    bound_cells : the variables that the loop binds and that are also variables of other functions.
    file : that of the function whose body is read; empty for the loop's own.
    stops : branches of functions that are not compiled.
    """

    out: list[Stmt]
    bound_cells: frozenset[str]
    file: str = ""
    stops: Mapping[Branch, Reason]

    def statement(self, node: ast.stmt) -> None:
        """Read a statement."""
        raise NotImplementedError

    def _do_Expr(self, node: ast.Expr) -> None:
        # A call has become statements already; a text is for readers.
        path = self.list_of(node.value)
        if path:
            self.append(path, node.value)  # type: ignore[arg-type]
        elif isinstance(node.value, ast.Call) and self.known(node.value.func) is ADD_AT:
            self.add_at(node.value)
        elif isinstance(node.value, ast.Name):
            self.value(node.value)
        elif not isinstance(node.value, ast.Constant):
            self.refuse("a call for its effect", node)

    def comprehended(self, node: ast.ListComp | ast.GeneratorExp) -> Listed:
        """The list of a comprehension, or of what a generator would give."""
        raise NotImplementedError

    def folded(self, how: str, node: ast.Call) -> Value:
        """`sum`, `min`, `max`, `any` or `all` of what the argument goes over. Of no items, Python computes it."""
        raise NotImplementedError

    def without_calls(self, node: Any) -> Any:
        """A statement or an expression without calls of functions of the program, which run before it."""
        lifting = _Lifting(self, node)
        made = lifting.visit(copied(node))
        return made if lifting.calls else node

    def callee_of(self, node: ast.Call) -> Callee | None:
        """The function of the program that a call calls; None if it is something else."""
        first, found = self._called(node.func)
        named: dict[str, Value] = {}
        while isinstance(found, Known) and found.path and type(found.value) is partial:
            args, keywords = (self.part(found, Step("partial", one), node) for one in ("args", "keywords"))
            first = (*self._parts_of(args, node), *first)
            named = self._items_of(keywords, node) | named
            found = self.part(found, Step("partial", "func"), node)
        is_elementwise = isinstance(found, Known) and is_vectorized(found.value)
        if isinstance(found, Known) and (is_jitted(found.value) or is_elementwise) and not is_ruled(found.value):
            if is_elementwise and not is_of_floats(found.value):
                self.refuse(f"a call of {found.value.__name__}, of numba.vectorize, without a loop for floats", node)
            found = self.part(found, Step("attribute", "__wrapped__"), node)
        if isinstance(found, Known) and type(found.value) is MethodType:
            owner, found = self._unbound(found, node)
            first = (*owner, *first)
        elif isinstance(found, Known) and found.path and type(found.value) is not FunctionType:
            call = at(found.value, Step("special", "__call__"))
            if call is not None and type(call.value) is FunctionType:
                self.note(Read(found.path, Step("special", "__call__"), call.value, False))
                first, found = (found, *first), self.of_object(call.value)
        function = found.value if isinstance(found, Known) else None
        if type(function) is not FunctionType or is_ruled(function):
            return None
        if is_library(function.__code__.co_filename, function.__module__ or ""):
            return None
        assert isinstance(found, Known)
        return Callee(function, found, first, named, is_elementwise)

    def _called(self, node: ast.expr) -> tuple[tuple[Value, ...], Value | None]:
        """What a call calls, after the object or the class of a method; None if it is no known object."""
        if isinstance(node, ast.Name) and node.id not in self.names:
            return (), self.value(node)
        if not isinstance(node, ast.Attribute):
            return (), self.object_at(node) if isinstance(node, (ast.Name, ast.Subscript)) else None
        if isinstance(node.value, ast.Call) and not node.value.args and self.known(node.value.func) is super:
            return self._method_of_super(node)
        base = self.object_at(node.value)
        if base is None or type(base.value) is list:
            return (), None
        step, is_class = self.step_of(base, node), isinstance(base.value, type)
        found = at(base.value, step) if base.path or is_class else None
        kind = None if found is None or found.is_own else type(found.value)
        if found is None or kind not in (FunctionType, staticmethod, classmethod):
            return (), self.value(node)
        self.note(Read(base.path or referred(base.value), step, found.value, False))
        return self._method(base, found.value, is_bound=not is_class)

    def _method(self, base: Known, entry: Any, is_bound: bool) -> tuple[tuple[Value, ...], Value]:
        """The first arguments and the function of what a class has under a name."""
        if type(entry) is FunctionType:
            return (base,) if is_bound else (), self.of_object(entry)
        owner = base if isinstance(base.value, type) else Known(type(base.value))
        return (owner,) if type(entry) is classmethod else (), self.of_object(entry.__func__)

    def _method_of_super(self, node: ast.Attribute) -> tuple[tuple[Value, ...], Value]:
        """A method that `super()` finds, for the first parameter of the method that is read."""
        kind, first = self.names.get("__class__"), self.names.get(FIRST)
        base = self.names.get(first.value) if isinstance(first, Known) else None
        if not (isinstance(kind, Known) and isinstance(base, Known)):
            self.refuse("a call of super", node)
        step = Step("super", (kind.value, self.step_of(base, node).key))
        found = at(base.value, step)
        if found is None or type(found.value) not in (FunctionType, staticmethod, classmethod):
            self.refuse(f"a call of {node.attr} of super", node)
        self.note(Read(base.path or referred(base.value), step, found.value, False))
        return self._method(base, found.value, is_bound=True)

    def getter_of(self, node: ast.Attribute) -> Callee | None:
        """The function of a property."""
        base = self.object_at(node.value)
        if base is None or not base.path:
            return None
        step = self.step_of(base, node)
        found = at(base.value, step)
        if found is None or type(found.value) is not property or found.is_own:
            return None
        self.note(Read(base.path, step, found.value, False))
        getter = self.of_object(found.value.fget)
        if type(found.value.fget) is not FunctionType or not isinstance(getter, Known):
            self.refuse(f"the attribute {node.attr}, which may be computed", node)
        return Callee(found.value.fget, getter, (base,), {})

    def _unbound(self, method: Known, node: ast.AST) -> tuple[tuple[Value, ...], Value]:
        """The object of a method, and its function."""
        if not method.path:
            return (Known(method.value.__self__),), self.of_object(method.value.__func__)
        return (self.part(method, Step("bound", "__self__"), node),), self.part(method, Step("bound", "__func__"), node)

    def inlined(self, callee: Callee, node: ast.Call, earlier: Sequence[ast.expr]) -> Value:
        """Read the body of a function for one call of it; what it returns.

        It may not write what `earlier` expressions read: Python evaluates them before the call, and C after it.
        """
        function, file = callee.function, callee.function.__code__.co_filename
        definition = self._definition(function, node)
        body = without(straight(ast.Module(definition.body, [])), file, self.stops).body
        definition = definition._replace(body=body)
        if not callee.known.path:
            self.note(Read(referred(function), Step("code"), function.__code__))
        if len(self.callers) >= _DEEP:
            self.refuse("calls that are too deep", node)
        outer, self.block = self.block, []
        values = self._arguments(callee, definition, node)
        if callee.is_elementwise and not all(map(_is_float, values.values())):
            self.refuse(f"a call of {function.__name__}, of numba.vectorize, with something else than floats", node)
        scope = self.prefix, self.callers, self.look, self.globals, self.code, self.fixed
        names = function.__globals__

        own = frozenset(function.__code__.co_varnames)

        def look(name: str) -> Any:
            if name in own:
                self.refuse(f"{name} is not bound", node)
            if name in names:
                return names[name]
            if hasattr(builtins, name):
                return getattr(builtins, name)
            self.refuse(f"{name} is not bound", node)

        free = {name: self.part(callee.known, Step("free", name), node) for name in self._free_variables(function)}
        first, before = len(self.out), dict(self.names)
        self.callers = [*self.callers, self.prefix]
        self.prefix += f".{_place(node)}{self.copy}."
        self.names = {name if name in self.slot_names else f"/{name}": one for name, one in self.names.items()}
        self.look, self.globals, self.code = look, names, definition.code
        self.fixed = _bound_once(definition.node, values)
        for one in sorted(self.flagged):
            if one.startswith(self.prefix):
                self.variables[bound_flag(one)] = "b"
                self.block.append(Assign(bound_flag(one), Const("b", False)))
        for name, value in (free | values).items():
            self.bind(name, value)
            if name in self.fixed and isinstance(value, Number):
                self.note_range(self.own(name), value.expr)
        self.names[FIRST] = Known(next(iter(values), ""))
        self.out += [Block(node.lineno, self.block), *self.after]
        self.block, self.after = [], []
        outer_file, self.file = self.file, file
        try:
            result = self._body(definition)
        except NotCompiled as error:
            error.file = error.file or file
            raise
        finally:
            self.file = outer_file
            inner = self.prefix
            self.prefix, self.callers, self.look, self.globals, self.code, self.fixed = scope
        self.names = {
            name.removeprefix("/"): one
            for name, one in self.names.items()
            if name in self.slot_names or name.startswith("/")
        }
        self.block = outer
        self.line = node.lineno
        self.check_unread(first, before, earlier, inner, f"a call in an expression of {function.__name__}", node)
        if callee.is_elementwise:
            if not (isinstance(result, Number) and _is_float(result)):
                self.refuse(f"a call of {function.__name__}, of numba.vectorize, which returns no float", node)
            return replace(result, weak=False)
        return result

    def check_unread(
        self,
        first: int,
        before: Mapping[str, Value],
        earlier: Sequence[ast.expr],
        inner: str,
        what: str,
        node: ast.AST,
    ) -> None:
        """Refuse statements from the `first` one on that write what `earlier` expressions read."""
        shown = {one.array for one in before.values() if isinstance(one, Elements)}
        changed = {name for name in self.slot_names if not _alike(self.names.get(name), before.get(name))}
        for name in _written(self.out[first:]):
            if name in self.arrays and (name in shown or not name.startswith(inner)):
                changed.add(self.arrays[name].memory)
            elif name in self.slot_names:
                changed.add(name)
        if changed and any(not changed.isdisjoint(self._read_by(one)) for one in earlier):
            self.refuse(f"{what}, which writes what the expression reads", node)

    def _read_by(self, node: ast.expr) -> set[str]:
        """The slots and the memory that a variable, or a slot, is or shows."""
        name = node.id if isinstance(node, ast.Name) else ""
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            base = self.object_at(node.value)
            if base is None:
                return set()
            name = self.slots.get((*base.path, self.step_of(base, node)), "")
        return {name} | self._memory_of(self.names.get(name))

    def _memory_of(self, value: Value | None) -> set[str]:
        """The memory that a value is computed from."""
        if isinstance(value, Several):
            return set().union(*map(self._memory_of, value.items))
        if isinstance(value, Elements):
            return {*(self.arrays[one].memory for one in read_by(value) if one in self.arrays), *value.shared}
        parts = value.expr.walk() if isinstance(value, Number) else ()
        return {self.arrays[one.array].memory for one in parts if isinstance(one, Load)}

    def _free_variables(self, function: FunctionType) -> tuple[str, ...]:
        """The names of a function's free variables, none of which the loop binds."""
        names = function.__code__.co_freevars
        if not self.bound_cells.isdisjoint(names):
            self.refuse(f"a call of {function.__name__}, which reads a variable that the loop binds")
        return names

    def _definition(self, function: FunctionType, node: ast.Call) -> Definition:
        try:
            statement, code = source_of(function.__code__, function.__globals__)
        except Unread as reason:
            self.refuse(f"a call of {function.__name__}, which is not read: {reason}", node)
        for one in ast.walk(statement.tree):
            if not isinstance(one, ast.FunctionDef) or one.name != code.co_name:
                continue
            if code.co_firstlineno in (one.lineno, *(other.lineno for other in one.decorator_list)):
                return Definition(one.name, one.args, one.body, one, code)
        lambdas = [
            one for one in ast.walk(statement.tree) if isinstance(one, ast.Lambda) and one.lineno == code.co_firstlineno
        ]
        if code.co_name == "<lambda>" and len(lambdas) == 1:
            found = lambdas[0]
            body: list[ast.stmt] = [ast.copy_location(ast.Return(found.body), found.body)]
            return Definition(code.co_name, found.args, body, found, code)
        self.refuse(f"a call of {function.__name__}", node)

    def _arguments(self, callee: Callee, definition: Definition, node: ast.Call) -> dict[str, Value]:
        """The values of the parameters."""
        given, function = definition.args, callee.function
        by_place = [one.arg for one in (*given.posonlyargs, *given.args)]
        by_name = [one.arg for one in (*given.args, *given.kwonlyargs)]
        placed = *callee.first, *self.arguments(node)
        values = dict(zip(by_place, placed, strict=False))
        if given.vararg:
            values[given.vararg.arg] = Several(placed[len(by_place) :])
        elif len(placed) > len(by_place):
            self.refuse(f"a call of {function.__name__} with too many arguments", node)
        if given.kwarg:
            values[given.kwarg.arg] = Known(NO_KEYWORDS)
        for one in node.keywords:
            found = self.value(one.value)
            for name, value in self._items_of(found, node).items() if one.arg is None else ((one.arg, found),):
                if name not in by_name or name in values:
                    self.refuse(f"a call of {function.__name__} with such keywords", node)
                values[name] = value
        for name, value in callee.named.items():
            if name not in by_name:
                self.refuse(f"a call of {function.__name__} with such keywords", node)
            values.setdefault(name, value)
        for name in dict.fromkeys((*by_place, *by_name)):
            if name not in values:
                values[name] = self._default(callee, name, node)
        return values

    def arguments(self, node: ast.Call) -> tuple[Value, ...]:
        """The values of the arguments without names, with those of sequences after a star."""
        found: list[Value] = []
        for one in node.args:
            value = self.value(one.value if isinstance(one, ast.Starred) else one)
            found += self._parts_of(value, node) if isinstance(one, ast.Starred) else (value,)
        return tuple(found)

    def _parts_of(self, value: Value, node: ast.AST) -> tuple[Value, ...]:
        """The items of a tuple or a list."""
        if isinstance(value, Several):
            return value.items
        if not isinstance(value, Known) or not value.path or type(value.value) not in (list, tuple):
            self.refuse("a call with * of this", node)
        return tuple(self.part(value, Step("item", k), node) for k in range(self.length(value, node)))

    def _items_of(self, value: Value, node: ast.AST) -> dict[str, Value]:
        """The items of a dictionary by their names."""
        if not isinstance(value, Known) or type(value.value) is not dict:
            self.refuse("a call with ** of this", node)
        if value.path:
            self.length(value, node)
        return {name: self.part(value, Step("item", name), node) for name in value.value}

    def _default(self, callee: Callee, name: str, node: ast.Call) -> Value:
        function, step = callee.function, Step("default", name)
        found = at(function, step)
        if found is None:
            self.refuse(f"a call of {function.__name__} with too few arguments", node)
        if callee.known.path:
            return self.part(callee.known, step, node)
        self.note(Read(referred(function), step, found.value))
        return self.of_object(found.value)

    def _body(self, definition: Definition) -> Value:
        """Read the statements of a function; what it returns."""
        for one in _without_returns(definition.body, definition.node):
            self.statement(one)
        result = self.names[RESULT]
        if isinstance(result, Known) and isinstance(result.value, str) and result.value.startswith(RESULT):
            count = int(result.value.removeprefix(RESULT))
            return Several(tuple(self._returned(f"{RESULT}{number}", definition) for number in range(count)))
        return self._returned(RESULT, definition)

    def _returned(self, name: str, definition: Definition) -> Value:
        value = self.names[name]
        if isinstance(value, Listed) and value.items is None:
            found = self._returned(f"{name}.items", definition)
            return Listed(value.weak, found) if isinstance(found, Elements) else found
        if isinstance(value, Items):
            items = (self._returned(f"{name}.{number}", definition) for number in range(value.count))
            return Several(tuple(items), value.is_list)
        if isinstance(value, Unbound):
            self.refuse(f"{definition.name} does not return the same kind of thing each time", definition.node)
        if isinstance(value, Elements) and (value.array or "").startswith(self.prefix) and not value.shared:
            kept = [one for one in self.names if one.startswith(("/", RESULT)) or one in self.slot_names]
            others = [self.names[one] for one in kept if one != name]
            if not any(isinstance(one, Elements) and value.array in (one.array, *one.shared) for one in others):
                # Nothing else shows the function's own array, which ends with it. The caller binds a copy.
                is_whole = alike(value, self.whole(value.array or ""))
                return Elements(value.kind, value.extents, value.at, is_part=not is_whole)
        return value


def _without_returns(body: Sequence[ast.stmt], at: ast.AST) -> list[ast.stmt]:
    """Statements that bind `RESULT` where these return: what follows an `if` becomes the end of its ways."""
    for number, one in enumerate(body):
        if isinstance(one, ast.Return):
            return [*body[:number], *_results(one)]
        if isinstance(one, ast.If) and any(isinstance(x, ast.Return) for x in ast.walk(one)):
            rest = body[number + 1 :]
            ways = [_without_returns([*way, *rest], one) for way in (one.body, one.orelse)]
            return [*body[:number], ast.copy_location(ast.If(one.test, *ways), one)]
        if isinstance(one, (ast.For, ast.While)) and any(isinstance(x, ast.Return) for x in ast.walk(one)):
            flag = f"{RESULT}.{one.lineno}.{one.col_offset}"
            loop, is_set = copied(one), ast.Name(flag, ast.Load())
            loop.body = _with_breaks(one.body, flag)
            after = Inserted(is_set, [ast.Pass()], _without_returns(body[number + 1 :], at))
            return [*body[:number], _assigned(flag, False, one), loop, _placed(after, one)]
    return [*body, *_results(ast.copy_location(ast.Return(None), at))]


def _with_breaks(body: Sequence[ast.stmt], flag: str) -> list[ast.stmt]:
    """Statements of a loop that set a flag and end the loop where these return."""
    made: list[ast.stmt] = []
    for one in body:
        if isinstance(one, ast.Return):
            made += [*_results(one), _assigned(flag, True, one), _placed(ast.Break(), one)]
        elif not any(isinstance(x, ast.Return) for x in ast.walk(one)):
            made.append(one)
        elif isinstance(one, ast.If):
            ways = [_with_breaks(way, flag) for way in (one.body, one.orelse)]
            made.append(ast.copy_location(ast.If(one.test, *ways), one))
        elif isinstance(one, (ast.For, ast.While)):
            loop = copied(one)
            loop.body = _with_breaks(one.body, flag)
            made += [loop, _placed(Inserted(ast.Name(flag, ast.Load()), [ast.Break()], []), one)]
        else:
            made.append(one)
    return made


def _assigned(name: str, value: bool, at: ast.stmt) -> ast.stmt:
    return _placed(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), at)


def _placed(node: Any, at: ast.stmt) -> Any:
    return ast.fix_missing_locations(ast.copy_location(node, at))


def _results(node: ast.Return) -> list[ast.stmt]:
    """The assignments that a return becomes. Of several values, the last says how many."""
    values = {RESULT: node.value or ast.Constant(None)}
    if isinstance(node.value, ast.Tuple):
        values = {f"{RESULT}{number}": one for number, one in enumerate(node.value.elts)}
        values[RESULT] = ast.Constant(f"{RESULT}{len(values)}")
    made = [ast.Assign([ast.Name(name, ast.Store())], value) for name, value in values.items()]
    return [_placed(one, node) for one in made]


class _Lifting(ast.NodeTransformer):
    """Puts names in the place of calls, in the order in which Python evaluates them."""

    def __init__(self, reader: Calls, node: ast.AST) -> None:
        self.reader = reader
        self.calls = 0
        self.results: list[ast.expr] = []
        self.leaves = _leaves(node)
        self.whole: ast.expr | None = None

    def visit_Expr(self, node: ast.Expr) -> Any:
        self.whole = node.value
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        # Python evaluates the value before the targets.
        self.whole = node.value
        self.leaves = _leaves(node.value)
        value = self.visit(node.value)
        self.results += self.leaves
        self.leaves = [leaf for one in node.targets for leaf in _leaves(one)]
        node.targets, node.value = [self.visit(one) for one in node.targets], value
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        is_whole = node is self.whole
        how = self._fold(node)
        if how:
            over, *start = node.args
            over = self.visit_ListComp(over) if isinstance(over, ast.GeneratorExp) else self.visit(over)
            call = ast.copy_location(ast.Call(node.func, [over, *map(self.visit, start)], []), node)
            return self._before_it(lambda: self.reader.folded(how, call), node)
        function, args = self.visit(node.func), [self.visit(one) for one in node.args]
        made = ast.Call(function, args, [self.visit(one) for one in node.keywords])
        node = ast.copy_location(made, node)
        callee = self.reader.callee_of(node)
        return node if callee is None else self._called(callee, node, is_whole)

    def _fold(self, node: ast.Call) -> str:
        """The name of the fold that a call of one argument computes, or of `sum` with its start; else ""."""
        if len(node.args) not in (1, 2) or node.keywords or not isinstance(node.func, ast.Name):
            return ""
        function = self.reader.known(node.func)
        if len(node.args) == 2 and function is not sum:
            return ""
        return next((one.__name__ for one in (sum, min, max, any, all) if function is one), "")

    def visit_ListComp(self, node: Any) -> ast.expr:
        return self._before_it(lambda: self.reader.comprehended(node), node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return node

    def _before_it(self, compute: Callable[[], Value], node: Any) -> ast.expr:
        """Compute a part of the statement by loops, before it."""
        reader, self_earlier = self.reader, [*self.results, *self._before(node)]
        outer, reader.block = reader.block, []
        first, before, inner = len(reader.out), dict(reader.names), f"{reader.prefix}.list"
        value = compute()
        reader.block = outer
        reader.check_unread(first, before, self_earlier, inner, "a comprehension", node)
        return self._named(value, node)

    def _called(self, callee: Callee, node: ast.Call, is_whole: bool) -> ast.expr:
        value = self.reader.inlined(callee, node, () if is_whole else [*self.results, *self._before(node)])
        return self._named(value, node)

    def _named(self, value: Value, node: Any) -> ast.expr:
        """A name for the value of a part of the statement."""
        self.calls += 1
        name = f".call.{_place(node)}{self.reader.copy}"
        self.reader.names[name] = value
        self.results.append(ast.copy_location(ast.Name(name, ast.Load()), node))
        return self.results[-1]

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        node.value = self.visit(node.value)
        getter = self.reader.getter_of(node) if isinstance(node.ctx, ast.Load) else None
        if getter is None:
            return node
        return self._called(getter, ast.copy_location(ast.Call(node, [], []), node), is_whole=False)

    def _before(self, node: ast.expr) -> list[ast.expr]:
        """The variables, attributes and items of the statement that lie before a call."""
        place = node.lineno, node.col_offset
        return [one for one in self.leaves if (one.lineno, one.col_offset) < place]

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        # What may not be evaluated stays as it is.
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node


def _leaves(node: ast.AST) -> list[ast.expr]:
    """The variables, attributes and items in a statement or an expression."""
    return [one for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript))]


def _place(node: ast.AST) -> str:
    """The position of an expression. Those that begin at one place end at several."""
    return ".".join(str(getattr(node, name, 0)) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"))


def _is_float(value: Value) -> bool:
    return isinstance(value, Number) and value.expr.kind == "f"


def _alike(one: Value | None, other: Value | None) -> bool:
    return one is other or (one is not None and other is not None and alike(one, other))


def _bound_once(function: ast.AST, parameters: Iterable[str]) -> frozenset[str]:
    """The local variables of a function that are bound in one place."""
    found = Counter([*parameters])
    found.update(one.id for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    return frozenset(name for name, count in found.items() if count == 1)


def _written(out: list[Stmt]) -> set[str]:
    """The arrays and variables that statements write."""
    found: set[str] = set()
    for one in out:
        for value in vars(one).values():
            if isinstance(value, list):
                found |= _written([x for x in value if isinstance(x, Stmt)])
        if isinstance(one, (Store, Each)):
            found.add(one.array)
        elif isinstance(one, Assign):
            found.add(one.name)
    return found
