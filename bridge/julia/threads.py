"""Julia's threads in a Python process: the main thread, and one helper that makes the calls of all others.

A thread that called Julia tells it when it ends, without the GIL. If another thread's call collects garbage at that
moment, the process crashes, since Julia's signal handlers are off. So only threads that never end call Julia. None of
a forked process does: its Julia is a copy of one whose other threads are gone, and may wait for them for ever.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from bridge.errors import JuliaNotAvailable

T = TypeVar("T")


class _Call:
    """A call that waits for the helper, in the context of the thread that wants it."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments
        self.context = contextvars.copy_context()
        self.done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None

    def make(self) -> None:
        try:
            self.value = self.context.run(self.function, *self.arguments)
        except BaseException as error:
            self.error = error
        self.done.set()


_LOCK = threading.Lock()
_calls: SimpleQueue[_Call] = SimpleQueue()
_helper: threading.Thread | None = None
_able: set[int] = set()
_process: int | None = None  # where Julia runs, or ran when this process was forked
_forked = False


def able() -> bool:
    """Whether this thread may call Julia itself."""
    return threading.get_ident() in _able


def perform(function: Callable[..., T], *arguments: Any) -> T:
    """Return `function(*arguments)`, called in a thread that may call Julia: this one, if it may."""
    if threading.get_ident() in _able:
        return function(*arguments)
    if _forked:
        raise fork_error()
    call = _Call(function, arguments)
    _help()
    _calls.put(call)
    call.done.wait()
    if call.error is not None:
        try:
            raise call.error
        finally:
            call.error = None
    result: T = call.value
    return result


def start(function: Callable[..., T], *arguments: Any) -> T:
    """Perform the call that starts Julia: in the main thread if this is it, else in the helper."""
    global _process
    if threading.current_thread() is threading.main_thread():
        _able.add(threading.get_ident())
    result = perform(function, *arguments)
    _process = os.getpid()
    return result


def fork_error() -> JuliaNotAvailable:
    """What a process raises that was forked from one with a Julia."""
    return JuliaNotAvailable(
        f"Julia was started in process {_process}, and this is its fork {os.getpid()}",
        remedy="start worker processes with multiprocessing's method 'spawn', or before Julia's first use",
    )


def is_fork() -> bool:
    """Whether this process was forked from one with a Julia, which it cannot use."""
    return _forked


def _after_fork() -> None:
    """In the child: no thread of it may call Julia, and nobody holds locks any more."""
    global _LOCK, _calls, _helper, _forked
    _LOCK, _calls, _helper = threading.Lock(), SimpleQueue(), None
    if _process is not None:
        _forked = True
        _able.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _help() -> None:
    global _helper
    with _LOCK:
        if _helper is None:
            _helper = threading.Thread(target=_serve, name="bridge.julia", daemon=True)
            _helper.start()


def _serve() -> None:
    _able.add(threading.get_ident())
    while True:
        _calls.get().make()
