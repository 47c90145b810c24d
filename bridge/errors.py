"""Everything that `bridge` raises: what happened, where, the values, the remedy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar

DISTRIBUTION = "mutation-bridge"
_MOST_NAMES = 20


def printable(text: str, lines: bool = True) -> str:
    """`text` with what a terminal would obey written out as Python writes it: ESC as `x1b` behind a backslash.

    Names, reprs and messages are a program's, or its data's, and may hold anything. `lines` keeps ends of lines.
    """
    if text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)


def choice(name: object, known: Iterable[str], several: str = "use one of") -> str:
    """A remedy for a name that is not known: the one that was meant, if one is near, and all of them."""
    names = list(known)
    near = get_close_matches(name, names, 1) if isinstance(name, str) else []
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    every = f"{several} {', '.join(map(repr, names[:_MOST_NAMES]))}{more}"
    return f"did you mean {near[0]!r}? {every}" if near else every


def with_article(name: str) -> str:
    """The name of a class with its article, as a message has it: `an int`, `a list`."""
    return f"{'an' if name[:1].lower() in 'aeio' or name.startswith('nd') else 'a'} {name}"


class BridgeError(Exception):
    """Base of all errors of this package.

    Parameters
    ----------
    what : what went wrong, with the values that matter.
    where : the user's `file:line`, when there is one.
    remedy : what to do about it.
    """

    noticed: ClassVar[Callable[[Any], None] | None] = None
    """Gets every error of a class that is made, so that a program which swallows it does not hide it."""

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what, self.where, self.remedy = what, where, remedy
        super().__init__(what)
        noticed = type(self).noticed
        if noticed is not None:
            noticed(self)

    def add_place(self, where: str) -> None:
        """Say where, if that was not known when the error was made."""
        self.where = self.where or where

    def __str__(self) -> str:
        message = self.what if self.where is None else f"{self.what}\n  at {self.where}"
        return printable(message if self.remedy is None else f"{message}\n  remedy: {self.remedy}")


class BridgeWarning(UserWarning):
    """Something works, but not as well as it could; the message names the remedy."""

    def __str__(self) -> str:
        return printable(super().__str__())


class EscapeError(BridgeError, TypeError):
    """A tracked float left tracking (`float(s)`, `plain[0] = s`, `math.sin(s)`): its gradient would be lost."""


class AliasError(BridgeError, ValueError):
    """Memory is reached under two names, and the gradient cannot tell which was meant."""


class NoRuleError(BridgeError, TypeError):
    """Nobody has a rule for an operation."""


class RuleError(BridgeError, ValueError):
    """A rule broke its contract: wrong number, shape or dtype of cotangents, or a write into its arguments."""


class ValueDiffersError(RuleError):
    """An engine, or what stands for an operation, computes another value than NumPy: its pull would be another's."""


class RefusedError(BridgeError, TypeError):
    """An operation that this package refuses by name, with the reason (pickling, object dtypes, ...)."""


class ContextError(BridgeError, RuntimeError):
    """A Buffer was used outside the life of its context: after it closed, or from another thread."""


class ArgumentError(BridgeError, TypeError):
    """An argument of a transform cannot be differentiated, or does not match its counterpart."""


class CotangentError(BridgeError, ValueError):
    """A cotangent or tangent does not fit the value that it belongs to."""


class ReplayError(BridgeError, RuntimeError):
    """A checkpointed function gave other values when it was run again."""


class EngineNotAvailable(BridgeError, RuntimeError):
    """The engine that was asked for is not there; the remedy is the line to type."""


class JuliaNotAvailable(EngineNotAvailable):
    """There is no Julia that can be used here: none found, a broken one, a wrong version, a missing package."""


class JuliaError(BridgeError):
    """Julia code raised: `julia_message` is what it says, `julia_stack` where in Julia, `where` the Python line."""

    def __init__(
        self, what: str, *, message: str = "", stack: str = "", where: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.julia_message, self.julia_stack = message, stack


class TraceError(BridgeError, TypeError):
    """A program that is being compiled asked for a value that is known only when the compiled program runs."""


class IndexRangeError(BridgeError, IndexError):
    """A compiled program used an index that lies outside its array; the message names the line and the index."""


class MemoryBoundError(BridgeError, MemoryError):
    """A loop does not fit into the memory that it was allowed (`memory=`), however often it is run again."""


class RandomGradientError(BridgeError, TypeError):
    """A random draw has a parameter that carries a gradient, and was told to refuse it, or has none to give."""


class CheckError(BridgeError, AssertionError):
    """A gradient or a rule failed its proof; the message lists every failure, `report` holds them."""

    report: Any = None


def install_line(extra: str) -> str:
    """The line that installs this package with `extra`, in a checkout or from the registry."""
    root = Path(__file__).resolve().parents[1]
    suffix = f"[{extra}]" if extra else ""
    where = f'-e "{root}{suffix}"' if (root / "pyproject.toml").exists() else f'"{DISTRIBUTION}{suffix}"'
    return f"{Path(sys.executable).name} -m pip install {where}"
