"""Arrays and numbers in lists, dictionaries and other containers."""

import itertools
from collections import deque, namedtuple

import numpy as np

from tests.programs_as_they_stand.ways.record import W, way, write


@way
def builtin_sum():
    a = np.ones(4)

    def f(x):
        write(a, x)
        return sum(a)

    return f


@way
def builtin_max():
    a = np.ones(4)

    def f(x):
        write(a, x)
        return max(a) * min(a)

    return f


@way
def dict_get():
    d = {"u": np.ones(4)}

    def f(x):
        write(d["u"], x)
        return (d.get("u") ** 2).sum()

    return f


@way
def dict_values():
    d = {"u": np.ones(4), "v": np.zeros(4)}

    def f(x):
        write(d["u"], x)
        return sum((a**2).sum() for a in d.values())

    return f


@way
def dict_items():
    d = {"u": np.ones(4), "v": np.zeros(4)}

    def f(x):
        write(d["u"], x)
        t = 0.0
        for k, a in d.items():
            t += a @ a
        return t

    return f


@way
def dict_comp():
    d = {"u": np.ones(4), "v": np.zeros(4)}

    def f(x):
        write(d["u"], x)
        e = {k: a * 2 for k, a in d.items()}
        return e["u"].sum()

    return f


@way
def dict_merge():
    d = {"u": np.ones(4), "v": np.zeros(4)}

    def f(x):
        write(d["u"], x)
        e = {**d, "w": 1}
        return e["u"].sum() + dict(d)["u"].max()

    return f


@way
def dict_kwargs():
    d = {"u": np.ones(4), "v": np.zeros(4)}

    def g(u, v):
        return (u * W).sum() + v.sum()

    def f(x):
        write(d["u"], x)
        return g(**d)

    return f


@way
def list_star():
    l = [np.ones(4), np.zeros(4)]

    def g(u, v):
        return (u * W).sum() + v.sum()

    def f(x):
        write(l[0], x)
        return g(*l)

    return f


@way
def list_for():
    l = [np.ones(4), np.zeros(4)]

    def f(x):
        write(l[0], x)
        t = 0
        for a in l:
            t += (a**2).sum()
        return t

    return f


@way
def list_zip():
    l = [np.ones(4), np.zeros(4)]

    def f(x):
        write(l[0], x)
        return sum((a * b).sum() for a, b in zip(l, [W, W]))

    return f


@way
def list_pop():
    l = [np.ones(4), np.ones(4)]

    def f(x):
        l2 = list(l)
        write(l[1], x)
        return l2.pop() @ W

    return f


@way
def list_unpack():
    l = [np.ones(4), np.ones(4)]

    def f(x):
        write(l[1], x)
        a, b = l
        [c, *d] = l
        return b @ W + (d[0] ** 2).sum()

    return f


@way
def list_stack():
    l = [np.ones(4), np.ones(4)]

    def f(x):
        write(l[1], x)
        return np.array(l)[1] @ W + np.stack(l).sum() + np.concatenate(l).max() + np.mean(l)

    return f


@way
def nested_list():
    l = [[np.ones(4)], [np.zeros(4)]]

    def f(x):
        write(l[0][0], x)
        if l[0][0].max() > 1.3:
            return np.sum(l) + np.max(l)
        return x

    return f


@way
def arrays_in_a_deque():
    q = deque([np.ones(4), np.ones(4)])

    def f(x):
        write(q[0], x)
        if q[0].max() > 1.3:
            return sum(a @ W for a in q)
        return x

    return f


@way
def arrays_in_a_named_tuple():
    P = namedtuple("P", "u v")
    p = P(np.ones(4), np.zeros(4))

    def f(x):
        write(p.u, x)
        u, v = p
        if p[0].max() > 1.3:
            return (u @ W) + (p.u**2).sum() + p[0][1]
        return x

    return f


@way
def arrays_from_itertools():
    l = [np.ones(4), np.ones(4)]

    def f(x):
        write(l[0], x)
        c = next(itertools.cycle(l))
        if c.max() > 1.3:
            return c.sum() + sum(b @ W for b in itertools.chain(l, l))
        return x

    return f


@way
def nested_comprehensions():
    L = [np.ones(4), np.ones(4)]

    def f(x):
        write(L[1], x)
        M = [[a[i] * a[j] for j in range(4)] for i in range(4) for a in L]
        return np.array(M).sum()

    return f
