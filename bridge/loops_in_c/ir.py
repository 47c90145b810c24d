"""The typed program of a loop: numbers in variables, arrays in memory, and statements of one element each.

What NumPy does to whole arrays is written out as loops over elements (`Each`), so that derivatives and printers see a
dozen kinds of statements. Kinds of numbers are those of `kinds.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class Expr:
    """A value: `kind` is its kind of number."""

    kind: str

    def parts(self) -> Iterator[Expr]:
        """The expressions that it is made of."""
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Expr):
                yield value
            elif isinstance(value, tuple):
                yield from (x for x in value if isinstance(x, Expr))

    def walk(self) -> Iterator[Expr]:
        """The expression, and all that it is made of."""
        yield self
        for part in self.parts():
            yield from part.walk()


@dataclass(frozen=True)
class Const(Expr):
    """A number that is known. 0.0 and -0.0 are two."""

    value: float | int | bool

    def __eq__(self, other: object) -> bool:
        return type(other) is Const and (self.kind, repr(self.value)) == (other.kind, repr(other.value))

    def __hash__(self) -> int:
        return hash((self.kind, repr(self.value)))


@dataclass(frozen=True)
class Var(Expr):
    """What a variable holds."""

    name: str


@dataclass(frozen=True)
class Size(Expr):
    """The length of one axis of an array."""

    array: str
    axis: int


@dataclass(frozen=True)
class Stride(Expr):
    """The distance in bytes along one axis of an array that the program is given."""

    array: str
    axis: int


@dataclass(frozen=True)
class Load(Expr):
    """One element of an array, at indices that lie inside of it."""

    array: str
    index: tuple[Expr, ...]


@dataclass(frozen=True)
class Op(Expr):
    """A function of numbers, by its name in `functions.FUNCTIONS`."""

    name: str
    args: tuple[Expr, ...]


class Stmt:
    """A statement; the ones below are all there are."""


@dataclass
class Let(Stmt):
    """A name for a value that is computed once. The way back computes it again, if it reads no memory."""

    name: str
    expr: Expr


@dataclass
class Check(Stmt):
    """Where this is not true, for all `names` below `extents`, compiled code stops, and Python runs the iteration."""

    that: Expr
    names: tuple[str, ...] = ()
    extents: tuple[Expr, ...] = ()


@dataclass
class Assign(Stmt):
    """`variable = value`."""

    name: str
    expr: Expr


@dataclass
class Store(Stmt):
    """`array[index] = value`, of one element."""

    array: str
    index: tuple[Expr, ...]
    expr: Expr


@dataclass
class Each(Stmt):
    """`array[index] = value` for each element: for all `names` below `extents`.

    Where `is_buffered`, all values are computed before the first is written, as NumPy does where they overlap. Where
    `is_first`, the array has just been made, and what it held is not defined.
    """

    names: tuple[str, ...]
    extents: tuple[Expr, ...]
    array: str
    index: tuple[Expr, ...]
    expr: Expr
    is_buffered: bool = False
    is_first: bool = False
    is_scattered: bool = False
    is_sequential: bool = False


@dataclass
class Reduce(Stmt):
    """A variable, or `array[index]` for all `outer` below their extents: a value, reduced over `names`.

    `how` is "sum" in NumPy's pairwise order, "sequential" for a sum from the first to the last, "prod", "max",
    "min", or "argmax", "argmin" for the place of an extremum.
    """

    how: str
    names: tuple[str, ...]
    extents: tuple[Expr, ...]
    expr: Expr
    variable: str = ""
    array: str = ""
    outer: tuple[str, ...] = ()
    outer_extents: tuple[Expr, ...] = ()

    @property
    def is_place(self) -> bool:
        """Whether the result is a place, which carries no gradient."""
        return self.how.startswith("arg")

    @property
    def index(self) -> tuple[Expr, ...]:
        """Where an element of the result lies."""
        return tuple(Var("i", one) for one in self.outer)


@dataclass
class Dot(Stmt):
    """`variable` = the product of two vectors, by NumPy's own loop. Each is an array, with `None` for its axis."""

    variable: str
    extent: Expr
    name: str
    left: Load
    right: Load


@dataclass
class Product(Stmt):
    """A local array gets the product of a matrix and a vector, or of two matrices, by NumPy's own loop.

    Attributes
    ----------
    rows, inner, columns : the names of the indices; a vector has no `rows`, or no `columns`.
    counts : how far these count; 1 where there is none.
    left, right : one element of each operand, at these indices.
    by_dot : whether the program calls `dot`, not `matmul`.
    """

    array: str
    rows: str
    inner: str
    columns: str
    counts: tuple[Expr, Expr, Expr]
    left: Load
    right: Load
    by_dot: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The indices of the result."""
        return tuple(one for one in (self.rows, self.columns) if one)

    @property
    def index(self) -> tuple[Expr, ...]:
        """Where an element of the result lies."""
        return tuple(Var("i", one) for one in self.names)


@dataclass
class Callback(Stmt):
    """Python computes `arrays`, which are local, from operands that are arrays and numbers.

    Attributes
    ----------
    number : the position in `Program.callbacks`.
    arrays : one local array for each result. A number is an array of one element.
    names, extents, loads : of each operand that is an array, the indices, how far they count, and the element there.
    numbers : the operands that are numbers.
    """

    number: int
    arrays: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    extents: tuple[tuple[Expr, ...], ...]
    loads: tuple[Load, ...]
    numbers: tuple[Expr, ...]


@dataclass
class Where(Stmt):
    """Local arrays get the indices, for all `names` below `extents`, at which a condition holds."""

    arrays: tuple[str, ...]
    names: tuple[str, ...]
    extents: tuple[Expr, ...]
    that: Expr


@dataclass
class Make(Stmt):
    """A local array gets these extents; what it holds is not defined."""

    array: str
    extents: tuple[Expr, ...]


@dataclass
class Block(Stmt):
    """What one statement of the program does: its lets and checks first, then at most one effect."""

    line: int
    body: list[Stmt] = field(default_factory=list)


@dataclass
class For(Stmt):
    """`variable` counts from `start` in `step`s, `count` times, or until the variable `until` is true."""

    variable: str
    start: Expr
    count: Expr
    step: Expr
    body: list[Stmt]
    until: str | None = None


@dataclass
class While(Stmt):
    """A loop: `before` is computed, and if `that` is true then, the body runs, and so on."""

    before: list[Stmt]
    that: Expr
    body: list[Stmt]


@dataclass
class If(Stmt):
    """One of two."""

    that: Expr
    body: list[Stmt]
    orelse: list[Stmt]


@dataclass
class Array:
    """An array of the program. Arrays with the same `memory` may overlap. Compiled code allocates local ones."""

    kind: str
    ndim: int
    memory: str
    is_local: bool = False
    is_packed: bool = False
    """Whether the last axis lies element by element."""
    is_ordered: bool = True
    """Whether the axes lie in memory in their order, the last one closest, and none of them backwards."""
    is_contiguous: bool = True
    """Whether it lies in C order and without gaps."""
    ones: frozenset[int] = frozenset()
    """The axes of one element."""


@dataclass
class Program:
    """A loop, or a part of one."""

    arrays: dict[str, Array]
    variables: dict[str, str]
    body: list[Stmt]
    written: set[str] = field(default_factory=set)
    callbacks: list[Any] = field(default_factory=list)
    """What the statements `Callback` compute: `bridge.loops_in_c.callbacks.Expression`s."""
