"""Iterators that are used twice or left early, and functions that stop at an element."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


def any_binds_a_name(x: Any) -> Any:
    if any((h := v) > 1 for v in x):
        return h**2
    return x[0]


def any_writes(x: Any) -> Any:
    seen = np.zeros(4)
    k = 0

    def t(i):
        seen[i] = x[i]
        return x[i] < 0

    r = any(t(i) for i in range(4))
    return seen.sum() * (2.0 if r else 3.0)


def all_guards(x: Any) -> Any:
    n = 3
    return x.sum() * (2.0 if all(x[i] > -5 and i < n for i in range(4)) else 3.0)


def all_changes_a_list(x: Any) -> Any:
    c = [0.0]

    def bump(v):
        c[0] = c[0] + v
        return v > 0.5

    all(bump(v) for v in x)
    return c[0]


def first_by_next(x: Any) -> Any:
    return next(v for v in x if v > 1) * x[0]


def default_of_next(x: Any) -> Any:
    return next((v for v in x if v > 100), x[3]) * x[0]


def taken_while(x: Any) -> Any:
    return sum(itertools.takewhile(lambda v: v > 0, x))


def and_guards_an_index(x: Any) -> Any:
    i = 0
    while i < 4 and x[i] > 0:
        i += 1
    return x[0] * i


def and_guards_a_division(x: Any) -> Any:
    return x[1] * (1.0 if x[0] > 5 and 1 / (x[0] - x[0]) > 0 else 2.0)


def chain_of_comparisons(x: Any) -> Any:
    out = []

    def f(v):
        out.append(v)
        return v

    if f(x[0]) < f(x[1]) < f(x[2]):
        return out[0]
    return sum(out) + len(out)


def all_and_any(x: Any) -> Any:
    return x.sum() * (2.0 if all(v > 0 for v in x[[0, 2, 3]]) else 3.0) * (1.0 if any(v > 3 for v in x) else 7.0)


def any_in_a_loop(x: Any) -> Any:
    tot = 0.0
    for i in range(4):
        if any(x[j] > x[i] for j in range(i)):
            continue
        tot = tot + x[i] ** 2
    return tot


def rest_of_an_array(x: Any) -> Any:
    it = iter(x)
    s = 0.0
    for v in it:
        s = s + v
        if v < 0:
            break
    return s + 10 * sum(it)


def zip_twice(x: Any) -> Any:
    z = zip(x, x[1:])
    s = 0.0
    for a, b in z:
        s = s + a * b
    for a, b in z:
        s = s + 100
    return s


def pairs(x: Any) -> Any:
    it = iter(x)
    return sum(a * b for a, b in zip(it, it))


def enumerate_after_next(x: Any) -> Any:
    e = enumerate(x)
    next(e)
    s = 0.0
    for k, v in e:
        s = s + k * v
    return s


def rest_of_a_generator(x: Any) -> Any:
    g = (v**2 for v in x)
    s = 0.0
    for v in g:
        s = s + v
        if v > 1:
            break
    return s + 3 * sum(g)


def map_after_next(x: Any) -> Any:
    m = map(lambda v: v * 2, x)
    a = next(m)
    return a + sum(m) + sum(m)


def reversed_in_two_loops(x: Any) -> Any:
    r = reversed(x)
    s = 0.0
    for v in r:
        s = s + v * 2
        for w in r:
            s = s + w
            break
    return s


def generator_left_early(x: Any) -> Any:
    def gen():
        for k in range(4):
            yield x[k] * k

    g = gen()
    a = 0.0
    for v in g:
        a = a + v
        if v < -1:
            break
    for v in g:
        a = a + 5 * v
    return a


def islice_and_chain(x: Any) -> Any:
    return x[0] * sum(itertools.islice(itertools.count(1), 3)) + x[1] * sum(itertools.chain([1.0, 2.0], [3.0]))


def cycle_goes_on(x: Any) -> Any:
    c = itertools.cycle([1.0, 2.0])
    s = 0.0
    for v in x:
        s = s + v * next(c)
    for v in x:
        s = s + v * next(c) * 10
    return s


def next_in_a_branch(x: Any) -> Any:
    it = iter(range(4))
    s = 0.0
    for i in it:
        s = s + x[i]
        if x[i] > 0.5:
            next(it, None)
    return s


class C:
    def __init__(self, n):
        self.n, self.k = n, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.k >= self.n:
            raise StopIteration
        self.k += 1
        return self.k - 1


def own_iterator(x: Any) -> Any:
    c = C(4)
    s = 0.0
    for i in c:
        s = s + x[i]
        if x[i] < 0:
            break
    for i in c:
        s = s + 10 * x[i]
    return s


def rest_of_a_filter(x: Any) -> Any:
    f = filter(lambda v: v > 0, x)
    s = 0.0
    for v in f:
        s = s + v
        if v > 2:
            break
    return s + sum(f) * 7


def items_of_a_dictionary(x: Any) -> Any:
    d = {"a": x[0], "b": x[1]}
    it = iter(d.items())
    s = 0.0
    for k, v in it:
        s = s + v
        break
    for k, v in it:
        s = s + 5 * v
    return s


def next_until_it_ends(x: Any) -> Any:
    it = iter(x.tolist() if False else list(x))
    s = next(it)
    while True:
        try:
            s = s * 0.5 + next(it)
        except StopIteration:
            break
    return s


def next_in_a_condition(x: Any) -> Any:
    it = iter([0, 1, 2, 3])
    s = 0.0
    while x[next(it)] > 0:
        s = s + 1.0
    return s * x[0] + x[next(it)]


PROGRAMS = [
    any_binds_a_name,
    any_writes,
    all_guards,
    all_changes_a_list,
    first_by_next,
    default_of_next,
    taken_while,
    and_guards_an_index,
    and_guards_a_division,
    chain_of_comparisons,
    all_and_any,
    any_in_a_loop,
    rest_of_an_array,
    zip_twice,
    pairs,
    enumerate_after_next,
    rest_of_a_generator,
    map_after_next,
    reversed_in_two_loops,
    generator_left_early,
    islice_and_chain,
    cycle_goes_on,
    next_in_a_branch,
    own_iterator,
    rest_of_a_filter,
    items_of_a_dictionary,
    next_until_it_ends,
    next_in_a_condition,
]
