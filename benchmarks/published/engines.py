"""What computes a program's loss and gradient: an engine of bridge, or JAX from a port of the program."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

import bridge
from benchmarks.published.loss import Loss
from benchmarks.published.program import Program

PORTED = "jax"
COMPILE = ("xla", PORTED)

ValueAndGradient = tuple[Any, Sequence[Any]]


@dataclass
class Engine:
    """One way to a gradient.

    Attributes
    ----------
    loss : what is differentiated; without the results that a port does not compute.
    run : the loss and its gradient at the program's arguments, complete when it returns.
    at : the same at other arguments, by position.
    compiles : whether the first call compiles.
    planned : the bytes that XLA keeps between the arguments and the results of a call, asked after the first.
    note : what is to be known about the numbers, for those who read them.
    """

    loss: Loss
    run: Callable[[], ValueAndGradient]
    at: Callable[..., ValueAndGradient]
    planned: Callable[[], int | None] = lambda: None
    compiles: bool = False
    note: str = ""


def of_bridge(program: Program, loss: Loss, engine: str) -> Engine:
    """An engine of bridge, on the program as it stands, from NumPy arrays to NumPy arrays."""
    both = bridge.value_and_grad(loss, argnums=program.positions, engine=engine)
    return Engine(loss, lambda: both(*program.arguments.values()), both)


def compiled(program: Program, loss: Loss) -> Engine:
    """`bridge.xla` of the gradient of the program as it stands, from JAX arrays to JAX arrays, as the ports run."""
    jax = started()
    positions = tuple(1 + k for k in program.positions)
    both = bridge.xla(bridge.value_and_grad(loss.weighing, argnums=positions))

    def squares(x: Any) -> Any:
        return np.sum(x * x)

    bridge.grad(squares, engine="xla")(np.ones(2))  # what is imported by a first call is no part of compiling
    weights, arguments = on_device(loss.weights), on_device(program.arguments.values())

    def at(*others: Any) -> ValueAndGradient:
        return both(loss.weights, *others)

    return Engine(
        loss,
        lambda: jax.block_until_ready(both(weights, *arguments)),
        at,
        lambda: temporary(both.compile(weights, *arguments)),
        compiles=True,
    )


def ported(program: Program, loss: Loss, port: ModuleType, name: str) -> Engine:
    """`jax.jit` of `jax.value_and_grad` of the port's function `name`, with respect to the same arguments."""
    from benchmarks.published.ports import Port

    jax = started()
    found = Port(program, loss, port, name)
    both = found.differentiated()
    varied, weights = on_device(found.varied(program.arguments.values())), on_device(found.loss.weights)

    def at(*others: Any) -> ValueAndGradient:
        return both(found.varied(others), found.loss.weights)

    jax.block_until_ready(jax.jit(jax.numpy.sin)(1.0))
    return Engine(
        found.loss,
        lambda: jax.block_until_ready(both(varied, weights)),
        at,
        lambda: temporary(both.lower(varied, weights).compile()),
        compiles=True,
        note=found.note,
    )


def temporary(executable: Any) -> int | None:
    """Bytes that XLA plans between arguments and results, if the backend says."""
    analysis = executable.memory_analysis()
    return None if analysis is None else int(analysis.temp_size_in_bytes)


def started() -> ModuleType:
    """JAX, in double precision, with every program compiled anew, and with pools of one thread if NumPy has one.

    XLA's pools are as large as the number of processors that the process may use when they are made.
    """
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    with suppress(
        AttributeError
    ):  # where the system has no affinity, the flag of `runs.single_threaded` is all there is
        allowed = os.sched_getaffinity(0)
        if os.environ.get("OMP_NUM_THREADS") == "1":
            os.sched_setaffinity(0, {min(allowed)})
        jax.devices()
        os.sched_setaffinity(0, allowed)
    # JAX loads LAPACK when it first lowers a factorization; that of neither side is part of compiling a program.
    jax.numpy.linalg.cholesky(jax.numpy.eye(2)).block_until_ready()
    return jax


def on_device(values: Any) -> list[Any]:
    """Arrays as JAX holds them; numbers as they are."""
    import jax

    return [jax.device_put(value) if isinstance(value, np.ndarray) else value for value in values]
