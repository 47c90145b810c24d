"""Complex Python numbers among the parts that are put together keep their imaginary parts' gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

WAYS: dict[str, Callable[[Any], Any]] = {
    "stack": lambda n: np.stack([1j * n, 2j * n]),
    "hstack": lambda n: np.hstack([1j * n, n]),
    "vstack": lambda n: np.vstack([1j * n, n]),
    "dstack": lambda n: np.dstack([1j * n, n]),
    "column_stack": lambda n: np.column_stack([1j * n, n]),
    "block": lambda n: np.block([1j * n, 2j * n]),
    "append": lambda n: np.append(1j * n, n),
    "select": lambda n: np.select([True], [1j * n]),
    "choose": lambda n: np.choose(0, [1j * n, 2j * n]),
    "where": lambda n: np.where(True, 1j * n, 2j * n),
    "array": lambda n: np.array([[1j * n, n], [n, 2j * n]]),
}


@pytest.mark.ci
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("engine", ["native", "xla"])
def test_gradient(way: str, engine: str) -> None:
    if engine == "xla":
        pytest.importorskip("jax", reason="JAX is not installed: nothing was compiled (pip install jax)")

    def f(n: Any) -> Any:
        first = np.reshape(WAYS[way](n), (-1,))[0]
        return abs(first + 2) ** 2 + first.imag

    # |2 + i n|² + n
    np.testing.assert_allclose(bridge.grad(f, engine=engine)(0.7), 2.4, rtol=1e-12)
