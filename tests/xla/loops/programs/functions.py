"""Functions in loops, and loops in functions: closures, recursion, exceptions, derivatives, loops of this package."""

from __future__ import annotations

import numpy as np

import bridge
from tests.xla.loops.programs.record import Family

program = Family("functions")


@program
def comprehension(x):
    s = 0.0
    for i in range(6):
        s += sum([x[j] * i for j in range(6) if j % 2 == 0])
    return s


@program
def lambda_loop(x):
    fs = []
    for i in range(6):
        fs.append(lambda v, i=i: v * x[i])
    return sum(f(x[0]) for f in fs)


@program
def lambda_late(x):
    fs = []
    for i in range(6):
        fs.append(lambda v: v * x[i])
    return sum(f(x[0]) for f in fs)


@program
def lambda_used(x):
    s = 0.0
    for i in range(6):
        g = lambda v: v * x[i]
        s += g(s) + x[0]
    return s


@program
def nested_fn_nonlocal(x):
    tot = 0.0
    n = 0

    def add(v):
        nonlocal tot, n
        tot += v
        n += 1

    for i in range(6):
        if x[i] > 0:
            add(x[i])
    return tot * n + x[0]


def helper(v, w):
    for i in range(5):
        v = v * 0.9 + w
    return v


@program
def helper_shared(x):
    s = 0.0
    for i in range(6):
        s = helper(s, x[i])
    for i in range(6):
        s = helper(s, x[-i])
    return s


def power(v, n):
    return v if n == 0 else v * power(v, n - 1)


@program
def recursion(x):
    s = 0.0
    for i in range(6):
        s += power(x[i], 3)
    return s


@program
def recursion_i(x):
    s = 0.0
    for i in range(6):
        s += power(x[i], i)
    return s


@program
def loopvar_closure(x):
    k = 2
    s = 0.0

    def f(v):
        return v * k

    for i in range(6):
        s += f(x[i]) * x[i]
    k = 3
    for i in range(6):
        s += f(x[i]) * x[i]
    return s


@program
def default_arg_late(x):
    def f(v, acc=[]):
        acc.append(v)
        return len(acc)

    s = 0.0
    for i in range(6):
        s += x[i] * f(i)
    return s


@program
def ret_tuple(x):
    def two(a, b):
        if a > b:
            return a, b
        return b, a

    s = 0.0
    for i in range(5):
        hi, lo = two(x[i], x[4 - i])
        s += hi * 2 - lo
    return s


@program
def nested_grad(x):
    s = 0.0
    for i in range(6):
        g = bridge.grad(lambda y: np.sum(y**3) * y[0])(x)
        s += g[i] * x[i]
    return s


@program
def checkpoint(x):
    def step(u, i):
        return u * 0.9 + np.sin(u) * x[i]

    u = x.copy()
    for i in range(6):
        u = bridge.checkpoint(step)(u, i)
    return np.sum(u**2)


@program
def fori_in(x):
    s = 0.0
    for i in range(6):
        s = bridge.fori_loop(0, 3, lambda k, v: v * 0.5 + x[k] * i, s)
    return s


@program
def in_fori(x):
    def body(k, v):
        for i in range(6):
            if x[i] > v * 0.1:
                v = v * 0.9 + x[i]
        return v

    return bridge.fori_loop(0, 4, body, x[0])


@program
def cond_in(x):
    s = 0.0
    for i in range(6):
        s = bridge.cond(x[i] > 0, lambda v: v * 0.5 + x[i], lambda v: v - 1.0, s)
    return s


@program
def try_zero(x):
    s = 0.0
    for i in range(6):
        try:
            s += x[i] / (i - 2)
        except ZeroDivisionError:
            s += 3.0 * x[0]
    return s


@program
def try_key(x):
    d = {1: 2.0, 3: 4.0}
    s = 0.0
    for i in range(6):
        try:
            s += x[i] * d[i]
        except KeyError:
            s += 3.0 * x[0]
    return s


@program
def stopiter(x):
    it = iter([1.0, 2.0, 3.0])
    s = 0.0
    for i in range(6):
        try:
            s += next(it) * x[i]
        except StopIteration:
            s += x[0]
    return s


@program
def raise_in_loop(x):
    for i in range(6):
        if x[i] > 100:
            raise ValueError("big")
    return x[0] ** 2


@program
def print_in_a_branch(x):
    s = 0.0
    for i in range(6):
        s += x[i]
        if i == 9:
            print(s)
    return s
