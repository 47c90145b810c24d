"""Arrays that a branch or a turn may have given another name, and that the program can still reach by their own.

A write would be seen by the other name or not, and which it is depends on values: an error, or NumPy's value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError, TraceError

pytest.importorskip("jax", reason="JAX is not installed: branches were not compiled (pip install jax)")

X = np.array([0.3, -0.7, 1.1, 0.5, 0.9, -0.2])
PROGRAMS: list[Callable[[Any], Any]] = []


def program(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS.append(f)
    return f


@program
def side_shares(x):
    a = x * 1
    b = x * 3
    if x[0] > 0:
        t = x * 2
        a = t
        b = t
    a[0] = 7.0
    return np.sum(a * b * x)


@program
def side_shares_attr(x):
    class S:
        pass

    s = S()
    s.a = x * 1
    s.b = x * 2
    if x[0] > 0:
        t = x * 2
        s.a = t
        s.b = t
    s.a[0] = 7.0
    return np.sum(s.a * s.b * x)


@program
def side_same_old_kept(x):
    a = x * 1
    z = x * 2
    if x[0] > 0:
        a = z
    a[0] = 7.0
    return np.sum(a * z * x)


@program
def view_kept(x):
    y = x.copy()
    v = y[1:]
    if x[0] > 0:
        y = y * 2
    y[1] = 5.0
    return np.sum(v * y[1:])


@program
def list_kept(x):
    y = x.copy()
    L = [y]
    if x[0] < 0:
        y = y * 2
    y[1] = 5.0
    return np.sum(L[0] * y)


@program
def closure_kept(x):
    y = x.copy()
    z = y

    def g():
        return np.sum(z)

    if x[0] < 0:
        y = y * 2
    y[1] = 5.0
    return g() * np.sum(y)


@program
def attr_kept(x):
    class S:
        pass

    s = S()
    s.y = x.copy()
    y = s.y
    if x[0] < 0:
        y = y * 2
    y[1] = 5.0
    return np.sum(s.y * y)


@program
def caller_kept2(x):
    y = x.copy()

    def lim(u):
        if np.sum(u) < 0.1:
            u = u * 0.5
        u[0] = 1.0
        return u

    r = lim(y)
    return np.sum(r * y)


@program
def caller_view_temp(x):
    y = x.copy()

    def lim(u):
        if np.sum(u) < 0.1:
            u = u * 0.5
        u[0] = 1.0
        return u

    return np.sum(lim(y[1:]) * x[1:]) + y[1]


@program
def rows_of_same(x):
    s = 0.0
    for row in [x * 1] * 2:
        if row[1] > 0:
            row = row * 2
        row[0] += 1.0
        s = s + np.sum(row * x)
    return s


@program
def later_write_older2(x):
    y = x.copy()
    z = y
    if x[0] > 5:
        y = y * 2
    z[0] = 3.0
    return np.sum(y * x) + np.sum(z)


@program
def default_kept(x):
    y = x.copy()

    def g(z=y):
        return np.sum(z)

    if x[0] > 5:
        y = y * 2
    y[0] = 3.0
    return g() * np.sum(y)


@program
def dict_kept(x):
    d = {"a": x.copy()}
    y = d["a"]
    if x[0] > 5:
        y = y * 2
    y[0] = 3.0
    return np.sum(d["a"] * y)


@program
def iter_kept(x):
    it = iter([x.copy()] * 2)
    y = next(it)
    if x[0] > 5:
        y = y * 2
    y[0] = 3.0
    return np.sum(next(it) * y)


@program
def gen_kept(x):
    def gen(u):
        yield u
        yield u

    it = gen(x.copy())
    y = next(it)
    if x[0] > 5:
        y = y * 2
    y[0] = 3.0
    return np.sum(next(it) * y)


@program
def partial_kept(x):
    y = x.copy()
    h = functools.partial(np.sum, y)
    if x[0] > 5:
        y = y * 2
    y[0] = 3.0
    return h() * np.sum(y)


@program
def method_kept(x):
    y = x.copy()
    h = y.sum
    if x[0] > 5:
        y = y * 2
    y[0] = 3.0
    return h() * np.sum(y)


@program
def slots_kept(x):
    class S:
        __slots__ = ("u",)

    s = S()
    s.u = x.copy()
    y = s.u
    if x[0] > 5:
        y = y * 2
    y[0] = 3.0
    return np.sum(s.u * y)


@program
def class_kept(x):
    class S:
        pass

    S.u = x.copy()
    y = S.u
    if x[0] > 5:
        y = y * 2
    y[0] = 3.0
    return np.sum(S.u * y)


@program
def func_attr_kept(x):
    def h():
        return np.sum(h.u)

    h.u = x.copy()
    y = h.u
    if x[0] > 5:
        y = y * 2
    y[0] = 3.0
    return h() * np.sum(y)


@program
def stack_temp(x):
    def both(a, b):
        return np.sum(a * b)

    hold = [x.copy()]

    def h():
        y = hold[0]
        if x[0] > 5:
            y = y * 2
        y[0] = 3.0
        return y

    return both(hold[0], h())


@program
def stack_temp_popped(x):
    def both(a, b):
        return np.sum(a * b)

    hold = [x.copy()]
    more = [hold[0]]

    def h():
        y = more.pop()
        if x[0] > 5:
            y = y * 2
        y[0] = 3.0
        return y

    return both(hold.pop(), h())


@program
def while_alias(x):
    u = x.copy()
    w = u
    k = 0
    while np.sum(u * u) > 0.5 and k < 20:
        u[0] *= 0.5
        u = u * 0.9
        k += 1
    return np.sum(u * w)


@program
def while_swap_alias(x):
    a = x.copy()
    b = np.zeros_like(x)
    c = a
    k = 0
    while np.sum(a * a) > 0.2 and k < 20:
        b[:] = 0.8 * a
        a, b = b, a
        k += 1
    return np.sum(a * a) + np.sum(b) + np.sum(c * x)


@program
def break_first_alias(x):
    u = x.copy()
    w = u
    for _i in range(20):
        if u[0] < 0.5:
            break
        u = u * 0.9
    u[1] = 5.0
    return np.sum(w * u * x)


@program
def while_zero_alias(x):
    u = x.copy()
    w = u
    while np.sum(u) > 100.0:
        u = u * 0.9
    u[1] = 5.0
    return np.sum(w * u * x)


@program
def while_swap_views(x):
    a = x.copy()
    b = x * 0.1
    v = a[1:]
    k = 0
    while np.sum(a * a) > 0.3 and k < 30:
        b[:] = a * 0.9
        a, b = b, a
        k += 1
    return np.sum(a * b) + np.sum(v * v)


@program
def while_swap_list(x):
    a = x.copy()
    b = x * 0.1
    L = [a]
    k = 0
    while np.sum(a * a) > 0.3 and k < 30:
        b[:] = a * 0.9
        a, b = b, a
        k += 1
    return np.sum(a * b) + np.sum(L[0] * x)


@program
def while_swap_inner_read(x):
    a = x.copy()
    b = x * 0.1
    L = [a]
    k = 0
    while np.sum(a * a) > 0.3 and k < 30:
        b[:] = a * 0.9 + 0.01 * L[0]
        a, b = b, a
        k += 1
    return np.sum(a * b)


@program
def while_swap_attr_alias(x):
    class S:
        pass

    s = S()
    s.a = x.copy()
    s.b = x * 0.1
    k = 0
    w = s.a
    while np.sum(s.a * s.a) > 0.3 and k < 30:
        s.b[:] = s.a * 0.9
        s.a, s.b = s.b, s.a
        k += 1
    return np.sum(s.a * s.b * x) + np.sum(w)


@program
def while_reverse_alias(x):
    a = x.copy()
    k = 0
    w = a
    while np.sum(a * a) > 0.3 and k < 30:
        a[0] *= 0.8
        a = a[::-1]
        k += 1
    return np.sum(a * x) + np.sum(w * w * x)


@program
def step_method_stack(x):
    class S:
        def __init__(s, u):
            s.u = u

        def step(s):
            if np.sum(s.u * s.u) > 50:
                s.u = s.u * 0.8
            s.u[0] = 0.3 * s.u[1]
            return s.u

    s = S(x.copy())
    return np.sum(s.u * s.step() * x)


@program
def step_method_stack2(x):
    class S:
        def __init__(s, u):
            s.u = u

        def step(s):
            if np.sum(s.u * s.u) > 50:
                s.u = s.u * 0.8
            s.u[0] = 0.3 * s.u[1]
            return 1.0

    s = S(x.copy())
    return s.u.dot(x * s.step())


@program
def cond_same_fresh(x):
    def two(x):
        t = x * 2
        return t, t

    a, b = bridge.cond(x[0] > 0, two, lambda x: (x * 1, x * 3), x)
    a[0] = 7.0
    return np.sum(a * b * x)


@program
def fori_same(x):
    a, b = x * 1, x * 2
    a, b = bridge.fori_loop(0, 3, lambda i, ab: (ab[1], ab[1]), (a, b))
    a[0] = 7.0
    return np.sum(a * b * x)


@program
def helper_tuple(x):
    def h(u):
        if u[0] > 0:
            t = u * 2
            return t, t
        return u * 1, u * 3

    a, b = h(x)
    a[0] = 7.0
    return np.sum(a * b * x)


@program
def choice_tuple(x):
    t = x * 2
    a, b = (t, t) if x[0] > 0 else (x * 1, x * 3)
    del t
    a[0] = 7.0
    return np.sum(a * b * x)


@program
def nested_branch(x):
    a = x * 1
    if x[0] > 0:
        if x[1] < 0:
            a = a * 2
        b = a
    else:
        b = a * 3
    a[0] = 7.0
    return np.sum(a * b * x)


@program
def chain_kept(x):
    a = x * 1
    b = a if x[0] > 0 else a * 2
    c = b if x[1] < 0 else b * 2
    del b
    c[0] = 3.0
    return np.sum(c * a)


@program
def chain_kept_loop(x):
    a = x * 1
    c = x * 2
    for i in range(8):
        b = a if x[i % 6] > 0 else a * 2
        if x[(i + 1) % 6] < 0:
            c = b
        b = 0
        c[0] = 3.0
    return np.sum(c * a)


# What is unrolled, and says why, may be long.
@pytest.mark.ci
@pytest.mark.filterwarnings("ignore:a program of .* operations is compiled")
@pytest.mark.parametrize("engine", ["value", "gradient"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_it_is_numpys_value_or_an_error(f: Callable[[Any], Any], engine: str) -> None:
    compiled: Any = bridge.xla(f) if engine == "value" else bridge.grad(f, engine="xla")
    try:
        found = compiled(X.copy())
    except (AliasError, TraceError) as error:
        assert "test_other_names.py:" in str(error) and "remedy: " in str(error)
        return
    wanted = f(X.copy()) if engine == "value" else bridge.grad(f, engine="native")(X.copy())
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.ci
def test_what_was_written_by_its_old_name_is_not_missed() -> None:
    def f(x: Any) -> Any:
        u = x.copy()
        w = u
        while np.sum(u) > 100.0:
            u = u * 0.9
        u[1] = 5.0
        return np.sum(w * u * x)

    for x in (X, 40 * X):
        np.testing.assert_allclose(bridge.xla(f)(x.copy()), f(x.copy()), rtol=1e-12)


@pytest.mark.ci
def test_names_that_loops_in_loops_exchange_stay_apart() -> None:
    def f(x: Any) -> Any:
        u, v = x * 1, x * 2
        i = 0
        while i < 5 and np.sum(u * u) < 1000:
            j = 0
            while j < 4 and np.sum(u * u) < 1000:
                k = 0
                while k < 3 and np.sum(u * u) < 1000:
                    v[1:] = 0.9 * u[:-1] + 0.1 * v[:-1]
                    u, v = v, u
                    k += 1
                u, v = v, u
                j += 1
            u, v = v, u
            i += 1
        return np.sum(u * v)

    np.testing.assert_allclose(bridge.xla(f)(X.copy()), f(X.copy()), rtol=1e-12)
