"""A loop that is met again in the backward pass does what it did when what it carries was found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

from bridge.errors import TraceError
from bridge.xla.loops.branch_merge import MergedVariable
from bridge.xla.loops.trial_cache import PlanMismatch


def state(x: Any, A: Any, c: int) -> Any:
    n, _ = A.shape
    u, v, p = np.zeros_like(x), np.cos(x), np.arange(5)[::-1]
    for i, _ in zip(range(n), u + v, strict=False):
        if i == n - 1:
            x[i] *= np.sum(u[n - 2 : n - 1]) - np.sum(A[abs(i - 2), i + 1 : n - 1], initial=0.1)
            return x, A, v
        elif np.all(x < 0.9):
            A[:-1] *= np.sqrt(1.0 + (-v[i] * np.dot(x[max(i - 1, 0) : n], v[max(i - 1, 0) : n])) ** 2)
            break
        k = n
        while k > 0 and not (bool(c % 2)):
            if (c in (1, 3)) != (np.max(x * 0.5)):
                v[i - 1] *= np.dot(v[:-1], v[:-1])
                A[abs(i - 2), :2] **= 2
            v[:] = u[::-1]
            if p[i % n] > i or i in (1, 2):
                break
            k -= 1
    return x, A, v


@pytest.mark.ci
def test_a_while_loop_that_is_left_early_in_a_loop_that_is_left_early() -> None:
    def loss(x: Any, A: Any) -> Any:
        return sum(np.sum(np.sin(each)) for each in state(x, A, 0))

    x, a = np.linspace(-0.5, 1.2, 5), np.arange(25.0).reshape(5, 5) / 20 - 0.4
    expected = bridge.grad(loss, argnums=(0, 1), engine="native")(x, a)
    found = bridge.grad(loss, argnums=(0, 1), engine="xla")(x, a)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_what_leaves_something_else_each_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: Any, value: Any) -> None:
        raise PlanMismatch

    def loss(x: Any) -> Any:
        s = x[0]
        if x[1] > 0:
            s = s * x[2]
        return s

    monkeypatch.setattr(MergedVariable, "check", never)
    with pytest.raises(TraceError, match=r"traced again, and left something else(.|\n)*at .*test_run_again.py:\d+"):
        bridge.grad(loss, engine="xla")(np.ones(3))
