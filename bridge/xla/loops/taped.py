"""Bodies of loops and branches: the first dry run records what a body does, every later run replays that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from bridge.code_position import here, resolve
from bridge.errors import TraceError
from bridge.rewind.operands import ByNumber, Fixed
from bridge.rewind.replayed import Retake
from bridge.rewind.tape import OPEN, Recorder, Tape, Values


class Taped:
    """A body, which runs as Python until a dry run of it has been recorded.

    Attributes
    ----------
    tape : what it does; None as long as that is not known.
    failed : why it cannot be recorded.
    """

    def __init__(self, context: Any, function: Callable[..., Any] | None) -> None:
        self.context = context
        self.function = function
        # The last recording, where another one must be like it before one is replayed.
        self.last: Tape | None = None
        self.around = _own_recorder(context)
        self.tape: Tape | None = None
        self.values: Values | None = None if self.around is None else self.around.values
        self.failed: str | None = None

    @classmethod
    def of(cls, context: Any, body: Any) -> Taped:
        """A body of a context, which may be one already."""
        return body if isinstance(body, Taped) and body.context is context else cls(context, body)

    @property
    def is_recorded(self) -> bool:
        """Whether the next run is a replay."""
        return self.tape is not None

    @property
    def is_awaited(self) -> bool:
        """Whether it has not run yet, and nobody knows what it does."""
        return self.tape is None and self.failed is None

    def __call__(self, *args: Any) -> Any:
        if self.tape is not None:
            return self._replay(args)
        assert self.function is not None
        if self.failed is not None or not self.context.home.trace.is_dry:
            return self.function(*args)
        return self._record(args)

    def _record(self, args: tuple[Any, ...]) -> Any:
        trace = self.context.home.trace
        before = trace.recorder
        recorder = trace.recorder = Recorder(self.context, self.around, before)
        OPEN.append(recorder)
        try:
            argument = recorder.argument(args[0] if args else None)
            result = self.function(*args)  # type: ignore[misc]
        finally:
            OPEN.remove(recorder)
            trace.recorder = before
        tape = recorder.finish(argument, result)
        self.failed = recorder.failed
        if self.failed is None:
            self._keep(tape)
        return result

    def _keep(self, tape: Tape) -> None:
        """Replay a recording from now on; of a body of the program's, the second of two that are alike."""
        last, self.last = self.last, tape
        is_checked = self.around is not None or not getattr(self.function, _OF_THE_PROGRAM, False)
        if is_checked or (last is not None and last.outline() == tape.outline()):
            self.tape, self.last = tape, None

    def _replay(self, args: tuple[Any, ...]) -> Any:
        context = self.context
        trace = context.home.trace
        merged, context.merged = context.merged, {}
        fingerprint, trace.fingerprint = trace.fingerprint, None
        try:
            return self.tape.replay(args[0] if args else None, self.values)  # type: ignore[union-attr]
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
            self.tape = None
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


_OF_THE_PROGRAM = "runs_code_of_the_program"


def of_the_program(body: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a body that runs code of the program which nobody else runs twice, to see whether it does the same."""
    setattr(body, _OF_THE_PROGRAM, True)
    return body


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
        recorder.fail(body.failed or "a body in it did not run")
        return Fixed(None)
    recorder.take_in(body.tape)
    return Body(body.context, body.tape)


class WithoutIndex:
    """A branch as a body, which is given an index that it does not take."""

    def __init__(self, branch: Callable[[], None]) -> None:
        self.branch = branch

    def __call__(self, i: Any) -> None:
        self.branch()
