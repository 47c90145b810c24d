"""Runs mutants in a process that has collected the tests: each in a fork, where one function gets other code."""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from bridge.proof.rules.inputs import book
from bridge.rulebook.rule import Case
from tests.mutations.mutants import Mutant, codes

# Seconds that a test gets beyond twenty times what it took, and memory beyond what the process has.
PATIENCE = 10.0
MEMORY = 4 << 30
# Calls of a function in one test, beyond which it is not asked which lines run.
LOOKED_AT = 1000

KILLED, SURVIVED, UNTOUCHED = "killed", "survived", "on a line that no test runs"


@dataclass
class Measured:
    """A test on the code as it is."""

    passes: bool
    seconds: float
    lines: set[tuple[str, int]] = field(default_factory=set)


@dataclass
class Run:
    """A pytest plugin: in place of running the tests, it asks of each mutant which test it fails."""

    root: Path
    folders: tuple[str, ...]
    mutants: list[Mutant]
    ended: Callable[[Mutant, str, str], None]
    seconds: float
    measured: Path | None = None
    tests: dict[str, Measured] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Of the tests of rules only those of the families that are changed: there are thousands."""
        changed = {Path(one.file).stem for one in self.mutants if one.file.startswith("rules/")}
        families = [one for one in book() if one.__name__.rpartition(".")[2] in changed and hasattr(one, "cases")]
        functions = {case.function for family in families for case in family.cases()}
        items[:] = [item for item in items if all(case.function in functions for case in _cases_of(item))]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        if self.measured is not None and self.measured.exists():
            self.tests = pickle.loads(self.measured.read_bytes())
        folders = tuple(str(self.root / folder) for folder in self.folders)
        functions = _functions_of(folders)
        gc.freeze()
        timed = _in_a_fork(lambda: _timed([items[name] for name in items if name not in self.tests]))
        for name, test in timed.items():
            if test.passes:
                test.lines = _in_a_fork(lambda name=name: _lines_of(items[name], folders))
        self.tests |= timed
        if self.measured is not None:
            self.measured.write_bytes(pickle.dumps(self.tests))
        self.tests = {name: self.tests[name] for name in items if self.tests[name].passes}
        seconds = sum(test.seconds for test in self.tests.values())
        print(f"{len(items)} tests, {len(self.tests)} pass in {seconds:.0f} s", flush=True)
        for mutant in self.mutants:
            self._try(mutant, items, functions)
        return True

    def _try(self, mutant: Mutant, items: dict[str, Any], functions: dict[CodeType, list[FunctionType]]) -> None:
        path = str(self.root / mutant.file)
        lines = {(path, line) for line in range(mutant.first, mutant.last + 1)}
        touching = [name for name, test in self.tests.items() if not lines.isdisjoint(test.lines)]
        if not touching:
            self.ended(mutant, UNTOUCHED, "")
            return
        chosen = self._chosen(touching)
        source = Path(path).read_text(encoding="utf-8")
        swaps = _swaps(codes(source, path), codes(source, path, mutant.number), functions)
        if not swaps:
            self.ended(mutant, UNTOUCHED, "")
            return
        killer = _first_that_fails(swaps, [(items[name], 20 * self.tests[name].seconds) for name in chosen])
        if killer is None:
            self.ended(mutant, SURVIVED, f"{len(chosen)} of {len(touching)} tests")
        else:
            self.kills[chosen[killer]] += 1
            self.ended(mutant, KILLED, chosen[killer])

    def _chosen(self, touching: list[str]) -> list[str]:
        """Tests in which most mutants have died first, then the fast ones, for as long as a mutant is given."""
        chosen, left = [], self.seconds
        for name in sorted(touching, key=lambda name: (-self.kills[name], self.tests[name].seconds)):
            left -= self.tests[name].seconds
            if left < 0:
                break
            chosen.append(name)
        return chosen


def _cases_of(item: Any) -> list[Case]:
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return [one for one in (parameters.get("case"), *parameters.get("cases", ())) if isinstance(one, Case)]


def _passes(item: pytest.Item) -> bool:
    return all(report.passed for report in runtestprotocol(item, log=False))


def _timed(items: list[pytest.Item]) -> dict[str, Measured]:
    found: dict[str, Measured] = {}
    for item in items:
        start = time.perf_counter()
        found[item.nodeid] = Measured(_passes(item), time.perf_counter() - start)
    return found


def _lines_of(item: pytest.Item, folders: tuple[str, ...]) -> set[tuple[str, int]]:
    """The lines of the files in these folders that a test runs, in a process that remembers nothing of others."""
    calls = Counter[CodeType]()
    lines: set[tuple[str, int]] = set()

    def enter(frame: Any, event: str, argument: Any) -> Any:
        code = frame.f_code
        calls[code] += 1
        return line if calls[code] <= LOOKED_AT and code.co_filename.startswith(folders) else None

    def line(frame: Any, event: str, argument: Any) -> Any:
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    threading.settrace(enter)
    sys.settrace(enter)
    try:
        _passes(item)
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
    return lines


def _functions_of(folders: tuple[str, ...]) -> dict[CodeType, list[FunctionType]]:
    found: dict[CodeType, list[FunctionType]] = defaultdict(list)
    # What pytest has collected is frozen (tests/conftest.py), and not listed then.
    gc.unfreeze()
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename.startswith(folders):
            found[one.__code__].append(one)
    return found


def _swaps(
    before: dict[Any, CodeType], after: dict[Any, CodeType], functions: dict[CodeType, list[FunctionType]]
) -> list[tuple[FunctionType, CodeType]]:
    """The functions that there are whose code is another now."""
    return [
        (function, after[name])
        for name, code in before.items()
        if name in after and after[name] != code
        for function in functions.get(code, ())
    ]


def _first_that_fails(swaps: list[tuple[FunctionType, CodeType]], tests: list[tuple[pytest.Item, float]]) -> int | None:
    """The position of the first test that fails; None if all pass."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _quietly()
        for function, code in swaps:
            function.__code__ = code
        for number, (item, seconds) in enumerate(tests):
            os.write(writing, number.to_bytes(4, "little"))
            signal.setitimer(signal.ITIMER_REAL, PATIENCE + seconds)
            failed = True
            try:
                failed = any(report.failed for report in runtestprotocol(item, log=False))
            finally:
                if failed:
                    os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        last = pipe.read()[-4:]
    _, status = os.waitpid(child, 0)
    return None if status == 0 else int.from_bytes(last, "little")


def _quietly() -> None:
    """What a mutant prints is of no interest; what takes too long or too much memory ends."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def _in_a_fork(measure: Callable[[], Any]) -> Any:
    """What `measure` gives in a process that ends with it: this one stays as it was when tests were collected."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _quietly()
            found = measure()
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(found, pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        found = pickle.load(pipe)
    os.waitpid(child, 0)
    return found
