"""Elements that are asked for although the program may have stopped before: of a loop, `any` or `all` that values end.

A compiled program computes them all, and does not use those behind the one where it stops. That is the same program if
asking for an element changes nothing, and if nobody goes on with the iterator; what asking raises is raised only if the
program gets there. Anything else is refused.
"""

from __future__ import annotations

import collections
import gc
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from types import CellType, FunctionType, MethodType
from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import BridgeError, TraceError
from bridge.rewind.fingerprint import but_for_a_fingerprint
from bridge.rewind.interpreter import Listener
from bridge.rewind.roots import serial_now
from bridge.source.borrowing import LentOutside
from bridge.source.iterating import Elements
from bridge.source.special_methods import StandIn
from bridge.source.staging.iterators import Numbered
from bridge.source.staging.truth import NotOneLoop
from bridge.source.state import Watch
from bridge.state.slots import Variable
from bridge.trees import containers_of
from bridge.xla.loops.may_alias import others_of
from bridge.xla.loops.side_effects import ReachableState
from bridge.xla.loops.trial_errors import OF_THE_MACHINE

_PLAIN = (
    list,
    tuple,
    dict,
    set,
    frozenset,
    range,
    str,
    collections.deque,
    Elements,
    *map(type, ({}.keys(), {}.values(), {}.items())),
)


class Ahead:
    """Asks an iterator for elements that the program may not get to.

    Parameters
    ----------
    iterable : what the program iterates over.
    iterator : what was made of it, if it is no iterator itself.
    holders : how many others have the iterable, who may go on with it.
    spare : how many of those who have an object of the program's that is one will not.
    """

    def __init__(self, context: Any, iterable: Any, iterator: Any, holders: int, spare: int = 0) -> None:
        self.context = context
        is_own = hasattr(type(iterable), "__next__")
        self.iterator = iterable if is_own else iterator
        self.roots = [self.iterator, iterator]
        self.thing = self.iterator.thing if isinstance(self.iterator, StandIn) else self.iterator
        # This package is none of them.
        self.holders = holders - sum(one.thing is iterable for one in self._kept()) if is_own else 0
        self.spare = {id(self.thing): spare}
        # These give their elements without running anything.
        self.is_plain = type(iterable) in _PLAIN or hasattr(iterable, "view_as")
        self.is_asked = False
        self.numbered: dict[int, Numbered] = {}

    def ask(self, step: Callable[[], Any], stopped: Any) -> Any:
        """What `step()` returns, which asks for the next element; StopIteration if there is none, or it raises.

        `stopped` is a boolean that is not known: whether the program does not get there.
        """
        if self.is_plain:
            return step()
        if not self.is_asked:
            self.is_asked = True
            self._check_left()
        trace = self.context.home.trace
        fault = trace.faults.cells[0]
        before, since, watch = fault.contents, serial_now(), Watch()
        # It may move these on: whoever else has them gets to know it afterwards.
        self.numbered.update((id(one), one) for one in self._numbered())
        watch.fresh.update(self.numbered)
        functions = list(_functions_of(self.iterator))
        cells = [(cell, _held(cell)) for one in functions for cell in one.__closure__ or ()]
        around = ReachableState([*functions, *(value for _, value in cells)])
        held: list[Any] = []
        raised: Exception | None = None
        with self._heard(since) as written, self._watched(watch):
            try:
                held.append(step())
            except (StopIteration, BridgeError, *OF_THE_MACHINE) as error:
                raised = error
            except NotOneLoop as error:
                raise self._refused(str(error)) from error
            except LentOutside as error:
                raise self._refused("it writes into an array that was there before") from error
            except Exception as error:
                if trace.tries:
                    raise self._refused(f"it raises {type(error).__name__}, which the program may catch") from error
                trace.faults.check_raises(np.logical_not(stopped), error)
                raised = StopIteration()
        around.note_changes(watch)
        for cell, was in cells:
            if _held(cell) is not was:
                watch.add(Variable("a variable of an enclosing function", cell), was)
        self._check_changes(watch, written, [held, watch, around])
        if raised is not None:
            raise raised
        if fault.contents is not before and not trace.is_dry:
            fault.contents = jnp.where(trace.truth(stopped), before, fault.contents)
        return held.pop()

    def over(self) -> None:
        """The loop is over: how far numbered iterators are that it has asked, nobody knows."""
        for one in self.numbered.values():
            one.lose()

    def _numbered(self) -> list[Numbered]:
        """The numbered iterators that it asks."""
        owned, others = _owned(self.roots, self.spare)
        found = [one for one in (*owned.values(), *others) if isinstance(one, Numbered)]
        return [leaf for one in found for leaf in one.leaves()]

    @contextmanager
    def _watched(self, watch: Watch) -> Iterator[None]:
        if self.context.loan is None:
            yield
            return
        with self.context.loan.watches.watching(watch):
            yield

    @contextmanager
    def _heard(self, since: int) -> Iterator[dict[Any, Any]]:
        """Inside, note what is written that is older than `since`, by the root."""
        before = self.context.listener
        writes = self.context.listener = _Writes(since, before)
        try:
            yield writes.written
        finally:
            self.context.listener = before

    def _check_left(self) -> None:
        """Raise if the program may go on with an iterator of which nobody will know how far it is."""
        if isinstance(self.iterator, Numbered):
            return
        _, others = _owned([*self.roots, *self._kept()], self.spare)
        if self.holders > 0 or any(not isinstance(one, Numbered) for one in others):
            raise TraceError(
                f"a loop, any() or all() may leave a {type(self.thing).__name__} early, at an element that depends on "
                "values: the program may go on with it, and what is left of it is not known while that is compiled",
                where=resolve(here()),
                remedy='iterate over a list of the elements (elements = list(...)); or use engine="native"',
            )

    def _check_changes(self, watch: Watch, written: dict[Any, Any], own: list[Any]) -> None:
        """Raise if asking has changed what others than the iterator, and the element that it gave, have."""
        if watch.refused is not None:
            raise self._refused(watch.refused)
        if watch.parts:
            owned, _ = _owned([*self.roots, *own, *self._kept()], self.spare)
            for part, _ in watch.parts.values():
                thing = part.thing
                if id(thing) not in owned:
                    raise self._refused(f"it changes {part.name}")
        for root, shape in written.items():
            loan = self.context.loan
            named = {root, *others_of(self.context, root)}
            if loan is None or loan.names.reaches(named, self.roots) or any(_shows(one, named) for one in own[0]):
                raise self._refused(f"it writes into an array of shape {shape}")

    def _kept(self) -> Iterator[Any]:
        """What this package keeps of objects of the program."""
        context = self.context
        while context is not None:
            if context.loan is not None:
                yield from context.loan.kept.values()
            context = context.outer

    def _refused(self, reason: str) -> TraceError:
        return TraceError(
            "a loop, any() or all() may stop at an element that depends on values, and to ask for the next one does "
            f"more than to give it: {reason}",
            where=resolve(here()),
            remedy='write a for loop whose body does that, and breaks; or use engine="native"',
        )


class _Writes:
    """Notes which memory is written that is older than `since`."""

    def __init__(self, since: int, other: Listener | None) -> None:
        self.since, self.other = since, other
        self.written: dict[Any, Any] = {}

    def but_for_a_fingerprint(self) -> Listener:
        """The same, of whom the fingerprint of a body around is no part."""
        found = _Writes(self.since, but_for_a_fingerprint(self.other))
        found.written = self.written
        return found

    def heard(self, event: str, *what: Any) -> None:
        if self.other is not None:
            self.other.heard(event, *what)
        for target in _targets(event, what):
            if target.place.root.serial <= self.since:
                self.written[target.place.root] = target.shape


def _targets(event: str, what: Any) -> Iterable[Any]:
    if event == "write":
        return what[:1]
    if event in ("update", "scatter_add"):
        return what[1:2]
    return what[1] if event == "mutated" else ()


def _owned(roots: Iterable[Any], spare: dict[int, int]) -> tuple[dict[int, Any], list[Any]]:
    """What nobody but some objects has, themselves included, by identity; and which iterators in it others have, too.

    References are counted: those that are found in what is owned, and `spare` ones that do not matter.
    """
    # The first one has no other references: those of the others are compared with its.
    found: dict[int, Any] = {0: object()}
    counts = Counter(spare)
    owned: dict[int, Any] = {id(root): root for root in roots}
    waiting = list(owned.values())
    while waiting and len(found) < _MOST:
        for part in gc.get_referents(waiting.pop()):
            found[id(part)] = part
            counts[id(part)] += 1
        part, extra = None, 0
        for key in list(found):
            references = sys.getrefcount(found[key])
            if key == 0:
                extra = references
            elif key not in owned and references - extra <= counts[key]:
                owned[key] = found[key]
                waiting.append(found[key])
    return owned, [one for key, one in found.items() if key not in owned and _is_iterator(one)]


_MOST = 1000


def _is_iterator(thing: Any) -> bool:
    return not isinstance(thing, type) and hasattr(type(thing), "__next__")


def _functions_of(iterator: Any) -> Iterator[Any]:
    """The functions of the program that run where an iterator is asked."""
    waiting, seen = [iterator], set[int]()
    while waiting and len(seen) < _MOST:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, FunctionType):
            yield one
        elif isinstance(one, MethodType):
            yield one.__func__
        elif _is_iterator(one) and not isinstance(one, Numbered):
            waiting += gc.get_referents(one)


def _shows(value: Any, roots: Container[Any]) -> bool:
    """Whether a value, or one in a container, shows memory of these roots."""
    return any(leaf.place.root in roots for leaf in containers_of(value)[0] if hasattr(leaf, "place"))


def _held(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable without a value
        return None
