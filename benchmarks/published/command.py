"""The command line that the collections of published programs share."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from benchmarks.published import output
from benchmarks.published.comparison import Known
from benchmarks.published.program import Program
from benchmarks.published.report import ABSENT, line
from benchmarks.published.runs import run


class Catalogue(Protocol):
    """What a module that knows a collection offers.

    `load` raises `NoDerivative` for a program that has none. A collection that has ports to JAX also offers
    `port(checkout, name)`, the port's module and the function's name; one that knows more has `LOOPS`, `QUOTED` and
    `FIGURES`, as `comparison.Known` takes them, the last by preset.
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
    console = Console() if sys.stdout.isatty() else Console(width=output.WIDTH)
    title = f"{catalogue.TITLE}, preset {options.preset}"
    known = known_of(catalogue, options.preset)
    results = []
    with Console(stderr=True).status("starting") as status:
        for name in chosen:
            for engine in options.engines:
                status.update(f"{name}, {engine}")
                job = {
                    "catalogue": module,
                    "checkout": str(checkout),
                    "name": name,
                    "engine": engine,
                    "preset": options.preset,
                    "own_dtype": options.own_dtype,
                    "footprint": options.footprint,
                }
                results.append(run(job, options.timeout, single=options.threads == "one"))
                console.print(line(results[-1]), markup=False, highlight=False, soft_wrap=True)
                if options.output:
                    output.write_text(options.output, title, results, options.engines, known)
                if options.json:
                    output.write_json(options.json, described(checkout), results, options.engines)
    output.show(console, title, results, options.engines, known)
    return 0 if all(each.verdict in ("right", *ABSENT) for each in results) else 1


def known_of(catalogue: Any, preset: str) -> Known:
    """What the collection says of its programs beyond how they are loaded."""
    figures = getattr(catalogue, "FIGURES", {}).get(preset, {})
    return Known(getattr(catalogue, "LOOPS", ()), getattr(catalogue, "QUOTED", ""), figures)


def parse(catalogue: Any, module: str, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=catalogue.__doc__)
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT", help="where the repository has been checked out")
    parser.add_argument("--kernels", type=listed, metavar="A,B", help="some of the programs, by name")
    parser.add_argument("--preset", choices=catalogue.PRESETS, default=catalogue.PRESETS[0], help="size of the arrays")
    parser.add_argument("--engines", nargs="+", default=["native"], help="native, xla, jax: the collection's own port")
    parser.add_argument("--own-dtype", action="store_true", help="arrays as initialised, not all of them in float64")
    parser.add_argument("--footprint", action="store_true", help="hold memory against what the program itself handles")
    parser.add_argument("--timeout", type=float, default=90.0, metavar="SECONDS", help="for each program (90)")
    parser.add_argument("--threads", choices=("one", "any"), default="one", help="how many BLAS and XLA compute with")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the tables to FILE, after each program")
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
