"""What is looked at before each call: no more than the program reads; too much is refused by name."""

from __future__ import annotations

import types
from functools import partial
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import TraceError
from bridge.xla import reach
from tests.xla.stale.record import programs_made

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')


@pytest.mark.ci
def test_too_many_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "MOST", 100)
    held = [types.SimpleNamespace(k=1.0) for _ in range(200)]
    with pytest.raises(TraceError, match="more than 100 objects") as caught:
        bridge.xla(lambda x: x * held[7].k)(np.ones(3))
    assert "as an argument" in str(caught.value) and __file__ in str(caught.value)


kappa: Any = ()


class Named:
    """An attribute has the name of a variable of this module, which the program does not read."""

    def __init__(self, x: Any) -> None:
        self.kappa = x * 1.0

    def loss(self) -> Any:
        return np.sum(self.kappa**2)


class Reading(Named):
    def loss(self) -> Any:
        return np.sum(self.kappa**2) * len(kappa)


@pytest.mark.ci
@pytest.mark.parametrize("kind", [Named, Reading])
def test_an_attribute_is_no_variable(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = bridge.xla(lambda x: kind(x).loss())
    changes = [partial(monkeypatch.setitem, globals(), "kappa", (0,) * length) for length in (1, 2, 3)]
    assert programs_made(run, *changes) == (3 if kind is Reading else 1)
    assert run(np.ones(3)) == (9 if kind is Reading else 3)


@pytest.mark.ci
def test_tuples_of_numbers_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "MOST", 100)
    edges = [(k, k + 1) for k in range(200)]
    run = bridge.xla(lambda x: x * edges[7][1])
    np.testing.assert_array_equal(run(np.ones(3)), np.full(3, 8.0))
    edges[7] = (7, 3)
    np.testing.assert_array_equal(run(np.ones(3)), np.full(3, 3.0))
