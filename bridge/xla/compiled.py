"""Programs compiled by XLA, one for each signature, and called like the function that they were traced from."""

from __future__ import annotations

import operator
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from bridge.code_position import warn
from bridge.engines.protocol import Settings, compiling
from bridge.errors import ArgumentError, TraceError, choice
from bridge.options import IndexMode, bytes_of
from bridge.rewind.interpreter import current_context
from bridge.trees import leaves_of
from bridge.xla.calling import Look, Nans, Ready, look_of, noted
from bridge.xla.captured import Captured
from bridge.xla.carriable import Carriable
from bridge.xla.compiling import persistent, tell, told_if_long
from bridge.xla.in_jax import run_in_jax
from bridge.xla.interrupts import interruptible, quiet
from bridge.xla.lowering.lower import FORKED, refuse, x64
from bridge.xla.meshes import Placed
from bridge.xla.regions.region import MODES
from bridge.xla.signature import Signature, call_of
from bridge.xla.subprogram import Subprogram
from bridge.xla.traced import Program, captured, given
from bridge.xla.tracing.sites import MOST_TURNS, MoreTurns, SliceOutside

_OF_THE_CALLER = frozenset({np.ndarray, float, complex, *np.sctypeDict.values()})
OFTEN = 8
"""How often a program may be compiled again because of what is not among its arguments, before the user is told."""
_MANY = 256
"""Looks of calls that are kept for a function."""
_SLICES_AS_THEY_ARE = {"xla_disable_hlo_passes": "dynamic-slice-annotator"}
"""Spares XLA (of jaxlib 0.11, on a GPU) slices written in loops whose memory it then finds to be the wrong one."""


def _compiles(run: Any, values: list[Any]) -> bool:
    """Whether XLA compiles a program."""
    try:
        run.lower(quiet(), values).compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True


class Compiled(Carriable):
    """A function that runs as one XLA program: traced and compiled once for each signature, then only run.

    Called with NumPy arrays it returns NumPy arrays; with a JAX array among the arguments, or inside of `jax.jit`,
    `jax.vmap` or `jax.grad`, it returns JAX arrays that stay where they are. Integers, booleans, texts and whatever is
    no array are part of the signature; Python floats are not.

    Errors
    ------
    TraceError : the program asks for a value while it is compiled (`if x > 0`), and has no line that could know.
    IndexRangeError : raised after a call in which an index lay outside its array, under `index_mode="error"`.
    """

    def __init__(
        self, function: Callable[..., Any], index_mode: IndexMode = "error", cache: Any = None, memory: Any = None
    ) -> None:
        if index_mode not in MODES:
            raise ArgumentError(f"index_mode={index_mode!r}", remedy=choice(index_mode, MODES))
        super().__init__(function)
        self.settings = Settings(index_mode, bytes_of(memory))
        self.cache = cache
        self._programs: dict[tuple[Signature, bool], tuple[Program, Any]] = {}
        self._limits: dict[Signature, dict[str, int]] = {}
        self._nans: defaultdict[Signature, Nans] = defaultdict(Nans)
        self._ready: dict[Look, Ready] = {}
        self._in_jax: dict[Signature, tuple[Program, Subprogram]] = {}
        self._changes: Counter[str] = Counter()
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current_context() is not None and (compiling() or self._is_tracked(args, kwargs)):
            return self.function(*args, **kwargs)
        if FORKED:
            refuse()
        look, values, plain, owners = look_of(args, kwargs)
        ready = None if look is None else self._ready.get(look)
        if ready is not None and ready.is_apart(owners) and ready.is_current():
            program = ready.program
            if ready.nans.are_expected():
                with x64():
                    outputs, program = self._run(program.signature, values, mends=True)
                return program.handed_out(outputs, plain)
            outputs, notes = ready.called(values)
            if notes is None:
                ready.nans.not_met()
            else:
                with x64():
                    outputs, program = self._noticed(program, notes, values)
            return program.handed_out(outputs, plain)
        return self._described(look, values, plain, args, kwargs)

    def called_as(self, originals: tuple[Any, ...], *args: Any) -> Any:
        """Call it with `args`, which are copies of `originals`, arrays that the program has under other names."""
        return self._described(None, [], True, args, {}, originals)

    def shares(self, *args: Any) -> bool:
        """Whether one of these arguments is an array that the program, which has run on them, reads by another name."""
        found = self.captured_by(args, {})
        return found is not None and bool(found.shared_with(leaves_of((args, {}))[0]))

    def _described(
        self, look: Look | None, as_they_are: list[Any], plain: bool, args: Any, kwargs: Any, originals: Any = None
    ) -> Any:
        """Run the program of a call that has to be looked at closely; what of it comes in may be `as_they_are`."""
        with given(leaves_of((args if originals is None else originals, kwargs))[0]):
            return self._described_as_given(look, as_they_are, plain, args, kwargs)

    def _described_as_given(
        self, look: Look | None, as_they_are: list[Any], plain: bool, args: Any, kwargs: Any
    ) -> Any:
        signature, values, home = call_of(args, kwargs)
        comes_in = len(values) == len(as_they_are) and all(map(operator.is_, values, as_they_are))
        if home == "traced":
            program, subprogram = self._subprogram(signature)
            return program.handed_out(run_in_jax(subprogram, values))
        with x64():
            if home == "jax":
                # The program may still run, and its results may lie where its arguments do, when the caller goes on.
                values = [x if type(x) not in _OF_THE_CALLER else jax.device_put(np.array(x)) for x in values]
            outputs, program = self._run(signature, values, mends=self._nans[signature].are_expected())
        found = self._programs.get((signature, False))
        # Another thread may have put a new one there, which has not run.
        if look is not None and comes_in and found is not None and found[0].seconds is not None:
            if len(self._ready) >= _MANY:
                self._ready.clear()
            if not found[0].shared:
                self._ready[look] = Ready(*found, self._nans[signature], plain)
        return program.handed_out(outputs, plain=home == "numpy")

    def _is_tracked(self, args: Any, kwargs: Any) -> bool:
        """Whether a gradient that is not compiled passes through this call: then the function runs as it is."""
        if not any(hasattr(leaf, "place") for leaf in leaves_of((args, kwargs))[0]):
            return False
        mode = self.settings.index_mode
        if mode != "error":
            raise ArgumentError(
                f"a gradient that is not compiled passes through a program with index_mode={mode!r}",
                remedy='compile the gradient: engine="xla", or bridge.xla around it, with the same index_mode',
            )
        return True

    def _run(self, signature: Signature, values: list[Any], mends: bool) -> tuple[list[Any], Program]:
        program, run = self.program(signature, mends)
        if program.seconds is None:
            with self._lock, told_if_long(self.__name__), persistent(self.cache):
                start = time.perf_counter()
                try:
                    outputs, notes = self._ran(program, run, values)
                except jax.errors.JaxRuntimeError as error:
                    program, run = self._made_otherwise(program, run, values, error)
                    outputs, notes = self._ran(program, run, values)
                if any(isinstance(x, jax.core.Tracer) for x in outputs):
                    raise captured()
                program.seconds = time.perf_counter() - start
            tell(program.bounded_loops)
        else:
            outputs, notes = self._ran(program, run, values)
        found = noted(notes)
        if found is not None:
            return self._noticed(program, found, values, outputs)
        if not mends:
            self._nans[signature].not_met()
        return outputs, program

    def _ran(self, program: Program, run: Any, values: list[Any]) -> Any:
        """What a program gives, and what it has noted."""
        if program.seconds is None or program.polls:
            return interruptible(run, values, lambda: program.polls, is_first=program.seconds is None)
        return run(quiet(), values)

    def _noticed(
        self, program: Program, found: Any, values: list[Any], outputs: Any = None
    ) -> tuple[list[Any], Program]:
        """What a program gives that has noted something: an error, the results of another one, or its own."""
        try:
            program.faults.raise_if_any(found[:2])
        except (MoreTurns, SliceOutside) as error:
            limits = self._limits.setdefault(program.signature, {})
            if isinstance(error, MoreTurns) and error.wanted > MOST_TURNS:
                raise TraceError(
                    f"a gradient passes through a loop that makes more than {MOST_TURNS} turns",
                    where=error.line,
                    remedy='use bridge.checkpoint, or engine="native"',
                ) from None
            if not error.note(limits):
                raise
            self._drop(program.signature)
            program.captured.put_back()
            return self._run(program.signature, values, mends=False)
        if program.mends:
            return outputs, program
        self._nans[program.signature].met()
        program.captured.put_back()
        return self._run(program.signature, values, mends=True)

    def program(self, signature: Signature, mends: bool = False) -> tuple[Program, Any]:
        """The program of a signature, and the function that runs it."""
        with self._lock:
            found = self._programs.get((signature, mends))
            if found is not None:
                found = self._forgotten_if_changed(signature, found)
            if found is None:
                found = self._programs[signature, mends] = self._new(signature, mends)
            return found

    def _new(
        self, signature: Signature, mends: bool, in_kernels: bool = True, options: dict[str, Any] | None = None
    ) -> tuple[Program, Any]:
        program = Program(self.function, signature, self.settings, mends, self._limits.get(signature), in_kernels)
        return program, Placed(jax.jit(program, compiler_options=options), program.names_of_inputs)

    def _made_otherwise(self, program: Program, run: Any, values: list[Any], error: Exception) -> tuple[Program, Any]:
        """Another program for one that XLA does not compile: without kernels, or without a pass that may fail in it.

        Raises `error` if XLA compiles the program, so that the failure was at run time, or compiles no other program.
        """
        if _compiles(run, values):
            raise error
        for in_kernels, options in ((False, None), (program.in_kernels, _SLICES_AS_THEY_ARE)):
            program.captured.put_back()
            made = self._new(program.signature, program.mends, in_kernels, options)
            if _compiles(made[1], values):
                self._programs[program.signature, program.mends] = made
                return made
        raise error

    def watch(self, *args: Any, **kwargs: Any) -> Captured:
        """What says what has changed since of what the program reads without being given it, and puts that back.

        The program for these arguments must have run.
        """
        return self.captured_by(args, kwargs) or Captured()

    def captured_by(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Captured | None:
        """What the program for these arguments reads without being given it; None if it was not traced."""
        found = self._programs.get((call_of(args, kwargs).signature, False))
        return None if found is None else found[0].captured

    def _forgotten_if_changed(self, signature: Signature, found: tuple[Program, Any]) -> tuple[Program, Any] | None:
        """A program, unless what it was traced with has changed since."""
        name = found[0].captured.changed() or found[0].shared_otherwise()
        if name is None:
            return found
        self._forget(signature, name)
        return None

    def _subprogram(self, signature: Signature) -> tuple[Program, Subprogram]:
        """The program of a signature, and what it is inside of a JAX program."""
        found = self._in_jax.get(signature)
        changed = None if found is None else found[0].captured.changed()
        if changed is not None:
            self._forget(signature, changed)
            found = None
        if found is None:
            program = Program(self.function, signature, self.settings, mends=False)
            found = self._in_jax[signature] = program, Subprogram.of(program)
        return found

    def _drop(self, signature: Signature) -> None:
        for mends in (False, True):
            self._programs.pop((signature, mends), None)
        self._ready.clear()

    def _forget(self, signature: Signature, changed: str) -> None:
        """Drop what was traced for a signature, because `changed` has; the user is told if it happens often."""
        self._drop(signature)
        self._in_jax.pop(signature, None)
        self._nans.pop(signature, None)
        self._changes[changed] += 1
        if self._changes[changed] == OFTEN:
            warn(
                f"{self.__name__} has been compiled {OFTEN} times more because {changed} has changed between its calls"
                "\n  remedy: pass it as an argument, and return what the program changes"
            )

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """The program for these arguments as `jax.stages.Lowered`: its text, before XLA has optimised it."""
        signature, values, _ = call_of(args, kwargs)
        _, run = self.program(signature)
        with x64():
            return run.lower(quiet(), values)

    def compile(self, *args: Any, **kwargs: Any) -> Any:
        """The program for these arguments as `jax.stages.Compiled`: HLO text, memory and cost analysis."""
        signature, values, _ = call_of(args, kwargs)
        program, run = self.program(signature)
        with x64(), told_if_long(self.__name__), persistent(self.cache):
            try:
                return run.lower(quiet(), values).compile()
            except jax.errors.JaxRuntimeError as error:
                return self._made_otherwise(program, run, values, error)[1].lower(quiet(), values).compile()

    @property
    def bounded_loops(self) -> list[str]:
        """Of each loop that `memory` keeps from keeping its whole log: where it is, what it keeps and runs again."""
        programs = [program for program, _ in (*self._programs.values(), *self._in_jax.values())]
        return list(dict.fromkeys(line for program in programs for line in program.bounded_loops))

    @property
    def compile_seconds(self) -> list[float]:
        """Seconds that the first run of each program took: tracing, compiling, and running once."""
        return [program.seconds for program, _ in self._programs.values() if program.seconds is not None]
