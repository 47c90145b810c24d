"""What rewritten code calls back: the one object that stands in its constants."""

from __future__ import annotations

import collections
import sys
from types import ModuleType
from typing import Any

import numpy as np

from bridge.arrays import creation
from bridge.arrays.buffer import Buffer
from bridge.arrays.tracked import is_tracked
from bridge.code_position import callers_frame
from bridge.in_c import quick
from bridge.rewind.escapes import detach, escape, note_texts, noted
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.labels import root_of, written_into
from bridge.rewind.values import TrackedObject
from bridge.rulebook.book import HOLDERS
from bridge.source import (
    binary_operators,
    callees,
    creating,
    exchanging,
    introspection,
    lending,
    methods,
    python_functions,
    reading,
    special_methods,
    taking_functions,
    targets,
    texts,
)
from bridge.source.iterating import elements
from bridge.source.keeping import holds_tracked
from bridge.source.library_calls import is_of_tensors
from bridge.source.nodes import HELPER
from bridge.source.targets import carries, own
from bridge.state.slots import Attribute, Contents, Item

_SEQUENCES = (list, tuple)
_CONTAINERS = (list, dict, collections.deque)
FLAGS = type(np.empty(0).flags)


class Reader:
    """What a rewritten statement asks.

    Attributes
    ----------
    lent : whether any array is lent, to whomever; rewritten code looks before it asks `seen`.
    """

    __slots__ = ("lent",)

    of = staticmethod(callees.of)
    touched = staticmethod(targets.touched)
    evaluated = staticmethod(texts.evaluated)
    slice = slice

    def __init__(self) -> None:
        self.lent = False

    def __repr__(self) -> str:
        return "bridge"

    def seen(self, value: Any) -> Any:
        """A plain array, or the Buffer that stands for it."""
        kind = type(value)
        if kind is Buffer:
            return value
        if kind is not np.ndarray:
            if issubclass(kind, lending.SHOWS):
                return lending.stands_for(value)
            return exchanging.look_into(value) if exchanging.shows_an_array(kind) else value  # type: ignore[arg-type]
        found = lending.lent_to(value)
        return value if found is None else found

    seen = quick(seen, "first")

    def elements(self, values: Any) -> Any:
        """What a loop runs over: of a plain array, each element as it is when its turn comes."""
        return elements(values)

    def array(self, value: Any) -> Any:
        """A list of tracked numbers as an array; anything else as it is."""
        if type(value) in _SEQUENCES and creation.tracked_inside(value):
            return creation.array(value)
        return value

    def into(self, target: Any, value: Any) -> Any:
        """What takes an item assignment of `value` in the place of `target`."""
        kind = type(target)
        if kind is Buffer:
            return target
        if kind is np.ndarray:
            return own(target, value)
        if kind is np.flatiter:
            array = own(target.base, value)
            return target if array is target.base else array.flat
        if kind in HOLDERS and carries(value):
            # Its own operators change its memory in place.
            name, made = HOLDERS[kind]
            memory = made.held_for(target) if hasattr(made, "held_for") else own(getattr(target, name), value)
            self.keep(target, name, memory)
            setattr(target, name, memory)
            return target
        if issubclass(kind, _CONTAINERS):
            # Also before plain values come in: tracked ones may follow, and what was there before all is put back.
            loan = targets.loan_for(value)
            if loan is not None:
                loan.keep(Contents, target, None, value)
            return target
        if kind is FLAGS:
            targets.mark_frozen()
        elif is_tracked(value) and is_of_tensors(kind):
            escape(value, "an item of a tensor of PyTorch's")
        elif is_tracked(value) and not issubclass(kind, TrackedObject) and root_of(target) == "pandas":
            raise noted(value, written_into(target, value))
        return target

    into = quick(into, "first")

    def into_own(self, target: Any, value: Any, temporary: Any) -> Any:
        """The same where `target` is what a variable holds that one function alone has.

        If nothing else has the array, it has one reference more than something that only this call has.
        """
        if type(target) is np.ndarray:
            is_alone = target.base is None and sys.getrefcount(target) <= sys.getrefcount(temporary) + 1
            return own(target, value, is_alone)
        return target if type(target) is Buffer else self.into(target, value)

    into_own = quick(into_own, "first")

    def keep(self, thing: Any, name: str, value: Any) -> Any:
        """What an attribute of `thing` is set on, which is remembered as it is."""
        if type(thing) is np.ndarray:
            return own(thing, value) if name in ("flat", "real", "imag") else thing
        context = current_context()
        if context is None or context.loan is None or is_tracked(thing):
            return thing
        if type(thing) is FLAGS:
            targets.mark_frozen()
            return thing
        kind = Item if issubclass(type(thing), ModuleType) else Attribute
        context.loan.keep(kind, vars(thing) if kind is Item else thing, name, value)
        return special_methods.setting(thing)

    def rebind(self, name: str, value: Any) -> Any:
        """Before a global variable gets another value, which is returned."""
        context = current_context()
        if context is not None and context.loan is not None:
            context.loan.keep(Item, callers_frame().f_globals, name, value)
        return value

    def text(self, left: Any) -> Any:
        """The left operand of `left % right`: a text writes what tracked numbers hold."""
        kind = type(left)
        if kind is str or kind is bytes:
            return _Text(left) if kind is str else _Bytes(left)
        return left

    def changed(self, container: Any) -> Any:
        """A container whose element is read and then written; reading makes one in a `defaultdict`."""
        if type(container) is np.ndarray:
            return targets.touched(container)
        if type(container) is collections.defaultdict:
            context = current_context()
            if context is not None and context.loan is not None:
                context.loan.keep(Contents, container, None, None)
        return container

    changed = quick(changed, "first")

    def pattern(self, kind: Any) -> Any:
        """The class of a pattern; one of arrays or numbers also matches a tracked value, as `isinstance` does."""
        return python_functions.pattern(kind)

    def kind(self, thing: Any) -> Any:
        """`thing.__class__`: of a tracked value, what it would be in the program."""
        if issubclass(type(thing), TrackedObject):
            return python_functions.of_library(thing)
        return python_functions.stands_for(thing) if is_tracked(thing) else thing.__class__

    def operand(self, thing: Any) -> Any:
        """An object as a loop or another construct gets it that calls special methods of its class."""
        return special_methods.operand(thing)

    operand = quick(operand, "operand")

    def left(self, thing: Any) -> Any:
        """An object as an operator gets it on its left."""
        return binary_operators.left(thing)

    left = quick(left, "operand")

    def right(self, thing: Any) -> Any:
        """An object as an operator gets it on its right."""
        return binary_operators.right(thing)

    right = quick(right, "operand")

    def container(self, thing: Any) -> Any:
        """An object as `in` gets it on its right."""
        return binary_operators.container(thing)

    def set_attribute(self, thing: Any, name: str, value: Any) -> None:
        """An assignment to an attribute that may be a property of the program's."""
        special_methods.set_attribute(self.keep(thing, name, value), name, value)

    def getter(self, thing: Any, name: str) -> Any:
        """What computes an attribute that may be a property of the program's."""
        return special_methods.getter(thing, name)

    def variables(self, found: Any) -> Any:
        """What `locals()`, `vars()` or `dir()` say, without helper variables."""
        helpers = [name for name in found if name.startswith(HELPER) and name != f"{HELPER}0"]
        for name in helpers:
            found.pop(name if isinstance(found, dict) else found.index(name))
        return found


class _Text(str):
    __slots__ = ()

    def __mod__(self, right: Any) -> str:
        return str.__mod__(self, _written(right))


class _Bytes(bytes):
    __slots__ = ()

    def __mod__(self, right: Any) -> bytes:
        return bytes.__mod__(self, _written(right))


def _written(right: Any) -> Any:
    if not holds_tracked(right):
        return right
    note_texts(right)
    return detach(right)


READER = Reader()
EXCHANGED = creating, introspection, methods, python_functions, taking_functions
"""The modules that say what is called in place of functions of Python's and NumPy's."""

reading.Reads.reader = READER
reading.Reads.is_special = callees.is_special


READERS = [READER]
"""All readers: each stands in the constants of code of one kind."""


def _tell(number: int) -> None:
    for one in READERS:
        one.lent = number > 0


lending.COUNT.tell = _tell
ARRAYS.own_target = targets.own_target
ARRAYS.seen = READER.seen
