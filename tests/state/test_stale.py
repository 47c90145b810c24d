"""Compiled programs see a change of what they read, in each holder that an edge of the graph leads through."""

from __future__ import annotations

import collections
import contextvars
import ctypes
import enum
import functools
import itertools
import mmap
import operator
import types
import weakref
from typing import Any

import numpy as np
import pytest

from tests.xla.stale.record import WAYS, Made, check, records

pytest.importorskip("jax", reason="JAX is not installed (pip install jax)")

RECORDS, record = records()


class Box:
    def __init__(self, k: float) -> None:
        self.k = k

    def __call__(self, *args: Any) -> float:
        return self.k

    def scaled(self, other: Any) -> float:
        return self.k * other.k


@record
def defaults_of_keywords_in_place() -> Made:

    def g(x: Any, *, k: Any = 2.0) -> Any:
        return x * k

    return (lambda x: g(x), [lambda: g.__kwdefaults__.update(k=3.0)])


@record
def attribute_of_an_object_in_a_field() -> Made:
    s = np.empty(2, [("o", object), ("n", float)])
    b = Box(2.0)
    s["o"][0] = b
    s["o"][1] = b
    return (lambda x: x * s["o"][0].k, [lambda: setattr(b, "k", 3.0)])


@record
def object_in_a_field() -> Made:
    s = np.empty(2, [("o", object), ("n", float)])
    b = Box(2.0)
    s["o"][0] = b
    s["o"][1] = b

    def change() -> None:
        s["o"][0] = Box(3.0)

    return (lambda x: x * s["o"][0].k, [change])


@record
def row_of_a_structured_array() -> Made:
    s = np.zeros(2, [("k", float)])
    s["k"] = 2.0
    v = s[0]

    def change() -> None:
        v["k"] = 3.0

    return (lambda x: x * float(v["k"]), [change])


@record
def row_of_a_structured_array_in_a_list() -> Made:
    s = np.zeros(2, [("k", float)])
    s["k"] = 2.0
    held = [s[0]]

    def change() -> None:
        s["k"] = 3.0

    return (lambda x: x * float(held[0]["k"]), [change])


@record
def structured_number() -> Made:
    v = np.zeros((), [("k", float)])[()]

    def change() -> None:
        v["k"] = 3.0

    return (lambda x: x * (1 + float(v["k"])), [change])


@record
def record_of_a_record_array() -> Made:
    r = np.rec.array([(2.0,)], dtype=[("k", float)])
    v = r[0]

    def change() -> None:
        v.k = 3.0

    return (lambda x: x * float(v.k), [change])


@record
def object_in_a_row() -> Made:
    s = np.empty(1, [("o", object)])
    b = Box(2.0)
    s["o"][0] = b
    v = s[0]
    return (lambda x: x * v["o"].k, [lambda: setattr(b, "k", 3.0)])


@record
def slot_that_no_class_lists() -> Made:

    class S:
        __slots__ = ("k",)

    del S.__slots__
    s = S()
    s.k = 2.0
    return (lambda x: x * s.k, [lambda: setattr(s, "k", 3.0)])


@record
def attributes_in_a_dictionary_of_a_class() -> Made:

    class D(dict):
        pass

    o = Box(2.0)
    o.__dict__ = D(k=2.0)
    return (lambda x: x * o.k, [lambda: setattr(o, "k", 3.0)])


@record
def attributes_in_an_ordered_dictionary() -> Made:
    o = Box(2.0)
    o.__dict__ = collections.OrderedDict(k=2.0)
    return (lambda x: x * o.k, [lambda: setattr(o, "k", 3.0)])


@record
def property_of_a_module() -> Made:

    class M(types.ModuleType):
        @property
        def k(self) -> Any:
            return st[0]

    st = [2.0]
    m = M("m")

    def change() -> None:
        st[0] = 3.0

    return (lambda x: x * m.k, [change])


@record
def attribute_of_a_modules_class() -> Made:

    class M(types.ModuleType):
        k = 2.0

    m = M("m")
    return (lambda x: x * m.k, [lambda: setattr(M, "k", 3.0)])


@record
def key_for_sorting() -> Made:
    sign = 1.0

    def cmp(a: Any, b: Any) -> Any:
        return sign * (a - b)

    key = functools.cmp_to_key(cmp)

    def change() -> None:
        nonlocal sign
        sign = -1.0

    return (lambda x: x * sorted([1.0, 2.0], key=key)[0], [change])


@record
def argument_of_a_methods_caller() -> Made:
    b = Box(2.0)
    o = Box(1.5)
    call = operator.methodcaller("scaled", b)
    return (lambda x: x * call(o), [lambda: setattr(b, "k", 3.0)])


@record
def function_in_a_ufunc() -> Made:
    b = Box(2.0)
    u = np.frompyfunc(lambda a: a * b.k, 1, 1)
    return (lambda x: x * float(u(1.5)), [lambda: setattr(b, "k", 3.0)])


@record
def object_above_its_class() -> Made:

    class A:
        def get(self) -> Any:
            return self.k

    class B(A):
        pass

    b = B()
    b.k = 2.0
    s = super(B, b)
    return (lambda x: x * s.get(), [lambda: setattr(b, "k", 3.0)])


@record
def argument_of_an_exception() -> Made:
    e = ValueError([2.0])

    def change() -> None:
        e.args[0][0] = 3.0

    return (lambda x: x * e.args[0][0], [change])


@record
def mapped_memory() -> Made:
    m = mmap.mmap(-1, 8)
    m[0] = 2

    def change() -> None:
        m[0] = 3

    return (lambda x: x * m[0], [change])


@record
def default_factory() -> Made:
    d = collections.defaultdict(lambda: 2.0)

    def change() -> None:
        d.default_factory = lambda: 3.0

    def p(x: Any) -> Any:
        v = d["a"]
        del d["a"]
        return x * v

    return (p, [change])


@record
def value_of_a_member() -> Made:

    class E(enum.Enum):
        A = [2.0]  # noqa: RUF012, a value

    def change() -> None:
        E.A.value[0] = 3.0

    return (lambda x: x * E.A.value[0], [change])


@record
def argument_of_a_partial_method() -> Made:

    class K:
        def get(self, k: Any) -> Any:
            return k[0]

        two = functools.partialmethod(get, [2.0])

    o = K()
    held = K.__dict__["two"].args[0]

    def change() -> None:
        held[0] = 3.0

    return (lambda x: x * o.two(), [change])


@record
def weak_method() -> Made:
    b = Box(2.0)
    m = weakref.WeakMethod(b.__call__)
    return (lambda x: x * m()(), [lambda: setattr(b, "k", 3.0)])


@record
def context_that_runs() -> Made:
    v = contextvars.ContextVar("v")
    v.set(2.0)
    ctx = contextvars.copy_context()
    return (lambda x: x * ctx.run(v.get), [lambda: ctx.run(v.set, 3.0)])


@record
def item_of_a_context() -> Made:
    v = contextvars.ContextVar("v")
    v.set(2.0)
    ctx = contextvars.copy_context()
    return (lambda x: x * ctx[v], [lambda: ctx.run(v.set, 3.0)])


@record
def repetition() -> Made:
    b = Box(2.0)
    it = itertools.repeat(b)
    return (lambda x: x * next(it).k, [lambda: setattr(b, "k", 3.0)])


@record
def variable_of_a_generator() -> Made:
    b = Box(2.0)

    def g() -> Any:
        c = b
        while True:
            yield c.k

    it = g()
    return (lambda x: x * next(it), [lambda: setattr(b, "k", 3.0)])


@record
def argument_of_an_alias() -> Made:
    b = Box(2.0)
    a = types.GenericAlias(list, (b,))
    return (lambda x: x * a.__args__[0].k, [lambda: setattr(b, "k", 3.0)])


@record
def array_in_an_array_of_objects() -> Made:
    i = np.array([2.0, 1.0])
    a = np.empty(1, object)
    a[0] = i

    def change() -> None:
        i[0] = 3.0

    return (lambda x: x * a[0][0], [change])


@record
def object_in_an_array_in_an_array() -> Made:
    b = Box(2.0)
    i = np.empty(1, object)
    i[0] = b
    a = np.empty(1, object)
    a[0] = i
    return (lambda x: x * a[0][0].k, [lambda: setattr(b, "k", 3.0)])


@record
def callback_of_c() -> Made:
    b = Box(2.0)
    f = ctypes.CFUNCTYPE(ctypes.c_double)(b)
    return (lambda x: x * f(), [lambda: setattr(b, "k", 3.0)])


@record
def metadata_of_a_type_of_arrays() -> Made:
    b = Box(2.0)
    d = np.dtype(float, metadata={"b": b})
    return (lambda x: x * d.metadata["b"].k, [lambda: setattr(b, "k", 3.0)])


@record
def variable_of_a_cached_function() -> Made:
    b = Box(2.0)
    f = functools.lru_cache(lambda n: b.k)

    def change() -> None:
        b.k = 3.0
        f.cache_clear()

    return (lambda x: x * f(1), [change])


@record
def iterator_over_an_array() -> Made:
    a = np.array([2.0, 3.0])
    f = a.flat

    def change() -> None:
        a[0] = 5.0

    return (lambda x: x * f[0], [change])


@record
def iterator_over_arrays() -> Made:
    a = np.array([2.0, 3.0])
    f = np.nditer(a)

    def change() -> None:
        a[0] = 5.0

    return (lambda x: x * float(f.operands[0][0]), [change])


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", RECORDS)
def test_it_is_traced_again(name: str, way: Any) -> None:
    check(RECORDS[name], way)
