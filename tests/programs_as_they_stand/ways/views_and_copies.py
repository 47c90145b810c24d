"""Views made before and after a write, copies, iteration."""

import numpy as np

from tests.programs_as_they_stand.ways.record import W, way, write


@way
def views_made_before():
    a = np.ones((2, 2))
    v = a[0]
    t = a.T
    r = a.reshape(-1)
    fl = a.ravel()

    def f(x):
        a[0, 1] = x
        a[1] = x**2
        return v.sum() + t[1].prod() + r @ W + fl[3]

    return f


@way
def a_view_written():
    a = np.ones((2, 2))
    v = a[0]

    def f(x):
        v[1] = x
        return (a * np.array([[1, 2], [3, 4]])).sum()

    return f


@way
def views_of_a_local_array():
    def f(x):
        a = np.ones((2, 2))
        v = a[0]
        d = a.diagonal()
        r = a.ravel()
        t = a.T
        v[1] = x
        r[3] = x**2
        return t[1].sum() + d.sum() + a.max()

    return f


@way
def views_of_every_kind():
    a = np.zeros((2, 3))
    t = a.swapaxes(0, 1)[::-1]
    d = np.diagonal(a)
    r = np.rot90(a)
    b = np.broadcast_to(a, (2, 2, 3))
    e = a[None, ..., 0]
    z = a.real

    def f(x):
        a[0] = x
        a[1, 1] = x**2
        return (
            t.sum() + d.sum() * 2 + r[0, 0] + b.sum() + e[0, 0] + z[1, 1]
            if t.max() > 0.1 and d.max() > 0.1 and r.max() > 0.1 and b.max() > 0.1 and z.max() > 0.1
            else x
        )

    return f


@way
def a_sliding_window():
    def f(x):
        a = np.zeros(6)
        w = np.lib.stride_tricks.sliding_window_view(a, 2)
        a[2] = x
        return (w * np.arange(10.0).reshape(5, 2)).sum()

    return f


@way
def iteration():
    a = np.ones(4)

    def f(x):
        write(a, x)
        t = 0
        for k, v in enumerate(a):
            t += v * k
        for v in reversed(a):
            t = 0.5 * t + v
        for v in iter(a):
            t += v**2
        return t

    return f


@way
def tolist():
    a = np.ones(4)

    def f(x):
        write(a, x)
        return sum(a.tolist())

    return f


@way
def copies_of_every_kind():
    a = np.ones(4)

    def f(x):
        write(a, x)
        b = np.copy(a)
        c = a.copy()
        d = np.array(a)
        e = np.asarray(a)
        g = a[:]
        h = a.astype(float)
        i = +a
        j = a.view()
        a[:] = 0
        return b.sum() + c[1] + d[2] ** 2 + e.sum() + g.sum() + h[1] * i[2] + j.sum()

    return f


@way(expected="EscapeError: tobytes")
def tobytes():
    a = np.ones(4)

    def f(x):
        write(a, x)
        if np.frombuffer(a.tobytes())[2] > 1.3:
            return x**3
        return x

    return f


@way
def frombuffer_of_the_memory():
    a = np.ones(4)
    b = np.frombuffer(a.data)

    def f(x):
        write(a, x)
        if b[2] > 1.3:
            return x**3
        return x

    return f


@way(expected="RefusedError: shape")
def a_shape_that_is_set():
    a = np.ones((4, 2))

    def f(x):
        a[0] = x
        n, m = a.shape
        a.shape = (2, 4)
        s = a[0].sum() * n * m * len(a) * a.ndim * a.size * a.itemsize
        a.shape = (4, 2)
        return s

    return f


@way
def flat():
    def f(x):
        a = np.zeros((2, 2))
        a.flat[1] = x
        a.flat = [1, x, x, 2]
        for v in a.flat:
            pass
        return a.flat[2] * v + sum(a.flat) + a.ravel()[1]

    return f


@way
def elements_swapped():
    a = np.array([3.0, 1.0, 2.0, 5.0])

    def f(x):
        a[1] = x * 4
        a[0], a[1] = a[1], a[0]
        a[[2, 3]] = a[[3, 2]]
        return a @ W**2

    return f


@way
def plain_numbers_first():
    a = np.ones(4)

    def f(x):
        a[2] = 7.0
        a[3] = a[2]
        a[0] = x
        return a @ W * x

    return f


@way
def an_array_that_is_read_only():
    a = np.zeros(4)
    a.flags.writeable = False

    def f(x):
        try:
            a[0] = x
        except ValueError:
            return x**3
        return a[0] * x

    return f


@way(expected="EscapeError: int64")
def an_array_of_integers():
    a = np.zeros(4, dtype=int)

    def f(x):
        a[0] = x * 5
        return a[0] * x

    return f


@way(expected="EscapeError: bool")
def an_array_of_booleans():
    a = np.zeros(4, dtype=bool)

    def f(x):
        a[0] = x
        return a[0] * x

    return f
