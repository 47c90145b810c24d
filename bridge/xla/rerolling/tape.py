"""A tape: the operations of a function as data, so that what repeats itself can be found.

The function runs once on stand-ins, and nothing of it lands in the program that is being compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

import numpy as np

from bridge.arrays.buffer import Buffer, Scalar, WeakScalar
from bridge.code_position import Position, here
from bridge.rewind.context import Context
from bridge.rewind.interpreter import CURRENT, Call
from bridge.rewind.memory import Home
from bridge.rewind.places import Gathered, Picked, Place
from bridge.rewind.roots import Root
from bridge.rewind.values import ground_floor
from bridge.xla.lowering.lower import ENGINE
from bridge.xla.regions.affine import Affine
from bridge.xla.rerolling.encoding import Notes, NotRepeatable, Writer
from bridge.xla.tracing.abstract import AbstractArray, AbstractMemory, abstract_like
from bridge.xla.tracing.integers import affine_result

Look = tuple[type, tuple[int, ...], np.dtype[Any], tuple[int, ...]]


class Reel(Root):
    """Memory of a tape, known by a number."""

    __slots__ = ("affine", "contents", "known", "number", "run")

    def __init__(self, context: Tape, value: Any, kind: type) -> None:
        super().__init__(context, value, True)
        self.active = self.born_active = True
        self.affine: Affine | None = None
        self.contents = self.known = self.run = None
        self.number = len(context.looks)
        context.looks.append((kind, *_looks(value)))


def _looks(value: Any) -> tuple[Any, ...]:
    return value.shape, value.dtype, getattr(value, "strides", ()) if value.shape else ()


def look_of(tracked: Any) -> Look:
    """What a tracked value is, as far as NumPy tells values apart."""
    floor = ground_floor(tracked)
    return (type(floor), *_looks(floor if type(floor) is not Buffer else _ground(floor)))


def _ground(buffer: Any) -> Any:
    return buffer.value


class Entry:
    """An operation on a tape.

    `sign` is alike for operations that differ only in their `integers`, in their `data`, which are plain numbers and
    arrays, and in the memory that they use, all given by numbers: `roots` of operands, `born` of results. `writes`
    says that the first one is written.
    """

    weight = 1

    __slots__ = ("born", "data", "function", "integers", "kind", "looks", "note", "position", "roots", "sign", "writes")

    def __init__(self, kind: str, function: Any, note: Any, writer: Writer, position: Position) -> None:
        self.kind, self.function, self.note = kind, function, note
        self.integers = tuple(writer.integers)
        self.roots = tuple(writer.roots)
        self.data = tuple(writer.data)
        self.writes = frozenset((0,)) if kind in ("write", "update", "scatter") else frozenset()
        self.position = position
        self.born: tuple[int, ...] = ()
        self.looks: tuple[Look, ...] = ()
        self.sign = -1


class _Loops:
    """In the place of loops and branches that are compiled: a function that has them is left as it is."""

    def __getattr__(self, name: str) -> Any:
        raise NotRepeatable


class TapeHome(Home):
    """Nothing is known of numbers on a tape, and what depends on them leaves a function as it is."""

    is_abstract = True
    engine = ENGINE
    control = _Loops()

    def __init__(self, tape: Tape) -> None:
        self.trace = tape

    def known(self, value: Any) -> Any:
        return None

    def settled(self, value: Any) -> Any:
        floor = ground_floor(value)
        return floor.copy() if hasattr(floor, "view_as") else floor

    def note(self, array: Any) -> None:
        self.trace.captured.add(array)

    def survivors(self, key: Any, shape: tuple[int, ...]) -> Any:
        raise NotRepeatable

    def selected(self, buffer: Any, mask: Any) -> Any:
        raise NotRepeatable

    def value_despite(self, error: ZeroDivisionError, function: Callable[..., Any], values: tuple[Any, ...]) -> Any:
        return function(*(type(x)(1) for x in values))

    def program(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """A transform begins inside: leave the function as it is."""
        raise NotRepeatable


class Tape(Context):
    """The context in which a function runs whose operations are to be looked at."""

    differentiates = checkpoints = False

    def __init__(self, notes: Notes) -> None:
        super().__init__()
        self.notes = notes
        self.entries: list[Entry] = []
        self.looks: list[Look] = []
        self.engine = ENGINE
        self.memory = AbstractMemory()
        self.home = TapeHome(self)

    def __enter__(self) -> Any:
        self.beside = CURRENT.get()
        assert self.beside is not None
        self.level = self.beside.level + 1
        self.captured = self.beside.home.trace.captured
        self.thread = self._maker = get_ident()
        CURRENT.set(self)
        return self

    def __exit__(self, *raised: Any) -> None:
        CURRENT.set(self.beside)
        self.thread = None

    def must_differentiate(self) -> None:
        """What comes means something else where a context differentiates."""
        if self.beside is None or self.beside.differentiates:
            raise NotRepeatable

    def carries(self, dtype: np.dtype[Any]) -> bool:
        return True

    # Values that come in.

    def taken(self, value: Any) -> Any:
        """A stand-in for an argument."""
        floor = ground_floor(value)
        if type(floor) is Buffer:
            abstract = floor.value
            return Buffer(abstract, Reel(self, abstract, Buffer))
        return type(floor)(floor.value, Reel(self, np.result_type(floor.value).type(0), type(floor)))

    def constant_buffer(self, array: Any) -> Any:
        if hasattr(array, "place"):
            return array
        return self._noted("new", None, lambda writer: writer.notes.constant(np.asarray(array)), np.asarray(array))

    def blank(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.constant_buffer(np.broadcast_to(np.zeros((), dtype), shape))

    def own_copy(self, array: Any) -> Any:
        raise NotRepeatable

    def buffer(self, array: Any, active: bool = True) -> Any:
        raise NotRepeatable

    def inactive(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and not isinstance(value, AbstractArray):
            return self.constant_buffer(value)
        return value

    # What dispatch reports.

    def result(self, call: Call, value: Any) -> Any:
        function = call.function
        counts = isinstance(function, np.ufunc) and function.signature is None
        operands, kwargs = call.spelled(tuple(map(_joined, call.args, call.inputs)))
        made = self._noted("call", function, lambda writer: writer.operand((operands, kwargs), counts), value)
        if type(made) in (Scalar, WeakScalar) and made.dtype.kind in "iu":
            made.place.affine = affine_result(function, tuple(map(_form, call.args, call.inputs)), None, made.dtype)
        return made

    def copied(self, value: Any, source: Place) -> Any:
        if isinstance(source, Picked):
            return self._noted("read", None, lambda writer: (writer.place(source.parent), _key(writer, source)), value)
        kind = source.dtype if np.result_type(value) != source.dtype else None
        order = "F" if isinstance(value, np.ndarray) and not value.flags.c_contiguous else "C"
        return self._noted("copy", (kind, order), lambda writer: writer.place(source), value)

    def write(self, target: Any, key: Any, place: Place, value: Any, source: Place | None) -> None:
        self.writable(target)
        self._noted(
            "write",
            None,
            lambda w: (w.place(target.place), w.key(key, target.shape), w.operand(_joined(value, source), True)),
        )

    def update(self, call: Call, target: Any, mask: Any, run: Callable[[tuple[Any, ...]], Any]) -> None:
        self.writable(target)
        run(call.args)
        operands = tuple(map(_joined, call.args, call.inputs))
        self._noted(
            "update",
            call.function,
            lambda w: (w.place(target.place), w.operand(operands, True), w.operand(mask, False)),
        )

    def scatter_add(self, call: Call, target: Any, key: Any) -> None:
        self.writable(target)
        operand = _joined(call.args[0], call.inputs[0])
        self._noted(
            "scatter",
            call.function,
            lambda w: (w.place(target.place), w.key(key, target.shape), w.operand(operand, False)),
        )

    def _noted(self, kind: str, function: Any, note: Callable[[Writer], Any], value: Any = None) -> Any:
        if CURRENT.get() is not self:
            raise NotRepeatable
        writer = Writer(self, self.notes)
        entry = Entry(kind, function, note(writer), writer, here(3))
        first = len(self.looks)
        made = self._wrapped(value)
        entry.born = tuple(range(first, len(self.looks)))
        entry.looks = tuple(self.looks[first:])
        entry.sign = self.notes.number((kind, _function(function), entry.note, entry.looks))
        self.entries.append(entry)
        return made

    def _wrapped(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            parts = [self._wrapped(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if value is None or isinstance(value, (str, bytes)):
            return value
        if isinstance(value, np.ndarray):
            abstract = abstract_like(value)
            return Buffer(abstract, Reel(self, abstract, Buffer))
        kind = np.result_type(value)
        weak = type(value) in (bool, int, float, complex)
        blank = type(value)(0) if weak else kind.type(0)
        made = WeakScalar if weak else Scalar
        return made(blank, Reel(self, kind.type(0), made))


def _function(function: Any) -> Any:
    try:
        hash(function)
    except TypeError:
        raise NotRepeatable from None
    return function


def _joined(x: Any, place: Any) -> Any:
    """An operand with its place: what it was before a context took it apart."""
    if isinstance(place, (list, tuple)):
        return type(x)(map(_joined, x, place))
    return x if place is None else _At(place)


class _At:
    """A tracked operand, by its place."""

    __slots__ = ("place",)

    def __init__(self, place: Any) -> None:
        self.place = place


def _key(writer: Writer, source: Any) -> Any:
    return writer.key(source.key, source.parent.shape)


def _form(x: Any, place: Any) -> Any:
    """An integer operand as a linear form; None for anything else."""
    if isinstance(place, Reel) and place.shape == () and place.dtype.kind in "iu":
        if place.affine is None:
            place.affine = Affine.unknown(place.contents)
        return place.affine
    plain = place is None and isinstance(x, (int, np.integer)) and not isinstance(x, (bool, np.bool_))
    return Affine.of(x) if plain else None


__all__ = ["Entry", "Gathered", "Look", "Tape", "look_of"]
