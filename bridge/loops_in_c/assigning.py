"""Assignments: to variables, to elements, and to views of arrays."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any, NamedTuple

from bridge.loops_in_c.calling_back import CallingBack
from bridge.loops_in_c.expressions import OPERATORS
from bridge.loops_in_c.indexing import Key
from bridge.loops_in_c.ir import Assign, Const, Each, Expr, Load, Op, Size, Store, Var
from bridge.loops_in_c.kinds import holding, is_float, is_integer, is_narrow
from bridge.loops_in_c.objects import at, is_number, is_variable
from bridge.loops_in_c.values import (
    Again,
    Axis,
    Elements,
    Items,
    Known,
    Listed,
    NotCompiled,
    Number,
    Several,
    Undescribed,
    Value,
    bound_flag,
    converted,
    either,
    in_variable,
    loads,
    weak_flag,
)


class Masked(NamedTuple):
    """The elements of an array that a mask selects."""

    base: Elements
    mask: Elements


class Assigning(CallingBack):
    """Reads assignments.

    Attributes
    ----------
    kinds : what kind of number each variable holds.
    mixed : those that hold several kinds.
    flagged : those of which it is known only at run time whether they are bound.
    typed : those of which it is known only at run time whether they hold Python numbers.
    copy : which copies of the bodies of unrolled loops are read: their temporary arrays are others.
    fixed : the variables of the function that is called which it binds in one place: an integer there may be known.
    stored : the slots that the loop sets, in the order in which it does.
    is_known : whether all this was known when the reader began.
    """

    kinds: dict[str, str]
    flagged: set[str]
    typed: set[str]
    copy: str
    fixed: frozenset[str]
    stored: dict[str, None]
    is_known: bool

    def _do_Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        if len(node.targets) > 1:
            if isinstance(value, Several):
                self.refuse("a tuple that is assigned several times", node)
            held = self._held(value, node.value)
            value = self.names.pop(held) if isinstance(held, str) else held
        for target in node.targets:
            self.assign(target, value)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        name = OPERATORS.get(type(node.op)) or self.refuse("this operator", node)
        variable = self.variable_of(node.target)
        target: Any = self.target(node.target) if variable is None else None
        before = self.value(node.target) if target is None else target
        if isinstance(target, Masked):
            change = self.value(node.value)
            if isinstance(change, Number):
                self.fill_where(target, self.binary(name, target.base, change, node))
            else:
                place = self._selected(target)
                self.fill(place, self.binary(name, place, change, node))
            return
        if isinstance(before, Load):
            before = Number(before, False)
        value = self.binary(name, before, self.value(node.value), node)
        if isinstance(before, Elements) and variable is not None:
            self.check_alone(before)
            self.fill(before, value)
        elif variable is not None:
            self.bind(variable, value)
        elif isinstance(target, Elements):
            self.fill(target, value)
        else:
            self.store(target, value)

    def variable_of(self, node: ast.expr) -> str | None:
        """The variable that is set: the name, or the slot of an attribute or an item; None for an item of an array."""
        if isinstance(node, ast.Name):
            return node.id
        if not isinstance(node, (ast.Attribute, ast.Subscript)):
            return None
        base = self.object_at(node.value)
        if base is None:
            return None
        step = self.step_of(base, node)
        path = (*base.path, step)
        found = at(base.value, step) if base.path else None
        is_shared = found is not None and not found.is_own and is_variable(found.value) and not is_number(found.value)
        if found is None or not found.is_settable or is_shared:
            self.refuse(f"a store into {ast.unparse(node)}", node)
        if path not in self.slots:
            raise Undescribed(path)
        name = self.slots[path]
        self.is_known = self.is_known and name in self.stored
        self.stored[name] = None
        return name

    def object_at(self, node: ast.expr) -> Known | None:
        """The object that a variable, an attribute or an item of one is; None for anything else."""
        root = node
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        if not isinstance(root, ast.Name) or not isinstance(self.names.get(root.id, Known(None)), Known):
            return None
        value = self.value(node)
        return value if isinstance(value, Known) else None

    def target(self, node: ast.expr) -> Any:
        """Where an item of an array lies."""
        if isinstance(node, ast.Subscript):
            base = self.value(node.value)
            if isinstance(base, Elements) and base.array is not None:
                self.check_alone(base)
                mask = self._mask(base, node.slice)
                if mask is not None:
                    return Masked(base, mask)
                place = self.item(base, node.slice)
                if isinstance(place, Elements) and place.is_copy:
                    return replace(place, array=base.array) if not base.is_copy else self.refuse("a store into a copy")
                return place
        self.refuse("a store into this", node)

    def _mask(self, base: Elements, key: ast.expr) -> Elements | None:
        """An index that is an array of booleans of the same shape."""
        if not isinstance(key, (ast.Name, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Call)):
            return None
        mask = self.value(key)
        if not (isinstance(mask, Elements) and mask.kind == "b"):
            return None
        if len(mask.extents) != len(base.extents):
            self.refuse("a mask of fewer axes", key)
        for pair in zip(mask.extents, base.extents, strict=True):
            if pair[0] != pair[1]:
                self.check(Op("b", "eq", pair))
        return mask

    def _selected(self, place: Masked) -> Elements:
        """The elements that a mask selects, one after the other."""
        keys = ast.Tuple([Key(ast.Constant(None), one) for one in self.positions(place.mask)], ast.Load())
        found = self.item(place.base, keys)
        return replace(found, array=place.base.array)

    def fill_where(self, place: Masked, value: Value) -> None:
        """The elements that a mask selects are written: by a number, or by values of the whole array."""
        base, mask = place
        if isinstance(value, Number):
            number = self.let(self._element(value, base.kind))
            value = Elements(base.kind, base.extents, lambda _: number)
        if not isinstance(value, Elements) or value.kind != base.kind:
            self.refuse("a store of this at a mask")
        new = value.at
        self.fill(
            base,
            Elements(base.kind, base.extents, lambda q: Op(base.kind, "select", (mask.at(q), new(q), base.at(q)))),
        )

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            places = self._spread(target, value)
            held = [self._held(item, one) for one, item in places]
            for (one, _), item in zip(places, held, strict=True):
                self.assign(one, self.names.pop(item) if isinstance(item, str) else item)
            return
        variable = self.variable_of(target)
        if variable is not None:
            self.bind(variable, value)
        else:
            names, count = dict(self.names), len(self.block)
            try:
                self._store_at(target, value)
            except NotCompiled as reason:
                self.rewind(names, count)
                if not isinstance(target, ast.Subscript):
                    raise
                try:
                    self.put(target, value)
                except NotCompiled:
                    raise reason from None

    def _store_at(self, target: ast.expr, value: Value) -> None:
        place = self.target(target)
        if isinstance(place, Masked) and isinstance(value, Number):
            self.fill_where(place, value)
        elif isinstance(place, Masked):
            self.fill(self._selected(place), value)
        elif isinstance(place, Elements):
            self.fill(place, value)
        else:
            self.store(place, value)

    def _spread(self, target: ast.expr, value: Value) -> list[tuple[ast.expr, Value]]:
        """Targets that are no tuples, with their values."""
        if not isinstance(target, (ast.Tuple, ast.List)):
            return [(target, value)]
        if isinstance(value, Elements):
            # Python raises if there are more items than targets, or fewer.
            length = Const("i", len(target.elts))
            self.check(Op("b", "eq", (value.extents[0], length)))
            found = [self.item(value, ast.Constant(number)) for number in range(len(target.elts))]
            value = Several(tuple(Number(one, False) if isinstance(one, Expr) else one for one in found))
        if not isinstance(value, Several) or len(value.items) != len(target.elts):
            self.refuse("an assignment to several names", target)
        if any(isinstance(one, ast.Starred) for one in target.elts):
            self.refuse("a starred target", target)
        pairs = zip(target.elts, value.items, strict=True)
        return [found for one, item in pairs for found in self._spread(one, item)]

    def _held(self, value: Value, node: ast.expr) -> Value | str:
        """A value, before the names change that it is assigned to: of an array, a name that shows it."""
        if isinstance(value, Number):
            weak = self.hold(value.weak) if isinstance(value.weak, Expr) else value.weak
            return replace(value, expr=self.hold(value.expr), weak=weak, flag=None)
        if isinstance(value, Elements):
            name = f".item.{node.lineno}.{node.col_offset}{self.copy}"
            self.names[name] = self._copied(name, value) if value.is_copy else value
            return name
        if isinstance(value, Listed):
            self.refuse("a list that is assigned with others", node)
        return value

    def bind(self, name: str, value: Value) -> None:
        """Bind a variable of the program to a value."""
        if isinstance(value, Number):
            own = self.own(name)
            kind = self.kinds.setdefault(own, value.expr.kind)
            expr = value.expr
            if kind != expr.kind:
                joined = holding(kind, expr.kind)
                if not (is_integer(kind) and is_integer(expr.kind)):
                    self.mixed.add(own)
                if joined != kind:
                    self.kinds[own] = joined
                    raise Again
                expr = converted(expr, kind)
            self.variables[own] = kind
            self.note_example(own, expr)
            self.block.append(Assign(own, expr))
            self._flag(own)
            weak = value.weak
            if weak is not None and own in self.typed:
                self.block.append(self.typing(own, weak))
            elif isinstance(weak, Expr):
                self._find_out(self.typed, own)
            weak = Var("b", weak_flag(own)) if isinstance(weak, Expr) else weak
            self.names[name] = in_variable(Var(kind, own), value, weak)
            if name in self.fixed and isinstance(value.expr, Const) and kind == "i":
                self.names[name] = value
        elif isinstance(value, Elements):
            if self.own(name) in self.variables:
                self.refuse(f"{name} holds a number and an array")
            self.names.pop(name, None)
            self.names[name] = self._bound(name, value)
            if self.own(name) in self.first_arrays:
                self.block.append(self.rebound(self.own(name), True))
        elif isinstance(value, Listed) and value.items is not None:
            self.bind(f"{name}.items", value.items)
            self.names[name] = Listed(value.weak)
        else:
            parts = value.items if isinstance(value, Several) else ()
            fixed = [isinstance(one, Known) or (isinstance(one, Number) and self.is_fixed(one.expr)) for one in parts]
            is_plain = isinstance(value, Known) and not value.path and isinstance(value.value, (type(None), str))
            if name in self.slot_names and not is_plain:
                self.refuse(f"a store into {name} of something else than an array or a number")
            if not all(fixed):
                for number, one in enumerate(parts):
                    self.bind(f"{name}.{number}", one)
                value = Items(len(parts), isinstance(value, Several) and value.is_list)
            self.names[name] = value

    def _flag(self, name: str) -> None:
        """Say that a variable is bound, where that is not known otherwise."""
        if name in self.flagged:
            self.variables[bound_flag(name)] = "b"
            self.block.append(Assign(bound_flag(name), Const("b", True)))

    def _find_out(self, names: set[str], own: str) -> None:
        """Note that a variable is one of these; the loop is read once more if that is new."""
        self.is_known = self.is_known and own in names
        names.add(own)

    def typing(self, own: str, weak: bool | Expr) -> Assign:
        """Say whether a variable holds a Python number."""
        self.variables[weak_flag(own)] = "b"
        return Assign(weak_flag(own), weak if isinstance(weak, Expr) else Const("b", weak))

    def one_of(self, name: str, one: Number, other: Number) -> Number:
        """What a variable holds where two ways meet."""
        weak, own = one.weak, self.own(name)
        if one.weak != other.weak:
            weak = None
            if one.weak is not None and other.weak is not None and own in self.variables:
                self._find_out(self.typed, own)
                weak = Var("b", weak_flag(own))
        return either(one, other, one.flag or other.flag, weak)

    def _maybe(self, name: str, value: Number) -> Number:
        """A number of which it is known only at run time whether it is bound."""
        own = self.own(name)
        self._find_out(self.flagged, own)
        return replace(value, flag=bound_flag(own))

    def _bound(self, name: str, value: Elements) -> Elements:
        own = self.own(name)
        if not all(map(self.is_local, (*([] if value.is_copy else [value.array or ""]), *value.shared))):
            self._find_out(self.given, own)
        if value.is_copy or value.array is None:
            return self._copied(name, value)
        axes = tuple(Axis(self._variable(own, one.start), one.step, one.axis) for one in value.view)
        return self._viewed(value.array, tuple(self._variable(own, one) for one in value.extents), axes, value.shared)

    def _copied(self, name: str, value: Elements) -> Elements:
        """A new array of a variable, or a copy of one that a function has returned."""
        home = self.home(name, value)
        made = replace(self.laid_out(home, value), shared=value.shared)
        self.after += self.identify(home)
        if value.shared and self.has_identities:
            self.note_uncertain(home)
        return made

    def rebound(self, name: str, holds: bool) -> Assign:
        """Say whether a name that the loop began with an array for has been bound in the loop."""
        self.variables[bound_flag(name)] = "b"
        return Assign(bound_flag(name), Const("b", holds))

    def _variable(self, name: str, expr: Expr) -> Expr:
        """Keep the start or extent of a view in a variable of its own: later assignments do not change the view."""
        if isinstance(expr, (Const, Size)):
            return expr
        own = self.new("p")[:-1]
        self.variables[own] = "i"
        self.block.append(Assign(own, expr))
        self._note(own, expr)
        return Var("i", own)

    def store(self, place: Load, value: Value) -> None:
        """One element is written."""
        if not isinstance(value, Number):
            self.refuse("an array is stored into an element")
        self.written.add(place.array)
        self.block.append(Store(place.array, place.index, self._element(value, place.kind)))
        self.ended(place.array)

    def _element(self, value: Number, kind: str) -> Expr:
        """A number as an element of an array. One that does not fit is Python's."""
        if is_narrow(kind) and is_integer(value.expr.kind):
            return self.narrowed(value.expr, kind)
        return self._cast(value.expr, kind)

    def _cast(self, expr: Expr, kind: str) -> Expr:
        order = is_float(expr.kind), is_integer(expr.kind)
        if order > (is_float(kind), is_integer(kind)) or (is_narrow(kind) and kind != expr.kind):
            self.refuse(f"a value of kind {expr.kind} is stored into an array of kind {kind}")
        return self.number_as(expr, kind)

    def add_at(self, node: ast.Call) -> None:
        """`np.add.at`: elements that several indices name get each of their values."""
        if len(node.args) != 3 or node.keywords:
            self.refuse("add.at with other arguments", node)
        base = self.value(node.args[0])
        if not isinstance(base, Elements) or base.is_copy or not is_float(base.kind) or len(base.extents) != 1:
            self.refuse("add.at of this", node)
        self.check_alone(base)
        place = self.item(base, node.args[1])
        if not isinstance(place, Elements) or not place.is_copy or len(place.extents) != 1:
            self.refuse("add.at with such indices", node)
        change = self.value(node.args[2])
        memory = self.arrays[base.array or ""].memory
        if isinstance(change, Elements) and any(self.arrays[x.array].memory == memory for x in loads(change)):
            self.refuse("add.at of values of the same array")
        if not isinstance(change, Number):
            change = self.broadcast(change, place.extents) if isinstance(change, Elements) else change
        self.fill(replace(place, array=base.array), self.elementwise("add", (place, change), node), is_sequential=True)

    def _scattered(self, target: Load, names: tuple[str, ...]) -> bool:
        """Whether elements are written at an array of indices, where one may be written several times."""
        indices = [x for one in target.index for x in one.walk() if isinstance(x, Load)]
        if any(self.arrays[one.array].memory == self.arrays[target.array].memory for one in indices):
            self.refuse("an array of indices is written at its own elements")
        used = {x.name for one in indices for x in one.walk() if isinstance(x, Var) and x.name in names}
        if len(used) > 1:
            self.refuse("a store at index arrays of several axes")
        return bool(indices)

    def fill(self, place: Elements, value: Value, is_sequential: bool = False) -> None:
        """All elements of a view are written; where `is_sequential`, one after the other."""
        assert place.array is not None
        if isinstance(value, Number):
            number = self.let(self._element(value, place.kind))
            value = Elements(number.kind, (), lambda _: number)
        if not isinstance(value, Elements):
            self.refuse("a store of this")
        at = self.broadcast(value, place.extents).at
        self.written.add(place.array)
        names = tuple(self.new("q") for _ in place.extents)
        index = tuple(Var("i", one) for one in names)
        target = place.at(index)
        assert isinstance(target, Load)
        expr = self._cast(at(index), place.kind)
        memory = self.arrays[place.array].memory
        others = [one for one in expr.walk() if isinstance(one, Load) and self.arrays[one.array].memory == memory]
        scattered = self._scattered(target, names)
        differ = any((one.array, one.index) != (target.array, target.index) for one in others)
        if is_sequential and differ:
            self.refuse("add.at of values of the same array")
        is_buffered = not is_sequential and (differ or (scattered and bool(others)))
        one = Each(names, place.extents, place.array, target.index, expr, is_buffered)
        one.is_scattered, one.is_sequential = scattered and not is_sequential, is_sequential
        self.block.append(one)
        self.ended(place.array)
