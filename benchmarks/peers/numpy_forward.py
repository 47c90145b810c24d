"""The plain NumPy program without any differentiation: the floor."""

from __future__ import annotations

import numpy as np

from benchmarks.peers import Run
from benchmarks.programs import PROGRAMS, Workload

__all__ = ["PROGRAMS", "prepare", "title", "version"]

title = "NumPy forward"


def version() -> str:
    """Version of NumPy."""
    return np.__version__


def prepare(workload: Workload) -> Run:
    """The program's value only."""
    arguments = (*workload.inputs(), *workload.data(), *workload.settings)

    def run() -> None:
        PROGRAMS[workload.program](*arguments)

    return run
