"""Elements that are asked for although the program may have stopped before: of a loop, `any` or `all` that values end.

A compiled program computes them all, and does not use those behind the one where it stops. That is the same program if
asking for an element changes nothing, and if nobody goes on with the iterator; what asking raises is raised only if the
program gets there. Anything else is refused.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CellType, FunctionType, GeneratorType, MethodType
from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import BridgeError, TraceError
from bridge.rewind.interpreter import Listener
from bridge.rewind.roots import serial_now
from bridge.source.borrowing import LentOutside
from bridge.source.staging.items import Numbered
from bridge.source.staging.truth import NotOneLoop
from bridge.source.state import Variable, Watch
from bridge.xla.loops.causes import OF_THE_MACHINE
from bridge.xla.loops.surroundings import Surroundings


class Ahead:
    """Asks an iterator for elements that the program may not get to.

    Parameters
    ----------
    iterator : what the program iterates over, if that is an iterator, or the one that was made of it.
    holders : how many others have the iterator, who may go on with it.
    """

    def __init__(self, context: Any, iterator: Any, holders: int) -> None:
        self.context = context
        self.iterator = iterator
        self.holders = holders
        self.is_asked = False
        self.numbered: dict[int, Numbered] = {}

    def ask(self, step: Callable[[], Any], stopped: Any) -> Any:
        """What `step()` returns, which asks for the next element; StopIteration if there is none, or it raises.

        `stopped` is a boolean that is not known: whether the program does not get there.
        """
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
        around = Surroundings([*functions, *(value for _, value in cells)])
        raised: Exception | None = None
        with self._heard(since, watch), self._watched(watch):
            try:
                found = step()
            except StopIteration:
                raise
            except (BridgeError, *OF_THE_MACHINE):
                raise
            except NotOneLoop as error:
                raise self._refused(str(error)) from error
            except LentOutside as error:
                raise self._refused("it writes into an array that was there before") from error
            except Exception as error:
                raised = error
            finally:
                around.note_changes(watch)
                for cell, held in cells:
                    if _held(cell) is not held:
                        watch.add(Variable("a variable of an enclosing function", cell), held)
                self._check_changes(watch)
        if raised is not None:
            if trace.tries:
                raise self._refused(f"it raises {type(raised).__name__}, which the program may catch") from raised
            trace.faults.check_raises(np.logical_not(stopped), raised)
            raise StopIteration
        if fault.contents is not before and not trace.is_dry:
            fault.contents = jnp.where(trace.truth(stopped), before, fault.contents)
        return found

    def over(self) -> None:
        """The loop is over: how far numbered iterators are that it has asked, nobody knows."""
        for one in self.numbered.values():
            one.lose()

    def _numbered(self) -> list[Numbered]:
        """The numbered iterators that it asks."""
        owned, others = _owned(self.iterator)
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
    def _heard(self, since: int, watch: Watch) -> Iterator[None]:
        before = self.context.listener
        self.context.listener = _Writes(since, watch, before)
        try:
            yield
        finally:
            self.context.listener = before

    def _check_left(self) -> None:
        """Raise if the program may go on with an iterator of which nobody will know how far it is."""
        if isinstance(self.iterator, Numbered):
            return
        _, others = _owned(self.iterator)
        if self.holders > 0 or any(not isinstance(one, Numbered) for one in others):
            raise TraceError(
                f"a loop, any() or all() may leave a {type(self.iterator).__name__} early, at an element that depends on "
                "values: what is left of it is not known while the program is compiled, and the program may go on with it",
                where=resolve(here()),
                remedy='iterate over a list of the elements (elements = list(...)); or use engine="native"',
            )

    def _check_changes(self, watch: Watch) -> None:
        """Raise if asking has changed what others than the iterator have."""
        if watch.refused is not None:
            raise self._refused(watch.refused)
        if watch.parts:
            owned, _ = _owned(self.iterator)
            for part, _ in watch.parts.values():
                thing = part.cell if isinstance(part, Variable) else part.kept.thing
                if id(thing) not in owned:
                    raise self._refused(f"it changes {part.name}")

    def _refused(self, reason: str) -> TraceError:
        return TraceError(
            "a loop, any() or all() may stop at an element that depends on values, and what comes next does more than "
            f"to give an element: {reason}",
            where=resolve(here()),
            remedy="write a for loop whose body does that, with an if and a break; or use engine=\"native\"",
        )


class _Writes:
    """Notes that memory is written which is older than `since`."""

    def __init__(self, since: int, watch: Watch, other: Listener | None) -> None:
        self.since, self.watch, self.other = since, watch, other

    def heard(self, event: str, *what: Any) -> None:
        if self.other is not None:
            self.other.heard(event, *what)
        for target in _targets(event, what):
            if target.place.root.serial <= self.since:
                self.watch.refused = f"it writes into an array of shape {target.shape}"


def _targets(event: str, what: Any) -> Iterable[Any]:
    if event == "write":
        return what[:1]
    if event in ("update", "scatter_add"):
        return what[1:2]
    return what[1] if event == "mutated" else ()


def _owned(iterator: Any) -> tuple[dict[int, Any], list[Any]]:
    """What nobody but an iterator has, by identity, and which iterators it asks that others have, too.

    Each thing is counted as often as it is found in what is owned: nobody else has it if it has no other references.
    """
    # The first one has no other references: those of the others are compared with its.
    found: dict[int, Any] = {0: object()}
    counts = Counter[int]()
    owned: dict[int, Any] = {id(iterator): iterator}
    waiting = [iterator]
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


def _functions_of(iterator: Any) -> Iterator[FunctionType | MethodType]:
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


def _held(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable without a value
        return None
