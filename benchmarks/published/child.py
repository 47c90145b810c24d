"""`python -m benchmarks.published.child JOB FILE`: measure one program, and append what is known by then to FILE.

A process of its own, so that a program that crashes or does not end takes nothing else with it. Each line of FILE is
a JSON object; what a later line says is added to what earlier ones said (`runs.py` reads them).
"""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bridge
from benchmarks.published import clock, footprint
from benchmarks.published.differences import Gradient, compare
from benchmarks.published.engines import PORTED, Engine, compiled, of_bridge, ported
from benchmarks.published.loss import Loss
from benchmarks.published.program import NoDerivative, Program, quietly

TOLERANCES = {"double": 1e-6, "single": 1e-4}

Tell = Callable[..., None]


def main(job: dict[str, Any], tell: Tell) -> None:
    """Load the program that `job` names, and measure it; whatever it raises becomes its verdict."""
    tell(stage="loading the program")
    catalogue = importlib.import_module(job["catalogue"])
    try:
        program = catalogue.load(Path(job["checkout"]), job["name"], job["preset"], job["own_dtype"])
        tell(stage="running the program")
        loss = Loss(program)
        precision = precision_of(program, loss)
        tell(precision=precision, arguments=list(program.varied))
        engine = prepared(catalogue, job, program, loss, tell)
        if engine is not None:
            measure(program, engine, TOLERANCES[precision], tell)
            if job.get("footprint"):
                count(program, engine.loss, tell)
    except NoDerivative as reason:
        tell(verdict="no derivative", reason=str(reason))
    except Exception as error:
        tell(verdict="error", reason=described(error), traceback=traceback.format_exc())


def prepared(catalogue: Any, job: dict[str, Any], program: Program, loss: Loss, tell: Tell) -> Engine | None:
    """The engine that the job names; None, and told, where a port is asked for and there is none that serves."""
    if job["engine"] == "xla":
        return compiled(program, loss)
    if job["engine"] != PORTED:
        return of_bridge(program, loss, job["engine"])
    from benchmarks.published.ports import NoPort, uncompiled

    tell(stage="preparing the port")
    try:
        with uncompiled():
            port, name = catalogue.port(Path(job["checkout"]), job["name"])
        return ported(program, loss, port, name)
    except (NoPort, FileNotFoundError, AttributeError) as reason:
        missing = f"no port: {reason}" if not isinstance(reason, NoPort) else str(reason)
        tell(verdict="no port", reason=missing)
        return None


def measure(program: Program, engine: Engine, tolerance: float, tell: Tell) -> None:
    """Times, verdict and memory of one program, told as soon as each is known."""

    def named(gradient: Any) -> dict[str, Any]:
        return {name: np.asarray(each) for name, each in zip(program.varied, gradient, strict=True)}

    tell(note=engine.note, stage="computing the gradient")
    first, (value, gradient) = clock.timed(engine.run)
    tell(
        first=first.wall, first_processor=first.processor, gradient=first.wall, resident=clock.resident("VmHWM"),
        stage="taking times",
    )  # fmt: skip
    before, found = clock.samples(first, engine.run, lambda: forward_time(program), engine.compiles)
    tell(**clock.summed_up(before, found))
    tell(measured=True, stage="comparing with finite differences")
    judge(engine.loss, lambda *given: named(engine.at(*given)[1]), float(value), named(gradient), tolerance, tell)
    tell(stage="measuring memory")
    tell(memory=engine.planned() if engine.compiles else clock.allocated(engine.run), stage="done")


def count(program: Program, loss: Loss, tell: Tell) -> None:
    """Tell how much memory the program itself makes use of, and how much its gradient takes."""
    tell(stage="counting memory")
    varied = [program.arguments[name] for name in program.varied]
    tell(handled=footprint.handled(loss, program.copied(), varied), returned=footprint.returned(varied), stage="done")


def precision_of(program: Program, loss: Loss) -> str:
    """`single` if any argument or result of the program as it stands is of single precision."""
    arguments = program.copied()
    results = loss.program.outputs(quietly(program.function, arguments), arguments)
    single = any(np.asarray(each).dtype in (np.float32, np.complex64, np.float16) for each in (*results, *arguments))
    asked = getattr(getattr(program.precise, "__globals__", {}).get("np"), "asked", False)
    return "single" if single or asked else "double"


def forward_time(program: Program) -> clock.Seconds:
    """How long the program alone takes, in plain NumPy; its arguments are copied before the clock starts."""
    arguments = program.copied()
    return clock.timed(lambda: quietly(program.function, arguments))[0]


def judge(
    loss: Loss, differentiate: Callable[..., Gradient], value: float, gradient: Gradient, tolerance: float, tell: Tell
) -> None:
    """Say whether the value is the program's, and the gradient that of finite differences."""
    plain = loss.plainly
    if not np.isclose(value, plain, rtol=tolerance, atol=tolerance * loss.magnitude, equal_nan=True):
        tell(verdict="wrong", reason=f"the loss is {value!r}, computed plainly {plain!r}")
        return
    differences = list(compare(loss, differentiate, gradient, tolerance))
    tell(
        error=float(np.max([each.error for each in differences])),
        differences=[vars(each) for each in differences],
        zero=[name for name, cotangent in gradient.items() if not np.any(cotangent)],
    )
    verdicts = [each.verdict(tolerance) for each in differences]
    for verdict in ("wrong", "not proved"):
        if verdict in verdicts:
            first = differences[verdicts.index(verdict)]
            tell(
                verdict=verdict,
                reason=f"along {first.direction} the gradient gives {first.gradient!r}, differences "
                f"{first.differences!r} ({first.kind}, doubt {first.doubt:.0e})",
            )
            return
    roughest = max(differences, key=lambda each: each.rounding)
    if roughest.rounding:
        tell(
            reason=f"it differs by {roughest.error:.0e} along {roughest.direction}, where another rounding "
            f"of the arguments moves it by {roughest.rounding:.0e}"
        )
    tell(verdict="right")


def described(error: Exception) -> str:
    """An error's class, its message, and the line of the program that it comes from."""
    place = ""
    if not getattr(error, "where", None):
        frames = traceback.extract_tb(error.__traceback__)
        ours = Path(bridge.__file__).parent
        outside = [frame for frame in frames if ours not in Path(frame.filename).parents]
        place = f"\n  at {outside[-1].filename}:{outside[-1].lineno}" if outside else ""
    return f"{type(error).__name__}: {error}{place}"


if __name__ == "__main__":
    with open(sys.argv[2], "a", encoding="utf-8") as log:

        def say(**facts: Any) -> None:
            log.write(json.dumps(facts) + "\n")
            log.flush()

        main(json.loads(sys.argv[1]), say)
