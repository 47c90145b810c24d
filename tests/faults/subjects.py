"""The programs that faults are tried on: those that other tests record, and random ones, in one form."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import bridge.numpy
from tests.helpers.finite_differences import is_differentiable, replicas
from tests.programs import PROGRAMS
from tests.programs_as_they_stand import PROGRAMS as AS_THEY_STAND
from tests.programs_as_they_stand.record import RIGHT
from tests.random_programs import programs


@dataclass(frozen=True)
class Subject:
    """`make()` gives a function with fresh state, `arguments()` fresh arguments; those at `positions` are asked for."""

    name: str
    make: Callable[[], Callable[..., Any]]
    arguments: Callable[[], tuple[Any, ...]]
    positions: tuple[int, ...]

    def __str__(self) -> str:
        return self.name


def recorded() -> list[Subject]:
    """Programs of `tests/programs` and `tests/programs_as_they_stand`, by turns."""
    small = [
        Subject(
            f"programs/{each}",
            lambda each=each: each.under(bridge.numpy),
            lambda each=each: replicas(each.inputs),
            tuple(k for k, x in enumerate(each.inputs) if is_differentiable(x)),
        )
        for each in PROGRAMS
        if each.raises is None and any(map(is_differentiable, each.inputs))
    ]
    real = [
        Subject(f"as they stand/{each}", each.make, lambda each=each: copy.deepcopy(each.arguments), each.positions)
        for each in AS_THEY_STAND
        if each.expected == RIGHT and not each.effects and not each.long
    ]
    return list(_by_turns(small, real))


def drawn(count: int) -> list[Subject]:
    """Random programs, the same ones each time."""
    return [
        Subject(
            f"random/{number}",
            lambda program=program: program.function(bridge.numpy),
            lambda program=program: replicas(program.inputs),
            tuple(range(len(program.inputs))),
        )
        for number, program in enumerate(programs(count))
    ]


def chosen(count: int) -> list[Subject]:
    """`count` programs, two thirds of them recorded ones, evenly taken."""
    known = recorded()
    wanted = min(len(known), count - count // 3)
    taken = [known[k * len(known) // wanted] for k in range(wanted)]
    return list(_by_turns(taken, drawn(count - wanted)))[:count]


def bits(found: Any) -> Any:
    """What a call gave, down to its bits."""
    if isinstance(found, dict):
        return {key: bits(value) for key, value in found.items()}
    if isinstance(found, (tuple, list)):
        return [bits(one) for one in found]
    if isinstance(found, (np.ndarray, np.generic, float, complex, int)):
        array = np.asarray(found)
        return str(array.dtype), array.shape, array.tobytes()
    return type(found).__name__


def _by_turns(*many: list[Subject]) -> Iterator[Subject]:
    for k in range(max(map(len, many))):
        yield from (one[k] for one in many if k < len(one))
