"""Whether a random program has under an engine the value that NumPy gives it, and the gradient of differences."""

from __future__ import annotations

import linecache
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import bridge
from bridge.errors import BridgeError
from tests.helpers import finite_differences as reference
from tests.random_programs.program import RandomProgram, held_by
from tests.random_programs.smoothness import kink, steep, unevenness

RIGHT, UNFIT, REFUSED, UNNAMED, DIFFERS = "right", "unfit", "refused", "unnamed error", "differs"
FAILURES = (UNNAMED, DIFFERS)
# Of the directional derivative; differences of double precision, twice extrapolated, and those of a float32 program.
TOLERANCE = {8: 1e-6, 4: 3e-3}
STEPS = (1e-3, 3e-5)

Answer = Callable[[RandomProgram], tuple[Any, Any, tuple[np.ndarray, ...]]]


@dataclass(frozen=True)
class Verdict:
    """How a program ended: `what` is a kind of end that other programs may share, `detail` all that there is to say."""

    kind: str
    what: str = ""
    detail: str = ""


class Different(Exception):
    """The engine and the references do not agree: in what."""


class Unfit(Exception):
    """The references tell nothing: why."""


def judged(program: RandomProgram, engine: str, answer: Answer | None = None) -> Verdict:
    """Run a program plainly, nearby, and differentiated; `answer` has what the engine gave, if it was asked before."""
    with forgotten(program), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            compare(program, engine, answer)
        except Unfit as reason:
            return Verdict(UNFIT, str(reason))
        except Different as difference:
            return Verdict(DIFFERS, str(difference).partition(":")[0], str(difference))
        except BridgeError as error:
            return Verdict(REFUSED, f"{type(error).__name__}: {first_words(error)}", str(error))
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            # The program's own file has another name in each program.
            file = "the program" if last.filename == program.file else Path(last.filename).name
            where = f"{type(error).__name__} in {file}:{last.name}"
            return Verdict(UNNAMED, where, "".join(traceback.format_exception(error)[-6:]))
    return Verdict(RIGHT)


def compare(program: RandomProgram, engine: str, answer: Answer | None = None) -> None:
    """Raise what the engine raises, and `Different` where it is wrong."""
    value = plainly(program)
    found, gradient, inputs = (answer or partial(answered, engine=engine))(program)
    if [x.tobytes() for x in inputs] != [x.tobytes() for x in program.inputs]:
        raise Different("the caller's arrays: they have changed")
    check_value(program, found, value, exact=engine != "xla")
    for seed in (1, 2):
        check_direction(program, gradient, seed)


def answered(program: RandomProgram, engine: str) -> tuple[Any, Any, tuple[np.ndarray, ...]]:
    """Value and gradient of an engine, and the arrays that it was given."""
    inputs = reference.replicas(program.inputs)
    return *differentiated(program, inputs, engine)(*inputs), inputs


def differentiated(program: RandomProgram, inputs: tuple[np.ndarray, ...], engine: str) -> Any:
    """What takes the value and gradient of a program for a caller who holds these inputs."""
    function = held_by(program.function(np), inputs)
    return bridge.value_and_grad(function, argnums=tuple(range(len(inputs))), engine=engine)


def plainly(program: RandomProgram) -> np.ndarray:
    try:
        value = np.asarray(program.plain(*reference.replicas(program.inputs)))
    except Exception as error:
        raise Unfit(f"NumPy raises {type(error).__name__}") from None
    if not np.isfinite(value):
        raise Unfit("the value is not finite")
    return value


def check_value(program: RandomProgram, found: Any, value: np.ndarray, exact: bool) -> None:
    """Engines that replay have NumPy's bits; XLA rounds as it likes."""
    if np.asarray(found).tobytes() == value.tobytes():
        return
    single = program.inputs[0].dtype == np.float32
    if not exact:
        if np.isclose(found, value, rtol=1e-4 if single else 1e-9, equal_nan=True):
            return
        if abs(found - value) <= 4 * unevenness(program, lambda inputs: program.plain(*inputs)):
            raise Unfit("another rounding changes the value as much")
    raise Different(f"value: {found!r}, plain NumPy has {value!r}")


def check_direction(program: RandomProgram, gradient: Any, seed: int) -> None:
    tangents = reference.random_tangents([reference.wide(x) for x in program.inputs], seed)
    predicted = reference.inner(gradient, tangents)
    tolerance = TOLERANCE[program.inputs[0].dtype.itemsize]
    largest = 1.0 + max(float(np.max(np.abs(g), initial=0.0)) for g in gradient)
    seen = []
    for step in STEPS:
        try:
            seen.append(reference.directional(program.plain, program.inputs, tangents, largest_step=step))
        except Exception as error:
            raise Unfit(f"NumPy raises {type(error).__name__} nearby") from None
        if abs(seen[-1] - predicted) <= tolerance * largest:
            return
    if not np.isfinite(seen).all() or abs(seen[0] - seen[1]) > 1e-4 * (1.0 + abs(seen[0])):
        raise Unfit("differences of two sizes do not agree")
    check_smoothness(program, tangents, abs(seen[1] - predicted))
    raise Different(f"gradient: {predicted} along a direction, differences give {seen[0]}\n{gradient!r}")


def jumps(program: RandomProgram) -> bool:
    """Whether the value in double precision, of which differences are taken, is another one than rounding explains."""
    value = float(plainly(program))
    wide = float(program.plain(*(reference.wide(x) for x in program.inputs)))
    return program.inputs[0].dtype == np.float32 and abs(wide - value) > 1e-2 * (1.0 + abs(value))


def check_smoothness(program: RandomProgram, tangents: Any, error: float) -> None:
    """Raise `Unfit` where nobody's gradient could agree with differences better than this."""

    def slope(inputs: tuple[np.ndarray, ...]) -> float:
        return reference.inner(differentiated(program, inputs, "native")(*inputs)[1], tangents)

    if not np.isfinite(error):
        name = "" if np.isfinite(slope(reference.replicas(program.inputs))) else steep(program)
        if name:
            raise Unfit(f"np.{name} has an infinite slope at what it is given")
        return
    if jumps(program):
        raise Unfit("in double precision it is on the other side of a jump")
    if kink(program, tangents) > 0.1 * error:
        raise Unfit("the slopes ahead and behind do not agree")
    if error <= 4 * unevenness(program, slope):
        raise Unfit("another rounding changes the gradient as much")


def first_words(error: BridgeError) -> str:
    """How a message begins, without what is one run's alone: addresses, and the numbers of threads."""
    return re.sub(r"0x[0-9a-f]+|[0-9]{6,}", "...", str(error).splitlines()[0])[:90]


@contextmanager
def forgotten(program: RandomProgram) -> Iterator[None]:
    """Keep nothing of the program's text, of which a long run has many."""
    try:
        yield
    finally:
        linecache.cache.pop(program.file, None)
