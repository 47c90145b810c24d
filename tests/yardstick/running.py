"""Runs a record in a subprocess, and returns its leaves or its error."""

from __future__ import annotations

import ast
import itertools
import linecache
import multiprocessing
import os
import random
import re
import sysconfig
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import connection
from pathlib import Path
from typing import Any

import numpy as np

import bridge
from tests.programs_as_they_stand.differences import mapped
from tests.yardstick.leaves import leaves
from tests.yardstick.record import Call, LeftOut, Record

PARTS = ("gradient", "hvp")
Outcome = dict[str, Any]

_PACKAGE = Path(bridge.__file__).parent
_PLACES = ("stdlib", "purelib", "platlib")
_FOLDERS = (_PACKAGE, _PACKAGE.parent / "rules", *map(sysconfig.get_path, _PLACES))
# How names of files begin in which no line is the user's.
_INTERNAL = (*(f"{folder}{os.sep}" for folder in _FOLDERS), "<frozen", __file__)
_FORK = multiprocessing.get_context("fork")


def outcome(record: Record, engine: str, part: str) -> Outcome:
    """The value and gradient of a record, or its product with the Hessian along a fixed direction."""
    # As before each test.
    random.seed(0)
    np.random.seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {
                "leaves": dict(leaf for name, one in _found(record.make(), engine, part) for leaf in leaves(one, name))
            }
    except LeftOut as reason:
        return {"left out": str(reason)}
    except BaseException as error:
        first = next(iter(str(error).splitlines()), "")
        return {"error": type(error).__name__, "line": line_of(error), "message": first[:200]}


def _found(call: Call, engine: str, part: str) -> list[tuple[str, Any]]:
    options = {"argnums": call.positions, "engine": engine, **call.options}
    if part == "gradient":
        value, gradient = bridge.value_and_grad(call.function, **options)(*call.arguments)
        return [("value", value), ("gradient", gradient)]
    tangents = [direction(call.arguments[k]) for k in call.positions]
    return [("hvp", bridge.hvp(call.function, call.arguments, tangents, **options))]


def direction(argument: Any) -> Any:
    """A direction of the kind of an argument, the same in every run; each leaf has its own."""
    turns = itertools.count(1)

    def along(leaf: Any) -> Any:
        angles = next(turns) + np.arange(np.size(leaf), dtype=float).reshape(np.shape(leaf))
        made = np.exp(1j * angles) if np.iscomplexobj(leaf) else np.cos(angles)
        if isinstance(leaf, (np.ndarray, np.generic)):
            made = made.astype(leaf.dtype)
        return made if isinstance(leaf, np.ndarray) else type(leaf)(made)

    if isinstance(argument, (float, complex, np.inexact)) or getattr(argument, "dtype", np.dtype(int)).kind in "fc":
        return along(argument)
    # Leaves arrive as arrays, also Python's numbers.
    return mapped(lambda leaf: along(leaf) if leaf.ndim else float(along(leaf)), argument, otherwise=0.0)


def line_of(error: BaseException) -> str:
    """The user's line of an error, as function, distance from its head, and text: the same where the file has moved."""
    told = re.match(r"(.+?):(\d+)", getattr(error, "where", None) or "")
    if told:
        places = [(told[1], int(told[2]))]
    else:
        places = [(one.filename, one.lineno or 0) for one in traceback.extract_tb(error.__traceback__)]
    users = [one for one in places if not one[0].startswith(_INTERNAL)]
    if not users:
        return ""
    file, line = users[-1]
    inside = [(start, name) for start, end, name in _functions(file) if start <= line <= end]
    start, name = max(inside, default=(0, ""))
    return f"{name}+{line - start}: {linecache.getline(file, line).strip()}"


@cache
def _functions(file: str) -> list[tuple[int, int, str]]:
    """First line, last line and name of all functions in a file."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return []
    functions = (one for one in ast.walk(tree) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return [(one.lineno, one.end_lineno or one.lineno, one.name) for one in functions]


@dataclass
class Trial:
    """A record under an engine, run by a fork: what it changes, and how it ends, concerns no other record."""

    record: Record
    engine: str
    limit: float
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.deadline = self.began + self.limit
        self.pipe, far = _FORK.Pipe(duplex=False)
        self.process = _FORK.Process(target=_run, args=(self.record, self.engine, far))
        self.process.start()
        far.close()

    def is_over(self, readable: bool) -> bool:
        """Take what has arrived; if that is all, or no more will come in time, end the process."""
        ended = False
        if readable:
            try:
                part, found = self.pipe.recv()
                self.outcomes[part], self.deadline = found, time.monotonic() + self.limit
            except EOFError:
                ended = True
        if not ended and len(self.outcomes) < len(PARTS) and time.monotonic() < self.deadline:
            return False
        self.end()
        lost = f"the process ended with {self.process.exitcode}" if ended else f"not done in {self.limit:g} s"
        for part in PARTS:
            name = "ProcessEnded" if ended else "OutOfTime"
            self.outcomes.setdefault(part, {"error": name, "line": "", "message": lost})
        return True

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _run(record: Record, engine: str, far: connection.Connection) -> None:
    """The fork: silent, and gone without waiting for threads that the program has left."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    for part in PARTS:
        far.send((part, outcome(record, engine, part)))
    os._exit(0)


def trials(asked: Iterable[tuple[Record, str]], jobs: int, limit: float) -> Iterator[Trial]:
    """Run records, `jobs` at a time; each part of one has `limit` seconds."""
    waiting, running = iter(asked), list[Trial]()
    try:
        while True:
            running += [Trial(*one, limit) for one in itertools.islice(waiting, jobs - len(running))]
            if not running:
                return
            soonest = min(one.deadline for one in running)
            readable = connection.wait([one.pipe for one in running], max(0.0, soonest - time.monotonic()))
            for one in list(running):
                if one.is_over(one.pipe in readable):
                    running.remove(one)
                    yield one
    finally:
        for one in running:
            one.end()


def entries(asked: Iterable[tuple[Record, str]], jobs: int, limit: float) -> Iterator[dict[str, Any]]:
    """What is written of each record and engine. Under native it runs twice, which shows what varies by itself."""
    first: dict[tuple[str, str], Trial] = {}
    twice = (one for one in asked for _ in range(2 if one[1] == "native" else 1))
    for trial in trials(twice, jobs, limit):
        key = trial.record.name, trial.engine
        if trial.engine == "native" and key not in first:
            first[key] = trial
            continue
        other = first.pop(key, trial)
        seconds = round(time.monotonic() - trial.began, 2)
        varies = [compared(one.outcomes) for one in (other, trial)]
        yield {
            "record": key[0], "engine": key[1], "seconds": seconds, "varies": varies[0] != varies[1], **trial.outcomes,
        }  # fmt: skip


def compared(outcomes: dict[str, Outcome]) -> dict[str, Outcome]:
    """What of the outcomes counts: messages may hold addresses and numbers of threads."""
    return {part: {k: v for k, v in one.items() if k != "message"} for part, one in outcomes.items()}
