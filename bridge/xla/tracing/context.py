"""The context of a program that is being compiled: every operation is computed by JAX on the contents of cells.

The program runs once, on Buffers whose values are abstract arrays. A differentiating context inside this one makes its
memory, saves, undos and shadows of these Buffers, and so its backward pass is compiled with the rest.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any
from weakref import WeakSet

import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.arrays.buffer import Buffer, Scalar, WeakScalar
from bridge.code_position import Position, here, resolve
from bridge.errors import BridgeError, RefusedError
from bridge.rewind.context import Context
from bridge.rewind.fingerprint import Fingerprint
from bridge.rewind.interpreter import Call
from bridge.rewind.memory import grounded
from bridge.rewind.ownership import refuse_read_only
from bridge.rewind.places import Gathered, Place
from bridge.rewind.tape import NOT_RECORDED, OPEN, Recorder, recorded_in
from bridge.rulebook.facts import facts_of
from bridge.xla.lowering.lower import ENGINE, lower
from bridge.xla.regions.affine import Affine, Atom, Wrapped, serial_of_now
from bridge.xla.tracing.abstract import AbstractArray, AbstractMemory, abstract_like
from bridge.xla.tracing.accessing import Accessing, region_of
from bridge.xla.tracing.allowances import Allowances
from bridge.xla.tracing.cells import Cell, Frame, constant_contents, in_dtype, spread
from bridge.xla.tracing.compiled_home import CompiledHome, Readings
from bridge.xla.tracing.computing import Computing
from bridge.xla.tracing.faults import Faults
from bridge.xla.tracing.folding import MOST_KNOWN, lying_as
from bridge.xla.tracing.following import Followers
from bridge.xla.tracing.frames import Framing
from bridge.xla.tracing.integers import affine_of
from bridge.xla.tracing.length import Length
from bridge.xla.tracing.memos import Memo
from bridge.xla.tracing.outlines import Outline


class TraceContext(Framing, Accessing, Computing, Context):
    """One tracing of a program.

    Parameters
    ----------
    never : a boolean scalar of JAX that is false when the program runs; XLA cannot know.
    index_mode : "error", "clip", "fill" or "drop": what a run-time index outside its array means.
    mends : whether cotangents that structurally do not exist are told apart (strong zeros) at any cost.
    captured : takes note of what the program reads that is not among its arguments.
    control : who runs `fori_loop`, `while_loop` and `cond`.
    limits : how many turns loops may make whose length nobody knows, by their position, as far as it was tried.
    stop : a flag that signals set, which long loops look at (`interrupts`); without it, they do not.
    allowances : how much memory loops may take for what they keep; without it, as much as they like.
    """

    differentiates = checkpoints = False
    # What NumPy does about numbers that overflow or are none, where the program is called.
    errors: dict[str, str] | None = None

    def __init__(
        self,
        never: Any,
        index_mode: str,
        mends: bool,
        captured: Readings,
        control: ModuleType,
        limits: dict[str, int] | None = None,
        allowances: Allowances | None = None,
        stop: Any = None,
    ) -> None:
        super().__init__()
        self.length = Length()
        self.parts = self.tries = self.folds_since = 0
        # How often the body of short loops that are unrolled is met.
        self.repeats = 1
        self.memo: Memo | None = None
        # For whom a body is tried, and who records what it does.
        self.asker: Any = None
        self.recorder: Recorder | None = None
        # What trials and descriptions of parts of the program have found, for the next time that they are met.
        self.plans: dict[Any, Any] = {}
        self.long_loops = 0
        self.unrolled: set[Any] = set()
        self.expected: dict[Any, Any] = {}
        self.following = Followers()
        self.limits = {} if limits is None else limits
        self.allowances = Allowances(None) if allowances is None else allowances
        self.captured = captured
        self.left_behind: dict[str, None] = {}
        self.asked_once: dict[str, None] = {}
        self.frames = [Frame()]
        self.dirty: dict[Cell, None] = {}
        self.alive: WeakSet[Cell] = WeakSet()
        self.never = never
        self.stop = stop
        self.polls = False
        self.index_mode = index_mode
        self.mends = mends
        self.engine = ENGINE
        self.memory = AbstractMemory()
        self.home = CompiledHome(self, control)
        self.faults = Faults(self)
        self.comparisons: dict[Any, Any] = {}
        self.fingerprint: Fingerprint | None = None
        # How many branches of the program are open; what was refused; names that only one side of a branch has bound,
        # and where that is.
        self.branches = 0
        self.refused: BridgeError | None = None
        self.unbound: dict[str, Position] = {}
        # Sides of branches that have read a variable without a value, and of variables that a loop binds first the
        # number of its turn.
        self.raised_unbound: dict[Any, BaseException] = {}
        self.first_turns: dict[int, Any] = {}
        # Objects, and their dicts, of which it depends on values which attributes are set: these, and their names.
        self.uncertain: dict[int, tuple[Any, set[str]]] = {}
        self.forms: dict[int, tuple[Any, Affine]] = {}
        self.complaints = _complaints()

    def note_asked(self, name: str) -> None:
        """Take note of something that is asked once, while the program is traced, and gives something else later."""
        self.asked_once[name] = None

    def note_state(self, name: str, ask: Callable[[], Any]) -> None:
        """Take note of something that is asked while the program is traced, and again before each call."""
        self.captured.asks(name, ask)

    def count(self) -> None:
        """Note one more operation that is compiled."""
        if self.recorder is not None:
            self.recorder.unrecorded("an operation")
        if self.complaints != _complaints() and not _TOLD.isdisjoint(_complaints()):
            self.escaped = self.escaped or RefusedError(
                "the program asks to be told where a number overflows or is not one (np.errstate, np.seterrcall, "
                "warnings.simplefilter): whether it is depends on numbers, which are not known while it is compiled",
                where=resolve(here()),
                remedy='engine="native"; or np.where in the place of the error',
            )
            raise self.escaped
        if self.is_inside or self.is_dry:
            self.length.count_inside()
        else:
            self.length.count()

    # Values that come in.

    def constant_buffer(self, array: Any) -> Any:
        if hasattr(array, "place"):
            return array
        if OPEN and (found := recorded_in(self, TraceContext.constant_buffer, array)) is not NOT_RECORDED:
            return found
        if array.dtype.char in "gG":
            raise RefusedError(
                f"an array of dtype {array.dtype}: compiled programs know floats of 64 bits at most",
                where=resolve(here()),
                remedy='dtype=float, or engine="native"',
            )
        abstract = abstract_like(array)
        cell = Cell(self, abstract, Outline(array.shape, array.dtype) if self.is_dry else constant_contents(array))
        if array.dtype.kind in "iub" and array.size <= MOST_KNOWN:
            cell.known = lying_as(array, abstract)
        elif array.dtype.kind in "fc" and array.size <= MOST_KNOWN:
            cell.folded = lying_as(array, abstract)
        if self.fingerprint is not None:
            cell.origin = hash((array.shape, array.dtype.str, array.tobytes()))
        return Buffer(abstract, cell)

    def blank(self, shape: tuple[int, ...], dtype: Any) -> Any:
        if OPEN and (found := recorded_in(self, TraceContext.blank, shape, dtype)) is not NOT_RECORDED:
            return found
        contents = Outline(shape, dtype) if self.is_dry else lax.full(shape, 0, dtype)
        made = self.entered(np.broadcast_to(np.zeros((), dtype), shape), contents)
        made.place.root.origin = hash((tuple(shape), np.dtype(dtype).str))
        return made

    def own_copy(self, array: Any) -> Any:
        return np.copy(array) if hasattr(array, "place") else super().own_copy(array)

    def buffer(self, array: Any, active: bool = True) -> Any:
        """A traced copy of `array`."""
        self.check_usable()
        return array.copy() if hasattr(array, "place") else self.constant_buffer(super().own_copy(array))

    def entered(self, like: np.ndarray, contents: Any) -> Any:
        """A Buffer that lies as `like` does and holds what comes in as `contents`."""
        abstract = abstract_like(like)
        return Buffer(abstract, Cell(self, abstract, contents))

    def number(self, like: Any, contents: Any, affine: Affine | None = None) -> Any:
        """A traced number that promotes as `like` does."""
        weak = type(like) in (bool, int, float, complex)
        kind = np.result_type(like)
        cell = Cell(self, kind.type(0), contents)
        cell.affine = affine
        return WeakScalar(type(like)(0), cell) if weak else Scalar(kind.type(0), cell)

    def integer(self, form: Affine) -> Any:
        """A linear form as a traced number."""
        if OPEN and (found := recorded_in(self, TraceContext.integer, form)) is not NOT_RECORDED:
            return found
        return self.number(0, self.value_of(form), form)

    def between(self, number: Any, low: int | None, high: int | None) -> Any:
        """A traced integer of which it is known between what it lies."""
        if OPEN and (found := recorded_in(self, TraceContext.between, number, low, high)) is not NOT_RECORDED:
            return found
        return self.integer(Affine.unknown(self.value_of(affine_of(number)), low, high))

    def form(self, number: Any) -> Affine:
        """A traced integer as a linear form."""
        return affine_of(number)

    def atoms_now(self) -> int:
        """A serial number that integers made later exceed."""
        return serial_of_now()

    def single_atom(self, number: Any) -> Atom | None:
        """What a traced integer is called in linear forms, if it is no form of others."""
        form = affine_of(number)
        if form.constant or len(form.terms) != 1 or form.terms[0][1] != 1 or isinstance(form.terms[0][0], Wrapped):
            return None
        return form.terms[0][0]

    def value_of(self, form: Affine) -> Any:
        """What a linear form comes to when the program runs."""
        return Outline((), np.int64) if self.is_dry else form.value()

    def consecutive(self, first: Affine, like: Any) -> Any:
        """As many consecutive integers as `like` has, from `first` on."""
        if OPEN and (found := recorded_in(self, TraceContext.consecutive, first, like)) is not NOT_RECORDED:
            return found
        if self.is_dry:
            contents: Any = Outline(like.shape, like.dtype)
        else:
            contents = jnp.arange(like.shape[0], dtype=like.dtype) + jnp.asarray(first.value(), like.dtype)
        made = self.entered(np.zeros(like.shape, like.dtype), contents)
        made.place.run = first
        return made

    def carries(self, dtype: np.dtype[Any]) -> bool:
        return True

    def writable(self, target: Any) -> Any:
        if not grounded(target).flags.writeable:
            refuse_read_only(target)
        root = super().writable(target)
        if self.loan is not None and any(buffer.place.root is root for _, buffer in self.originals):
            self.loan.names.written(root)
        return root

    def check_original(self, array: np.ndarray) -> None:
        # Cells do not tell whether they have been written; what is read sees that by itself.
        self.home.note(array)

    def inactive(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and not isinstance(value, AbstractArray):
            return self.constant_buffer(value)
        return value

    def write(self, target: Any, key: Any, place: Place, value: Any, source: Place | None) -> None:
        self.writable(target)
        self.count()
        origin = None if self.fingerprint is None else self.fingerprint.recipe_of_write(place, value)
        folded = self.folded_write(place, value, source)
        if source is None:
            value = np.array(value) if place.dtype.kind not in "iu" else _integers_of(value, place.dtype)
            contents: Any = Outline(value.shape, value.dtype) if self.is_dry else value if value.ndim else value[()]
        else:
            contents = self.read(source)
            if place.dtype.kind in "iu":
                self._check_fits(value, contents, place)
        shape = np.shape(contents)
        surplus = len(shape) - len(place.shape)
        if surplus > 0 and all(n == 1 for n in shape[:surplus]):
            shape = shape[surplus:]
            contents = Outline(shape, place.dtype) if self.is_dry else jnp.reshape(contents, shape)
        if np.broadcast_shapes(np.shape(contents), place.shape) != place.shape:
            raise ValueError(f"could not broadcast input array from shape {shape} into shape {place.shape}")
        self.put(place, spread(in_dtype(contents, place.dtype), place.shape))
        place.root.origin = origin
        if folded is not None:
            folded.store()

    def _check_fits(self, value: Any, contents: Any, place: Place) -> None:
        """Look whether a number fits into memory of integers, where NumPy asks: one of Python's, or of its classes."""
        kind, dtype = type(value), place.dtype
        is_looked_at = isinstance(value, np.generic) and dtype.kind == "i" and type(place) is not Gathered
        is_looked_at = is_looked_at and value.dtype.kind != "c" and not np.can_cast(value.dtype, dtype)
        if kind in (int, float) or is_looked_at:
            self.faults.check_fits(contents, dtype)

    def update(self, call: Call, target: Any, mask: Any, run: Callable[[tuple[Any, ...]], Any]) -> None:
        self.writable(target)
        folded = self.folded_update(call, target.place, mask)
        run(call.args)
        self.count()
        self._update(call, target.place, mask)
        if folded is not None:
            folded.store()

    def _update(self, call: Call, place: Place, mask: Any) -> None:
        sign = facts_of(call.function).adds
        if sign and mask is None and call.inputs[0] is place and self._added(place, call, sign):
            return
        operands = self.operands(call.args, call.inputs)
        self.check_operands(call, operands, place.dtype)
        if mask is not None:
            mask, before = (self.read(mask.place) if hasattr(mask, "place") else mask), self.read(place)
        if self.is_dry:
            self.put(place, Outline(place.shape, place.dtype))
            return
        found = jnp.asarray(lower(call.function, operands, dict(call.kwargs)))
        found = spread(in_dtype(found, place.dtype), place.shape)
        self.put(place, found if mask is None else jnp.where(mask, found, before))

    def _added(self, place: Place, call: Call, sign: int) -> bool:
        """Add to most of an array in one pass over all of it; whether that is the case."""
        region = region_of(place)
        if not region.is_most or np.result_type(*call.args) != place.dtype:
            return False
        other, shape = self.operand(call.args[1], call.inputs[1]), np.shape(call.args[1])
        if 0 in shape or np.broadcast_shapes(shape, place.shape) != place.shape:
            return False
        cell: Any = place.root
        if self.is_dry:
            cell.contents = Outline(cell.shape, cell.dtype)
        else:
            change = spread(in_dtype(other, place.dtype), place.shape)
            cell.contents = region.add(cell.contents, change if sign > 0 else -change, self.index_mode)
        return True


_TOLD = frozenset({"raise", "call", "log"})
"""What NumPy may be asked to do about such numbers that a program notices."""


def _complaints() -> tuple[str, ...]:
    """What NumPy does about numbers that overflow or are none: "raise" is among it where that is an error."""
    first: Any = warnings.filters[0] if warnings.filters else ("", None, Warning)
    is_error = first[0] == "error" and issubclass(RuntimeWarning, first[2])
    return (*map(str, np.geterr().values()), "raise" if is_error else "")


def _integers_of(value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """A plain value as memory of integers takes it, or NumPy's error."""
    held = np.empty(np.shape(value), dtype)
    held[...] = value
    return held
