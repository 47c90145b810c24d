"""What gives something else each time it is asked: generators of random numbers, iterators, files.

Python does not show how far they are as attributes. Here each is asked in its own way.
"""

from __future__ import annotations

import gc
import io
import itertools
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np

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
    return tuple(_position(thing, _DEEP))


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


def _position(thing: Any, deep: int) -> Iterator[Any]:
    """How far an iterator is, and those that it asks."""
    if isinstance(thing, GeneratorType):
        frame = thing.gi_frame
        yield None if frame is None else frame.f_lasti
        parts: Any = () if frame is None else (thing.gi_yieldfrom, *frame.f_locals.values())
    else:
        parts = _parts(thing)
    for part in parts:
        if isinstance(part, (int, float, str, bytes)):
            yield part
        elif deep and (isinstance(part, tuple) or _is_iterator(part)):
            yield from _position(part, deep - 1)
        else:
            yield id(part)


def _parts(thing: Any) -> Any:
    """What would make an iterator once more where it is now."""
    if isinstance(thing, tuple):
        return thing
    if isinstance(thing, np.flatiter):
        return (thing.index,)
    if isinstance(thing, np.nditer):
        return (None if thing.finished else thing.iterindex,)
    if isinstance(thing, itertools.count):
        return (repr(thing),)
    if type(thing).__reduce__ is object.__reduce__ and type(type(thing).__next__) is not FunctionType:
        # An iterator of a library's in C: what it has, which moves on with it.
        return tuple(islice(gc.get_referents(thing), _MOST))
    hint = getattr(type(thing), "__length_hint__", None)
    if hint is not None:
        return (hint(thing),)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            made = thing.__reduce__()
        except (TypeError, AttributeError):
            return ()
    return made if isinstance(made, tuple) else ()


_DEEP = 8
"""How many iterators that ask one another are looked at."""

_MOST = 100
"""How many things are looked at that one of them has."""
