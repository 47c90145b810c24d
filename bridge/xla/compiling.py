"""While XLA compiles: what is said of it, and where what it makes is kept."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache
from platformdirs import user_cache_path

from bridge.errors import ArgumentError, printable

SILENT = 2.0
"""Seconds that a compilation passes in silence."""
PROGRESS = "BRIDGE_XLA_PROGRESS"
"""The environment variable that, set to 0, lets long compilations pass in silence, too."""
CACHE = "BRIDGE_XLA_CACHE"
"""The environment variable that names the folder in which compiled programs are kept; 1 for the user's own."""

_LOG = logging.getLogger("bridge.xla")


@contextmanager
def told_if_long(name: str) -> Iterator[None]:
    """Say what is compiled, and how long it took, if that is more than two seconds.

    To the logger `bridge.xla`; where nobody listens to that, to stderr, if it is a terminal.
    """
    if os.environ.get(PROGRESS, "1") == "0":
        yield
        return
    start = time.perf_counter()
    timer = threading.Timer(SILENT, _say, [f"compiling {name} for XLA; this happens once for each signature"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        seconds = time.perf_counter() - start
        if seconds > SILENT:
            _say(f"compiled {name} in {seconds:.1f} s")


def tell(lines: Iterable[str]) -> None:
    """Say what was chosen for a program, where progress is told."""
    if os.environ.get(PROGRESS, "1") != "0":
        for line in lines:
            _say(line)


def _say(text: str) -> None:
    text = printable(text)
    if _LOG.hasHandlers() and _LOG.isEnabledFor(logging.INFO):
        _LOG.info(text)
    elif sys.stderr.isatty():
        print(f"[bridge] {text}", file=sys.stderr, flush=True)


@contextmanager
def persistent(cache: Any) -> Iterator[None]:
    """Inside, what XLA compiles is kept in a folder: `cache`, or the user's cache folder for True.

    None leaves it to the environment variable BRIDGE_XLA_CACHE. The settings are JAX's own, and are put back at the
    end. JAX opens its cache once, and keeps it whatever the settings say later; so it is closed before and after.
    """
    if cache is None:
        asked = os.environ.get(CACHE, "0")
        cache = asked == "1" or (asked not in ("", "0") and asked)
    if not cache:
        yield
        return
    folder = user_cache_path("mutation-bridge") / "xla" if cache is True else Path(cache)
    try:
        # What is in it is machine code that runs: a folder that is made here is the user's alone.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(
            f"compiled programs cannot be kept in {folder}: {error.strerror}",
            remedy=f"name a folder that can be written (cache=, or {CACHE}), or leave it out",
        ) from error
    wanted = {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    own = object()
    try:
        _OPEN.open(own, wanted)
        yield
    finally:
        _OPEN.close(own)


class _Open:
    """JAX's settings while programs are kept: those of the program that came last; at the end those from before.

    They are of the whole process, and threads may compile at once. None waits for another, which may wait for it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._by: set[object] = set()
        self._before: dict[str, Any] = {}

    def open(self, own: object, wanted: dict[str, Any]) -> None:
        with self._lock:
            if not self._by:
                self._before = {name: getattr(jax.config, name) for name in wanted}
            self._by.add(own)
            self._set(wanted)

    def close(self, own: object) -> None:
        with self._lock:
            if own in self._by:
                self._by.remove(own)
                if not self._by:
                    self._set(self._before)

    def _set(self, settings: dict[str, Any]) -> None:
        for name, value in settings.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()


_OPEN = _Open()
