"""One line on stderr that says what is being done while Julia is being set up."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any

from bridge.errors import printable

PATIENCE = 2.0
"""Seconds after which a log, a pipe or a file is told as well; a terminal is told at once."""


class ProgressLine:
    """A context manager: a line with a clock that vanishes in the end on a terminal, plain lines elsewhere.

    Plain lines begin only after `PATIENCE` seconds, so that what is quick stays silent.
    """

    def __init__(self) -> None:
        self._text = ""
        self._impatient = False
        self._lock = threading.Lock()
        self._line: Any = None
        self._timer = threading.Timer(PATIENCE, self._speak)
        self._timer.daemon = True

    def __enter__(self) -> ProgressLine:
        self._line = _terminal_line()
        if self._line is None:
            self._timer.start()
        else:
            self._line.start()
            self._task = self._line.add_task("Julia")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._timer.cancel()
        if self._line is not None:
            self._line.stop()

    def step(self, text: str) -> None:
        """Say what is being done now."""
        with self._lock:
            changed, self._text = text != self._text, text
            if self._line is not None:
                self._line.update(self._task, description=printable(text))
            elif self._impatient and changed:
                _print(text)

    def _speak(self) -> None:
        with self._lock:
            self._impatient = True
            if self._text:
                _print(self._text)


def _print(text: str) -> None:
    print(f"[bridge] {printable(text)}", file=sys.stderr, flush=True)


def _terminal_line() -> Any:
    """Return a line of rich on a terminal, and `None` elsewhere or without rich."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    except ImportError:
        return None

    # Without markup: what Julia prints may hold square brackets.
    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    return Progress(*columns, console=Console(stderr=True), transient=True)
