"""`python -m benchmarks.gradbench run CHECKOUT`: GradBench's evals with this tool, JAX's and PyTorch's.

The checkout is one of gradbench/gradbench. Its golden implementation is `make -C CHECKOUT/tools/manual`; evals that
need it and do not find it are left out, and a line says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.gradbench import table
from benchmarks.gradbench.conversation import Outcome, Process, talk
from benchmarks.gradbench.protocol import EVALS
from benchmarks.published.runs import ROOT, single_threaded

REPEATED = ("--min-runs", "3", "--min-seconds", "0.1")
SMALL: dict[str, tuple[str, ...]] = {
    "hello": (),
    "gmm": ("-d", "2", "10", "-k", "5", "-n", "1000", *REPEATED),
    "ba": ("--min", "1", "--max", "1", *REPEATED),
    "ht": ("--min", "1", "--max", "1", "--model", "small", *REPEATED),
    "lstm": ("-l", "2", "-c", "128", *REPEATED),
    "llsq": ("-n", "1024", *REPEATED),
    "lse": ("-n", "2500", "40000", *REPEATED),
    "ode": ("-n", "1000", "10000", "-s", "10", *REPEATED),
    "kmeans": ("-k", "10", "-n", "1000", "-d", "8", *REPEATED),
    "det": ("-l", "5", "7", *REPEATED),
    "particle": ("--min-runs", "1", "--min-seconds", "0"),
    "saddle": ("--min-runs", "1", "--min-seconds", "0"),
}
"""The flags of each eval that make it small; the sizes are some of its own."""

ALONE = frozenset({"hello", "particle", "saddle"})
"""Evals that know what is right without a golden implementation."""

TEXT = "evals/lstm/data/lstm_full.txt"
TOOLS = ("bridge-native", "bridge-xla", "jax", "pytorch")
WAITING = """
import os, runpy, sys, jax
jax.config.update("jax_cpu_enable_async_dispatch", False)
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a script in which JAX waits for results: GradBench's tool does not, and its times are those of calls alone."""

PACKAGES = {"bridge-xla": "jax", "jax": "jax", "pytorch": "torch"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the evals; returns 1 if an output of this tool's was rejected or could not be computed."""
    options = parse(arguments)
    checkout = options.checkout.resolve()
    if not (checkout / "python/gradbench").is_dir():
        print(f"not a checkout of gradbench/gradbench: {checkout}", file=sys.stderr)
        return 2
    console = Console() if sys.stdout.isatty() else Console(width=table.WIDTH)
    outcomes: list[Outcome] = []
    with Console(stderr=True).status("starting") as status:
        for name in options.evals:
            for tool in options.tools:
                status.update(f"{name}, {tool}")
                outcomes.append(outcome_of(name, tool, checkout, options))
                console.print(table.line(outcomes[-1]), markup=False, highlight=False, soft_wrap=True)
                if options.output:
                    table.write(options.output, outcomes)
    table.show(console, outcomes)
    own = [one for one in outcomes if one.tool.startswith("bridge")]
    return 1 if any(one.verdict in ("invalid", "error", "crash") for one in own) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradbench run", description=__doc__)
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT", help="a checkout of gradbench/gradbench")
    parser.add_argument("--evals", nargs="+", choices=EVALS, default=list(EVALS), metavar="EVAL", help="some of them")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS), metavar="TOOL", help=", ".join(TOOLS))
    parser.add_argument("--full", action="store_true", help="the evals' own sizes, not small ones")
    parser.add_argument("--multithreaded", action="store_true", help="tools may use all processors")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS", help="for an eval and a tool (300)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table to FILE, after each tool")
    return parser.parse_args(arguments)


def outcome_of(name: str, tool: str, checkout: Path, options: argparse.Namespace) -> Outcome:
    """One eval with one tool; what is missing for it is said instead of run."""
    missing = lacking(name, tool, checkout)
    if missing:
        return Outcome(name, tool, "absent", missing)
    package = {"PYTHONPATH": with_path(checkout / "python/gradbench")}
    script = checkout / "python/gradbench/gradbench/evals" / name / "run.py"
    asks = Process([sys.executable, str(script), *(() if options.full else SMALL[name])], checkout, package)
    threads = {} if options.multithreaded else dict(single_threaded())
    flags = ["--multithreaded"] if options.multithreaded else []
    if tool.startswith("bridge"):
        command = [sys.executable, "-m", "benchmarks.gradbench", "--engine", tool.removeprefix("bridge-"), *flags]
        answers = Process(command, ROOT, {"PYTHONPATH": with_path(ROOT), **threads})
    else:
        script = checkout / "python/gradbench/gradbench/tools" / tool / "run.py"
        started = ["-c", WAITING, str(script)] if tool == "jax" else [str(script)]
        answers = Process([sys.executable, *started, *flags], checkout, package | threads)
    return talk(name, tool, asks, answers, options.timeout)


def lacking(name: str, tool: str, checkout: Path) -> str:
    """What an eval or a tool needs and does not have here; empty if it can run."""
    needs = ("pydantic", "dataclasses_json") if name in ("ht", "lstm") else ("pydantic",)
    packages = [*needs, *([PACKAGES[tool]] if tool in PACKAGES else [])]
    absent = [one for one in packages if importlib.util.find_spec(one) is None]
    if absent:
        return f"{' and '.join(absent)} not installed: pip install {' '.join(absent).replace('_', '-')}"
    if name not in ALONE and not (checkout / "tools/manual/bin" / name).exists():
        return (
            f"no golden implementation: make -C CHECKOUT/tools/manual bin/{name} (wants json.hpp: make -C CHECKOUT/cpp)"
        )
    return f"not in the checkout: {TEXT}" if name == "lstm" and not (checkout / TEXT).exists() else ""


def with_path(folder: Path) -> str:
    """PYTHONPATH with a folder before what is in it."""

    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
