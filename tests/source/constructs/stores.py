# ruff: noqa
# fmt: off
"""Assignments of every kind, and the order in which their parts are evaluated."""

import numpy as np

from tests.source.constructs.objects import InPlace, Noisy, said


def row_order_of_an_assignment(log):
    a, b = Noisy(log, "a"), Noisy(log, "b")
    a.x[said(log, 0)].y = b.value_of(said(log, 1))
    a[b.k] = a[b.m] = said(log, 2)
    (a.p, [a[said(log, 3)], a.q]), b.r = (said(log, 1), said(log, (2, 3))), said(log, 4)


def row_order_of_augmented_assignments(log):
    a = Noisy(log, "a")
    i = InPlace(log, "i")
    a.x += said(log, 1)
    a[said(log, 0)] += said(log, 1)
    a[said(log, 1):said(log, 2), ..., said(log, None)] -= said(log, 3)
    a.x.y[a.k] *= a.z
    i += said(log, 4)
    i.x @= said(log, 5)
    i[0] **= said(log, 6)
    return repr(i), repr(a)


def row_augmented_operators_of_names(log):
    n, i = Noisy(log, "n"), InPlace(log, "i")
    n += 1; n -= 1; n *= 1; n @= 1; n /= 1; n //= 1; n %= 1; n **= 1; n <<= 1; n >>= 1; n &= 1; n |= 1; n ^= 1
    i += 1; i -= 1; i *= 1; i @= 1; i /= 1; i //= 1; i %= 1; i **= 1; i <<= 1; i >>= 1; i &= 1; i |= 1; i ^= 1
    return repr(n), repr(i)


def row_augmented_operators_of_items_and_attributes(log):
    class A: pass
    a, x = A(), [7, 7.0, {1, 2}, [1], "s", True]
    a.n = 7
    a.n += 2; a.n -= 1; a.n *= 3; a.n //= 2; a.n %= 7; a.n **= 2; a.n <<= 2; a.n >>= 1; a.n |= 1; a.n &= 7; a.n ^= 2; a.n /= 4
    x[0] += 2; x[0] <<= 2; x[1] /= 2; x[2] |= {3}; x[2] &= {2, 3}; x[3] += [2]; x[3] *= 2; x[4] += "t"; x[4] *= 2; x[5] &= False
    x[0:1] += [9]
    x[-1:] *= 3
    return a.n, x


def row_augmented_assignments_of_arrays(log):
    a = np.arange(6.0).reshape(2, 3)
    b, m = a[0], a > 2
    a[0, 1:] += 1.0; a[:, ::-1] *= 2.0; a[m] -= 1.0; a[[0, 1], [1, 2]] /= 2.0; a[..., 0] **= 2.0; a[1] //= 2.0; a %= 5.0
    a.T[0] += 1.0
    b += 1.0
    c = np.arange(4)
    c |= 1; c <<= 1; c[1:] ^= 3; c >>= 1
    d = np.eye(2)
    d @= np.ones((2, 2))
    return a, b, c, d, b.base is a


def row_augmented_assignment_that_raises(log):
    x = ([1], 2)
    try:
        x[0] += [3]
    except TypeError as error:
        log.append(str(error))
    return x


def row_augmented_assignment_of_no_such_item(log):
    x = {}
    x["k"] += said(log, 1)


def row_augmented_assignment_of_no_such_attribute(log):
    x = object()
    x.k += said(log, 1)


def row_in_place_that_returns_another(log):
    class Grows:
        def __init__(self, n): self.n = n
        def __iadd__(self, k): return Grows(self.n + k)
    class Box: pass
    box, x = Box(), Grows(1)
    y = x
    x += 1
    box.g = y
    box.g += 5
    items = [y]
    items[0] += 7
    return x.n, y.n, box.g.n, items[0].n, x is y, box.g is y


def row_walrus_in_an_augmented_store(log):
    a = [1, 2]
    b = a
    a[0] += len(a := [5, 6, 7])
    b[(a := 1)] = a
    return a, b


def row_walrus(log):
    found = [y := 1, y ** 2, (z := y + 1)]
    while (n := len(found)) < 5:
        found.append(n)
    kept = [last := k for k in range(3) if (half := k / 2) > 0]
    def f(x=(w := 5)): return (x := x + 1)
    return found, n, kept, last, half, f(), w, (lambda: (q := 3) + q)()


def row_chained_assignment(log):
    a = b = c = []
    a.append(1)
    i = x = [0, 0, 0]
    i = x[i[0]] = 1
    d = e, f = 1, 2
    [g, h] = (k, l) = "ab"
    x[0] = x[1] = y = 5
    return a is b is c, i, x, d, e, f, g, h, k, l, y


def row_swaps(log):
    a, b = 1, 2
    a, b = b, a
    x = [1, 2, 3]
    i = 0
    i, x[i] = 1, 9
    x[0], x[1] = x[1], x[0]
    x[:2], x[2] = [7, 8], 0
    y = np.arange(4.0)
    y[:2], y[2:] = y[2:], y[:2].copy()
    y[0], y[1] = y[1], y[0]
    z = np.arange(3.0)
    z[1:], z[0] = z[:-1], 5.0
    return a, b, i, x, y, z


def row_annotated(log):
    class A: pass
    a = A()
    x: int = 1
    a.x: "text" = said(log, 2)
    (y): int = 3
    a.d = {}
    a.d[said(log, "k")]: unknown_name = said(log, 4)
    a.d[said(log, "never stored")]: int
    z: int
    return x, a.x, y, a.d, "z" in locals(), log


def row_deletes(log):
    class A: pass
    a, d, x, n = A(), {"a": 1, "b": 2}, list(range(8)), Noisy(log, "n")
    a.p = a.q = a.r = 1
    del a.p, d["a"], x[0], x[-1:], x[::2]
    del (a.q, [a.r]), (d["b"])
    del n.x.y, n[said(log, 1)][said(log, 2)], n.z[1:said(log, 3)]
    return vars(a), d, x


def row_delete_of_no_such_attribute(log):
    class A: pass
    del A().x


def row_delete_of_no_such_item(log):
    x = {}
    del x["k"]


def row_slices(log):
    n = Noisy(log, "n")
    n[1:2]; n[:, 1]; n[...]; n[()]; n[1,]; n[:]; n[::2]; n[None:1:-1, ..., 0]; n[*[1, 2], 3]
    n[1:2] = 1; n[:, 1] = 2; n[...] = 3; n[()] = 4; n[1,] = 5; n[::2, :] = 6; n[*[1, 2], 3] = 7
    n[*[1], :2] += 8
    x = list(range(9))
    x[1:3] = []
    x[::3] = "abc"
    x[len(x):] = [1]
    return x, x[slice(1, 3)], x[-1], x[:-1:2]


def row_slice_of_wrong_length(log):
    x = list(range(5))
    x[::2] = [1]


def row_store_into_what_takes_none(log):
    x = (1, 2)
    x[0] = said(log, 3)


def row_store_of_an_attribute_that_none_takes(log):
    x = 3
    x.y = said(log, 3)


def row_list_of_list(log):
    x = [[0] * 3] * 2
    x[0][1] = 5
    x[1][2] += 7
    y = {"a": {"b": [1]}}
    y["a"]["b"][0] = y["a"]["c"] = 2
    y["a"]["b"] += [3]
    return x, y, x[0] is x[1]


def row_subclasses_of_containers(log):
    class L(list):
        def __setitem__(self, k, v): log.append((k, v)); super().__setitem__(k, v)
        def append(self, x): log.append(x); super().append(x)
    class D(dict):
        def __missing__(self, k): log.append(k); self[k] = []; return self[k]
        def __setitem__(self, k, v): log.append(("set", k)); super().__setitem__(k, v)
    x, d = L([1, 2]), D()
    x[0] = 5
    x[1] += 1
    x.append(3)
    d["a"].append(1)
    d["b"] += [2]
    return x, d, log


def row_default_containers(log):
    import collections
    d, c, q, o = collections.defaultdict(list), collections.Counter("aab"), collections.deque([1], maxlen=2), collections.OrderedDict()
    d["a"].append(1); d["b"] += [2]; c["a"] += 1; c["z"] -= 1; q.append(2); q.append(3); q[0] = 9; o["x"] = 1; o.move_to_end("x")
    m = memoryview(bytearray(b"abc"))
    m[0] = 65
    b = bytearray(b"abc")
    b[1:2] = b"XY"
    b[0] += 1
    return dict(d), c, list(q), o, bytes(m), b


def row_lifetimes(log):
    class Dies:
        def __init__(self, name): self.name = name
        def __del__(self): log.append(f"{self.name} dies")
    x = [Dies("first")]
    x[0] = Dies("second")
    log.append("stored")
    x[0] = None
    log.append("forgotten")
    a = Dies("third")
    a = None
    for x[0] in (Dies("fourth"),): pass
    x[0] = 0
    log.append("end")
    return log
