"""The state of objects may change between calls: compiled code runs only with the state that it was compiled for."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.loops_in_c import running, tiers
from tests.loops_in_c.test_loops import loops, outcome, pytestmark  # noqa: F401


class Inner:
    def __init__(self, k: Any) -> None:
        self.k = k


class Model:
    gain = 1.5

    def __init__(self) -> None:
        self.u: Any = None
        self.t: Any = 0.0
        self.inner: Any = Inner(0.5)
        self.rates: Any = {"a": 0.1}
        self.numbers: Any = [1.0, 2.0]
        self.f: Any = lambda x: x * 2.0

    def step(self, i: int) -> None:
        self.u[i] = self.u[i] * self.gain + self.inner.k * self.rates["a"] + self.numbers[0]
        self.t += self.f(self.u[i]) * len(self.numbers)
        self.u = self.u * 1.1

    def other(self, i: int) -> None:
        self.u[i] = 0.25


class Other(Model):
    gain: Any = np.float64(2.5)

    def step(self, i: int) -> None:
        self.u[i] *= 3.0 * self.gain
        self.t = self.t + 1


class Child(Inner):
    k = 5.0


class Callable_(Inner):
    def __call__(self, x: Any) -> Any:
        return x * self.k


def affine(c: Any, shift: Any = 1.0) -> Any:
    def f(x: Any, y: Any = shift) -> Any:
        return x * c + y

    return f


def run(v: Any, one: Any, other: Any, f: Any) -> Any:
    one.u = v * 1.0
    for i in range(3):
        one.step(i)
        other.inner.k = other.inner.k * f(0.5)
    return np.sum(one.u) + one.t + other.inner.k


Change = Callable[[Any, Any], Any]
"""Changes two models; what it returns is the function, if it is not None. A pair is an attribute of their class."""


def sets(name: str, value: Any) -> Change:
    def change(one: Any, _: Any) -> None:
        setattr(one, name, value)

    return change


def calls(function: Any) -> Change:
    return lambda one, other: function


def without_inner(one: Any, _: Any) -> None:
    one.inner = Child(1.0)
    del one.inner.k


def twice_as_long(one: Any, _: Any) -> None:
    one.numbers *= 2


def of_another(one: Any, other: Any) -> None:
    other.u, one.step = np.zeros(4), other.other


def without_key(one: Any, _: Any) -> None:
    del one.rates["a"]


CHANGES: dict[str, Change | tuple[str, Any]] = {
    "nothing": calls(None),
    "one inner object": lambda one, other: setattr(other, "inner", one.inner),
    "nothing again": calls(None),
    "another class": lambda one, other: setattr(one, "__class__", Other),
    "a function in place of a method": lambda one, other: setattr(one, "step", lambda i: one.other(i)),
    "a method of another object": of_another,
    "an attribute that hides the class's": sets("gain", 7.0),
    "no key": without_key,
    "a key more": lambda one, other: one.rates.update(b=1.0),
    "a number of NumPy's": lambda one, other: one.rates.update(a=np.float64(0.1)),
    "an integer": lambda one, other: one.rates.update(a=2),
    "an array": lambda one, other: one.rates.update(a=np.ones(4)),
    "a longer list": twice_as_long,
    "an empty list": sets("numbers", []),
    "a tuple": sets("numbers", (4.0, 5.0)),
    "another tuple": sets("numbers", (4.0, 6.0)),
    "other code": sets("f", lambda x: x * 3.0),
    "a function of NumPy's": sets("f", np.sin),
    "another function of NumPy's": sets("f", np.cos),
    "another free variable": calls(affine(2.0)),
    "a default of another type": calls(affine(np.float64(1.0), 3)),
    "a default that is no number": calls(affine(1.0, None)),
    "a partial function": calls(partial(affine(1.0), y=2.0)),
    "another argument of it": calls(partial(affine(1.0), y=3.0)),
    "fewer arguments of it": calls(partial(affine(1.0))),
    "an object that is called": calls(Callable_(2.0)),
    "an attribute of the class": without_inner,
    "a simple namespace": lambda one, other: setattr(other, "inner", SimpleNamespace(k=2.0)),
    "an integer that is set": sets("t", 0),
    "a truth that is set": sets("t", True),
    "an array of no axes that is set": sets("t", np.array(1.0)),
    "a property": ("t", property(lambda self: 2.0, lambda self, value: None)),
    "a setter": ("__setattr__", lambda self, name, value: object.__setattr__(self, name, value)),
    "a getter": ("__getattribute__", lambda self, name: object.__getattribute__(self, name)),
    "another method": ("step", Model.other),
}  # fmt: skip


def result(name: str) -> tuple[Any, Any]:
    """What a changed model gives, and its state afterwards."""
    one, other, v = Model(), Model(), np.array([0.3, 0.5, -1.0, 2.0])
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        change = CHANGES[name]
        if isinstance(change, tuple):
            patch.setattr(Model, *change, raising=False)
        f = (None if isinstance(change, tuple) else change(one, other)) or affine(1.0)
        found = outcome(bridge.value_and_grad(lambda v: run(v, one, other, f)), (v,))
        states = [vars(x) for x in (one, other, one.inner, other.inner)]
        texts = [re.sub(r" at 0x\w+", "", f"{key} {type(x)} {x}") for state in states for key, x in state.items()]
        return found, texts


def test_changes_between_calls(loops: Callable[[str], list[int]], monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(running, "_MOST", 100)
    loops("python")
    expected = {name: result(name) for name in CHANGES}
    ran = loops("c")
    for _ in range(2):
        for name, (value, state) in expected.items():
            tiers._heats.clear()
            found, after = result(name)
            assert after == state, name
            if isinstance(value[0], type):
                assert found == value, name
            else:
                assert np.float64(found[0]).tobytes() == np.float64(value[0]).tobytes(), name
                np.testing.assert_allclose(found[1], value[1], rtol=1e-12, err_msg=name)
    assert len(ran) > len(CHANGES)
