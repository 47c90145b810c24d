"""How a loop carries a value from iteration to iteration: not at all, as a counter, or as memory.

An XLA loop carries arrays of fixed shapes. A variable, attribute or element of the program becomes one of these:

* constant: each iteration leaves what it found;
* a counter: an integer that grows by the same step in each iteration, computed from the number of the iteration;
* memory: arrays and numbers in the same containers. The memory holds the first value before the loop, and each
  iteration writes the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from bridge.arrays.buffer import is_weak, weak
from bridge.rewind.values import is_abstract
from bridge.source.staging.truth import NotOneLoop
from bridge.source.state import Place
from bridge.state.slots import GONE
from bridge.trees import containers_of, rebuilt
from bridge.xla.loops.may_alias import passed_on
from bridge.xla.tracing.integers import affine_of

PYTHON = (bool, int, float, complex)
"""The classes of Python's numbers."""


class Unlike(NotOneLoop):
    """An iteration leaves another type of value than it found; the second iteration may not."""


class Rebound(Unlike):
    """An iteration binds a name to an array that is older; after some iterations it may be the first one again."""


class Constant:
    """A place that holds the same in every turn."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def at(self, k: Any) -> Any:
        """What it holds in the turn with number `k`, counted from 0."""
        return self.value

    def take(self, value: Any) -> None:
        """Get what a turn has left."""

    def settle(self) -> None:
        """Keep what was taken; called when all places have theirs."""


class Counter(Constant):
    """An integer that grows by `step` in each turn."""

    def __init__(self, start: Any, step: int) -> None:
        super().__init__(start)
        self.step = step

    def at(self, k: Any) -> Any:
        return self.value + k * self.step


class StateType(NamedTuple):
    """The type of memory for a value: containers, and kind and dtype of each leaf in them."""

    structure: Any
    kinds: tuple[str, ...]
    dtypes: tuple[Any, ...]

    def is_wider_than(self, other: StateType) -> bool:
        """Whether memory that looks like `other` is too narrow, or of the wrong kind."""
        mine, others = (zip(look.kinds, look.dtypes, strict=True) for look in (self, other))
        return any(a[0] != "fixed" and a != b for a, b in zip(mine, others, strict=True))


class Memory(Constant):
    """Arrays and numbers in containers, each with memory of its own; "fixed" ones are the same in every turn."""

    def __init__(self, context: Any, look: StateType, cells: Sequence[Any]) -> None:
        self.context, self.look, self.cells = context, look, cells
        self.fresh: list[Any] = []

    @property
    def own(self) -> list[Any]:
        """The memory that it has made, into which turns write."""
        return [cell for cell, kind in zip(self.cells, self.look.kinds, strict=True) if kind != "fixed"]

    def at(self, k: Any) -> Any:
        return rebuilt(self.look.structure, list(map(_shown, self.cells, self.look.kinds)))

    def take(self, value: Any) -> None:
        leaves, structure = containers_of(value)
        if structure != self.look.structure:
            raise NotOneLoop(f"a turn leaves {structure} where {self.look.structure} was")
        # They are copied before the first one is written: a value may be that of another place.
        for new, cell, kind in zip(leaves, self.cells, self.look.kinds, strict=True):
            if kind != "fixed":
                passed_on(self.context, new, cell)
        self.fresh = [
            None if kind == "fixed" or is_same(new, cell) else np.copy(new) if hasattr(new, "view_as") else new
            for new, cell, kind in zip(leaves, self.cells, self.look.kinds, strict=True)
        ]

    def settle(self) -> None:
        with settling(self.context):
            for cell, new in zip(self.cells, self.fresh, strict=True):
                if new is not None:
                    cell[...] = new
        self.fresh = []


def state_type(place: Place, start: Any, after: Any, since: int, hands: Set[Any] = frozenset()) -> StateType | None:
    """How memory for a place looks, given what it held and what a turn has left in it; None if it needs none.

    Parameters
    ----------
    start : GONE where no turn reads what was there before.
    since : memory with a higher number was made by the turn.
    hands : older memory that places may hand on to each other.

    Raises
    ------
    NotOneLoop : that cannot be carried.
    """
    if after is GONE and start is not GONE:
        raise Unlike(f"{place.name} has no value any more after a turn")
    if after is GONE or (start is not GONE and equal(after, start)):
        return None
    leaves, structure = containers_of(after)
    before, given = (leaves, structure) if start is GONE else containers_of(start)
    if given != structure:
        raise Unlike(f"{place.name} is {_look(start)} before a turn and {_look(after)} after it")
    kinds: list[str] = []
    dtypes: list[Any] = []
    for old, new in zip(before, leaves, strict=True):
        if (start is not GONE or not is_value(new)) and equal(new, old):
            kinds.append("fixed")
            dtypes.append(None)
            continue
        _check(place.name, old, new, since, hands)
        kinds.append(kind_of(old, new))
        dtypes.append(np.result_type(promoting(old), promoting(new)))
    return StateType(structure, tuple(kinds), tuple(dtypes))


def memory(context: Any, look: StateType, start: Any, after: Any) -> Memory:
    """Memory that holds what was in a place before a loop; zeros if no turn reads that."""
    leaves, _ = containers_of(after if start is GONE else start)
    cells = []
    for leaf, kind, dtype in zip(leaves, look.kinds, look.dtypes, strict=True):
        if kind == "fixed":
            cells.append(leaf)
            continue
        cell = context.constant_buffer(np.zeros(np.shape(leaf), dtype))
        # Also zeros are written, so that nothing counts as known of what later turns find.
        cell[...] = leaf if start is not GONE else 0
        cells.append(cell)
    return Memory(context, look, cells)


def growth(then: Any, after: Any) -> int | None:
    """By how much an integer that is not known has grown in a turn, if that is always the same."""
    if not all(is_integer(one) and is_abstract(one) for one in (then, after)):
        return None
    grown = affine_of(after) - affine_of(then)
    return int(grown.constant) if grown.is_constant else None


def check_apart(left: Iterable[tuple[Place, Any]], since: int) -> None:
    """Raise if new memory was left under two names, or twice in a container: a write into one is one into both."""
    seen: dict[int, str] = {}
    for place, value in left:
        for leaf in containers_of(value)[0] if value is not GONE else ():
            root = id(leaf.place.root) if hasattr(leaf, "view_as") else None
            if root is None or leaf.place.root.serial <= since:
                continue
            if root in seen:
                names = dict.fromkeys((seen[root], place.name))
                raise Unlike(f"{' and '.join(names)} share an array that an iteration has made")
            seen[root] = place.name


def handed_on(places: Iterable[Any], left: Iterable[Any]) -> frozenset[Any]:
    """Memory that carried places found, if no two of them were left with the same: they may have exchanged it.

    Nothing is read of it, which a loop that has been met before would not do.
    """
    found = [
        leaf.place.root
        for one in places
        for leaf in _arrays_in((one.start, one.by.cells if isinstance(one.by, Memory) else one.by.at(0)))
    ]
    after = [root for value in left for root in {leaf.place.root for leaf in _arrays_in((value,))}]
    return frozenset(found) if len(set(after)) == len(after) else frozenset()


def _arrays_in(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if value is not GONE:
            yield from (leaf for leaf in containers_of(value)[0] if hasattr(leaf, "view_as"))


@contextmanager
def settling(context: Any) -> Iterator[None]:
    """Inside, what is written is what the program binds a name to: it is no write of the program's."""
    before, context.settling = context.settling, True
    try:
        yield
    finally:
        context.settling = before


def is_same(new: Any, old: Any) -> bool:
    """Whether two values are one object, or one array."""
    mine, given = getattr(new, "place", None), getattr(old, "place", None)
    return new is old or (mine is not None and hasattr(new, "view_as") and mine is given)


def equal(new: Any, old: Any) -> bool:
    """Whether two values are the same, or are known and alike, in kind too."""
    if is_same(new, old):
        return True
    if type(new) is not type(old) or hasattr(new, "place"):
        return False
    if type(new) in (tuple, list):
        return len(new) == len(old) and all(map(equal, new, old))
    if isinstance(new, np.ndarray):
        return new.dtype == old.dtype and new.dtype.kind in "iub" and np.array_equal(new, old)
    return isinstance(new, (str, bytes, slice, *PYTHON, np.generic)) and bool(new == old)


def alike(a: Any, b: Any) -> bool:
    """Whether two runs of a turn have left the same, as far as that is known."""
    if hasattr(a, "place") or hasattr(b, "place") or not is_value(a) or not is_value(b) or np.ndim(a):
        return True
    return equal(a, b)


def kind_of(*leaves: Any) -> str:
    """The kind of the values of one place: "array", "number", or "weak" if all are Python numbers."""
    if any(hasattr(leaf, "view_as") or isinstance(leaf, np.ndarray) for leaf in leaves):
        return "array"
    return "weak" if all(isinstance(leaf, PYTHON) or is_weak(leaf) for leaf in leaves) else "number"


def promoting(leaf: Any) -> Any:
    """What `np.result_type` takes for a value: of Python's numbers only their type counts."""
    if hasattr(leaf, "place") and is_weak(leaf):
        return leaf.dtype.type(0).item()
    return type(leaf)(0) if isinstance(leaf, PYTHON) else leaf.dtype


def read_cell(cell: Any, kind: str) -> Any:
    """What memory for a carried value holds: an array, or a number of that kind."""
    if kind == "array" or not hasattr(cell, "view_as"):
        return cell
    return weak(cell[()]) if kind == "weak" else cell[()]


def is_value(value: Any) -> bool:
    """Whether a value is an array or a number."""
    return isinstance(value, (*PYTHON, np.generic, np.ndarray)) or hasattr(value, "place")


def is_integer(value: Any) -> bool:
    """Whether a value is an integer, known or not."""
    known = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
    return known or (hasattr(value, "place") and not hasattr(value, "view_as") and value.dtype.kind == "i")


def _check(name: str, old: Any, new: Any, since: int, hands: Set[Any]) -> None:
    if equal(new, old):
        return
    if not is_value(old) or not is_value(new):
        raise Unlike(f"{name} is {_look(old)} before a turn and {_look(new)} after it")
    if np.shape(old) != np.shape(new):
        raise Unlike(f"{name} is {_look(old)} before a turn and {_look(new)} after it")
    if hasattr(new, "view_as") and new.place.root.serial <= since and new.place.root not in hands:
        raise Rebound(f"{name} names another array after a turn, which there was before it")
    if isinstance(new, np.ndarray):
        raise Rebound(f"{name} names another plain array after a turn")


def _look(value: Any) -> str:
    if value is GONE:
        return "without a value"
    if is_value(value):
        dtype = np.result_type(getattr(value, "dtype", type(value)))
        return f"a {dtype} array of shape {np.shape(value)}" if np.shape(value) else f"a {dtype} number"
    if isinstance(value, (list, tuple, dict)):
        return f"a {type(value).__name__} of {len(value)}"
    return "None" if value is None else f"a {type(value).__name__}"


def _shown(cell: Any, kind: str) -> Any:
    return cell if kind == "fixed" else read_cell(cell, kind)
