"""Calls of a program's functions that leave nothing behind: how a solver looks for what is differentiated afterwards.

A solver (a root finder, a minimiser, an adaptive quadrature) calls the user's function many times to find one point or
one mesh. Only what is found matters: its derivative comes from a few evaluations there. So the calls of the search are
run aside: their values are plain, what they write into memory is put back, and the log does not hold them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import ref

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.checkpoint import Gone
from bridge.rewind.forward import ForwardContext
from bridge.rewind.interpreter import Listener, current_context
from bridge.rewind.memory import grounded
from bridge.rewind.roots import serial_now
from bridge.rewind.snapshots import Snapshots
from bridge.rewind.values import concrete


class Aside:
    """The search of one solver, which messages call `name`.

    `tracked` says whether a value that a function has given it carries a gradient.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.written: set[Any] = set()
        self.tracked = False
        self._arrays: dict[int, ref[Any]] = {}
        self._tokens: dict[int, int] = {}

    def plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function` as a solver calls it: plain arrays and numbers go in and come out."""

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self.running():
                value = function(*args, **kwargs)
                self.tracked = self.tracked or carries_gradient(value)
                return self.value_of(value)

        return called

    def value_of(self, value: Any) -> Any:
        """The plain value of a tracked one, or of those in tuples, lists and dictionaries; copies of arrays."""
        if isinstance(value, (tuple, list)):
            parts = [self.value_of(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if isinstance(value, dict):
            return {key: self.value_of(part) for key, part in value.items()}
        if not hasattr(value, "place"):
            return value
        value.place.context.check_usable()
        value.place.context.left(value, self.name)
        found = concrete(value, self.name)
        return found.copy() if isinstance(found, np.ndarray) else found

    @contextmanager
    def running(self) -> Iterator[None]:
        """Inside, nothing is kept: entries of the log are dropped, and memory is put back at the end."""
        contexts = _open()
        if not contexts:
            yield
            return
        kept = [(one, one.log, one.snapshots, one.touched, one.loan) for one in contexts]
        undone = _undone(contexts)
        shown = [(context, context.shown()) for context in contexts][: len(undone)]
        for context in contexts:
            context.log, context.snapshots = [], Snapshots()
            context.loan = own_loan(context)
        for context in undone[:-1]:
            context.touched = {}
        loans = [context.loan for context in contexts if context.loan is not None]
        lent_before = [one[-1] for one in kept if one[-1] is not None]
        try:
            with self._heard(contexts, self.written, lent_before):
                yield
                for context in contexts:
                    context.take_in()
        finally:
            _put_back(undone)
            for context, held in shown:
                context.show_again(held)
            for context in contexts:
                for entry in context.log:
                    for root in entry.bore():
                        root.context = _GONE
            for context, log, snapshots, touched, loan in kept:
                context.log, context.snapshots, context.touched, context.loan = log, snapshots, touched, loan
            with ExitStack() as closing:
                for loan in loans:
                    closing.callback(loan.forget)
                    closing.callback(loan.put_back)

    @contextmanager
    def result(self) -> Iterator[None]:
        """Inside, the program's function is evaluated where the search has ended, and the log holds that.

        RefusedError if the search has written memory that this evaluation does not write.
        """
        written: set[Any] = set()
        with self._heard(_open(), written, []):
            yield
        # Arrays that the program's function made for itself are gone by now.
        gone = {token for token, array in self._arrays.items() if array() is None}
        missing = [one for one in self.written - written if one[0] not in gone]
        if missing:
            _, shape, _ = min(missing, key=repr)
            raise RefusedError(
                f"a function that {self.name} calls writes a value that carries a gradient into an array of shape "
                f"{shape}, at places that its evaluation at the result does not write: what they hold depends on how "
                "the solver searched, which is not differentiated",
                where=resolve(here()),
                remedy="record the history of a search in plain arrays: write bridge.detach(value)",
            )

    def _token(self, array: np.ndarray) -> int:
        """A number for an array: another one for another array, also at the place of one that is gone."""
        token = self._tokens.get(id(array), 0)
        if not token or self._arrays[token]() is not array:
            token = self._tokens[id(array)] = 1 + len(self._arrays)
            self._arrays[token] = ref(array)
        return token

    @contextmanager
    def _heard(self, contexts: list[Any], written: set[Any], loans: list[Any]) -> Iterator[None]:
        """Note in `written` which memory that was there before is written: of contexts, and arrays that are lent."""
        since = serial_now()
        noted: set[Any] = set()
        before = [context.listener for context in contexts]
        for context, other in zip(contexts, before, strict=True):
            context.listener = _Writes(noted, other)
        try:
            yield
        finally:
            loans = loans + [context.loan for context in contexts if context.loan is not None]
            lent = {one.buffer.place.root: one.array for loan in loans for one in loan.arrays}
            for root, shape, path in noted:
                if root in lent:
                    written.add((self._token(lent[root]), shape, path))
                elif root.serial <= since:
                    written.add((f"root {root.serial}", shape, path))
            for context, other in zip(contexts, before, strict=True):
                context.listener = other


def own_loan(context: Any, outer: Any = None) -> Any:
    """A loan of a program's arrays to `context`, if its own program, or that of the `outer` one, is read."""
    lender = context if outer is None else outer
    while lender is not None and lender.loan is None:
        lender = lender.outer
    return None if lender is None else type(lender.loan)(context)


def carries_gradient(value: Any) -> bool:
    """Whether a value, or one in a container of them, carries a gradient of any context."""
    if isinstance(value, (tuple, list)):
        return any(map(carries_gradient, value))
    if isinstance(value, dict):
        return any(map(carries_gradient, value.values()))
    while hasattr(value, "place"):
        if value.place.active:
            return True
        value = value.value
    return False


def is_tracked(value: Any) -> bool:
    """Whether a value is tracked, or one in a container of them."""
    if isinstance(value, (tuple, list, set)):
        return any(map(is_tracked, value))
    if isinstance(value, dict):
        return any(map(is_tracked, value.values()))
    return hasattr(value, "place")


_GONE: Any = Gone(
    "a value that was computed while a solver searched is used after the search: its gradient is not known",
    "do not keep what the solver's function computes (functools.cache, globals); compute it before the solver "
    "is called",
)


class _Writes:
    """Notes where a value that carries a gradient is written."""

    def __init__(self, noted: set[Any], other: Listener | None) -> None:
        self.noted, self.other = noted, other

    def heard(self, event: str, *what: Any) -> None:
        if self.other is not None:
            self.other.heard(event, *what)
        if event == "write":
            target, key, _, _, source = what
            self._note(target, key, source is not None)
        elif event == "update":
            call, target, mask, _ = what
            self._note(target, mask, bool(call.wanted))
        elif event == "scatter_add":
            call, target, key = what
            self._note(target, key, bool(call.wanted))
        elif event == "mutated":
            call, targets, _ = what
            for target in targets:
                self._note(target, None, bool(call.wanted))

    def _note(self, target: Any, key: Any, carries: bool) -> None:
        if carries:
            self.noted.add((target.place.root, target.shape, f"{_path(target.place)}{_told(key)}"))


def _path(place: Any) -> str:
    parent = getattr(place, "parent", None)
    return "" if parent is None else f"{_path(parent)}{_told(place.key)}"


def _told(key: Any) -> str:
    """A key or a mask as a text; arrays by their bytes, of which `repr` leaves most out."""
    parts = [grounded(part) for part in (key if type(key) is tuple else (key,))]
    return repr([hash(part.tobytes()) if isinstance(part, np.ndarray) else part for part in parts])


def _open() -> list[Any]:
    """The contexts that are open, from the innermost on; none where numbers are not known yet."""
    context: Any = current_context()
    found = []
    while context is not None and not context.home.is_abstract:
        found.append(context)
        context = context.outer
    return found


def _undone(contexts: list[Any]) -> list[Any]:
    """Those whose memory is put back, the outermost last, which has a log of all: the ones outside of it have none."""
    last = max((k for k, one in enumerate(contexts) if not isinstance(one, ForwardContext)), default=-1)
    return contexts[: last + 1]


def _put_back(contexts: list[Any]) -> None:
    """Undo what the outermost context has logged: memory of inner ones is made of its own, and so are tangents."""
    if not contexts:
        return
    for entry in reversed(contexts[-1].log):
        entry.undo()
    for context in contexts:
        for entry in context.log:
            for root in entry.woken():
                root.active = False
    for context in contexts[:-1]:
        for root, before in context.touched.items():
            root.shadow, root.owned, root.active = before
