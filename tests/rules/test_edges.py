"""Gradients where a function ends, turns or is no number: what the rules say there, as docs/conventions.md has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

INF = np.inf

EDGES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "a root of the number 0": (lambda x: x**0.5, (0.0,), (INF,)),
    "a reciprocal power of a number": (lambda x: x**-1.5, (4.0,), (-1.5 * 4.0**-2.5,)),
    "the power 0 of the number 0": (lambda x: x**0, (0.0,), (0.0,)),
    "powers 0 of 0": (np.power, (np.zeros(2), np.array([0.0, 2.0])), (np.zeros(2), np.zeros(2))),
    "sign of complex 0": (lambda z: np.real(np.sign(z)), (np.array([0j, 3 + 4j]),), (np.array([0, 0.128 - 0.096j]),)),
    "absolute of complex 0": (np.absolute, (np.array([0j, 3 + 4j]),), (np.array([0, 0.6 + 0.8j]),)),
    "logaddexp of nothing": (np.logaddexp, (np.array([-INF, 0.0]), np.array([-INF, 0.0])), ([0.0, 0.5], [0.0, 0.5])),
    "logaddexp of all": (np.logaddexp, (np.array([INF, 0.0]), np.array([1.0, 0.0])), ([0.0, 0.5], [0.0, 0.5])),
    "logaddexp2 of nothing": (np.logaddexp2, (np.array([-INF]), np.array([-INF])), ([0.0], [0.0])),
    "an angle at the origin": (np.arctan2, (np.array([0.0, 1.0]), np.array([0.0, 0.0])), ([0.0, 0.0], [0.0, -1.0])),
    "an angle far away": (np.arctan2, (np.array([1.0]), np.array([INF])), ([0.0], [0.0])),
    "hypot at the origin": (np.hypot, (np.zeros(1), np.zeros(1)), ([0.0], [0.0])),
    "a deviation of alikes": (np.std, (np.ones(3),), (np.zeros(3),)),
    "ties of a maximum": (np.max, (np.array([1.0, 3.0, 3.0]),), ([0.0, 0.5, 0.5],)),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name: str) -> None:
    function, args, expected = EDGES[name]
    with np.errstate(all="ignore"):
        found = bridge.grad(lambda *args: np.sum(function(*args)), argnums=tuple(range(len(args))))(*args)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)
