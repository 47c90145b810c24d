"""Patterns of `match`: a tracked value matches as a NumPy array or a Python number does."""

from __future__ import annotations

import collections.abc
import importlib.util
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import TraceError

ENGINES = ("native", "jax", "xla") if importlib.util.find_spec("jax") is not None else ("native",)
X = np.array([3.0, 1.0, 2.0, 5.0])


@dataclass
class P:
    x: object
    y: object


def match_seq(x):
    match x:
        case [a, b, *rest]:
            return np.sum(x**2) * 3 + a * b * len(rest)
        case _:
            return np.sum(x)


def match_cls(x):
    match x * 2:
        case np.ndarray():
            return np.sum(x)
        case _:
            return np.sum(x) * 5


def match_as(x):
    match x * 2:
        case np.ndarray() as y:
            return np.sum(y**2)
        case _:
            return np.sum(x) * 5


def match_or(x):
    match x[1]:
        case int() | float():
            return x[0] * 3
        case _:
            return np.sum(x) * 5


def match_float(x):
    match x[1] * x[2]:
        case float(f):
            return f * x[0]
        case _:
            return np.sum(x) * 5


def match_nested(x):
    match {"a": x, "k": "sum"}:
        case {"a": np.ndarray() as y, "k": "sum"}:
            return np.sum(y * y)
        case _:
            return x[0]


def match_list(x):
    match [x[0], x[1]]:
        case [float(p), float(q)]:
            return p * q
        case [p, q]:
            return p + q


def match_data(x):
    match P(x[0], x):
        case P(float(a), np.ndarray()):
            return a * x[1]
        case P(a, b):
            return a + b[0]


def match_kw(x):
    match P(x[0], x):
        case P(x=numbers.Real() as a, y=[_, _]):
            return a
        case P(x=numbers.Real() as a):
            return a * 7
        case _:
            return x[1]


def match_tree(x):
    def total(t):
        match t:
            case dict():
                return sum(total(v) for v in t.values())
            case list() | tuple():
                return sum(total(v) for v in t)
            case np.ndarray():
                return np.sum(t**2)
            case float() | np.floating():
                return t * 3
            case _:
                return 100 * np.sum(t)

    return total({"a": [x, x[0]], "b": (x * 2,)})


def match_loop(x):
    t = 0.0
    for i in range(4):
        match x[i] * 1.0:
            case float(v) if v > 1.5:
                t = t + v * v
            case float(v):
                t = t - v
            case _:
                t = t + 100
    return t


def match_loop2(x):
    t = x * 0.0
    for i in range(3):
        match t:
            case np.ndarray():
                t = t + x * i
            case _:
                t = t - x
    return np.sum(t)


def match_scratch(x):
    a = np.zeros(2)
    match a:
        case np.ndarray(shape=(2,)):
            a[0] = x[0]
            a[1] = x[1] ** 2
        case _:
            return x[3]
    return np.sum(a)


def match_attr(x):
    match x:
        case np.ndarray(ndim=1, size=n):
            return np.sum(x) * n
        case _:
            return x[0]


def match_seqabc(x):
    match x:
        case collections.abc.Sequence():
            return x[0]
        case collections.abc.Iterable():
            return x[1] * 2
        case _:
            return x[2]


def match_local(x):
    from numpy import ndarray as A

    def f(y):
        match y:
            case A():
                return np.sum(y * y)
        return y[0]

    return f(x)


def match_0d(x):
    match np.asarray(np.sum(x * x)):
        case np.ndarray():
            return x[0] * 2
        case np.float64():
            return x[1]
        case _:
            return x[2]


def match_gen(x):
    def g():
        for v in x:
            match v:
                case float():
                    yield v * 2
                case _:
                    yield v * 100

    return sum(g())


class M:
    def __init__(s, x):
        s.x = x

    def f(s):
        match s.x:
            case [*all]:
                return sum(all) * 2
            case np.ndarray():
                return np.sum(s.x) * 3


def match_method(x):
    return M(x).f()


def match_two(x):
    match x, x[0]:
        case np.ndarray(), float():
            return x[0] * x[1]
        case _:
            return x[2]


def match_complex(x):
    match (x[0] + 1j * x[1]) * 2:
        case complex():
            return x[0] ** 2
        case _:
            return x[1]


def match_f32(x):
    match x.astype(np.float32)[0]:
        case float():
            return x[0]
        case np.float32():
            return x[1] * 2
        case _:
            return x[2]


def match_seq2(x):
    match x.reshape(2, 2):
        case [[a, b], [c, d]]:
            return a * d - b * c
        case _:
            return x[0]


def match_guard(x):
    match x:
        case np.ndarray() if len(x) > 9:
            return x[0]
        case object():
            return x[1] * x[2]


PROGRAMS = [found for name, found in globals().items() if name.startswith("match_")]


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_pattern_matches_as_in_the_plain_program(program: Callable[..., Any]) -> None:
    engines = [engine for engine in ENGINES if engine != "xla" or program is not match_loop]
    report = bridge.crosscheck(program, engines, shrink=False)(X)
    assert report.ok and not report.differences, str(report)


@pytest.mark.skipif("xla" not in ENGINES, reason="JAX is not installed (pip install jax)")
def test_a_guard_on_traced_values_is_refused_by_name() -> None:
    with pytest.raises(TraceError, match="a condition"):
        bridge.grad(match_loop, engine="xla")(X)


def test_derivatives_of_derivatives_and_along_directions() -> None:
    hessian = bridge.hessian(match_as)(X)
    np.testing.assert_allclose(hessian, 8 * np.eye(4))
    _, moved = bridge.jvp(match_float, (X,), (np.ones(4),))
    assert moved == 2.0 * 3 + 1.0 * 3 + 1.0 * 2


def test_sequences_are_what_numpy_says() -> None:
    """Since NumPy 2.5 an array matches the pattern of a sequence; a number never does."""

    def lengths(x: Any) -> list[str]:
        found = []
        for value in (x, x[0], x[:0], x.reshape(2, 2)):
            match value:
                case []:
                    found.append("empty")
                case [_, _]:
                    found.append("two")
                case [_, *_]:
                    found.append("more")
                case _:
                    found.append("none")
        return found

    seen = []

    def program(x: Any) -> Any:
        seen.append(lengths(x))
        return np.sum(x)

    bridge.grad(program)(X)
    assert seen == [lengths(X)]
