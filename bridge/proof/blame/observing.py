"""Contexts that note every operation they see: what went in, what came out, and which entry of the log it became."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.engines import registry
from bridge.engines.protocol import AskingContext
from bridge.rewind.context import Context
from bridge.rewind.interpreter import Call
from bridge.rewind.memory import grounded
from bridge.rewind.places import places_in
from bridge.rulebook.facts import facts_of

# Copies of values are kept until they are this large together; later ones are known by their bits only.
MOST_BYTES = 1 << 28


@dataclass
class Step:
    """One operation of a run.

    `args` are the operands by reference where they are tracked (the rewind restores them) and copies where they are
    plain; `operands` are copies of all. `value` is a copy of what came out, `plain` the positions of the operands that
    carry no gradient, `fed` says whether another one does. `entry` is the operation's number in the log, None where no
    gradient passes through it.
    """

    kind: str
    name: str
    position: Any
    function: Any = None
    args: tuple[Any, ...] = ()
    operands: tuple[Any, ...] = ()
    plain: tuple[int, ...] = ()
    value: Any = None
    entry: int | None = None
    fed: bool = False
    key: Any = None
    mask: Any = None
    target: Any = None

    @property
    def where(self) -> str | None:
        """`file:line` of the user's call."""
        return resolve(self.position)

    @property
    def place(self) -> str:
        """The operation and its line."""
        return f"{self.name} at {self.where}"

    @property
    def indexes(self) -> bool:
        """Whether it moves elements to where an index says."""
        return self.kind in ("read", "write", "scatter") or facts_of(self.function).indexes

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the operands and the result."""
        values = [*flat_values(self.operands), *flat_values(self.value)]
        return tuple(np.shape(value) for value in values if hasattr(value, "shape"))


class Observing:
    """A context's forward half, which notes what it records."""

    log: list[Any]
    # Checkpointed calls are run through, so that their operations are seen.
    checkpoints = False

    def _prepare(self) -> None:
        self.steps: list[Step] = []
        self.detached: list[tuple[Any, str]] = []
        self._room = MOST_BYTES

    def _copy(self, value: Any) -> Any:
        """A copy of a value, or None once there is no room for more."""
        if isinstance(value, (tuple, list)):
            return (
                type(value)(map(self._copy, value)) if not hasattr(value, "_fields") else tuple(map(self._copy, value))
            )
        value = grounded(value)
        if not isinstance(value, np.ndarray):
            return value
        self._room -= value.nbytes
        return value.copy() if self._room > 0 else None

    def _noted(self, before: int, step: Step) -> None:
        step.entry = before if len(self.log) > before else None
        self.steps.append(step)

    def result(self, call: Call, value: Any) -> Any:
        """Note an operation."""
        before, operands = len(self.log), tuple(map(self._copy, call.args))
        step = Step("operation", call.name, here(), call.function, operands=operands, fed=any(places_in(call.inputs)))
        if call.rule is None:
            step.kind, step.args = "unpulled", operands
        else:
            step.args = tuple(operands[k] if k in call.plain else x for k, x in enumerate(call.args))
            step.plain = _untracked(call.inputs)
        out = super().result(call, value)  # type: ignore[misc]
        step.value = self._copy(value)
        self._noted(before, step)
        return out

    def update(self, call: Call, target: Any, mask: Any, run: Callable[[tuple[Any, ...]], Any]) -> None:
        """Note a ufunc that writes into existing memory."""
        before, name, function = len(self.log), call.name, call.function
        if call.rule is None:
            name, function = "out=", None
        given = tuple(self._copy(x) if k in call.plain else x for k, x in enumerate(call.args))
        operands = tuple(map(self._copy, call.args))
        plain, fed = _untracked(call.inputs), any(places_in(call.inputs))
        super().update(call, target, mask, run)  # type: ignore[misc]
        step = Step("update", name, here(), function, given, operands=operands, plain=plain, fed=fed)
        step.mask, step.target, step.value = mask, target.value, self._copy(target.value)
        self._noted(before, step)

    def copied(self, value: Any, source: Any) -> Any:
        """Note a read that makes a copy."""
        before = len(self.log)
        out = super().copied(value, source)  # type: ignore[misc]
        self._noted(before, Step("read", "getitem", here(), value=self._copy(value), fed=source.active))
        return out

    def write(self, target: Any, key: Any, place: Any, value: Any, source: Any) -> None:
        """Note an assignment."""
        before = len(self.log)
        operand = self._copy(value)
        super().write(target, key, place, value, source)  # type: ignore[misc]
        step = Step("write", "setitem", here(), operands=(operand,), key=key, target=target.value)
        step.value, step.fed = operand, source is not None
        step.plain = () if source is not None else (0,)
        self._noted(before, step)

    def scatter_add(self, call: Call, target: Any, key: Any) -> None:
        """Note `np.add.at` or `np.subtract.at`."""
        before, (operand,), (source,) = len(self.log), call.args, call.inputs
        super().scatter_add(call, target, key)  # type: ignore[misc]
        step = Step("scatter", f"{call.name}.at", here(), call.function, operands=(self._copy(operand),), key=key)
        step.target, step.value = target.value, self._copy(target.value)
        step.fed = source is not None
        step.plain = () if step.fed else (0,)
        self._noted(before, step)

    def mutated(self, call: Call, targets: tuple[Any, ...], saved: tuple[Any, ...]) -> None:
        """Note a call of a mutating rule."""
        before = len(self.log)
        super().mutated(call, targets, saved)  # type: ignore[misc]
        arrays = tuple(target.value for target in targets)
        step = Step("mutating", call.name, here(), call.function, call.args, fed=bool(call.wanted), target=arrays)
        step.value = tuple(map(self._copy, arrays))
        self._noted(before, step)

    def left(self, tracked: Any, how: str) -> None:
        """Note where a value is let go."""
        super().left(tracked, how)  # type: ignore[misc]
        if tracked.place.active:
            self.detached.append((here(), how))


class ObservedContext(Observing, Context):
    """A context of the rule book that notes what it records."""

    def __init__(self, *, zeros: str = "strong") -> None:
        Context.__init__(self, zeros=zeros)
        self._prepare()


class ObservedAskingContext(Observing, AskingContext):
    """A context that asks an engine for every operation, and notes what it records."""

    def __init__(self, engine: Any, *, zeros: str = "strong") -> None:
        AskingContext.__init__(self, engine, zeros=zeros)
        self._prepare()


def observed_context(engine: str, zeros: str = "strong") -> Any:
    """A context of `engine` that notes what it records."""
    made = registry.context(engine, zeros)
    if isinstance(made, AskingContext):
        return ObservedAskingContext(made.engine, zeros=zeros)
    observed = ObservedContext(zeros=zeros)
    observed.engine = made.engine
    return observed


def _untracked(inputs: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(k for k, place in enumerate(inputs) if place is None)


def flat_values(value: Any) -> Iterator[Any]:
    """The arrays and numbers in nested sequences."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from flat_values(part)
    elif value is not None:
        yield value
