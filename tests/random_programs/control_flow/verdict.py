"""Whether a random program means compiled what it means in plain Python: its results, its gradient, its slope."""

from __future__ import annotations

import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import bridge
from bridge.errors import BridgeError
from tests.random_programs.control_flow.program import Program, Unfit, copied, ran

TOLERANCE = 1e-8
POSITIONS = (0, 1, 2)

RIGHT, UNFIT, REFUSED, UNNAMED, DIFFERS = "right", "unfit", "refused", "unnamed error", "differs"


@dataclass(frozen=True)
class Verdict:
    """How a program ended: `what` is a kind of end that other programs may share, `detail` all that there is to say."""

    kind: str
    what: str = ""
    detail: str = ""


class Different(Exception):
    """Two ways to run a program do not agree: which, and in what."""


def judged(program: Program, folder: Path, longest: int, slopes: bool = False) -> Verdict:
    """Run a program in every way; `slopes` adds forward mode."""
    with program.loaded(folder) as module, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = ran(module, program.arguments(), longest)
        except Unfit as reason:
            return Verdict(UNFIT, str(reason))
        way = ["native"]
        try:
            compare(program, module, expected, slopes, way)
        except BridgeError as error:
            return Verdict(REFUSED, f"{way[-1]}: {type(error).__name__}: {shape_of(error)}", str(error))
        except Different as difference:
            if is_rough(program, module):
                return Verdict(UNFIT, "another rounding changes the gradient as much")
            return Verdict(DIFFERS, f"{way[-1]}: {str(difference).partition(':')[0]}", str(difference))
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} in {Path(last.filename).name}:{last.name}"
            return Verdict(UNNAMED, f"{way[-1]}: {where}", "".join(traceback.format_exception(error)[-6:]))
    return Verdict(RIGHT)


def compare(program: Program, module: ModuleType, expected: list[Any], slopes: bool, way: list[str]) -> None:
    """Raise what a way to run the program raises, and `Different` where two of them do not agree."""
    value, gradient = of_native(program, module)
    agree("value", [value], expected[-1:])
    if not all(np.all(np.isfinite(each)) for each in gradient):
        return
    way.append("bridge.xla(state)")
    agree("results", bridge.xla(module.state)(*copied(program.arguments())), expected[:-1], program.results)
    way.append('engine="xla"')
    inputs = program.arguments()
    value, found = bridge.value_and_grad(module.loss, argnums=POSITIONS, engine="xla")(*inputs)
    for before, after in zip(program.arguments(), inputs, strict=True):
        if not np.array_equal(before, after):
            raise Different("the caller's arrays: they have changed")
    agree("value", [value], expected[-1:])
    agree("gradient", list(found), list(gradient), ("x", "A", "a"))
    if slopes:
        way.append("bridge.xla(jvp)")
        tangents = [np.cos(np.arange(np.size(each)) + 1.0).reshape(np.shape(each)) for each in inputs]
        slope = sum(np.sum(g * t) for g, t in zip(gradient, tangents, strict=True))
        _, along = bridge.xla(lambda *given: bridge.jvp(module.loss, given, (*tangents[:2], float(tangents[2]))))(
            *inputs
        )
        agree("slope", [along], [slope])


def of_native(program: Program, module: ModuleType, moved: float = 0.0) -> tuple[Any, Any]:
    return bridge.value_and_grad(module.loss, argnums=POSITIONS, engine="native")(*program.arguments(moved))


def agree(what: str, found: Any, expected: list[Any], names: tuple[str, ...] = ("",)) -> None:
    """Compare arrays and numbers one by one, relative to the largest of all."""
    scale = max(1.0, *(float(np.max(np.abs(each), initial=0.0)) for each in expected))
    for name, one, other in zip(names, found, expected, strict=True):
        if np.shape(one) != np.shape(other):
            raise Different(f"{what} {name}: the shape is {np.shape(one)}, expected {np.shape(other)}")
        if not np.all(np.abs(np.asarray(one, float) - np.asarray(other, float)) <= TOLERANCE * scale):
            raise Different(f"{what} {name}:\n{np.asarray(one)}\nexpected\n{np.asarray(other)}")


def is_rough(program: Program, module: ModuleType) -> bool:
    """Whether the gradient changes when the arguments are rounded differently: then none is right."""
    gradients = [of_native(program, module, moved)[1] for moved in (0.0, 1e-12)]
    try:
        agree("", list(gradients[1]), list(gradients[0]), ("x", "A", "a"))
    except Different:
        return True
    return False


def shape_of(error: BridgeError) -> str:
    """The first words of a message, without the numbers and names that are of one program only."""
    words = str(error.what if hasattr(error, "what") else error).split()
    return " ".join(word for word in words[:16] if word.isalpha())[:90]
