"""What a run shows at its end, and the files that it writes while it lasts."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.published import comparison
from benchmarks.published.report import memory, reasons, summary, table
from benchmarks.published.runs import Result
from benchmarks.report import machine

WIDTH = 150


def show(
    console: Console, title: str, results: Sequence[Result], engines: Sequence[str], known: comparison.Known
) -> None:
    """Print tables, reasons, and one line for each engine, which is the last."""
    where = machine({})
    console.print(f"{where['processor']}, {where['cores']} cores, Python {where['python']}")
    for engine in engines:
        console.print(table(title, results, engine))
        for line in reasons(results, engine):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    beside = comparison.table(results, known)
    if beside is not None:
        console.print(beside)
        for line in comparison.summary(results, known):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for engine in engines:
        for line in memory(results, engine):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for engine in engines:
        console.print(summary(results, engine), markup=False, highlight=False)


def write_text(
    path: Path, title: str, results: Sequence[Result], engines: Sequence[str], known: comparison.Known
) -> None:
    """Write what `show` prints of the results so far."""
    shown = io.StringIO()
    show(Console(file=shown, width=WIDTH), title, results, engines, known)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(line.rstrip() for line in shown.getvalue().splitlines()) + "\n", encoding="utf-8")


def write_json(path: Path, checkout: dict[str, Any], results: Sequence[Result], engines: Sequence[str]) -> None:
    """Write everything that is known, all samples and directions included."""
    content = {
        "machine": machine({}),
        "checkout": checkout,
        "summary": {engine: summary(results, engine) for engine in engines},
        "programs": [each.as_json() for each in results],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
