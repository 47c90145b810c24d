"""Faults in compiled calls: while a program is traced, compiled, run, and while its results are handed out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import numpy as np
from jax._src import compiler, core

import bridge
from bridge.engines import xla
from bridge.xla import calling, compiled
from bridge.xla.captured import Captured
from bridge.xla.meshes import Placed
from bridge.xla.traced import GIVEN, Program
from bridge.xla.tracing.accessing import Accessing
from bridge.xla.tracing.faults import Faults as FaultsOfRuns
from bridge.xla.tracing.frames import Framing
from tests.faults.points import Faults, hooked
from tests.faults.subjects import Subject, bits
from tests.faults.trial import Trial, Unfit, Verdict, left_in
from tests.programs_as_they_stand.state import differing, state_of

STAGES: tuple[tuple[Any, str], ...] = (
    (Accessing, "read"),
    (Accessing, "put"),
    (Framing, "dry"),
    (Framing, "repeat"),
    (Framing, "choose"),
    (Captured, "close"),
    (Program, "__call__"),
    (compiler, "compile_or_get_cached"),
    (compiler, "backend_compile_and_load"),
    (Placed, "__call__"),
    (FaultsOfRuns, "raise_if_any"),
    (compiled, "noted"),
    (calling.Ready, "called"),
    (Program, "handed_out"),
)


class CompilingFaults(Faults):
    """Points of compiled calls: those of events and of the log, and the stages of tracing, compiling and running."""

    def hooked(self) -> Iterator[tuple[Any, str]]:
        """Each function that is a point, as its owner and its name."""
        yield from hooked()
        yield from STAGES


def plain(subject: Subject, f: Callable[..., Any]) -> Callable[..., Any]:
    """The program itself."""
    return bridge.xla(f)


def reverse(subject: Subject, f: Callable[..., Any]) -> Callable[..., Any]:
    """Value and gradient as one program."""
    return bridge.xla(bridge.value_and_grad(f, argnums=subject.positions))


def engine(subject: Subject, f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient by the engine's name, which keeps what it has compiled."""
    return bridge.value_and_grad(f, argnums=subject.positions, engine="xla")


def pulled(subject: Subject, f: Callable[..., Any]) -> Callable[..., Any]:
    """Two pulls of one `vjp`."""

    def call(*args: Any) -> Any:
        value, pull = bridge.vjp(f, *args, engine="xla")
        seed = np.ones_like(value)[()]
        return value, pull(seed), pull(seed)

    return call


def bounded(subject: Subject, f: Callable[..., Any]) -> Callable[..., Any]:
    """Value and gradient, whose loops may keep little of their logs and run parts again."""
    return bridge.xla(bridge.value_and_grad(f, argnums=subject.positions), memory=4_000)


COMPILED: dict[str, Callable[[Subject, Callable[..., Any]], Callable[..., Any]]] = {
    "xla": plain,
    "xla of grad": reverse,
    "engine": engine,
    "xla pull": pulled,
    "bounded": bounded,
}


class CompiledTrial(Trial):
    """Faults at up to `most` points of each way to compile one program, each in the first call of a new function."""

    faults = CompilingFaults

    def run(self, ways: tuple[str, ...] = tuple(COMPILED)) -> Verdict:
        return super().run(ways)

    def _calls(self, verdict: Verdict, way: str) -> None:
        subject, make = self.subject, COMPILED[way]
        with np.errstate(all="ignore"):
            args = subject.arguments()
            expected, kinds = self._clean_call(lambda: make(subject, subject.make()), args)
            before = state_of(args)
            for at, error in self._dealt(kinds, verdict):
                function = subject.make()
                call = make(subject, function)
                where, wrong = self._fault(partial(call, *args), at, error)
                wrong += differing(before, state_of(args)) + left_in(state_of(function)) + self._left()
                for number in range(0 if wrong else 2):
                    try:
                        found = bits(call(*args))
                    except Exception as raised:
                        found = repr(raised)
                    wrong += [] if found == expected else [f"call {number} after it gives {found}, not {expected}"]
                verdict.tried += 1
                if wrong:
                    verdict.violations.append(f"{subject} {way}, {error.__name__} {where} ({at}): {wrong}"[:1500])
                    args = subject.arguments()
                    before = state_of(args)
                xla._kept.cache_clear()

    def _clean_call(self, make: Callable[[], Callable[..., Any]], args: Any) -> tuple[Any, list[str]]:
        """What calls without a fault give, and the kinds of the points that a first one passes."""
        try:
            expected = bits(make()(*args))
            call = make()
            with self.faults().injected() as faults:
                faults.kinds = kinds = []
                again = bits(call(*args))
            third = bits(call(*args))
        except Exception as error:
            raise Unfit(repr(error)[:100]) from error
        finally:
            xla._kept.cache_clear()
        if not expected == again == third:
            raise Unfit("it does not do the same twice")
        return expected, kinds

    def _left(self) -> list[str]:
        """What of a call is left in JAX, or in this thread."""
        wrong = []
        if not core.trace_state_clean():
            wrong.append("JAX is left tracing")
        if jax.config.jax_enable_x64:
            wrong.append("JAX is left in 64 bit")
        if not jax.sharding.get_abstract_mesh().empty:
            wrong.append("a mesh is left")
        if GIVEN.get() is not None:
            wrong.append("the arguments of a call are left")
        return wrong
