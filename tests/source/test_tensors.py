"""Tracked values that a program gives to PyTorch's functions, which would read their memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import EscapeError, TraceError

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install torch)")

X = np.array([0.7, 1.3, 0.4])


def into_an_item(x: Any) -> Any:
    t = torch.zeros(3, dtype=torch.float64)
    t[0] = x[0]
    return float(t.sum())


def by_a_method(x: Any) -> Any:
    return float(torch.ones(3, dtype=torch.float64).add_(x).sum())


def from_scratch(x: Any) -> Any:
    w = np.zeros(3)
    w[:] = x**2
    return float(torch.tensor(w).sum())


LOSING: dict[str, Callable[[Any], Any]] = {
    "torch.as_tensor": lambda x: float(torch.as_tensor(x).sum()),
    "torch.from_numpy": lambda x: float(torch.from_numpy(x * 2).sum()),
    "torch.tensor": from_scratch,
    "torch.stack": lambda x: float(torch.stack([torch.tensor(1.0), x[0]]).sum()),
    "torch.relu": lambda x: float(torch.nn.functional.relu(x).sum()),
    "an item of a tensor": into_an_item,
    "Tensor.add_": by_a_method,
}


@pytest.mark.parametrize("name", LOSING)
@pytest.mark.parametrize("engine", ["native", "xla"])
def test_where_the_gradient_would_be_lost_is_told(name: str, engine: str) -> None:
    error = EscapeError if engine == "native" else TraceError
    with pytest.raises(error, match=rf"{name}(.|\n)*test_tensors.py:\d+"):
        bridge.grad(LOSING[name], engine=engine)(X)


def constants(x: Any) -> Any:
    table = np.arange(3.0) * 2
    into = torch.zeros(3, dtype=torch.float64)
    into[:] = torch.as_tensor(table)
    return x[0] * float(torch.as_tensor(list(table)).sum()) + np.sum(x * torch.sin(into).numpy())


def detached(x: Any) -> Any:
    return x[1] * float(torch.as_tensor(bridge.detach(x)).sum())


def test_constants_and_what_is_detached_go_in() -> None:
    np.testing.assert_allclose(
        bridge.grad(constants)(X), np.sin([0.0, 2.0, 4.0]) + np.array([6.0, 0.0, 0.0]), rtol=1e-12
    )
    np.testing.assert_allclose(bridge.grad(detached)(X), [0.0, X.sum(), 0.0], rtol=1e-12)
