"""Tracked numbers and arrays in the hands of the standard library."""

import bisect
import collections
import contextvars
import functools
import heapq
import math
import operator
import queue
import random
import statistics
import threading
import types

import numpy as np

from tests.programs_as_they_stand.ways.record import way


@way
def bisection_in_a_list():
    def f(x):
        l = [0.1, 0.5, 0.9]
        i = bisect.bisect(l, x)
        bisect.insort(l, x)
        return l[i] * i

    return f


@way
def heaps_of_numbers():
    def f(x):
        h = []
        for v in (x, x**2, 2 * x):
            heapq.heappush(h, v)
        return heapq.nsmallest(2, h)[1] * heapq.heappop(h) + heapq.nlargest(1, h)[0]

    return f


@way
def functions_of_operator():
    def f(x):
        return (
            operator.add(x, 1) * operator.mul(x, 2)
            + operator.pow(x, 2)
            + operator.neg(x)
            + operator.truediv(1, x)
            + operator.iadd(x, 1)
            + operator.abs(-x)
        )

    return f


@way
def operator_on_arrays():
    def f(x):
        a = np.zeros(3)
        operator.setitem(a, 0, x)
        operator.iadd(a, x * np.ones(3))
        return operator.getitem(a, 0) + a.sum() + functools.reduce(operator.mul, a)

    return f


@way
def a_counter():
    def f(x):
        c = collections.Counter()
        c["a"] += x
        c.update({"a": x**2})
        return c["a"] + sum(c.values()) + c.most_common(1)[0][1]

    return f


@way
def a_simple_namespace():
    def f(x):
        n = types.SimpleNamespace(u=np.zeros(3), k=x)
        n.u[0] = n.k
        n.k **= 2
        n.u += n.k
        return n.u.sum() + vars(n)["k"]

    return f


@way
def a_context_variable():
    v = contextvars.ContextVar("v", default=None)

    def f(x):
        t = v.set(x * np.ones(2))
        r = (v.get() ** 2).sum()
        v.reset(t)
        return r

    return f


@way
def an_array_in_a_context_variable():
    v = contextvars.ContextVar("v")
    v.set(np.zeros(2))

    def f(x):
        v.get()[0] = x
        return v.get()[0] * 2 if v.get().max() > 0.1 else x

    return f


@way
def a_queue():
    def f(x):
        qq = queue.Queue()
        qq.put(x**2)
        qq.put(np.ones(2) * x)
        return qq.get() + qq.get().sum()

    return f


@way
def means_of_the_statistics_module():
    def f(x):
        return (
            statistics.mean([x, x**2])
            + statistics.fmean([x, 1.0])
            + statistics.pstdev([x, 1.0, 2.0])
            + statistics.median([x, 0.1, 2.0])
        )

    return f


@way
def draws_of_the_random_module():
    def f(x):
        random.seed(1)
        return random.gauss(x, 2 * x) + random.uniform(0, x) + random.random() * x

    return f


@way
def thread_locals():
    t = threading.local()
    t.u = np.zeros(2)

    def f(x):
        t.u[0] = x
        t.v = x**2
        r = t.u.sum() + t.v if t.u.max() > 0.1 else x
        del t.v
        return r

    return f


@way
def generator_expressions_in_sums():
    def f(x):
        return (
            sum((v * x for v in range(3)), x)
            + sum(map(lambda v: v * x, range(3)))
            + max(v * x for v in range(3))
            + math.prod([x, 2.0, x])
            + math.fsum([x, x])
            + np.sum(list(v * x for v in range(3)))
        )

    return f


@way
def columns_by_zip():
    def f(x):
        rows = [(x, 1.0), (x**2, 2.0)]
        a, b = zip(*rows)
        return np.dot(a, b) + sum(a) * max(b) + np.array(rows).prod()

    return f


@way
def dictionaries_sorted_by_value():
    def f(x):
        d = {"a": x, "b": x**2, "c": 0.1}
        k = sorted(d, key=d.get)
        m = max(d.items(), key=lambda t: t[1])
        return d[k[0]] + d[k[1]] * 2 + m[1] * 3 + min(d.values()) + sorted(d.values())[1]

    return f
