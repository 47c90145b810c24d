"""Products with a scaled matrix: the same numbers, without a matrix that is made for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

N = 160
RANDOM = np.random.default_rng(0)
MATRIX, VECTOR = RANDOM.standard_normal((N, N)), RANDOM.standard_normal(N)

PROGRAMS: dict[str, Callable[..., Any]] = {
    "left": lambda s, a, x: np.sum((s * a @ x) ** 2),
    "right": lambda s, a, x: np.sum((x @ (a * s)) ** 2),
    "both": lambda s, a, x: np.sum((s * a @ x) * (x @ (a * s))),
    "of several": lambda s, a, x: np.sum((s * a @ np.stack([x, x * x]).T) ** 3),
    "read elsewhere": lambda s, a, x: np.sum((s * a @ x) ** 2) + np.sum(np.sin(s * a)),
    "by an element": lambda s, a, x: np.sum((x[3] * a @ x) ** 2) * s,
    "divided": lambda s, a, x: np.sum((a / s @ x) ** 2),
    "squared": lambda s, a, x: np.sum((s * a) @ (s * a)),
}


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("scale", [1.5, -3e-4, 1e-9, 1e9])
def test_as_eager(program: Callable[..., Any], scale: float) -> None:
    found = bridge.value_and_grad(program, argnums=(0, 1, 2), engine="xla")(scale, MATRIX, VECTOR)
    expected = bridge.value_and_grad(program, argnums=(0, 1, 2))(scale, MATRIX, VECTOR)
    for one, other in zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12 * np.max(np.abs(other)))


def product(s: Any, a: Any, x: Any) -> Any:
    return s * a @ x


@pytest.mark.parametrize("scale", [0.0, 1e-200, np.inf, np.nan])
@pytest.mark.parametrize("element", [0.0, 1e200, np.inf, np.nan])
def test_what_overflows_and_what_does_not(scale: float, element: float) -> None:
    """Numbers at the ends of what floats hold, and beyond, give what NumPy gives."""
    matrix, vector = np.ones((N, N)), np.ones(N)
    matrix[0, 0], matrix[1, 1] = element, 0.0
    vector[0] = 1e150 if element == 1e200 else 1.0
    with np.errstate(all="ignore"):
        expected = product(scale, matrix, vector)
    np.testing.assert_allclose(bridge.xla(product)(scale, matrix, vector), expected, rtol=1e-12)


def test_no_scaled_matrix_is_made() -> None:
    """Every array of the matrix's size among the temporary ones belongs to the case that hardly happens."""
    compiled = bridge.xla(product).compile(1.5, MATRIX, VECTOR)
    text = compiled.as_text()
    entry = text[text.index("ENTRY ") :]
    made = [line for line in entry.splitlines() if f"= f64[{N},{N}]" in line and "parameter(" not in line]
    assert made == []
