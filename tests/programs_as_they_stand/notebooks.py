"""Notebooks: cells of text that are executed one by one in a namespace, as IPython and Spyder do it."""

import itertools
import linecache
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.programs_as_they_stand.record import Field

program = Field("notebooks")

FOLDER = Path(__file__).parent / "notebook_cells"
MARK = "# %%\n"
_numbers = itertools.count(1)


def cells(name: str) -> Iterator[tuple[int, str]]:
    """The cells of a file, each with the number of its first line."""
    line = 1
    for text in (FOLDER / f"{name}.py").read_text().split(MARK):
        yield line, text
        line += text.count("\n") + 1


def like_ipython(name: str, wanted: str) -> Callable[..., Any]:
    """Each cell has a file name of its own, which only `linecache` knows."""
    namespace = {"__name__": "__main__"}
    for _, text in cells(name):
        file = f"/tmp/ipykernel_1/{next(_numbers)}.py"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), namespace)
    return namespace[wanted]


def like_spyder(name: str, wanted: str, inserted: int = 0) -> Callable[..., Any]:
    """Cells have the name and the line numbers of the file that they stand in, but for lines `inserted` before."""
    namespace = {"__name__": "__main__"}
    for line, text in cells(name):
        exec(compile("\n" * (line - 1 + inserted) + text, str(FOLDER / f"{name}.py"), "exec"), namespace)
    return namespace[wanted]


def without_source(name: str, wanted: str) -> Callable[..., Any]:
    """Nobody kept the text."""
    namespace = {"__name__": "__main__"}
    for _, text in cells(name):
        exec(text, namespace)
    return namespace[wanted]


W = np.array([0.3, -0.8, 1.1])
program("heat, in a global array", lambda: like_ipython("heat", "loss"), 0.8, 1.2, argnums=(0, 1))
program("heat, run cell by cell from its file", lambda: like_spyder("heat", "loss"), 0.8, 1.2, argnums=(0, 1))
program(
    "heat, its file changed since it was run",
    lambda: like_spyder("heat", "loss", inserted=3),
    0.8,
    expected="EscapeError: ",
)
program("heat, without its source", lambda: without_source("heat", "loss"), 0.8, expected="EscapeError: ")
program("a helper and a global that a later cell defined again", lambda: like_ipython("redefined", "network"), W)
program("a helper defined again, from the file", lambda: like_spyder("redefined", "network"), W)
program("a class in one cell, its objects in another", lambda: like_ipython("classes", "objective"), 0.2)
program("lambdas in cells", lambda: like_ipython("fitting", "chi2"), np.array([1.5, 1.0]))
program(
    "lambdas in a lambda, with scipy.optimize.root",
    lambda: like_spyder("fitting", "both"),
    np.array([1.5, 1.0]),
    step=1e-3,
)
program("stars from math and numpy", lambda: like_ipython("stars", "objective"), 1.4)
