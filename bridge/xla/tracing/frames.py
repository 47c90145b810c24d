"""Loops and branches of a traced program: what a body writes in outer memory is what XLA carries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakSet

import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.rewind.interpreter import current_context
from bridge.rewind.operands import Retake
from bridge.rewind.values import ground_floor, is_abstract
from bridge.xla.interrupts import is_unset
from bridge.xla.regions.affine import Affine
from bridge.xla.tracing.allowances import Allowances
from bridge.xla.tracing.cells import Cell, Frame, in_dtype
from bridge.xla.tracing.following import Followers
from bridge.xla.tracing.integers import Bounds, affine_of, bounds_of, index_form
from bridge.xla.tracing.kernels import loop
from bridge.xla.tracing.outlines import Outline


class Framing:
    """Runs parts of a program in frames of their own."""

    frames: list[Frame]
    dirty: dict[Cell, None]
    alive: WeakSet[Cell]
    number: Callable[..., Any]
    read: Callable[..., Any]
    allowances: Allowances
    following: Followers
    faults: Any
    asker: Any
    stop: Any
    polls: bool
    is_dry = False

    @property
    def is_inside(self) -> bool:
        """Whether what runs is the body of a loop or a branch."""
        return len(self.frames) > 1

    @contextmanager
    def frame(self, scratch: dict[Cell, list[Any]] | None = None, row: Any = None) -> Iterator[Frame]:
        """A part of the program of its own; afterwards outer memory is as before it."""
        frame = Frame(scratch, row)
        self.frames.append(frame)
        self.forget_copies()
        try:
            allowances = self.allowances.within(math.inf if self.is_dry else self.allowances.scope.left)
            with allowances, self.following.as_they_were(self.following.active):
                yield frame
        finally:
            self.forget_copies()
            self.frames.pop()
            frame.open = False
            self.dirty.clear()
            for cell, contents in frame.before.items():
                cell.put_back(contents, frame.folded[cell])
            for cell in frame.reads:
                cell.seen = []

    @contextmanager
    def as_settled(self, then: int) -> Iterator[None]:
        """Let a body that is run more than once find the integers of the frames around it as they were `then`.

        What was computed in between would be its own in one of its runs, and not in the other.
        """
        before = [(frame, frame.settled) for frame in self.frames[:-1]]
        for frame, settled in before:
            frame.settled = min(settled, then)
        try:
            yield
        finally:
            for frame, settled in before:
                frame.settled = settled

    def flush(self) -> None:
        """Write everything that is pending."""
        for cell in self.dirty:
            if cell.pending:
                cell.flush()
        self.dirty.clear()

    def separate(self) -> None:
        """Hide from XLA that what is computed from here on was computed before: it would keep the values instead."""
        self.flush()
        if self.is_dry:
            return
        cells = [cell for cell in self.alive if cell.frame is self.frames[-1]]
        for cell, contents in zip(cells, lax.optimization_barrier([cell.contents for cell in cells]), strict=True):
            cell.hide(contents)

    def forget_copies(self) -> None:
        """Forget the copies of outer memory that contexts keep for a while: they belong to one frame."""
        context = current_context()
        while context is not None:
            context.snapshots.forget_outer()
            context = context.outer

    def dry(
        self,
        body: Callable[[Any], Any],
        carried: Sequence[Cell] = (),
        bounds: Bounds = (None, None),
        reads: dict[Cell, list[tuple[tuple[int, ...], Any]]] | None = None,
    ) -> list[Cell]:
        """Run a body for what it does to Python's objects; returns the outer cells that it writes.

        The `carried` ones hold anything: what the other cells hold now they have to hold in every iteration.
        """
        written: list[Cell] = []
        # What is pending belongs to the frame outside.
        self.flush()

        before, self.is_dry = self.is_dry, True
        try:
            with self.frame() as frame:
                self.outline(carried)
                body(self._index(Outline((), np.int64), bounds))
                self.flush()
                written.extend(frame.before)
                if reads is not None:
                    reads.update(frame.reads)
        finally:
            self.is_dry = before
        return written

    def repeat(
        self,
        lower: Any,
        upper: Any,
        body: Callable[[Any], Any],
        going: Callable[[], Any] | None = None,
        carried: Sequence[Cell] = (),
    ) -> Any:
        """Run `body(i)` for each i from `lower` up to `upper`, or while `going()` holds; returns where it ended."""
        reads: dict[Cell, list[tuple[tuple[int, ...], Any]]] = {}
        low, high = affine_of(lower), affine_of(upper)
        bounds = bounds_of(lower, upper)

        def attempt(carried: Sequence[Cell]) -> list[Cell]:
            reads.clear()
            return self.dry(body, carried, bounds, reads)

        cells = until_stable(attempt, carried)
        fault = self.faults.cells[0]
        is_checked = going is not None and fault in until_stable(
            lambda known: self.dry(lambda i: going(), known), cells
        )
        if is_checked and fault not in cells:
            cells = [*cells, fault]
        if self.is_dry:
            self.outline(cells)
            return self.ended(upper, going, bounds)
        through = [cell for cell in cells if cell in reads and _is_small(reads[cell], cell)]
        scratch = tuple([jnp.zeros((2, *shape), dtype) for shape, dtype in reads[cell]] for cell in through)

        def step(i: Any, carry: tuple[Any, ...]) -> tuple[Any, ...]:
            contents, held = carry
            i = lax.convert_element_type(i, np.int64)
            row = lax.bitwise_and(i, np.int64(1))
            with self.frame({cell: list(arrays) for cell, arrays in zip(through, held, strict=True)}, row) as frame:
                _fill(cells, contents)
                body(self._index(i, bounds))
                self.flush()
                after = tuple([in_dtype(cell.contents, cell.dtype) for cell in cells])
                return after, tuple([frame.scratch[cell] for cell in through])

        start, stop = (jnp.asarray(one.value(), np.int64) for one in (low, high))
        carry = tuple([in_dtype(cell.contents, cell.dtype) for cell in cells]), scratch
        if going is None and not self._may_be_long(bounds):
            turned = loop(lambda state: state[0] < stop, lambda state: (state[0] + 1, step(*state)), (start, carry))
            _fill(cells, turned[1][0])
            return upper

        def wanted(i: Any, carry: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
            """Whether to go on, and what is carried: the condition may note a fault."""
            contents, held = carry
            with self.frame():
                _fill(cells, contents)
                goes_on = i < stop
                if self.stop is not None:
                    self.polls = True
                    goes_on &= is_unset(self.stop, i)
                if going is not None:
                    goes_on &= self.truth(going())
                if going is not None and self.faults.sites:
                    # In the program an error ends the loop, which need not end without it.
                    goes_on &= fault.contents[0] == 0
                after = tuple(
                    [fault.contents if cell is fault else one for cell, one in zip(cells, contents, strict=True)]
                )
            return goes_on, (after, held)

        if is_checked:
            asked, carry = wanted(start, carry)

            def turn(state: Any) -> Any:
                i, carry, _ = state
                asked, carry = wanted(i + 1, step(i, carry))
                return i + 1, carry, asked

            end, carry, _ = loop(lambda state: state[2], turn, (start, carry, asked))
        else:
            end, carry = loop(
                lambda state: wanted(*state)[0], lambda state: (state[0] + 1, step(*state)), (start, carry)
            )
        _fill(cells, carry[0])
        return upper if going is None else self.number(0, end, Affine.unknown(end, *bounds))

    def _may_be_long(self, bounds: Bounds) -> bool:
        """Whether a loop over a range may need time before the next turn of the loop around it."""
        low, high = bounds
        return not self.is_inside if low is None or high is None else high - low > _LONG

    def ended(self, upper: Any, going: Any, bounds: Bounds) -> Any:
        """Where a dry run of a loop ended."""
        return upper if going is None else self.number(0, Outline((), np.int64), Affine.unknown(None, *bounds))

    def is_told(self, context: Any) -> bool:
        """Whether all is known that anybody asks of a loop or a branch once its bodies have been tried for a context.

        Without this, loops inside of each other would be run twice as often with each that is around them.
        """
        return self.is_dry and (self.asker is context or not bool(context.outer.differentiates))

    def outline(self, cells: Sequence[Cell]) -> None:
        """Let cells hold what a dry run knows of them."""
        _fill(cells, [Outline(cell.shape, cell.dtype) for cell in cells])

    def _index(self, i: Any, bounds: Bounds) -> Any:
        """A loop's index, whose bounds are known if the loop's are."""
        return self.number(0, i, index_form(i, bounds))

    def choose(self, predicate: Any, branches: Sequence[Callable[[], Any]], carried: Sequence[Cell] = ()) -> None:
        """Run the first branch where the predicate holds, else the second."""
        written: dict[Cell, None] = {}
        for branch in branches:
            written.update(dict.fromkeys(until_stable(partial(self.dry, partial(_ignoring_index, branch)), carried)))
        cells = list(written)
        if self.is_dry:
            self.outline(cells)
            return

        def run(branch: Callable[[], Any]) -> Callable[[Any], Any]:
            def steps(carry: tuple[Any, ...]) -> tuple[Any, ...]:
                with self.frame():
                    _fill(cells, carry)
                    branch()
                    return tuple([in_dtype(cell.contents, cell.dtype) for cell in cells])

            return steps

        carry = tuple([in_dtype(cell.contents, cell.dtype) for cell in cells])
        _fill(cells, lax.cond(self.truth(predicate), run(branches[0]), run(branches[1]), carry))

    def born_inside(self, atom: Any, frame: Frame) -> bool:
        """Whether an integer was computed in a frame, rather than before it."""
        return atom.serial >= frame.since

    def truth(self, value: Any) -> Any:
        """A condition as a boolean scalar of JAX."""
        contents = self.read(ground_floor(value).place) if is_abstract(value) else value
        contents = contents if self.is_dry else jnp.asarray(contents)
        if contents.shape != ():
            raise ValueError(f"a condition is an array of shape {contents.shape}; use np.any or np.all")
        return Outline((), bool) if self.is_dry else contents != 0


_LONG = 1 << 22
"""Turns of a loop, however little it computes, in which it looks whether a signal has come."""


def until_stable(attempt: Callable[[Sequence[Cell]], list[Cell]], carried: Sequence[Cell] = ()) -> list[Cell]:
    """The cells that a body writes, found by attempts that take those of the attempt before to hold anything.

    `carried` are cells of which that is known already. Only of integers and masks more is known than their look, so
    that only they may be mistaken for the same in every iteration; the program reads none of those that say what was
    wrong in a run. A body that asks for it (`Retake`) is tried again.
    """
    while True:
        try:
            written = attempt(carried)
        except Retake as error:
            if not error.may_run_again:
                raise
            continue
        varying = (cell for cell in written if cell.dtype.kind in "iub" and _is_read(cell))
        found = list(dict.fromkeys([*carried, *varying]))
        if len(found) == len(carried):
            return written
        carried = found


def _is_read(cell: Cell) -> bool:
    context: Any = cell.context
    return cell not in context.faults.cells


def _ignoring_index(branch: Callable[[], Any], i: Any) -> None:
    branch()


def _fill(cells: Sequence[Cell], contents: Sequence[Any]) -> None:
    for cell, one in zip(cells, contents, strict=True):
        cell.contents = one


def _is_small(reads: list[tuple[tuple[int, ...], Any]], cell: Cell) -> bool:
    """Whether what a body reads of a cell is little beside the cell itself."""
    return 4 * sum(math.prod(shape) for shape, _ in reads) <= int(np.prod(cell.shape))
