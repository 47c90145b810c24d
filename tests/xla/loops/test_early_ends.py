"""`any` and `all` end at the first element that decides, and loops where they break: what comes behind does not happen.

Each record is a program whose value and gradient are those of the eager engine; or which is refused, with what is said.
"""

# ruff: noqa: B007, B023, RUF018, SIM108 (programs as people write them)

from __future__ import annotations

import heapq
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


@right
def an_index_behind_the_end(x: Any) -> Any:
    y = x[:3]
    r = any(y[i] < 0 for i in range(6))
    return x[0] * (2 if r else 3)


@right
def an_index_of_a_list_behind_the_end(x: Any) -> Any:
    y = [x[0], x[1]]
    r = all(y[i] > 0 for i in range(6))
    return x[0] * (2 if r else 3)


@right
def a_key_behind_the_end(x: Any) -> Any:
    d = {0: x[0], 1: x[1]}
    r = any(d[i] < 0 for i in range(6))
    return x[0] * (2 if r else 3)


@right
def an_error_behind_the_end(x: Any) -> Any:

    def t(v):
        if v > 1:
            raise ValueError("big")
        return v < 0

    r = any(t(v) for v in x)
    return x[0] * (2 if r else 3)


@right
def a_division_behind_the_end(x: Any) -> Any:
    r = any(x[i] > 1 // (2 - i) - 1.5 for i in range(4))
    return x[0] * (2 if r else 3)


@right
def an_assertion_behind_the_end(x: Any) -> Any:

    def t(v):
        assert v < 2
        return v < 0

    return x[0] * (2 if any(t(v) for v in x) else 3)


@right
def guards(x: Any) -> Any:
    ok = np.array([1.0, 2.0])
    n = 2
    r = all(i < n and x[i] > 0 and (ok[i] > 0) for i in range(4))
    return x[0] * (2 if r else 3)


@right
def a_list_is_all_made(x: Any) -> Any:
    n = []
    r = any([n.append(1) or v < 0 for v in x])
    return x[0] * len(n) + r


@right
def a_chain_of_comparisons(x: Any) -> Any:
    n = 0

    def f(v):
        nonlocal n
        n += 1
        return v

    r = x[0] < f(x[1]) < f(x[2]) < f(x[3])
    return x[0] * n + r


@right
def a_chain_of_or(x: Any) -> Any:
    n = 0

    def t(v):
        nonlocal n
        n += 1
        return v

    r = t(x[1] > 0) or t(x[0] > 0) or t(x[2] > 0)
    return x[0] * n + r


@refused("does more than to give it: it changes list")
def a_list_that_grows(x: Any) -> Any:
    log = []

    def t(v):
        log.append(1)
        return v > 0.5

    r = any(t(v) for v in x)
    return x[0] * len(log) + r


@refused("does more than to give it: it changes")
def a_counter(x: Any) -> Any:
    n = 0

    def t(v):
        nonlocal n
        n += 1
        return v < 0

    r = any(t(v) for v in x)
    return x[0] * n + r


@refused("does more than to give it: it changes C.n")
def an_attribute(x: Any) -> Any:

    class C:
        n = 0

    c = C()

    def t(v):
        c.n += 1
        return v < 0

    any(t(v) for v in x)
    return x[2] * c.n


@refused("does more than to give it: it writes into an array")
def an_array(x: Any) -> Any:
    y = np.zeros(4)

    def t(i):
        y[i] = x[i] * 3
        return x[i] < 0

    r = any(t(i) for i in range(4))
    return np.sum(y * y) + r


@refused("does more than to give it: it changes")
def a_map(x: Any) -> Any:
    n = 0

    def t(v):
        nonlocal n
        n += 1
        return v < 0

    r = any(map(t, x))
    return x[0] * n + r


@refused("does more than to give it: it changes list")
def a_generator_function(x: Any) -> Any:
    n = [0]

    def g():
        for v in x:
            n[0] += 1
            yield (v < 0)

    r = any(g())
    return x[0] * n[0] + r


@refused("does more than to give it: it changes list")
def pop(x: Any) -> Any:
    st = [1.0, 2.0, 3.0, 4.0, 5.0]
    r = all(v * st.pop() > 0 for v in x)
    return x[0] * sum(st) + r


@refused("it calls next")
def another_iterator(x: Any) -> Any:
    it = iter([1.0, 2.0, 3.0, 4.0, 5.0])
    r = any(v * next(it) < 0 for v in x)
    return x[0] * sum(it) + r


@refused("may leave a generator early")
def an_iterator_that_is_read_again(x: Any) -> Any:
    it = iter(x)
    r = any(v < 0 for v in it)
    return sum(it) * x[0] + r


@refused("may have left early")
def enumerate_that_is_read_again(x: Any) -> Any:
    it = enumerate(x)
    r = any((v < 0 for i, v in it))
    return sum((i * v for i, v in it)) * x[0] + r


@refused("does more than to give it: it changes list")
def a_condition(x: Any) -> Any:
    n = []

    def c(v):
        n.append(1)
        return v < 2

    r = any(v < 0 for v in x if c(v))
    return x[0] * len(n) + r


@refused("does more than to give it: it changes list")
def in_a_comprehension(x: Any) -> Any:
    n = []
    r = [any(n.append(1) or v < w for v in x) for w in x]
    return x[0] * len(n) + sum(r)


@right
def names_of_any(x: Any) -> Any:
    if any((h := v) > 1 for v in x):
        return h**2
    return 0.0 * x[0]


@right
def names_of_all(x: Any) -> Any:
    if all((h := v) > 0 for v in x):
        return h**2
    return h * x[0]


@right
def names_and_a_condition(x: Any) -> Any:
    h = x[3]
    r = any((h := (v * v)) > 1 for v in x if v < 2)
    return h * x[0] + r


@right
def names_of_an_enclosing_function(x: Any) -> Any:

    def f(y):
        nonlocal h
        return any((h := v) < 0 for v in y)

    h = x[0]
    r = f(x)
    return h * x[2] + r


@right
def names_in_elif(x: Any) -> Any:
    if x[0] < 0:
        return x[1]
    elif any((h := v) < 0 for v in x):
        return h * h
    return x[2]


@right
def names_of_two_loops(x: Any) -> Any:
    h = k = x[0]
    r = any((h := a) * (k := b) < -2 for a in x for b in x)
    return h * 10 + k + r


@right
def names_and_an_iterator(x: Any) -> Any:
    it = enumerate(x)
    if any(((h := v) < 0 for i, v in it)):
        s = h
    else:
        s = x[0]
    for i, v in it:
        s += i * v
    return s


@right
def a_name_that_counts(x: Any) -> Any:
    n = 0
    if any((n := (n + 1)) and v > 1 for v in x):
        return x[0] * n
    return x[1] * n


@right
def names_in_an_assertion(x: Any) -> Any:
    assert any((h := v) < 0 for v in x)
    return h * h


@right
def a_generator_with_a_name(x: Any) -> Any:
    checks = (v > 2 for v in x)
    return x[0] * (2 if any(checks) else 3)


@right
def objects_of_their_own(x: Any) -> Any:

    class P:
        def __init__(self, v):
            self.v = v

        def ok(self):
            return self.v < 2

    return x[0] * (2 if all(P(v).ok() for v in x) else 3)


@right
def state_of_their_own(x: Any) -> Any:

    def ok(v):
        t = []
        t.append(v)
        a = np.zeros(2)
        a[0] = v
        a += 1
        return a[0] + t[0] < 2

    return x[0] * (2 if all(ok(v) for v in x) else 3)


@right
def any_of_any(x: Any) -> Any:
    return x[0] * (2 if any(any(v * w > 4 for w in x) for v in x) else 3)


@refused("does more than to give it: it changes list")
def a_library_that_changes_a_list(x: Any) -> Any:
    h = [3, 1, 2]
    heapq.heapify(h)
    r = any(v * heapq.heappop(h) < -1 for v in x[:3])
    return x[0] * len(h) + r


@right
def guards_in_a_loop(x: Any) -> Any:
    s = 0.0
    for k in range(30):
        if all(x[i] < k and i > 1 for i in range(4)):
            s = s + x[k % 4]
        if any(x[i] * s > k or i > 2 for i in range(4)):
            s = s + x[0]
    return s


@right
def arrays_of_their_own_in_a_loop(x: Any) -> Any:

    def norm(a):
        t = np.zeros(2)
        t[0] = a
        t[1] = 2 * a
        return np.sum(t)

    s = 0.0
    for k in range(30):
        if any(norm(v) > 0.1 * k for v in x):
            s = s + x[k % 4]
    return s


@right
def names_in_a_loop(x: Any) -> Any:
    n = 0
    s = 0.0
    for k in range(12):
        if any((n := (n + 1)) and v > 1 for v in x):
            s = s + n * x[0]
    return s


@right
def generators_in_a_loop(x: Any) -> Any:
    s = 0.0
    for k in range(20):

        def g():
            for v in x:
                yield (v * k)

        for v in g():
            if v > 10:
                break
            s = s + v
    return s


@pytest.mark.ci
@pytest.mark.parametrize("name", RIGHT)
def test_what_comes_behind_does_not_happen(name: str) -> None:
    program = RIGHT[name]
    value, gradient = bridge.value_and_grad(program)(X)
    fast = bridge.value_and_grad(program, engine="xla")
    for _ in range(2):
        found = fast(X)
        assert float(found[0]) == pytest.approx(float(value)) == float(bridge.xla(program)(X))
        np.testing.assert_allclose(found[1], gradient, atol=1e-12)


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_happen_is_refused(name: str) -> None:
    program, says = REFUSED[name]
    with pytest.raises(TraceError, match=says) as caught:
        bridge.value_and_grad(program, engine="xla")(X)
    assert __file__ in str(caught.value) and caught.value.remedy
