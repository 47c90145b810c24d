"""What an eval is to the tool, how its functions are run, and how their time is taken."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import bridge

Engine = Literal["native", "xla"]
Input = Any


@dataclass(frozen=True)
class Function:
    """One function of an eval: what is timed, and how its result is told in JSON."""

    compute: Callable[..., Any]
    told: Callable[[Any], Any]


@dataclass(frozen=True)
class Eval:
    """The functions of one of GradBench's modules, and how its input becomes their arguments."""

    prepare: Callable[[Input], tuple[Any, ...]]
    functions: dict[str, Function]


@dataclass
class Runner:
    """Runs functions of evals under one engine; what has been compiled is kept from one message to the next."""

    engine: Engine
    compiled: dict[Callable[..., Any], Callable[..., Any]] = field(default_factory=dict)

    def prepared(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        """The function as the engine runs it."""
        if self.engine == "native":
            return compute
        return self.compiled.setdefault(compute, bridge.xla(compute))

    def run(self, module: Eval, name: str, given: Input) -> tuple[Any, list[int]]:
        """The output and the nanoseconds of each run; a first run that compiles is among them, as in GradBench's JAX.

        An input without `min_runs` is one that asks for a single run.
        """
        function = module.functions[name]
        arguments = module.prepare(given)
        compute = self.prepared(function.compute)
        limits = given if isinstance(given, dict) else {}
        least, seconds = limits.get("min_runs", 1), limits.get("min_seconds", 0)
        times: list[int] = []
        while not times or len(times) < least or sum(times) < seconds * 1e9:
            start = time.perf_counter_ns()
            result = compute(*arguments)
            times.append(time.perf_counter_ns() - start)
        return function.told(result), times
