"""Contexts that note every operation they see: what went in, what came out, and which entry of the log it became."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bridge.calls import operation_name
from bridge.engines import registry
from bridge.engines.asking import AskingContext
from bridge.position import here, resolve
from bridge.rewind.context import Context
from bridge.rewind.memory import grounded

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
    kwargs: dict[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()
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
    def active(self) -> bool:
        """Whether a gradient passes from its operands to its result."""
        return self.entry is not None and self.fed


class Observing:
    """A context's forward half, which notes what it records."""

    log: list[Any]
    # Checkpointed calls are run through, so that their operations are seen.
    observing = True

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

    def result(
        self, rule: Any, value: Any, inputs: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any],
        plain: tuple[int, ...], names: tuple[str, ...] = (),
    ) -> Any:  # fmt: skip
        """Note an operation with a rule."""
        before = len(self.log)
        given = tuple(self._copy(x) if k in plain else x for k, x in enumerate(args))
        out = super().result(rule, value, inputs, args, kwargs, plain, names)  # type: ignore[misc]
        step = Step(
            "operation", rule.name, here(), rule.function, given, dict(kwargs), names, tuple(map(self._copy, args))
        )
        step.plain, step.value, step.fed = _untracked(inputs), self._copy(value), _any_place(inputs)
        self._noted(before, step)
        return out

    def unpulled(self, function: Any, value: Any, inputs: Any, args: Any, kwargs: Any = None) -> Any:
        """Note an operation through which no gradient passes."""
        step = Step("unpulled", operation_name(function), here(), function, tuple(map(self._copy, args)))
        step.operands, step.value, step.fed = step.args, self._copy(value), _any_place(inputs)
        self.steps.append(step)
        return super().unpulled(function, value, inputs, args, kwargs)  # type: ignore[misc]

    def update(
        self, rule: Any, target: Any, inputs: tuple[Any, ...], args: tuple[Any, ...], plain: tuple[int, ...],
        mask: Any, run: Callable[[tuple[Any, ...]], Any],
    ) -> None:  # fmt: skip
        """Note a ufunc that writes into existing memory."""
        before, name = len(self.log), "out=" if rule is None else rule.name
        given = tuple(self._copy(x) if k in plain else x for k, x in enumerate(args))
        operands = tuple(map(self._copy, args))
        super().update(rule, target, inputs, args, plain, mask, run)  # type: ignore[misc]
        step = Step("update", name, here(), None if rule is None else rule.function, given, operands=operands)
        step.plain, step.mask, step.target, step.fed = _untracked(inputs), mask, target.value, _any_place(inputs)
        step.value = self._copy(target.value)
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

    def scatter_add(self, ufunc: np.ufunc, target: Any, key: Any, operand: Any) -> None:
        """Note `np.add.at` or `np.subtract.at`."""
        before = len(self.log)
        super().scatter_add(ufunc, target, key, operand)  # type: ignore[misc]
        step = Step("scatter", f"np.{ufunc.__name__}.at", here(), ufunc, operands=(self._copy(operand),), key=key)
        step.target, step.value = target.value, self._copy(target.value)
        step.fed = getattr(getattr(operand, "place", None), "active", False)
        step.plain = () if step.fed else (0,)
        self._noted(before, step)

    def mutated(self, entry: Any, active: bool) -> None:
        """Note a call of a mutating rule."""
        before = len(self.log)
        super().mutated(entry, active)  # type: ignore[misc]
        step = Step("mutating", entry.name, entry.position, entry.rule.function, entry.args)
        step.operands, step.value, step.fed = (), tuple(map(self._copy, entry.arrays)), active
        step.target = entry.arrays
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


def _any_place(inputs: Any) -> bool:
    return any(_any_place(one) if isinstance(one, (list, tuple)) else one is not None for one in inputs)


def _untracked(inputs: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(k for k, place in enumerate(inputs) if place is None)


def flat_values(value: Any) -> Iterator[Any]:
    """The arrays and numbers in nested sequences."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from flat_values(part)
    elif value is not None:
        yield value
