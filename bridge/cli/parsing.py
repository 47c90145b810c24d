"""Command lines: what is wrong with one is said in words, by the command that it is about."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from bridge.errors import ArgumentError, choice

T = TypeVar("T")


class Parser(argparse.ArgumentParser):
    """Names what was meant, and shows the usage of the command at hand, not that of all commands."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The arguments; an error for those that nobody knows."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            first = unknown[0].partition("=")[0]
            options = [name for name in self._option_string_actions if name.startswith("--")]
            meant = f": {choice(first, options)}" if first.startswith("-") and options else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, f"there is no {value!r}: {choice(value, action.choices)}")


def amount(text: str) -> float:
    """A number, not below 0."""
    return _number(text, float, lambda number: 0 <= number < math.inf, "a number, not below 0")


def natural(text: str) -> int:
    """A whole number, not below 0."""
    return _number(text, int, lambda number: number >= 0, "a whole number, not below 0")


def _number(text: str, kind: Callable[[str], T], fits: Callable[[Any], bool], wanted: str) -> T:
    try:
        number = kind(text)
    except ValueError:
        number = None
    if number is None or not fits(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
    return number


def check_writable(*paths: Path | None) -> None:
    """Raise ArgumentError for a path at which no file can be, before anything runs."""
    for path in paths:
        if path is not None and path.is_dir():
            raise ArgumentError(f"{path} is a folder", remedy=f"name a file in it: {path / 'report'}")
        if path is not None and not path.resolve().parent.is_dir():
            raise ArgumentError(f"{path} cannot be written: there is no folder {path.parent}", remedy="make it first")


def written(path: Path, write: Callable[[], T]) -> T:
    """What `write` returns, which writes at a path; ArgumentError if that cannot be done."""
    try:
        return write()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ArgumentError(
            f"{path} cannot be written: {error.strerror or error}", remedy="name a file where you may write"
        ) from error
