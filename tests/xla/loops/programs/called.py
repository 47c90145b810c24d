"""Functions that `fori_loop`, `while_loop` and `cond` call, which change more than they return."""

from __future__ import annotations

import numpy as np

import bridge
from tests.xla.loops.programs.record import Family

program = Family("called")


class Thing:
    """Something with attributes."""

    n = 0

    def counted(self, i, c):
        self.n += 1
        return c * self.n


@program
def a_captured_array_returned(x):
    buf = np.zeros(6) + x * 0

    def body(i, c):
        buf[:] = buf + c
        return buf

    r = bridge.fori_loop(0, 3, body, x)
    buf[:] = buf * 2
    return np.sum(r)


@program
def a_captured_array_returned_by_many_turns(x):
    buf = np.zeros(6) + x * 0

    def body(i, c):
        buf[:] = buf * 0.5 + c
        return buf

    r = bridge.fori_loop(0, 9, body, x)
    buf[:] = buf * 2
    return np.sum(r * x)


@program
def a_counter(x):
    n = 0

    def body(i, c):
        nonlocal n
        n += 1
        return c * n

    return np.sum(bridge.fori_loop(0, 4, body, x)) * n


@program
def a_counter_of_many_turns(x):
    n = 0

    def body(i, c):
        nonlocal n
        n += 1
        return c * n

    return np.sum(bridge.fori_loop(0, 9, body, x)) * n


@program
def a_factor_in_a_list(x):
    s = [1.0]

    def body(i, c):
        s[0] = s[0] * 2
        return c * s[0]

    return np.sum(bridge.fori_loop(0, 9, body, x)) * s[0]


@program
def an_attribute(x):
    o = Thing()
    o.v = 1.0

    def body(i, c):
        o.v += 1
        return c * o.v

    r = bridge.fori_loop(0, 9, body, x)
    return np.sum(r) * o.v


@program
def an_attribute_that_carries_a_gradient(x):
    o = Thing()
    o.v = x * 1

    def body(i, c):
        o.v = o.v * 1.5 + c
        return c * 0.5

    r = bridge.fori_loop(0, 9, body, x)
    return np.sum(r * o.v)


@program
def flags_in_a_dict(x):
    d = {"n": 0, "seen": False}

    def body(i, c):
        d["n"] += 2
        d["seen"] = True
        return c + d["n"]

    r = bridge.fori_loop(0, 9, body, x)
    return np.sum(r * x) * (2 if d["seen"] else 1) + d["n"] * x[0]


@program
def a_list_that_grows(x):
    h = []

    def body(i, c):
        h.append(c)
        return c * 1.1

    r = bridge.fori_loop(0, 9, body, x)
    return np.sum(r) + len(h) * x[0]


@program
def a_list_of_copies(x):
    h = []

    def body(i, c):
        h.append(c.copy())
        return c * 1.1

    r = bridge.fori_loop(0, 3, body, x)
    return np.sum(r) + len(h) * x[0] + np.sum(h[1])


@program
def two_arrays_that_change_places(x):
    def body(i, ab):
        a, b = ab
        a[0] = a[0] + b[1]
        return b, a

    a, b = bridge.fori_loop(0, 3, body, (x.copy(), x * 2))
    return np.sum(a) + 3 * np.sum(b)


@program
def many_times(x):
    def body(i, ab):
        a, b = ab
        a[0] = a[0] + b[1]
        return b, a

    a, b = bridge.fori_loop(0, 9, body, (x.copy(), x * 2))
    return np.sum(a) + 3 * np.sum(b)


@program
def an_even_number_of_times_and_a_later_write(x):
    a0 = x.copy()

    def body(i, ab):
        a, b = ab
        a[0] = a[0] + b[1] * 0.1
        return b, a

    a, b = bridge.fori_loop(0, 8, body, (a0, x * 2))
    a0[1] = 7 * x[2]
    return np.sum(a) + 3 * np.sum(b)


@program
def two_buffers_in_turn(x):
    d = x * 0
    s = x.copy()

    def body(i, v):
        s, d = v
        d[:] = s * 1.5
        return d, s

    s, d = bridge.fori_loop(0, 8, body, (s, d))
    return np.sum(s * x) + np.sum(d)


@program
def a_view_of_a_captured_array(x):
    buf = np.zeros(12) + np.concatenate([x, x])

    def body(i, c):
        buf[:6] = buf[:6] + c
        return buf[6:]

    r = bridge.fori_loop(0, 5, body, x)
    buf[7] = 3 * x[0]
    return np.sum(r) + np.sum(buf)


@program
def a_counter_of_a_while_loop(x):
    n = 0

    def body(v):
        nonlocal n
        n += 1
        return v * 1.5

    r = bridge.while_loop(lambda v: np.sum(v) < 10, body, x.copy(), limit=20)
    return np.sum(r) * n


@program
def a_flag_of_a_branch(x):
    d = {"f": 1}

    def t(v):
        d["f"] = 5
        return v * 2

    def e(v):
        return v * 3

    r = bridge.cond(x[0] > 0, t, e, x)
    return np.sum(r) * d["f"]


@program
def a_flag_of_the_other_branch(x):
    d = {"f": 1}

    def t(v):
        d["f"] = 5
        return v * 2

    def e(v):
        return v * 3

    r = bridge.cond(x[0] < 0, t, e, x)
    return np.sum(r) * d["f"]


@program
def a_plain_array_in_a_branch(x):
    b = np.ones(6)

    def t(v):
        b[0] = 12.0
        return v * 2

    def e(v):
        return v * 3

    r = bridge.cond(x[0] < 0, t, e, x)
    return np.sum(r * b)


@program
def a_variable_of_a_branch(x):
    n = 1

    def t(v):
        nonlocal n
        n = 7
        return v * 2

    r = bridge.cond(x[0] < 0, t, lambda v: v * 3, x)
    return np.sum(r) * n


@program
def a_counter_in_a_helper(x):
    n = 0

    def bump():
        nonlocal n
        n += 1
        return n

    def body(i, c):
        return c * bump()

    return np.sum(bridge.fori_loop(0, 9, body, x)) * n


@program
def a_method_that_counts(x):
    o = Thing()
    return np.sum(bridge.fori_loop(0, 9, o.counted, x)) * o.n


@program
def an_array_in_a_variable(x):
    s = x * 1

    def body(i, c):
        nonlocal s
        s = s * 1.5 + c
        return c * 0.9

    r = bridge.fori_loop(0, 9, body, x)
    return np.sum(r * s)


@program
def a_counter_in_two_loops(x):
    n = 0

    def inner(j, c):
        nonlocal n
        n += 1
        return c + n * 0.1

    def body(i, c):
        return bridge.fori_loop(0, 5, inner, c) * 1.01

    return np.sum(bridge.fori_loop(0, 6, body, x)) * n


@program
def a_counter_in_a_loop_of_pythons(x):
    n = 0
    c = x * 1

    def body(i, c):
        nonlocal n
        n += 1
        return c + n * 0.1

    for k in range(7):
        c = bridge.fori_loop(0, 5, body, c) * 1.01
    return np.sum(c) * n


@program
def the_last_value(x):
    last = None

    def body(i, c):
        nonlocal last
        last = c
        return c * 1.1

    r = bridge.fori_loop(0, 9, body, x)
    return np.sum(r * last)


@program
def the_last_value_in_a_dict(x):
    d = {}

    def body(i, c):
        d["last"] = c * 2
        return c * 1.1

    r = bridge.fori_loop(0, 9, body, x)
    return np.sum(r * d["last"])


@program
def a_counter_with_a_bound_that_is_not_known(x):
    n = 0

    def body(i, c):
        nonlocal n
        n += 1
        return c * 1.1 + n

    return np.sum(bridge.fori_loop(0, np.sum(x > 0), body, x)) * n


@program
def a_number_in_a_list(x):
    s = [x[0] * 1]

    def body(i, c):
        s[0] = s[0] * 1.1 + c[1]
        return c * 0.9

    return np.sum(bridge.fori_loop(0, 9, body, x)) * s[0]


class State:
    """Something that a loop hands on."""

    def __init__(self, u, n):
        self.u = u
        self.n = n


@program
def another_object_in_each_iteration(x):
    s = bridge.fori_loop(0, 7, lambda i, s: State(s.u * 0.9 + x[i % 6], s.n + 1), State(x.copy(), 0))
    return np.sum(s.u**2) * s.n


@program
def another_object_until_it_is_large(x):
    s = bridge.while_loop(lambda s: s.n < 5.0, lambda s: State(s.u * 1.1 + x, s.n + 1.5), State(x * 1.0, 0.0), limit=9)
    return np.sum(s.u) * s.n


@program
def an_object_that_is_changed_and_another_one_that_is_returned(x):
    def body(i, s):
        s.u = s.u * 2
        return State(s.u * 0.9 + x[i % 6], s.n + 1)

    first = State(x.copy(), 0)
    s = bridge.fori_loop(0, 7, body, first)
    return np.sum(np.tanh(s.u)) * s.n + np.sum(first.u)


@program
def an_object_with_an_array_that_is_written(x):
    def body(i, s):
        s.u[0] *= 2
        return State(s.u * 0.9 + x[i % 6], s.n + 1)

    first = State(x.copy(), 0)
    s = bridge.fori_loop(0, 7, body, first)
    return np.sum(s.u**2) * s.n + np.sum(first.u)


@program
def one_object_or_another(x):
    s = State(x * 2, 3.0)
    r = bridge.cond(x[0] > 0, lambda s: State(s.u * 3, s.n + 1), lambda s: State(s.u * 1, s.n), s)
    return np.sum(r.u) * r.n


@program
def an_object_on_both_sides(x):
    s = State(x * 2, 3.0)
    r = bridge.cond(x[0] > 0, lambda s: s, lambda s: s, s)
    r.u = r.u * 2
    return np.sum(s.u**2)


@program
def arrays_change_places_and_are_written(x):
    a, b = x.copy(), x * 2
    c, _ = bridge.fori_loop(0, 5, lambda i, ab: (ab[1], ab[0]), (a, b))
    c[0] = 7 * x[1]
    return np.sum(a * 2 - b * 3)


@program
def a_value_that_stays_the_first_array(x):
    a = x.copy()
    r = bridge.while_loop(lambda v: v[0] > 5, lambda v: v * 2, a, limit=4)
    r[0] = 9 * x[1]
    return np.sum(a**2)


@program
def views_of_the_first_array(x):
    a = x.copy()
    r = bridge.fori_loop(0, 3, lambda i, v: (v[0] * 2, v[1]), (a[1:4], a))
    r[1][2] = 5 * x[0]
    return np.sum(a) + np.sum(r[0] ** 2)


@program
def rows_of_a_captured_array(x):
    a = np.stack([x, x * 2])
    r = bridge.fori_loop(0, 3, lambda i, v: a[i % 2], x * 1)
    r[0] = x[1] * 8
    return np.sum(a)


@program
def windows_that_reach_beyond(x):
    return bridge.fori_loop(0, 6, lambda i, s: s + np.sum(x[i : i + 3]) ** 2, 0.0)


@program
def one_body_that_writes_a_copy_and_then_the_array(x):
    def run(u, writes):
        def body(i, u):
            w = u if writes else u.copy()
            w[0] = w[0] * 1.5
            return u * 1.1

        return bridge.fori_loop(0, 6, body, u)

    a, b = x.copy(), x.copy()
    r, s = run(a, False), run(b, True)
    return np.sum(r * s) + 2 * np.sum(a) + 3 * np.sum(b)


@program
def one_loop_that_writes_a_copy_and_then_the_array(x):
    def run(u, writes):
        for _ in range(6):
            w = u if writes else u.copy()
            w[0] = w[0] * 1.5
            u = u * 1.1
        return u

    a, b = x.copy(), x.copy()
    r, s = run(a, False), run(b, True)
    return np.sum(r * s) + 2 * np.sum(a) + 3 * np.sum(b)


@program
def loops_in_loops_bind_and_write_an_array(x):
    u = x * 1
    a = u
    for i in range(5):
        for _ in range(6):
            for _ in range(7):
                u = u * 0.99 + 0.1 * x[i]
            u[0] = u[0] * 1.1
        u = u + 1
    a[1] = 5 * x[0]
    return np.sum(u) + np.sum(a**2)


def squared(v):
    return np.sum(v * v)


@program
def windows_that_reach_beyond_and_are_read_elsewhere(x):
    s = 0.0
    for i in range(6):
        s = s + squared(x[i : i + 3]) * x[0]
    return s + bridge.fori_loop(0, 6, lambda i, s: s + squared(x[i : i + 2]) ** 2, 0.0)


@program
def two_windows_that_begin_alike(x):
    y = x * 2
    s = 0.0
    for i in range(6):
        a = x[i : i + 2]
        b = y[i : i + 4]
        s = s + squared(a) * squared(b)
    return s


@program
def one_new_array_twice(x):
    def body(i, v):
        w = v[0] * 1.1
        return w, w

    r = bridge.fori_loop(0, 5, body, (x * 1, x * 2))
    r[0][0] = 5 * x[1]
    return np.sum(r[1] ** 2) + np.sum(r[0])


@program
def one_new_array_twice_in_a_tuple_of_a_loop(x):
    v = (x * 1, x * 2)
    for _ in range(5):
        w = v[0] * 1.1
        v = (w, w)
    v[0][0] = 5 * x[1]
    return np.sum(v[1] ** 2) + np.sum(v[0])
