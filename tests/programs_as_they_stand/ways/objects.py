"""Arrays in attributes, slots, classes and modules."""

import copy
import dataclasses
import operator
import pickle

import numpy as np

from tests.programs_as_they_stand.ways.record import Thing, W, thing, way, write

G = np.zeros(4)


@way
def an_attribute_in_a_condition():
    o = thing()

    def f(x):
        write(o.u, x)
        if (o.u > 1.2).any() and np.nanmax(o.u) > 1.3 and np.argmax(o.u) == 2:
            return o.u[2] * 3
        return o.u[0]

    return f


@way
def vars_and_getattr():
    o = thing()

    def f(x):
        write(o.u, x)
        return vars(o)["u"].sum() + o.__dict__["u"] @ W + getattr(o, "u")[1]

    return f


@way
def setattr_and_a_dictionary_of_attributes():
    o = thing()

    def f(x):
        setattr(o, "u", x * W)
        o.__dict__["v"] = x * W
        if o.u.max() > 2:
            return o.u.sum() + o.v[1]
        return x

    return f


@way
def an_attribute_that_is_deleted():
    o = thing()

    def f(x):
        o.tmp = x * W
        s = o.tmp.sum()
        del o.tmp
        return s

    return f


@way
def objects_that_reach_each_other():
    o = thing()
    p = Thing()
    o.p = p
    p.o = o
    p.v = o.u[1:]

    def f(x):
        write(o.u, x)
        if p.o.u.max() > 1.3:
            return (p.v**2).sum() + o.p.v[0]
        return x

    return f


@way
def an_array_in_a_slot():
    class S:
        __slots__ = ("u",)

    s = S()
    s.u = np.ones(4)

    def f(x):
        write(s.u, x)
        s.u = s.u * 2
        s.u[0] = x
        if s.u.max() > 1.3:
            return s.u @ W
        return x

    return f


@way
def a_dataclass_replaced_and_listed():
    @dataclasses.dataclass
    class D:
        u: np.ndarray
        n: float = 0.0

    d = D(np.ones(4))

    def f(x):
        write(d.u, x)
        d.n += x
        e = dataclasses.replace(d, n=x**2)
        if e.u.max() > 1.3:
            return e.u @ W + e.n + d.n + dataclasses.asdict(d)["u"].sum() + dataclasses.astuple(d)[1]
        return x

    return f


@way
def an_array_of_a_class():
    class K:
        buf = np.ones(4)

    def f(x):
        write(K.buf, x)
        k = K()
        if k.buf.max() > 1.3 and type(k).buf[2] > 1.3:
            return k.buf.sum() + K.buf[2]
        return x

    return f


@way
def an_array_by_globals():
    def f(x):
        G[:] = 0.0
        write(G, x)
        if globals()["G"].max() > 1.3:
            return G.sum() * x
        return x

    return f


@way
def attrgetter_and_itemgetter():
    o = thing()
    g = operator.attrgetter("u")
    d = {"u": np.ones(4)}
    h = operator.itemgetter("u")

    def f(x):
        write(o.u, x)
        write(d["u"], x)
        return g(o).sum() + h(d) @ W

    return f


@way
def attrgetter_in_a_condition():
    o = thing()
    g = operator.attrgetter("u")

    def f(x):
        write(o.u, x)
        if np.max(g(o)) > 1.3:
            return x**3
        return x

    return f


@way
def an_object_deeply_copied():
    o = thing()

    def f(x):
        write(o.u, x)
        p = copy.deepcopy(o)
        p.u[0] = 0.0
        return p.u @ W + o.u.sum()

    return f


@way
def an_object_copied():
    o = thing()

    def f(x):
        p = copy.copy(o)
        write(p.u, x)
        return o.u @ W

    return f


@way
def a_guard_against_nan():
    o = thing()

    def h(p):
        return np.isnan(p.u).any()

    def f(x):
        write(o.u, x)
        if h(o):
            return x
        return x**3

    return f


@way(expected="RefusedError: pickled")
def an_array_pickled():
    o = thing()

    def f(x):
        write(o.u, x)
        b = pickle.loads(pickle.dumps(o.u))
        if b.max() > 1.3:
            return x**3
        return x

    return f


@way
def an_attribute_as_text():
    o = thing()

    def f(x):
        write(o.u, x)
        if "nan" in str(o.u):
            return x
        if "nan" in f"{o.u}":
            return x
        if "nan" in "%s" % o.u:
            return x
        if "nan" in "{}".format(o.u):
            return x
        return x**3

    return f
