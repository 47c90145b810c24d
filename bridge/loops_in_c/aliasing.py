"""Arrays that names may share: rebinding a name, in place of Python's new arrays and references.

Each array that the loop makes lies in memory of its own (a local array). A name that is bound to another name's array
shows the same memory. Where two ways meet (after an `if`, at the end of an iteration), a name must show one memory: if
it shows two, each way copies its array into the name's own local array, and `Elements.shared` keeps what it is a copy
of. A copy must not be written while another name may show the original, and ends where the original is written.

If arrays are appended to lists, each local array also has an identity: a number of Python's array. Copies have the same
one. An array that is in a list is not written: compiled code stops there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bridge.loops_in_c.expressions import Expressions
from bridge.loops_in_c.ir import Array, Assign, Block, Check, Const, Each, Expr, If, Load, Make, Op, Size, Stmt, Var
from bridge.loops_in_c.values import (
    ONE,
    ZERO,
    Again,
    Axis,
    Elements,
    Unbound,
    Value,
    alike,
    bound_flag,
    local_name,
    read_by,
    with_sizes,
)

Names = dict[str, Value]
APPENDED, _LATEST = ".appended.last", ".latest"
"""The variables that hold the largest identity of an array in a list, and of all arrays."""


def identity_of(array: str) -> str:
    """The variable that holds the identity of a local array."""
    return f"{array}.identity"


class Aliasing(Expressions):
    """Keeps account of the arrays that names show.

    Attributes
    ----------
    prefix : what the variables of the function that is read are called after; empty for those of the loop's own.
    callers : the prefixes of the functions that have called it. Their names are in `names`, after one `/` for each
        call.
    slot_names : the names of the slots, which are the same in each function.
    first_arrays : the arrays that the loop begins with.
    given : the variables that are bound to arrays which the loop may have begun with.
    after : statements that follow the one that is read.
    has_identities : whether arrays have identities.
    uncertain : local arrays whose identities may be wrong.
    """

    prefix: str
    callers: list[str]
    slot_names: frozenset[str]
    out: list[Stmt]
    first_arrays: Mapping[str, Array]
    given: set[str]
    after: list[Stmt]
    prologue: list[Stmt]
    has_identities = False
    uncertain: set[str]

    def identity(self, array: str) -> Expr:
        """The number of Python's array; below zero for one that the loop begins with."""
        if not self.arrays[array].is_local:
            return Const("i", -1 - list(self.first_arrays).index(array))
        self.variables[identity_of(array)] = "i"
        return Var("i", identity_of(array))

    def identify(self, array: str, of: str = "") -> list[Stmt]:
        """Statements that give a local array the identity of another one, or a new one."""
        if not self.has_identities:
            return []
        made: list[Stmt] = []
        if of in self.uncertain:
            self.note_uncertain(array)
        if not of:
            self.define(_LATEST)
            made.append(Block(self.line, [Assign(_LATEST, Op("i", "add", (Var("i", _LATEST), ONE)))]))
        expr = self.identity(of) if of else Var("i", _LATEST)
        self.identity(array)
        return [*made, Block(self.line, [Assign(identity_of(array), expr)])]

    def note_uncertain(self, array: str) -> None:
        """Take note that a local array may be another one in Python, which a function has returned."""
        if array not in self.uncertain:
            self.uncertain.add(array)
            raise Again

    def define(self, name: str) -> None:
        """A counter, which is zero when the loop begins."""
        if name not in self.variables:
            self.variables[name] = "i"
            self.nonneg.add(name)
            self.prologue.append(Block(self.line, [Assign(name, ZERO)]))

    def home(self, name: str, value: Elements) -> str:
        """The local array of a variable."""
        return local_name(self.own(name), len(value.extents), value.kind)

    def own(self, name: str) -> str:
        """The variable of a name of the function that is read, or of one that has called it; of a slot, the slot."""
        if name in self.slot_names:
            return name
        plain = name.lstrip("/")
        return (*self.callers, self.prefix)[len(self.callers) - len(name) + len(plain)] + plain

    def make(self, local: str, value: Elements) -> Elements:
        """A local array with the elements of a value; other names that show what it held keep that."""
        names = tuple(self.new("q") for _ in value.extents)
        index = tuple(Var("i", one) for one in names)
        is_first = not self._is_in_place(local, value, index)
        if is_first and local in read_by(value):
            value = self.make(f"{local}c", value)
        self.note_layout(local, value)
        self._free(local, read_by(value))
        self.local(local, value.kind, value.extents)
        if is_first:
            self.block.append(Make(local, value.extents))
        self.block.append(Each(names, value.extents, local, index, value.at(index), is_first=is_first))
        return self.whole(local)

    def laid_out(self, local: str, value: Elements) -> Elements:
        """A local array with the elements of a value; where NumPy's axes lie in reverse order, a view of one."""
        axes = tuple(reversed(range(len(value.extents))))
        reverse = self.turned(value, axes)
        if value.is_part or self.is_in_order(value) or not self.is_in_order(reverse):
            return self.make(local, value)
        return self.turned(self.make(local, reverse), axes)

    def _is_in_place(self, local: str, value: Elements, index: tuple[Expr, ...]) -> bool:
        """Whether each element of a value is computed from the same one of a local array, of the same extents."""
        read = [one for one in value.at(index).walk() if isinstance(one, (Load, Size)) and one.array == local]
        if not read or not all(isinstance(one, Load) and one.index == index for one in read):
            return False
        pairs = zip(value.extents, self.whole(local).extents, strict=True)
        return all(self._is_same(one, other) for one, other in pairs)

    def _is_same(self, one: Expr, other: Expr) -> bool:
        """Whether two lengths are equal, or the statement has checked that."""
        if one == other:
            return True
        checks = [Check(Op("b", "eq", pair)) for pair in ((one, other), (other, one))]
        return any(check in self.block for check in checks) and not any(isinstance(x, Make) for x in self.block)

    def _free(self, local: str, read: set[str]) -> None:
        """Give other names that show a local array another one, and none that is `read`."""
        shown = sorted(name for name, one in self.names.items() if isinstance(one, Elements) and one.array == local)
        token = f"{local}#"
        if shown:
            taken = read | {one.array for one in self.names.values() if isinstance(one, Elements)}
            token = f"{local}~"
            while token in taken:
                token += "~"
            self.make(token, self.whole(local))
            self.after += self.identify(token, local)
        for name in shown:
            value = self.names[name]
            assert isinstance(value, Elements)
            extents = tuple(with_sizes(one, local, token) for one in value.extents)
            view = tuple(Axis(with_sizes(one.start, local, token), one.step, one.axis) for one in value.view)
            self.names[name] = self._viewed(token, extents, view, value.shared)
        copies = {name: one for name, one in self.names.items() if isinstance(one, Elements) and local in one.shared}
        is_alone = not shown and len({one.array for one in copies.values()}) == 1
        for name, one in copies.items():
            self.names[name] = replace(one, shared=one.shared - {local} | (set() if is_alone else {token}))

    def check_alone(self, value: Elements) -> None:
        """Refuse to write into a copy of what another name may show."""
        everyone = [one for one in self.names.values() if isinstance(one, Elements)]
        shared = value.shared
        name = (value.array or "").rpartition(":")[0] or value.array or ""
        owner = self.names.get(name if name in self.slot_names else "/" * len(self.callers) + name)
        is_owned = isinstance(owner, Elements) and owner.array == value.array
        if is_owned and name in self.first_arrays and name not in self.given:
            first = self.arrays[name].memory
            if first in shared:
                self._write_through(name, value)
            shared = shared - {first}
        for memory in shared:
            others = {one.array for one in everyone if one.array == memory or memory in one.shared}
            if others != {value.array} or not self.is_local(memory):
                self.refuse("a store into an array that may be another one's, too")

    def _write_through(self, name: str, value: Elements) -> None:
        """After this statement, an array that the loop began with gets what its copy holds, unless that is another."""
        assert value.array is not None
        home = self.whole(value.array)
        names = tuple(self.new("q") for _ in home.extents)
        index = tuple(Var("i", one) for one in names)
        copy = Each(names, home.extents, name, index, home.at(index))
        self.after.append(If(Op("b", "not", (Var("b", bound_flag(name)),)), [Block(self.line, [copy])], []))
        self.written.add(name)
        self.ended(name, value.array)

    def is_local(self, memory: str) -> bool:
        """Whether the loop has made what lies in a memory."""
        return memory.endswith("#") or (memory in self.arrays and self.arrays[memory].is_local)

    def ended(self, array: str, kept: str = "") -> None:
        """An array is written: copies of it, where Python has none, hold old values, apart from one that is `kept`."""
        memory = self.arrays[array].memory
        if self.has_identities and self.arrays[array].is_local:
            self.define(APPENDED)
            self.block.append(Check(Op("b", "gt", (self.identity(array), Var("i", APPENDED)))))
        for name, one in self.names.items():
            if isinstance(one, Elements) and memory in one.shared and one.array != kept:
                self.names[name] = Unbound()

    def settle(self, name: str, names: Names, out: list[Stmt]) -> None:
        """Copy what a name shows into its own array, at the end of statements that leave these names."""
        value = names[name]
        assert isinstance(value, Elements) and value.array is not None
        home = self.home(name, value)
        if home in self.arrays and alike(replace(value, shared=frozenset()), self.whole(home)):
            return
        outer, self.names, block, self.block = self.names, names, self.block, []
        after, self.after = self.after, []
        self.names[name] = replace(value, array="", shared=value.shared | {self.arrays[value.array].memory})
        made = self.make(home, value)
        self.names[name] = replace(made, shared=self.names[name].shared)  # type: ignore[union-attr]
        out += [Block(self.line, self.block), *self.after, *self.identify(home, value.array)]
        self.names, self.block, self.after = outer, block, after

    def met(self, one: Names, one_out: list[Stmt], other: Names, other_out: list[Stmt]) -> None:
        """Let names show the same memory where two ways meet."""
        for _ in range(len(one) + 2):
            differ = [name for name in sorted(one.keys() & other.keys()) if self._differ(one[name], other[name])]
            if not differ:
                return
            for name in differ:
                if self._differ(one[name], other[name]):
                    self.settle(name, one, one_out)
                    self.settle(name, other, other_out)
        self.refuse("names that change their arrays")

    def _differ(self, one: Value, other: Value) -> bool:
        if not (isinstance(one, Elements) and isinstance(other, Elements)) or one.is_copy or other.is_copy:
            return False
        if (one.kind, len(one.extents)) != (other.kind, len(other.extents)):
            return False
        return (one.array, one.view, one.extents) != (other.array, other.view, other.extents)
