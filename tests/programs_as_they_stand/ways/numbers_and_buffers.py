"""What a number says of itself, and buffers that change places."""

import numpy as np

from tests.programs_as_they_stand.ways.record import Thing, W, way


@way
def float_in_a_loop():
    def f(x):
        e = float(x * 2)
        n = 0
        while e > 0.1:
            e = float(e * 0.5)
            n += 1
        return e * n

    return f


@way
def float_in_helpers():
    def f(x):
        def g(v):
            return float(v) ** 2

        h = lambda v: float(g(v))
        return h(x) + float(np.sum(np.ones(2) * x))

    return f


@way
def float_is_a_float():
    def f(x):
        if (v := float(x)) > 0.5 and isinstance(v, float) and type(v) is float:
            return v**3
        return x

    return f


@way
def the_type_of_a_numpy_number():
    def f(x):
        y = np.sin(x)
        if (
            type(y) is np.float64
            and isinstance(y, np.floating)
            and isinstance(y, float)
            and np.isscalar(y)
            and np.ndim(y) == 0
            and y.dtype == float
            and y.shape == ()
        ):
            return y**2
        return y

    return f


@way
def a_number_in_a_list():
    def f(x):
        l = [0.1, x, 2.0]
        return x**2 if x in l and l.count(x) == 1 and l.index(x) == 1 else x

    return f


@way
def special_methods_by_name():
    def f(x):
        return (
            x.__add__(1) * x.__mul__(2) + x.__rsub__(1) + x.__pow__(2) + x.__abs__() + (x * np.ones(2)).__getitem__(0)
        )

    return f


@way
def complex_numbers():
    def f(x):
        z = complex(x, 1.0)
        w = complex(0, x)
        return (z * w).real + abs(z) + z.conjugate().imag + (z**2).imag

    return f


@way(effects=True)
def buffers_made_by_size():
    class S:
        def __init__(s):
            s.c = {}

        def get(s, k):
            if k not in s.c:
                s.c[k] = np.zeros(k)
            return s.c[k]

        def run(s, x):
            s.get(3)[0] = x
            b = s.get(3)
            b[1] = x**2
            return s.get(3).sum() if s.get(3).max() > 0.1 else x

    return S().run


@way
def two_buffers_in_turn():
    B = (np.zeros(3), np.zeros(3))

    def f(x):
        for k in range(3):
            new, old = B[k % 2], B[(k + 1) % 2]
            new[:] = old * 0.5 + x
        return B[0].sum() + B[1][0] if max(b.max() for b in B) > 0.1 else x

    return f


@way
def captured_buffers_swapped():
    u, v = np.zeros(3), np.zeros(3)

    def f(x):
        nonlocal u, v
        for k in range(3):
            v[:] = u * 0.5 + x
            u, v = v, u
        return u.sum() if u.max() > 0.1 else x

    return f


@way
def attributes_swapped():
    o = Thing()
    o.u, o.v = np.zeros(3), np.zeros(3)

    def f(x):
        for k in range(3):
            o.v[:] = o.u * 0.5 + x
            o.u, o.v = o.v, o.u
        return o.u.sum() + o.v[0] if o.u.max() > 0.1 else x

    return f


@way(effects=True)
def a_history_in_an_array():
    hist = np.zeros(5)

    def f(x):
        y = x
        for k in range(5):
            y = y * 0.5 + x
            hist[k] = float(y)
        if hist[-1] > hist[0] and hist.argmax() == 4:
            return y + hist.mean()
        return y

    return f


@way
def a_global_made_and_deleted():
    def f(x):
        global GG
        GG = x * W
        s = GG.sum() if "GG" in globals() and globals()["GG"].max() > 0.5 else x
        del GG
        return s

    return f


@way
def a_grid_with_boundary_conditions():
    class Grid:
        def __init__(s, n):
            s.n = n
            s.f = {k: np.zeros(n) for k in "uv"}
            s.bc = [lambda a: a.__setitem__(0, a[1]), lambda a: a.__setitem__(-1, a[-2])]

        def __getattr__(s, k):
            if k in s.__dict__.get("f", {}):
                return s.f[k]
            raise AttributeError(k)

        def apply(s):
            for a in s.f.values():
                for b in s.bc:
                    b(a)

    g = Grid(5)

    def f(x):
        g.u[:] = x
        g.v[2] = x**2
        g.u[1] = 3 * x
        g.apply()
        return (g.u * g.v).sum() + g.u[0] + (g.v[-1] if g.u.max() > 0.5 else 100)

    return f
