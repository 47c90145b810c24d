"""The one Julia of this process: started on first use, under a lock."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from bridge.errors import ArgumentError, JuliaNotAvailable
from bridge.julia import threads
from bridge.julia.discovery import INSTALL, PACKAGE, SET_UP, Candidate, discover, package_folder, unusable
from bridge.julia.preparation import add_line, prepare
from bridge.julia.progress import ProgressLine
from bridge.julia.sysimage import LEAVES_OUT, Image, image

OPTIONS = {
    # With Julia's own handlers a Ctrl-C ends the process.
    "HANDLE_SIGNALS": "no",
    # More threads than one need Julia's handlers.
    "THREADS": "1",
    "AUTOLOAD_IPYTHON_EXTENSION": "no",
    "STARTUP_FILE": "no",
}
"""Options of juliacall that hold unless the user set them, as `-X juliacall-...` or `PYTHON_JULIACALL_...`."""


# Each a step of its own: what a step defines can be called in the next.
FIRST_STEPS = (
    f'Base.identify_package("{PACKAGE}") === nothing && push!(LOAD_PATH, raw"{{folder}}")',
    f"import {PACKAGE}",
    f"{PACKAGE}.Session.start!({{signals}}, {{fetch}})",
)


class Session:
    """A running Julia.

    Attributes
    ----------
    candidate : which Julia it is, and who said so.
    """

    def __init__(self, main: Any, candidate: Candidate, evaluate: Callable[[bytes], bytes]) -> None:
        self.main = main
        self.candidate = candidate
        self._evaluate = evaluate

    @cached_property
    def package(self) -> Any:
        """The Julia module MutationBridge."""
        return self.seval(PACKAGE)

    def seval(self, code: str) -> Any:
        """Evaluate `code` in Julia's module Main; juliacall's value."""
        return self.perform(lambda: self.main.seval(code))

    def perform(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return `function(*arguments)`, which calls Julia: from this thread if it is the main one, else from a helper.

        Everything that may run in another thread than the main one calls Julia (and juliacall's objects) by this.
        """
        return threads.perform(function, *arguments)

    def text(self, code: str) -> str:
        """Evaluate `code` in Julia's module Main and return the value as text; RuntimeError with Julia's message.

        For what happens at the start, where juliacall's first conversions would take seconds.
        """
        answer = self.perform(self._evaluate, code.encode()).decode()
        if answer[0] == "!":
            raise RuntimeError(answer[1:])
        return answer[1:]

    def has(self, name: str) -> bool:
        """Whether the project has the Julia package `name`."""
        if not re.fullmatch(r"[^\W\d]\w*", name):
            raise ArgumentError(f"{name!r} is no name of a Julia package")
        return self.text(f'{PACKAGE}.Session.installed("{name}")') == "true"

    def require(self, name: str) -> None:
        """Load the Julia package `name` into Main (`using`).

        Raises
        ------
        JuliaNotAvailable
            If the project does not have it, or it does not load; the remedy is the line to type.
        """
        if not self.has(name):
            line = add_line(self.candidate, [name]) or f"python -m juliapkg add {name} && {SET_UP}"
            raise JuliaNotAvailable(
                f"the Julia project {self.candidate.project} does not have the package {name}",
                remedy=f"{line}  (then start Python again)",
            )
        try:
            self.text(f"using {name}")
        except RuntimeError as error:
            raise unusable(self.candidate, f"the package {name} does not load: {error}") from error

    def interruption(self) -> BaseException:
        """Return what stopped Julia last: the exception of the signal's handler in Python, KeyboardInterrupt at first.

        To be raised where `interrupted(error)` was true.
        """
        addresses = [int(address) for address in self.text(f"{PACKAGE}.Session.taken()").split()]
        kind, value, _ = (ctypes.cast(address, ctypes.py_object).value if address else None for address in addresses)
        for address in addresses:
            if address:
                ctypes.pythonapi.Py_DecRef(ctypes.cast(address, ctypes.py_object))
        if isinstance(value, BaseException):
            return value
        return kind() if isinstance(kind, type) and issubclass(kind, BaseException) else KeyboardInterrupt()


_LOCK = threading.RLock()
_session: Session | None = None
_failure: JuliaNotAvailable | None = None


def session() -> Session:
    """Return the Julia session of this process; the first call starts it.

    Raises
    ------
    JuliaNotAvailable
        If there is no Julia that can be used. The same again at later calls: nothing is tried twice in a process.
    """
    global _session, _failure
    if _session is None:
        with _LOCK:
            if _failure is not None:
                raise JuliaNotAvailable(_failure.what, remedy=_failure.remedy) from _failure
            if _session is None:
                try:
                    _session = threads.start(_start)
                except JuliaNotAvailable as failure:
                    _failure = failure
                    raise
    if threads.is_fork():
        raise threads.fork_error()
    return _session


def started() -> Session | None:
    """Return the session if one was started."""
    return _session


def forget_failure() -> None:
    """Let the next call of `session` try again, after the set-up changed."""
    global _failure
    with _LOCK:
        _failure = None


def interrupted(error: BaseException) -> bool:
    """Return whether `error` (juliacall's) is Julia's InterruptException, which Ctrl-C causes."""
    exception = getattr(error, "exception", None)
    if exception is None or _session is None:
        return False
    package = _session.package
    return bool(_session.perform(lambda: package.Session.is_interrupt(exception)))


def _start() -> Session:
    candidate = discover()
    if candidate.how != "running":
        candidate = prepare(candidate)
    found = None if candidate.how == "running" else image(candidate)
    with ProgressLine() as line:
        line.step("starting Julia" + (f"; its image is {found}" if found is not None and found.problem else ""))
        juliacall = _juliacall(candidate, found)
        library = None if candidate.how == "running" else juliacall.CONFIG["lib"]
        begin = _first_evaluation(library, juliacall.Main)
        functions = (ctypes.pythonapi.PyErr_CheckSignals, ctypes.pythonapi.PyErr_Fetch)
        signals, fetch = (ctypes.cast(function, ctypes.c_void_p).value for function in functions)
        line.step(f"loading {PACKAGE}")
        for step in FIRST_STEPS:
            answer = begin(step.format(folder=package_folder(), signals=signals, fetch=fetch))
            if answer[0] == "!":
                raise unusable(candidate, f"{PACKAGE} does not load: {answer[1:]}", _again(found))
        evaluate, outside, inside = map(int, answer[1:].split())
        _leave_julia(outside, inside)
        _spare_forks(juliacall)
        return Session(juliacall.Main, candidate, ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.c_char_p)(evaluate))


def _juliacall(candidate: Candidate, found: Image | None) -> Any:
    """Import juliacall, which starts Julia, with the image that was found if it is of use."""
    options = {name: value for name, value in OPTIONS.items() if not _has_option(name)}
    if candidate.how in ("configuration", "juliapkg"):
        options |= {"EXE": str(candidate.exe), "PROJECT": str(candidate.project)}
    if found is not None and found.problem is None:
        options["SYSIMAGE"] = str(found.path)
    with _environment({f"PYTHON_JULIACALL_{name}": value for name, value in options.items()}):
        try:
            import juliacall
        except ImportError as error:
            raise unusable(candidate, f"juliacall cannot be imported: {error}", INSTALL) from error
        except Warning:
            raise
        except Exception as error:
            raise unusable(candidate, f"Julia did not start inside Python: {error}", _again(found)) from error
    return juliacall


def _again(found: Image | None) -> str:
    """The line to type where a Julia that was ready did not start."""
    without = "" if found is None or found.problem is not None else f"; it has an image: {LEAVES_OUT}"
    return f"start Python again after: {SET_UP}{without}"


def _first_evaluation(library: Any, main: Any) -> Callable[[str], str]:
    """Return the function that evaluates code until the package does: `=` and a value, or `!` and an error.

    By Julia's C interface in the thread that just started Julia, and by juliacall where the program started it before.
    """

    def guarded(code: str) -> str:
        return f'try; "=" * string(begin {code} end); catch failure; "!" * sprint(showerror, failure); end'

    if library is None:
        return lambda code: str(main.seval(guarded(code)))
    evaluate, characters = library.jl_eval_string, library.jl_string_ptr
    evaluate.argtypes, evaluate.restype = [ctypes.c_char_p], ctypes.c_void_p
    characters.argtypes, characters.restype = [ctypes.c_void_p], ctypes.c_char_p
    return lambda code: str(characters(evaluate(guarded(code).encode())), "utf-8")


def _leave_julia(outside: int, inside: int) -> None:
    """Tell Julia that this thread is outside of Julia, by the addresses of its functions for that.

    juliacall leaves the thread that started Julia marked as running Julia code. A garbage collection in another
    thread would wait for it for ever, with the GIL held. Calls from Python mark the thread by themselves.
    """
    mark = ctypes.PYFUNCTYPE(ctypes.c_int8)
    thread = threading.get_ident()
    mark(outside)()

    @atexit.register
    def before_julia_ends() -> None:
        if threading.get_ident() == thread and not threads.is_fork():
            mark(inside)()


def _spare_forks(juliacall: Any) -> None:
    """Let a forked process end: it must not end Julia, nor free what Julia holds, both of which crash there."""

    def after_fork() -> None:
        juliacall.CONFIG["lib"].jl_atexit_hook = lambda status: None
        for one in (*vars(juliacall).values(), *gc.get_objects()):
            if issubclass(type(one), juliacall.AnyValue):
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=after_fork)


def _has_option(name: str) -> bool:
    return f"juliacall-{name.lower().replace('_', '-')}" in sys._xoptions or f"PYTHON_JULIACALL_{name}" in os.environ


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables, and restore them."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
