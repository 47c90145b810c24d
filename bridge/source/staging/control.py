"""What staged code calls: its loops and branches, run as Python's own, or by what compiles the program.

A loop is tried as one loop of the compiled program. Where it cannot be one (`NotOneLoop`), it is unrolled: its turns
are compiled one after the other.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import sys
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, cast

import numpy as np

from bridge.arrays.buffer import weak
from bridge.arrays.unknown_text import UnknownText
from bridge.code_position import here, resolve
from bridge.errors import BridgeError, TraceError
from bridge.rewind.interpreter import current_context
from bridge.rewind.values import describes, is_abstract, note_plain
from bridge.source import asking, callees, targets
from bridge.source.iterating import elements
from bridge.source.numba import check_draw, is_range
from bridge.source.operations import READERS, Reader
from bridge.source.reaching import GOES_THROUGH
from bridge.source.reading import Staging, staged_code, twin
from bridge.source.special_methods import operand
from bridge.source.staging import effects, items, iterators, maybe, numbers
from bridge.source.staging.short_loops import MANY, may_hold_loops, repeated
from bridge.source.staging.stages import staged
from bridge.source.staging.truth import NotOneLoop, is_true, truth, unknown
from bridge.source.staging.watching import check_asked, checked, refuse
from bridge.source.state import variables_of

Names = tuple[str, ...]


class StagedReader(Reader):
    """What a staged statement asks."""

    __slots__ = ()

    def of(self, callee: Any) -> Any:
        """What is to be called, staged where it is a function of the program."""
        callee = maybe.given(callee)
        check_draw(callee)
        effects.check(callee)
        if type(callee) is BuiltinFunctionType and (callee in numbers.ROUNDED or callee in _ASKING):
            return numbers.ROUNDED.get(callee) or _ASKING[callee]
        if effects.moves_on(callee) or asking.gives_chance(callee):
            refuse(f"it calls {getattr(callee, '__name__', 'next')}(), which gives something else each time")
        if asking.is_asked(callee):
            control = _control()
            return callee if control is None else asking.asked(callee, _trace())
        read = callees.of(callee)
        found = staged_function(read)
        return checked(found) if found is read else found

    def elements(self, values: Any) -> Any:
        check_asked(values)
        return elements(values)

    def loop(
        self, iterable: Any, body: Any, live: Names, exposed: Names, stored: Names, stops: Names, is_last: bool = False
    ) -> None:
        """`for`; `is_last`: the variable that has the iterable is not read any more."""
        control = _control()
        if control is None:
            self._turns(iterable, body, stored, stops, 0)
            return
        holders = 0
        if stops and hasattr(type(iterable), "__next__"):
            held = [iterable]
            del iterable
            # The list has it, and so has the call.
            holders = sys.getrefcount(held[0]) - 2 - is_last
            iterable = held.pop()
        iterator = iterators.iterator_of(iterable)
        found = None if iterator is None else iterator.rest()
        if found is None or (not is_abstract(found.count) and found.count < 1):
            self._turns(iterable, body, stored, stops, 0, holders, is_last)
            return
        with repeated(found.count) as times:
            is_short = times <= MANY and not stops
            if is_short and not may_hold_loops(body):
                self._turns(iterable, body, stored, stops, 0)
                return
        try:
            found.finish(control.staged_loop(current_context(), found, body, live, exposed, stored, stops, is_short))
        except NotOneLoop as error:
            if is_abstract(found.count):
                raise cannot(error) from error
            if error.done == found.count:
                return
            done = error.done if iterator is not iterable else 0
            if not is_short:
                control.unrolling(current_context(), found.count, str(error))
                self._turns(iterable, body, stored, stops, done, holders, is_last)
                return
            _trace().unrolled.add(body.__code__)
            with repeated(found.count):
                self._turns(iterable, body, stored, stops, done, holders, is_last)

    def _turns(
        self, iterable: Any, body: Any, stored: Names, stops: Names, done: int, holders: int = 0, is_last: bool = False
    ) -> None:
        """The turns of a loop after the first `done`, one after the other."""
        check_asked(iterable)
        iterator: Any = iter(operand(elements(iterable)))
        control = _control() if stops else None
        ahead = None
        if control is not None:
            ahead = control.Ahead(current_context(), iterable, iterator, holders, int(is_last))
        step: Callable[[], Any] = partial(next, iterator)
        for number in itertools.count():
            try:
                flags = [] if ahead is None else _unknown_flags(body, stops)
                element = ahead.ask(step, _any_of(flags)) if ahead is not None and flags else step()
            except StopIteration:
                break
            if number >= done:
                if number:
                    self._turn(body, stops, stored, element)
                else:
                    body(element)
                if _has_stopped(body, stops):
                    break
        if ahead is not None:
            ahead.over()

    def repeat(self, test: Any, body: Any, live: Names, exposed: Names, stored: Names, stops: Names) -> None:
        """`while`."""
        control = _control()
        first = test()
        if control is not None and (unknown(first) or is_true(first)):
            try:
                control.staged_repeat(current_context(), test, body, live, exposed, stored, stops)
                return
            except NotOneLoop as error:
                if unknown(first):
                    raise cannot(error) from error
                control.unrolling(current_context(), None, str(error))
        turn: Callable[[], Any] = body
        while is_true(first):
            turn()
            turn = lambda: self._turn(body, stops, stored)  # noqa: E731
            if _has_stopped(body, stops):
                break
            first = test()

    def _turn(self, body: Any, stops: Names, stored: Names, *element: Any) -> None:
        """A later turn of an unrolled loop, which may have ended; before the first one, no flag of a loop is set."""
        run: Callable[[], Any] = lambda: body(*element)  # noqa: E731
        for flag in _unknown_flags(body, stops):
            run = _guarded(flag, run, body, stored)
        run()

    def branch(self, test: Any, then: Any, otherwise: Any, live: Names, exposed: Names, stored: Names) -> None:
        """`if`."""
        if not unknown(test):
            if is_true(test):
                then()
            elif otherwise is not None:
                otherwise()
            return
        try:
            test.place.context.home.control.staged_branch(
                current_context(), test, then, otherwise or _nothing, variables_of(then, stored), live
            )
        except NotOneLoop as error:
            raise cannot(error) from error

    def trying(self) -> None:
        """Errors of what follows may be caught by the program."""
        _count_tries(1)

    def tried(self) -> None:
        """It is over, perhaps by an error."""
        _count_tries(-1)
        maybe.check_error(sys.exception(), is_caught=True)

    def given(self, value: Any) -> Any:
        """What is read from an attribute, which may be unset."""
        return maybe.given(value)

    def keep(self, thing: Any, name: str, value: Any) -> Any:
        if isinstance(thing, type):
            maybe.check_default(thing, name)
        return super().keep(thing, name, value)

    def deleting(self, thing: Any, name: str) -> None:
        """Before an attribute is deleted."""
        maybe.deleting(thing, name)

    def returned(self, value: Any) -> Any:
        """What a function returns on a path that depends on values, perhaps."""
        control = _control()
        if control is not None:
            control.returned(current_context(), value)
        return value

    def choice(self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """`then if test else otherwise`."""
        if not unknown(test):
            return then() if is_true(test) else otherwise()
        try:
            return test.place.context.home.control.staged_choice(current_context(), test, then, otherwise)
        except NotOneLoop as error:
            raise cannot(error) from error

    def both(self, first: Any, second: Callable[[], Any]) -> Any:
        """`first and second`."""
        if not unknown(first):
            return second() if is_true(first) else first
        return self.choice(first, second, lambda: first)

    def either(self, first: Any, second: Callable[[], Any]) -> Any:
        """`first or second`."""
        if not unknown(first):
            return first if is_true(first) else second()
        return self.choice(first, lambda: first, second)

    def negated(self, value: Any) -> Any:
        """`not value`."""
        return weak(np.logical_not(truth(value))) if unknown(value) else not (is_true(value))

    def compared(self, operators: Names, first: Any, *rest: Callable[[], Any]) -> Any:
        """`first < second < third`."""
        right = rest[0]()
        found = numbers.compare(operators[0], first, right)
        if len(rest) == 1:
            return found
        return self.both(found, lambda: self.compared(operators[1:], right, *rest[1:]))

    def identical(self, left: Any, right: Any) -> Any:
        """`left is right`."""
        return numbers.identical(left, right)

    def counted(self, function: Any, is_last: bool = False) -> Any:
        """A function of Python's that may get numbers which are not known; `is_last`: as in `loop`."""
        if _control() is None:
            return self.of(function)
        try:
            known = numbers.LAST.get(function) if is_last else None
            known = known or numbers.COUNTED.get(range if is_range(function) else function)
            return checked(known) if known is not None else self.of(function)
        except TypeError:
            return self.of(function)

    def table(self, array: Any, *index: Any) -> Any:
        """What is read at an index that may not be known."""
        if not any(map(is_abstract, index)):
            return array
        return items.tracked(array) if type(array) is np.ndarray else items.table(array)

    def item(self, container: Any, key: Any) -> Any:
        """`container[key]`, for a key that is computed."""
        numbers.check_text(key)
        parts = key if type(key) is tuple else (key,)
        return self.seen(self.table(operand(self.seen(container)), *parts)[key])

    def text(self, text: str) -> str:
        """A text with values in it, which may not be known."""
        return UnknownText(text) if describes(text) else text

    def admits(self, name: str, function: Any, test: Any) -> Any:
        """Whether `function(value for ... if test)` gets the value, or what stands for it if it is not known."""
        return True if function is getattr(builtins, name) and unknown(test) else is_true(test)

    def joined(self, name: str, function: Any, test: Any, value: Callable[[], Any]) -> Any:
        """What `sum`, `any` or `all` gets in the place of a value for which it is not known whether it is there."""
        if not unknown(test):
            return value()
        if name == "sum":
            trace = test.place.context.home.trace
            refused = trace.refused
            try:
                return self.choice(test, value, lambda: 0)
            except TraceError:
                found = value()
                if not np.ndim(found):
                    raise
                # The sides of a branch have one shape: an array is computed, and chosen afterwards.
                trace.refused = refused
                return np.where(truth(test), found, 0)
        return self.both(test, value) if name == "any" else self.either(self.negated(test), value)

    def joining(self, name: str, function: Any, loop: Any) -> Any:
        """What runs `any(...)` or `all(...)` of a generator expression that binds names."""
        if function is getattr(builtins, name):
            return loop
        raise TraceError(
            f"{name}() is not Python's, and gets a generator expression that binds names",
            where=resolve(here()),
            remedy="call it by another name, or write a loop",
        )

    def made(self, thing: Any) -> Any:
        """A container that was made just now."""
        context = current_context()
        if context is not None and context.loan is not None:
            context.loan.watches.made(thing)
        return thing

    def changed(self, container: Any) -> Any:
        return targets.borrowed(container) if type(container) is np.ndarray else super().changed(container)


GOES_THROUGH.update((StagedReader.loop.__code__, StagedReader._turns.__code__))


def staged_function(function: Any) -> Any:
    """A function of the program that was read, staged; anything else as it is."""
    if type(function) is FunctionType:
        code = staged_code(function.__code__, function.__globals__)
        return function if code is None else _noted(twin(function, code))
    if type(function) is MethodType and type(function.__func__) is FunctionType:
        code = staged_code(function.__func__.__code__, function.__func__.__globals__)
        return function if code is None else MethodType(_noted(twin(function.__func__, code)), function.__self__)
    return function


def _noted(function: Any) -> Any:
    """A function of the program that is part of what is compiled, and with it the names that it reads."""
    note_plain(function)
    return function


def _control() -> Any:
    """Who runs loops and branches of the program; None if Python does."""
    context = current_context()
    return None if context is None else context.home.control


def _trace() -> Any:
    """The program that is compiled."""
    return cast("Any", current_context()).home.trace


def _count_tries(by: int) -> None:
    context = current_context()
    if context is not None and context.home.control is not None:
        context.home.trace.tries += by


def _nothing() -> None:
    pass


def _guarded(flag: Any, run: Callable[[], Any], body: Any, stored: Names) -> Callable[[], Any]:
    def guarded() -> None:
        control = flag.place.context.home.control
        try:
            control.staged_branch(current_context(), flag, _nothing, run, variables_of(body, stored), stored)
        except NotOneLoop as error:
            raise cannot(error) from error

    return guarded


def _unknown_flags(body: Any, stops: Names) -> list[Any]:
    """The flags of which it is not known whether they have ended a loop."""
    return [flag for flag in (one.get() for one in variables_of(body, stops)) if unknown(flag)]


def _any_of(flags: list[Any]) -> Any:
    """Whether one of some flags is set."""
    return functools.reduce(np.logical_or, map(truth, flags))


def _has_stopped(body: Any, stops: Names) -> bool:
    flags = [one.get() for one in variables_of(body, stops)]
    return any(not unknown(flag) and is_true(flag) for flag in flags)


def cannot(error: NotOneLoop) -> BridgeError:
    """The error of a loop or a branch that depends on values and cannot be one of the compiled program."""
    cause = error.__cause__
    if isinstance(cause, BridgeError):
        return cause
    return TraceError(
        f"a loop or a branch that depends on values cannot be compiled: {error}",
        where=resolve(here()),
        remedy='write it so that each turn, and each side, leaves values of the same kind; or use engine="native"',
    )


def _vars(thing: Any) -> Any:
    """`vars(thing)`."""
    maybe.check_certain(thing)
    return vars(thing)


def _dir(thing: Any) -> Any:
    """`dir(thing)`."""
    maybe.check_certain(thing)
    return dir(thing)


READER = StagedReader()
"""The one that stands in the constants of staged code."""

_ASKING: dict[Any, Callable[..., Any]] = {
    hasattr: maybe.has, getattr: partial(maybe.get, READER.choice), vars: _vars, dir: _dir,
}  # fmt: skip
"""What asks for attributes by their names."""

READERS.append(READER)
Staging.reader = READER
Staging.staged = staged
