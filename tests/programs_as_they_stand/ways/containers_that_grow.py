"""Containers that tracked numbers are put into, and taken from."""

from collections import OrderedDict, defaultdict

import numpy as np

from tests.programs_as_they_stand.ways.record import W, way


@way
def growing_list():
    out = []

    def f(x):
        out.clear()
        out.extend([x, x**2])
        out.insert(0, x**3)
        out[1:2] = [2 * x]
        s = sum(out)
        out.clear()
        return s

    return f


@way
def sums_kept_in_a_list():
    tot = [0.0, 0.0]

    def f(x):
        tot[0] += x
        tot[1] += tot[0] * x
        return tot[1] + tot[0]

    return f


@way
def a_default_dictionary_of_numbers():
    d = defaultdict(float)

    def f(x):
        d["a"] += x
        d["b"] += d["a"] ** 2
        return d["b"]

    return f


@way
def an_ordered_dictionary():
    d = OrderedDict(a=np.ones(3))
    e = {}

    def f(x):
        e["k"] = x
        e.setdefault("m", x**2)
        d.update(a=x * W)
        d["z"] = e.pop("k")
        return d["a"].sum() + e["m"] + d.pop("z")

    return f


@way(effects=True)
def a_default_dictionary_of_arrays():
    d = defaultdict(lambda: np.zeros(3))

    def f(x):
        d["a"][0] += x
        d["a"][1] = d["a"][0] ** 2
        return d["a"].sum()

    return f


@way
def list_methods():
    l = [np.ones(4)]

    def f(x):
        a = np.zeros(4)
        l2 = list(l)
        l2.append(a)
        l2.insert(0, a * 1)
        l2[1] = l2[1] + x
        a[0] = x
        l2.reverse()
        b = l2.pop(0)
        l2.extend([b])
        l2.remove(l2[0]) if False else None
        return sum(c.sum() for c in l2) + b[0] + (x if b.max() > 0.1 else 0)

    return f


@way
def del_slices():
    def f(x):
        l = [x, x**2, x**3, 1.0]
        del l[1]
        l[0:1] = [x, x]
        l *= 2
        l += (x,)
        return sum(v * k for k, v in enumerate(l))

    return f


@way
def pairs_sorted_by_a_key():
    def f(x):
        pts = [(x * k - k**2, k) for k in range(4)]
        pts.sort(key=lambda p: p[0])
        s = sorted(pts, reverse=True)
        return sum(p[0] * i for i, p in enumerate(pts)) + s[0][0]

    return f


@way
def lists_of_lists():
    def f(x):
        a = [[0.0] * 3 for _ in range(3)]
        for i in range(3):
            for j in range(3):
                a[i][j] = x ** (i + j)
        b = np.array(a)
        c = np.asarray(a)[1]
        d = np.dot(a, a)
        e = np.linalg.det(np.array(a) + np.eye(3))
        g = np.transpose(a)[0]
        h = np.array(a).T @ np.ones(3)
        i_ = np.vstack(a)
        return b.sum() + c[2] + d[0][0] + e + g[1] + h[0] + i_.sum()

    return f


@way(expected="RefusedError: hash()")
def a_number_as_a_key():
    def f(x):
        d = {x: 1, round(float(x), 3) if False else 0.5: 2}
        return x * len(d)

    return f


@way(expected="RefusedError: hash()")
def a_set_of_numbers():
    def f(x):
        s = {x, x * 1.0, x**2}
        return x * len(s)

    return f
