"""Products of matrices, also of transposed ones: the same gradients, and no transposed copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

RANDOM = np.random.default_rng(0)
A, B, V, W = RANDOM.random((3, 4)), RANDOM.random((4, 5)), RANDOM.random(4), RANDOM.random(3)
Z = A + 1j * RANDOM.random((3, 4))


def carried(a: Any, b: Any) -> Any:
    return np.sum(bridge.fori_loop(0, 3, lambda i, s: np.sin((s.T @ a[:, :3]).T), a[:, :3] * 1.0) @ b[:3])


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "matrices": (lambda a, b: np.sum(np.sin(a @ b)), (A, B)),
    "matrix and vector": (lambda a, v: np.sum(np.sin(a @ v)), (A, V)),
    "vector and matrix": (lambda w, a: np.sum(np.sin(w @ a)), (W, A)),
    "both transposed": (lambda a, b: np.sum(np.sin(b.T @ a.T)), (A, B)),
    "transposed and vector": (lambda a, w: np.sum(np.sin(a.T @ w)), (A, W)),
    "vector and transposed": (lambda v, a: np.sum(np.sin(v @ a.T)), (V, A)),
    "dot": (lambda a, b: np.sum(np.sin(np.dot(a, b))), (A, B)),
    "with itself": (lambda a: np.sum(np.sin(a.T @ a)) + np.sum(np.cos(a @ a.T)), (A,)),
    "parts": (lambda a, b: np.sum(np.sin(a[:, 1:].T @ b[:3, :2])), (A, B)),
    "parts of one row": (lambda a, b: np.sum(np.sin(a[:1].T @ b[:1, :2])), (A, B)),
    "complex and real": (lambda z, a: np.sum(np.abs(z.T @ a) ** 2), (Z, A)),
    "complex": (lambda z: np.sum(np.abs(z.T @ z) ** 2), (Z,)),
    "of two precisions": (lambda a, b: np.sum(np.sin(a.astype("f4").T @ b[:3])), (A, B)),
    "written meanwhile": (lambda a, b: np.sum(_written(a) @ b), (A, B)),
    "in a loop": (carried, (A, B)),
}


def _written(a: Any) -> Any:
    a = a.copy()
    seen = a.T
    first = seen @ a
    a[0] = 2.0
    return first[:3] + (seen @ a)[:3] + a


@pytest.mark.ci
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str) -> None:
    program, args = PROGRAMS[name]
    argnums = tuple(range(len(args)))
    found = bridge.grad(program, argnums, engine="xla")(*args)
    for one, other in zip(found, bridge.grad(program, argnums)(*args), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["matrices", "matrix and vector", "vector and matrix", "dot"])
def test_nothing_is_transposed_for_a_product(name: str) -> None:
    program, args = PROGRAMS[name]
    compiled = bridge.grad(program, tuple(range(len(args))), engine="xla")
    assert "transpose" not in compiled.lower(*args).as_text()
