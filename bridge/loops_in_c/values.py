"""The values of expressions while a loop is read: numbers, arrays, tuples, and objects known at compile time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bridge.loops_in_c.ir import Const, Expr, Load, Op, Size, Var
from bridge.loops_in_c.kinds import KINDS, OF_PYTHON, Type, is_narrow
from bridge.loops_in_c.stopping import Branch


class NotCompiled(Exception):
    """A loop stays in Python: `reason`, at `line` of `file`, or of the loop's own if that is empty.

    `branch` is the innermost branch with what is not compiled; None if it lies outside of branches.
    """

    branch: Branch | None = None

    def __init__(self, reason: str, line: int, file: str = "") -> None:
        super().__init__(f"line {line}: {reason}")
        self.reason, self.line, self.file = reason, line, file


class NotConstant(NotCompiled):
    """An item of a list of objects is read at an index that is not known: a loop over few indices is unrolled."""


class Again(Exception):
    """A property of a variable or a branch is new: the loop is read once more."""


class Undescribed(Exception):
    """The loop reads or sets a place of an object that has not been described yet: the loop is read once more with it.

    Attributes
    ----------
    path : the path to the place; empty for an object that no variable leads to.
    """

    def __init__(self, path: tuple[Any, ...] = ()) -> None:
        self.path = path


@dataclass(frozen=True)
class Number:
    """A value without axes.

    Attributes
    ----------
    weak : whether it is a Python number, not one of NumPy's, or a condition for that; None where it is not known.
    flag : the variable that says whether it is bound; None where it is.
    is_certain : whether its kind is that of Python's value; an integer that is kept as a float may be either.
    strong : the kind of the value where that is NumPy's, if it is another one: a float64 may hold a float32, and "?" is
        one of several.
    """

    expr: Expr
    weak: bool | Expr | None = True
    flag: str | None = None
    is_certain: bool = True
    strong: str = ""

    @property
    def has_one_type(self) -> bool:
        """Whether the type of Python's value is known when the loop is over."""
        return self.weak is not None and self.is_certain and self.strong != "?"

    def known(self, is_pythons: bool) -> Number:
        """The number where it is Python's, or where it is not."""
        kind = self.expr.kind if is_pythons else self.strong or self.expr.kind
        return Number(converted(self.expr, kind), is_pythons, None, self.is_certain or kind != self.expr.kind)

    @property
    def is_pythons_float(self) -> bool:
        """Whether Python's value is a float; a float64 of NumPy's is one, too."""
        return self.expr.kind == "f" and self.is_certain and not self.strong

    @property
    def types(self) -> list[Type]:
        """The types that Python's value may have."""
        found = [(self.expr.kind, True)] if self.weak is not False else []
        if self.weak is not True:
            found.append((self.strong or self.expr.kind, False))
        others = [] if self.is_certain else [("i", is_weak) for kind, is_weak in found if kind == self.expr.kind]
        return found + others


@dataclass(frozen=True)
class Axis:
    """One axis of a memory's index: where a view starts, and how far one step of the view's axis goes."""

    start: Expr
    step: int = 0
    axis: int | None = None


@dataclass(frozen=True)
class Elements:
    """A value with axes: its extents, and each element by its indices.

    Attributes
    ----------
    array, view : where it lies, if it is a view.
    shared : what it may be a copy of, where Python has no copy: memory that other names may show.
    is_part : whether a computed value is a part of another one, so that NumPy's array has gaps.
    """

    kind: str
    extents: tuple[Expr, ...]
    at: Callable[[tuple[Expr, ...]], Expr]
    array: str | None = None
    view: tuple[Axis, ...] = ()
    is_copy: bool = True
    shared: frozenset[str] = frozenset()
    is_part: bool = False


@dataclass(frozen=True)
class Known:
    """An object that is known when the loop is read: a module, a function, a dtype, None, a text.

    Attributes
    ----------
    path : how it is reached from a variable, if the loop may also run with another object of its class. Then the loop
        may depend on what its parts hold, each of which is checked, and not on the object itself.
    """

    value: Any
    path: tuple[Any, ...] = ()

    def __eq__(self, other: object) -> bool:
        # The `==` of an object of the program is not called.
        if type(other) is not Known or self.path != other.path:
            return False
        if self.path:
            return True
        return self.value is other.value or (type(self.value) is type(other.value) is str and self.value == other.value)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Several:
    """A tuple, or a list that does not change."""

    items: tuple[Any, ...]
    is_list: bool = False


@dataclass(frozen=True)
class Items:
    """A tuple or a list that a variable holds: its items lie in variables of their own, `name.0` and so on."""

    count: int
    is_list: bool = False


@dataclass(frozen=True)
class Listed:
    """A list of numbers of one type, which does not change.

    Attributes
    ----------
    weak : whether they are numbers of Python's.
    items : the numbers; None of a list that a variable holds, which has them in a variable of their own, `name.items`.
    """

    weak: bool
    items: Elements | None = None

    @property
    def array(self) -> Elements:
        """The array that NumPy makes of it."""
        assert self.items is not None
        return Elements(self.items.kind, self.items.extents, self.items.at)


@dataclass(frozen=True)
class Unbound:
    """What a name holds at the beginning of an iteration, where that is another thing than at its end."""


Value = Number | Elements | Known | Several | Items | Listed | Unbound

ZERO, ONE = Const("i", 0), Const("i", 1)


def bound_flag(name: str) -> str:
    """The variable that says whether another one is bound."""
    return f"{name}?"


def weak_flag(name: str) -> str:
    """The variable that says whether another one holds a Python number."""
    return f"{name}!"


def weak_of(values: Sequence[Number]) -> bool | Expr | None:
    """Whether an operation on these numbers returns a Python number. With one NumPy operand, it does not."""
    if any(one.weak is False for one in values):
        return False
    found: bool | Expr = True
    for one in values:
        if one.weak is None:
            return None
        if isinstance(one.weak, Expr):
            found = Op("b", "and", (found, one.weak)) if isinstance(found, Expr) else one.weak
    return found


def chosen_weak(flag: Expr, one: bool | Expr | None, other: bool | Expr | None) -> bool | Expr | None:
    """Whether a value is a Python number: the first one where the flag is set, else the second."""
    if one == other or one is None or other is None:
        return one if one == other else None
    first, second = (x if isinstance(x, Expr) else Const("b", x) for x in (one, other))
    return Op("b", "select", (flag, first, second))


def in_variable(held: Expr, value: Number, weak: bool | Expr | None) -> Number:
    """A number that a variable or an expression holds, which may be of another kind."""
    kind = value.expr.kind
    strong = value.strong or ("" if kind in OF_PYTHON else kind)
    is_certain = value.is_certain and (kind == held.kind or bool(strong))
    return Number(held, weak, None, is_certain, "" if strong == held.kind else strong)


def either(one: Number, other: Number, flag: str | None, weak: bool | Expr | None) -> Number:
    """One of two numbers that a variable holds."""
    strong = {x.strong or x.expr.kind for x in (one, other) if x.weak is not True}
    kind = "" if strong <= {one.expr.kind} else strong.pop() if len(strong) == 1 else "?"
    return Number(one.expr, weak, flag, one.is_certain and other.is_certain, kind)


def local_name(name: str, ndim: int, kind: str) -> str:
    """The array that the loop makes for a variable, which may hold arrays of several ranks and kinds."""
    return f"{name}:{ndim}{kind}"


def converted(expr: Expr, kind: str | None) -> Expr:
    """A number as another kind."""
    if kind is None or expr.kind == kind:
        return expr
    if isinstance(expr, Const) and not is_narrow(kind):
        return Const(kind, KINDS[kind].dtype.type(expr.value).item())
    return Op(kind, "cast", (expr,))


def placed(axes: tuple[Axis, ...], index: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The index in a memory of an element of a view."""
    return tuple(one.start if one.axis is None else moved(one.start, one.step, index[one.axis]) for one in axes)


def moved(start: Expr, step: int, index: Expr) -> Expr:
    """`start + step * index`."""
    if step == 0:
        return start
    moved = index if step == 1 else Op("i", "mul", (Const("i", step), index))
    if start == ZERO:
        return moved
    if index == ZERO:
        return start
    if isinstance(start, Const) and isinstance(moved, Const):
        return Const("i", start.value + moved.value)
    return Op("i", "add", (start, moved))


def alike(one: Value, other: Value) -> bool:
    """Whether two values are the same, as far as that is known."""
    if isinstance(one, Elements) and isinstance(other, Elements):
        return (one.array, one.view, one.extents, one.is_copy, one.shared) == (
            other.array,
            other.view,
            other.extents,
            other.is_copy,
            other.shared,
        )
    return one == other


def read_by(value: Elements) -> set[str]:
    """The arrays that an element of a value is computed from."""
    index = tuple(Var("i", "q") for _ in value.extents)
    return {one.array for one in value.at(index).walk() if isinstance(one, (Load, Size))}


def with_sizes(expr: Expr, old: str, new: str) -> Expr:
    """An expression with the lengths of another array."""
    if isinstance(expr, Size) and expr.array == old:
        return Size("i", new, expr.axis)
    if isinstance(expr, Op):
        return Op(expr.kind, expr.name, tuple(with_sizes(one, old, new) for one in expr.args))
    return expr


def loads(value: Elements) -> list[Load]:
    """The elements of arrays that an element of a value is computed from."""
    index = tuple(Var("i", "q") for _ in value.extents)
    return [one for one in value.at(index).walk() if isinstance(one, Load)]
