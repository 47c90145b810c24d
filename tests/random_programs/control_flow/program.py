"""A random program as text: its lines as a tree, its file, its functions, and whether plain Python runs it."""

from __future__ import annotations

import importlib.util
import linecache
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bridge.source import finding
from tests.random_programs.program import Line

LARGEST = 1e4


class Unfit(Exception):
    """Plain Python raises, computes something that is not finite, or takes too many lines."""


@dataclass(frozen=True)
class Program:
    """`state(x, A, a)` returns all that it has computed, and `loss(x, A, a)` a number made of it.

    Arguments are written in place. `size` is the length of `x` and of both sides of `A`.
    """

    seed: int
    size: int
    lines: tuple[Line, ...]
    results: tuple[str, ...]

    @property
    def text(self) -> str:
        body = "\n".join(row for line in self.lines for row in line.render(""))
        names = ", ".join(self.results)
        total = " + ".join(f"np.sum(np.sin({name} + 0.{k + 1}))" for k, name in enumerate(self.results))
        return (
            f"import math\n\nimport numpy as np\n\n\n{body}\n\n\n"
            f"def loss(x, A, a):\n    {names} = state(x, A, a)\n    return {total}\n"
        )

    def arguments(self, moved: float = 0.0) -> tuple[np.ndarray, np.ndarray, float]:
        """The arguments, each element moved by at most that part of it."""
        random = np.random.default_rng(self.seed)
        x, a = random.uniform(-1.0, 1.0, self.size), random.uniform(-1.0, 1.0, (self.size, self.size))
        shifts = np.random.default_rng(self.seed + 1)
        x, a = (each * (1 + moved * shifts.uniform(-1, 1, each.shape)) for each in (x, a))
        return x, a, float(random.uniform(0.2, 0.9)) * (1 + moved)

    @contextmanager
    def loaded(self, folder: Path) -> Iterator[ModuleType]:
        """The program as a module that was read from a file."""
        name = f"random_program_{self.seed}"
        path = folder / f"{name}.py"
        path.write_text(self.text, encoding="utf-8")
        linecache.checkcache(str(path))
        finding._texts.pop(str(path), None)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            spec.loader.exec_module(module)
            yield module
        finally:
            sys.dont_write_bytecode = written
            del sys.modules[name]
            linecache.cache.pop(str(path), None)
            finding._texts.pop(str(path), None)
            path.unlink()


def ran(module: ModuleType, arguments: Sequence[Any], longest: int) -> list[Any]:
    """What `state` returns, and `loss`, by plain Python; `Unfit` if a compiled program need not do the same.

    `longest` bounds the lines that run: an endless loop ends, and a program that is unrolled stays small.
    """
    left = longest

    def counted(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        if frame.f_globals.get("__name__") != module.__name__:
            return None
        left -= event == "line"
        if left < 0:
            raise Unfit("too many lines")
        return counted

    previous = sys.gettrace()
    sys.settrace(counted)
    try:
        with np.errstate(all="raise", under="ignore"):
            found = [*module.state(*copied(arguments)), module.loss(*copied(arguments))]
    except (ArithmeticError, IndexError, KeyError, NameError, TypeError, ValueError, AttributeError) as error:
        raise Unfit(repr(error)) from error
    finally:
        sys.settrace(previous)
    if any(not np.all(np.abs(np.asarray(each, float)) < LARGEST) for each in found):
        raise Unfit("too large")
    return found


def copied(arguments: Sequence[Any]) -> list[Any]:
    return [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
