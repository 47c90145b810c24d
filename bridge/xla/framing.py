"""Loops and branches of a traced program: what a body writes in outer memory is what XLA carries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakSet

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.current import current_context
from bridge.tracing import ground_floor, is_traced
from bridge.xla.affine import Affine
from bridge.xla.cells import Cell, Frame
from bridge.xla.contents import in_dtype
from bridge.xla.integers import Bounds, affine_of, bounds_of


class Framing:
    """Runs parts of a program in frames of their own."""

    frames: list[Frame]
    dirty: dict[Cell, None]
    alive: WeakSet[Cell]
    number: Callable[..., Any]
    read: Callable[..., Any]

    @contextmanager
    def frame(self, scratch: dict[Cell, list[Any]] | None = None, row: Any = None) -> Iterator[Frame]:
        """A part of the program of its own; afterwards outer memory is as before it."""
        frame = Frame(scratch, row)
        self.frames.append(frame)
        self.forget_copies()
        try:
            yield frame
        finally:
            self.forget_copies()
            self.frames.pop()
            frame.open = False
            self.dirty.clear()
            for cell, contents in frame.before.items():
                cell.put_back(contents)
            for cell in frame.reads:
                cell.seen = []

    def flush(self) -> None:
        """Write everything that is pending."""
        for cell in self.dirty:
            if cell.pending:
                cell.flush()
        self.dirty.clear()

    def separate(self) -> None:
        """Hide from XLA that what is computed from here on was computed before: it would keep the values instead."""
        cells = [cell for cell in self.alive if cell.frame is self.frames[-1]]
        self.flush()
        for cell, contents in zip(cells, lax.optimization_barrier([cell.contents for cell in cells]), strict=True):
            cell.contents = contents

    def forget_copies(self) -> None:
        """Forget the copies of outer memory that contexts keep for a while: they belong to one frame."""
        context = current_context()
        while context is not None:
            context.snapshots.forget_outer()
            context = context.outer

    def dry(
        self, body: Callable[[Any], Any], reads: dict[Cell, list[int]] | None = None, bounds: Bounds = (None, None)
    ) -> list[Cell]:
        """Run a body for what it does to Python's objects; returns the outer cells that it writes."""
        written: list[Cell] = []
        # Before XLA's tracing begins: what is pending belongs to the frame outside.
        self.flush()

        def run(i: Any) -> None:
            with self.frame() as frame:
                body(self._index(i, bounds))
                self.flush()
                written.extend(frame.before)
                if reads is not None:
                    reads.update(frame.reads)

        jax.eval_shape(run, jax.ShapeDtypeStruct((), np.dtype(np.int64)))
        return written

    def repeat(self, lower: Any, upper: Any, body: Callable[[Any], Any], going: Callable[[], Any] | None = None) -> Any:
        """Run `body(i)` for each i from `lower` up to `upper`, or while `going()` holds; returns where it ended."""
        reads: dict[Cell, list[int]] = {}
        low, high = affine_of(lower), affine_of(upper)
        bounds = bounds_of(lower, upper)
        cells = self.dry(body, reads, bounds)
        through = [cell for cell in cells if cell in reads and _is_small(reads[cell], cell)]
        scratch = tuple([jnp.zeros((2, size), cell.dtype) for size in reads[cell]] for cell in through)

        def step(i: Any, carry: tuple[Any, ...]) -> tuple[Any, ...]:
            contents, held = carry
            with self.frame({cell: list(arrays) for cell, arrays in zip(through, held, strict=True)}, i & 1) as frame:
                _fill(cells, contents)
                body(self._index(i, bounds))
                self.flush()
                after = tuple([in_dtype(cell.contents, cell.dtype) for cell in cells])
                return after, tuple([frame.scratch[cell] for cell in through])

        start, stop = (jnp.asarray(one.value(), np.int64) for one in (low, high))
        carry = tuple([in_dtype(cell.contents, cell.dtype) for cell in cells]), scratch
        if going is None:
            if low.is_constant and high.is_constant:
                start, stop = low.constant, max(low.constant, high.constant)  # type: ignore[assignment]
            _fill(cells, lax.fori_loop(start, stop, step, carry)[0])
            return upper

        def wanted(state: tuple[Any, tuple[Any, ...]]) -> Any:
            with self.frame():
                _fill(cells, state[1][0])
                return (state[0] < stop) & self.truth(going())

        end, carry = lax.while_loop(wanted, lambda state: (state[0] + 1, step(*state)), (start, carry))
        _fill(cells, carry[0])
        return self.number(0, end, Affine.unknown(end, *bounds))

    def _index(self, i: Any, bounds: Bounds) -> Any:
        """A loop's index, whose bounds are known if the loop's are."""
        low, high = bounds
        return self.number(0, i, Affine.unknown(i, low, None if high is None else high - 1))

    def choose(self, predicate: Any, branches: Sequence[Callable[[], Any]]) -> None:
        """Run the first branch where the predicate holds, else the second."""
        written: dict[Cell, None] = {}
        for branch in branches:
            written.update(dict.fromkeys(self.dry(partial(_ignoring_index, branch))))
        cells = list(written)

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
        contents = jnp.asarray(self.read(ground_floor(value).place) if is_traced(value) else value)
        if contents.shape != ():
            raise ValueError(f"a condition is an array of shape {contents.shape}; use np.any or np.all")
        return contents != 0


def _ignoring_index(branch: Callable[[], Any], i: Any) -> None:
    branch()


def _fill(cells: list[Cell], contents: Sequence[Any]) -> None:
    for cell, one in zip(cells, contents, strict=True):
        cell.contents = one


def _is_small(reads: list[int], cell: Cell) -> bool:
    """Whether what a body reads of a cell is little beside the cell itself."""
    return 4 * sum(reads) <= int(np.prod(cell.shape))
