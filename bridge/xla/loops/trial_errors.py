"""Errors that end a trial: those of the program, and faults of the machine that traces it.

An error of the program comes again in each run: a run must not take a side of a branch that raises. Lack of memory or a
full disk says something of this moment only. Such a fault passes through, and nothing is remembered of it.
"""

from __future__ import annotations

import dis
from typing import Any, NoReturn

import jax

from bridge.errors import BridgeError, TraceError
from bridge.source.finding import is_library

OF_THE_MACHINE = (MemoryError, OSError, SystemError, jax.errors.JaxRuntimeError)
_RAISES = dis.opmap["RAISE_VARARGS"]


def check_cause(context: Any, error: BaseException, was_tried: bool = False) -> None:
    """Pass on what a fault of the machine has caused, and anything if there is no time left for what is tried next.

    What `was_tried` before does not raise by itself.
    """
    if context.home.trace.length.is_exceeded:
        raise error
    cause: BaseException | None = error
    while isinstance(cause, BridgeError):
        cause = cause.__cause__
    if isinstance(cause, OF_THE_MACHINE) and (was_tried or not _is_told_by_the_program(cause)):
        pass_on(context, error)


def is_of_the_program(error: BaseException) -> bool:
    """Whether an exception may be one that the program raises: `sys.exit()` in it, too, but no interrupt."""
    if isinstance(error, (Exception, SystemExit)):
        return True
    return not type(error).__module__.startswith("bridge.") and _is_told_by_the_program(error)


def pass_on(context: Any, error: BaseException) -> NoReturn:
    """Raise what says nothing of the program; by another name if the program may catch it.

    It would be compiled as if it came each time.
    """
    if context.home.trace.tries and isinstance(error, Exception):
        raise TraceError(
            f"a part of the program failed while it was traced, and the program may catch that: "
            f"{type(error).__name__}: {error}",
            remedy='call it again, or read files and reserve memory outside of the function; or use engine="native"',
        ) from error
    raise error


def _is_told_by_the_program(error: BaseException) -> bool:
    """Whether a `raise` of the program's own made this."""
    at: Any = error.__traceback__
    if at is None:
        return False
    while at.tb_next is not None:
        at = at.tb_next
    code = at.tb_frame.f_code
    is_raise = code.co_code[at.tb_lasti] == _RAISES
    return is_raise and not is_library(code.co_filename, at.tb_frame.f_globals.get("__name__", ""))
