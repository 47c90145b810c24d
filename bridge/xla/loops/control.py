"""`fori_loop`, `while_loop` and `cond` in a program that is compiled: loops and branches as Python's own, but stricter.

A loop carries its value in a variable, as `value = body(i, value)` in a `for` statement does, and so do the variables,
attributes and elements of containers that the body changes. What a body returns must have the containers, shapes and
dtypes of the first value. A loop is unrolled only where what it carries changes from iteration to iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import ArgumentError, TraceError
from bridge.rewind.closures import Closure
from bridge.rewind.values import is_abstract
from bridge.source.staging.control import cannot
from bridge.source.staging.items import Counting
from bridge.source.staging.iterators import Along
from bridge.source.staging.truth import NotOneLoop, is_true, unknown
from bridge.state.slots import Variable
from bridge.xla.loops.python_branches import staged_choice
from bridge.xla.loops.python_loops import staged_loop, unrolling
from bridge.xla.loops.python_whiles import check_condition, staged_repeat
from bridge.xla.loops.strict import LoopValue, OtherObject, Results
from bridge.xla.loops.taped import of_the_program
from bridge.xla.loops.trials import with_lent

_VALUE = ("value",)
_NAMES = _VALUE, _VALUE, _VALUE, ()
"""The variables of an iteration: those that live after the loop, that it reads, that it binds, and that end it."""
_MANY = 2**62


def fori_loop(context: Any, lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """`bridge.fori_loop`, as one XLA loop."""
    for name, bound in (("lower", lower), ("upper", upper)):
        if not is_abstract(bound) and not isinstance(bound, (int, np.integer)):
            raise ArgumentError(f"{name}={bound!r} of a fori_loop is no integer", remedy="give an integer")
    is_known = not is_abstract(lower) and not is_abstract(upper)
    if is_known and upper <= lower:
        return init
    run = _noting(context, body, "the body of a loop")

    def looped(values: LoopValue) -> Any:
        value = values.first

        def turn(i: Any) -> None:
            nonlocal value
            value = values.next(value, run, i)

        own = of_the_program(_told_apart(turn, body))
        try:
            staged_loop(context, Along(Counting(lower, upper, 1)).rest(), own, *_NAMES)
        except NotOneLoop as error:
            _raise_cause(error)
            if not is_known:
                raise cannot(error) from error
            unrolling(context, upper - lower, str(error))
            value = values.unrolled(value)
            for i in range(lower + error.done, upper):
                own(i)
        found = values.of(value)
        if not is_known:
            _note_ambiguous(context, values.ambiguous(found))
        return found

    return _carried(looped, init)


def while_loop(
    context: Any, condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, limit: int | None
) -> Any:
    """`bridge.while_loop`, as one XLA loop."""
    asks = _noting(context, condition, "the condition of a while_loop")
    run = _noting(context, body, "the body of a loop")

    def looped(values: LoopValue) -> Any:
        value = values.first

        def turn() -> None:
            nonlocal value
            value = values.next(value, run)

        def test() -> Any:
            return asks(values.of(value))

        own, wanted = of_the_program(_told_apart(turn, body)), _told_apart(test, condition)
        try:
            with_lent(context, lambda: check_condition(context, wanted))
        except NotOneLoop as error:
            _raise_cause(error)
            raise _refused("the condition of a while_loop", str(error)) from error
        try:
            staged_repeat(context, wanted, own, *_NAMES, limit)
        except NotOneLoop as error:
            _raise_cause(error)
            if unknown(wanted()):
                raise cannot(error) from error
            unrolling(context, None, str(error))
            value = values.unrolled(value)
            _unrolled(wanted, own, limit)
        found = values.of(value)
        _note_ambiguous(context, values.ambiguous(found))
        return found

    return _carried(looped, init)


def _unrolled(test: Callable[[], Any], body: Callable[[], None], limit: int | None) -> None:
    for _ in range(_MANY if limit is None else limit):
        if not is_true(test()):
            return
        body()
    if is_true(test()):
        raise ArgumentError(f"while_loop wants more than limit={limit} steps", remedy="raise limit")


def cond(context: Any, predicate: Any, true_branch: Any, false_branch: Any, operands: tuple[Any, ...]) -> Any:
    """`bridge.cond`: both branches are compiled, and one runs."""
    if not is_abstract(predicate):
        return true_branch(*operands) if bool(predicate) else false_branch(*operands)
    branches = [_noting(context, one, "a branch of a cond") for one in (true_branch, false_branch)]

    def chosen(results: Results) -> Any:
        try:
            found = staged_choice(
                context,
                predicate,
                _told_apart(lambda: results.of_side(0, branches[0](*operands)), true_branch),
                _told_apart(lambda: results.of_side(1, branches[1](*operands)), false_branch),
            )
        except NotOneLoop as error:
            _raise_cause(error)
            raise cannot(error) from error
        found = results.of(found)
        _note_ambiguous(context, results.ambiguous(found))
        return found

    results = Results()
    while True:
        try:
            return chosen(results)
        except OtherObject as error:
            results = Results(results.opened | {error.number})


def _carried(looped: Callable[[LoopValue], Any], init: Any) -> Any:
    values = LoopValue(init)
    while True:
        try:
            return looped(values)
        except OtherObject as error:
            values = LoopValue(init, values.opened | {error.number})


def _noting(context: Any, function: Callable[..., Any], what: str) -> Callable[..., Any]:
    """A function that takes note of the variables of enclosing functions which it changes."""
    code, closure = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    names = {id(cell): name for cell, name in zip(closure, getattr(code, "co_freevars", ()), strict=False)}
    cells = [cell for cell, _ in Closure(function).cells]
    variables = [Variable(names.get(id(cell), "a variable of an enclosing function"), cell) for cell in cells]

    def run(*args: Any) -> Any:
        before = [slot.get() for slot in variables]
        try:
            return function(*args)
        finally:
            for slot, value in zip(variables, before, strict=True):
                if slot.get() is not value:
                    _note(context, slot, value, what)

    return run


def _note(context: Any, slot: Variable, before: Any, what: str) -> None:
    if context.loan is None:
        raise _refused(what, f"it changes {slot.name}, which it does not return")
    for watch in context.loan.watches.open:
        watch.add(slot, before)


def _note_ambiguous(context: Any, objects: Sequence[Any]) -> None:
    """Take note of objects of which some may be one: their attributes cannot be set from now on."""
    if context.loan is not None:
        context.loan.watches.ambiguous.update((id(one), (one, here())) for one in objects)


def _told_apart(run: Any, function: Any) -> Any:
    """A function that runs another one, with code that differs from that of those which run others."""
    while not hasattr(function, "__code__"):
        inner = next((getattr(function, name) for name in _INNER if hasattr(function, name)), None)
        if inner is None:
            return run
        function = inner
    run.__code__ = run.__code__.replace(co_consts=(*run.__code__.co_consts, function.__code__))
    return run


_INNER = ("__wrapped__", "__func__", "func")


def _raise_cause(error: NotOneLoop) -> None:
    """Raise what a body has raised, if that is why it is no loop."""
    cause: BaseException | None = error
    while isinstance(cause, NotOneLoop) and not isinstance(cause, OtherObject):
        cause = cause.__cause__
    if cause is not None:
        raise cause


def _refused(what: str, why: str) -> TraceError:
    """The error of something that changes what it must not."""
    return TraceError(
        f"{what} changes more than it returns, and would do so while it is compiled, not turn by turn: {why}",
        where=resolve(here()),
        remedy='carry it in the value: take it as a part of the argument, and return it; or use engine="native"',
    )
