"""Masks that follow from positions are made in a compiled program, and are no constants of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

from bridge.xla.lowering.selecting import made_by_position

DISTANCES = (-100, -69, -5, -1, 0, 1, 5, 69, 79, 100)


@pytest.mark.parametrize("shape", [(80, 90), (90, 80), (70, 70)])
@pytest.mark.parametrize("distance", DISTANCES)
def test_bands(shape: tuple[int, int], distance: int) -> None:
    lower = np.tri(*shape, distance, dtype=bool)
    for mask in (
        lower,
        ~lower,
        np.eye(*shape, distance, dtype=bool),
        np.tri(*shape, distance + 3, dtype=bool) & ~lower,
    ):
        made = made_by_position(mask)
        np.testing.assert_array_equal(np.asarray(made), mask)
        assert not isinstance(made, np.ndarray) or mask.all() or not mask.any()


def test_what_is_no_band_stays() -> None:
    holes = np.tri(80, dtype=bool)
    holes[40, 3] = False
    random = np.random.default_rng(0).random((80, 80)) > 0.5
    others = (
        holes,
        random,
        ~np.eye(80, dtype=bool),
        np.tri(8, dtype=bool),
        np.ones((80, 80), bool),
        np.zeros((90, 80), bool),
    )
    for mask in others:
        assert made_by_position(mask) is mask
    made_by_position(np.tri(80))
    assert made_by_position(2.0) == 2.0


def triangles(x: Any) -> Any:
    """Functions whose masks are plain."""
    low, factor = np.tril(x, -1), np.linalg.cholesky(x @ x.T)
    diagonal = np.where(np.eye(len(x), dtype=bool), 2.0, factor)
    return np.sum(np.triu(x) ** 2) + np.sum(low**3) + np.sum(factor * diagonal)


@pytest.mark.parametrize("transform", [lambda f: f, bridge.grad], ids=["value", "gradient"])
def test_a_program_holds_none_of_them(transform: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).standard_normal((100, 300))
    compiled = bridge.xla(transform(triangles))
    assert len(compiled.lower(x).as_text()) < 100_000
    np.testing.assert_allclose(compiled(x), transform(triangles)(x), rtol=1e-9, atol=1e-9)
