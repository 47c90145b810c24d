"""Objects of Numba, recognised by the names of their classes and modules: Numba is never imported here."""

from __future__ import annotations

import random
import threading
from contextlib import suppress
from types import FunctionType
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import RefusedError

_GENERATORS = (np.random.RandomState, random.Random)
"""The classes of the generators that the modules of NumPy and Python draw from. Numba uses other generators."""


DECORATORS = frozenset({"numba.core.decorators", "numba.np.ufunc.decorators"})
"""The modules of `njit`, `jit`, `vectorize` and `guvectorize`, and of the decorators that these return."""


class _Running:
    """Inside, functions that Numba compiles run as Python.

    Attributes
    ----------
    is_used : whether one has run in any thread. Before that, calls need no `check_draw`.
    """

    is_used = False

    def __init__(self) -> None:
        self._here = threading.local()

    @property
    def depth(self) -> int:
        """How many of them run in this thread."""
        return getattr(self._here, "depth", 0)

    def __enter__(self) -> None:
        self.is_used = True
        self._here.depth = self.depth + 1

    def __exit__(self, *_: object) -> None:
        self._here.depth -= 1


RUNNING = _Running()


def is_jitted(thing: Any) -> bool:
    """Whether something is a function that `njit` or `jit` made."""
    return type(thing).__name__ == "CPUDispatcher" and type(thing).__module__ == "numba.core.registry"


def is_vectorized(thing: Any) -> bool:
    """Whether something is a function that `vectorize` made, for one thread."""
    return type(thing).__name__ == "DUFunc" and type(thing).__module__ == "numba.np.ufunc.dufunc"


def is_of_floats(made: Any) -> bool:
    """Whether a function that `vectorize` made computes a float64 number of such numbers."""
    with suppress(TypeError):
        made(*[np.empty(0)] * made.nin)
        return set(made.ufunc.resolve_dtypes((*[np.dtype(float)] * made.nin, None))) == {np.dtype(float)}
    return False


def is_range(function: Any) -> bool:
    """Whether something is `range`, or `numba.prange`, which is `range` without threads."""
    names = (getattr(function, name, "") for name in ("__module__", "__name__"))
    return function is range or tuple(names) == ("numba.misc.special", "prange")


def check_draw(callee: Any) -> None:
    """Before a call: a function that Numba compiles does not draw from the generators of NumPy's and Python's modules.

    Raises
    ------
    RefusedError : such a function runs as Python, and draws.
    """
    if RUNNING.depth and isinstance(getattr(callee, "__self__", None), _GENERATORS):
        refuse_draw()


def refuse_draw() -> None:
    """Raise a RefusedError for a draw from a generator of Numba's."""
    raise RefusedError(
        "a function that Numba compiles draws random numbers, from a generator that only compiled code can reach",
        where=resolve(here()),
        remedy="draw outside of it, or pass it a generator: np.random.default_rng(seed)",
    )


def draws(function: FunctionType) -> bool:
    """Whether a function that Numba compiles, or one that it calls, draws random numbers, as far as names show."""
    return any(
        name == "random" or isinstance(getattr(one, "__self__", None), _GENERATORS) for name, one in names_of(function)
    )


def names_of(function: FunctionType) -> list[tuple[str, Any]]:
    """The names in the code of a function that Numba compiles, and of those that it calls, with their global values."""
    found: list[tuple[str, Any]] = []
    seen, below = set[FunctionType](), [function]
    while below:
        one = below.pop()
        if one not in seen:
            seen.add(one)
            names: list[tuple[str, Any]] = [(name, one.__globals__.get(name)) for name in one.__code__.co_names]
            below += [value.py_func for _, value in names if is_jitted(value)]
            found += names
    return found
