"""Objects of libraries that show memory which tracked values are written into: they show those, or are refused by name.

pandas skips the NaNs that lent memory holds meanwhile; so what it computes of it looks right.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import EscapeError, TraceError

pandas = pytest.importorskip("pandas", reason="pandas is needed: pip install pandas")
xarray = pytest.importorskip("xarray", reason="xarray is needed: python -m pip install -e '.[test]'")
pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.arange(4.0)

Use = Callable[[Any, Any], Any]

OF_SERIES: dict[str, Use] = {
    "sum": lambda s, x: np.sum(s) + np.sum(x),
    "operator": lambda s, x: (s * 2).sum() + np.sum(x),
    "reflected": lambda s, x: (2 - s).sum() + np.sum(x),
    "mask": lambda s, x: s[s > 0].sum() + np.sum(x),
    "index": lambda s, x: np.sum(x[s > 1]),
    "nansum": lambda s, x: np.nansum(s) + np.sum(x),
    "abs": lambda s, x: abs(s).sum() + np.sum(x),
    "condition": lambda s, x: (2.0 if s[2] > 1 else 3.0) * np.sum(x),
    "mean": lambda s, x: np.mean(s) + np.sum(x),
    "method": lambda s, x: s.sum() + np.sum(x),
    "max": lambda s, x: max(s) + np.sum(x),
    "list": lambda s, x: sum(list(s)) + np.sum(x),
    "loop": lambda s, x: sum(v for v in s) + np.sum(x),
    "element": lambda s, x: float(s.iloc[2]) + np.sum(x),
    "comparison": lambda s, x: np.sum(x) * (3.0 if (s == 4).any() else 1.0),
    "beside": lambda s, x: np.sum(x * s),
    "concatenate": lambda s, x: np.concatenate([x, s]).sum(),
    "another": lambda s, x: np.sum(pandas.DataFrame({"a": s}).fillna(0).to_numpy()) + np.sum(x),
}
HELD: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "a variable": lambda s: lambda: s,
    "an attribute": lambda s: (lambda held: lambda: held.s)(types.SimpleNamespace(s=s)),
    "a dictionary": lambda s: (lambda held: lambda: held["s"])({"s": s}),
}


def program(memory: np.ndarray, shown: Callable[[], Any], use: Use) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        memory[:] = x**2
        return use(shown(), x)

    return run


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("name", OF_SERIES)
def test_a_series_that_shows_lent_memory(name: str, held: str, engine: Any) -> None:
    memory = np.zeros(4)
    run = program(memory, HELD[held](pandas.Series(memory, copy=False)), OF_SERIES[name])
    expected = float(run(X.copy()))
    memory[:] = 0
    try:
        value, _ = bridge.value_and_grad(run, engine=engine)(X.copy())
    except (EscapeError, TraceError) as error:
        assert "remedy" in str(error) and "test_shown_by_libraries.py" in str(error)
    else:
        assert value == pytest.approx(expected)
    np.testing.assert_array_equal(memory, np.zeros(4))


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_a_grid_shows_what_was_written(engine: Any) -> None:
    memory = np.zeros(4)
    grid = xarray.DataArray(memory, dims="t")
    for use, expected in ((lambda x: np.sum(grid), 2 * X), (lambda x: (grid * x).sum(), 3 * X**2)):
        run = program(memory, lambda: None, lambda s, x, use=use: use(x))  # type: ignore[misc]
        np.testing.assert_array_equal(bridge.grad(run, engine=engine)(X.copy()), expected)
    np.testing.assert_array_equal(grid.values, np.zeros(4))


def test_data_of_their_own_are_no_matter() -> None:
    memory, table = np.zeros(4), pandas.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]})
    run = program(memory, lambda: table, lambda s, x: np.sum(memory * s["a"].to_numpy()))
    np.testing.assert_array_equal(bridge.grad(run)(X.copy()), 2 * X * np.arange(1.0, 5.0))
