"""This package, on the NumPy programs as they stand."""

from __future__ import annotations

from typing import Any

import bridge
from benchmarks.peers import Run
from benchmarks.programs import PROGRAMS, Workload

__all__ = ["PROGRAMS", "prepare", "title", "version"]

title = "bridge"


def version() -> str:
    """Version of the distribution."""
    return bridge.__version__


def prepare(workload: Workload) -> Run:
    """Gradient with respect to every input; a training step also updates the inputs."""
    inputs = workload.inputs()
    rest = (*workload.data(), *workload.settings)
    gradient = bridge.grad(PROGRAMS[workload.program], argnums=tuple(range(len(inputs))))

    def run() -> Any:
        cotangents = gradient(*inputs, *rest)
        if workload.learning_rate:
            for parameter, cotangent in zip(inputs, cotangents, strict=True):
                parameter -= workload.learning_rate * cotangent
        return cotangents

    return run
