"""Programs of objects under check_gradient and crosscheck: views that an object holds follow the arrays they lie in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors

X = np.array([0.5, 0.2, 0.1])


class Model:
    def __init__(self) -> None:
        self.u, self.t, self.name, self.history = np.arange(1.0, 4.0), 0.5, "a", []
        self.inner, self.again = self.u[1:], self.u

    def loss(self, x: Any) -> Any:
        self.u[1:] += self.t * self.again[:-1] * x[1:]
        self.history.append(self.name)
        return np.sum(self.u**2) + np.sum(self.inner)


class Wrong(Model):
    def loss(self, x: Any) -> Any:
        return super().loss(x) + bridge.detach(np.sum(self.inner) ** 2)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_right_program_is_proved(kind: Any) -> None:
    model = Model()
    model.u = model.again = model.u.astype(kind)
    model.inner = model.u[1:]
    report = bridge.crosscheck(lambda m, x: m.loss(x), engines=["native"], argnums=(0, 1))(model, X)
    assert report.ok, str(report)
    if kind is np.float64:
        bridge.check_gradient(lambda m, x: m.loss(x), argnums=(0, 1))(model, X)
    assert model.history == [] and model.u.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.ci
def test_a_wrong_program_is_named() -> None:
    report = bridge.crosscheck(lambda m, x: m.loss(x), engines=["native"], argnums=0)(Wrong(), X)
    assert not report.ok
    assert "gradient of m.u[" in str(report) and "bridge.detach" in str(report)
    with pytest.raises(errors.CheckError, match="gradient of argument 0, leaf 0"):
        bridge.check_gradient(lambda m, x: m.loss(x))(Wrong(), X)


def test_arguments_that_hold_the_same_object() -> None:
    one, other = Model(), Model()
    one.other = other  # type: ignore[attr-defined]
    bridge.check_gradient(lambda a, b: np.sum(a.u * a.other.u * b.u) * b.t, argnums=(0, 1))(one, other)
