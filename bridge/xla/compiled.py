"""Programs compiled by XLA, one for each signature, and called like the function that they were traced from."""

from __future__ import annotations

import functools
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.arrays.buffer import WeakScalar
from bridge.engines.protocol import compiling
from bridge.errors import ArgumentError, BridgeWarning
from bridge.rewind.interpreter import current_context
from bridge.rewind.values import ground_floor, is_abstract
from bridge.trees import leaves_of, rebuilt
from bridge.xla.cache import persistent
from bridge.xla.captured import Captured
from bridge.xla.lowering.lower import x64
from bridge.xla.progress import told_if_long
from bridge.xla.rerolling.rerolling import Rerolling, Unrolled
from bridge.xla.signature import Dynamic, Signature, Static, call_of
from bridge.xla.tracing.context import TraceContext

_OF_THE_CALLER = frozenset({np.ndarray, float, complex, *np.sctypeDict.values()})
OFTEN = 8
"""How often a program may be compiled again because of what is not among its arguments, before the user is told."""
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
        self.captured = Captured(function)
        # A loop hides from strong zeros which cotangents do not exist.
        self.loops = "plain" if mends else "short"

    def __call__(self, never: Any, values: list[Any]) -> tuple[list[Any], Any, tuple[Any, Any]]:
        """The results that are traced; whether to look at the rest: the first fault, and whether there was a NaN."""
        while True:
            try:
                outputs, fault, nan = self._traced(never, values)
            except Unrolled:
                self.loops = "rolling" if self.loops == "short" else "plain"

            else:
                self.captured.close()
                return outputs, (fault[0] != 0) | nan, (fault, nan)

    def _traced(self, never: Any, values: list[Any]) -> tuple[list[Any], Any, Any]:
        with x64(), np.errstate(all="ignore"):
            rerolling = Rerolling(self.loops)
            context = TraceContext(never, self.index_mode, self.mends, rerolling, self.captured)
            with context:
                context.faults.open()
                leaves = [
                    entered(context, leaf, is_array, contents)
                    for (leaf, is_array), contents in zip(self.inputs, values, strict=True)
                ]
                outputs = [context.read(ground_floor(leaf).place) for leaf in self.ran_on(leaves)]
                self.faults = context.faults
                if not self.mends:
                    rerolling.warn()
                return outputs, *context.faults.contents

    @property
    def is_watched(self) -> bool:
        """Whether it may have found out something when it ran."""
        return bool(self.faults.sites) or (self.faults.watches_nan and not self.mends)

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
        context = current_context()
        function = self.function if context is None else context.home.program(self.function)
        with _only_numpy():
            results, self.structure = leaves_of(function(*args, **kwargs))
        self.results = [_Traced(leaf) if is_abstract(leaf) else leaf for leaf in results]
        return [leaf for leaf in results if is_abstract(leaf)]

    def handed_out(self, outputs: list[Any], plain: bool = False) -> Any:
        """The function's result in its containers: JAX arrays, or NumPy's arrays and numbers if `plain`."""
        if not plain and len(outputs) == len(self.results):
            return rebuilt(self.structure, outputs)
        found = iter(outputs)
        leaves = []
        for result in self.results:
            if not isinstance(result, _Traced):
                leaves.append(result.copy() if isinstance(result, np.ndarray) else result)
            elif plain:
                leaves.append(result.plain(next(found)))
            else:
                leaves.append(next(found))
        return rebuilt(self.structure, leaves)


def entered(context: TraceContext, leaf: Dynamic, is_array: bool, contents: Any) -> Any:
    """What comes in for a leaf, as the traced program gets it."""
    contents = jnp.asarray(contents)
    if not is_array:
        return context.number(leaf.like_number(), contents)
    return context.entered(leaf.like(), contents)


@contextmanager
def _only_numpy() -> Iterator[None]:
    """Inside, JAX's errors about values that NumPy cannot have, or JAX not, name what to do."""
    try:
        yield
    except (jax.errors.TracerArrayConversionError, jax.errors.UnexpectedTracerError) as error:
        raise captured() from error
    except TypeError as error:
        if "not a valid JAX type" not in str(error):
            raise
        raise ArgumentError(
            "a compiled program gives one of its arrays to a function of JAX", remedy="write it with NumPy: np for jnp"
        ) from error


def captured() -> ArgumentError:
    """The error of a program that uses a JAX value which nobody passed to it."""
    return ArgumentError(
        "a compiled program uses a JAX value that is not among its arguments: one of a transformation around it "
        "(jax.jit, jax.vmap, jax.grad), or what jax.numpy made inside of it",
        remedy="pass it as an argument, and write the program with NumPy",
    )


class _Traced:
    """In the place of a result that the program computes."""

    def __init__(self, leaf: Any) -> None:
        self.is_array = hasattr(leaf, "view_as")
        self.is_weak = isinstance(leaf, WeakScalar)

    def plain(self, x: Any) -> Any:
        """The result as NumPy, or Python for its own numbers, would give it, in memory of its own."""
        own = np.array(x)
        if self.is_weak:
            return own.item()
        return own if self.is_array else own[()]


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
        if not callable(function):
            raise ArgumentError(f"a {type(function).__name__} cannot be compiled", remedy="give a function")
        self.__name__ = type(function).__name__
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.index_mode = index_mode
        self.cache = cache
        self.parts: dict[Signature, Any] = {}
        self._programs: dict[tuple[Signature, bool], tuple[Program, Any]] = {}
        self._changes: Counter[str] = Counter()
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current_context() is not None and (compiling() or self._is_tracked(args, kwargs)):
            return self.function(*args, **kwargs)
        signature, values, home = call_of(args, kwargs)
        if home == "traced":
            from bridge.xla.in_jax import composed

            return composed(self, signature, values)
        with x64():
            if home == "jax":
                # The program may still run, and its results may lie where its arguments do, when the caller goes on.
                values = [x if type(x) not in _OF_THE_CALLER else jax.device_put(np.array(x)) for x in values]
            outputs, program = self._run(signature, values, mends=False)
        return program.handed_out(outputs, plain=home == "numpy")

    def _is_tracked(self, args: Any, kwargs: Any) -> bool:
        """Whether a gradient that is not compiled passes through this call: then the function runs as it is."""
        if not any(hasattr(leaf, "place") for leaf in leaves_of((args, kwargs))[0]):
            return False
        if self.index_mode != "error":
            raise ArgumentError(
                f"a gradient that is not compiled passes through a program with index_mode={self.index_mode!r}",
                remedy='compile the gradient: engine="xla", or bridge.xla around it, with the same index_mode',
            )
        return True

    def _run(self, signature: Signature, values: list[Any], mends: bool) -> tuple[list[Any], Program]:
        program, run = self.program(signature, mends)
        if program.seconds is None:
            with self._lock, told_if_long(self.__name__), persistent(self.cache):
                start = time.perf_counter()
                outputs, alarm, found = run(_never(), values)
                if any(isinstance(x, jax.core.Tracer) for x in outputs):
                    raise captured()
                program.seconds = time.perf_counter() - start
        else:
            outputs, alarm, found = run(_never(), values)
        if program.is_watched and np.asarray(alarm):
            fault, nan = found
            program.faults.raise_if_any(fault)
            if nan and not mends and program.faults.watches_nan:
                return self._run(signature, values, mends=True)
        return outputs, program

    def program(self, signature: Signature, mends: bool = False) -> tuple[Program, Any]:
        """The program of a signature, and the function that runs it."""
        with self._lock:
            found = self._programs.get((signature, mends))
            if found is not None and found[0].seconds is not None:
                found = self._forgotten_if_changed(signature, found)
            if found is None:
                program = Program(self.function, signature, self.index_mode, mends)
                found = self._programs[signature, mends] = (program, jax.jit(program))
            return found

    def watch(self, *args: Any, **kwargs: Any) -> Callable[[], str | None]:
        """A function that says what has changed since of what the program reads without being given it.

        The program for these arguments must have run.
        """
        found = self._programs.get((call_of(args, kwargs).signature, False))
        return (lambda: None) if found is None else found[0].captured.changed

    def _forgotten_if_changed(self, signature: Signature, found: tuple[Program, Any]) -> tuple[Program, Any] | None:
        """A program, unless what it was traced with has changed since."""
        name = found[0].captured.changed()
        if name is None:
            return found
        self.forget(signature, name)
        return None

    def forget(self, signature: Signature, changed: str) -> None:
        """Drop what was traced for a signature, because `changed` has; the user is told if it happens often."""
        for key in [key for key in self._programs if key[0] == signature]:
            del self._programs[key]
        self.parts.pop(signature, None)
        self._changes[changed] += 1
        if self._changes[changed] == OFTEN:
            warnings.warn(
                f"{self.__name__} has been compiled {OFTEN} times more because {changed} has changed between its calls"
                "\n  remedy: pass it as an argument",
                BridgeWarning,
                stacklevel=5,
            )

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """The program for these arguments as `jax.stages.Lowered`: its text, before XLA has optimised it."""
        signature, values, _ = call_of(args, kwargs)
        _, run = self.program(signature)
        with x64():
            return run.lower(_never(), values)

    def compile(self, *args: Any, **kwargs: Any) -> Any:
        """The program for these arguments as `jax.stages.Compiled`: HLO text, memory and cost analysis."""
        lowered = self.lower(*args, **kwargs)
        with x64(), told_if_long(self.__name__), persistent(self.cache):
            return lowered.compile()

    @property
    def compile_seconds(self) -> list[float]:
        """Seconds that the first run of each program took: tracing, compiling, and running once."""
        return [program.seconds for program, _ in self._programs.values() if program.seconds is not None]


@cache
def _never() -> Any:
    """False, as an input that XLA cannot know; on the device already."""
    return jax.device_put(np.False_)


__all__ = ["Compiled", "Dynamic", "Program"]
