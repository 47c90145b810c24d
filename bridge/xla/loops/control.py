"""`fori_loop`, `while_loop` and `cond` in a program that is being compiled.

A loop is the repetition of a body that writes memory: what a body returns is written into arrays that exist before
the loop, unless it returns the very arrays that it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bridge.arrays.buffer import is_weak, weak
from bridge.code_position import here, resolve
from bridge.errors import ArgumentError, RefusedError, TraceError
from bridge.rewind.closures import Closure
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.roots import serial_now
from bridge.rewind.values import is_abstract
from bridge.trees import leaves_of, rebuilt
from bridge.xla.loops import changing
from bridge.xla.loops.changing import Changing, ground_of, refused
from bridge.xla.loops.dry_runs import asked
from bridge.xla.loops.looks import Stale, body_key
from bridge.xla.loops.repeating import choose, repeat
from bridge.xla.loops.standing import merge, shared_on_a_side, stood_for
from bridge.xla.loops.structured import Turns
from bridge.xla.loops.taped import of_the_program
from bridge.xla.tracing.integers import Bounds, bounds_of


def fori_loop(context: Any, lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """`bridge.fori_loop`, as one XLA loop."""
    for name, bound in (("lower", lower), ("upper", upper)):
        if not is_abstract(bound) and not isinstance(bound, (int, np.integer)):
            raise ArgumentError(f"{name}={bound!r} of a fori_loop is no integer", remedy="give an integer")
    if not is_abstract(lower) and not is_abstract(upper) and upper <= lower:
        return init
    try:
        carried = Carried(context, Closure(body), init, bounds_of(lower, upper))
    except Changing as why:
        return changing.fori_loop(context, lower, upper, body, init, why)
    try:
        repeat(context, Turns(lower, upper), carried.step)
    except Stale:
        if not carried.is_planned:
            raise
        return fori_loop(context, lower, upper, body, init)
    return carried.value()


def while_loop(
    context: Any, condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, limit: int | None
) -> Any:
    """`bridge.while_loop`, as one XLA loop; a limit is needed where a gradient passes through it."""
    asks = Closure(condition)
    try:
        written = changing.tried(context, asks, lambda i: asks(init))
        if written:
            raise Changing("it writes into an array")
    except Changing as why:
        raise refused("the condition of a while_loop", why) from why
    runs = Closure(body)
    try:
        carried = Carried(context, runs, init, takes_index=False)
    except Changing as why:
        return changing.while_loop(context, condition, body, init, limit, why)

    @of_the_program
    def going() -> Any:
        return asks(carried.current())

    try:
        repeat(context, Turns(0, _MANY if limit is None else limit, going, limit is not None), carried.step)
    except Stale:
        if not carried.is_planned:
            raise
        return while_loop(context, condition, body, init, limit)
    if limit is not None:
        context.home.trace.faults.check_limit(limit, asked(context, going))
    return carried.value()


_MANY = 2**62
PYTHON = (bool, int, float, complex)


def cond(context: Any, predicate: Any, true_branch: Any, false_branch: Any, operands: tuple[Any, ...]) -> Any:
    """`bridge.cond`: both branches are compiled, and one runs."""
    if not is_abstract(predicate):
        return true_branch(*operands) if bool(predicate) else false_branch(*operands)
    try:
        results = [_Result(context, Closure(branch), operands) for branch in (true_branch, false_branch)]
    except Changing as why:
        return changing.choice(
            context, predicate, [partial(one, *operands) for one in (true_branch, false_branch)], why
        )
    shared = _shared(context, *results)
    choose(context, predicate, [of_the_program(partial(one.write, shared)) for one in results])
    return rebuilt(results[0].structure, [read_cell(*both) for both in shared])


class Carried:
    """The value that a loop carries: which of its arrays the body writes in place, and cells for the rest."""

    def __init__(
        self, context: Any, body: Closure, init: Any, bounds: Bounds = (None, None), takes_index: bool = True
    ) -> None:
        self.context = context
        self.bounds = bounds
        self.function = body
        self.body: Callable[[Any, Any], Any] = body if takes_index else lambda i, value: body(value)
        self.named: list[tuple[int, Any]] = []
        leaves, self.structure = leaves_of(init)
        _check_shapes(leaves, "a loop carries")
        plans, key = context.home.trace.plans, body_key(context, body, leaves)
        self.key = key
        # In earnest nothing is taken for granted.
        self.is_planned = key in plans and context.home.trace.is_dry
        if self.is_planned:
            self.in_place, new = plans[key]
        else:
            new = self._tried(init)
            self.in_place = [_is_same(one, leaf) for one, leaf in zip(new, leaves, strict=True)]
            if key is not None and not self.named:
                plans[key] = self.in_place, new
        self.kinds = [kind_of(leaf, one) for leaf, one in zip(leaves, new, strict=True)]
        self.cells = [
            leaf if same else _cell(context, leaf, one)
            for leaf, one, same in zip(leaves, new, self.in_place, strict=True)
        ]

    def _tried(self, init: Any) -> list[Any]:
        """What the body returns for the first value; raises where that cannot be carried."""
        found: list[Any] = []

        def attempt(i: Any) -> None:
            found[:] = self._checked(self.body(i, init))

        since = serial_now()
        written = changing.tried(self.context, self.function, attempt, self.bounds)
        leaves, _ = leaves_of(init)
        seen: set[Any] = set()
        for number, (leaf, new) in enumerate(zip(leaves, found, strict=True)):
            place = getattr(leaf, "place", None)
            root: Any = getattr(getattr(new, "place", None), "root", None)
            if not _is_same(new, leaf) and place is not None and ground_of(place.root) in written:
                raise Changing(f"it writes into its value of shape {np.shape(leaf)} and returns another array")
            if hasattr(new, "view_as") and not _is_same(new, leaf):
                if root in seen or (root.serial <= since and ground_of(root) in written):
                    raise Changing(
                        f"it returns an array of shape {np.shape(leaf)} that has another name, and is written"
                    )
                if root.serial <= since:
                    self.named.append((number, root))
                seen.add(root)
            if not _is_same(new, leaf) and np.shape(new) != np.shape(leaf):
                raise ArgumentError(
                    f"the body of a loop got a value of shape {np.shape(leaf)} and returned one of {np.shape(new)}",
                    where=resolve(here()),
                    remedy="return values of the shapes of the first ones",
                )
        return found

    def _checked(self, new: Any) -> list[Any]:
        leaves, structure = leaves_of(new)
        _check_shapes(leaves, "the body of a loop returns")
        if structure != self.structure:
            raise ArgumentError(
                f"the body of a loop got a value of the structure {self.structure} and returned {structure}",
                where=resolve(here()),
                remedy="return the containers of the first value",
            )
        return leaves

    def current(self) -> Any:
        """The value as the body sees it."""
        return rebuilt(self.structure, [read_cell(*both) for both in zip(self.cells, self.kinds, strict=True)])

    @of_the_program
    def step(self, i: Any) -> None:
        """Run the body once, and write what it returns into the cells."""
        leaves = self._checked(self.body(i, self.current()))
        if self.is_planned:
            self._check_planned(leaves)
        fresh = [
            None if same else np.copy(new) if hasattr(new, "view_as") else new
            for new, same in zip(leaves, self.in_place, strict=True)
        ]
        for cell, new, same in zip(self.cells, fresh, self.in_place, strict=True):
            if not same:
                cell[...] = new

    def _check_planned(self, leaves: list[Any]) -> None:
        """Raise Stale if the body does not return what it returned when it was met before."""
        for new, cell, same in zip(leaves, self.cells, self.in_place, strict=True):
            fits = _is_same(new, cell) if same else np.shape(new) == np.shape(cell)
            if not fits or (not same and np.result_type(promoting(new), cell.dtype) != cell.dtype):
                self.context.home.trace.plans.pop(self.key, None)
                raise Stale

    def value(self) -> Any:
        """What the loop ends with; arrays that may be others of the program's cannot be written from now on."""
        # Which of them is which array may be another one in each turn.
        cells = [self.cells[number].place.root for number, _ in self.named]
        for one, (_, root) in zip(cells, self.named, strict=True):
            stood_for(self.context, "", one, [root])
            merge(self.context, root, cells)
            merge(self.context, one, [other for other in cells if other is not one])
        return self.current()


def _check_shapes(leaves: list[Any], what: str) -> None:
    """Raise if the shape of a value is known only when the program runs."""
    for leaf in leaves:
        if type(leaf) is ARRAYS.bounded:
            raise RefusedError(
                f"{what} {leaf!r}: XLA's values have shapes that are known before",
                where=resolve(here()),
                remedy="carry the whole array and the bounds of the slice, x, i, j, and take x[i:j] where it is used",
            )


def _is_same(new: Any, old: Any) -> bool:
    """Whether a body returned the array that it was given."""
    mine, given = getattr(new, "place", None), getattr(old, "place", None)
    return new is old or (mine is not None and hasattr(new, "view_as") and mine is given)


def kind_of(*leaves: Any) -> str:
    """Whether values that take turns in one place are arrays, or numbers; "weak" if all are Python's own."""
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


def _cell(context: Any, leaf: Any, new: Any) -> Any:
    """Memory for a carried value, holding the first one."""
    if not hasattr(leaf, "shape") and not isinstance(leaf, PYTHON):
        raise ArgumentError(
            f"a loop cannot carry a {type(leaf).__name__}",
            where=resolve(here()),
            remedy="carry arrays and numbers, and capture the rest",
        )
    dtype = np.result_type(getattr(leaf, "dtype", type(leaf)))
    wanted = np.result_type(getattr(new, "dtype", type(new)))
    if isinstance(leaf, PYTHON) or is_weak(leaf):
        dtype = np.result_type(promoting(leaf), promoting(new))
    elif not np.can_cast(wanted, dtype, "same_kind"):
        raise ArgumentError(
            f"the body of a loop got a value of dtype {dtype} and returned one of {wanted}",
            where=resolve(here()),
            remedy=f"start with a value of dtype {wanted}",
        )
    cell = context.constant_buffer(np.zeros(np.shape(leaf), dtype))
    cell[...] = leaf
    return cell


class _Result:
    """What a branch returns."""

    def __init__(self, context: Any, branch: Closure, operands: tuple[Any, ...]) -> None:
        self.branch, self.operands = branch, operands
        self.leaves: list[Any] = []
        self.structure: Any = None

        def attempt(i: Any) -> None:
            self.leaves, self.structure = leaves_of(branch(*operands))
            _check_shapes(self.leaves, "a branch of a cond returns")

        self.since = serial_now()
        changing.tried(context, branch, attempt)

    def write(self, shared: list[tuple[Any, str]]) -> None:
        """Run the branch, and write what it returns into the shared cells."""
        leaves, _ = leaves_of(self.branch(*self.operands))
        for (cell, _), leaf in zip(shared, leaves, strict=True):
            if not _is_same(leaf, cell) and hasattr(cell, "view_as"):
                cell[...] = leaf


def _shared(context: Any, first: _Result, second: _Result) -> list[tuple[Any, str]]:
    """Cells for what either branch returns, and which of them are numbers; arrays that both return are themselves."""
    if first.structure != second.structure:
        raise ArgumentError(
            f"the branches of a cond return {first.structure} and {second.structure}",
            where=resolve(here()),
            remedy="return the same containers from both",
        )
    shared, known = [], dict(context.merged)
    for a, b in zip(first.leaves, second.leaves, strict=True):
        if _is_same(a, b):
            shared.append((a, "array"))
            continue
        if not hasattr(a, "shape") and not isinstance(a, PYTHON):
            raise TraceError(
                f"the branches of a cond return {a!r} and {b!r}, and which it is is not known",
                where=resolve(here()),
                remedy="return arrays and numbers",
            )
        if np.shape(a) != np.shape(b):
            raise ArgumentError(
                f"the branches of a cond return arrays of shapes {np.shape(a)} and {np.shape(b)}",
                where=resolve(here()),
                remedy="return the same shapes from both",
            )
        kind = kind_of(a, b)
        dtype = np.result_type(*(promoting(x) for x in (a, b)))
        cell = context.constant_buffer(np.zeros(np.shape(a), dtype))
        if kind == "array":
            _stands_for(context, cell, [(leaf, one.since) for leaf, one in ((a, first), (b, second))], known)
        shared.append((cell, kind))
    arrays = [cell.place.root if kind == "array" and hasattr(cell, "view_as") else None for cell, kind in shared]
    shared_on_a_side(
        context,
        (
            [
                (root, x.place.root, frozenset[Any]())
                for root, x in zip(arrays, side.leaves, strict=True)
                if root is not None and hasattr(x, "view_as") and x.place.root is not root
            ]
            for side in (first, second)
        ),
        known,
    )
    return shared


def _stands_for(context: Any, cell: Any, leaves: list[tuple[Any, int]], known: Any) -> None:
    """What a branch returns may be an array that has another name: neither can be written from now on."""
    older = [x.place.root for x, since in leaves if hasattr(x, "view_as") and x.place.root.serial <= since]
    if older:
        stood_for(context, "the result of a cond", cell.place.root, older, known)
