"""A program as a transform runs it: read from its source, with what it borrows put back."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FunctionType
from typing import Any

from bridge.rewind.interpreter import current_context
from bridge.source import jitted, looping, operations
from bridge.source.borrowing import Loan
from bridge.source.reading import reading_of, twin
from bridge.source.staging import control

VARIABLE = "BRIDGE_SOURCE"
"""The environment variable that turns reading off, if it is 0."""


def _reader(context: Any) -> operations.Reader:
    """Who says what is called for a function: where the program is compiled, its loops and branches are functions."""
    if context is not None and context.home.is_abstract:
        return control.READER
    return looping.READER if looping.may_run(context) else operations.READER


def is_read(source: bool | None) -> bool:
    """Whether programs are read: what a transform was told, else what the environment says, else yes."""
    return os.environ.get(VARIABLE, "1") not in ("0", "false", "no", "off") if source is None else source


def program(context: Any, f: Callable[..., Any], source: bool | None, loops: str | None = None) -> Callable[..., Any]:
    """What a context runs for `f`; inside, arrays that the program has are lent to the context where it writes them."""
    if not is_read(source):
        return f
    context.loan = loan = Loan(context)
    context.loops = looping.chosen(loops)
    run = _reader(context).of(f)

    def called(*args: Any, **kwargs: Any) -> Any:
        loan.names.program = (f, *args, *kwargs.values())
        result = run(*args, **kwargs)
        loan.over()
        return result

    loan.names.caller = called.__code__
    return called


def returned(context: Any, *found: Any) -> None:
    """Before results are handed out: EscapeError if one of them was computed from memory that was lent."""
    if context.loan is not None:
        context.loan.check(found)


def called(f: Callable[..., Any], source: bool | None) -> Callable[..., Any]:
    """`f` for a function of this package that calls it, which is not read itself."""
    return _reader(current_context()).of(f) if is_read(source) else f


def part(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the program that a loop or a checkpoint of this package calls: read, if its program is."""
    context = current_context()
    return f if context is None or context.loan is None else _reader(context).of(f)


jitted.Program.part = staticmethod(part)


def itself(f: Callable[..., Any]) -> Callable[..., Any]:
    """What runs a function of the program that has a rule, where its own operations are to be seen."""
    context = current_context()
    if context is None or context.loan is None or not isinstance(f, FunctionType):
        return f
    code = reading_of(f).code
    read = f if code is None else twin(f, code)
    return control.staged_function(read) if context.home.is_abstract else read


def lent_again(context: Any) -> AbstractContextManager[None]:
    """Inside, what a context has borrowed is lent to it again, after its call is over."""
    return nullcontext() if context.loan is None else context.loan.again()
