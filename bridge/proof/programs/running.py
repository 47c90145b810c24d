"""A program under each engine: value and gradient in reverse mode, derivatives along directions in forward mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

import bridge
from bridge.engines import registry
from bridge.errors import BridgeError, EngineNotAvailable, ValueDiffersError
from bridge.proof.programs.generators import Generators
from bridge.proof.programs.subject import Subject
from bridge.proof.report.model import Run
from bridge.trees import leaves_of


@dataclass
class Answer:
    """What one engine did: the run, its error if it raised one, and forward mode along directions.

    `forward` holds a derivative for each direction, None where it refused; `forward_value` the value that came along.
    """

    run: Run
    error: BaseException | None = None
    forward: list[float] | None = None
    forward_value: Any = None
    forward_why: str = ""

    @property
    def ran(self) -> bool:
        """Whether there are a value and a gradient."""
        return self.run.status == "ran"


def answer(engine: str, subject: Subject, directions: Sequence[Sequence[Any]], generators: Generators) -> Answer:
    """Run a program under an engine, as a user would."""
    asked = registry.engine(engine)
    why = asked.missing()
    if why:
        return Answer(Run(engine, "not available", why))
    _started(engine)
    generators.restore()
    args, kwargs = subject.arguments()
    begin = perf_counter()
    try:
        with asked.comparing_values():
            value, gradient = bridge.value_and_grad(subject, subject.argnums, engine=engine, allow_int=True)(
                *args, **kwargs
            )
    except EngineNotAvailable as error:
        return Answer(Run(engine, "not available", str(error)), error)
    except Exception as error:
        return Answer(Run(engine, "refused", told(error), seconds=perf_counter() - begin), error)
    seconds = perf_counter() - begin
    gradients = tuple(leaf for leaf in leaves_of(gradient)[0] if leaf is not None)
    found = Answer(Run(engine, "ran", "", value, gradients, seconds))
    _forward(found, engine, subject, directions, generators)
    return found


@cache
def _started(engine: str) -> None:
    """Let an engine load what it needs, once: libraries draw from NumPy's global generator when they are imported."""
    with suppress(Exception):  # what is wrong with the engine, the program's own run says
        bridge.grad(lambda x: x * x, engine=engine)(1.0)


def _forward(
    found: Answer, engine: str, subject: Subject, directions: Sequence[Sequence[Any]], generators: Generators
) -> None:
    asked = registry.engine(engine)
    if asked.forward_limit is not None and sum(point.size for point in subject.points) > asked.forward_limit:
        found.forward_why = "left out: forward mode takes an operation apart element by element there"
        return
    derivatives = []
    for tangents in directions:
        generators.restore()
        args, kwargs = subject.arguments()
        moved = [np.asarray(t).astype(p.dtype)[()] for t, p in zip(tangents, subject.points, strict=True)]
        moved = [np.asarray(m) if isinstance(p, np.ndarray) else m for m, p in zip(moved, subject.points, strict=True)]
        try:
            with asked.comparing_values():
                value, derivative = bridge.jvp(
                    subject.spread, (*args, *kwargs.values()), subject.tangents(moved), engine=engine
                )
        except Exception as error:
            found.forward_why = told(error)
            return
        found.forward_value = value
        derivatives.append(float(np.real(derivative)))
    found.forward = derivatives


def told(error: BaseException) -> str:
    """An error as a report tells it."""
    if isinstance(error, BridgeError):
        return f"{type(error).__name__}: {error}"
    return f"{type(error).__name__}: {error}".strip().split("\n")[0]


def is_other_value(error: BaseException | None) -> bool:
    """Whether an engine raised because its value of an operation is another than NumPy's."""
    return isinstance(error, ValueDiffersError)


def is_same_error(error: BaseException | None, other: BaseException) -> bool:
    """Whether an engine raised what the program itself raises."""
    return error is not None and (type(error) is type(other) or isinstance(error, type(other)))


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and the seconds it took."""
    begin = perf_counter()
    result = call()
    return result, perf_counter() - begin
