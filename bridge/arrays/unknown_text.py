"""The text of a value that is known only when a compiled program runs: it can be shown, and not be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridge.code_position import here, resolve
from bridge.errors import TraceError
from bridge.rewind.interpreter import current_context
from bridge.rewind.values import described


class UnknownText(str):
    """What is shown in the place of a text: a program that decides by it would be another program."""

    __slots__ = ()
    is_unknown = True

    def __bool__(self) -> bool:
        return True


def unknown_text(value: Any) -> str:
    """The text of a traced value; after the trace, in a debugger or the report of a test, it is a text like others."""
    text = described(value)
    return text if current_context() is None else UnknownText(text)


def refuse_decision(text: str) -> TraceError:
    """The error of a program that decides by such a text."""
    return TraceError(
        f"the program decides by the text of a value that it computes: it is {str(text)!r} while it is compiled",
        where=resolve(here()),
        remedy="compare the value itself, or a rounded one (np.round(x, n)), in the place of its text",
    )


def _refuse(self: str, *args: Any, **kwargs: Any) -> Any:
    raise refuse_decision(str.__str__(self))


def _made_of(name: str) -> Callable[..., Any]:
    """A method that makes another text of it, which nobody knows either."""
    plain = getattr(str, name)
    return lambda self, *args, **kwargs: UnknownText(plain(self, *args, **kwargs))


def _after(self: str, text: str) -> str:
    return UnknownText(str.__add__(text, self)) if isinstance(text, str) else NotImplemented


ASKING = (
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__contains__", "__len__", "__iter__",
    "startswith", "endswith", "find", "rfind", "index", "rindex", "count", "split", "rsplit", "splitlines", "partition",
    "rpartition", "encode", "isdigit", "isnumeric", "isdecimal", "isalpha", "isalnum", "isascii", "isidentifier",
    "islower", "isupper", "istitle", "isspace", "isprintable",
)  # fmt: skip
MAKING = (
    "__add__", "__mul__", "__rmul__", "__mod__", "__getitem__", "capitalize", "casefold", "center", "expandtabs",
    "format", "ljust", "lower", "lstrip", "removeprefix", "removesuffix", "replace", "rjust", "rstrip", "strip",
    "swapcase", "title", "translate", "upper", "zfill",
)  # fmt: skip

for _name in ASKING:
    setattr(UnknownText, _name, _refuse)
for _name in MAKING:
    setattr(UnknownText, _name, _made_of(_name))
UnknownText.__radd__ = _after  # type: ignore[attr-defined]
