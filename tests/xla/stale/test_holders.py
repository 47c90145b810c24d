"""Objects of libraries that hold what a program reads: partial functions, polynomials, data frames, interpolators."""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import decimal
import functools
import io
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from scipy import interpolate, sparse, stats

import bridge
from tests.xla.stale.record import WAYS, Made, check, records

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

RECORDS, record = records()


def scaled(x: Any, k: float = 1.0) -> Any:
    return x * k


@record
def keywords_of_a_partial() -> Made:
    f = functools.partial(scaled, k=2.0)
    return lambda x: f(x), [lambda: f.keywords.update(k=5.0), lambda: f.keywords.clear()]


@record
def state_of_a_partial() -> Made:
    f = functools.partial(scaled, k=2.0)
    return lambda x: f(x), [lambda: f.__setstate__((scaled, (), {"k": 9.0}, {}))]


@record
def attribute_of_a_partial() -> Made:
    f: Any = functools.partial(scaled, k=2.0)
    f.rate = 2.0
    return lambda x: f(x) * f.rate, [lambda: setattr(f, "rate", 5.0)]


@record
def partial_in_an_object() -> Made:
    held: Any = type("Held", (), {})()
    held.f = functools.partial(functools.partial(scaled), k=2.0)
    return lambda x: held.f(x), [lambda: held.f.keywords.update(k=5.0)]


@record
def polynomial() -> Made:
    p = np.polynomial.Polynomial([1.0, 2.0])
    return lambda x: x * p.coef[1], [
        lambda: p.coef.__setitem__(1, 5.0),
        lambda: setattr(p, "coef", np.array([1.0, 9.0])),
    ]


@record
def polynomial_called() -> Made:
    p = np.polynomial.Polynomial([1.0, 2.0])
    return lambda x: x * p(2.0), [lambda: p.coef.__setitem__(1, 5.0)]


@record
def poly1d() -> Made:
    p = np.poly1d([1.0, 2.0])
    return lambda x: x * p.coeffs[0] * p(3.0), [lambda: p.coeffs.__setitem__(0, 5.0)]


@record
def vectorized() -> Made:
    table = {"k": 2.0}

    def of(v: float) -> float:
        return v * table["k"]

    f = np.vectorize(of)
    return lambda x: x * f(2.0), [lambda: table.update(k=5.0), lambda: setattr(f, "pyfunc", lambda v: 7.0)]


@record
def sparse_matrix() -> Made:
    A = sparse.csr_matrix(np.diag([1.0, 2.0, 3.0]))
    return lambda x: A @ x, [lambda: A.data.__setitem__(1, 5.0), lambda: setattr(A, "data", np.array([7.0, 1.0, 1.0]))]


@record
def interpolator() -> Made:
    spline = interpolate.CubicSpline(np.arange(4.0), np.array([1.0, 3.0, 2.0, 5.0]))
    return lambda x: x * float(spline(1.5)), [lambda: spline.c.__imul__(2.0)]


@record
def distribution() -> Made:
    law = stats.norm(loc=0.0, scale=1.0)
    return lambda x: x * float(law.mean()), [lambda: law.kwds.update(loc=3.0)]


@record
def context_of_decimals() -> Made:
    context = decimal.Context(prec=5)
    return lambda x: x * context.prec, [lambda: setattr(context, "prec", 9)]


@record
def structure_of_ctypes() -> Made:
    class S(ctypes.Structure):
        _fields_ = (("k", ctypes.c_double),)

    one = S(2.0)
    return lambda x: x * one.k, [lambda: setattr(one, "k", 4.0)]


@record
def local_of_a_thread() -> Made:
    one: Any = threading.local()
    one.k = 2.0
    return lambda x: x * one.k * getattr(one, "n", 1.0), [
        lambda: setattr(one, "k", 4.0),
        lambda: setattr(one, "n", 3.0),
    ]


@record
def weak_proxy() -> Made:
    class K:
        k = 2.0

    one = K()
    proxy = weakref.proxy(one)
    return lambda x: x * proxy.k, [lambda: setattr(one, "k", 4.0), lambda: setattr(K, "k", 5.0) or delattr(one, "k")]


@record
def pointer_of_ctypes() -> Made:
    class S(ctypes.Structure):
        _fields_ = (("k", ctypes.c_double),)

    one, other = S(2.0), S(7.0)
    pointer = ctypes.pointer(one)
    return lambda x: x * pointer.contents.k, [
        lambda: setattr(one, "k", 4.0),
        lambda: setattr(pointer, "contents", other),
    ]


@record
def array_with_attributes() -> Made:
    class A(np.ndarray):
        pass

    w: Any = np.ones(3).view(A)
    w.k = 2.0
    return lambda x: x * w.k, [lambda: setattr(w, "k", 4.0), lambda: setattr(A, "k", 5.0) or delattr(w, "k")]


@record
def number_with_attributes() -> Made:
    class Unit(float):
        pass

    held: Any = type("Held", (), {})()
    held.one, other = Unit(2.0), Unit(2.0)
    held.one.k, other.k = 1.0, 5.0
    return lambda x: x * held.one.k, [lambda: setattr(held.one, "k", 4.0), lambda: setattr(held, "one", other)]


@record
def attribute_of_a_cached_function() -> Made:
    @functools.lru_cache
    def two() -> float:
        return 2.0

    return lambda x: x * two() * getattr(two, "scale", 1.0), [lambda: setattr(two, "scale", 4.0)]


@record
def name_and_text_of_a_function() -> Made:
    def of() -> None:
        """Nothing."""

    return lambda x: x * len(of.__name__) * len(of.__doc__ or ""), [
        lambda: setattr(of, "__name__", "another"),
        lambda: setattr(of, "__doc__", "Something else."),
    ]


@record
def annotations_of_a_function() -> Made:
    def of(a: int) -> None:
        pass

    return lambda x: x * len(of.__annotations__), [lambda: of.__annotations__.update(b=int)]


@record
def text_in_memory() -> Made:
    text = io.StringIO("ab")
    return lambda x: x * len(text.getvalue()), [lambda: text.write("abcdef")]


@record
def array_that_may_be_written() -> Made:
    w = np.ones(3)
    return lambda x: x * w * (1.0 if w.flags.writeable else 5.0), [lambda: w.setflags(write=False)]


@record
def default_of_a_context_variable() -> Made:
    table = {"k": 2.0}
    variable: contextvars.ContextVar[dict[str, float]] = contextvars.ContextVar("variable", default=table)
    return lambda x: x * variable.get()["k"], [lambda: table.update(k=5.0), lambda: variable.set({"k": 7.0})]


@record
def weak_dict() -> Made:
    class K:
        k = 2.0

    one, other = K(), K()
    other.k = 5.0
    d: Any = weakref.WeakValueDictionary(a=one)
    kept = [one, other]
    return lambda x: x * d["a"].k, [lambda: d.update(a=other), lambda: setattr(kept[1], "k", 7.0)]


@record
def context_manager() -> Made:
    table = {"k": 2.0}

    @contextlib.contextmanager
    def scale() -> Any:
        yield table["k"]

    def program(x: Any) -> Any:
        with scale() as k:
            return x * k

    return program, [lambda: table.update(k=5.0)]


@record
def single_dispatch() -> Made:
    @functools.singledispatch
    def of(kind: Any) -> float:
        return 1.0

    return lambda x: x * of("a"), [lambda: of.register(str, lambda kind: 4.0)]


@record
def wrapped() -> Made:
    table = {"k": 2.0}

    def twice(f: Any) -> Any:
        @functools.wraps(f)
        def wrapper(x: Any) -> Any:
            return f(x) * wrapper.times

        wrapper.times = 2.0  # type: ignore[attr-defined]
        return wrapper

    @twice
    def inner(x: Any) -> Any:
        return x * table["k"]

    return lambda x: inner(x), [lambda: table.update(k=5.0), lambda: setattr(inner, "times", 3.0)]


@record
def compiled_inside() -> Made:
    table = {"k": 2.0}

    def inner(x: Any) -> Any:
        return x * table["k"]

    run = bridge.xla(inner)
    return lambda x: run(x) + 1.0, [lambda: table.update(k=5.0)]


@record
def gradient_inside() -> Made:
    table = {"k": 2.0}
    gradient = bridge.grad(lambda x: np.sum(x**2) * table["k"])
    return lambda x: gradient(x) + x, [lambda: table.update(k=5.0)]


@record
def bound_method_of_a_list() -> Made:
    d = [1.0, 2.0]
    get = d.__getitem__
    return lambda x: x * get(0), [lambda: d.__setitem__(0, 4.0)]


@record
def memory() -> Made:
    data = bytearray(np.ones(3).tobytes())
    return lambda x: x * np.frombuffer(data)[0], [lambda: data.__setitem__(slice(0, 8), np.float64(4.0).tobytes())]


@record
def array_of_objects() -> Made:
    class K:
        k = 2.0

    d = np.array([K(), K()], dtype=object)
    return lambda x: x * d[0].k, [lambda: setattr(d[0], "k", 4.0), lambda: setattr(K, "k", 5.0) or delattr(d[0], "k")]


@record
def column_of_a_frame() -> Made:
    pd = pytest.importorskip("pandas")
    df = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 1.0, 1.0]})
    return lambda x: x * df["a"].to_numpy(), [
        lambda: df.__setitem__("a", [4.0, 3.0, 2.0]),
        lambda: df.loc.__setitem__((0, "a"), 9.0),
        lambda: df.__setitem__("a", df["a"] * 2),
    ]


@record
def columns_of_a_frame() -> Made:
    pd = pytest.importorskip("pandas")
    df = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    return lambda x: x * len(df.columns) * ("b" in df), [
        lambda: df.__setitem__("b", 1.0),
        lambda: df.__setitem__("c", 1.0),
    ]


@record
def series() -> Made:
    pd = pytest.importorskip("pandas")
    s = pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])
    return lambda x: x * s["a"], [lambda: s.__setitem__("a", 4.0), lambda: s.update(pd.Series({"a": 7.0}))]


@record
def frame_in_an_object() -> Made:
    pd = pytest.importorskip("pandas")
    held: Any = type("Held", (), {})()
    held.df = pd.DataFrame({"a": [1.0, 2.0, 3.0], "n": ["p", "q", "r"]})
    return lambda x: x * held.df["a"].to_numpy(), [lambda: held.df.__setitem__("a", [4.0, 3.0, 2.0])]


@pytest.mark.ci
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RECORDS)
def test_it_is_traced_again(name: str, way: Any) -> None:
    check(RECORDS[name], way)
