"""Processes that were forked from one in which JAX ran: XLA's threads are not there, and a call would wait for ever."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from bridge.code_position import here, resolve
from bridge.errors import RefusedError

FORKED: list[int] = []
"""The number of this process, if it is such a one."""


def refuse() -> NoReturn:
    """Say that nothing is compiled, or run, in this process."""
    raise RefusedError(
        f"process {FORKED[0]} was forked from one in which JAX had started: XLA's threads stayed there, and a compiled "
        "call would wait for them for ever",
        where=resolve(here()),
        remedy='start processes by multiprocessing.get_context("spawn") or "forkserver", fork before the first '
        'compiled call, or use engine="native" in forked ones',
    )


def _note_fork() -> None:
    bridge = sys.modules.get("jax._src.xla_bridge")
    has_started = getattr(bridge, "backends_are_initialized", None)
    if has_started is not None and has_started():
        FORKED[:] = [os.getpid()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
