"""How a derivative is asked for, so that faults fall into every part of the package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import bridge
from tests.faults.subjects import Subject

Asked = Callable[[Subject, Callable[..., Any], tuple[Any, ...]], Any]


def reverse(subject: Subject, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Value and gradient, the log dropped on the way."""
    return bridge.value_and_grad(f, argnums=subject.positions)(*args)


def replayed(subject: Subject, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The program as one checkpointed call, which the backward pass runs again."""
    return bridge.value_and_grad(bridge.checkpoint(f), argnums=subject.positions)(*args)


def forward(subject: Subject, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Value and derivative along ones."""

    def of_asked(*asked: Any) -> Any:
        return f(*_with(subject, args, asked))

    primals = tuple(args[k] for k in subject.positions)
    return bridge.jvp(of_asked, primals, tuple(map(_ones, primals)))


def second(subject: Subject, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The gradient of a number made of the gradient: a context inside of another."""
    inner = bridge.grad(f, argnums=subject.positions)

    def slope(*given: Any) -> Any:
        return sum(np.sum(np.real(one)) for one in inner(*given))

    return bridge.value_and_grad(slope, argnums=subject.positions)(*args)


WAYS: dict[str, Asked] = {"grad": reverse, "checkpoint": replayed, "jvp": forward, "grad of grad": second}


def _with(subject: Subject, args: tuple[Any, ...], asked: tuple[Any, ...]) -> list[Any]:
    given = list(args)
    for k, one in zip(subject.positions, asked, strict=True):
        given[k] = one
    return given


def _ones(x: Any) -> Any:
    return np.ones_like(x) if isinstance(x, np.ndarray) else type(x)(1)
