"""What an engine is: who it is, what it needs, the contexts that it opens, and the rules that it supplies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import ArgumentError, EngineNotAvailable, NoRuleError
from bridge.options import IndexMode
from bridge.rewind.context import Context
from bridge.rewind.forward import ForwardContext
from bridge.rewind.interpreter import Call, current_context
from bridge.rewind.memory import grounded
from bridge.rulebook.rule import Rule, unplanned

# How far an engine's value of one operation may be from NumPy's, by bits of a number, beside the largest element.
TOLERANCES = {16: 1e-2, 32: 1e-4, 64: 1e-10}


class Column(NamedTuple):
    """An engine's column on the page of coverage: its heading, and what the page says of its `{count}` functions."""

    heading: str
    remark: str


class Health(NamedTuple):
    """What `python -m bridge doctor` says of an engine, and whether nothing is wrong; one that is missing is not."""

    heading: str
    lines: list[str]
    works: bool


class Engine:
    """Who supplies pulls. What others have to know of an engine, it says by itself.

    Attributes
    ----------
    name : what users write: `engine="name"`.
    asked_for_all : whether it supplies the rule of every operation through which a gradient passes, or of those only
        that the rule book lacks.
    fills_gaps : whether `engine="eager"` asks it for functions that the rule book lacks.
    compared : whether `crosscheck` compares it with the others.
    replays : whether its contexts keep a log that can be walked again, operation by operation.
    has_settings : whether `index_mode` and `memory` say how it compiles.
    column : its column on the page of coverage, if it has one.
    """

    name: str
    asked_for_all = True
    fills_gaps = False
    has_settings = False
    compared = True
    replays = True
    column: Column | None = None

    def rule(self, function: Any, native: Rule | None) -> Rule | None:
        """The rule of `function` under this engine; None if the engine has none either.

        Where there is a `native` rule, the engine's keeps what it says about the function's structure.
        """
        return native

    def knows(self, function: Any) -> bool:
        """Whether it has a rule for a function that the rule book lacks; nothing is started to find out."""
        return self.rule(function, None) is not None

    def how_to_add(self, name: str) -> str:
        """The end of a remedy: how the engine gets a rule for the operation `name`."""
        return f"write one for {name} with bridge.extend.rule"

    def missing(self) -> str:
        """Why it is not there, and the line to type; empty if it is. Starts nothing and downloads nothing."""
        return ""

    def check(self) -> None:
        """Raise EngineNotAvailable if it is not there, before anything runs."""
        missing = self.missing()
        if missing:
            raise EngineNotAvailable(f"engine={self.name!r} is not there: {missing}")

    def started(self) -> Self:
        """The engine itself, with everything loaded that its rules need."""
        return self

    def context(self, zeros: str) -> Context:
        """A context of reverse mode whose pulls come from this engine."""
        if self.asked_for_all:
            return AskingContext(self.started(), zeros=zeros)
        made = Context(zeros=zeros)
        made.engine = self
        return made

    def forward_context(self, zeros: str) -> ForwardContext:
        """A context of forward mode, likewise."""
        if self.asked_for_all:
            return AskingForwardContext(self.started(), zeros=zeros)
        made = ForwardContext(zeros=zeros)
        made.engine = self
        return made

    def comparing_values(self) -> AbstractContextManager[Any]:
        """Inside, each pull compares the engine's value of the operation with NumPy's, if it does not always."""
        return nullcontext()

    def coverage(self, function: Any, native: Rule | None) -> str:
        """What its column says of a function of NumPy; empty if the engine does not have it."""
        return ""

    def health(self) -> Health | None:
        """What the doctor says of it; None if another engine, or the doctor itself, says that."""
        return Health(f"engine={self.name!r}", [self.missing() or "there"], works=True)


class Settings(NamedTuple):
    """How a program is compiled: what indices outside of arrays mean, and how many bytes loops may keep (None: any)."""

    index_mode: IndexMode = "error"
    memory: int | None = None


class Compiler(Engine):
    """An engine that compiles the whole program, derivatives included, whose pulls are the rule book's.

    Attributes
    ----------
    compiles_pulls : whether `vjp` is compiled, too; its pull runs the function again then.
    """

    asked_for_all = replays = False
    has_settings = compiles_pulls = True

    @abstractmethod
    def compiled(self, function: Callable[..., Any], settings: Settings) -> Any:
        """A function, transforms in it included, as one program for each signature."""

    @abstractmethod
    def kept(
        self, make: Callable[..., Callable[..., Any]], f: Callable[..., Any], settings: Settings, *options: Hashable
    ) -> Any:
        """`make(f, *options)` compiled; the same program again for the same function and options."""


class Compilation(NamedTuple):
    """A compiler and its settings."""

    compiler: Compiler
    settings: Settings

    def compiled(self, function: Callable[..., Any]) -> Any:
        """See `Compiler`."""
        return self.compiler.compiled(function, self.settings)

    def kept(self, make: Callable[..., Callable[..., Any]], f: Callable[..., Any], *options: Hashable) -> Any:
        """See `Compiler`."""
        return self.compiler.kept(make, f, self.settings, *options)


def compiling() -> bool:
    """Whether the program that is running is being compiled."""
    context = current_context()
    return context is not None and context.home.is_abstract


class EngineRule(Rule):
    """A rule whose pull is an engine's. What is known of the function (`linear`, `structure`) is the native rule's."""

    __slots__ = ("compares", "native")

    def __init__(self, function: Any, name: str, native: Rule | None) -> None:
        if native is None:
            super().__init__(function, _no_pull, None, reads=None, linear=False, structure="generic")
        else:
            for slot in Rule.__slots__:
                setattr(self, slot, getattr(native, slot))
        self.name = name
        self.joint, self.per_argument, self.adding = _no_pull, None, None
        self.plans = unplanned()
        self.native = native
        self.compares = True
        self.reads = frozenset((*range(_MOST_ARGUMENTS), *self._parameters, "*"))

    @property
    def structural(self) -> Rule:
        """The rule that carries marks of structural zeros back: the native one, whose coefficients are known."""
        return self if self.native is None else self.native

    def masked(self) -> Self:
        """The same rule, which compares no values: outside of a mask the output is not the function's."""
        made = copy(self)
        made.compares = False
        return made

    def spread(self, args: tuple[Any, ...], ct: Any, wanted: tuple[int, ...]) -> tuple[Any, ...]:
        """Operands of a ufunc in the shape of its output, where their cotangents are asked for.

        An engine sums a cotangent over the axes that an operand lacks. Masks (`where=`) and strong zeros say
        element by element what belongs into that sum, so the context makes it, as it does for native rules.
        """
        if not self.broadcasts:
            return args
        ct = next(one for one in (ct if isinstance(ct, tuple) else (ct,)) if one is not None)
        return tuple(_spread(x, ct) if k in wanted else x for k, x in enumerate(args))

    def needs(self, wanted: tuple[int, ...]) -> tuple[bool, frozenset[Any]]:
        """Everything is read: another function's pull may need any of it."""
        assert self.reads is not None
        return True, self.reads


def _spread(x: Any, ct: Any) -> Any:
    if np.shape(grounded(x)) == ct.shape:
        return x
    if type(grounded(x)) in (float, complex):
        # A Python number takes the precision of the array that it meets.
        precision = np.finfo(ct.dtype).dtype if type(grounded(x)) is float else ct.dtype
        return x * np.ones(ct.shape, precision)
    return np.broadcast_to(x, ct.shape)


_MOST_ARGUMENTS = 64


def _no_pull(ct: Any, out: Any, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("the pull of an engine's rule is its method `pull`")


def is_same_value(found: Any, value: Any) -> bool:
    """Whether an engine's value of an operation is NumPy's, but for rounding."""
    value = np.asarray(value)
    if np.shape(found) != value.shape:
        return False
    tolerance = TOLERANCES[min(np.finfo(value.dtype).bits, 64) if value.dtype.kind in "fc" else 64]
    largest = np.max(np.abs(value), initial=0, where=np.isfinite(value))
    return bool(np.allclose(found, value, tolerance, tolerance * largest, equal_nan=True))


class Asking:
    """Replaces the native rules of operations through which a gradient passes, before they are recorded."""

    engine: Any

    def __enter__(self) -> Any:
        if compiling():
            raise ArgumentError(
                f"engine={self.engine.name!r} inside of a program that is compiled",
                remedy="leave the engine out: a compiled program takes its pulls from the rule book, and else from JAX",
            )
        return super().__enter__()  # type: ignore[misc]

    def result(self, call: Call, value: Any) -> Any:
        """Wrap and log the result of an operation."""
        if call.rule is not None:
            call.rule = self._engine_rule(call)
        return super().result(call, value)  # type: ignore[misc]

    def update(self, call: Call, target: Any, mask: Any, run: Callable[[tuple[Any, ...]], Any]) -> None:
        """Run and log a ufunc that writes into existing memory."""
        if call.rule is not None:
            asked = self._engine_rule(call)
            call.rule = asked.masked() if mask is not None and isinstance(asked, EngineRule) else asked
        super().update(call, target, mask, run)  # type: ignore[misc]

    def _engine_rule(self, call: Call) -> Rule:
        rule: Rule = call.rule
        if not call.wanted or isinstance(rule, EngineRule) or rule.replaces:
            return rule
        found = self.engine.rule(rule.function, rule)
        if found is None:
            raise NoRuleError(
                f"engine={self.engine.name!r} has no rule for {rule.name}",
                where=resolve(here()),
                remedy=f'use engine="native", which has one, or {self.engine.how_to_add(rule.name)}',
            )
        return found


class AskingContext(Asking, Context):
    """Reverse mode whose pulls come from an engine."""

    def __init__(self, engine: Engine, *, zeros: str = "strong") -> None:
        super().__init__(zeros=zeros)
        self.engine = engine


class AskingForwardContext(Asking, ForwardContext):
    """Forward mode whose derivatives come from an engine."""

    def __init__(self, engine: Engine, *, zeros: str = "strong") -> None:
        super().__init__(zeros=zeros)
        self.engine = engine
