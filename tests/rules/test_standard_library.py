"""Python's standard library in programs that are read: what works by itself, and what has stand-ins."""

from __future__ import annotations

import bisect
import cmath
import collections
import copy
import datetime
import decimal
import fractions
import functools
import heapq
import itertools
import json
import math
import operator
import pickle
import random
import statistics
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import EscapeError, RefusedError
from tests.helpers.by_differences import agrees

P = np.array([0.61, 1.27, 0.83])


def sums(p: Any) -> Any:
    squares = [x * x for x in p]
    return sum(p) + sum(squares, p[0]) + math.fsum(squares) + math.prod([p[0], p[1], 2]) + math.prod(p)


def sums_of_iterators(p: Any) -> Any:
    return math.fsum(x * x for x in p) * math.prod(x + 1 for x in p) + statistics.mean(x**3 for x in p)


def ordering(p: Any) -> Any:
    s = sorted([p[2], p[0] * 3, p[1]])
    least = min([p[0] * 2, p[2]], key=lambda v: -v)
    return s[0] + s[1] * 2 + s[2] * 3 + min(p[0], p[1]) + max(p) * 2 + least


def builtin(p: Any) -> Any:
    quotient, rest = divmod(p[1] * 7, 2.0)
    return abs(-p[0]) + pow(p[0], 3) + pow(p[1], p[2]) + rest * quotient + round(p[0]) * p[1] + p[1] % 0.3


def folds(p: Any) -> Any:
    products = list(itertools.accumulate([p[0], p[1], p[2]], operator.mul))
    return functools.reduce(lambda a, b: a * b + 1, p) + products[-1] + list(itertools.accumulate(p))[1]


def operators(p: Any) -> Any:
    quotient = operator.add(p[0], p[1]) * operator.truediv(p[1], p[2])
    return quotient - operator.pow(p[0], 2) + operator.itemgetter(1)(p) * operator.neg(p[0])


def queues(p: Any) -> Any:
    heap = [p[2], p[0] * 5]
    heapq.heapify(heap)
    heapq.heappush(heap, p[1] * 2)
    least = heapq.heappop(heap)
    ordered = [p[0]]
    bisect.insort(ordered, p[1])
    return least * 3 + bisect.bisect([0.1, 0.5, 2.0], p[0]) * p[0] + ordered[0] * 7


class Holder:
    pass


def copies(p: Any) -> Any:
    holder = Holder()
    holder.values, holder.nested = p * 2, [p[0], {"a": p[1]}]
    deep, shallow = copy.deepcopy(holder), copy.copy(holder)
    deep.values[0] = 5.0
    deep.nested[1]["a"] *= 2
    return np.sum(holder.values) * p[0] + np.sum(deep.values) + deep.nested[1]["a"] ** 2 + shallow.values[1]


Pair = collections.namedtuple("Pair", "a b")


def containers(p: Any) -> Any:
    last = collections.deque(maxlen=2)
    for x in p:
        last.append(x * x)
    table = collections.defaultdict(float)
    table["k"] += p[0]
    table["k"] += p[1]
    pair = Pair(p[0], p[1])._replace(a=p[2])
    counter = collections.Counter()
    counter["z"] += p[0] * 2
    chained = sum(itertools.chain([p[0]], [p[1]])) + next(itertools.islice(p, 1, None))
    return last[0] * last[1] + table["k"] ** 2 + pair.a * pair.b + counter["z"] + chained


def elementary(p: Any) -> Any:
    a, b, c = p
    mantissa, exponent = math.frexp(a * 5)
    fraction, whole = math.modf(b * 3)
    found = math.hypot(a, b, c) + math.dist([a, b], [c, 1.0]) + math.log(a * 3, b + 2) + math.log(c) + math.pow(a, b)
    found += math.atan2(a, b) + mantissa * fraction + exponent * whole * a + math.floor(a * 4) * b + math.ceil(b) * c
    found += math.degrees(a) + math.ldexp(c, 2) + math.copysign(a, -b) + math.fmod(b * 5, a) + math.trunc(c * 3) * a
    return found + (a if math.isclose(a, b) or math.isnan(c) else b * b)


def special(p: Any) -> Any:
    return math.gamma(p[0]) * math.lgamma(p[1]) + math.erf(p[2]) * math.erfc(p[0]) + math.sqrt(p[1]) * math.exp(-p[2])


def of_complex(p: Any) -> Any:
    z = p[0] + 1j * p[1]
    w = cmath.exp(z) * cmath.log(z) + cmath.sqrt(p[2]) + cmath.rect(p[0], p[1]) + cmath.log(z, 2.0)
    length, angle = cmath.polar(w)
    return length + cmath.phase(z) * angle + w.imag + cmath.sin(p[0]).real


def draws(p: Any) -> Any:
    random.seed(3)
    generator = random.Random(1)
    found = random.gauss(p[0], p[1]) + generator.uniform(p[0], p[2]) * generator.normalvariate(p[1], 2.0)
    return found + random.expovariate(p[2]) + random.lognormvariate(p[0], 0.5)


def text(p: Any) -> Any:
    shown = json.loads(json.dumps({"a": bridge.detach(p[0]), "b": [bridge.detach(p[1])]}))
    return p[2] * (1 if shown["b"][0] > 1 else 2)


STATISTICS: dict[str, Callable[[Any], Any]] = {
    "mean": lambda p: statistics.mean([p[0], p[1], p[2] * 2, 1.5]) * p[0],
    "fmean": lambda p: statistics.fmean([p[0], p[1], p[2] * 2, 1.5]) * p[0],
    "geometric_mean": lambda p: statistics.geometric_mean([p[0], p[1], p[2] * 2, 1.5]) * p[0],
    "harmonic_mean": lambda p: statistics.harmonic_mean([p[0], p[1], p[2] * 2, 1.5]) * p[0],
    "median": lambda p: statistics.median([p[0], p[1], p[2] * 2, 1.5]) * p[0],
    "median_low": lambda p: statistics.median_low([p[0], p[1], p[2] * 2, 1.5]) * p[0],
    "median_high": lambda p: statistics.median_high([p[0], p[1], p[2] * 2, 1.5]) * p[0],
    "variance": lambda p: statistics.variance([p[0], p[1], p[2] * 2, 1.5]) * p[0],
    "pvariance": lambda p: statistics.pvariance([p[0], p[1], p[2] * 2, 1.5]) * p[0],
    "stdev": lambda p: statistics.stdev([p[0], p[1], p[2] * 2, 1.5]) * p[0],
    "pstdev": lambda p: statistics.pstdev([p[0], p[1], p[2] * 2, 1.5]) * p[0],
    "of an array": lambda p: statistics.mean(p) + statistics.stdev(p),
    "about a mean": lambda p: statistics.pvariance([p[0], p[1], 2.0], mu=p[2]),
    "weighted": lambda p: statistics.fmean([p[0], p[1]], weights=[p[2], 1.0]),
    "correlation": lambda p: statistics.correlation([p[0], p[1], p[2], 0.5], [p[2] * p[0], 1.0, 2.0, 4.0]),
    "covariance": lambda p: statistics.covariance([p[0], p[1], p[2], 0.5], [p[2] * p[0], 1.0, 2.0, 4.0]),
}
PROGRAMS = (
    sums, sums_of_iterators, ordering, builtin, folds, operators, queues, copies, containers, elementary, special,
    of_complex, draws, text,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: Callable[[Any], Any]) -> None:
    agrees(program, P, 1e-6, bits=program is not copies)


@pytest.mark.parametrize("program", STATISTICS.values(), ids=STATISTICS)
def test_statistics(program: Callable[[Any], Any]) -> None:
    agrees(program, P)


ONE_NUMBER = [
    name
    for name in dir(math)
    if callable(getattr(math, name)) and name not in ("acosh", "comb", "factorial", "gcd", "isqrt", "lcm", "perm")
]


@pytest.mark.parametrize("name", ONE_NUMBER)
def test_every_function_of_math_is_known(name: str) -> None:
    """It has Python's value, to the bit, or refuses by name; none takes a tracked number unseen."""
    function = getattr(math, name)
    for args in ((0.61,), (0.61, 1.27), (0.61, 1.27, 0.83), ([0.61, 1.27],), ([0.61], [1.27])):
        try:
            expected = function(*args)
        except (TypeError, ValueError):
            continue

        def program(p: Any, args: tuple[Any, ...] = args) -> Any:
            given = [[p[0] * y for y in x] if isinstance(x, list) else p[0] * x for x in args]
            return p[0], function(*given)

        if name == "nextafter":
            with pytest.raises(RefusedError, match=r"math\.nextafter of a tracked number"):
                bridge.vjp(program, np.array([1.0]))
            continue
        found = bridge.vjp(program, np.array([1.0]))[0][1]
        assert found == expected and type(found) in (type(expected), np.float64)


def test_math_is_weak_in_promotion() -> None:
    def program(x: Any) -> Any:
        return np.float32(2) * np.ones(2, np.float32) * math.sin(x[0])

    assert bridge.vjp(program, P)[0].dtype == program(P).dtype == np.float32


def test_math_compiles() -> None:
    pytest.importorskip("jax")

    def program(p: Any) -> Any:
        return math.sin(p[0]) * math.log(p[1]) + math.hypot(p[0], p[1], p[2]) ** 2 + math.atan2(p[0], p[2])

    np.testing.assert_allclose(bridge.grad(program, engine="xla")(P), bridge.grad(program)(P), rtol=1e-12)


def test_lengths_of_one_number_are_not_negative_where_they_are_compiled() -> None:
    pytest.importorskip("jax")

    def program(p: Any) -> Any:
        return math.dist([p[0]], [p[1]]) + 2 * math.hypot(p[0])

    compiled = bridge.value_and_grad(program, engine="xla")
    for p in (np.array([0.5, 0.25]), np.array([-0.5, 1.5])):
        value, gradient = compiled(p)
        assert value == pytest.approx(program(p))
        np.testing.assert_allclose(gradient, bridge.grad(program)(p))


def test_errors_are_those_of_python() -> None:
    with pytest.raises(ValueError, match=r"math domain error|expected a positive input"):
        bridge.grad(lambda p: math.log(-p[0]))(P)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "Fraction": (lambda p: fractions.Fraction(p[0]), r"fractions\.Fraction of a tracked number(.|\n)*bridge\.detach"),
    "Decimal": (lambda p: decimal.Decimal(p[0]), r"decimal\.Decimal of a tracked number(.|\n)*bridge\.detach"),
    "timedelta": (lambda p: datetime.timedelta(seconds=p[0]), r"datetime\.timedelta of a tracked number(.|\n)*floats"),
    "hex": (lambda p: p[0].hex(), r"leaves tracking through hex\(\)"),
    "float.hex": (lambda p: float.hex(p[0]), r"leaves tracking through hex\(\)"),
    "ratio": (lambda p: p[0].as_integer_ratio(), r"leaves tracking through as_integer_ratio\(\)"),
    "float.ratio": (lambda p: float.as_integer_ratio(float(p[0])), r"leaves tracking through as_integer_ratio\(\)"),
    "pickle": (lambda p: pickle.dumps(p[0]), r"cannot be pickled"),
    "struct": (lambda p: struct.pack("d", p[0]), r"leaves tracking"),
    "betavariate": (lambda p: random.betavariate(p[0], 1.0), r"random\.betavariate of a tracked number"),
    "mode": (lambda p: statistics.mode(list(p)), r"statistics\.mode of a tracked number(.|\n)*np\.quantile"),
    "choices": (lambda p: random.choices([1, 2], weights=[p[0], p[1]]), r"random\.choices of a tracked number"),
    "index": (lambda p: operator.index(p[0]), r"operator\.index of a tracked number"),
}


def test_whether_a_float_is_whole() -> None:
    assert bridge.grad(lambda p: p[0] * (3.0 if float.is_integer(float(p[1])) else 2.0))(np.array([1.5, 4.0]))[0] == 3.0


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(call: Callable[[Any], Any], message: str) -> None:
    def program(p: Any) -> Any:
        call(p)
        return p[0]

    with pytest.raises((RefusedError, EscapeError), match=message):
        bridge.grad(program)(P)
