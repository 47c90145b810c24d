"""Names that a branch or a turn binds to other arrays, which are written later: nothing else shows the old ones."""

from __future__ import annotations

import numpy as np

from tests.xla.loops.programs.record import Family

program = Family("rebinding")


@program
def branch_then_write(x):
    if x[0] > 0.1:
        x = x * 2
    x[0] = 1.0
    return np.sum(x * x)


@program
def branch_then_write_else(x):
    if x[0] > 0.5:
        x = x * 2
    x[0] = 1.0
    return np.sum(x * x)


@program
def swap_break(x):
    a = x.copy()
    b = np.zeros_like(x)
    for t in range(30):
        b[1:-1] = 0.4 * (a[:-2] + a[2:])
        b[0] = a[0]
        b[-1] = a[-1]
        if np.max(np.abs(a - b)) < 0.05:
            break
        a, b = b, a
    return np.sum(a * a) + np.sum(b)


@program
def swap_while_val(x):
    a = x.copy()
    b = np.zeros_like(x)
    while np.max(np.abs(a - b)) > 0.05:
        b[1:-1] = 0.4 * (a[:-2] + a[2:])
        b[0] = a[0]
        b[-1] = a[-1]
        a, b = b, a
    return np.sum(a * a) + np.sum(b)


@program
def swap_while_true(x):
    a = x.copy()
    b = np.zeros_like(x)
    k = 0
    while True:
        b[1:-1] = 0.4 * (a[:-2] + a[2:])
        b[0] = a[0]
        b[-1] = a[-1]
        a, b = b, a
        k += 1
        if k > 10 or np.sum(a) < 0.1:
            break
    return np.sum(a * a) + np.sum(b)


@program
def while_write_rebind(x):
    u = x.copy()
    while np.sum(u * u) > 0.5:
        u[0] *= 0.5
        u = u * 0.9
    return np.sum(u * u)


@program
def for_cond_rebind(x):
    u = x.copy()
    for i in range(25):
        if u[i % 6] > 0.2:
            u = u * 0.95
        u[i % 6] += 0.1
    return np.sum(u * u)


@program
def for_cond_rebind_argument(x):
    for i in range(25):
        if x[i % 6] > 0.2:
            x = x * 0.95
        x[i % 6] += 0.1
    return np.sum(x * x)


@program
def for_swap_cond(x):
    a = x.copy()
    b = x * 0.5
    for i in range(25):
        if a[0] > b[0]:
            a, b = b, a
        a[i % 6] = 0.9 * a[i % 6] + 0.05 * b[(i + 1) % 6]
    return np.sum(a * b * x)


@program
def swap_return(x):
    a = x.copy()
    b = np.zeros_like(x)
    for t in range(30):
        b[1:-1] = 0.4 * (a[:-2] + a[2:])
        b[0] = a[0]
        b[-1] = a[-1]
        if np.max(np.abs(a - b)) < 0.05:
            return np.sum(b)
        a, b = b, a
    return np.sum(a * a) + np.sum(b)


@program
def for_else(x):
    a = x.copy()
    b = np.zeros_like(x)
    for t in range(30):
        b[:] = a * 0.9
        a, b = b, a
        if a[0] < 0.1:
            break
    else:
        a = a * 2
    a[0] = 1.0
    return np.sum(a * a) + np.sum(b)


@program
def cond_write_in_both(x):
    y = x.copy()
    if y[0] > 0.5:
        y = y[::-1]
        y[0] = 2.0
    else:
        y = y * 3
        y[1] = 4.0
    y[2] = x[0]
    return np.sum(y * y)


@program
def branch_helper(x):
    def limited(u):
        return u if np.max(u) < 1 else u / np.max(u)

    y = limited(x.copy())
    y[0] = 2.0
    return np.sum(y * y)


@program
def break_first(x):
    u = x.copy()
    for i in range(20):
        if u[0] < 0.5:
            break
        u = u * 0.9
    u[1] = 5.0
    return np.sum(u * x)


@program
def while_zero(x):
    u = x.copy()
    while np.sum(u) > 100.0:
        u = u * 0.9
    u[1] = 5.0
    return np.sum(u * x)


@program
def while_swap_then_write(x):
    a = x.copy()
    b = x * 0.1
    k = 0
    while np.sum(a * a) > 0.3 and k < 30:
        b[:] = a * 0.9
        a, b = b, a
        k += 1
    a[0] = 2.0
    b[1] = 3.0
    return np.sum(a * x) + np.sum(a * b)


@program
def while_swap_twice(x):
    a = x.copy()
    b = x * 0.1
    c = x * 0.3
    k = 0
    while np.sum(a * a) > 0.3 and k < 30:
        c[:] = a * 0.9 + b
        a, b, c = c, a, b
        k += 1
    return np.sum(a * b * c)


@program
def while_swap_attr(x):
    class S:
        pass

    s = S()
    s.a = x.copy()
    s.b = x * 0.1
    k = 0
    while np.sum(s.a * s.a) > 0.3 and k < 30:
        s.b[:] = s.a * 0.9
        s.a, s.b = s.b, s.a
        k += 1
    return np.sum(s.a * s.b * x)


@program
def while_one_takes(x):
    a = x.copy()
    b = x * 0.1
    k = 0
    while np.sum(a * a) > 0.3 and k < 30:
        a[0] *= 0.9
        a = b
        b = a * 0.5
        k += 1
    a[0] = 1.0
    return np.sum(a * x) + np.sum(b)


@program
def while_reverse(x):
    a = x.copy()
    k = 0
    while np.sum(a * a) > 0.3 and k < 30:
        a[0] *= 0.8
        a = a[::-1]
        k += 1
    return np.sum(a * x)


@program
def while_argument(x):
    y = x * 0.5
    k = 0
    while np.sum(x * x) > 0.3 and k < 30:
        y[:] = 0.9 * x
        x, y = y, x
        k += 1
    return np.sum(x * y)


@program
def step_method(x):
    class S:
        def __init__(s, u):
            s.u = u

        def step(s):
            if np.sum(s.u * s.u) > 0.5:
                s.u = s.u * 0.8
            s.u[0] = 0.3 * s.u[1]

    s = S(x.copy())
    for i in range(12):
        s.step()
    return np.sum(s.u * x)
