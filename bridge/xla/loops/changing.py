"""Bodies, branches and conditions of `fori_loop`, `while_loop` and `cond` that change more than they return.

One that only writes memory and returns values is run as it is (`control`). One that counts in a variable of an
enclosing function, fills a list, or returns an array that has another name hands state on from turn to turn: it is run
as the body of a loop of the program's own, which carries names and objects, or unrolls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import TraceError
from bridge.rewind.closures import Closure
from bridge.rewind.values import is_abstract, lowered_to
from bridge.source.staging.control import READER
from bridge.source.staging.items import Counting
from bridge.source.staging.truth import NotOneLoop, is_true, truth, unknown
from bridge.source.state import Watch
from bridge.state.slots import Variable
from bridge.xla.loops.dry_runs import dry, unheard
from bridge.xla.loops.surroundings import Surroundings
from bridge.xla.loops.trials import with_lent
from bridge.xla.tracing.integers import Bounds


class Changing(Exception):
    """A body changes more of the program than it returns; says what, and which variables around it."""

    def __init__(self, what: str, variables: Sequence[Variable] = ()) -> None:
        super().__init__(what)
        self.variables = variables


def tried(context: Any, function: Closure, attempt: Callable[[Any], None], bounds: Bounds = (None, None)) -> set[Any]:
    """Run `attempt`, which calls `function`, without effect.

    Returns
    -------
    The memory that it writes, of the outermost context.

    Raises
    ------
    Changing : it changes variables or objects of the program.
    """
    loan = context.loan
    watch = Watch()
    variables = [Variable("a variable of an enclosing function", cell) for cell, _ in function.cells]
    changed: dict[Any, Variable] = {}
    grounds: set[Any] = set()

    def once(i: Any) -> None:
        around = Surroundings([function.function, *(value for _, value in function.cells)])
        watch.iterators = around.iterators
        try:
            attempt(i)
        finally:
            around.note_changes(watch)
            for variable, (_, before) in zip(variables, function.cells, strict=True):
                if variable.get() is not before:
                    watch.add(variable, before)
                    changed[variable.key] = variable
            watch.put_back()
        around.check_moved()

    try:
        watching = nullcontext() if loan is None else loan.watches.watching(watch)
        with watching, unheard(context.home.trace):
            with_lent(context, lambda: dry(context, once, bounds, grounds), unwatched=True)
    except NotOneLoop as error:
        raise Changing(str(error), list(changed.values())) from error
    if watch.parts or watch.refused is not None:
        names = ", ".join(place.name for place, _ in watch.parts.values())
        raise Changing(watch.refused or f"it changes {names}", list(changed.values()))
    return grounds.difference(one.root for one in context.home.trace.faults.cells)


def ground_of(root: Any) -> Any:
    """The memory of the outermost context that a root is made of."""
    while hasattr(root.held, "place"):
        root = root.held.place.root
    return root


def fori_loop(context: Any, lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any, why: Changing) -> Any:
    """`for i in range(lower, upper): value = body(i, value)`, as a loop of the program's."""
    _check_read(context, why)
    value = init

    def turn(i: Any) -> None:
        nonlocal value
        _announce(context, why)
        value = body(i, value)

    known = not is_abstract(lower) and not is_abstract(upper)
    READER.loop(range(lower, upper) if known else Counting(lower, upper, 1), _own(turn, body), *_NAMES, ())
    return value


def while_loop(
    context: Any,
    condition: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    limit: int | None,
    why: Changing,
) -> Any:
    """`while condition(value): value = body(value)`, as a loop of the program's."""
    _check_read(context, why)
    value, turns = init, 0

    def turn() -> None:
        nonlocal value, turns
        _announce(context, why)
        value = body(value)
        turns += 1

    def test() -> Any:
        wanted = condition(value)
        wanted = truth(wanted) if unknown(wanted) else np.bool_(is_true(wanted))
        return wanted if limit is None else np.logical_and(wanted, turns < limit)

    names = ("value", "turns")
    READER.repeat(test, _own(turn, body), names, names, names, ())
    if limit is not None:
        trace = context.home.trace
        trace.faults.check_limit(limit, lowered_to(trace, condition(value)))
    return value


_NAMES = (("value",), ("value",), ("value",))
"""The variables of a turn: which live after the loop, which it reads, which it binds."""


def _own(turn: Any, body: Any) -> Any:
    """A turn whose code is told from that of other bodies."""
    while not hasattr(body, "__code__"):
        inner = getattr(body, "__wrapped__", None) or getattr(body, "__func__", None) or getattr(body, "func", None)
        if inner is None:
            return turn
        body = inner
    code = body.__code__
    turn.__code__ = turn.__code__.replace(co_name=code.co_name, co_firstlineno=code.co_firstlineno)
    return turn


def choice(context: Any, predicate: Any, branches: Sequence[Callable[[], Any]], why: Changing) -> Any:
    """One branch or the other, as those of the program's own."""
    _check_read(context, why, "a branch of a cond")

    def announcing(branch: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            _announce(context, why)
            return branch()

        return run

    return READER.choice(predicate, *map(announcing, branches))


def _announce(context: Any, why: Changing) -> None:
    """Let whoever watches know of the variables that are about to change."""
    for watch in context.loan.watches.open:
        for variable in why.variables:
            watch.add(variable, variable.get())


def _check_read(context: Any, why: Changing, what: str = "the body of a loop") -> None:
    """Raise if the program is not read: what it changes cannot be followed."""
    if context.loan is None:
        raise refused(what, why)


def refused(what: str, why: Exception) -> TraceError:
    """The error of something that changes what it must not."""
    return TraceError(
        f"{what} changes more than it returns, and would do so while it is compiled, not turn by turn: {why}",
        where=resolve(here()),
        remedy='carry it in the value: take it as a part of the argument, and return it; or use engine="native"',
    )
