"""Functions of libraries that tell how the process is set up: printing, precision, threads, limits.

What they tell is part of a program that is compiled, and is asked again before each call.
"""

from __future__ import annotations

import contextvars
import decimal
import gc
import locale
import logging
import os
import random
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np


class State(NamedTuple):
    """A function that tells something of the process, and a text or number of all that a program sees of that."""

    function: Callable[..., Any]
    told: Callable[[Any], Any] = repr


def _precision(found: decimal.Context) -> str:
    return repr((found.prec, found.rounding, found.Emin, found.Emax, found.capitals, found.clamp, found.traps))


def _logger(found: logging.Logger) -> str:
    return repr((found.name, found.getEffectiveLevel(), found.disabled, found.handlers, found.filters))


def _thread(found: threading.Thread) -> str:
    return repr((found.name, found.ident, found.daemon))


def _variables(found: contextvars.Context) -> str:
    return repr([(id(variable), id(value)) for variable, value in found.items()])


def _generator(found: Any) -> str:
    parts = found.values() if isinstance(found, dict) else found
    return repr([part.tobytes() if isinstance(part, np.ndarray) else part for part in parts])


_STATES: tuple[State, ...] = (
    *(State(function) for function in (
        np.get_printoptions, np.getbufsize, np.geterrcall, sys.getrecursionlimit, sys.getswitchinterval, sys.gettrace,
        sys.getprofile, gc.isenabled, gc.get_threshold, gc.get_debug, os.getpid, os.getppid, locale.getlocale,
        locale.localeconv, locale.getpreferredencoding, signal.getsignal, tempfile.gettempdir,
        threading.get_ident, threading.get_native_id, threading.active_count, os.getlogin, os.cpu_count,
    )),
    State(decimal.getcontext, _precision),
    State(logging.getLogger, _logger),
    State(threading.current_thread, _thread),
    State(threading.main_thread, _thread),
    State(contextvars.copy_context, _variables),
    State(random.getstate, _generator),
    State(np.random.get_state, _generator),
)  # fmt: skip

_BY_IDENTITY = {id(state.function): state for state in _STATES}
"""By identity: what cannot be hashed may be called, too."""


_ELSEWHERE = {"socket": ("gethostname",), "multiprocessing": ("current_process", "get_start_method")}
"""The same of modules that a program may have imported, and this one does not."""


def is_of(function: Any, names: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether it is one of these functions, by module, of modules that are loaded."""
    name = getattr(function, "__name__", None)
    return any(
        name in of_module and getattr(sys.modules.get(module), name, None) is function
        for module, of_module in names.items()
    )


def is_state(function: Any) -> bool:
    """Whether a function tells how the process is set up."""
    return id(function) in _BY_IDENTITY or is_of(function, _ELSEWHERE)


def told(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A text or number of what such a function tells now."""
    state = _BY_IDENTITY.get(id(function), State(function))
    return state.told(function(*args, **kwargs))
