"""What the rewind asks of the home of a program that is being compiled."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, SimpleNamespace
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np

from bridge.code_position import Position, is_internal
from bridge.rewind.fingerprint import Fingerprint
from bridge.rewind.memory import ON_ARRAYS, Home
from bridge.rewind.roots import serial_now
from bridge.rewind.tape import Recorder
from bridge.rewind.values import concrete_key, ground_floor, lowered_to
from bridge.rulebook.book import RULES
from bridge.rulebook.facts import facts_of, parameters_of
from bridge.source.programs import itself
from bridge.xla.lowering.lower import ENGINE, has
from bridge.xla.tracing.accessing import known_at
from bridge.xla.tracing.cells import Tracing
from bridge.xla.tracing.faults import Faults
from bridge.xla.tracing.folding import folded_at
from bridge.xla.tracing.outside import admitted
from bridge.xla.tracing.selections import selected
from bridge.xla.tracing.stand_ins import StandIn, distinct, of_any
from bridge.xla.tracing.write_order import keeps_its_value, line

WINDOWS: Any = SimpleNamespace()
"""Who knows of arrays whose length is known only when the program runs; `bridge.xla.bounded` fills it in."""


class Readings(Protocol):
    """Who takes note of what a program reads that is not among its arguments."""

    writes: bool

    def called(self, function: FunctionType) -> None:
        """A function of the program is about to run."""

    def add(self, array: Any) -> None:
        """An array is read."""

    def note(self, name: str, read: Callable[[], Any]) -> None:
        """A value is asked for."""

    def asks(self, name: str, ask: Callable[[], Any]) -> None:
        """The process is asked for something, which it is asked for again before each call."""


class HomesTracing(Tracing, Protocol):
    """What a home asks besides of the context that traces a program."""

    captured: Readings
    errors: dict[str, str] | None
    faults: Faults
    fingerprint: Fingerprint | None
    mends: bool
    recorder: Recorder | None

    @property
    def is_inside(self) -> bool:
        """Whether what runs is the body of a loop or a branch."""

    def operand(self, x: Any, place: Any) -> Any:
        """The JAX value of an operand, or what is known of it."""

    def of_shadow(self, read: Callable[[], Any]) -> Any:
        """What `read` gives, of a shadow."""

    def read(self, place: Any) -> Any:
        """The JAX value that lies at a place."""

    def separate(self) -> None:
        """What is computed from here on is to be computed again."""

    def surviving(self, key: Any, shape: tuple[int, ...]) -> Any:
        """Where a write with indices that are not known survives duplicates."""


class CompiledHome(Home):
    """The home of a program that is being compiled: what depends on numbers, its context answers."""

    is_abstract = True
    engine = ENGINE

    def __init__(self, trace: HomesTracing, control: Any) -> None:
        self.trace = trace
        self.control = control
        self.mends = trace.mends
        self.of_shadow = trace.of_shadow

    @property
    def checkpoints(self) -> bool:  # type: ignore[override]
        """In a loop there is no use for them: it keeps only what its body overwrites anyway."""
        return not self.trace.is_inside

    def known(self, value: Any) -> Any:
        """The integers or booleans of a value, or the float of a number, if known while the program is traced.

        A float that a context inside the trace differentiates must not leave it, also where it is known.
        """
        floor = ground_floor(value)
        found = known_at(floor.place)
        if found is None and not hasattr(floor, "view_as") and not self._is_differentiated(value):
            found = folded_at(floor.place)
        recorder = self.trace.recorder
        if recorder is not None and found is not None:
            recorder.known(value, found)
        return found

    def _is_differentiated(self, value: Any) -> bool:
        """Whether a value carries a derivative in a context inside the trace."""
        while value.place.context is not self.trace:
            if value.place.active:
                return True
            value = value.value
        return False

    def key(self, key: Any, shape: tuple[int, ...]) -> Any:
        """Unless `index_mode` is "error", numbers in it that lie outside are taken to be known at run time only."""
        key = concrete_key(key)
        return key if self.trace.index_mode == "error" else admitted(self.trace, key, shape)

    @contextmanager
    def noted_run(self, context: Any, since: int, earlier: Fingerprint | None = None) -> Iterator[Fingerprint]:
        """Values are not known: a call that runs again does the same operations on the same memory."""
        around, folds_since = self.trace.fingerprint, self.trace.folds_since
        self.trace.folds_since = serial_now()
        noted = Fingerprint(since, around if earlier is None else earlier.around, earlier)
        self.trace.fingerprint = noted
        try:
            with noted.listening(context):
                yield noted
        finally:
            self.trace.fingerprint, self.trace.folds_since = around, folds_since
            if earlier is None:
                noted.close()

    def must_be_same(self, before: Any, now: Any, name: str, position: Position) -> None:
        if before is not None and now is not None:
            self.trace.faults.check_replay(before, now, name, position)

    def steps_of(self, function: Any) -> Callable[..., Any] | None:
        """A function of the program that JAX has no counterpart of is compiled as what it consists of."""
        rule = RULES.get(function)
        if rule is not None and rule.supports is not None and not has(function):
            rule.supports.check_compiles(rule.name)
        if type(function) is not FunctionType or is_internal(function.__code__.co_filename) or has(function):
            return None
        return itself(function)

    def value(self, call: Callable[..., Any], function: Any, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What it returns for operands on which no function fails that does not know abstract arrays."""
        facts = facts_of(function)
        apart = facts.weights + facts.distinct
        if apart:
            names = parameters_of(function)
            values = tuple(distinct(x) if k in apart else x for k, x in zip(names, values, strict=False))
            named = {k: distinct(x) if k in apart else x for k, x in named.items()}
        elif facts.fails_on and _is_of_stand_ins((*values, *named.values())):
            return of_any(lambda *args, **kwargs: call(function, args, kwargs), values, named)
        return call(function, values, named)

    def settled(self, value: Any) -> Any:
        known = self.known(value)
        if known is not None:
            return known.copy()
        floor = ground_floor(value)
        return floor.copy() if hasattr(floor, "view_as") else floor

    def note(self, thing: Any) -> None:
        if type(thing) is FunctionType:
            self.trace.captured.called(thing)
        else:
            self.trace.captured.add(thing)

    def errors(self, now: dict[str, str]) -> dict[str, str]:
        """What is silent because the program is traced is told as it is where the program is called."""
        seen = self.trace.errors
        if seen is None:
            return now
        self.trace.captured.note("np.geterr()", _errors)
        return {name: Mode(held, seen[name]) if held == "ignore" else held for name, held in now.items()}

    def set_errors(self, given: dict[str, Any]) -> dict[str, str] | None:
        before = self.trace.errors
        if before is not None:
            shown = {name: getattr(mode, "shown", mode) for name, mode in given.items() if mode is not None}
            everywhere = shown.pop("all", None)
            self.trace.errors = {name: shown.get(name, everywhere or mode) for name, mode in before.items()}
        return before

    def note_writes(self) -> None:
        self.trace.captured.writes = True

    def survivors(self, key: Any, shape: tuple[int, ...]) -> Any:
        return self.trace.surviving(key, shape)

    def selected(self, buffer: Any, mask: Any) -> Any:
        return selected(buffer, mask)

    def keeps_its_value(self, target: Any, value: Any) -> bool:
        """Whether no element of a Buffer is overwritten before it is read, as a value of a view that NumPy writes."""
        return target.dtype == value.dtype and keeps_its_value(line(target), line(value.place))

    def is_windowed(self, key: Any) -> bool:
        return bool(WINDOWS.is_windowed(key))

    def window(self, buffer: Any, key: Any) -> Any:
        return WINDOWS.window(buffer, key)

    def write_window(self, buffer: Any, key: Any, value: Any) -> None:
        WINDOWS.write_window(buffer, key, value)

    def sized(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return WINDOWS.sized(function, args, dict(kwargs))

    def has_nan(self, value: Any) -> bool:
        """Note whether a gradient holds a NaN; the answer says what to assume while the program is traced."""
        ground = ground_floor(value)
        if ground.place.context is not self.trace:
            return ON_ARRAYS.has_nan(value)  # plain numbers lie under it, and are known
        self.trace.faults.note_nan(ground)
        return self.trace.mends

    def scratch(self, context: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """Tracked: what is added into it may be known only later."""
        return context.blank(shape, dtype)

    def value_despite(
        self, error: ZeroDivisionError, function: Callable[..., Any], values: tuple[Any, ...], places: tuple[Any, ...]
    ) -> Any:
        """Of Python's numbers only the type is known here; whether the operator raises is found when it runs."""
        x, y = map(self.trace.operand, values, places)
        if places[1] is None and not y:
            raise error
        if function is operator.pow:
            self.trace.faults.check_operator(error, lambda: (jnp.asarray(x) == 0) & (jnp.asarray(y) < 0))
        elif places[1] is not None:
            self.trace.faults.check_operator(error, lambda: jnp.asarray(y) == 0)
        return function(*(type(x)(1) for x in values))

    def check_number(self, error: ArithmeticError | ValueError, test: Any) -> None:
        self.trace.faults.check_number(error, lowered_to(self.trace, test))

    def separate(self) -> None:
        self.trace.separate()


class Mode(str):
    """What NumPy does about a kind of numbers while a program is traced; to the program, what it does outside of it."""

    shown: str

    def __new__(cls, held: str, shown: str) -> Mode:
        made = super().__new__(cls, held)
        made.shown = shown
        return made

    def __eq__(self, other: object) -> bool:
        return self.shown == other

    def __ne__(self, other: object) -> bool:
        return self.shown != other

    def __hash__(self) -> int:
        return hash(self.shown)

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return repr(self.shown)


def _errors() -> str:
    return str(np.geterr())


def _is_of_stand_ins(values: tuple[Any, ...]) -> bool:
    """Whether the result is looked at alone: what is known is computed, and a context around this one computes, too."""
    return any(isinstance(x, StandIn) for x in values) and not any(hasattr(x, "place") for x in values)
