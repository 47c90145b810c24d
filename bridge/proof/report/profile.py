"""`bridge.profile`: what each line of a program takes in the forward pass, in the backward pass and in the log."""

from __future__ import annotations

import linecache
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from time import sleep
from typing import Any

from bridge.errors import ArgumentError, RefusedError, choice, printable
from bridge.loops_in_c.compiling import running
from bridge.loops_in_c.tiers import why_not_yet
from bridge.options import Engine, Loops, Zeros, as_text
from bridge.proof.report import html
from bridge.proof.report.measuring import Measurement, Stack
from bridge.proof.report.text import place
from bridge.proof.subject import name_of
from bridge.rewind.interpreter import current_context
from bridge.source import looping
from bridge.source.programs import is_read
from bridge.transforms.chosen import Argnums
from bridge.transforms.grad import value_and_grad

_ENGINES = ("eager", "native")
_FEW = 50
"""The number of samples below which a report recommends more runs."""
_ENOUGH = 0.2
"""The seconds of forward passes that it recommends then."""
_POLL = 0.01
_CALLBACK = "a callback of the loop in C"
_COLUMNS = ("line", "forward ms", "backward ms", "share", "log", "operations", "runs in", "source")

Key = tuple[str, int]


@dataclass(frozen=True)
class Line:
    """What one line of a program takes in one run.

    Attributes
    ----------
    file, line, source : where it is, and its text.
    operations : its entries in the log.
    forward, backward : seconds. The lines of functions of the program that it calls have their own.
    log_bytes : bytes that the log keeps for it, without the memory of the arguments.
    where : "C" or "Python"; "mixed" for a loop in C of which Python runs some iterations.
    reason : why a loop, or a line in a loop in C, runs in Python.
    """

    file: str
    line: int
    source: str
    operations: int
    forward: float
    backward: float
    log_bytes: int
    where: str
    reason: str

    @property
    def seconds(self) -> float:
        """Forward and backward pass together."""
        return self.forward + self.backward


@dataclass(frozen=True)
class Profile:
    """What `bridge.profile` measured, for one run.

    Attributes
    ----------
    program : the name of the function.
    value, gradient : what `bridge.value_and_grad` returns.
    lines : the lines of the program, by file and number.
    outside : what no line takes, such as copies of the arguments; `lines` and this add up to the whole.
    runs, samples : how many were measured.
    stacks : seconds by "forward" or "backward" and the lines that ran, the outermost first.
    in_python : why no loop may run in C, such as `loops="python"`; empty if loops may.
    """

    program: str
    value: Any
    gradient: Any
    lines: tuple[Line, ...]
    outside: Line
    runs: int
    samples: int
    stacks: dict[tuple[str, Stack], float]
    in_python: str = ""

    @property
    def forward(self) -> float:
        """Seconds of the forward pass."""
        return sum(one.forward for one in (*self.lines, self.outside))

    @property
    def backward(self) -> float:
        """Seconds of the backward pass."""
        return sum(one.backward for one in (*self.lines, self.outside))

    @property
    def seconds(self) -> float:
        """Seconds of both."""
        return self.forward + self.backward

    @property
    def log_bytes(self) -> int:
        """Bytes that the log keeps, without the memory of the arguments."""
        return sum(one.log_bytes for one in self.lines)

    @property
    def heaviest(self) -> tuple[Line, ...]:
        """The lines by their time, the longest first."""
        return tuple(sorted(self.lines, key=lambda one: -one.seconds))

    def save(self, path: str | Path) -> str:
        """Write a flame graph, and return its text.

        The format is collapsed stacks with microseconds, `forward;f (file.py:3);g (file.py:7) 1234`, which
        speedscope.app, flamegraph.pl and others read.
        """
        found: Counter[str] = Counter()
        for (phase, stack), seconds in self.stacks.items():
            names = [f"{one.function} ({place(one.file)}:{one.line})" for one in stack] or [self.outside.source]
            names = [printable(one, lines=False).replace(";", ",") for one in names]
            found[";".join((phase, *names))] += round(1e6 * seconds)
        text = "".join(f"{key} {count}\n" for key, count in sorted(found.items()) if count > 0)
        Path(path).write_text(text, encoding="utf-8", newline="\n")
        return text

    def __str__(self) -> str:
        table = [_COLUMNS, *(cells for _, cells, _ in self._rows())]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        indent = " " * sum(width + 2 for width in widths[:-1])

        def aligned(cells: tuple[str, ...]) -> str:
            *figures, where, source = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
            return "  ".join((*figures, where.strip().ljust(widths[-2]), source.strip())).rstrip()

        lines, last = [*self._heading(), "", aligned(_COLUMNS)], ""
        for file, cells, reason in self._rows():
            lines += [file] * (file != last) + [aligned(cells)] + [f"{indent}# {reason}"] * bool(reason)
            last = file
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heading, samples = map(escape, self._heading())
        rows = [[file, *cells, reason] for file, cells, reason in self._rows()]
        table = html.table(["file", *_COLUMNS, "why Python"], rows)
        return f"<div><p><strong>{heading}</strong><br>{samples}</p>{table}</div>"

    def _heading(self) -> tuple[str, str]:
        times = f"{self.seconds:.3g} s (forward {self.forward:.3g} s, backward {self.backward:.3g} s)"
        runs = "one run" if self.runs == 1 else f"the mean of {self.runs} runs"
        runs += f" with {self.in_python}" if self.in_python else ""
        more = max(2 * self.runs, round(_ENOUGH / (self.forward or 1.0)))
        few = f", which are few: runs={more} takes more" if self.samples < _FEW else ""
        return (
            f"profile of {printable(self.program, False)}: {times}; the log keeps {as_text(self.log_bytes)}",
            f"{runs}; forward times from {self.samples} samples{few}",
        )

    def _rows(self) -> list[tuple[str, tuple[str, ...], str]]:
        """The file, the cells and the reason of each line, and of what is outside. The heaviest line has a mark."""
        rows: list[tuple[str, tuple[str, ...], str]] = []
        heaviest, total = self.heaviest[:1], self.seconds or 1.0
        for one in (*self.lines, self.outside):
            number = f"{'> ' * (one in heaviest)}{one.line or ''}"
            figures = f"{1e3 * one.forward:.2f}", f"{1e3 * one.backward:.2f}", f"{one.seconds / total:.0%}"
            log = (as_text(one.log_bytes), str(one.operations)) if one.operations else ("", "")
            cells = number, *figures, *log, one.where, printable(one.source, False)
            rows.append((printable(one.file and place(one.file), False), cells, printable(one.reason, False)))
        return rows


def profile(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    allow_int: bool = False,
    source: bool | None = None,
    memory: str | int | None = None,
    loops: Loops | None = None,
    warmup: int = 2,
    runs: int = 1,
) -> Callable[..., Profile]:
    """A function that computes value and gradient of `f` and returns a `Profile`: what each line of `f` takes.

    For each line: the seconds of its forward and of its backward pass, its operations, the bytes that the log keeps for
    it, whether it runs in C or in Python, and why a loop runs in Python.

    Parameters
    ----------
    f, argnums, has_aux, zeros, allow_int, source, memory, loops : as in `value_and_grad`.
    engine : "eager" or "native".
    warmup : how often it runs before it is measured. Then the profile waits for the C compiler, so that it shows what
        later calls take. With 0 it shows a first call.
    runs : how often it runs while it is measured. Times are means; operations and bytes are those of the last run.

    Returns
    -------
    Callable : of the arguments of `f`, which keep their bits. `print(report)` is a table, `report.lines` has the data,
        `report.value` and `report.gradient` are the results, and `report.save("run.folded")` writes a flame graph.

    Raises
    ------
    ArgumentError : another engine, or a wrong number of runs.
    RefusedError : it is called inside of a differentiation.
    Exception : what `value_and_grad(f)` raises.

    Notes
    -----
    A thread samples the forward pass each millisecond, so the time of a line with few samples is an estimate. Loops in
    C and the backward pass are timed exactly.

    Examples
    --------
    >>> import bridge, numpy as np
    >>> report = bridge.profile(lambda x: np.sum(np.exp(x)))(np.zeros(3))
    >>> report.value, report.gradient
    (np.float64(3.0), array([1., 1., 1.]))
    """
    if engine not in _ENGINES:
        remedy = choice(engine, _ENGINES) + "; what XLA compiles is measured by jax.profiler"
        raise ArgumentError(f"profile with engine={engine!r}", remedy=remedy)
    if warmup < 0 or runs < 1:
        raise ArgumentError(f"profile with warmup={warmup}, runs={runs}", remedy="give warmup >= 0 and runs >= 1")
    both = value_and_grad(f, argnums, has_aux, engine, zeros, allow_int, source=source, memory=memory, loops=loops)
    in_python = "source=False" if not is_read(source) else 'loops="python"' if looping.chosen(loops) == "python" else ""

    def profiled(*args: Any, **kwargs: Any) -> Profile:
        if current_context() is not None:
            raise RefusedError("a profile inside of a differentiation", remedy="profile the outer function")
        for _ in range(warmup):
            both(*args, **kwargs)
        while warmup and running():
            sleep(_POLL)
        measured = Measurement()
        for _ in range(runs):
            value, gradient = measured.run(lambda: both(*args, **kwargs))
        stacks = {key: seconds / runs for key, seconds in measured.stacks.items()}
        forward, backward = (stacks.get((phase, ()), 0.0) for phase in ("forward", "backward"))
        outside = Line("", 0, "outside of the program", 0, forward, backward, 0, "", "")
        lines = _lines(measured, stacks, not in_python)
        return Profile(name_of(f), value, gradient, lines, outside, runs, measured.count, stacks, in_python)

    profiled.__name__ = profiled.__qualname__ = f"profile({name_of(f)})"
    return profiled


def _lines(measured: Measurement, stacks: dict[tuple[str, Stack], float], compiles: bool) -> tuple[Line, ...]:
    """The lines of the program. `compiles` is whether loops may run in C."""
    seconds: dict[tuple[str, Key], float] = defaultdict(float)
    for (phase, stack), one in stacks.items():
        if stack:
            seconds[phase, (stack[-1].file, stack[-1].line)] += one
    operations: Counter[Key] = Counter()
    kept: Counter[Key] = Counter()
    for frame, (count, nbytes) in measured.log.items():
        operations[frame.file, frame.line] += count
        kept[frame.file, frame.line] += nbytes
    keys = {key for _, key in seconds} | operations.keys()
    reasons = _reasons(measured, keys) if compiles else {}
    where = {key: "Python" for key in keys | reasons.keys()}
    by_python = {key for key in keys if reasons.get(key) != _CALLBACK}
    for entry in measured.loops:
        head, *inside = _lines_of(entry.site.node, entry.site.loop.file)
        is_mixed = where[head] == "mixed" or entry.has_stopped or not by_python.isdisjoint(inside)
        where[head] = "mixed" if is_mixed else "C"
    return tuple(
        Line(*key, linecache.getline(*key).strip(), operations[key], seconds["forward", key], seconds["backward", key],
             kept[key], where[key], reasons.get(key, ""))
        for key in sorted(where)
    )  # fmt: skip


def _lines_of(node: Any, file: str) -> list[Key]:
    return [(file, line) for line in range(node.lineno, node.end_lineno + 1)]


def _reasons(measured: Measurement, keys: set[Key]) -> dict[Key, str]:
    """Why loops, and lines of loops in C, run in Python."""
    in_c = {(entry.site.loop.file, entry.site.node.lineno): entry for entry in measured.loops}
    compiled = {key for (file, _), entry in in_c.items() for key in _lines_of(entry.site.node, file)}
    loops = {key for key in keys - compiled if linecache.getline(*key).lstrip().startswith(("for ", "while "))}
    found = dict.fromkeys(loops, "loops of this form are not compiled")
    for number, (node, _, file) in enumerate(looping.SITES):
        if (file, node.lineno) not in compiled and not keys.isdisjoint(_lines_of(node, file)):
            reason = looping.REASONS.get(number) or why_not_yet(number)
            found[file, node.lineno] = reason.replace(f"{file}:", "line ")
    for (file, line), entry in in_c.items():
        stops = [
            f"Python runs {'line ' if (other or file) == file else place(other) + ':'}{at}: {reason}"
            for reason, at, other in entry.site.stops.values()
        ]
        found |= {(file, line): "; ".join(stops)} if stops else {}
        codes = [one.function.__code__ for one in entry.run.library.program.callbacks]
        found |= {key: _CALLBACK for one in codes if (key := (one.co_filename, one.co_firstlineno)) in keys}
    return found
