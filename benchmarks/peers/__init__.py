"""The systems that are compared, one module each; a module is imported when its peer is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from benchmarks.programs import Workload

Run = Callable[[], Any]


class CannotRun(Exception):
    """A peer cannot run a workload; the message says why, in a few words."""


class Peer(Protocol):
    """What each module of this folder offers, as module-level names."""

    title: str
    PROGRAMS: dict[str, Callable[..., Any]]

    def version(self) -> str:
        """Version of the system."""
        ...

    def prepare(self, workload: Workload) -> Run:
        """Return a function that computes the gradient once and returns it when it is complete."""
        ...


MODULES = {
    "bridge": "benchmarks.peers.mutation_bridge",
    "torch": "benchmarks.peers.pytorch",
    "jax": "benchmarks.peers.jax_jit",
    "autograd": "benchmarks.peers.hips_autograd",
    "numpy": "benchmarks.peers.numpy_forward",
}


def load(missing: Callable[[str], None]) -> Iterator[tuple[str, Any]]:
    """Yield `(key, module)` for each peer that is installed; tell `missing` of the others in a line each."""
    for key, module in MODULES.items():
        try:
            yield key, importlib.import_module(module)
        except ModuleNotFoundError as error:
            missing(f"{key} is left out: {error.name} is not installed")
