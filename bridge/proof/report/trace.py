"""`bridge.trace`: what a program does to memory, operation by operation, without differentiating it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.code_position import here
from bridge.engines.protocol import Engine, EngineRule
from bridge.proof.report.model import Region, Trace
from bridge.proof.report.timeline import Builder, names_of
from bridge.rewind.context import Context
from bridge.rewind.interpreter import Call
from bridge.rewind.memory import grounded, owner
from bridge.rewind.ownership import KeepsArguments
from bridge.rewind.places import Picked
from bridge.rewind.roots import Root
from bridge.rulebook.rule import Rule
from bridge.signatures import operation_name
from bridge.source.looping import steady
from bridge.source.programs import program
from bridge.transforms.arguments import Arguments, handed_out


def trace(f: Callable[..., Any]) -> Callable[..., Trace]:
    """A function that runs `f` and returns a `Trace`: each operation, what it reads, writes and overwrites.

    `f` is any program that bridge differentiates; nothing is differentiated, so functions without a rule and values
    that leave tracking (`float(s)`) are allowed. Arrays among the arguments are copied: the caller's keep their bits.
    Operations on plain arrays alone are NumPy's own and are not seen. Loops (`fori_loop`, ...) and checkpoints show
    every operation in them, as they run eagerly.

    Raises
    ------
    AliasError, RefusedError, ArgumentError : as a gradient of `f` would. An exception of `f` itself gets a note that
    says how far it came.
    """

    def traced(*args: Any, **kwargs: Any) -> Trace:
        with TraceContext() as context:
            arguments = Arguments(context, args, kwargs, (), allow_int=True)
            context.name(names_of(f, arguments))
            try:
                result = program(context, f, None, steady())(*arguments.args, **arguments.kwargs)
            except Exception as error:
                context.note_last(error)
                raise
            arguments.check_originals()
            value = handed_out(result)
        return Trace(operation_name(f), value, context.builder.timeline())

    return traced


class AnyFunction(Engine):
    """Stands in for the rules of functions that have none: nobody will ask for their pulls."""

    name = "trace"

    def rule(self, function: Any, native: Rule | None) -> Rule:
        return native or EngineRule(function, operation_name(function), None)


class TraceContext(KeepsArguments, Context):
    """Runs operations as every context does, notes them in a timeline, and keeps no log.

    No root carries a gradient. Memory is known by the array that owns it. Checkpointed calls are run through.
    """

    checkpoints = False
    borrows_everything = True

    def __init__(self) -> None:
        super().__init__()
        self.engine = AnyFunction()
        self.builder = Builder()
        self._arrays: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._numbers: dict[int, tuple[Any, int]] = {}
        self._entered: list[tuple[Root, Any]] = []

    def name(self, names: dict[Root, str]) -> None:
        """Number the memory of the arguments, in their order."""
        values = dict(self._entered)
        for root, name in names.items():
            self._born(values[root], root, name)

    def note_last(self, error: Exception) -> None:
        """Say in the program's own error how far it came."""
        done = self.builder.operations
        if done:
            error.add_note(
                f"bridge.trace saw {len(done)} operations before it, the last: {done[-1].name}, {done[-1].where}"
            )

    def entering(self, value: Any, active: bool) -> Root:
        root = super().entering(value, active)
        self._entered.append((root, value))
        return root

    def constant_buffer(self, array: Any) -> Any:
        return self._noted(None, (), super().constant_buffer(array))

    def blank(self, shape: tuple[int, ...], dtype: Any) -> Any:
        if self.outer is None:
            return super().blank(shape, dtype)
        return self._noted(None, (), super().blank(shape, dtype))

    def result(self, call: Call, value: Any) -> Any:
        reads = self._read((call.args, call.kwargs))
        return self._noted(call.name, reads, super().result(call, value))

    def inactive(self, value: Any) -> Any:
        return self._noted("astype", (), super().inactive(value))

    def copied(self, value: Any, source: Any) -> Any:
        reads = (self._place(source),)
        return self._noted("getitem" if isinstance(source, Picked) else "copy", reads, super().copied(value, source))

    def write(self, target: Any, key: Any, place: Any, value: Any, source: Any) -> None:
        reads = self._read(value)
        super().write(target, key, place, value, source)
        self._overwritten("setitem", reads, (self._place(place),))

    def update(self, call: Call, target: Any, mask: Any, run: Callable[[tuple[Any, ...]], Any]) -> None:
        reads = self._read((call.args, mask))
        name = "a ufunc without gradient" if call.rule is None else call.name
        try:
            super().update(call, target, mask, run)
        finally:
            self._overwritten(name, reads, (self._place(target.place),))

    def scatter_add(self, call: Call, target: Any, key: Any) -> None:
        reads = (self._place(target.place), *self._read(call.args))
        super().scatter_add(call, target, key)
        self._overwritten(f"{call.name}.at", reads, (self._place(target.place),))

    def mutated(self, call: Call, targets: tuple[Any, ...], saved: tuple[Any, ...]) -> None:
        reads = self._read(call.args)
        super().mutated(call, targets, saved)
        self._overwritten(call.name, reads, tuple(self._place(target.place) for target in targets))

    def left(self, tracked: Any, how: str) -> None:
        self.builder.add(f"leaves tracking: {how}", here(), (self._place(tracked.place),), (), False)

    def _overwritten(self, name: str, reads: tuple[Region, ...], writes: tuple[Region, ...]) -> None:
        self.log.clear()
        self.builder.add(name, here(), reads, writes, True)

    def _noted(self, operation: str | None, reads: tuple[Region, ...], out: Any) -> Any:
        """Note an operation that makes memory; None for a plain array that is taken up where it is written."""
        name = operation or "a new array"
        parts = out if isinstance(out, (tuple, list)) else (out,)
        for part in parts:
            if hasattr(part, "place"):
                self._born(
                    part.value, part.place.root, self.builder.made(here()) or operation or self.builder.written(here())
                )
        writes = tuple(self._place(part.place) for part in parts if hasattr(part, "place"))
        self.builder.add(name, here(), reads, writes, False)
        return out

    def _born(self, value: Any, root: Root, name: str) -> None:
        """Know memory again by its root, and by the array or number that holds it."""
        number = self.builder.memory_of(root, name)
        plain = grounded(value)
        if isinstance(plain, np.ndarray):
            self._own(owner(plain), number)
        else:
            self._numbers[id(plain)] = plain, number

    def _own(self, array: np.ndarray, number: int) -> None:
        self._arrays[id(array)] = weakref.ref(array), number

    def _place(self, place: Any) -> Region:
        return self.builder.region(place, self.builder.written(here()))

    def _read(self, values: Any) -> tuple[Region, ...]:
        return tuple(region for value in _arrays_in(values) if (region := self._region(value)) is not None)

    def _region(self, value: Any) -> Region | None:
        """The bytes of a NumPy array, or of a number that an operation made."""
        if not isinstance(value, np.ndarray):
            _, number = self._numbers.get(id(value), (None, None))
            return None if number is None else Region(number, 0, value.itemsize, (), str(value.dtype))
        whole = owner(value)
        low, high = np.lib.array_utils.byte_bounds(whole)
        reference, number = self._arrays.get(id(whole), (None, None))
        if reference is None or number is None or reference() is not whole:
            number = self.builder.new_memory("a plain array", whole.shape, whole.dtype, high - low)
            self._own(whole, number)
        start, stop = np.lib.array_utils.byte_bounds(value) if value.size else (low, low)
        return Region(number, start - low, stop - low, value.shape, str(value.dtype))


def _arrays_in(values: Any) -> Iterator[Any]:
    """The arrays and NumPy numbers in nested containers, without tracking."""
    if isinstance(values, (tuple, list)):
        for value in values:
            yield from _arrays_in(value)
    elif isinstance(values, dict):
        yield from _arrays_in(list(values.values()))
    else:
        plain = grounded(values)
        if isinstance(plain, (np.ndarray, np.generic)):
            yield plain
