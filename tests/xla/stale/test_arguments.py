"""Classes of arguments: what they say is read from outside, though their objects are passed."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import bridge
from tests.xla.stale.record import X

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

Made = tuple[Callable[[Any, Any], Any], Any, Sequence[Callable[[], Any]]]
RECORDS: dict[str, Callable[[], Made]] = {}


def record(make: Callable[[], Made]) -> Callable[[], Made]:
    RECORDS[make.__name__] = make
    return make


class Weights:
    def __init__(self) -> None:
        self.w = np.ones(3)


@record
def class_attribute() -> Made:
    class P(Weights):
        rate = 2.0

    return lambda p, x: x * p.w * p.rate, P(), [lambda: setattr(P, "rate", 5.0)]


@record
def property_of_a_class_attribute() -> Made:
    class P(Weights):
        _rate = 2.0

        @property
        def rate(self) -> float:
            return self._rate

    return lambda p, x: x * p.w * p.rate, P(), [lambda: setattr(P, "_rate", 5.0)]


@record
def method() -> Made:
    table = {"k": 2.0}

    class P(Weights):
        def scaled(self, x: Any) -> Any:
            return x * table["k"] * self.w

    return (
        lambda p, x: p.scaled(x),
        P(),
        [
            lambda: table.update(k=5.0),
            lambda: setattr(P, "scaled", lambda self, x: x * 9.0 * self.w),
        ],
    )


@record
def subclass_that_hides() -> Made:
    class A(Weights):
        k = 1.0

    class B(A):
        pass

    return lambda p, x: x * p.w * p.k, B(), [lambda: setattr(B, "k", 4.0)]


@record
def attribute_that_comes() -> Made:
    class P(Weights):
        pass

    return lambda p, x: x * p.w * getattr(p, "k", 1.0), P(), [lambda: setattr(P, "k", 4.0)]


@record
def named_tuple() -> Made:
    P: Any = collections.namedtuple("P", "w")
    P.k = 2.0
    return lambda p, x: x * p.w * p.k, P(np.ones(3)), [lambda: setattr(P, "k", 4.0)]


@record
def operator_of_a_dataclass() -> Made:
    @dataclass
    class P:
        w: Any
        k: ClassVar[float] = 2.0

        def __mul__(self, x: Any) -> Any:
            return self.w * x * self.k

    return (
        lambda p, x: p * x,
        P(np.ones(3)),
        [
            lambda: setattr(P, "k", 4.0),
            lambda: setattr(P, "__mul__", lambda self, x: x * 9.0),
        ],
    )


@record
def dict_subclass() -> Made:
    class D(dict):  # type: ignore[type-arg]
        k = 2.0

    return lambda p, x: x * p["w"] * p.k, D(w=np.ones(3)), [lambda: setattr(D, "k", 4.0)]


@record
def objects_in_containers() -> Made:
    class P(Weights):
        rate = 2.0

    return lambda p, x: x * p[0].w * p[1]["a"].rate, (P(), {"a": P()}), [lambda: setattr(P, "rate", 5.0)]


@pytest.mark.ci
@pytest.mark.parametrize("name", RECORDS)
def test_it_is_traced_again(name: str) -> None:
    program, argument, changes = RECORDS[name]()
    run = bridge.xla(program)
    for change in (lambda: None, *changes):
        change()
        np.testing.assert_allclose(run(argument, X), program(argument, X), rtol=1e-13)
    np.testing.assert_allclose(run(argument, X), program(argument, X), rtol=1e-13)
