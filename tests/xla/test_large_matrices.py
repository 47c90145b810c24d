"""How decompositions of large matrices look is found on small ones, while a program is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

from bridge.xla.tracing import abstract
from bridge.xla.tracing.abstract import abstract_like

LINALG = np.linalg
Shapes = tuple[tuple[int, ...], ...]


def matrix(shape: tuple[int, ...]) -> Any:
    return np.zeros(shape) + (np.eye(*shape[-2:]) if len(shape) > 1 else 1.0)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("function", "shapes", "options"),
    [
        (LINALG.inv, ((40, 40),), {}),
        (LINALG.solve, ((40, 40), (40, 3)), {}),
        (LINALG.solve, ((2, 40, 40), (40, 30)), {}),
        (LINALG.solve, ((40, 40), (40,)), {}),
        (LINALG.svd, ((30, 50),), {}),
        (LINALG.svd, ((50, 30),), {"full_matrices": False}),
        (LINALG.svd, ((5, 50, 30),), {"compute_uv": False}),
        (LINALG.qr, ((50, 30),), {}),
        (LINALG.qr, ((30, 50),), {"mode": "complete"}),
        (LINALG.qr, ((30, 17, 50),), {"mode": "r"}),
        (LINALG.eigh, ((40, 40),), {}),
        (LINALG.eigvalsh, ((17, 18, 18),), {}),
        (LINALG.slogdet, ((3, 40, 40),), {}),
        (LINALG.det, ((40, 40),), {}),
        (LINALG.pinv, ((50, 30),), {}),
        (LINALG.cholesky, ((20, 40, 40),), {"upper": True}),
    ],
)
def test_results_look_as_those_of_numpy(
    function: Callable[..., Any], shapes: Shapes, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    regular = abstract.regular

    def noted(x: Any) -> Any:
        asked.append(max(np.shape(x)))
        return regular(x)

    monkeypatch.setattr(abstract, "regular", noted)
    found = function(*(abstract_like(matrix(shape)) for shape in shapes), **options)
    expected = function(*map(matrix, shapes), **options)
    assert asked and max(asked) < 25
    assert type(found) is type(expected) or not isinstance(expected, tuple)
    for one, other in zip(
        found if isinstance(found, tuple) else (found,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    ):
        assert np.shape(one) == np.shape(other) and np.result_type(one) == np.result_type(other)
        assert getattr(one, "strides", ()) == getattr(other, "strides", ())


@pytest.mark.ci
@pytest.mark.parametrize(
    ("shapes", "message"), [(((40, 41), (40,)), "must be square"), (((40, 40), (41, 3)), r"size 41 .* from 40")]
)
def test_errors_have_the_lengths_of_the_program(shapes: Shapes, message: str) -> None:
    def program(a: Any, b: Any) -> Any:
        return np.sum(np.linalg.solve(a, b))

    with pytest.raises((LINALG.LinAlgError, ValueError), match=message):
        bridge.xla(program)(*map(matrix, shapes))
