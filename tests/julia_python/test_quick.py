"""Calls like calls before: their gradients are those of a first call, whatever their containers hold this time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, JuliaError
from bridge.julia.plans import Flattened
from bridge.julia.quick import Dictionaries

pytestmark = pytest.mark.julia

P = {"w": np.array([[1.0, 2.0], [3.0, 4.0]]), "b": np.array([0.5, -1.0])}
X = np.array([2.0, -3.0])


@pytest.fixture(scope="module")
def layer() -> Any:
    return bridge.julia.function("(p, x) -> sum(p.w * x) + sum(abs2, p.b)")


def calls(function: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The calls from now on that take the long way."""
    found: list[int] = []
    kind = type(function.__bridge_derivatives__)
    whole = kind._any_value_and_grad

    def counted(self: Any, *args: Any) -> Any:
        found.append(1)
        return whole(self, *args)

    monkeypatch.setattr(kind, "_any_value_and_grad", counted)
    return found


def check(found: Any, p: Any, x: np.ndarray) -> None:
    assert list(found) == list(p)
    np.testing.assert_allclose(found["w"], np.outer(np.ones(2), x))
    np.testing.assert_allclose(found["b"], 2 * p["b"])


def test_a_second_call_takes_the_quick_way(layer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check(bridge.grad(layer)(P, X), P, X)
    slow = calls(layer, monkeypatch)
    for k in (2.0, 3.0):
        p = {"w": P["w"] * k, "b": P["b"] * k}
        value, gradient = bridge.value_and_grad(layer)(p, X * k)
        assert value == pytest.approx(np.sum(p["w"] @ (X * k)) + np.sum(p["b"] ** 2))
        check(gradient, p, X * k)
    assert not slow


def test_the_order_of_keys_is_that_of_each_call(layer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check(bridge.grad(layer)(P, X), P, X)
    slow = calls(layer, monkeypatch)
    turned = dict(reversed(P.items()))
    check(bridge.grad(layer)(turned, X), turned, X)
    assert not slow


def test_by_the_argument_beside_a_dictionary(layer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    by_x = bridge.grad(layer, argnums=1)
    np.testing.assert_allclose(by_x(P, X), P["w"].sum(axis=0))
    slow = calls(layer, monkeypatch)
    np.testing.assert_allclose(by_x({"w": P["w"] * 2, "b": P["b"]}, X), 2 * P["w"].sum(axis=0))
    assert not slow


def test_other_keys_are_not_taken_for_those_of_before() -> None:
    chosen = bridge.julia.function("(x, o) -> haskey(o, :scale) ? sum(x) * 2 : sum(abs2, x)")
    by_x = bridge.grad(chosen)
    np.testing.assert_allclose(by_x(X, {"scale": None}), [2.0, 2.0])
    np.testing.assert_allclose(by_x(X, {"scale": None}), [2.0, 2.0])
    np.testing.assert_allclose(by_x(X, {"other": None}), 2 * X)
    np.testing.assert_allclose(by_x(X, {"scale": None, "other": None}), [2.0, 2.0])
    np.testing.assert_allclose(by_x(X, {}), 2 * X)


def test_other_types_of_leaves_are_not_taken_for_those_of_before(layer: Any) -> None:
    check(bridge.grad(layer)(P, X), P, X)
    scalar = bridge.grad(layer)({"w": P["w"], "b": 3.0}, X)
    assert scalar["b"] == pytest.approx(6.0)
    with pytest.raises(ArgumentError, match="int64"):
        bridge.grad(layer)({"w": P["w"], "b": np.array([1, 2])}, X)
    with pytest.raises(JuliaError, match="b"):
        bridge.grad(layer)({"w": P["w"]}, X)
    strided = {"w": np.repeat(P["w"], 2, axis=1)[:, ::2], "b": P["b"]}
    check(bridge.grad(layer)(strided, X), strided, X)


def test_dictionaries_with_other_keys_may_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    function = bridge.julia.function("p -> sum(abs2, p.w) + (haskey(p, :b) ? sum(p.b) : 0.0)")
    several = ({"w": X, "b": X}, {"w": X}, {"w": P["w"]}, {"w": 2.0})
    for p in several:
        bridge.grad(function)(p)
    slow = calls(function, monkeypatch)
    for p in several * 2:
        found = bridge.grad(function)(p)
        np.testing.assert_allclose(found["w"], 2 * np.asarray(p["w"]))
        assert list(found) == list(p)
    assert not slow


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: {"x": x}])
def test_integers_without_a_gradient_are_no_example_for_others(wrap: Any) -> None:
    function = bridge.julia.function("x -> x isa NamedTuple ? sum(abs2, x.x) : sum(abs2, x)")
    whole, x = wrap(np.array([1, 2])), wrap(np.array([1.0, 2.0]))
    for _ in range(2):
        assert bridge.grad(function, allow_int=True)(whole) == wrap(None)
    for _ in range(2):
        np.testing.assert_equal(bridge.grad(function)(x), wrap(np.array([2.0, 4.0])))
    assert bridge.grad(function, allow_int=True)(whole) == wrap(None)
    with pytest.raises(ArgumentError, match="int64"):
        bridge.grad(function)(whole)


def test_containers_in_dictionaries_are_left_to_optree() -> None:
    flat = Flattened(({"w": {"inner": X}},), {})
    assert Dictionaries.of(None, ({"w": {"inner": X}},), flat, 0) is None  # type: ignore[arg-type]
    nested = bridge.grad(bridge.julia.function("p -> sum(abs2, p.w.inner)"))
    for k in (1.0, 2.0):
        np.testing.assert_allclose(nested({"w": {"inner": X * k}})["w"]["inner"], 2 * k * X)
