"""Functions of libraries whose results are not decided by their arguments: chance, clocks, files.

While a program is compiled, they are called once. What chance gives belongs to each call: the program is traced again,
as it is where it draws from a generator (`ENTROPY` moves on). Clocks and files are told: what they gave is a constant.
How the process is set up is asked again before each call (`process_state`).
"""

from __future__ import annotations

import builtins
import copy
import datetime
import functools
import gc
import glob
import importlib.util
import inspect
import io
import os
import random
import secrets
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Callable
from types import BuiltinFunctionType, MethodType
from typing import Any, Protocol

import numpy as np

from bridge.code_position import here, resolve
from bridge.source.process_state import is_of, is_state, told
from bridge.source.texts import reads_text


class Notes(Protocol):
    """What is told of what a program asks while it is compiled."""

    def note_asked(self, name: str) -> None:
        """Something is asked once, and may give something else later."""

    def note_state(self, name: str, ask: Callable[[], Any]) -> None:
        """Something is asked that `ask` tells again."""


class Entropy(threading.local):
    """What chance has given to the programs of a thread, in order; what was given can be given again.

    Attributes
    ----------
    position : how many things have been asked for; set back, the same ones are given again.
    """

    def __init__(self) -> None:
        self.position = 0
        self._given: dict[int, Any] = {}

    def gives(self, ask: Callable[[], Any]) -> Any:
        """What `ask` returns, or has returned at this position."""
        if self.position not in self._given:
            self._given[self.position] = ask()
            self._given.pop(self.position - _KEPT, None)
        found = self._given[self.position]
        self.position += 1
        return copy.deepcopy(found)

    def gives_again(self, position: int) -> bool:
        """Whether all from `position` on is known."""
        return position == self.position or position in self._given


ENTROPY = Entropy()

_KEPT = 10_000
"""How many of them are known at most: a vjp may ask for them when its pull is called."""

_MAKERS = (
    np.random.default_rng, np.random.RandomState, np.random.SeedSequence, np.random.PCG64, np.random.PCG64DXSM,
    np.random.MT19937, np.random.Philox, np.random.SFC64, random.Random,
)  # fmt: skip
"""What makes generators by chance if it gets no seed."""

_CHANCE = frozenset(map(id, (
    os.urandom, uuid.uuid1, uuid.uuid4, secrets.choice, secrets.randbelow, secrets.randbits, secrets.token_bytes,
    secrets.token_hex, secrets.token_urlsafe, *filter(None, [getattr(os, "getrandom", None)]),
)))  # fmt: skip
"""The identities of functions: what cannot be hashed may be called, too."""

_CLOCKS = frozenset(map(id, (
    *(getattr(time, name) for name in dir(time) if name.removesuffix("_ns") in (
        "time", "perf_counter", "monotonic", "process_time", "thread_time", "clock_gettime")),
    os.times,
)))  # fmt: skip
_FILES = frozenset(map(id, (
    os.getcwd, os.listdir, os.scandir, os.stat, os.path.exists, os.path.getmtime, os.path.getsize, os.path.isfile,
    os.path.isdir, os.path.islink, os.access, os.walk, glob.glob, glob.iglob, shutil.which, shutil.disk_usage,
    builtins.open, io.open, np.load, np.loadtxt, np.genfromtxt, np.fromfile, np.memmap, builtins.input,
    importlib.util.find_spec, os.system, os.popen,
)))  # fmt: skip
_PROCESSES = {"subprocess": ("run", "call", "check_call", "check_output", "getoutput")}
_INTERPRETER = frozenset(map(id, (
    sys._getframe, sys.exc_info, sys.getrefcount, inspect.currentframe, inspect.stack, gc.get_count, gc.get_objects,
    gc.get_referrers, gc.get_stats, threading.enumerate, *filter(None, [getattr(os, "getloadavg", None)]),
)))  # fmt: skip
"""What tells of callers, and of who else holds what."""
_NOW = frozenset({"localtime", "gmtime", "ctime", "strftime"})
_OF_DATES = frozenset({"now", "utcnow", "today"})
_OF_PATHS = frozenset({
    "open", "read_text", "read_bytes", "exists", "stat", "iterdir", "glob", "cwd", "is_file", "is_dir", "rglob",
})  # fmt: skip


def is_asked(function: Any) -> bool:
    """Whether a function's results are not decided by its arguments, or may not be."""
    return _is_chance(function) or _is_maker(function) or _is_told(function) or is_state(function)


def gives_chance(function: Any) -> bool:
    """Whether it gives something else each time, whatever it gets."""
    return _is_chance(function) or _is_clock(function)


def asked(function: Any, notes: Notes) -> Any:
    """What a program that is compiled calls in the place of such a function."""
    if _is_chance(function):
        return lambda *args, **kwargs: ENTROPY.gives(lambda: function(*args, **kwargs))
    if _is_maker(function):
        return functools.partial(_made, function)
    if _is_told(function):
        reads = any(function is one for one in (np.loadtxt, np.genfromtxt))
        return functools.partial(_noted, reads_text(function) if reads else function, notes.note_asked)
    if is_state(function):
        return functools.partial(_state, function, notes)
    return function


def _state(function: Any, notes: Notes, *args: Any, **kwargs: Any) -> Any:
    notes.note_state(
        f"{function.__name__}({', '.join(map(repr, (*args, *kwargs.values())))})",
        functools.partial(told, function, args, kwargs),
    )
    return function(*args, **kwargs)


def _made(maker: Any, *args: Any, **kwargs: Any) -> Any:
    has_seed = any(one is not None for one in (*args, *kwargs.values()))
    return maker(*args, **kwargs) if has_seed else ENTROPY.gives(lambda: maker(*args, **kwargs))


def _noted(clock: Any, note: Callable[[str], None], *args: Any, **kwargs: Any) -> Any:
    if clock is not np.datetime64 or (args and args[0] in ("now", "today")):
        name = getattr(clock, "__qualname__", type(clock).__name__)
        note(f"{name}() ({resolve(here())})")
    return clock(*args, **kwargs)


def _is_chance(function: Any) -> bool:
    return id(function) in _CHANCE or isinstance(_owner(function), random.SystemRandom)


def _is_maker(function: Any) -> bool:
    return any(function is one for one in _MAKERS)


def _is_told(function: Any) -> bool:
    return _is_clock(function) or _is_file(function) or function is np.datetime64 or id(function) in _INTERPRETER


def _is_file(function: Any) -> bool:
    owner = _owner(function)
    if isinstance(owner, os.PathLike):
        return function.__name__ in _OF_PATHS
    return id(function) in _FILES or is_of(function, _PROCESSES)


def _is_clock(function: Any) -> bool:
    owner = _owner(function)
    if isinstance(owner, type):
        return issubclass(owner, datetime.date) and function.__name__ in _OF_DATES
    return id(function) in _CLOCKS or (owner is time and function.__name__ in _NOW)


def _owner(function: Any) -> Any:
    """What a function is a method of; objects of the program's are not asked, who may take note of it."""
    return function.__self__ if type(function) in (BuiltinFunctionType, MethodType) else None
