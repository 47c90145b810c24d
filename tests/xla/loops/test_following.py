"""A name that a run binds to one array or another: writes into it, and into what it may be, reach both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError

pytest.importorskip("jax", reason="JAX is not installed: branches were not compiled (pip install jax)")

X = np.array([0.3, -0.7, 1.1, 0.5])
PROGRAMS: list[Callable[[Any], Any]] = []


def program(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS.append(f)
    return f


@program
def either_side(x):
    u = x * 1
    w = x * 2
    v = u if x[0] > 0 else w
    v[1:] *= 2
    return np.sum(u * x) + np.sum(w * w) + np.sum(v * x * 3)


@program
def one_side(x):
    u = x * 1
    v = x * 3
    if x[0] > 0:
        v = u
    v[1:] *= 2
    return np.sum(u * x) + np.sum(v * v)


@program
def written_in_a_loop(x):
    u = x * 1
    w = x * 2
    v = u if x[0] > 0 else w
    for i in range(50):
        v[i % 4] = v[(i + 1) % 4] * 0.9 + x[i % 4]
    return np.sum(u * x) + np.sum(w * w) + np.sum(v * x * 3)


@program
def the_array_is_written(x):
    u = x * 1
    w = x * 2
    v = u if x[0] > 0 else w
    u[1] = 5 * x[0]
    w[2] *= 3
    return np.sum(u * x) + np.sum(w * w) + np.sum(v * x * 3)


@program
def elif_side(x):
    u = x * 1
    w = x * 2
    z = x * 3
    if x[0] > 0:
        v = u
    elif x[1] > 0.5:
        v = w
    else:
        v = z
    v[1:] *= 2
    return np.sum(u * x) + np.sum(w * w) + np.sum(v * x * 3) + np.sum(z * z * z)


@program
def returned(x):
    u = x * 1
    w = x * 2

    def g():
        if x[0] > 0:
            return u
        return w

    v = g()
    v[1:] *= 2
    return np.sum(u * x) + np.sum(w * w) + np.sum(v * x * 3)


@program
def of_a_name_that_follows(x):
    u = x * 1
    w = x * 2
    z = x * 3
    v = u if x[0] > 0 else w
    t = v if x[1] > 0 else u
    t[0] = x[1]
    v[1] *= 3
    u[2] = x[2] * x[3]
    return np.sum(u * x) + np.sum(w * w) + np.sum(v * x * 3) + np.sum(z * z * z) + np.sum(t * t)


@program
def parts_of_one_array(x):
    a = np.concatenate([x, x * 2])
    v = a[0:4] if x[0] > 0 else a[2:6]
    v[1] *= 3
    a[3] = x[0]
    np.add.at(v, [1, 1, 2], x[:3])
    return np.sum(a * a) + np.sum(v * x)


@program
def bound_in_a_turn(x):
    u = x * 1
    w = x * 2
    for i in range(40):
        v = u if x[i % 4] > 0 else w
        v[i % 4] *= 0.9
    return np.sum(u * x) + np.sum(w * w)


@program
def bound_in_the_turn_before(x):
    u = x * 1
    w = x * 2
    v = u
    for i in range(40):
        v[i % 4] *= 0.9
        v = u if x[i % 4] > 0 else w
    return np.sum(u * x) + np.sum(w * w) + np.sum(v)


@program
def of_a_list(x):
    L = [x * 1, x * 2]
    c = x[0] > 0
    v = L[0] if c else L[1]
    for k in range(3):
        v[k] += x[k] ** 2
    return np.sum(L[0] * x) + np.sum(L[1] ** 3)


@program
def two_names(x):
    u = x * 1
    w = x * 2
    if x[0] > 0:
        a = u
        b = w
    else:
        a = w
        b = u
    a[0] = 3 * x[1]
    b[1] = x[2] * x[0]
    u[2] = x[3]
    a[1:] *= b[1:]
    return np.sum(u * x) + np.sum(w * w) + np.sum(a * b)


@program
def of_an_argument(x):
    y = x * 2
    v = x if x[0] > 0 else y
    v[0] = x[1] * x[2]
    return np.sum(x * x) + np.sum(y * v)


@program
def written_in_a_while(x):
    u = x * 1
    w = x * 2
    v = u if x[0] > 0 else w
    n = 0
    while np.sum(v * v) > 0.1 and n < 30:
        v *= 0.8
        n += 1
    return np.sum(u * x) + np.sum(w * w) + n


@program
def in_a_helper(x):
    u = x * 1
    w = x * 2

    def f(a, b, c):
        r = a if c > 0 else b
        r[1] = c * r[0]
        return r

    p = f(u, w, x[0])
    q = f(w, u, x[1])
    p[2] = q[3]
    return np.sum(u * x) + np.sum(w * w) + np.sum(p * q * x)


@program
def read_by_the_next_turn(x):
    u = x * 1
    w = x * 2
    v = u
    s = 0.0
    for i in range(40):
        s = s + v[1] * x[i % 4]
        u[1] *= 0.9
        v = u if x[i % 4] > 0 else w
    return np.sum(u * x) + np.sum(w * w) + s


@program
def bound_by_the_last_turn(x):
    u = x * 1
    w = x * 2
    v = x * 3
    for i in range(40):
        v = u if x[i % 4] > 0 else w
    v[0] = 3 * x[1]
    return np.sum(u * x) + np.sum(w * w) + np.sum(v)


@program
def kept_by_some_turns(x):
    u = x * 1
    w = x * 2
    v = x * 3
    for i in range(40):
        if x[i % 4] > 0:
            v = u
        v[0] *= 0.9
    return np.sum(u * x) + np.sum(w * w) + np.sum(v)


@program
def in_a_while(x):
    u = x * 1
    w = x * 2
    v = x * 3
    i = 0
    while np.sum(u * u) > 0.2 and i < 30:
        v[1] *= 0.7
        u[0] *= 0.8
        v = u if x[i % 4] > 0 else w
        i += 1
    return np.sum(u * x) + np.sum(w * w) + np.sum(v)


@program
def in_a_body(x):
    u = x * 1
    w = x * 2
    v = u if x[0] > 0 else w

    def body(i, s):
        v[i % 4] *= 0.9
        return s + u[1]

    s = bridge.fori_loop(0, 20, body, 0.0)
    return np.sum(u * x) + np.sum(w * w) + np.sum(v) * s


@program
def returned_before_a_write(x):
    u = x * 1
    w = x * 2

    def g():
        try:
            if x[0] > 0:
                return u
            return w
        finally:
            u[0] = 5.0
            w[1] = x[2]

    v = g()
    return np.sum(u * x) + np.sum(w * w) + np.sum(v * x)


@program
def row_of_a_matrix(x):
    rows = np.outer(x, x * 1.0)
    r = rows[0] if x[0] > 0 else rows[1]
    for i in range(30):
        r[i % 4] = 0.9 * r[(i + 1) % 4]
        rows[i % 4, 2] += 0.1
    return np.sum(rows * rows) + np.sum(r * x)


@program
def of_an_object(x):
    class S:
        pass

    s = S()
    s.a = x * 1
    s.b = x * 2
    s.c = s.a
    if x[0] > 0:
        s.c = s.b
    for i in range(20):
        s.c[i % 4] *= 0.9
    return np.sum(s.a * x) + np.sum(s.b * s.b * x)


@program
def exchanged_in_turns(x):
    u = x * 1
    w = x * 2
    a, b = (u, w) if x[0] > 0 else (w, u)
    for i in range(20):
        a[i % 4] = 0.5 * b[i % 4] + a[(i + 1) % 4] * 0.3
        a, b = b, a
    return np.sum(u * x) + np.sum(w * w)


@program
def by_masks_and_windows(x):
    u = x * 1
    w = x * 2
    v = u if x[0] > 0 else w
    v[v > 0.4] = x[1]
    v[[0, 2]] = v[[2, 0]]
    for i in range(4):
        v[i:] += x[i]
        v[:i] *= 0.9
    return np.sum(u * x) + np.sum(w * w) + np.sum(v)


@program
def made_by_one_side(x):
    u = x * 1
    w = x * 2
    t = x * 2
    if x[0] > 0:
        a = t
        b = t
    else:
        a = u
        b = w
    a[0] = 7.0
    return np.sum(a * b * x) + np.sum(u * w)


@program
def made_in_a_turn(x):
    s = 0.0
    for i in range(30):
        y = x * (i + 1.0)
        if x[i % 4] > 0:
            y = y * 3
        y[i % 4] = 1.0 * x[1]
        s = s + np.sum(y * y)
    return s


@program
def in_a_loop_in_a_loop(x):
    u = x * 1
    w = x * 2
    t = u
    for i in range(30):
        v = u if x[i % 4] > 0 else w
        for j in range(20):
            v[(i + j) % 4] *= 0.99
            t = v if x[j % 4] > 0 else t
        t[0] *= 0.9
    return np.sum(u * w)


@pytest.mark.ci
@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["first", "other"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_value_is_numpys(f: Callable[[Any], Any], sign: float) -> None:
    np.testing.assert_allclose(bridge.xla(f)(sign * X), f(sign * X), rtol=1e-12)


@pytest.mark.ci
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_the_eager_run(f: Callable[[Any], Any]) -> None:
    compiled = bridge.grad(f, engine="xla")
    for x in (X, -X):
        np.testing.assert_allclose(compiled(x.copy()), bridge.grad(f)(x.copy()), rtol=1e-10, atol=1e-12)


@pytest.mark.ci
def test_what_lies_otherwise_is_not_followed() -> None:
    """A view of a name's own memory would not be a view of a column, or of an array of another dtype."""

    def column(x: Any) -> Any:
        table = np.outer(x, x)
        v = table[:, 0] if x[0] > 0 else table[:, 1]
        v[0] = 3.0
        return np.sum(table * x)

    def narrower(x: Any) -> Any:
        u, w = x * 1, x.astype(np.float32)
        v = u if x[0] > 0 else w
        v[0] = 0.1
        return np.sum(u * w)

    for f in (column, narrower):
        with pytest.raises(AliasError, match="depends on a branch which array a name stands for"):
            bridge.xla(f)(X.copy())
