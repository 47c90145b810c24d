"""A tape: what a body does to arrays, recorded when the body runs, and replayed in place of running it again.

An entry of a tape is an operation of the arrays' interface with its operands by number: the operation is sent again to
the same interface, so that every context hears it as it would from Python. Plain operands are kept as they were when
the operation ran. Operations that an operation consists of are no entries; nor are those of contexts that lie inside of
the tape's own: what they do to its memory is. What cannot be recorded fails the recording, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import count
from numbers import Number
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Protocol

import numpy as np

from bridge.code_position import Position, here
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.operands import (
    Closed,
    Fixed,
    Listed,
    Named,
    Numbered,
    Operand,
    Sliced,
    Snapshot,
    contents,
    is_tracked,
)
from bridge.rewind.replayed import Event, Known, State
from bridge.rewind.roots import Root, serial_now
from bridge.rewind.values import is_abstract_mask, lowered_to

OPEN: list[Recorder] = []
"""The recordings that are under way in this process: empty where nothing has to be asked."""

NOT_RECORDED: Any = object()
"""What `recorded` returns where the caller is to go on by itself."""

_numbers = count()


class Node(Protocol):
    """One entry of a tape."""

    def replay(self, values: Values) -> None:
        """Do it again."""

    def outline(self) -> Any:
        """What another recording of the same body has in common with this one."""


class Values:
    """The values of one replay, by number; those of a body around it are in `around`."""

    __slots__ = ("around", "held")

    def __init__(self, around: Values | None = None) -> None:
        self.around = around
        self.held: dict[int, Any] = {}

    def __getitem__(self, number: int) -> Any:
        values: Values | None = self
        while values is not None:
            if number in values.held:
                return values.held[number]
            values = values.around
        raise KeyError(number)

    def __setitem__(self, number: int, value: Any) -> None:
        self.held[number] = value


class Tape:
    """The entries of one body.

    Attributes
    ----------
    argument : the operand that the body is given.
    result : what it returns.
    outside : tracked values that it takes from a body around it, or from before all of them.
    """

    def __init__(self, nodes: list[Node], argument: Operand, result: Operand, outside: Sequence[Operand]) -> None:
        self.nodes = nodes
        self.argument = argument
        self.result = result
        self.outside = outside

    def outline(self) -> tuple[Any, ...]:
        """What another recording of the same body has in common with this one."""
        return tuple([one for one in [node.outline() for node in self.nodes] if one])

    def replay(self, argument: Any, around: Values | None) -> Any:
        """Do it all again; returns what the body returned."""
        values = Values(around)
        if isinstance(self.argument, Numbered):
            values[self.argument.number] = argument
        for node in self.nodes:
            node.replay(values)
        return self.result.value(values)


class Recorder:
    """Records one body of a context.

    Parameters
    ----------
    context : the context whose body it is; what happens in those inside of it is seen by what it does to this one.
    around : the recorder of a body around this one.
    before : the recorder of an outer context that was active when this one began. It records the operations of that
        context which the entries of this tape consist of.
    """

    def __init__(self, context: Any, around: Recorder | None, before: Recorder | None = None) -> None:
        self.context = context
        self.before = before
        self.level = context.level
        self.around = around
        self.since = serial_now()
        self.atoms_since = context.home.trace.atoms_now()
        self.nodes: list[Node] = []
        # What the numbers are in the run that is recorded: bodies in it are replayed meanwhile.
        self.values: Values = Values(None if around is None else around.values)
        self.failed: str | None = None
        self.is_inside = False
        self._known: dict[int, tuple[Any, type, int, int]] = {}
        self._grounds: dict[int, tuple[Any, int]] = {}
        self._atoms: dict[Any, int] = {}
        self._outside: dict[Any, Operand] = {}
        self._kept: list[Any] = []
        self._functions: set[FunctionType] = set()

    def records(self, context: Any) -> bool:
        """Whether an operation that is called in a context now is recorded as an entry of this tape."""
        return not self.is_inside and self.failed is None and context.level <= self.level

    def fail(self, reason: str) -> None:
        """Give up."""
        self.failed = self.failed or reason

    def unrecorded(self, what: str) -> None:
        """Something happens that is not recorded."""
        recorder: Recorder | None = self
        while recorder is not None:
            if not recorder.is_inside:
                recorder.fail(what)
            recorder = recorder.before

    def call(self, at: Any, entry: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operation of the context `at`, and record it."""
        position, failed = here(), self.failed
        # The first operand is the function that is called, or a context.
        operands = tuple([self.operand(x, is_called=not number) for number, x in enumerate(args)])
        named = {name: self.operand(x) for name, x in kwargs.items()}
        state = State.of(self.context)
        self.is_inside = True
        try:
            result = entry(*args, **kwargs)
        except BaseException as error:
            self.fail(f"{getattr(entry, '__name__', entry)} raised {type(error).__name__}")
            raise
        finally:
            self.is_inside = False
        if result is NotImplemented:
            self.failed = failed  # nothing was done: Python calls the reflected operator of the other operand
            return result
        numbers = self.bind(result)
        is_own = at.level == self.level
        self.nodes.append(Event(entry, operands, named, numbers, position, self.context, state, is_own))
        return result

    def bind(self, result: Any) -> tuple[int, ...]:
        """Number the tracked values in a result."""
        return tuple([self._number(leaf) for leaf in leaves(result)])

    def _number(self, leaf: Any) -> int:
        number = next(_numbers)
        place = leaf.place
        self._known[id(place)] = place, type(leaf), number, 0
        below, depth = leaf.value, 1
        while is_tracked(below):
            # The values that it wraps belong to outer contexts, and have the same number.
            self._known.setdefault(id(below.place), (below.place, type(below), number, depth))
            below, depth = below.value, depth + 1
        self.values[number] = leaf
        ground = ground_of(place.root)
        if place is place.root:
            self._grounds.setdefault(id(ground), (ground, number))
        if not hasattr(leaf, "view_as") and leaf.shape == () and leaf.dtype.kind in "iu":
            atom = self.context.home.trace.single_atom(leaf)
            if atom is not None:
                self._atoms.setdefault(atom, number)
        return number

    def argument(self, x: Any) -> Operand:
        """Number what the body is given."""
        if is_tracked(x):
            self._number(x)
        return self.operand(x)

    def add(self, entry: Callable[..., Any], operands: tuple[Operand, ...], result: Any, position: Position) -> None:
        """Note an entry whose operands are numbered already."""
        self.nodes.append(Event(entry, operands, {}, self.bind(result), position, self.context, State.of(self.context)))

    def take_in(self, tape: Tape) -> None:
        """Note what the tape of a body in this one takes from outside of both."""
        for one in tape.outside:
            if isinstance(one, Fixed):
                self._outside.setdefault(id(one.held), one)
            elif one.number not in self.values.held:  # type: ignore[attr-defined]
                self._outside.setdefault((one.number, one.depth), one)  # type: ignore[attr-defined]

    def finish(self, argument: Operand, result: Any) -> Tape:
        """The tape of what was recorded."""
        return Tape(self.nodes, argument, self.operand(result), tuple(self._outside.values()))

    # Operands.

    def operand(self, x: Any, is_called: bool = False) -> Operand:
        """An operand as a replay finds it again; perhaps the one that `is_called`."""
        if is_tracked(x):
            return self._tracked(x)
        kind = type(x)
        if kind is FunctionType:
            return self._function(x)
        if is_called and callable(x):
            return Fixed(x)
        if (
            kind in _IMMUTABLE
            or isinstance(x, (Number, np.generic, np.dtype, type, Enum, BaseException))
            or _is_fixed(x)
        ):
            return Fixed(x)
        if hasattr(kind, "as_operand"):
            found: Operand = x.as_operand(self)
            return found
        if kind is slice:
            return Sliced(tuple(map(self.operand, (x.start, x.stop, x.step))))
        if isinstance(x, (list, tuple)):
            return Listed(kind, tuple(map(self.operand, x)))
        if kind is dict:
            return Named({name: self.operand(part) for name, part in x.items()})
        if isinstance(x, np.ndarray) and not x.dtype.hasobject:
            return Snapshot.of(x)
        if getattr(x, "home", None) is self.context.home:
            return Fixed(x)
        self.fail(f"an operand is a {kind.__name__}")
        return Fixed(x)

    def _function(self, x: FunctionType) -> Operand:
        """A function of the program, which may be handed to a function: it runs in a replay, too."""
        if x in self._functions:  # it calls itself
            return Fixed(x)
        self._functions.add(x)
        held = [(cell, self._read(x, contents(cell))) for cell in x.__closure__ or ()]
        for default in (*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()):
            self._read(x, default)
        self._functions.remove(x)
        return Closed(x, tuple(held))

    def _read(self, function: FunctionType, x: Any) -> Operand:
        """A value that a function reads. Fail if a replay cannot check that it is unchanged."""
        found = Fixed(x) if isinstance(x, ModuleType) else Fixed(None) if is_tracked(x) else self.operand(x)
        if is_tracked(x) or not isinstance(found, (Fixed, Closed, Snapshot)):
            self.fail(f"the function {function.__name__} is handed to another one, and reads a {type(x).__name__}")
        return found

    def _tracked(self, x: Any) -> Operand:
        x = lowered_to(self.context, x)
        if not is_tracked(x):
            return self.operand(x)
        if not isinstance(x, (ARRAYS.buffer, ARRAYS.scalar)):
            self.fail(f"an operand is a {type(x).__name__}")
            return Fixed(x)
        recorder: Recorder | None = self
        while recorder is not None:
            found = recorder._known.get(id(x.place))
            if found is not None:
                return self._numbered(x, recorder, *found[1:])
            recorder = recorder.around
        self._check_older(x)
        operand = Fixed(x)
        self._outside.setdefault(id(x), operand)
        self._kept.append(x)
        return operand

    def _numbered(self, x: Any, recorder: Recorder, kind: type, number: int, depth: int) -> Operand:
        own = None if type(x) is kind else type(x)
        if own is not None and not (issubclass(own, ARRAYS.weak_scalar) and issubclass(kind, ARRAYS.scalar)):
            self.fail(f"a {kind.__name__} is used as a {own.__name__}")
        operand = Numbered(number, depth, own)
        if recorder is not self:
            self._outside.setdefault((number, depth), operand)
        return operand

    def _check_older(self, x: Any) -> None:
        """Fail, and the recorders around it, if a value is younger than they are, and no entry has made it."""
        serial = youngest(x.place)
        recorder: Recorder | None = self
        while recorder is not None:
            if serial > recorder.since:
                recorder.fail(f"a {type(x).__name__} of shape {x.shape} was made by something that is not recorded")
            recorder = recorder.around

    def cell(self, ground: Any) -> Operand | None:
        """Memory of the outermost context; None if it cannot be found again."""
        recorder: Recorder | None = self
        while recorder is not None:
            found = recorder._grounds.get(id(ground))
            if found is not None:
                return Numbered(found[1])
            recorder = recorder.around
        recorder = self
        while recorder.around is not None:
            recorder = recorder.around
        return Fixed(ground) if ground.serial <= recorder.since else None

    def atom(self, atom: Any) -> Operand | None:
        """The integer that an atom of a linear form denotes; None if it was made before all recordings."""
        recorder: Recorder | None = self
        while recorder is not None:
            if atom in recorder._atoms:
                return Numbered(recorder._atoms[atom])
            recorder = recorder.around
        recorder = self
        while recorder is not None:
            if atom.serial >= recorder.atoms_since:
                recorder.fail("an integer was made by something that is not recorded")
            recorder = recorder.around
        return None

    def known(self, value: Any, found: Any) -> None:
        """Record that the program read the contents of a value."""
        recorder: Recorder | None = self
        while recorder is not None:
            if not recorder.is_inside and recorder.failed is None:
                recorder.nodes.append(Known(recorder.operand(value), found))
            recorder = recorder.before


def recorded(entry: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run an operation and record it, where it is to be recorded as such; else NOT_RECORDED."""
    context = innermost((*args, *kwargs.values()))
    recorder = recorder_of(context)
    if recorder is None or any(type(x) is ARRAYS.bounded for x in args):
        # Arrays of run-time length compute by operations on others, which are entries of their own.
        return NOT_RECORDED
    return recorder.call(context, entry, args, kwargs)


def recorded_at(key: Any, entry: Callable[..., Any], target: Any, *values: Any) -> Any:
    """The same of an operation with a key as its second operand, whose numbers may be those of any context."""
    context = innermost((target, *values))
    recorder = recorder_of(context)
    if recorder is None or any(type(x) is ARRAYS.bounded for x in values):
        return NOT_RECORDED
    if context.home.is_windowed(key) or is_abstract_mask(key):
        # Parts whose length is known at run time are read and written by operations on the whole.
        return NOT_RECORDED
    return recorder.call(context, entry, (target, key, *values), {})


def recorded_in(context: Any, entry: Callable[..., Any], *args: Any) -> Any:
    """Run a method of a context and record it, where it is to be recorded as such; else NOT_RECORDED."""
    recorder = recorder_of(context)
    if recorder is None:
        return NOT_RECORDED
    return recorder.call(context, entry, (context, *args), {})


def recorder_of(context: Any) -> Recorder | None:
    """The innermost recorder of which what happens in a context now is an entry."""
    recorder: Recorder | None = None if context is None or context.home.trace is None else context.home.trace.recorder
    while recorder is not None and not recorder.records(context):
        recorder = recorder.before
    return recorder


def innermost(parts: Any) -> Any:
    """The innermost context of the tracked values in containers, and in the bounds of slices."""
    context = None
    for x in parts:
        if is_tracked(x):
            own = x.place.context
        elif type(x) is slice:
            own = innermost((x.start, x.stop, x.step))
        elif isinstance(x, (list, tuple)):
            own = innermost(x)
        elif type(x) is dict:
            own = innermost(x.values())
        else:
            continue
        if own is not None and (context is None or own.level > context.level):
            context = own
    return context


def leaves(value: Any) -> Iterator[Any]:
    """The tracked values in a result."""
    if is_tracked(value):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from leaves(part)
    elif type(value) is dict:
        for part in value.values():
            yield from leaves(part)


def youngest(place: Any) -> int:
    """The serial number of the youngest memory that a place, or a key in it, names."""
    serial: int = place.root.serial
    while place is not place.root:
        for part in _parts(getattr(place, "key", None)):
            if is_tracked(part):
                serial = max(serial, youngest(part.place))
        place = place.parent
    return serial


def _parts(key: Any) -> Iterator[Any]:
    for part in key if isinstance(key, (list, tuple)) else (key,):
        if type(part) is slice:
            yield from (part.start, part.stop, part.step)
        else:
            yield part


def ground_of(root: Root) -> Any:
    """The memory of the outermost context that a root is made of."""
    while hasattr(getattr(root, "held", None), "place"):
        root = root.held.place.root
    return root


def _is_fixed(x: Any) -> bool:
    """Whether a function depends on nothing that may change."""
    if isinstance(x, (np.ufunc, BuiltinFunctionType)):
        return True
    package = str(getattr(type(x) if not callable(x) else x, "__module__", "")).partition(".")[0]
    return package in _PACKAGES if callable(x) else package == "bridge" and hasattr(x, "mutates")


_PACKAGES = frozenset({"numpy", "scipy", "operator", "builtins", "math", "cmath"})

_IMMUTABLE = frozenset({bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range})
