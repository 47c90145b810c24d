"""The life of a context: entered once, nested, and of one thread."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, get_ident
from types import TracebackType
from typing import Any, Self

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import AliasError, BridgeError, ContextError, NoRuleError, RefusedError
from bridge.rewind.interpreter import CURRENT, AnyContext, current_context, still_open
from bridge.rewind.memory import ON_ARRAYS, ArrayMemory, Memory, OuterMemory


class Lifetime:
    """When a context may be used, and by whom."""

    engine: Any = None
    # Whether another differentiation ran inside of it.
    nested = False
    zeros: str
    # What the program has lent to it, if its source is read; and whether it also borrows for what carries no gradient.
    loan: Any = None
    loops: str = "python"
    borrows_everything = False
    # Whether what is refused ends it, also if the program goes on: so it is where a transform runs the program.
    remembers = False

    outer: AnyContext | None = None
    level = -1
    memory: Memory = ArrayMemory()
    home = ON_ARRAYS
    escaped: BridgeError | None = None
    thread: int | None
    _sweeping = False

    def __init__(self) -> None:
        # Numbers that the program has written into texts.
        self.written: dict[float, None] = {}
        self.thread = None
        self._maker = get_ident()

    def __enter__(self) -> Self:
        if self.level >= 0:
            raise ContextError("this context was entered before", remedy="make a new one: a context is used once")
        self.outer = current_context()
        self.level = 0
        if self.outer is not None:
            self.level = self.outer.level + 1
            self.outer.nested = self.outer.nested or self.zeros == "strong"
            self.memory = OuterMemory(self.outer)
            self.home = self.outer.home
            self.engine = self.home.engine or self.engine
        self.thread = self._maker = get_ident()
        return self

    def __exit__(
        self: AnyContext, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if CURRENT.get() is self:
            CURRENT.set(still_open(self.outer))
        try:
            if self.loan is not None:
                self.loan.put_back()
        except AliasError:
            # What ends the call tells more than what it may have lost.
            if error is None:
                raise
        finally:
            self.thread = None
        if self.escaped is not None and error is not self.escaped:
            raise self.escaped from error

    @property
    def is_walked(self) -> bool:
        """Whether a sweep goes on, of this context or of one around it: rules run, and none of the program's lines."""
        return self._sweeping or (self.outer is not None and self.outer.is_walked)

    def check_usable(self) -> None:
        """Raise if this is another thread, or if the context is not open."""
        if self.thread != get_ident():
            self._complain()

    def _complain(self) -> None:
        where = resolve(here())
        if self.thread is None:
            raise ContextError(
                "a Buffer is used outside its context, which has closed"
                if self.level >= 0
                else "this context was not entered",
                where=where,
                remedy="use it inside `with Context() as ctx:`, return values from the function that is "
                "differentiated, or take them out with bridge.detach; do not keep Buffers in globals or closures",
            )
        error = ContextError(
            f"a Buffer of a context of thread {self.thread} is used in thread {get_ident()}",
            where=where,
            remedy="differentiate inside each thread: a context belongs to the thread that made it",
        )
        # An executor keeps it until somebody asks for the result: one of the two differentiations tells of it.
        asking = current_context()
        told = self if asking is None or asking.thread != get_ident() else asking
        told.escaped = told.escaped or error
        raise error

    @contextmanager
    def reopened(self) -> Iterator[None]:
        """Open again, for a replay during the backward pass."""
        before, thread = CURRENT.get(), self.thread
        try:
            CURRENT.set(self)  # type: ignore[arg-type]
            self.thread = self._maker
            yield
        finally:
            self.thread = thread
            CURRENT.set(before)


class suspended:
    """Inside, pulls of a context run in the context around it, only in its thread, and without NumPy's warnings."""

    __slots__ = ("_before", "_context", "_errors")

    def __init__(self, context: Any) -> None:
        self._context = context
        self._errors = np.errstate(all="ignore")

    def __enter__(self) -> None:
        context = self._context
        if get_ident() != context._maker:
            raise ContextError(
                f"a gradient of a context of thread {context._maker} is asked in thread {get_ident()}",
                remedy="call the pull in the thread that ran the function",
            )
        if context._sweeping:
            raise ContextError("a gradient is asked of a context during its own backward pass")
        self._before = CURRENT.get()
        CURRENT.set(context.outer)
        self._errors.__enter__()
        context._sweeping = True

    def __exit__(self, *raised: Any) -> None:
        self._context._sweeping = False
        CURRENT.set(self._before)
        self._errors.__exit__(*raised)


_RARELY = 1000
"""The threshold of the oldest generation while a log grows; those of the younger ones stay as they are."""


class _CollectingRarely:
    """Inside, Python collects the oldest generation rarely: the objects of a growing log are all alive.

    The garbage collector's thresholds are restored when the last context that raised them has closed, unless the
    program has set other thresholds meanwhile.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._asking = 0
        self._before = self._set = (0, 0, 0)

    def __enter__(self) -> None:
        with self._lock:
            self._asking += 1
            if self._asking == 1:
                now = gc.get_threshold()
                if now != self._before:
                    self._before, self._set = now, (*now[:2], max(now[2], _RARELY))
                gc.set_threshold(*self._set)

    def __exit__(self, *raised: Any) -> None:
        with self._lock:
            self._asking -= 1
            if self._asking == 0 and gc.get_threshold() == self._set:
                gc.set_threshold(*self._before)


COLLECTING_RARELY = _CollectingRarely()


def note_refusal(error: BridgeError) -> None:
    """Take note of what is refused to the program: one that swallows that would be another program."""
    context = current_context()
    if context is None or not context.remembers or context.is_walked or context.home.is_abstract:
        return
    context.escaped = context.escaped or error


def forgive(error: BridgeError) -> None:
    """What was refused is done in another way, and not by the program."""
    context = current_context()
    if context is not None and context.escaped is error:
        context.escaped = None


for _kind in (RefusedError, NoRuleError, AliasError):
    _kind.noticed = staticmethod(note_refusal)
