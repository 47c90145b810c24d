"""Trials: parts of a program run without effect on memory, on variables and on the program's objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from bridge.errors import TraceError
from bridge.rewind.closures import Closure
from bridge.rewind.fingerprint import Fingerprint
from bridge.rewind.roots import serial_now
from bridge.source.borrowing import LentOutside
from bridge.source.staging.truth import NotOneLoop
from bridge.source.state import Moment, Place, Watch
from bridge.xla.loops.dry_runs import dry, unheard
from bridge.xla.loops.may_alias import all_known
from bridge.xla.loops.side_effects import ReachableState
from bridge.xla.loops.trial_cache import PlanMismatch
from bridge.xla.loops.trial_errors import OF_THE_MACHINE, check_cause, is_of_the_program, pass_on
from bridge.xla.tracing.integers import Bounds


class TrialPart:
    """A part of a program that runs several times, each time with the program's state as it was when this was made."""

    def __init__(self, context: Any, run: Callable[[Any], Any], places: Sequence[Place]) -> None:
        self.context = context
        self.run = run
        self.places: list[Place] = []
        self.before: list[Any] = []
        self.written: set[Any] = set()
        self.add((place, place.get()) for place in places)
        self.closure = Closure(run)
        self.moment = Moment(context)
        self.merged = dict(context.merged)
        self.iterators: dict[int, Any] | None = None

    def _around(self) -> ReachableState:
        """What it can reach."""
        return ReachableState([self.run, *(value for _, value in self.closure.cells)])

    def add(self, places: Iterable[tuple[Place, Any]]) -> None:
        """Take note of places that it binds or changes, and of what they hold before it runs."""
        for place, before in places:
            self.places.append(place)
            self.before.append(before)

    @contextmanager
    def state(self) -> Iterator[None]:
        """Inside, variables and objects are as they were; afterwards, as they are now."""
        trace = self.context.home.trace
        with ExitStack() as stack:
            trace.parts += 1
            stack.callback(_left, trace)
            # What names stand for is known as it was, too, and what is found out stays known.
            later, self.context.merged = self.context.merged, dict(self.merged)
            stack.callback(_known_again, self.context, later)
            stack.enter_context(self.moment.again())
            stack.enter_context(self.closure.variables.restored())
            for place, before in zip(self.places, self.before, strict=True):
                now = place.get()
                stack.callback(place.set, now)
                if now is not before:
                    place.set(before)
            yield

    @contextmanager
    def watched(self, expected: set[Any]) -> Iterator[None]:
        """Inside, it may change only the expected parts of the program's objects; PlanMismatch if it changes others."""
        loan = self.context.loan
        if loan is None:
            yield
            return
        watch = Watch()
        if self.iterators is None:
            self.iterators = self._around().iterators
        watch.iterators = self.iterators
        with loan.watches.watching(watch):
            yield
        if watch.refused is not None or not watch.parts.keys() <= expected:
            watch.put_back()
            raise PlanMismatch

    @contextmanager
    def heard(self, since: int) -> Iterator[None]:
        """Inside, take note of what the context is told; a trial around this one hears nothing of it."""
        before, self.context.listener = self.context.listener, None
        self.fingerprint = Fingerprint(since, None)
        try:
            with self.fingerprint.listening(self.context), unheard(self.context.home.trace):
                yield
        finally:
            self.context.listener = before

    def tried(
        self, bounds: Bounds, before: Callable[[Any], Any], after: Callable[[], Any]
    ) -> tuple[Any, Any, int, Watch]:
        """Run it without effect.

        Returns
        -------
        What `before(i)` and `after()` returned, which are called around it; a number that the memory which it made
        exceeds; and what it changed of objects that were there before. The fingerprint is that of the first two.
        """
        try:
            return self._tried(bounds, before, after)
        except NotOneLoop as error:
            cause = error.__cause__
            # A signal's handler may leave by sys.exit(), too.
            if isinstance(cause, OF_THE_MACHINE) or not isinstance(cause, (Exception, type(None))):
                self.check_again(cause, bounds, before, after)
            raise

    def check_again(
        self,
        raised: BaseException,
        bounds: Bounds = (None, None),
        before: Callable[[Any], Any] = lambda i: None,
        after: Callable[[], Any] = lambda: None,
    ) -> None:
        """Pass on what it has raised, if it does not do so each time: then it is nothing that the program says."""
        try:
            self._tried(bounds, before, after)
        except NotOneLoop as error:
            if type(error.__cause__) is type(raised):
                return
        pass_on(self.context, raised)

    def _tried(
        self, bounds: Bounds, before: Callable[[Any], Any], after: Callable[[], Any]
    ) -> tuple[Any, Any, int, Watch]:
        since = serial_now()
        found: list[Any] = [None, None]
        watch = Watch()
        loan = self.context.loan

        around: ReachableState | None = None

        def attempt(i: Any) -> None:
            nonlocal around
            with self.state():
                try:
                    with self.heard(since):
                        found[0] = before(i)
                        around = self._around()
                        self.iterators = watch.iterators = around.iterators
                        self.run(i)
                    found[1] = after()
                finally:
                    if around is not None:
                        around.note_changes(watch)
                    watch.put_back()

        chain = [(one, one.escaped, dict(one.merged)) for one in _chain(self.context)]
        trace = self.context.home.trace
        refused = trace.refused
        try:
            if loan is None:
                self.written = dry(self.context, attempt, bounds)
            else:
                with loan.untouched(), loan.watches.watching(watch):
                    self.written = dry(self.context, attempt, bounds)
        except BaseException as error:
            if not is_of_the_program(error):
                raise
            for one, escaped, merged in chain:
                one.escaped, one.merged = escaped, merged
            trace.refused = refused
            check_cause(self.context, error)
            if around is not None and watch.refused is None:
                around.check_moved(error)
            raise NotOneLoop(_short(error)) from error
        if around is not None:
            around.check_moved()
        if watch.refused is not None:
            raise NotOneLoop(watch.refused)
        return found[0], found[1], since, watch


def _known_again(context: Any, later: dict[Any, Any]) -> None:
    context.merged = all_known(later, context.merged)


def _left(trace: Any) -> None:
    trace.parts -= 1


def with_lent(context: Any, run: Callable[[], Any], unwatched: bool = False) -> Any:
    """Run a function, and run it again if it writes into plain arrays: a Buffer takes their place first.

    While changes of the program are recorded, the error is re-raised to the caller that records them, unless
    `unwatched` is True.
    """
    for _ in range(_ARRAYS):
        try:
            return run()
        except LentOutside as error:
            if context.loan is None or (context.loan.watches.open and not unwatched):
                raise
            if error.array.dtype.kind not in "fc":
                raise NotOneLoop(
                    f"it writes into an array of {error.array.dtype} that the program has had before"
                ) from None
            watches, context.loan.watches.open = context.loan.watches.open, []
            try:
                context.loan.lend(error.array, None)
            finally:
                context.loan.watches.open = watches
    raise NotOneLoop(f"it writes into more than {_ARRAYS} plain arrays")


_ARRAYS = 100


def _chain(context: Any) -> Iterator[Any]:
    while context is not None:
        yield context
        context = context.outer


def _short(error: BaseException) -> str:
    """The first line of an error's message, without its remedy."""
    text = str(error).partition("\n")[0]
    return text if isinstance(error, (TraceError, NotOneLoop)) else f"{type(error).__name__}: {text}"
