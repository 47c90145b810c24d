"""What gives something else each time it is asked: generators of random numbers, iterators, files.

Python does not show how far they are as attributes. Here each is asked in its own way.
"""

from __future__ import annotations

import gc
import io
import itertools
import random
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, GeneratorType, ModuleType, NoneType
from typing import Any

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.source.asking import ENTROPY
from bridge.source.staging.effects import GENERATORS


def moves(thing: Any) -> bool:
    """Whether a thing moves on when it is asked."""
    if isinstance(thing, random.SystemRandom):
        return False
    return isinstance(thing, (*GENERATORS, io.IOBase, np.random.BitGenerator)) or _is_iterator(thing)


class Moving:
    """A thing that moves on, and how far it was before a program ran."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing
        self.name = "chance (a generator without a seed)" if thing is ENTROPY else f"a {type(thing).__name__}"
        self._before = _state(thing)

    @property
    def is_seen(self) -> bool:
        """Whether anything tells how far it is."""
        return self._before not in (None, ())

    def has_moved(self) -> bool:
        """Whether it has been asked since."""
        now = _frozen(_state(self.thing))
        # Of what does not tell how far it is, nobody knows.
        return now == () or bool(now != _frozen(self._before))

    def back(self) -> None:
        """Let it be where it was; CannotGoBack if it can only move on."""
        _put(self.thing, self._before)

    def here(self) -> Callable[[], None]:
        """What lets it be where it is now."""
        return partial(_put, self.thing, _state(self.thing))


# What everybody draws from is reached by names of modules that nobody follows.
EVERYBODYS = (random._inst, np.random.mtrand._rand, ENTROPY)


def _state(thing: Any) -> Any:
    """How far a thing is."""
    if thing is ENTROPY:
        return thing.position
    if isinstance(thing, random.Random):
        return thing.getstate()
    if isinstance(thing, np.random.RandomState):
        return thing.get_state(legacy=False)
    if isinstance(thing, np.random.Generator):
        return thing.bit_generator.state
    if isinstance(thing, np.random.BitGenerator):
        return thing.state
    if isinstance(thing, io.IOBase):
        with suppress(OSError, ValueError):
            return thing.tell()
        return None
    return _position(thing)


def _frozen(state: Any) -> Any:
    """The same as something that compares."""
    if isinstance(state, dict):
        return tuple((name, _frozen(part)) for name, part in state.items())
    return state.tobytes() if isinstance(state, np.ndarray) else state


def _put(thing: Any, state: Any) -> None:
    if thing is ENTROPY:
        if not thing.gives_again(state):
            raise CannotGoBack("generator without a seed")
        thing.position = state
        return
    if isinstance(thing, random.Random):
        thing.setstate(state)
    elif isinstance(thing, np.random.RandomState):
        thing.set_state(state)
    elif isinstance(thing, np.random.Generator):
        thing.bit_generator.state = state
    elif isinstance(thing, np.random.BitGenerator):
        thing.state = state
    elif isinstance(thing, io.IOBase):
        thing.seek(state)
    else:
        raise CannotGoBack(type(thing).__name__)


class CannotGoBack(Exception):
    """An iterator has given what it cannot give again."""


def _is_iterator(thing: Any) -> bool:
    return not isinstance(thing, type) and hasattr(type(thing), "__next__")


def _position(thing: Any) -> tuple[Any, ...]:
    """The position of an iterator, from all objects that it holds; empty if there are too many, or none shows it."""
    found: list[Any] = []
    seen: dict[int, Any] = {}
    waiting = [thing]
    while waiting:
        one = waiting.pop()
        if isinstance(one, _PLAIN):
            found.append(one)
        elif id(one) not in seen:
            if len(seen) >= _MOST:
                return ()
            seen[id(one)] = one
            told = _told(one)
            if told is None:
                return ()
            found += told[0]
            waiting += told[1]
        else:
            found.append(None)
    return tuple(found)


def _told(one: Any) -> tuple[tuple[Any, ...], Iterable[Any]] | None:
    """What tells how a thing is: numbers and texts, and other things to look at; None if nothing does."""
    if isinstance(one, (type, ModuleType, CodeType, BuiltinFunctionType)) or is_tracked(one):
        return (id(one),), ()
    if isinstance(one, FunctionType):
        return (id(one),), (*(one.__closure__ or ()), *(one.__defaults__ or ()))
    if isinstance(one, np.ndarray) and not one.dtype.hasobject:
        return None if one.nbytes > _MOST_BYTES else ((one.tobytes(),), ())
    if isinstance(one, GENERATORS):
        return (repr(_frozen(_state(one))),), ()
    if isinstance(one, dict):
        return (len(one),), () if "__builtins__" in one else (*one, *one.values())
    if _is_iterator(one):
        return _told_of_iterator(one)
    own = vars(one).items() if hasattr(one, "__dict__") else ()
    return (id(type(one)),), (*(part for pair in own for part in pair), *gc.get_referents(one))


def _told_of_iterator(one: Any) -> tuple[tuple[Any, ...], Iterable[Any]] | None:
    kind: Any = type(one)
    if isinstance(one, GeneratorType):
        return (None if one.gi_frame is None else one.gi_frame.f_lasti,), gc.get_referents(one)
    if isinstance(one, np.flatiter):
        return (one.index,), ()
    if isinstance(one, np.nditer):
        return (None if one.finished else one.iterindex,), ()
    if kind is itertools.count:
        return (repr(one),), ()
    if type(kind.__next__) is FunctionType:
        return (id(kind),), (vars(one).values() if hasattr(one, "__dict__") else gc.get_referents(one))
    hint = getattr(kind, "__length_hint__", None)
    if hint is not None:
        with suppress(TypeError):  # it never ends
            return (hint(one),), ()
    if kind.__reduce__ is not object.__reduce__:
        with warnings.catch_warnings(), suppress(TypeError, AttributeError):
            warnings.simplefilter("ignore", DeprecationWarning)
            made = one.__reduce__()
            return ((), made) if isinstance(made, tuple) else None
    # An iterator of a library's in C moves on with what it has.
    has = gc.get_referents(one)
    return ((len(has),), has) if any(map(_is_iterator, has)) and kind is not itertools.cycle else None


_PLAIN = (int, float, complex, str, bytes, NoneType)
_MOST, _MOST_BYTES = 1000, 1 << 20
"""How many things are looked at that an iterator has, and the size of the largest array among them."""
