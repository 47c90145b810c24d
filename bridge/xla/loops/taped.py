"""Bodies of loops and branches: the first dry run records what a body does, and every later run replays the tape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bridge.code_position import here, resolve
from bridge.errors import ReplayError, TraceError
from bridge.rewind.operands import ByNumber, Fixed, Retake
from bridge.rewind.tape import OPEN, Recorder, Tape, Values
from bridge.xla.loops.dry_runs import tried, unheard
from bridge.xla.tracing.integers import Bounds


class Taped:
    """A body, which runs as Python until a dry run of it has been recorded.

    Attributes
    ----------
    tape : what it does; None as long as that is not known.
    failed : why it cannot be recorded.
    """

    def __init__(self, context: Any, function: Callable[..., Any] | None, takes_index: bool = True) -> None:
        self.context = context
        self.function = function
        self.takes_index = takes_index
        self.position = here()
        self.around = _own_recorder(context)
        self.tape: Tape | None = None
        self.values: Values | None = None if self.around is None else self.around.values
        self.failed: str | None = None
        # Two recordings of a body of `fori_loop`, `while_loop` or a branch must be alike; `outlines` are those so far.
        self.is_checked = self.around is not None or not was_marked(function)
        self.outlines: list[Any] = []

    @classmethod
    def of(cls, context: Any, body: Any, takes_index: bool = True) -> Taped:
        """A body of a context, which may be one already."""
        return body if isinstance(body, Taped) and body.context is context else cls(context, body, takes_index)

    @property
    def is_recorded(self) -> bool:
        """Whether the next run is a replay."""
        return self.tape is not None

    def __call__(self, i: Any = None) -> Any:
        return self._record(i) if self.tape is None else self._replay(i)

    def settle(self, bounds: Bounds = (None, None), carried: Sequence[Any] = ()) -> Sequence[Any]:
        """Record it, if that has not been done: from now on it is replayed.

        Returns
        -------
        The outermost context's memory that is known to be written in each turn: what was `carried`, and what it writes.

        Raises
        ------
        TraceError : it cannot be recorded.
        ReplayError : it does something else each time.
        """
        while self.tape is None:
            with unheard(self.context.home.trace):
                carried = list(dict.fromkeys([*carried, *tried(self.context, self, bounds, carried)]))
        return carried

    def _run(self, i: Any) -> Any:
        assert self.function is not None
        return self.function(i) if self.takes_index else self.function()

    def _record(self, i: Any) -> Any:
        trace = self.context.home.trace
        before = trace.recorder
        recorder = trace.recorder = Recorder(self.context, self.around, before)
        OPEN.append(recorder)
        try:
            argument = recorder.argument(i if self.takes_index else None)
            result = self._run(i)
        finally:
            OPEN.remove(recorder)
            trace.recorder = before
        tape = recorder.finish(argument, result)
        if recorder.failed is not None:
            raise TraceError(
                f"the body of a loop or a branch cannot be recorded: {recorder.failed}",
                where=resolve(self.position),
                remedy='use engine="native", and report this program',
            )
        self._keep(tape)
        return result

    def _keep(self, tape: Tape) -> None:
        """Replay a recording from now on; of a body of the program's, the second of two that are alike."""
        outline = None if self.is_checked else tape.outline()
        if self.is_checked or (self.outlines and self.outlines[-1] == outline):
            self.tape = tape
            return
        self.outlines.append(outline)
        if len(self.outlines) > _RECORDINGS:
            raise replay_error(self.position, _parting(*self.outlines[-2:]))

    def _replay(self, i: Any) -> Any:
        context = self.context
        trace = context.home.trace
        merged, context.merged = context.merged, {}
        fingerprint, trace.fingerprint = trace.fingerprint, None
        try:
            return self.tape.replay(i, self.values)  # type: ignore[union-attr]
        except Retake as error:
            if self.function is None:
                raise
            if not trace.is_dry:
                raise TraceError(
                    "the body of a loop or a branch was found to do something else when it was compiled than when it "
                    "was tried: a number that decides what it does is not the one that it was",
                    where=resolve(here()),
                    remedy='use engine="native"',
                ) from None
            self.tape, self.is_checked = None, True
            error.may_run_again = True
            raise
        finally:
            context.merged, trace.fingerprint = merged, fingerprint


def _own_recorder(context: Any) -> Recorder | None:
    """The recorder of the body of a context that runs now, if that is recorded."""
    recorder: Recorder | None = context.home.trace.recorder
    while recorder is not None and recorder.context is not context:
        recorder = recorder.before
    return recorder


def _parting(one: tuple[Any, ...], other: tuple[Any, ...]) -> str:
    """Where two recordings of a body part, for a message."""
    for number, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            what = f" ({a[0]})" if isinstance(a[0], str) else ""
            return f"operation {number + 1} of {len(one)}{what} differs"
    return f"{len(one)} operations before, {len(other)} now"


_RECORDINGS = 2
"""How many recordings of a body may differ from the one before."""

_OF_THE_PROGRAM = "runs_code_of_the_program"


def of_the_program(body: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a body that runs code of the program which nobody else runs twice, to see whether it does the same."""
    setattr(body, _OF_THE_PROGRAM, True)
    return body


def was_marked(body: Any) -> bool:
    """Whether a body was marked so."""
    return getattr(body, _OF_THE_PROGRAM, False)


def replay_error(position: Any, differs: str) -> ReplayError:
    """The error of a body that does something else each time."""
    return ReplayError(
        f"the body of a loop or branch was run again, and did something else: {differs}",
        where=resolve(position),
        remedy="make it depend on its arguments only: pass random numbers in, keep counters and files outside",
    )


class Body(NamedTuple):
    """The body of a loop or a branch inside of another body, as an operand of the entry that runs it."""

    context: Any
    tape: Tape

    def value(self, values: ByNumber) -> Taped:
        """The body, with the values of a replay around it."""
        body = Taped(self.context, None)
        body.tape = self.tape
        body.values = values  # type: ignore[assignment]
        return body


def body_operand(recorder: Recorder, body: Taped) -> Any:
    """A body as an operand; fails the recorder if it is not recorded."""
    if body.tape is None:
        recorder.fail("a body in it did not run")
        return Fixed(None)
    recorder.take_in(body.tape)
    return Body(body.context, body.tape)
