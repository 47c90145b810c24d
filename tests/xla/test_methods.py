"""Compiled functions as methods, what they know of their object, and as things that are copied and pickled."""

from __future__ import annotations

import copy
import functools
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, BridgeWarning

jax = pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.array([0.3, -0.7, 1.1])
compiled_gradient = functools.partial(bridge.grad, argnums=1, engine="xla")


def unchanged(f: Any) -> Any:
    return f


def model_of(made: Callable[[Any], Any]) -> Any:
    """A class whose functions are plain, or compiled."""

    class Model:
        rate = 2.0

        def __init__(self) -> None:
            self.a, self.w, self.count = 2.0, np.array([1.0, 2.0, 3.0]), 0

        @made
        def method(self, x: Any) -> Any:
            return np.sum(self.a * x * self.w)

        @classmethod
        @made
        def of_class(cls, x: Any) -> Any:
            return np.sum(cls.rate * x)

        @made
        @classmethod
        def of_class_outside(cls, x: Any) -> Any:
            return np.sum(cls.rate * x)

        @staticmethod
        @made
        def static(x: Any) -> Any:
            return np.sum(3 * x)

        @made
        @staticmethod
        def static_outside(x: Any) -> Any:
            return np.sum(3 * x)

        short = made(lambda self, x: np.sum(self.a * x))
        part = functools.partialmethod(made(lambda self, k, x: np.sum(self.a * k * x)), 3.0)

        @property
        @made
        def total(self) -> Any:
            return np.sum(self.w * self.a)

        @made
        def rebinding(self, x: Any) -> Any:
            self.w = self.w * 2
            return np.sum(self.w * x)

        @made
        def writing(self, x: Any) -> Any:
            self.w[:] = self.w * 2
            return np.sum(self.w * x)

        @made
        def counting(self, x: Any) -> Any:
            self.count += 1
            return np.sum(x) * self.count

        @made
        def storing(self, x: Any) -> Any:
            self.a = x[0]
            return np.sum(self.w * x) * self.a

    return Model


class Slotted:
    __slots__ = ("a",)

    def __init__(self) -> None:
        self.a = 2.0

    @bridge.xla
    def scaled(self, x: Any) -> Any:
        return np.sum(self.a * x)


METHODS = (
    "method", "of_class", "of_class_outside", "static", "static_outside", "short", "part", "rebinding", "writing",
    "counting",
)  # fmt: skip


@pytest.mark.ci
@pytest.mark.parametrize("name", METHODS)
def test_a_compiled_method_does_what_the_plain_one_does(name: str) -> None:
    plain, compiled = model_of(unchanged), model_of(bridge.xla)
    if name.endswith("_outside"):
        plain.of_class_outside, plain.static_outside = plain.of_class, staticmethod(plain.static)
    ours, theirs = compiled(), plain()
    other = compiled()
    other.a, other.w = 7.0, np.ones(3)
    for change in (lambda m: None, lambda m: setattr(m, "a", 5.0), lambda m: m.w.__setitem__(0, 9.0)):
        for model in (ours, theirs):
            change(model)
        for _ in range(2):
            np.testing.assert_allclose(getattr(ours, name)(X), getattr(theirs, name)(X), rtol=1e-14)
            np.testing.assert_array_equal(ours.w, theirs.w)
            assert ours.count == theirs.count
    assert (other.a, other.count) == (7.0, 0)
    compiled.rate = plain.rate = 11.0
    np.testing.assert_allclose(getattr(ours, name)(X), getattr(theirs, name)(X), rtol=1e-14)


def test_two_objects_a_property_and_slots() -> None:
    compiled = model_of(bridge.xla)
    one, other = compiled(), compiled()
    other.a = 5.0
    assert (one.total, other.total) == (12.0, 30.0)
    assert one.method is one.method
    assert compiled.method(other, X) == other.method(X)
    slotted = Slotted()
    for a in (2.0, 4.0):
        slotted.a = a
        np.testing.assert_allclose(slotted.scaled(X), a * np.sum(X))
    assert one.method.lower(X).as_text()


def test_super_and_gradients_of_a_method() -> None:
    compiled = model_of(bridge.xla)

    class More(compiled):  # type: ignore[misc, valid-type]
        def method(self, x: Any) -> Any:
            return super().method(x) + 1

    np.testing.assert_allclose(More().method(X), np.sum(2 * X * [1, 2, 3]) + 1)
    for engine in ("native", "xla"):
        np.testing.assert_allclose(bridge.grad(compiled().method, engine=engine)(X), [2, 4, 6])


def test_a_compiled_transform_is_a_method() -> None:
    class Model:
        def __init__(self) -> None:
            self.a = 2.0

        @compiled_gradient
        def slope(self, x: Any) -> Any:
            return np.sum(self.a * x**2)

    model = Model()
    for a in (2.0, 3.0):
        model.a = a
        np.testing.assert_allclose(model.slope(X), 2 * a * X)


def test_who_compiles_for_many_objects_is_told() -> None:
    with pytest.warns(BridgeWarning, match=r"method has been compiled for 32 objects.*\n  remedy: pass what differs"):
        kept = [Slotted() for _ in range(33)]
        kept_model = model_of(bridge.xla)
        models = [kept_model() for _ in range(33)]
        for model in models:
            assert model.method is not None
    assert len(kept) == len(models)


def test_a_property_cannot_be_compiled() -> None:
    with pytest.raises(ArgumentError, match="a property cannot be compiled"):
        bridge.xla(property(lambda self: self))


@pytest.mark.parametrize("kind", ["class", "function", "object"])
def test_state_of_a_static_argument_is_looked_at(kind: str) -> None:
    class Held:
        rate: Any = 2.0

    held: Any = {"class": Held, "function": lambda: None, "object": Held()}[kind]
    held.rate = np.float64  # no number: an object that holds one is taken apart
    run = bridge.xla(lambda held, x: x * held.rate(1.5))
    np.testing.assert_array_equal(run(held, X), X * 1.5)
    held.rate = int
    np.testing.assert_array_equal(run(held, X), X)


def top(x: Any) -> Any:
    return np.sum(np.sin(x) ** 2)


@bridge.xla
def decorated(x: Any) -> Any:
    return np.sum(x * x)


class Holder:
    def __init__(self) -> None:
        self.run, self.u = bridge.xla(top), np.ones(3)

    def weighted(self, x: Any) -> Any:
        return np.sum(self.u * x)


@pytest.mark.ci
@pytest.mark.parametrize(
    "made",
    [
        lambda: bridge.xla(top),
        lambda: decorated,
        lambda: bridge.xla(functools.partial(top)),
        lambda: bridge.xla(Holder().weighted),
        lambda: Slotted().scaled,
    ],
)
@pytest.mark.parametrize("travels", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
def test_copied_and_pickled(made: Any, travels: Any) -> None:
    run = made()
    value = run(X)
    assert travels(run)(X) == value


def test_a_copied_object_has_its_own_compiled_method() -> None:
    holder = Holder()
    holder.run = bridge.xla(holder.weighted)
    assert holder.run(X) == holder.weighted(X)
    other = copy.deepcopy(holder)
    other.u[:] = 5.0
    np.testing.assert_allclose(other.run(X), 5 * np.sum(X))
    np.testing.assert_allclose(holder.run(X), np.sum(X))


def test_a_compiled_transform_is_copied_and_pickled() -> None:
    gradient = bridge.grad(top, engine="xla")
    np.testing.assert_array_equal(copy.deepcopy(gradient)(X), gradient(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(gradient))(X), gradient(X))


@pytest.mark.parametrize("engine", ["values", "gradients"])
def test_nothing_that_jax_traced_is_kept(engine: str) -> None:
    def program(x: Any) -> Any:
        y = x.copy()
        for i in range(20):
            if y[i % 3] > 0.1:
                y[i % 3] = np.sin(y[(i + 1) % 3])
        return np.sum(y)

    with jax.checking_leaks(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = bridge.xla(program) if engine == "values" else bridge.grad(program, engine="xla")
        found = run(X)
    np.testing.assert_allclose(found, program(X) if engine == "values" else bridge.grad(program)(X))
