"""What a body has found by costly calls: a loop's way back runs it again, and is given that instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

COSTLY = frozenset({np.linalg.solve, np.linalg.inv, np.linalg.pinv, np.linalg.cholesky, np.linalg.eigvalsh})
"""Functions that take as long as a factorisation, and give one array that is no larger than what they are given."""


class Memo:
    """The results of one run's costly calls in the order of the calls, those in loops and branches of it left out.

    `frame` is the part of the program that the run is in; `given` are the results of an earlier run, which this one
    repeats.
    """

    def __init__(self, frame: Any, given: Sequence[Any] | None = None) -> None:
        self.frame = frame
        self.given = given
        self.found: list[tuple[Any, Any]] = []

    def result(self, like: Any, compute: Callable[[], Any]) -> Any:
        """The result of the next call, which looks `like` this: as it was, or computed."""
        number = len(self.found)
        contents = compute() if self.given is None or number >= len(self.given) else self.given[number]
        self.found.append((like, contents))
        return contents
