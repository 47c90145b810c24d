"""Taking a value out of a tracked one: what it holds, and what may be said of it where that is not known yet.

Eagerly numbers are known, and are read from the array under a Buffer. A program that is being compiled runs once on
abstract arrays, of which only shape and dtype are known: masks, indices and numbers must stay tracked there.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import CO_GENERATOR
from types import CodeType
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import TraceError
from bridge.rewind.interpreter import current_context
from bridge.rewind.memory import copied_alike, grounded


def ground_floor(value: Any) -> Any:
    """The innermost tracked value under a tracked one: that of the outermost context."""
    while hasattr(value.value, "place"):
        value = value.value
    return value


def is_abstract(value: Any) -> bool:
    """Whether a value is tracked and its numbers are not known while the program runs."""
    return hasattr(value, "place") and value.place.context.home.is_abstract


def settled(value: Any) -> Any:
    """What does not change any more: the plain value under a tracked one, or the logged copy of an abstract one."""
    return value.place.context.home.settled(value) if hasattr(value, "place") else value


def known(value: Any) -> Any:
    """The plain value under a tracked one; None if it is abstract, and nothing is known of its numbers."""
    return value.place.context.home.known(value)


def note_plain(thing: Any) -> None:
    """Let the home of the program know of a plain array, or a function, that becomes part of it."""
    context = current_context()
    if context is not None:
        context.home.note(thing)


def concrete_key(key: Any) -> Any:
    """A key with what is known of its abstract parts in their places."""
    if type(key) is tuple:
        return tuple(map(concrete_key, key))
    if type(key) is slice:
        return slice(*(_bound(concrete_key(bound)) for bound in (key.start, key.stop, key.step)))
    if not is_abstract(key):
        return [concrete_key(part) for part in key] if type(key) is list else key
    found = known(key)
    return key if found is None else copied_alike(found)


def _bound(bound: Any) -> Any:
    """A bound of a slice; an integer array without axes is taken as the number that it holds."""
    return bound[()] if hasattr(bound, "view_as") and bound.shape == () else bound


def is_abstract_integer(part: Any) -> bool:
    """Whether a part of an index is an integer whose value is not known yet."""
    number = getattr(part, "shape", None) == () and not hasattr(part, "view_as")
    return number and _kind(part) in "iu" and is_abstract(part)


def is_abstract_mask(key: Any) -> bool:
    """Whether an index is, or starts with, a boolean array whose values are not known yet."""
    parts = key if type(key) is tuple else (key,)
    return any(_kind(part) == "b" and is_abstract(part) for part in parts)


def _kind(part: Any) -> str:
    dtype = getattr(part, "dtype", None)
    return getattr(dtype, "kind", "?")


def lowered_to(context: Any, value: Any) -> Any:
    """A value of an inner context as the value of `context`, or of one outside it, that it stands for."""
    while hasattr(value, "place") and value.place.context.level > context.level:
        value = value.value
    return value


def needs_value(value: Any, how: str, remedy: str | None = None) -> TraceError:
    """The error of a program that wants to know a number while it is compiled."""
    position = here()
    return TraceError(
        f"{how} needs the value of {described(value)}, which is not known while the program is compiled"
        f"{_because(position[0]) if remedy is None else ''}",
        where=resolve(position),
        remedy=remedy or 'use np.where, or an if or a loop in code that is read; or engine="native"',
    )


def _because(code: CodeType) -> str:
    """Why Python asks for a value: if, while and the like are compiled in code that is read."""
    context = current_context()
    if context is None or context.loan is None:
        return "\n  the program is not read from its source (source=False): its loops and branches are Python's"
    unread = context.loan.reason(code)
    if unread:
        return str(unread)
    if code.co_flags & CO_GENERATOR and code.co_name != "<genexpr>":
        return "\n  a generator function is Python's: write its loop where its values are used"
    return (
        "\n  Python asks for it itself: for the if of a comprehension that is not in sum(), any() or all() (write a "
        "loop, or [a if test else b for ...]), a key=, filter(), a pattern of match that is no value, a function of a "
        "library; if, while, and, or, not, in, any, all, min, max are compiled"
    )


def described(value: Any) -> str:
    """A traced value as a message names it."""
    floor = ground_floor(value)
    return f"{_TRACED}{floor.dtype} array of shape {floor.shape}" if floor.shape else f"{_TRACED}{floor.dtype} number"


def describes(text: Any) -> bool:
    """Whether a text was written of a value that is known only when a compiled program runs."""
    return isinstance(text, str) and (hasattr(text, "is_unknown") or str.__contains__(text, _TRACED))


_TRACED = "a traced "


def concrete(value: Any, how: str) -> Any:
    """The plain value of a tracked one; TraceError, naming `how` it is used, if it is not known yet."""
    if not is_abstract(value):
        return grounded(value)
    found = known(value)
    if found is None:
        raise needs_value(value, how)
    return found.copy()


def mask_as(mask: Any, ndim: int) -> Any:
    """A mask with axes appended so that it broadcasts against an array of `ndim` axes that starts with its own."""
    return np.reshape(mask, (*mask.shape, *(1,) * (ndim - len(mask.shape))))


@dataclass(unsafe_hash=True, slots=True)
class Shaped:
    """What a pull gets in place of an array that its rule does not read: shape and dtype only."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for length in self.shape:
            size *= length
        return size


class TrackedObject:
    """An object that holds tracked values in place of a library's object; the stand-in of that class creates it.

    It counts as a tracked value where calls look for stand-ins. `library_class`, if it is not None, is the class of the
    object that it stands for, to a program that asks.
    """

    library_class: Any = None
    is_array_of_subclass = False


def is_of_subclass(x: Any) -> bool:
    """Whether an object holds a tracked array in place of an array of a subclass of np.ndarray."""
    return issubclass(type(x), TrackedObject) and type(x).is_array_of_subclass
