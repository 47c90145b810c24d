"""The command line that the collections of published programs share."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from benchmarks.published import report
from benchmarks.published.program import Program
from benchmarks.published.runs import run

WIDTH_WITHOUT_TERMINAL = 120


class Catalogue(Protocol):
    """What a module that knows a collection offers.

    `load` raises `NoDerivative` for a program that has none.
    """

    __name__: str
    __doc__: str | None
    TITLE: str
    PRESETS: tuple[str, ...]

    def names(self, checkout: Path) -> list[str]:
        """The programs of a checkout."""
        ...

    def load(self, checkout: Path, name: str, preset: str, own_dtype: bool) -> Program:
        """One program with its arguments."""
        ...


def main(catalogue: Any, module: str, arguments: Sequence[str] | None = None) -> int:
    """Run the programs of a checkout; returns 1 unless every program that has a derivative is right."""
    options = parse(catalogue, module, arguments)
    checkout = options.checkout.resolve()
    available = catalogue.names(checkout)
    chosen = options.kernels or available
    unknown = [name for name in chosen if name not in available]
    if unknown or not available:
        print(f"not in {checkout}: {', '.join(unknown) or 'any program'}", file=sys.stderr)
        return 2
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH_WITHOUT_TERMINAL)
    results = []
    with Console(stderr=True).status("starting") as status:
        for engine in options.engine:
            for name in chosen:
                status.update(f"{name}, {engine}")
                job = {
                    "catalogue": module,
                    "checkout": str(checkout),
                    "name": name,
                    "engine": engine,
                    "preset": options.preset,
                    "own_dtype": options.own_dtype,
                }
                results.append(run(job, options.timeout))
                if options.json:
                    report.write_json(options.json, described(checkout), results, options.engine)
    report.show(console, f"{catalogue.TITLE}, preset {options.preset}", results, options.engine)
    return 0 if all(each.verdict in ("right", "no derivative") for each in results) else 1


def parse(catalogue: Any, module: str, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=catalogue.__doc__)
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT", help="where the repository has been checked out")
    parser.add_argument("--kernels", type=listed, metavar="A,B", help="some of the programs, by name")
    parser.add_argument("--preset", choices=catalogue.PRESETS, default=catalogue.PRESETS[0], help="size of the arrays")
    parser.add_argument("--engine", nargs="+", default=["native"], help="native, xla, or any other engine of bridge")
    parser.add_argument("--own-dtype", action="store_true", help="arrays as initialised, not all of them in float64")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS", help="for each program (300)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples and verdicts to FILE")
    return parser.parse_args(arguments)


def listed(text: str) -> list[str]:
    """Names that are separated by commas."""
    return [name for name in text.split(",") if name]


def described(checkout: Path) -> dict[str, str]:
    """The checkout's folder, and its commit where git knows it."""
    asked = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    return {"folder": checkout.name, "commit": asked.stdout.strip() if asked.returncode == 0 else "unknown"}
