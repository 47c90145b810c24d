"""Reading the rule book: by several threads, in any order of their steps; families that need a library; errors."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.rules
from bridge.arrays.dispatch import call
from bridge.rulebook import book

ROOT = Path(__file__).parents[2]
SECONDS = 60

# Its second rule is entered, and what the pull of its first one needs is defined, after others had their turn.
SLOW = """
from gate import first, second, open_gate
from bridge.extend import rule

@rule(first)
def _(ct, out, x):
    return ct * factor()

open_gate()

def factor():
    return 2.0

@rule(second)
def _(ct, out, x):
    return ct * 3.0
"""


def first(x: Any) -> Any:
    return 2.0 * x


def second(x: Any) -> Any:
    return 3.0 * x


class Watched:
    """A lock that says when somebody wants it."""

    def __init__(self, wanted: Callable[[], None]) -> None:
        self.lock = threading.RLock()
        self.wanted = wanted

    def __enter__(self) -> None:
        self.wanted()
        self.lock.acquire()

    def __exit__(self, *error: object) -> None:
        self.lock.release()


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Write a family of rules into an unread book."""
    book.read_book()
    names: list[str] = []

    def write(name: str, code: str) -> None:
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        names.append(f"bridge.rules.{name}")

    gate = ModuleType("gate")
    gate.first, gate.second = first, second  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gate", gate)
    monkeypatch.setattr(bridge.rules, "__path__", [*bridge.rules.__path__, str(tmp_path)])
    monkeypatch.setattr(book, "_waiting", None)
    yield write
    for name in names:
        sys.modules.pop(name, None)
        vars(bridge.rules).pop(name.rpartition(".")[2], None)


def in_two_threads(monkeypatch: pytest.MonkeyPatch, other: Callable[[], Any]) -> Any:
    """What `other` gives that has its turn while this thread is in the middle of reading a family."""
    moved = threading.Event()
    answers: list[Any] = []

    def run() -> None:
        try:
            answers.append(other())
        except Exception as error:
            answers.append(error)
        moved.set()

    thread = threading.Thread(target=run)

    def open_gate() -> None:
        thread.start()
        # Either it has its answer, of a family half-read, or it waits.
        assert moved.wait(SECONDS)

    def wanted() -> None:
        if threading.current_thread() is thread:
            moved.set()

    monkeypatch.setattr(book, "_lock", Watched(wanted))
    monkeypatch.setattr(sys.modules["gate"], "open_gate", open_gate, raising=False)
    book.read_book()
    thread.join(SECONDS)
    (answer,) = answers
    return answer


def test_who_finds_no_rule_waits_for_the_reading(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    library("slow", SLOW)
    found = in_two_threads(monkeypatch, lambda: book.find(second))
    assert getattr(found, "function", found) is second


def test_nobody_sees_a_family_half_read(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    library("slow", SLOW)

    def gradient() -> Any:
        return bridge.grad(lambda x: np.sum(book.RULES[first](x)) if first in book.RULES else np.sum(x))(np.ones(2))

    assert in_two_threads(monkeypatch, gradient).tolist() == [2.0, 2.0]


def test_who_only_looks_sees_all_of_a_family_or_nothing(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    library("slow", SLOW)
    assert in_two_threads(monkeypatch, lambda: book.RULES.get(first)) is None
    assert bridge.grad(lambda x: np.sum(call(first, (x,), {})))(np.ones(2)).tolist() == [2.0, 2.0]


def test_a_family_may_ask_and_import_others_while_it_is_read(library: Any) -> None:
    library(
        "one",
        "from bridge.rules.two import factor\nfrom bridge.rulebook import book\nfound = book.find(factor)\n",
    )
    library(
        "two", "from gate import first\nfrom bridge.extend import rule\nfactor = rule(first)(lambda ct, out, x: ct)\n"
    )
    found = book.find(first)
    assert found is not None and found.function is first


def test_a_family_about_a_library_is_read_once_that_is_loaded(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    library(
        "later",
        'from bridge.extend import needs, rule\npart = needs("gate.part")\n@rule(part.f)\ndef _(ct, out, x): ...\n',
    )
    part = ModuleType("gate.part")
    part.f = second  # type: ignore[attr-defined]
    assert book.find(second) is None
    assert book.find(second) is None
    monkeypatch.setitem(sys.modules, "gate.part", part)
    assert book.find(second) is not None


def test_an_error_of_a_family_is_told_every_time(library: Any) -> None:
    library(
        "broken", "from gate import first\nfrom bridge.extend import rule\nrule(first)(len)\nraise OSError('broken')\n"
    )
    for _ in range(2):
        with pytest.raises(OSError, match="broken"):
            book.find(second)


THREADS = """
import threading, numpy as np, bridge
answers, start = [], threading.Barrier(6)
def run():
    start.wait()
    answers.append(bridge.grad(lambda x: np.sum(np.sin(x)))(np.zeros(2)).tolist())
threads = [threading.Thread(target=run) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(answers == [[1.0, 1.0]] * 6)
"""


def test_six_threads_that_start_at_once() -> None:
    run = subprocess.run([sys.executable, "-c", THREADS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.stdout == "True\n", run.stderr
