"""`python -m bridge rules`: what the rule book says, who says it, and whether it is right."""

from __future__ import annotations

import argparse
import inspect
import sys
from typing import Any

from bridge.cli.check import DIFFERENT, OK, UNUSABLE
from bridge.cli.entries import Entry, details, entries, entries_of
from bridge.errors import ArgumentError, BridgeError, CheckError
from bridge.proof.rules.check_rule import check_rule


def add_command(commands: Any) -> None:
    """Add `rules` to the commands of `bridge.cli`."""
    parser = commands.add_parser("rules", help="list, explain or prove what the rule book says of functions")
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    listing = actions.add_parser("list", help="one line for each function, with those that installed packages bring")
    listing.add_argument("text", nargs="?", default="", metavar="TEXT", help="those that have it in their line only")
    listing.set_defaults(command=run, run=_list)

    name = "np.linalg.solve, scipy.special.erf, module:function or path/to/file.py:function"
    explaining = actions.add_parser("explain", help="what a rule reads, supports and promises, and where it stands")
    explaining.add_argument("name", metavar="NAME", help=name)
    explaining.set_defaults(command=run, run=_explain)

    checking = actions.add_parser("check", help="prove a rule on its cases, or on invented arguments")
    checking.add_argument("name", metavar="NAME", help=name)
    checking.add_argument(
        "--subprocess", action="store_true", help="in a process of its own, for functions that may end theirs"
    )
    checking.set_defaults(command=run, run=_check)


def run(options: argparse.Namespace) -> int:
    """Do what the action says, and return the exit status."""
    try:
        status: int = options.run(options)
    except CheckError as error:
        print(error)
        return DIFFERENT
    except BridgeError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return UNUSABLE
    return status


def _list(options: argparse.Namespace) -> int:
    rows = [(one.name, one.kind, one.by) for one in entries()]
    rows = [row for row in rows if options.text in " ".join(row)]
    if not rows:
        raise ArgumentError(f"no line has {options.text!r}", remedy="python -m bridge rules list shows all of them")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return OK


def _explain(options: argparse.Namespace) -> int:
    entry, *others = entries_of(options.name)
    print(f"{entry.name}: {entry.kind}")
    if others:
        print(f"  {'also':<13}{', '.join(one.name for one in others)}")
    for heading, words in details(entry):
        print(f"  {heading:<13}{words}")
    about = _about(entry)
    if about:
        print("", *(f"  {line}".rstrip() for line in about.splitlines()), sep="\n")
    return OK


def _check(options: argparse.Namespace) -> int:
    entry = entries_of(options.name)[0]
    if entry.rule is None:
        raise ArgumentError(
            f"{entry.name} has no rule to prove: {entry.kind}",
            remedy="what a stand-in computes is made of operations that have rules; check a program that calls it "
            "with python -m bridge check",
        )
    print(repr(check_rule(entry.rule, subprocess=options.subprocess)))
    return OK


def _about(entry: Entry) -> str:
    """What the author of a rule has written about it."""
    return inspect.cleandoc(getattr(entry.said, "__doc__", None) or "") if entry.rule is not None else ""
