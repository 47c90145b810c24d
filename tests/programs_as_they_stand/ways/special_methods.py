"""Methods that Python calls by itself: operators, items, properties."""

import numpy as np

from tests.programs_as_they_stand.ways.record import W, way


@way
def a_property_that_writes_in_place():
    class P:
        def __init__(s):
            s._u = np.zeros(4)

        @property
        def u(s):
            return s._u

        @u.setter
        def u(s, v):
            s._u[:] = v

    p = P()

    def f(x):
        p.u = x * W
        p.u[0] += x
        p.u += 1
        return p.u.max() * p._u.sum() if p.u.max() > 1 else x

    return f


@way
def getattr_by_a_dictionary():
    class P:
        def __init__(s):
            s.d = {"u": np.zeros(4)}

        def __getattr__(s, n):
            try:
                return s.__dict__["d"][n]
            except KeyError:
                raise AttributeError(n)

    p = P()

    def f(x):
        p.u[0] = x
        p.u[1:] += x**2
        return p.u.sum() if p.u.max() > 0.1 else x

    return f


@way
def setattr_into_a_dictionary():
    class P:
        def __init__(s):
            object.__setattr__(s, "d", {})

        def __setattr__(s, n, v):
            s.d[n] = v

        def __getattr__(s, n):
            try:
                return s.__dict__["d"][n]
            except KeyError:
                raise AttributeError(n)

    p = P()

    def f(x):
        p.u = x * W
        p.u[0] = x
        r = p.u.sum()
        p.d.clear()
        return r

    return f


@way
def every_operator_of_a_class():
    class P:
        def __init__(s):
            s.d = {"u": np.zeros(4)}

        def __getitem__(s, n):
            return s.d[n]

        def __setitem__(s, n, v):
            s.d[n][:] = v

        def __contains__(s, n):
            return s.d[n].max() > 0.1

        def __len__(s):
            return int(s.d["u"].max() > 0.1)

        def __iter__(s):
            return iter(s.d["u"])

        def __bool__(s):
            return bool(s.d["u"].max() > 0.1)

        def __float__(s):
            return 1.0

        def __eq__(s, o):
            return s.d["u"].max() == o

        def __call__(s):
            return s.d["u"].max()

        def __enter__(s):
            return s.d["u"]

        def __exit__(s, *a):
            s.d["u"][:] = 0

        def __add__(s, o):
            return s.d["u"].max() + o

        def __matmul__(s, o):
            return s.d["u"] @ o

        def __neg__(s):
            return -s.d["u"]

        def __lt__(s, o):
            return s.d["u"].max() < o

        def __hash__(s):
            return 1

    p = P()

    def f(x):
        p["u"][0] = x
        if not ("u" in p and len(p) == 1 and bool(p) and (p and True)):
            return 100 * x
        if p < 0.1:
            return 200 * x
        if not p:
            return 300 * x
        r = sum(p) + p() + (p + x) + p @ W + (-p).sum()
        with p as a:
            r += a[0] ** 2
        return r + p["u"][0]

    return f


@way
def in_place_operators_of_a_class():
    class V:
        def __init__(s, a):
            s.a = a

        def __iadd__(s, o):
            s.a += o
            return s

        def __imul__(s, o):
            s.a *= o
            return s

        def __setitem__(s, k, v):
            s.a[k] = v

        def __getitem__(s, k):
            return s.a[k]

    v = V(np.ones(4))

    def f(x):
        v_ = v
        v_ += x
        v_ *= 2
        v_[0] = x
        v_[1] += x
        return v.a @ W if v.a.max() > 1 else x

    return f
