"""The shell commands: `python -m bridge check`, `rules`, `demo`, `doctor`, `julia` and `coverage`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import bridge
from bridge.cli import check, coverage, doctor, libraries, rules
from bridge.cli.parsing import Parser, written
from bridge.errors import BridgeError
from bridge.julia import sysimage_building
from bridge.loops_in_c import compiling
from bridge.options import as_text

UNUSABLE, INTERRUPTED, NOBODY_READS = 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status; `arguments` default to those of the process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that lacks a character shows its number.
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
        sys.stdout.flush()
    except BridgeError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # What is left to write goes nowhere: else Python complains when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS
    return status


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m bridge", description=bridge.__doc__)
    parser.add_argument("--version", action="version", version=f"{doctor.DISTRIBUTION} {bridge.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="train and calibrate on real data, with gradients of in-place code")
    demo.add_argument("--output", type=Path, default=Path("bridge-demo"), help="folder of the plots (%(default)s)")
    demo.add_argument("--quick", action="store_true", help="smaller problems, for a first look or a test run")
    demo.set_defaults(command=_demo)

    health = commands.add_parser("doctor", help="say what is installed, what is missing, and the line to type")
    health.set_defaults(command=_doctor)

    cache = commands.add_parser("cache", help="list the cached C code of loops, or clear the cache")
    cache.add_argument("--clear", action="store_true", help="clear the cache")
    cache.set_defaults(command=_cache)

    julia = commands.add_parser("julia", help="set Julia up, or say which Julia is used").add_subparsers(
        required=True, metavar="ACTION"
    )
    setup = julia.add_parser("setup", help="check and prepare Julia; with --exe and --project: one of your own")
    setup.add_argument("--exe", type=Path, metavar="PATH", help="the julia executable")
    setup.add_argument("--project", type=Path, metavar="PATH", help="the folder of the Julia project")
    setup.add_argument("--forget", action="store_true", help="remove what was chosen with --exe and --project")
    setup.add_argument(
        "--sysimage",
        action=argparse.BooleanOptionalAction,
        help="also build a system image, for first gradients in a fraction of the time: it "
        f"{sysimage_building.EXPECTED}; --no-sysimage removes it",
    )
    setup.set_defaults(command=_julia_setup)
    julia.add_parser("status", help="say which Julia is used, without starting it").set_defaults(command=_julia_status)

    table = commands.add_parser("coverage", help="list what happens to each public function of NumPy")
    table.add_argument("--libraries", action="store_true", help="list the functions of SciPy and Python instead")
    action = table.add_mutually_exclusive_group()
    action.add_argument("--write", type=Path, metavar="PAGE", help="write the page")
    action.add_argument("--check", type=Path, metavar="PAGE", help="fail if the page is not up to date")
    table.set_defaults(command=_coverage)

    check.add_command(commands)
    rules.add_command(commands)
    return parser


def _demo(options: argparse.Namespace) -> int:
    # By name: the demo stands above the commands.
    status: int = written(options.output, lambda: import_module("bridge.demo").run(options.output, options.quick))
    return status


def _doctor(options: argparse.Namespace) -> int:
    lines, healthy = doctor.examine()
    print("\n".join(lines))
    return 0 if healthy else 1


def _cache(options: argparse.Namespace) -> int:
    files = compiling.cached()
    size = as_text(sum(path.stat().st_size for path in files))
    if options.clear:
        compiling.clear()
        print(f"{len(files)} compiled loops, {size}, removed from {compiling.folder()}")
        return 0
    for path in files:
        state = path.stat()
        print(f"{datetime.fromtimestamp(state.st_mtime):%Y-%m-%d %H:%M}  {as_text(state.st_size):>9}  {path.name}")
    print(f"{len(files)} compiled loops, {size}, in {compiling.folder()}")
    return 0


def _julia_setup(options: argparse.Namespace) -> int:
    try:
        found = bridge.julia.setup(options.exe, options.project, forget=options.forget, sysimage=options.sysimage)
    except bridge.errors.BridgeError as error:
        print(error, file=sys.stderr)
        return 1
    print(found)
    return 0 if found.found or options.forget or options.sysimage is False else 1


def _julia_status(options: argparse.Namespace) -> int:
    found = bridge.julia.status()
    print(found)
    return 0 if found.found else 1


def _coverage(options: argparse.Namespace) -> int:
    pages: Any = libraries if options.libraries else coverage
    if options.check is not None:
        complaint = pages.complaint(options.check)
        if complaint:
            print(complaint, file=sys.stderr)
        return 1 if complaint else 0
    page = pages.page()
    if options.write is None:
        print(page, end="")
    else:
        written(options.write, lambda: options.write.write_text(page, encoding="utf-8"))
    return 0
