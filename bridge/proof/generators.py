"""The generators that a program may draw from: put back before each run, and as they were after the last."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from bridge.code_position import is_internal
from bridge.objects.anatomy import LIBRARIES
from bridge.state.graph import Edge, Policy, Walk, edges, named

_GENERATORS = (np.random.Generator, np.random.RandomState)
_MOST = 256
"""How many functions, containers and objects are looked through, and elements of each."""


class Generators:
    """NumPy's and Python's global generators, and those that a function reaches."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._held = list(_held(f))
        self._begin = self._state()

    def restore(self) -> None:
        """Put every generator back to where it was in the beginning."""
        legacy, python, held = self._begin
        np.random.set_state(legacy)
        random.setstate(python)
        for generator, state in zip(self._held, held, strict=True):
            if isinstance(generator, np.random.RandomState):
                generator.set_state(state)
            else:
                generator.bit_generator.state = state

    @property
    def drawn(self) -> str | None:
        """The generator that was drawn from since the beginning, in words; None if there is none."""
        legacy, python, held = self._state()
        if not _same(legacy, self._begin[0]):
            return "NumPy's global generator (np.random)"
        if python != self._begin[1]:
            return "Python's global generator (random)"
        if not all(_same(a, b) for a, b in zip(held, self._begin[2], strict=True)):
            return "a generator that the function holds"
        return None

    def _state(self) -> tuple[Any, Any, list[Any]]:
        return np.random.get_state(legacy=False), random.getstate(), [_state_of(one) for one in self._held]


@contextmanager
def preserved(f: Callable[..., Any]) -> Iterator[Generators]:
    """Generators as they are, put back at the end."""
    generators = Generators(f)
    try:
        yield generators
    finally:
        generators.restore()


def _held(f: Any) -> Iterator[Any]:
    walk = Walk([f], Policy(_is_end, _edges, most=_MOST, elements=_MOST))
    yield from (one for one, _ in walk if isinstance(one, _GENERATORS))


def _is_end(one: Any) -> bool:
    kind = type(one)
    is_librarys = str(kind.__module__).partition(".")[0] in LIBRARIES and kind not in _GENERATORS
    return is_librarys or issubclass(kind, (type, ModuleType, np.ndarray))


def _edges(one: Any) -> Iterator[Edge]:
    if isinstance(one, _GENERATORS):
        return
    yield from edges(one)
    if isinstance(one, FunctionType) and not is_internal(one.__code__.co_filename):
        yield from named(one, LIBRARIES | sys.stdlib_module_names)


def _state_of(generator: Any) -> Any:
    # A RandomState keeps half of the last pair of normal numbers, too.
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.bit_generator.state


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return all(_same(a[key], b[key]) for key in a)
    return bool(np.array_equal(a, b))
