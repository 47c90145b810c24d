"""A compiled program is traced again when anything that it read without being given it has changed.

Each record is a function, and a change of what it reads: a global, a captured variable, an attribute, an element, a
class. The function is compiled and called, the change made, and the next call has to be the plain function's.
"""

from __future__ import annotations

import collections
import contextvars
import enum
import functools
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.xla.signature import call_of

jax = pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.array([1.0, 2.0, 3.0])
Change = Callable[[], Any]
Program = Callable[[Any], Any]


class Inner:
    def __init__(self) -> None:
        self.k = 2.0


class Model:
    rate = 2.0
    pair = (2.0, 3.0)

    def __init__(self) -> None:
        self.a, self.t, self.f, self.d, self.rows = 2.0, (2.0,), np.sin, {"k": 2.0}, [2.0]
        self.inner, self.arrays, self.mode = Inner(), [np.ones(3)], None

    @property
    def doubled(self) -> float:
        return self.a * 2

    def scaled(self, x: Any) -> Any:
        return x * 2.0


class Slotted:
    __slots__ = ("a", "t")

    def __init__(self) -> None:
        self.a, self.t = 2.0, (2.0,)


Pair = collections.namedtuple("Pair", "k")


@dataclass(frozen=True)
class Frozen:
    k: float


class Kind(enum.Enum):
    ONE = 1
    TWO = 2


def twice(x: Any) -> Any:
    return x * 2.0


def with_default(x: Any, k: float = 2.0) -> Any:
    return x * k


@functools.lru_cache
def cached(n: int) -> float:
    return n * number


number: float = 2.0
zero: float = 0.0
tuple_: tuple[float, ...] = (2.0, 3.0)
ufunc: Any = np.sin
window = slice(0, 2)
dtype: Any = np.float64
named: Any = Pair(2.0)
frozen: Any = Frozen(2.0)
kind: Any = Kind.ONE
variable: contextvars.ContextVar[float] = contextvars.ContextVar("variable", default=2.0)
module = types.ModuleType("module")
model, slotted = Model(), Slotted()

RECORDS: dict[str, tuple[Program, Change]] = {}


def rebound(name: str, value: Any) -> Change:
    return lambda: setattr(sys.modules[__name__], name, value)


def record(name: str, program: Program, change: Change) -> None:
    RECORDS[name] = program, change


record("a number", lambda x: x * number, rebound("number", 5.0))
record("the sign of zero", lambda x: np.copysign(x, zero), rebound("zero", -0.0))
record("a tuple", lambda x: x * tuple_[0], rebound("tuple_", (5.0, 1.0)))
record("a ufunc", lambda x: ufunc(x), rebound("ufunc", np.cos))
record("a slice", lambda x: x[window] * 1.0, rebound("window", slice(1, 3)))
record("a dtype", lambda x: np.zeros(3, dtype) + np.float32(0.1), rebound("dtype", np.float32))
record("a named tuple", lambda x: x * named.k, rebound("named", Pair(5.0)))
record("a frozen dataclass", lambda x: x * frozen.k, rebound("frozen", Frozen(5.0)))
record("an enumeration", lambda x: x * (2.0 if kind is Kind.ONE else 5.0), rebound("kind", Kind.TWO))
record("an attribute", lambda x: x * model.a, lambda: setattr(model, "a", 5.0))
record("an attribute that is a tuple", lambda x: x * model.t[0], lambda: setattr(model, "t", (5.0,)))
record("an attribute that is a function", lambda x: model.f(x), lambda: setattr(model, "f", np.cos))
record("an element of a dict of an object", lambda x: x * model.d["k"], lambda: model.d.update(k=5.0))
record("an attribute of an attribute", lambda x: x * model.inner.k, lambda: setattr(model.inner, "k", 5.0))
record("an element of a list", lambda x: x * model.rows[0], lambda: model.rows.__setitem__(0, 5.0))
record("a list of arrays that grows", lambda x: x * sum(model.arrays), lambda: model.arrays.append(np.full(3, 5.0)))
record("None no longer", lambda x: x if model.mode is None else 4 * x, lambda: setattr(model, "mode", 1))
record("a class's number", lambda x: x * model.rate, lambda: setattr(Model, "rate", 5.0))
record("a class's tuple", lambda x: x * model.pair[0], lambda: setattr(Model, "pair", (5.0, 1.0)))
record("what hides a class's number", lambda x: x * model.rate, lambda: setattr(model, "rate", 7.0))
record("a property", lambda x: x * model.doubled, lambda: setattr(model, "a", 7.0))
record("another property", lambda x: x * model.doubled, lambda: setattr(Model, "doubled", property(lambda self: 9.0)))
record("a method", lambda x: model.scaled(x), lambda: setattr(Model, "scaled", lambda self, x: 9.0 * x))
record("a slot", lambda x: x * slotted.a, lambda: setattr(slotted, "a", 5.0))
record("a slot with a tuple", lambda x: x * slotted.t[0], lambda: setattr(slotted, "t", (5.0,)))
record("a context variable", lambda x: x * variable.get(), lambda: variable.set(5.0))
record("a default", lambda x: with_default(x), lambda: setattr(with_default, "__defaults__", (5.0,)))
record("code", lambda x: twice(x), lambda: setattr(twice, "__code__", (lambda x: x * 5.0).__code__))
record("a cache", lambda x: x * cached(3), lambda: (rebound("number", 11.0)(), cached.cache_clear()))
record("a module's number", lambda x: x * module.k, lambda: setattr(module, "k", 5.0))
record("a module's function", lambda x: module.f(x), lambda: setattr(module, "f", lambda x: 8.0 * x))


@pytest.fixture(autouse=True)
def everything_as_it_was() -> Iterator[None]:
    """Put back what the records change."""
    own = sys.modules[__name__]
    module.k, module.f = 2.0, twice  # type: ignore[attr-defined]
    globals_ = {name: value for name, value in vars(own).items() if not name.startswith("__")}
    class_ = {name: value for name, value in vars(Model).items() if not name.startswith("__")}
    code, defaults, token = twice.__code__, with_default.__defaults__, variable.set(2.0)
    yield
    vars(own).update(globals_)
    for name, value in class_.items():
        setattr(Model, name, value)
    twice.__code__, with_default.__defaults__ = code, defaults
    variable.reset(token)
    vars(model).clear()
    model.__init__()  # type: ignore[misc]
    slotted.__init__()  # type: ignore[misc]
    cached.cache_clear()


@pytest.mark.ci
@pytest.mark.parametrize("name", RECORDS)
def test_it_is_traced_again(name: str) -> None:
    program, change = RECORDS[name]
    run = bridge.xla(program)
    before = np.asarray(run(X))
    np.testing.assert_allclose(before, program(X), rtol=1e-15)
    change()
    found, expected = np.asarray(run(X)), np.asarray(program(X))
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert not np.array_equal(before, found) or before.dtype != found.dtype, "the record shows nothing"


@pytest.mark.ci
def test_the_keys_of_a_dict_in_another_order() -> None:
    def program(weights: Any, x: Any) -> Any:
        return sum(w * (k + 1) for k, w in enumerate(weights.values())) * x

    run, one, other = bridge.xla(program), {"a": X, "b": 2 * X}, {"b": 2 * X, "a": X}
    for weights in (one, other, {"w": one}["w"]):
        np.testing.assert_array_equal(run(weights, X), program(weights, X))
    gradient = bridge.grad(lambda weights, x: np.sum(program(weights, x)), engine="xla")
    for weights in (one, other):
        found = gradient(weights, X)
        assert list(found) == list(weights)
        np.testing.assert_array_equal(found["a"], X * (1 + list(weights).index("a")))


@pytest.mark.ci
def test_one_that_is_not_changed_is_not_traced_again() -> None:
    run = bridge.xla(lambda x: x * model.rate * tuple_[0] * frozen.k + slotted.a)
    run(X)
    before = run.program(call_of((X,), {}).signature)
    for _ in range(3):
        run(X)
    assert run.program(call_of((X,), {}).signature) is before
