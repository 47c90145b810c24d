"""An iterator gives each element once in a compiled program, too: to whichever loop, call or program asks for it first.

Each record is a program whose value and gradient are those of the eager engine; or which is refused, with what is said.
"""

# ruff: noqa: B007, B905, RUF007, RUF059 (programs as people write them)

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import TraceError

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.array([0.7, -1.3, 2.1, 0.4])
RIGHT: dict[str, Callable[[Any], Any]] = {}
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {}


def right(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    RIGHT[program.__name__.replace("_", " ")] = program
    return program


def refused(says: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    def record(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
        REFUSED[program.__name__.replace("_", " ")] = program, says
        return program

    return record


class Own:
    def __init__(self, x):
        self.x = x
        self.i = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.i >= len(self.x):
            raise StopIteration
        self.i += 1
        return self.x[self.i - 1] * self.i


@right
def two_loops_over_zip(x: Any) -> Any:
    it = zip(x, x[::-1])
    s = 0.0
    for a, b in it:
        s += a * b
    for a, b in it:
        s += 100 * a
    return s


@right
def a_break_at_an_index(x: Any) -> Any:
    it = enumerate(x)
    s = 0.0
    for i, v in it:
        s += i * v
        if i == 1:
            break
    for i, v in it:
        s += 10 * i * v
    return s


@right
def a_break_at_a_value(x: Any) -> Any:
    it = enumerate(x)
    s = 0.0
    for i, v in it:
        s += i * v
        if v < 0:
            break
    for i, v in it:
        s += 10 * i * v
    return s


@right
def next_in_the_loop(x: Any) -> Any:
    it = zip(x, range(4))
    s = 0.0
    for v, i in it:
        s += v * i
        w, j = next(it)
        s += 7 * w * j
    return s


@right
def zip_of_itself(x: Any) -> Any:
    it = enumerate(x)
    s = 0.0
    for (i, a), (j, b) in zip(it, it):
        s += i * a * b + j
    return s


@right
def zip_ends_with_another(x: Any) -> Any:
    e = enumerate(x)
    s = 0.0
    for (i, a), k in zip(e, range(2)):
        s += i * a + k
    for i, a in e:
        s += 10 * i * a
    return s


@right
def zip_takes_one_more(x: Any) -> Any:
    e = enumerate(x)
    s = 0.0
    for k, (i, a) in zip(range(2), e):
        s += i * a + k
    for i, a in e:
        s += 10 * i * a
    return s


@right
def a_loop_in_the_loop(x: Any) -> Any:
    it = enumerate(x)
    s = 0.0
    for i, a in it:
        for j, b in it:
            s += a * b * (j + 1)
    return s


@right
def a_sum_in_the_loop(x: Any) -> Any:
    it = zip(x, x)
    s = 0.0
    for a, b in it:
        s += a + sum((c * d for c, d in it))
    return s


@right
def a_list_of_the_rest(x: Any) -> Any:
    it = enumerate(x)
    s = 0.0
    i, v = next(it)
    rest = list(it)
    for i, w in rest:
        s += w * i
    return s + len(list(it)) + v * 5


@right
def while_with_next(x: Any) -> Any:
    it = zip(x, x)
    s = 0.0
    k = 0
    while True:
        try:
            a, b = next(it)
        except StopIteration:
            break
        s += a * b * k
        k += 1
    return s


@right
def next_with_a_default(x: Any) -> Any:
    it = zip(x, range(4))
    s = 0.0
    while (p := next(it, None)) is not None:
        s += p[0] * p[1]
    return s


@right
def in_a_branch_that_is_known(x: Any) -> Any:
    it = enumerate(x)
    s = 0.0
    if len(x) > 2:
        for i, a in it:
            s += a * i
    for i, a in it:
        s += 100 * a * i
    return s


@right
def in_a_loop(x: Any) -> Any:
    it = enumerate(x)
    s = 0.0
    for k in range(10):
        for i, a in it:
            s += a * (k + 1)
    return s


@right
def an_array_in_a_loop(x: Any) -> Any:
    it = iter(x)
    s = 0.0
    for k in range(10):
        for a in it:
            s += a * (k + 1)
    return s


@right
def a_generator_in_a_loop(x: Any) -> Any:
    it = (v * v for v in x)
    s = 0.0
    for k in range(10):
        for a in it:
            s += a * (k + 1)
    return s


@right
def list_in_a_loop(x: Any) -> Any:
    it = iter([1.0, 2.0, 3.0])
    s = 0.0
    for k in range(10):
        s += sum(list(it)) * x[0] + x[k % 4]
    return s


@right
def a_comprehension_in_a_loop(x: Any) -> Any:
    it = iter([1.0, 2.0, 3.0])
    s = 0.0
    for k in range(10):
        s += sum([c * x[k % 4] for c in it])
    return s


@right
def in_in_a_loop(x: Any) -> Any:
    it = iter(range(100))
    s = 0.0
    for k in range(10):
        s += (3 * k in it) * x[k % 4]
    return s + next(it)


@right
def an_object_in_a_loop(x: Any) -> Any:
    it = Own(x)
    s = 0.0
    for k in range(10):
        for v in it:
            s += v * (k + 1)
    return s


@right
def with_else(x: Any) -> Any:
    it = enumerate(x)
    s = 0.0
    for i, v in it:
        s += v
        if i == 2:
            break
    else:
        s += 100
    for i, v in it:
        s += i * v
    else:
        s += 1000
    return s


@right
def a_long_loop_that_ends_early(x: Any) -> Any:
    y = np.arange(50.0) * x[0]
    it = enumerate(y)
    s = 0.0
    for i, v in it:
        s += v * x[1]
        if i == 20:
            break
    for i, v in it:
        s += i * v
    return s


@right
def long_loops_of_different_length(x: Any) -> Any:
    y = np.arange(50.0) * x[0]
    e = enumerate(y)
    s = 0.0
    for k, (i, v) in zip(range(20), e):
        s += i * v * k
    for i, v in e:
        s += i * x[1] + v * x[2]
    return s


@right
def reversed_in_two_parts(x: Any) -> Any:
    y = np.arange(50.0) * x[0]
    r = reversed(y)
    s = 0.0
    for v, k in zip(r, range(20)):
        s += v * k
    for v in r:
        s += v * x[2]
    return s


@right
def unpacked(x: Any) -> Any:
    it = zip(x, range(4))
    (a, i), *rest = it
    return a + sum((v * k for v, k in rest)) + 100 * len(list(it))


@right
def that_change_their_names(x: Any) -> Any:
    a, b = (enumerate(x), enumerate(x[::-1]))
    s = 0.0
    for k in range(4):
        i, v = next(a)
        s += i * v
        a, b = (b, a)
    return s + sum((v for _, v in a)) * 10


@right
def left_by_an_exception(x: Any) -> Any:
    it = enumerate(x)
    s = 0.0
    try:
        for i, v in it:
            s += v
            if i == 1:
                raise ValueError
    except ValueError:
        pass
    for i, v in it:
        s += 10 * v
    return s


@right
def next_and_continue(x: Any) -> Any:
    it = enumerate(x)
    s = 0.0
    for i, v in it:
        if i == 0:
            next(it)
            continue
        s += i * v
    return s


@right
def any_takes_some(x: Any) -> Any:
    it = enumerate(x)
    s = 0.0
    if any((i == 1 for i, _ in it)):
        s += 1
    for i, v in it:
        s += i * v
    return s


@refused("may leave a map early")
def a_map_left_at_a_value(x: Any) -> Any:
    it = map(lambda v: v * v, x)
    s = 0.0
    for a in it:
        s += a
        if s > 2:
            break
    for a in it:
        s += 10 * a
    return s


@refused("may leave a generator early")
def a_generator_left_at_a_value(x: Any) -> Any:
    it = (v * v for v in x)
    s = 0.0
    for a in it:
        s += a
        if a > 1:
            break
    for a in it:
        s += 10 * a
    return s


@refused("may leave a Own early")
def an_object_left_at_a_value(x: Any) -> Any:
    it = Own(x)
    s = 0.0
    for v in it:
        s += v
        if v < 0:
            break
    for v in it:
        s += 10 * v
    return s


@refused("gives each of them once")
def in_a_branch_on_values(x: Any) -> Any:
    it = zip(x, range(4))
    s = 0.0
    if x[0] > 0:
        for a, i in it:
            s += a * i
    else:
        s = x[0]
    for a, i in it:
        s += 100 * a
    return s


@refused("cannot be run again, because it takes elements of a list_iterator")
def starred_in_a_loop(x: Any) -> Any:
    it = iter([1.0, 2.0, 3.0])
    s = 0.0
    for k in range(10):
        s += len([*it]) * x[0] + x[k % 4]
    return s


@refused("next\\(\\) needs the value")
def next_after_a_return(x: Any) -> Any:

    def first(it):
        for i, v in it:
            if v < 0:
                return v * 2
        return 0.0

    it = enumerate(x)
    return first(it) + 10 * first(it) + 100 * sum((v for _, v in it))


@right
def made_in_a_loop(x: Any) -> Any:
    s = 0.0
    for k in range(20):
        it = enumerate(x)
        i, first = next(it)
        for i, v in it:
            s += v * i * first
    return s


@right
def islice_takes_some(x: Any) -> Any:
    it = enumerate(x)
    s = 0.0
    for i, v in itertools.islice(it, 2):
        s += v
    for i, v in it:
        s += i * v
    return s


@right
def else_after_a_value(x: Any) -> Any:
    it = enumerate(x)
    s = 0.0
    for i, v in it:
        s += v
        if v < -5:
            break
    else:
        s += 100 * x[0]
    for i, v in it:
        s += i * v * 1000
    return s


@right
def a_global(x: Any) -> Any:
    global GIT
    GIT = enumerate(x)
    s = 0.0
    for i, v in GIT:
        s += v
        if i == 1:
            break
    for i, v in GIT:
        s += 10 * v
    return s


@right
def of_run_time_length(x: Any) -> Any:
    n = int(np.argmax(x)) + 1
    s = 0.0
    it = enumerate(range(n))
    for i, k in it:
        s += x[i] * k
    for i, k in it:
        s += 1000
    return s


@right
def a_helper_gets_a_list_and_then_an_iterator(x: Any) -> Any:

    def h(seq):
        s = 0.0
        for k in range(10):
            for v in seq:
                s += v * x[0] * (k + 1)
        return s

    return h([1.0, 2.0, 3.0]) + h(iter([1.0, 2.0, 3.0]))


@right
def a_generator_with_an_array(x: Any) -> Any:

    def relax():
        u = np.zeros(4)
        for k in range(12):
            u[1:] += 0.5 * (x[1:] - u[:-1])
            yield np.sum(u * u)

    for k, r in enumerate(relax()):
        if r > 3:
            break
    return r * x[2] + k


@right
def a_generator_with_a_list(x: Any) -> Any:

    def g():
        hist = []
        u = x[0]
        for k in range(30):
            hist.append(u)
            u = 0.9 * hist[-1]
            yield u

    for u in g():
        if u < 0.3:
            break
    return u * x[2]


@right
def left_and_not_read_again(x: Any) -> Any:
    s = 0.0
    it = map(lambda v: v * v, x)
    for v in it:
        s += v
        if v > 1:
            break
    return s


@right
def an_object_that_makes_generators(x: Any) -> Any:

    class Own:
        def __iter__(self):
            for v in x:
                yield (v * 2)

    o = Own()
    s = 0.0
    for v in o:
        if v < 0:
            break
        s += v
    for v in o:
        s += v
    return s


@refused("may have left early")
def left_at_a_value_in_a_loop(x: Any) -> Any:
    s = 0.0
    for k in range(20):
        it = zip(x, x[1:])
        for a, b in it:
            s += a * b
            if s > 3:
                break
        for a, b in it:
            s += 0.1 * a
    return s


@pytest.mark.ci
@pytest.mark.parametrize("name", RIGHT)
def test_elements_are_given_once(name: str) -> None:
    program = RIGHT[name]
    value, gradient = bridge.value_and_grad(program)(X)
    fast = bridge.value_and_grad(program, engine="xla")
    for _ in range(2):
        found = fast(X)
        assert float(found[0]) == pytest.approx(float(value)) == float(bridge.xla(program)(X))
        np.testing.assert_allclose(found[1], gradient, atol=1e-12)


@pytest.mark.ci
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_followed_is_refused(name: str) -> None:
    program, says = REFUSED[name]
    with pytest.raises(TraceError, match=says) as caught:
        bridge.value_and_grad(program, engine="xla")(X)
    assert __file__ in str(caught.value) and caught.value.remedy
