"""A program under each engine: value and gradient in reverse mode, derivatives along directions in forward mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from time import perf_counter
from typing import Any, cast

import numpy as np

from bridge.engines import registry
from bridge.errors import BridgeError, EngineNotAvailable
from bridge.options import Engine
from bridge.proof.report.model import Run
from bridge.proof.subject import Subject
from bridge.source.looping import steady
from bridge.transforms.grad import grad, value_and_grad
from bridge.transforms.jvp import jvp

# Value and gradient, and value and derivative along tangents, of one differentiator.
Reverse = Callable[[], tuple[Any, Sequence[Any]]]
Forward = Callable[[Sequence[Any]], tuple[Any, float]]


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


def answer(engine: str, subject: Subject, directions: Sequence[Sequence[Any]] = ()) -> Answer:
    """Run a program under an engine, as a user would."""
    asked = registry.engine(engine)
    why = asked.missing()
    if why:
        return Answer(Run(engine, "not available", why))
    _started(engine)
    forward = partial(derivative_of, subject.spread, subject, engine=engine)
    with asked.comparing_values():
        return answered(engine, subject, directions, partial(gradient_of, subject, subject, engine), forward)


def answered(
    name: str, subject: Subject, directions: Sequence[Sequence[Any]], reverse: Reverse, forward: Forward | None = None
) -> Answer:
    """Run one differentiator of a program: value and gradient, then derivatives along directions."""
    begin = perf_counter()
    try:
        value, gradient = reverse()
    except EngineNotAvailable as error:
        return Answer(Run(name, "not available", str(error)), error)
    except Exception as error:
        # Whatever the program or the differentiator raises is its answer.
        return Answer(Run(name, "refused", told(error), seconds=perf_counter() - begin), error)
    found = Answer(Run(name, "ran", "", value, tuple(gradient), perf_counter() - begin))
    if forward is None:
        return found
    points, derivatives = subject.points, []
    for direction in directions:
        tangents = [np.asarray(t).astype(p.dtype)[()] for t, p in zip(direction, points, strict=True)]
        tangents = [np.asarray(t) if isinstance(p, np.ndarray) else t for t, p in zip(tangents, points, strict=True)]
        try:
            found.forward_value, moved = forward(tangents)
        except Exception as error:
            found.forward_why = told(error)
            return found
        derivatives.append(moved)
    found.forward = derivatives
    return found


def gradient_of(program: Callable[..., Any], subject: Subject, engine: str = "eager") -> tuple[Any, list[Any]]:
    """Value and gradient, leaf by leaf, of a program at the arguments of a subject."""
    args, kwargs = subject.arguments()
    loops = steady() if engine in ("eager", "native") else None
    made = value_and_grad(program, subject.argnums, engine=cast(Engine, engine), allow_int=True, loops=loops)
    value, gradient = made(*args, **kwargs)
    return value, subject.gradient_leaves(gradient)


def derivative_of(
    program: Callable[..., Any], subject: Subject, tangents: Sequence[Any], engine: str = "eager"
) -> tuple[Any, float]:
    """Value and derivative along tangents of a program that takes all arguments by position."""
    args, kwargs = subject.arguments()
    value, derivative = jvp(program, (*args, *kwargs.values()), subject.tangents(tangents), engine=cast(Engine, engine))
    return value, float(np.real(derivative))


@cache
def _started(engine: str) -> None:
    """Let an engine load what it needs, once: libraries draw from NumPy's global generator when they are imported."""
    with suppress(Exception):  # what is wrong with the engine, the program's own run says
        grad(lambda x: x * x, engine=cast(Engine, engine))(1.0)


def told(error: BaseException) -> str:
    """An error as a report tells it."""
    if isinstance(error, BridgeError):
        return f"{type(error).__name__}: {error}"
    return f"{type(error).__name__}: {error}".strip().split("\n")[0]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and the seconds it took."""
    begin = perf_counter()
    result = call()
    return result, perf_counter() - begin
