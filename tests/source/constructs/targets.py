# ruff: noqa
# fmt: off
"""Targets of every kind: in assignments, loops, with statements, comprehensions."""

import numpy as np

from tests.source.constructs.objects import Noisy, said


class Thing:
    pass


def row_unpacking(log):
    a, b = [1, 2]
    (c, d), e = "xy", 3
    [f, *g] = range(4)
    *h, i = {"k": 1, "l": 2}
    j, (k, (*l, m)), n = 1, (2, (3, 4, 5)), 6
    o, = [7]
    p, *q = (8,)
    () = []
    [] = ()
    return a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q


def row_unpacking_into_places(log):
    t, x, n = Thing(), [0] * 6, Noisy(log, "n")
    t.a, x[0] = 1, 2
    t.b, *x[1:3] = 3, 4, 5
    (t.c, (x[3], *t.d)), x[-1] = (6, (7, 8, 9)), 10
    n.p, (n[said(log, 0)], *n.q), n.r = n
    return vars(t), x


def row_unpacking_evaluates_in_turn(log):
    i, x = 0, [0, 0, 0]
    i, x[i], (i, x[i]) = 1, "one", (2, "two")
    return i, x


def row_too_few_values(log):
    x = [0, 0]
    a, x[0], b = 1, 2


def row_too_many_values(log):
    a, b = said(log, (1, 2, 3))


def row_too_few_for_a_star(log):
    a, b, *c = [1]


def row_nested_values_that_do_not_fit(log):
    x = [0, 0]
    try:
        x[0], (x[1], a) = 1, 5
    except TypeError as error:
        log.append(str(error))
    try:
        x[0], (x[1], a) = 2, (1, 2, 3)
    except ValueError as error:
        log.append(str(error))
    return x


def row_no_iterable(log):
    a, b = 3


def row_unpacked_iterators(log):
    def values():
        for k in range(4):
            log.append(k)
            yield k
    a, b, c, d = values()
    x = [0]
    x[0], *rest = values()
    try:
        a, x[0] = values()
    except ValueError as error:
        log.append(str(error))
    return a, b, c, d, x, rest


def row_loop_targets(log):
    t, x, n = Thing(), [0, 0, 0], Noisy(log, "n")
    for t.k in range(3): log.append(t.k)
    for x[0] in "ab": log.append(list(x))
    for i, (t.a, *x[1:]) in enumerate([(1, 2, 3), (4, 5, 6)]): log.append((i, t.a, list(x)))
    for n.p, n[said(log, 1)] in [(1, 2)]: pass
    for [a, b] in [(1, 2)]: pass
    for (c, *d) in ["xyz"]: pass
    for x[x[0] == "b"] in [7]: pass
    return vars(t), x, a, b, c, d


def row_loop_target_is_kept_without_items(log):
    x = [5]
    for x[0] in []: pass
    for k in (): pass
    return x, "k" in locals()


def row_loops(log):
    for k in range(3):
        if k == 5: break
    else:
        log.append("else")
    for k in range(3):
        if k == 1: continue
        if k == 2: break
        log.append(k)
    else:
        log.append("never")
    n = 0
    while n < 3:
        n += 1
        if n == 2: continue
    else:
        log.append("while else")
    while True:
        n -= 1
        if n < 0: break
    else:
        log.append("never")
    for i in range(3):
        for j in range(3):
            if j > i: break
        else:
            continue
        log.append((i, j))
    return k, n, log


def row_loop_over_what_changes(log):
    x = [1, 2, 3]
    for k in x:
        if len(x) < 6: x.append(k * 10)
    for i, v in enumerate(x):
        x[i] = v + i
    d = {"a": 1}
    try:
        for k in d:
            d[k + "a"] = 1
    except RuntimeError as error:
        log.append(str(error))
    for k in list(d):
        del d[k]
    return x, d


def row_loop_over_arrays(log):
    a = np.arange(6.0).reshape(3, 2)
    for r in a:
        r += 1.0
    for r, s in zip(a, a[::-1]):
        r[0] = s[1]
    for i in range(len(a)):
        a[i] = a[i - 1] * 2.0
    return a, [v for v in a.flat], {k: v for k, v in enumerate(a[0])}


def row_with_targets(log):
    t, x, n = Thing(), [0, 0], Noisy(log, "n")
    with Noisy(log, "a") as t.a, Noisy(log, "b") as x[said(log, 0)], n[said(log, 1)] as (n.p, [n.q, *x[1:]]):
        log.append("body")
    with Noisy(log, "c"), Noisy(log, "d") as d: pass
    with (Noisy(log, "e") as t.e, Noisy(log, t.e.name)): log.append("body 2")
    with (yield_nothing := Noisy(log, "f")): pass
    return sorted(vars(t)), len(x)


def row_with_target_that_raises(log):
    n = Noisy(log, "n", 1)
    x = ()
    with n as x[0]:
        log.append("never")
    with n as (a, b):
        log.append("never")
    with n, Noisy(log, "m", 0) as x[0], Noisy(log, "never"):
        log.append("never")
    return "suppressed"


def row_comprehension_targets(log):
    t, x = Thing(), [0, 0]
    found = [t.k for t.k in range(3)], [x[0] for x[0] in "ab"], [(a, b) for a, *b in ["xyz"]], {k: v for (k, v), in [[(1, 2)]]}
    return found, vars(t), x


def row_comprehensions(log):
    m = [[1, 2], [3, 4]]
    k = "outer"
    return (
        [x for r in m for x in r if x % 2 if x > 1], [[x * y for x in r] for y, r in enumerate(m)], {x for r in m for x in r},
        {k: [k] * k for k in range(3)}, sum(x for r in m for x in r), [k for k in range(2)], k, list(x for x in m if x[0] > 1),
        [said(log, i) + said(log, j) for i in said(log, range(2)) for j in said(log, range(i))], [lambda: i for i in range(2)][0](),
        [x if x else y for x in (0, 1) for y in (5,)], [*m, *[5]], {**{"a": 1}, "b": 2}, [(yield_ := 3) for _ in range(1)], yield_, {*m[0]},
        [[[a + b + c for a in range(2)] for b in range(2)] for c in range(2)], [x for x in [1, 2, 3] if x in (y for y in (1, 3))],
    )


def row_comprehension_that_raises(log):
    return [1 / k
            for k in [1, 0]]


def row_targets_of_handlers_and_imports(log):
    try:
        raise ValueError("x")
    except ValueError as t:
        kept = t
    import os.path as p
    from os import path as q, sep
    def t(): pass
    class r: pass
    return str(kept), p is q, t.__name__, r.__name__
