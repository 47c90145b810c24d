"""Memory of a traced program: cells, whose contents are JAX values, in the dtype and shape of their memory."""

from __future__ import annotations

import math
from typing import Any, Protocol
from weakref import WeakSet

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.code_position import here, resolve
from bridge.errors import ContextError
from bridge.rewind.interpreter import AnyContext
from bridge.rewind.roots import Root
from bridge.xla.lowering.elementwise import converted
from bridge.xla.regions.affine import Affine, Atom, serial_of_now
from bridge.xla.regions.region import Region, contains, disjoint, same
from bridge.xla.regions.window_access import position
from bridge.xla.tracing.outlines import Outline


class Frame:
    """A part of the program that XLA sees as one: the whole, the body of a loop, a branch.

    `integers` are those that operations in it have computed, by operation and operands; a body inside of it knows of
    those that are no younger than `settled`.

    `before` holds, for the cells of outer frames that were written in this one, what they held on entry, and `folded`
    which floats of them were known; `reads` holds shapes and dtypes of what was read of them. `scratch` is carried
    memory through which a loop's body reads what it also writes: for each read two rows, of which `row` is this
    iteration's.
    """

    __slots__ = (
        "before",
        "folded",
        "integers",
        "open",
        "reads",
        "row",
        "scratch",
        "settled",
        "since",
        "used",
        "witnesses",
    )

    def __init__(self, scratch: dict[Cell, list[Any]] | None = None, row: Any = None) -> None:
        self.witnesses: dict[Cell, tuple[int, Any]] = {}
        self.before: dict[Cell, Any] = {}
        self.folded: dict[Cell, Any] = {}
        self.integers: dict[Any, Affine] = {}
        self.reads: dict[Cell, list[tuple[tuple[int, ...], Any]]] = {}
        self.scratch = scratch or {}
        self.used = dict.fromkeys(self.scratch, 0)
        self.row = row
        self.settled = math.inf
        self.since = Atom(0).serial
        self.open = True

    def witness(self, cell: Cell, never: Any) -> Any:
        """A number of the cell's dtype that depends on everything which was read of the cell through scratch memory."""
        seen, token = self.witnesses.get(cell, (0, None))
        for array in self.scratch[cell][seen : self.used[cell]]:
            # The row, then its first element: a run-time slice of one element gathers an array that is sharded.
            start = [self.row, *map(position, (0,) * (array.ndim - 1))]
            row = lax.dynamic_slice(array, start, (1, *array.shape[1:]), allow_negative_indices=False)
            # What was read may be of another dtype than the memory: the real part of complex memory.
            first = in_dtype(lax.reshape(lax.slice(row, (0,) * row.ndim, (1,) * row.ndim), ()), cell.dtype)
            token = first if token is None else lax.select(never, first, token)
        self.witnesses[cell] = self.used[cell], token
        return token


class Tracing(AnyContext, Protocol):
    """What memory, run-time checks and keys ask of the context that traces a program."""

    # Parts of the program that are being traced, and their memory.
    frames: list[Frame]
    dirty: dict[Cell, None]
    alive: WeakSet[Cell]

    # Floats are known in memory that is younger.
    folds_since: int

    # How many parts run again, and how many of the program's `try` are open.
    parts: int
    tries: int
    # Who records what a body does.
    recorder: Any

    # What is said about the program from outside.
    never: Any
    index_mode: str
    limits: dict[str, int]

    @property
    def is_dry(self) -> bool:
        """Whether only shapes and dtypes are computed."""

    def truth(self, value: Any) -> Any:
        """A tracked or plain boolean as one of JAX."""

    def entered(self, like: np.ndarray, contents: Any) -> Any:
        """A Buffer that lies as `like` does and holds what comes in as `contents`."""

    def integer(self, form: Affine) -> Any:
        """A linear form as a traced number."""

    def read(self, place: Any) -> Any:
        """What lies at a place, as an array of JAX."""


class Cell(Root):
    """Functional memory: writing it is to give it other contents.

    Writes of regions wait in `pending`, so that a read of the same region, or a write over it, never touches the
    array. `seen` are the regions that were read of the array as it is without them. `affine` is what is known of an
    integer, `run` the first of consecutive ones, `known` the integers or booleans that are known while tracing; `since`
    says when an integer was made, which may be asked for as a linear form in a loop that comes later; `folded` are the
    floats that are known in the part of the program that made the memory (`folding`); `version` counts the writes, and
    `origin` tells memory apart that a part of the program which runs again has made of what is known.
    """

    __slots__ = (
        "__weakref__",
        "_contents",
        "abstract",
        "affine",
        "folded",
        "frame",
        "known",
        "origin",
        "pending",
        "run",
        "seen",
        "seen_in",
        "since",
        "version",
    )

    context: Tracing

    def __init__(self, context: Tracing, abstract: Any, contents: Any) -> None:
        super().__init__(context, abstract, True)
        self.active = self.born_active = True
        self.abstract = abstract
        self.frame = context.frames[-1]
        self.since = serial_of_now()
        self.affine: Affine | None = None
        self.run: Affine | None = None
        self.known: Any = None
        self.folded: Any = None
        self.origin: Any = None
        self.version = 0
        self._contents = contents
        self.pending: list[tuple[Region, Any]] = []
        self.seen: list[tuple[Region, Any]] = []
        self.seen_in = self.frame
        context.alive.add(self)

    @property
    def contents(self) -> Any:
        """The JAX value that the memory holds now, in the shape of the root."""
        self.check_open()
        if self.pending:
            self.flush()
        return self._contents

    @contents.setter
    def contents(self, contents: Any) -> None:
        self._note_write()
        self.pending, self.seen = [], []
        self._contents = contents

    def check_open(self) -> None:
        """Raise if the memory belongs to a loop body or a branch that has ended."""
        if not self.frame.open:
            raise ContextError(
                f"a value of shape {self.shape} that was made inside a loop body or a branch is used outside of it",
                where=resolve(here()),
                remedy="return it from the body, or write it into an array that exists before the loop",
            )

    def _note_write(self) -> None:
        frame = self.context.frames[-1]
        if self.context.recorder is not None:
            self.context.recorder.unrecorded("a write")
        self.version += 1
        if self.frame is not frame and self not in frame.before:
            frame.before[self] = self._contents
            frame.folded[self] = self.folded
        self.run = self.known = self.folded = self.origin = None

    def put_back(self, contents: Any, folded: Any) -> None:
        """Contents of an outer frame again, and the floats of them that are known."""
        self.pending, self.seen = [], []
        self._contents, self.folded = contents, folded

    def hide(self, contents: Any) -> None:
        """Hold the same, in a form that XLA does not know for the same."""
        kept = self.version, self.origin, self.run, self.known, self.folded
        self.contents = contents
        self.version, self.origin, self.run, self.known, self.folded = kept

    def held_now(self) -> tuple[int, Any]:
        """The version, and the contents where they are those of the program's outermost frame."""
        frames = self.context.frames
        is_outer = self.frame is frames[0] and not self.pending and not any(self in one.before for one in frames)
        return self.version, self._contents if is_outer and isinstance(self._contents, jax.Array) else None

    def read(self, region: Region, mode: str) -> Any:
        """What a region holds."""
        self.check_open()
        if region.is_whole:
            return self.contents
        for old, value in reversed(self.pending):
            if same(old, region):
                return value
            if not disjoint(old, region, mode):
                self.flush()
                break
        frame = self.context.frames[-1]
        if self.seen_in is not frame:
            self.seen, self.seen_in = [], frame
        for old, value in self.seen:
            if same(old, region):
                return value
        if self.context.is_dry:
            found = self._held(Outline(region.shape, region.dtype_of(self.dtype)))
        else:
            found = self._held(region.read(self._contents, mode))
        self.seen.append((region, found))
        return found

    def write(self, region: Region, value: Any, mode: str) -> None:
        """Overwrite a region."""
        self.check_open()
        if region.is_whole:
            self.contents = value
            return
        self._note_write()
        if region.checks() and mode in ("fill", "drop"):
            self.contents = self._written(self.contents, region, value, mode)
            return
        if any(not contains(region, old, mode) and not disjoint(region, old, mode) for old, _ in self.pending):
            self.flush()
        self.pending = [(old, v) for old, v in self.pending if not contains(region, old, mode)]
        as_read = self.seen if self.seen_in is self.context.frames[-1] else []
        if not any(v is value and same(old, region) for old, v in as_read):
            self.pending.append((region, value))
            self.context.dirty[self] = None

    def flush(self) -> None:
        """Write what is pending.

        In a loop, XLA writes in place only where every read of the old array comes first for certain: the value
        depends on the scratch memory through which the reads went.
        """
        context: Any = self.context
        contents = self._contents
        frame = context.frames[-1]
        for region, value in self.pending:
            if frame.used.get(self, 0):
                witness = in_dtype(frame.witness(self, context.never), value.dtype)
                value = lax.select(context.never, spread(witness, value.shape), value)
            contents = self._written(contents, region, value, context.index_mode)
        self.pending, self.seen = [], []
        self._contents = contents

    def _written(self, contents: Any, region: Region, value: Any, mode: str) -> Any:
        """Contents with a value in a region."""
        dry = self.context.is_dry
        return Outline(self.shape, self.dtype) if dry else region.write(contents, value, mode)

    def _held(self, found: Any) -> Any:
        """What was read, through the scratch memory if there is some."""
        frame = self.context.frames[-1]
        if self.frame is frame or not found.size:
            return found
        frame.reads.setdefault(self, []).append((found.shape, found.dtype))
        held: Any = frame.scratch.get(self, ())
        number = frame.used.get(self, 0)
        if number == len(held) or (held[number].shape[1:], held[number].dtype) != (found.shape, found.dtype):
            # A part of the body that was begun again reads more than the dry run did; XLA may copy for that.
            return found
        frame.used[self] = number + 1
        start, row = [frame.row, *map(position, (0,) * found.ndim)], (1, *found.shape)
        held[number] = lax.dynamic_update_slice(
            held[number], lax.reshape(found, row), start, allow_negative_indices=False
        )
        return lax.reshape(lax.dynamic_slice(held[number], start, row, allow_negative_indices=False), found.shape)

    @property
    def root(self) -> Cell:
        return self


def in_dtype(contents: Any, dtype: np.dtype[Any]) -> Any:
    """A value in a dtype, as an assignment in NumPy casts it; the real part of a complex one."""
    if type(contents) is Outline:
        return contents if contents.dtype == dtype else Outline(contents.shape, dtype)
    if not isinstance(contents, jax.Array):
        contents = jnp.asarray(contents)
    if contents.dtype == dtype and not contents.weak_type:
        return contents
    return converted(contents, dtype)


def spread(contents: Any, shape: tuple[int, ...]) -> Any:
    """A value broadcast to a shape; itself if it has that shape."""
    if contents.shape == shape:
        return contents
    if type(contents) is Outline:
        return Outline(shape, contents.dtype)
    return lax.broadcast_in_dim(contents, shape, range(len(shape) - contents.ndim, len(shape)))


def constant_contents(array: np.ndarray) -> Any:
    """A plain array as a value of the program; a large one that is all alike is made where it is needed."""
    array = np.asarray(array)
    if array.size > _EMBEDDED and (array == array.flat[0]).all():
        return lax.full(array.shape, array.flat[0], array.dtype)
    return jnp.asarray(array)


_EMBEDDED = 64
