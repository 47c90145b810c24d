"""A comparison finds the generators that a function draws from, wherever it has them, and puts them back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bridge.proof.generators import Generators

GENERATOR = np.random.default_rng(0)
LEGACY = np.random.RandomState(0)
HELD = SimpleNamespace(rng=np.random.default_rng(0))
LIST = [np.random.default_rng(0)]


class Model:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def __call__(self, x: float) -> float:
        return x * self.rng.normal()


def _helper() -> float:
    return GENERATOR.normal()


DRAWS: dict[str, Callable[[float], Any]] = {
    "a global variable": lambda x: x * GENERATOR.normal(),
    "a legacy generator": lambda x: x * LEGACY.normal(),
    "an attribute": lambda x: x * HELD.rng.normal(),
    "an element": lambda x: x * LIST[0].normal(),
    "a generator's expression": lambda x: sum(x * GENERATOR.normal() for _ in range(2)),
    "another function": lambda x: x * _helper(),
    "an object that is called": Model(),
    "a method": Model().__call__,
    "an argument of a partial": functools.partial(Model.__call__, Model()),
    "a method of the generator": functools.partial(np.random.default_rng(0).normal),
}


@pytest.mark.parametrize("name", DRAWS)
def test_it_is_put_back(name: str) -> None:
    f = DRAWS[name]
    generators = Generators(f)
    assert generators.drawn is None
    first = f(1.0)
    assert generators.drawn == "a generator that the function holds"
    generators.restore()
    assert generators.drawn is None
    assert f(1.0) == first
