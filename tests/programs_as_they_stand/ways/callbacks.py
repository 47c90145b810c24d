"""Functions that get arrays from somewhere: as keys, defaults, closures, caches."""

import functools
import operator

import numpy as np

from tests.programs_as_they_stand.ways.record import W, way, write


@way
def map_of_a_numpy_function():
    l = [np.ones(4), np.zeros(4)]

    def f(x):
        write(l[0], x)
        m = list(map(np.max, l))
        if m[0] > 1.3:
            return x**3
        return x

    return f


@way
def max_by_a_numpy_function():
    l = [np.ones(4), np.full(4, 1.1)]

    def f(x):
        write(l[0], x)
        b = max(l, key=np.max)
        return b[2] * x

    return f


@way
def sorted_by_a_numpy_function():
    l = [np.ones(4), np.full(4, 1.1)]

    def f(x):
        write(l[0], x)
        b = sorted(l, key=np.sum)
        return b[-1][2] * x

    return f


@way
def any_of_a_generator():
    l = [np.ones(4), np.zeros(4)]

    def f(x):
        write(l[0], x)
        if any(a.max() > 1.3 for a in l):
            return x**3
        return x

    return f


@way
def itemgetter_in_a_condition():
    d = {"u": np.ones(4)}
    h = operator.itemgetter("u")

    def f(x):
        write(d["u"], x)
        if h(d).max() > 1.3:
            return x**3
        return x

    return f


@way
def a_default_argument():
    a = np.ones(4)
    g = lambda k, a=a: a[k] ** 2

    def f(x):
        write(a, x)
        return g(1) + g(2)

    return f


@way
def a_generator_over_a_captured_array():
    a = np.ones(4)

    def g():
        for k in range(4):
            yield a[k] * k

    def f(x):
        it = g()
        s = next(it)
        write(a, x)
        return s + sum(it)

    return f


@way
def a_cached_buffer():
    @functools.lru_cache
    def buf(n):
        return np.ones(n)

    def f(x):
        write(buf(4), x)
        if buf(4).max() > 1.3:
            return buf(4) @ W
        return x

    return f


@way
def a_write_before_an_exception():
    a = np.ones(4)

    def g(x):
        a[0] = x
        raise KeyError

    def f(x):
        try:
            g(x)
        except KeyError:
            pass
        return a @ W

    return f


@way
def a_captured_array_in_a_condition():
    a = np.ones(4)

    def f(x):
        write(a, x)
        if (a > 1.2).any() and a.max() > 1.3 and np.argmax(a) == 2:
            return a[2] * 3
        return a[0]

    return f


@way
def truth_of_elements():
    a = np.ones(4)

    def f(x):
        write(a, x)
        return x**2 if a[0] == 1 + x**2 and bool(a[1]) and not a[2] < 0 else x

    return f


@way
def a_dictionary_as_text():
    d = {"u": np.ones(4)}

    def f(x):
        write(d["u"], x)
        if "nan" in str(d):
            return x
        if "nan" in f"{d}":
            return x
        return x**3

    return f


@way
def where_argsort_and_searchsorted():
    a = np.ones(4)

    def f(x):
        write(a, x)
        i = np.where(a > 1.2)[0]
        j = np.argsort(a)
        k = np.searchsorted(np.sort(a), 1.3)
        c = np.count_nonzero(a > 1.2)
        return a[i].sum() * c + a[j[-1]] * k

    return f


@way(expected="EscapeError: ")
def choice_and_permutation():
    a = np.ones(4)

    def f(x):
        rr = np.random.default_rng(0)
        write(a, x)
        return rr.choice(a) + rr.permutation(a) @ W

    return f


@way
def a_conditional_expression():
    a, b = np.ones(4), np.zeros(4)

    def f(x):
        write(a, x)
        c = a if x > 0 else b
        return (a, b)[0] @ W + c[1] ** 2 + (a or b if False else a)[2]

    return f


@way
def a_generator_that_writes():
    a = np.ones(4)

    def upd(x):
        for k in range(4):
            a[k] = x * (k + 1)
            yield a

    def f(x):
        t = 0
        for b in upd(x):
            if b.max() > 0.5:
                t += b.sum()
        return t

    return f
