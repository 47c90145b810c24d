"""`python -m benchmarks.published.child JOB FILE`: measure one program, and append what is known by then to FILE.

A process of its own, so that a program that crashes or does not end takes nothing else with it. Each line of FILE is
a JSON object; what a later line says is added to what earlier ones said (`runs.py` reads them).
"""

from __future__ import annotations

import gc
import importlib
import json
import platform
import sys
import time
import traceback
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bridge
from benchmarks.published.differences import Gradient, compare
from benchmarks.published.loss import Loss
from benchmarks.published.program import NoDerivative, Program, quietly

REPEATS, AT_LEAST = 15, 3
BUDGET, PATIENCE = 2.0, 10.0
CLOCK = time.get_clock_info("process_time").resolution
TOLERANCES = {"double": 1e-6, "single": 1e-4}

Tell = Callable[..., None]


def main(job: dict[str, Any], tell: Tell) -> None:
    """Load the program that `job` names, and measure it; whatever it raises becomes its verdict."""
    tell(stage="loading the program")
    catalogue = importlib.import_module(job["catalogue"])
    try:
        measure(
            catalogue.load(Path(job["checkout"]), job["name"], job["preset"], job["own_dtype"]), job["engine"], tell
        )
    except NoDerivative as reason:
        tell(verdict="no derivative", reason=str(reason))
    except Exception as error:
        tell(verdict="error", reason=described(error), traceback=traceback.format_exc())


def measure(program: Program, engine: str, tell: Tell) -> None:
    """Times, verdict and memory of one program, told as soon as each is known."""
    tell(stage="running the program")
    loss = Loss(program)
    precision = precision_of(program, loss)
    both = bridge.value_and_grad(loss, argnums=program.positions, engine=engine)

    def run() -> Any:
        return both(*program.arguments.values())

    def named(gradient: Any) -> dict[str, Any]:
        return dict(zip(program.varied, gradient, strict=True))

    tell(precision=precision, arguments=list(program.varied), stage="computing the gradient")
    value, gradient = times(program, run, engine, tell)
    tell(stage="comparing with finite differences")
    judge(loss, lambda *given: named(both(*given)[1]), value, named(gradient), TOLERANCES[precision], tell)
    tell(stage="measuring memory")
    tell(memory=memory(run, engine), stage="done")


def precision_of(program: Program, loss: Loss) -> str:
    """`single` if any argument or result of the program as it stands is of single precision."""
    arguments = program.copied()
    results = loss.program.outputs(quietly(program.function, arguments), arguments)
    single = any(np.asarray(each).dtype in (np.float32, np.complex64, np.float16) for each in (*results, *arguments))
    asked = getattr(getattr(program.precise, "__globals__", {}).get("np"), "asked", False)
    return "single" if single or asked else "double"


def times(program: Program, run: Callable[[], Any], engine: str, tell: Tell) -> tuple[float, tuple[Any, ...]]:
    """Take times of the program and of its gradient, in turns, and tell the shortest; returns loss and gradient."""
    first, (value, found) = timed(run)
    forward = [forward_time(program)]
    gradient = [] if first.wall < PATIENCE or engine == "xla" else [first]
    tell(first=first.wall, forward=forward[0].wall, gradient=first.wall, stage="taking times")
    for _ in range(0 if first in gradient else REPEATS):
        if len(gradient) >= AT_LEAST and sum(each.wall for each in (*gradient, *forward)) > BUDGET:
            break
        forward.append(forward_time(program))
        gradient.append(timed(run)[0])
    tell(
        forward=min(each.wall for each in forward),
        gradient=min(each.wall for each in gradient),
        processor=min(each.processor for each in gradient) / max(min(each.processor for each in forward), CLOCK),
        samples={"forward": forward, "gradient": gradient},
    )
    return float(value), found


class Seconds(NamedTuple):
    """How long a call took, by the clock and in time of the processor, which other work on the machine moves less."""

    wall: float
    processor: float


def forward_time(program: Program) -> Seconds:
    """How long the program alone takes, in plain NumPy; its arguments are copied before the clock starts."""
    arguments = program.copied()
    return timed(lambda: quietly(program.function, arguments))[0]


def timed(run: Callable[[], Any]) -> tuple[Seconds, Any]:
    """How long a call takes, and its result; earlier garbage is collected before the clock starts."""
    gc.collect()
    wall, processor = time.perf_counter(), time.process_time()
    result = run()
    return Seconds(time.perf_counter() - wall, time.process_time() - processor), result


def judge(
    loss: Loss, differentiate: Callable[..., Gradient], value: float, gradient: Gradient, tolerance: float, tell: Tell
) -> None:
    """Say whether the value is the program's, and the gradient that of finite differences."""
    plain = float(loss.weighted(loss.plain))
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


def memory(run: Callable[[], Any], engine: str) -> int:
    """Peak bytes of one gradient: what Python and NumPy allocate or, for what XLA allocates, the resident growth."""
    gc.collect()
    if engine == "xla":
        with suppress(OSError):  # Linux forgets the highest mark; elsewhere growth counts from the highest so far
            Path("/proc/self/clear_refs").write_text("5")
        before = resident("VmRSS")
        run()
        return max(resident("VmHWM") - before, 0)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    run()
    return tracemalloc.get_traced_memory()[1] - before


def resident(line: str) -> int:
    """Bytes that the process holds (`VmRSS`), or has held at most (`VmHWM`); 0 where the system does not say."""
    status = Path("/proc/self/status")
    if platform.system() != "Linux" or not status.exists():
        return 0
    return next(int(each.split()[1]) for each in status.read_text().splitlines() if line in each) * 1024


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
