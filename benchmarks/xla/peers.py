"""The columns of the table: each prepares a workload, times itself, and says what temporary memory XLA planned."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

import bridge
from benchmarks.peers import CannotRun, Run
from benchmarks.programs import Workload
from benchmarks.report import duration
from benchmarks.xla import in_jax
from benchmarks.xla.programs import CALLS, PROGRAMS

jax.config.update("jax_enable_x64", True)

ORDERED = {"xla_cpu_copy_insertion_use_region_analysis": True}
"""What spares XLA's CPU backend some of the copies of arrays that a loop reads and writes."""

LONG_ROWS = ("writes-1e7",)

Prepared = tuple[Run, int | None]
PLATFORM = jax.devices()[0].platform


@dataclass
class Peer:
    """One column.

    Attributes
    ----------
    temporary : bytes that XLA keeps between the arguments and the results, for each workload that was prepared.
    fastest : the way of writing each program that was taken last; the longest rows try no other.
    spelling : where there was a choice, each way of writing the program and its first call; the fastest is taken.
    """

    title: str
    make: Callable[[Workload, Peer], Prepared]
    temporary: dict[str, int] = field(default_factory=dict)
    fastest: dict[str, str] = field(default_factory=dict)
    spelling: dict[str, str] = field(default_factory=dict)

    def prepare(self, workload: Workload) -> Run:
        """Return a function that computes the gradient, `CALLS` times in a row, and returns it when it is complete."""
        run, temporary = self.make(workload, self)
        if temporary is not None:
            self.temporary[workload.name] = temporary

        def runs() -> Any:
            for _ in range(CALLS.get(workload.name, 1) - 1):
                run()
            return run()

        return runs


def arguments(workload: Workload) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The arrays to differentiate by and the others, on the device."""
    return tuple(map(jax.device_put, workload.inputs())), tuple(map(jax.device_put, workload.data()))


def numbered(count: int) -> tuple[int, ...]:
    """The positions of the differentiated arguments."""
    return tuple(range(count))


def compiled_by_bridge(workload: Workload, _: Peer) -> Prepared:
    """`bridge.xla` of the gradient, from JAX arrays to JAX arrays."""
    xla: Any = getattr(bridge, "xla", None)
    if not callable(xla):
        raise CannotRun("this version has no bridge.xla")
    inputs, data = arguments(workload)
    gradient = xla(bridge.grad(PROGRAMS[workload.program], argnums=numbered(len(inputs))))
    temporary = planned(gradient.compile(*inputs, *data, *workload.settings))
    return lambda: jax.block_until_ready(gradient(*inputs, *data, *workload.settings)), temporary


def native_by_bridge(workload: Workload, _: Peer) -> Prepared:
    """The same program, not compiled."""
    inputs = workload.inputs()
    rest = (*workload.data(), *workload.settings)
    gradient = bridge.grad(PROGRAMS[workload.program], argnums=numbered(len(inputs)), engine="native")
    return lambda: gradient(*inputs, *rest), None


def by_jax(
    spellings: Mapping[str, in_jax.Spellings], option: Mapping[str, Any]
) -> Callable[[Workload, Peer], Prepared]:
    """`jax.jit` of `jax.grad`, of the fastest spelling."""

    def make(workload: Workload, peer: Peer) -> Prepared:
        if option and PLATFORM != "cpu":
            raise CannotRun("an option of XLA's CPU backend")
        if workload.program not in spellings:
            raise CannotRun("no other algorithm")
        inputs, data = arguments(workload)
        candidates = {
            name: compiled_by_jax(program, inputs, data, workload.settings, option)
            for name, program in spellings[workload.program].items()
        }
        if len(candidates) == 1:
            return next(iter(candidates.values()))
        if workload.name in LONG_ROWS and workload.program in peer.fastest:
            return candidates[peer.fastest[workload.program]]
        seconds = {name: first_seconds(run) for name, (run, _) in candidates.items()}
        order = sorted(seconds, key=lambda name: seconds[name])
        peer.spelling[workload.name] = ", ".join(f"{name} {duration(seconds[name])}" for name in order)
        peer.fastest[workload.program] = order[0]
        return candidates[order[0]]

    return make


def compiled_by_jax(
    program: Callable[..., Any], inputs: Any, data: Any, settings: Any, option: Mapping[str, Any]
) -> Prepared:
    """The gradient of one program, compiled ahead of time."""
    gradient = jax.grad(lambda *arrays: program(*arrays, *settings), argnums=numbered(len(inputs)))
    compiled = jax.jit(gradient).lower(*inputs, *data).compile(compiler_options=dict(option))
    return lambda: jax.block_until_ready(compiled(*inputs, *data)), planned(compiled)


def planned(compiled: Any) -> int | None:
    """Bytes that XLA keeps between the arguments and the results, if the backend says."""
    analysis = compiled.memory_analysis()
    return None if analysis is None else int(analysis.temp_size_in_bytes)


def first_seconds(run: Run) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def by_torch(workload: Workload, _: Peer) -> Prepared:
    """PyTorch, eager."""
    if workload.name in LONG_ROWS:
        raise CannotRun("takes minutes: python -m benchmarks --full has it")
    try:
        from benchmarks.xla import in_torch
    except ModuleNotFoundError as error:
        raise CannotRun(f"{error.name} is not installed") from None
    return in_torch.prepare(workload), None


def columns() -> Iterator[tuple[str, Peer]]:
    """Key and peer of every column; the first that runs is the reference of the others' gradients."""
    yield "xla", Peer("MutationBridge xla", compiled_by_bridge)
    yield "jax", Peer("jax.grad", by_jax(in_jax.PURE, {}))
    yield "option", Peer("jax.grad, XLA option", by_jax(in_jax.PURE, ORDERED))
    yield "rewritten", Peer("jax.grad, rewritten", by_jax(in_jax.REWRITTEN, {}))
    yield "ref", Peer("jax.grad, new_ref", by_jax(in_jax.REFERENCES, {}))
    yield "torch", Peer("PyTorch", by_torch)
    yield "native", Peer("MutationBridge native", native_by_bridge)


def allocations(size: int, repeats: int) -> list[float]:
    """Seconds of what any gradient of `writes` allocates once in full: a copy of x, b, and a shadow for each."""
    x = jax.device_put(np.ones(size))

    @jax.jit
    def allocate(x: Any) -> Any:
        return tuple(jax.numpy.full_like(x, fill) for fill in (0.0, 1.0, 2.0)), x.copy()

    jax.block_until_ready(allocate(x))
    return [first_seconds(lambda: jax.block_until_ready(allocate(x))) for _ in range(repeats)]
