"""Functions that are read: for a function of the program, one of the same name that runs its rewritten source.

What a code object became is kept as long as the code lives; a function that is called gets its twin anew, so that
defaults and closures are those that it has now.
"""

from __future__ import annotations

import ast
import threading
import weakref
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from bridge.code_position import warn
from bridge.source.code_objects import is_part, named, partners, rebound, with_reader
from bridge.source.defining import defined
from bridge.source.finding import FUTURE, Statement, Text, Unread, codes_in, is_library, statement_of, text_of
from bridge.source.nodes import copied
from bridge.source.rewriting import Rewriter


class Reading:
    """What became of a code object: rewritten code, or the reason why there is none; and the text that it is from."""

    __slots__ = ("code", "reason", "rebinds", "text")

    def __init__(self, code: CodeType | None, text: Text | None, reason: str = "") -> None:
        self.text = text
        self.code = code
        self.reason = reason
        self.rebinds = () if code is None else rebound(code)


class _Itself(Reading):
    """Of a code object that was made here: itself, which the reading does not keep alive.

    `origin` is where it comes from, if it can be staged, and `staged` what it became then; `looped` is what it became
    where loops may run in C. `source` is where it comes from in any case, if that is known.
    """

    __slots__ = ("_code", "looped", "origin", "source", "staged")

    def __init__(self, code: CodeType, origin: _Origin | None = None) -> None:
        self._code = weakref.ref(code)
        self.reason = ""
        self.rebinds = rebound(code)
        self.origin = self.source = origin
        self.staged: CodeType | None = None
        self.looped: CodeType | None = None

    @property
    def code(self) -> CodeType | None:  # type: ignore[override]
        return self._code()


class _Origin(NamedTuple):
    """The code object that another one was rewritten from: its statement, its number there, how that is compiled.

    A statement keeps its code objects alive, so they do not keep the statement.
    """

    statement: weakref.ref[Statement]
    number: int
    file: str
    flags: int


READINGS: dict[int, Reading] = {}
"""By the identity of the code object; an entry goes with its code. Rewritten code has itself."""


class Reads:
    """What reading needs to know of the modules above it."""

    reader: Any
    is_special: Callable[[Any], bool]


class Staging:
    """What staging needs to know of the modules above it: who is asked by staged code, and what makes it."""

    reader: Any
    staged: Callable[[ast.stmt], ast.stmt]


class Looping:
    """What compiling loops needs to know of the modules above it: who is asked where a loop begins, and what asks."""

    reader: Any
    marked: Callable[[ast.stmt, str], ast.stmt]


_lock = threading.RLock()


def reading_of(function: FunctionType, wraps: bool = False) -> Reading:
    """What a function's code became; it is read if it was not yet.

    With `wraps`, also a library's: one that it has put around a function of the program.
    """
    found = READINGS.get(id(function.__code__))
    return _read(function, wraps) if found is None or (wraps and found.code is None) else found


def twin(function: FunctionType, code: CodeType) -> FunctionType:
    """A function that runs `code` and is otherwise `function`: its globals, its cells, its defaults."""
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    if function.__dict__:
        made.__dict__.update(function.__dict__)
    return made


def is_rewritten(code: CodeType) -> bool:
    """Whether a code object was made here."""
    found = READINGS.get(id(code))
    return found is not None and found.code is code


def as_written(value: Any) -> Any:
    """A function whose code was rewritten, with the code of its source; anything else as it is."""
    if type(value) is not FunctionType or not is_rewritten(value.__code__):
        return value
    return twin(value, source_of(value.__code__, value.__globals__)[1])


def _read(function: FunctionType, wraps: bool) -> Reading:
    code = function.__code__
    with _lock:
        found = READINGS.get(id(code))
        if found is not None and not (wraps and found.code is None):
            return found
        text = None
        try:
            if not wraps and is_library(code.co_filename, function.__globals__.get("__name__") or ""):
                raise Unread(f"{code.co_qualname} belongs to an installed library")
            # What fails keeps the text, too: others of the file need not parse it again.
            text = text_of(code, function.__globals__)
            found = _rewritten(code, function.__globals__)
        except Unread as error:
            found = Reading(None, text, str(error))
        _keep(code, found)
        return found


def _keep(code: CodeType, reading: Reading) -> None:
    READINGS[id(code)] = reading
    weakref.finalize(code, READINGS.pop, id(code), None).atexit = False


def _rewritten(code: CodeType, names: dict[str, Any]) -> Reading:
    text, statement, like = statement_of(code, names)
    if statement.rewritten is None:
        statement.rewritten = _all_rewritten(statement, code, names)
    made = statement.rewritten.get(id(like))
    if made is None:
        raise Unread(f"{code.co_qualname} has another shape when it is rewritten")
    return Reading(made, text)


def _all_rewritten(statement: Statement, code: CodeType, names: dict[str, Any]) -> dict[int, CodeType]:
    """What each code object of a statement becomes, by the identity of what it was."""
    try:
        tree = rewritten_tree(copied(statement.tree), names, statement.whole)
        made = statement.compiled(tree, code.co_filename, code.co_flags & FUTURE)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise Unread(f"{code.co_qualname} does not compile when it is rewritten: {error}") from error
    new = tuple(codes_in(with_reader(made, Reads.reader)))
    found = partners(statement.codes, new)
    for one in new:
        _keep(one, _Itself(one))
    for number, its in enumerate(found):
        if its is not None:
            origin = _Origin(weakref.ref(statement), number, code.co_filename, code.co_flags & FUTURE)
            _keep(its, _Itself(its, origin))
    return {id(one): its for one, its in zip(statement.codes, found, strict=True) if its is not None}


def staged_code(code: CodeType, names: dict[str, Any]) -> CodeType | None:
    """What rewritten code becomes in a program that is compiled: its loops and branches are functions.

    `names` are the globals of the function. None if it is not rewritten, or is staged already; also if it does not
    compile when it is staged, which is a mistake of this package's, and told.
    """
    found = READINGS.get(id(code))
    if type(found) is not _Itself or found.origin is None:
        return None
    if found.staged is None:
        with _lock:
            if found.staged is None and found.origin is not None:
                try:
                    found.staged = _all_staged(found.origin, names)[found.origin.number]
                    reason = "it has another shape then"
                except (SyntaxError, ValueError, RecursionError) as error:
                    reason = f"{type(error).__name__}: {error}"
                if found.staged is None:
                    found.origin = None
                    _tell_unstaged(code, reason)
    return found.staged


def looped_code(code: CodeType, names: dict[str, Any]) -> CodeType:
    """What rewritten code becomes where its loops may run in C: it asks at the beginning of each."""
    found = READINGS.get(id(code))
    if type(found) is not _Itself or found.origin is None:
        return code
    if found.looped is None:
        with _lock:
            statement = found.origin.statement()
            if statement is not None:
                if statement.looped is None:
                    statement.looped = _all_looped(statement, found.origin, names)
                found.looped = statement.looped[found.origin.number]
    return found.looped or code


def _all_looped(statement: Statement, origin: _Origin, names: dict[str, Any]) -> tuple[CodeType | None, ...]:
    """What the code objects of a statement become where their loops may run in C."""
    tree = rewritten_tree(Looping.marked(copied(statement.tree), origin.file), names, statement.whole)
    try:
        compiled = statement.compiled(tree, origin.file, origin.flags)
    except SyntaxError:
        # Too many blocks in each other: its loops are not asked for.
        return (None,) * len(statement.codes)
    made = with_reader(compiled, Looping.reader)
    new = tuple(codes_in(made))
    found = partners(statement.codes, new)
    for one in new:
        _keep(one, _Itself(one))
    for number, its in enumerate(found):
        if its is not None:
            reading = _Itself(its)
            reading.source = origin._replace(number=number)
            _keep(its, reading)
    return found


def source_of(code: CodeType, names: dict[str, Any]) -> tuple[Statement, CodeType]:
    """The statement that a code object comes from, and what was compiled from that; Unread if there is none.

    Parameters
    ----------
    names : the globals of the function.
    """
    found = READINGS.get(id(code))
    source = found.source if type(found) is _Itself else None
    statement = None if source is None else source.statement()
    if source is not None and statement is not None:
        return statement, statement.codes[source.number]
    read = statement_of(code, names)
    return read.statement, read.code


def _tell_unstaged(code: CodeType, reason: str) -> None:
    warn(
        f"{code.co_qualname} at {code.co_filename}:{code.co_firstlineno} is compiled without its loops and branches: "
        f"unrolled, and decided while it is traced, because what is made of them does not compile ({reason})\n"
        "  remedy: this is a mistake of bridge's: please report it, with the function; a simpler one may pass"
    )


def _all_staged(origin: _Origin, names: dict[str, Any]) -> tuple[CodeType | None, ...]:
    """What the code objects of a statement become when it is staged; None of one that no run reaches."""
    statement, file, flags = origin.statement(), origin.file, origin.flags
    if statement is None:
        raise ValueError("its source is gone")
    if statement.staged is None:
        tree = rewritten_tree(Staging.staged(copied(statement.tree)), names, statement.whole)
        made = named(with_reader(statement.compiled(tree, file, flags), Staging.reader))
        statement.staged = partners(statement.codes, [one for one in codes_in(made) if not is_part(one)])
        for one in codes_in(made):
            _keep(one, _Itself(one))
    return statement.staged


def rewritten_tree(tree: ast.stmt, names: dict[str, Any], whole: ast.stmt) -> ast.stmt:
    """The rewritten tree of a statement, or of a part of the `whole` of it; `tree` is used up."""
    return Rewriter(names, Reads.is_special, defined(whole)).rewritten(tree)
