"""Classes that change: their own attributes, those of bases, of subclasses and of metaclasses, descriptors."""

from __future__ import annotations

import abc
import enum
import functools
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import pytest

from tests.xla.stale.record import WAYS, Made, check, records

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

RECORDS, record = records()
factor = 2.0


@record
def property_of_a_class_attribute() -> Made:
    class M:
        _k = 1.0

        @property
        def k(self) -> float:
            return self._k

    m = M()
    return lambda x: x * m.k, [lambda: setattr(M, "_k", 3.0), lambda: setattr(m, "_k", 4.0)]


@record
def property_of_a_property_of_a_base() -> Made:
    class A:
        _k = 1.0

        @property
        def half(self) -> float:
            return self._k / 2

    class B(A):
        @property
        def k(self) -> float:
            return self.half * 2

    b = B()
    return lambda x: x * b.k, [lambda: setattr(A, "_k", 3.0), lambda: setattr(B, "_k", 5.0)]


@record
def method_that_hides_the_base() -> Made:
    class A:
        def g(self, x: Any) -> Any:
            return x

    class B(A):
        pass

    b = B()
    return lambda x: b.g(x), [lambda: setattr(B, "g", lambda self, x: 3 * x), lambda: delattr(B, "g")]


@record
def attribute_that_hides_the_base() -> Made:
    class A:
        k = 1.0

    class B(A):
        pass

    b = B()
    return lambda x: x * b.k, [lambda: setattr(B, "k", 3.0), lambda: setattr(A, "k", 7.0) or delattr(B, "k")]


@record
def diamond() -> Made:
    class A:
        k = 1.0

    class B(A):
        pass

    class C(A):
        pass

    class D(B, C):
        pass

    d = D()
    return lambda x: x * d.k, [lambda: setattr(C, "k", 2.0), lambda: setattr(B, "k", 3.0)]


@record
def bases() -> Made:
    class A:
        k = 1.0

    class B:
        k = 2.0

    class C(A):
        pass

    c = C()
    return lambda x: x * c.k, [lambda: setattr(C, "__bases__", (B,))]


@record
def another_class() -> Made:
    class A:
        k = 1.0

    class B:
        k = 2.0

    a = A()
    return lambda x: x * a.k, [lambda: setattr(a, "__class__", B)]


@record
def data_descriptor() -> Made:
    class D:
        def __init__(self) -> None:
            self.k = 1.0

        def __get__(self, one: Any, kind: Any) -> float:
            return self.k

        def __set__(self, one: Any, value: float) -> None:
            self.k = value

    class M:
        d = D()

    m = M()
    return lambda x: x * m.d, [lambda: setattr(m, "d", 4.0), lambda: setattr(vars(M)["d"], "k", 5.0)]


@record
def class_attribute_of_a_descriptor() -> Made:
    class D:
        k = 1.0

        def __get__(self, one: Any, kind: Any) -> float:
            return type(self).k

    class M:
        d = D()

    return lambda x: x * M().d, [lambda: setattr(D, "k", 4.0)]


@record
def property_of_a_metaclass() -> Made:
    class Meta(type):
        k = 1.0

        @property
        def rate(cls) -> float:
            return cls.k

    class M(metaclass=Meta):
        pass

    return lambda x: x * M.rate, [lambda: setattr(Meta, "k", 3.0), lambda: setattr(M, "k", 4.0)]


@record
def operator_of_a_metaclass() -> Made:
    class Meta(type):
        def __getitem__(cls, k: int) -> float:
            return factor * k

    class M(metaclass=Meta):
        pass

    return lambda x: x * M[1], [lambda: setattr(Meta, "__getitem__", lambda cls, k: 9.0 * k)]


@record
def registry_of_subclasses() -> Made:
    class Base:
        known: ClassVar[dict[str, type]] = {}
        k = 1.0

        def __init_subclass__(cls) -> None:
            Base.known[cls.__name__] = cls

    def one(k: float) -> None:
        type("One", (Base,), {"k": k})

    return lambda x: x * (1 + sum(c.k for c in Base.known.values())), [lambda: one(2.0), lambda: one(3.0)]


@record
def subclasses() -> Made:
    class Base:
        k = 1.0

    kept = []
    return lambda x: x * (1 + sum(c.k for c in Base.__subclasses__())), [
        lambda: kept.append(type("One", (Base,), {"k": 2.0})),
        lambda: setattr(kept[0], "k", 5.0),
    ]


@record
def class_method() -> Made:
    class M:
        k = 1.0

        @classmethod
        def scaled(cls, x: Any) -> Any:
            return x * cls.k

    return lambda x: M.scaled(x), [
        lambda: setattr(M, "k", 3.0),
        lambda: setattr(M, "scaled", classmethod(lambda cls, x: x * cls.k * 2)),
    ]


@record
def static_method() -> Made:
    table = {"k": 1.0}

    class M:
        @staticmethod
        def scaled(x: Any) -> Any:
            return x * table["k"]

    return lambda x: M.scaled(x), [lambda: table.update(k=3.0), lambda: setattr(M, "scaled", staticmethod(np.sin))]


@record
def cached_property() -> Made:
    class M:
        base = 1.0

        @functools.cached_property
        def k(self) -> float:
            return self.base * 2

    m = M()
    return lambda x: x * m.k, [lambda: setattr(M, "base", 3.0) or vars(m).pop("k", None), lambda: setattr(m, "k", 9.0)]


@record
def partial_method() -> Made:
    class M:
        def scaled(self, k: float, x: Any) -> Any:
            return x * k

        twice = functools.partialmethod(scaled, 2.0)

    m = M()
    return lambda x: m.twice(x), [lambda: setattr(M, "scaled", None) or setattr(M, "twice", lambda self, x: x * 5.0)]


@record
def single_dispatch_method() -> Made:
    class M:
        @functools.singledispatchmethod
        def k(self, kind: Any) -> float:
            return 1.0

    m = M()
    return lambda x: x * m.k("a"), [lambda: M.k.register(str, lambda self, kind: 4.0)]


@record
def operator() -> Made:
    class M:
        def __call__(self, x: Any) -> Any:
            return x

        def __mul__(self, x: Any) -> Any:
            return 2 * x

    m = M()
    return lambda x: m * m(x), [
        lambda: setattr(M, "__call__", lambda self, x: x * 3.0),
        lambda: setattr(M, "__mul__", lambda self, x: x * 5.0),
    ]


@record
def operator_that_comes() -> Made:
    class M:
        k = 2.0

    m = M()
    return lambda x: x * (1.0 if m else 5.0), [lambda: setattr(M, "__bool__", lambda self: False)]


@record
def getattr_of_a_class() -> Made:
    class M:
        kept: ClassVar[dict[str, float]] = {"k": 1.0}

        def __getattr__(self, name: str) -> float:
            return M.kept[name]

    m = M()
    return lambda x: x * m.k, [lambda: M.kept.update(k=3.0), lambda: setattr(M, "__getattr__", lambda self, name: 7.0)]


@record
def slots_and_class() -> Made:
    class A:
        __slots__ = ("__k", "n")
        rate = 1.0

        def __init__(self) -> None:
            self.__k = 1.0

        def k(self) -> float:
            return self.__k * self.rate

        def set(self, k: float) -> None:
            self.__k = k

    a = A()
    return lambda x: x * a.k(), [lambda: a.set(3.0), lambda: setattr(A, "rate", 2.0)]


@record
def dataclass_defaults() -> Made:
    @dataclass
    class P:
        k: float = 1.0

    return lambda x: x * P().k, [lambda: setattr(P.__init__, "__defaults__", (3.0,))]


@record
def named_tuple_defaults() -> Made:
    import collections

    P = collections.namedtuple("P", "k", defaults=(1.0,))
    return lambda x: x * P().k, [lambda: setattr(P.__new__, "__defaults__", (7.0,))]


@record
def enumeration() -> Made:
    class K(enum.Enum):
        A = 1
        B = 2

        @property
        def weight(self) -> float:
            return self.value * type(self).scale()

        @classmethod
        def scale(cls) -> float:
            return 1.0

    return lambda x: x * K.B.weight, [lambda: setattr(K, "scale", classmethod(lambda cls: 4.0))]


@record
def abstract_class_registers() -> Made:
    Shape = abc.ABCMeta("Shape", (), {})

    class Ball:
        pass

    ball = Ball()
    return lambda x: x * (3.0 if isinstance(ball, Shape) else 1.0), [lambda: Shape.register(Ball)]


@record
def protocol() -> Made:
    @runtime_checkable
    class Scales(Protocol):
        def scaled(self) -> float: ...

    class Ball:
        pass

    ball = Ball()
    return lambda x: x * (3.0 if isinstance(ball, Scales) else 1.0), [lambda: setattr(Ball, "scaled", lambda self: 1.0)]


@record
def class_in_a_list() -> Made:
    class A:
        k = 1.0

    class B(A):
        pass

    layers = [A, B]
    return lambda x: x * sum(layer().k for layer in layers), [lambda: setattr(B, "k", 3.0)]


@record
def class_in_an_object_of_a_dict_subclass() -> Made:
    class Table(dict):  # type: ignore[type-arg]
        scale = 1.0

        def __missing__(self, key: str) -> float:
            return self.scale

    table = Table()
    return lambda x: x * table["k"], [lambda: setattr(Table, "scale", 3.0), lambda: setattr(table, "scale", 4.0)]


@record
def global_behind_a_property() -> Made:
    kept = {"k": 2.0}

    def helper() -> float:
        return kept["k"]

    class M:
        k = property(lambda self: helper())

    m = M()
    return lambda x: x * m.k, [lambda: kept.update(k=5.0), lambda: setattr(M, "k", 7.0)]


@record
def class_of_a_class() -> Made:
    class Outer:
        class Inner:
            k = 1.0

    return lambda x: x * Outer.Inner.k, [
        lambda: setattr(Outer.Inner, "k", 3.0),
        lambda: setattr(Outer, "Inner", type("Other", (), {"k": 5.0})),
    ]


@record
def set_name_and_annotations() -> Made:
    class M:
        k: float = 1.0

    return lambda x: x * len(M.__annotations__), [lambda: M.__annotations__.update(n=int)]


@record
def class_decorator() -> Made:
    def registered(kind: Any) -> Any:
        kind.k = 2.0
        return kind

    @registered
    class M:
        def __init_subclass__(cls, k: float = 1.0) -> None:
            cls.k = k

    class B(M, k=3.0):
        pass

    def again(k: float) -> None:
        type.__setattr__(B, "k", k)

    return lambda x: x * B().k * M().k, [lambda: again(5.0), lambda: setattr(M, "k", 7.0)]


@pytest.mark.ci
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RECORDS)
def test_it_is_traced_again(name: str, way: Any) -> None:
    check(RECORDS[name], way)
