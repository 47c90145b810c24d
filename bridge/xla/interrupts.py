"""Signals while a compiled program runs: Ctrl-C and alarms end its loops.

Python runs the handlers of signals in the main thread, between two of its instructions, and a compiled program is one
of these. So long loops look at a flag in each turn. It is memory of this process that the program has as an input,
without a copy; a thread is woken by signals (`signal.set_wakeup_fd`), and sets it. The program then ends, Python runs
the handler, and if that returns, the program runs again: each time undisturbed for longer, so that signals which come
regularly do not keep it from its end.

A device with memory of its own does not see the flag. There the program runs in another thread, which is abandoned if a
handler raises: the device goes on to the end of the program.
"""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import jax
import numpy as np
from jax import lax

from bridge.xla.lowering.lower import x64

Run = Callable[[Any, list[Any]], Any]

TURNS = 64
"""Elements of the flag; turn `i` reads the element `i % TURNS`, so that XLA cannot read it once for all turns."""
_PATIENCE = 0.05
"""Seconds that a program runs at least before it is interrupted again by a handler that returns."""
_ALIGNED = 64
"""What JAX takes without a copy begins at a multiple of so many bytes."""


def is_unset(stop: Any, turn: Any) -> Any:
    """Whether the flag is not set, in a loop's condition."""
    return lax.dynamic_slice(stop, (turn & (TURNS - 1),), (1,))[0] == 0


@functools.cache
def quiet() -> tuple[Any, Any]:
    """False, as an input that XLA cannot know, and a flag that is never set; on the device already."""
    return jax.device_put(np.False_), jax.device_put(np.zeros(TURNS, np.uint8))


@functools.cache
def _ended() -> tuple[Any, Any]:
    """The same with a flag that is set: loops end before their first turn."""
    return quiet()[0], jax.device_put(np.ones(TURNS, np.uint8))


class _Attempt:
    """One run of a program that signals may end; none does before it has run for `patience` seconds."""

    __slots__ = ("until", "was_ended")

    def __init__(self, patience: float) -> None:
        self.until = time.perf_counter() + patience if patience else 0.0
        self.was_ended = False


class _Listener:
    """The thread that signals wake, and the flag that it sets. All of it is made when it is needed first."""

    def __init__(self) -> None:
        memory = np.zeros(TURNS + _ALIGNED, np.uint8)
        first = -memory.ctypes.data % _ALIGNED
        self._flag = memory[first : first + TURNS]
        self._is_set = False
        self.inputs = quiet()[0], jax.device_put(self._flag, may_alias=True)
        self.is_seen = self.inputs[1].unsafe_buffer_pointer() == self._flag.ctypes.data
        self._lock = threading.Lock()
        self._attempt: _Attempt | None = None
        self._woken_before = -1
        self._reader, self._number = os.pipe()
        if os.name != "nt":
            os.set_blocking(self._number, False)
        threading.Thread(target=self._listen, name="bridge-signals", daemon=True).start()

    def run(self, run: Run, values: list[Any], attempt: _Attempt) -> Any:
        """The results, which are there, of a program whose loops a signal ends. In the main thread only."""
        woken = signal.set_wakeup_fd(self._number, warn_on_full_buffer=False)
        if woken != self._number:
            self._woken_before = woken
        around = self._attempt
        self._let(attempt)
        try:
            outputs, notes = run(self.inputs, values)
            if notes is not None or outputs:
                # All results of a program are there at once.
                (notes if notes is not None else outputs[-1]).block_until_ready()
            return outputs, notes
        finally:
            self._let(around)
            signal.set_wakeup_fd(woken)

    def _let(self, attempt: _Attempt | None) -> None:
        """Let signals end this attempt from now on."""
        with self._lock:
            self._attempt = attempt
            if self._is_set or (attempt is not None and attempt.was_ended):
                self._set(attempt is not None and attempt.was_ended)

    def _set(self, is_set: bool) -> None:
        self._is_set = is_set
        self._flag[:] = is_set

    def _listen(self) -> None:
        while True:
            numbers = os.read(self._reader, 1)
            attempt = self._attempt
            if self._woken_before != -1:
                # Whoever was woken before, as the loop of asyncio is, is told all the same.
                with suppress(OSError):
                    os.write(self._woken_before, numbers)
            if attempt is None:
                continue
            time.sleep(max(0.0, attempt.until - time.perf_counter()))
            with self._lock:
                if self._attempt is attempt:
                    attempt.was_ended = True
                    self._set(True)


_listener = functools.cache(_Listener)


def interruptible(run: Run, values: list[Any], polls: Callable[[], bool], is_first: bool = False) -> Any:
    """`run(inputs, values)`, whose results are there, or the exception that a handler of a signal raises meanwhile.

    If it `is_first`, the program is traced and compiled by it. `polls()` says of a traced program whether it looks at
    the flag.
    """
    if threading.current_thread() is not threading.main_thread():
        return run(quiet(), values)
    if _on_processor(values):
        listener = _listener()
        if listener.is_seen:
            return _ended_by_signals(listener, run, values)
    return _abandoned(run, values, polls, is_first)


def _ended_by_signals(listener: _Listener, run: Run, values: list[Any]) -> Any:
    start, patience = time.perf_counter(), 0.0
    while True:
        attempt = _Attempt(patience)
        found = listener.run(run, values, attempt)
        if not attempt.was_ended:
            return found
        now = time.perf_counter()
        start, patience = now, max(_PATIENCE, 2 * (now - start))


def _abandoned(run: Run, values: list[Any], polls: Callable[[], bool], is_first: bool) -> Any:
    if is_first:
        # What reads and runs Python stays in this thread.
        made = run(_ended(), values)
        if not polls():
            return made
    found: list[Any] = []
    raised: list[BaseException] = []
    is_over = threading.Event()

    def called() -> None:
        try:
            with x64():
                found.append(jax.block_until_ready(run(quiet(), values)))
        except BaseException as error:
            raised.append(error)
        finally:
            is_over.set()

    threading.Thread(target=called, name="bridge-run", daemon=True).start()
    while not is_over.wait(1.0):
        pass
    if raised:
        raise raised[0]
    return found[0]


def _on_processor(values: Sequence[Any]) -> bool:
    """Whether a program for these values runs on the processor, as one program."""
    placed = [x.devices() for x in values if isinstance(x, jax.Array)]
    if placed:
        return all(len(devices) == 1 and next(iter(devices)).platform == "cpu" for devices in placed)
    return jax.default_backend() == "cpu"
