"""Programs compiled by XLA, one for each signature, and called like the function that they were traced from."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.arguments import leaves_of, rebuilt
from bridge.compiling import compiling
from bridge.errors import ArgumentError
from bridge.tracing import ground_floor, is_traced
from bridge.xla.cache import persistent
from bridge.xla.lowering import x64
from bridge.xla.patience import told_if_long
from bridge.xla.signature import Dynamic, Signature, Static, signature_of
from bridge.xla.trace import TraceContext

INDEX_MODES = ("error", "clip", "fill", "drop")


class Program:
    """One traced program: a function of JAX arrays, and what its inputs and results look like."""

    def __init__(self, function: Callable[..., Any], signature: Signature, index_mode: str, mends: bool) -> None:
        self.function = function
        self.signature = signature
        self.index_mode = index_mode
        self.mends = mends
        self.faults: Any = None
        self.structure: Any = None
        self.results: list[Any] = []
        self.seconds: float | None = None

    def __call__(self, never: Any, values: list[Any]) -> tuple[list[Any], Any, Any]:
        """The results that are traced, the first fault, and whether a gradient held a NaN."""
        with x64(), np.errstate(all="ignore"):
            context = TraceContext(never, self.index_mode, self.mends)
            with context:
                context.faults.open()
                leaves = [
                    entered(context, leaf, is_array, contents)
                    for (leaf, is_array), contents in zip(self.inputs, values, strict=True)
                ]
                outputs = [context.read(ground_floor(leaf).place) for leaf in self.ran_on(leaves)]
                self.faults = context.faults
                return outputs, *context.faults.contents

    @property
    def inputs(self) -> list[tuple[Dynamic, bool]]:
        """The leaves that are inputs of the compiled program, and which of them are arrays."""
        both = zip(self.signature.leaves, self.signature.arrays, strict=True)
        return [(leaf, is_array) for leaf, is_array in both if isinstance(leaf, Dynamic) and leaf.same is None]

    def ran_on(self, inputs: list[Any]) -> list[Any]:
        """Run the function on its inputs; the results that are traced, and a note of how to hand out all of them."""
        found = iter(inputs)
        leaves: list[Any] = []
        roots: dict[int, Any] = {}
        for number, leaf in enumerate(self.signature.leaves):
            if isinstance(leaf, Static):
                leaves.append(leaf.value)
            else:
                root = roots[number] = next(found) if leaf.same is None else roots[leaf.same]
                leaves.append(leaf.shown(root))
        args, kwargs = rebuilt(self.signature.structure, leaves)
        results, self.structure = leaves_of(self.function(*args, **kwargs))
        self.results = [_Traced(hasattr(leaf, "view_as")) if is_traced(leaf) else leaf for leaf in results]
        return [leaf for leaf in results if is_traced(leaf)]

    def handed_out(self, outputs: list[Any], convert: Callable[[Any, bool], Any]) -> Any:
        """The function's result in its containers."""
        found = iter(outputs)
        leaves = [convert(next(found), x.is_array) if isinstance(x, _Traced) else _own(x) for x in self.results]
        return rebuilt(self.structure, leaves)


def entered(context: TraceContext, leaf: Dynamic, is_array: bool, contents: Any) -> Any:
    """What comes in for a leaf, as the traced program gets it."""
    contents = jnp.asarray(contents)
    if not is_array:
        return context.number(leaf.like_number(), contents)
    return context.entered(leaf.like(), contents)


def _own(constant: Any) -> Any:
    """A result that is the same in every call, as the caller's own."""
    return constant.copy() if isinstance(constant, np.ndarray) else constant


class _Traced:
    """In the place of a result that the program computes."""

    def __init__(self, is_array: bool) -> None:
        self.is_array = is_array


class Compiled:
    """A function that runs as one XLA program: traced and compiled once for each signature, then only run.

    Called with NumPy arrays it returns NumPy arrays; with a JAX array among the arguments, or inside of `jax.jit`,
    `jax.vmap` or `jax.grad`, it returns JAX arrays that stay where they are. Integers, booleans, texts and whatever is
    no array are part of the signature; Python floats are not.

    Errors
    ------
    TraceError : the program asks for a value while it is compiled (`if x > 0`), and has no line that could know.
    IndexRangeError : raised after a call in which an index lay outside its array, under `index_mode="error"`.
    """

    def __init__(self, function: Callable[..., Any], index_mode: str = "error", cache: Any = None) -> None:
        if index_mode not in INDEX_MODES:
            raise ArgumentError(f"index_mode={index_mode!r}", remedy=f"use one of {', '.join(map(repr, INDEX_MODES))}")
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.index_mode = index_mode
        self.cache = cache
        self.parts: dict[Signature, Any] = {}
        self._programs: dict[tuple[Signature, bool], tuple[Program, Any]] = {}
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if compiling():
            return self.function(*args, **kwargs)
        signature, values, from_jax = signature_of(args, kwargs)
        if any(isinstance(x, jax.core.Tracer) for x in values):
            from bridge.xla.composing import composed

            return composed(self, signature, values)
        if from_jax:
            # The program may still run, and its results may lie where its arguments do, when the caller goes on.
            with x64():
                values = [x if isinstance(x, jax.Array) else jax.device_put(np.array(x)) for x in values]
        outputs, program = self._run(signature, _inputs(signature, values), mends=False)
        return program.handed_out(outputs, _as_it_is if from_jax else _as_numpy)

    def _run(self, signature: Signature, values: list[Any], mends: bool) -> tuple[list[Any], Program]:
        program, run = self.program(signature, mends)
        with x64():
            if program.seconds is None:
                with self._lock, told_if_long(self.__name__), persistent(self.cache):
                    start = time.perf_counter()
                    outputs, fault, nan = run(_never(), values)
                    program.seconds = time.perf_counter() - start
            else:
                outputs, fault, nan = run(_never(), values)
        if any(isinstance(x, jax.core.Tracer) for x in outputs):
            from bridge.xla.composing import captured

            raise captured()
        looks = program.faults.watches_nan and not mends
        if program.faults.sites or looks:
            fault, nan = jax.device_get((fault, nan))
            program.faults.raise_if_any(fault)
            if looks and nan:
                return self._run(signature, values, mends=True)
        return outputs, program

    def program(self, signature: Signature, mends: bool = False) -> tuple[Program, Any]:
        """The program of a signature, and the function that runs it."""
        with self._lock:
            found = self._programs.get((signature, mends))
            if found is None:
                program = Program(self.function, signature, self.index_mode, mends)
                found = self._programs[signature, mends] = (program, jax.jit(program))
            return found

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """The program for these arguments as `jax.stages.Lowered`: its text, before XLA has optimised it."""
        signature, values, _ = signature_of(args, kwargs)
        _, run = self.program(signature)
        with x64():
            return run.lower(_never(), _inputs(signature, values))

    def compile(self, *args: Any, **kwargs: Any) -> Any:
        """The program for these arguments as `jax.stages.Compiled`: HLO text, memory and cost analysis."""
        lowered = self.lower(*args, **kwargs)
        with x64(), told_if_long(self.__name__), persistent(self.cache):
            return lowered.compile()

    @property
    def compile_seconds(self) -> list[float]:
        """Seconds that the first run of each program took: tracing, compiling, and running once."""
        return [program.seconds for program, _ in self._programs.values() if program.seconds is not None]


def _inputs(signature: Signature, values: list[Any]) -> list[Any]:
    """The values that the program takes: memory that is passed twice is taken once."""
    dynamic = [leaf for leaf in signature.leaves if isinstance(leaf, Dynamic)]
    return [value for value, leaf in zip(values, dynamic, strict=True) if leaf.same is None]


@cache
def _never() -> Any:
    """False, as an input that XLA cannot know; on the device already."""
    return jax.device_put(np.False_)


def _as_it_is(x: Any, is_array: bool) -> Any:
    return x


def _as_numpy(x: Any, is_array: bool) -> Any:
    plain = np.array(x)
    return plain if is_array else plain[()]


__all__ = ["Compiled", "Dynamic", "Program"]
