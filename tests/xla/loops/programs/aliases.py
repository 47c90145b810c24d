"""Names and views of arrays: two for one array, swapped, rotated, kept over turns."""

from __future__ import annotations

import numpy as np

from tests.xla.loops.programs.record import Family

program = Family("aliases")


@program
def swap_numbers(x):
    a, b = x[0], x[1]
    for i in range(9):
        a, b = b, a * 0.5 + x[2]
    return a * 2 + b


@program
def alias_names(x):
    u = x.copy()
    v = u
    for i in range(10):
        u = u * 0.5
        v[0] += u[1]
    return np.sum(v * v) + np.sum(u)


@program
def alias_in_loop(x):
    u = x.copy()
    v = np.zeros(6)
    for i in range(10):
        v = u
        u = u * 0.9
        v[0] = 3.0
    return np.sum(v * v) + np.sum(u)


@program
def alias_keep_first(x):
    u = x.copy()
    v = u
    for i in range(10):
        v = v + 1
        if i == 0:
            pass
        u[i % 6] = v[0] * u[1]
    return np.sum(v * v) + np.sum(u)


@program
def view_kept(x):
    u = x.copy()
    w = u[1:3]
    for i in range(10):
        w[0] += 0.1 * u[4]
        u[4] *= 0.9
    return np.sum(w * w) + np.sum(u * u)


@program
def view_rebound(x):
    u = x.copy()
    w = u[0:2]
    for i in range(6):
        w = u[i % 4 : i % 4 + 2]
        w *= 1.1
    w[0] = 5 * x[0]
    return np.sum(u * u) + np.sum(w)


@program
def view_of_prev(x):
    u = x.copy()
    prev = u[:1]
    for i in range(6):
        s = prev[0] * 2
        u[i] = u[i] * 0.5 + s * 0.1
        prev = u[i : i + 1]
    return np.sum(u * u)


@program
def rotate3(x):
    a, b, c = x.copy(), x * 2, x * 3
    for i in range(10):
        c[1:] = a[:-1] + b[1:] * 0.3
        a, b, c = b, c, a
    return np.sum(a * a) + np.sum(b) * 2 + np.sum(c) * 3


@program
def rotate4(x):
    a, b, c, d = x.copy(), x * 2, x * 3, x * 4
    for i in range(11):
        d[1:] = a[:-1] + b[1:] * 0.3
        a, b, c, d = b, c, d, a
    return np.sum(a * a) + np.sum(b) * 2 + np.sum(c) * 3 + np.sum(d)


@program
def swap_cond(x):
    a, b = x.copy(), x * 2
    for i in range(10):
        if x[i % 6] > 0:
            a, b = b, a
        else:
            a = a * 0.5
    return np.sum(a * a) + np.sum(b) * 2


@program
def swap_even(x):
    a, b = x.copy(), x * 2
    for i in range(10):
        if i % 2:
            a, b = b, a
        a[0] += b[1]
    return np.sum(a * a) + np.sum(b) * 2


@program
def list_swap(x):
    h = [x.copy(), x * 2]
    for i in range(9):
        h[0][1:] += h[1][:-1]
        h[0], h[1] = h[1], h[0]
    return np.sum(h[0] ** 2) + np.sum(h[1])


@program
def list_rot_reverse(x):
    h = [x.copy(), x * 2, x * 3]
    for i in range(10):
        h[0][1:] += h[1][:-1]
        h.append(h.pop(0))
    return np.sum(h[0] ** 2) + np.sum(h[1]) * 2 + np.sum(h[2]) * 3


@program
def dict_of_arrays(x):
    d = {"a": x.copy(), "b": np.zeros(6)}
    for i in range(10):
        d["b"] = d["a"] * 0.5 + d["b"]
        d["a"][i % 6] += 1
    return np.sum(d["b"] ** 2)


@program
def arr_modified_while_iter(x):
    y = x.copy()
    s = 0.0
    for v in y:
        y[5] += 1.0
        s += v
    for k, row in enumerate(y.reshape(2, 3)):
        row[0] = s
        y[4] += row[1]
    return s + np.sum(y**2)


@program
def iter_rebind(x):
    y = x.copy()
    for v in y:
        y = y * 0.5 + v
    return np.sum(y)


@program
def row_kept(x):
    m = np.outer(x, x)
    last = m[0]
    for row in m:
        row += last * 0.1
        last = row
    last[0] = 7 * x[0]
    return np.sum(m)


@program
def swap_elems(x):
    y = x.copy()
    for i in range(3):
        y[i], y[5 - i] = y[5 - i], y[i] * 2
    for i in range(5):
        y[i : i + 2] = y[i : i + 2][::-1] * 1.1
    return np.sum(y * np.arange(6))


@program
def rows_and_columns(x):
    m = np.outer(x, x)
    r = m[1]
    c = m[:, 2]
    for i in range(6):
        r[i] += c[i] * 0.1
        c[5 - i] *= 0.5
    return np.sum(m**2)


@program
def arr_changed_later(x):
    w = np.arange(6.0)
    s = 0.0
    for i in range(6):
        s += x[i] * x[i] * w[i]
    w[:] = 7.0
    for i in range(6):
        s += x[i] * x[i] * w[i]
    w *= 0
    return s
