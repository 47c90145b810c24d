"""Attributes, keys and names that a loop or a branch sets first, on some paths."""

from __future__ import annotations

import collections
import dataclasses
import functools
from typing import Any

import numpy as np


class A:
    energy = 10.0


class B(A):
    pass


class Lazy:
    _m = None

    def m(self, x):
        if self._m is None:
            self._m = 3.0 * x[0]
        return self._m


class Cached:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def total(self):
        return self.x.sum() * 2


class Slot:
    __slots__ = ("a",)


@dataclasses.dataclass
class DC:
    k: float = 4.0
    l: float = dataclasses.field(default=2.0)


class GA:
    def __getattr__(self, n):
        if n == "z":
            return 5.0
        raise AttributeError(n)


class Conv:
    done = False
    n = 0


def class_default(x: Any) -> Any:
    a = A()
    if x[0] < 0:
        a.energy = 3.0
    return x.sum() * a.energy


def inherited_default(x: Any) -> Any:
    a = B()
    if x[1] < 0:
        a.energy = x[0]
    if x[0] < 0:
        a.energy = x[1]
    return x.sum() * a.energy


def lazy_attribute(x: Any) -> Any:
    l = Lazy()
    s = 0.0
    for i in range(4):
        if x[i] > 0:
            s = s + l.m(x)
    return s


def cached_property(x: Any) -> Any:
    c = Cached(x)
    s = 0.0
    if x[0] > 0:
        s = c.total
    return s + c.total


def slot_set_on_the_path_that_runs(x: Any) -> Any:
    s = Slot()
    if x[0] > 0:
        s.a = x[1]
    return s.a * 2


def slot_with_a_default_of_getattr(x: Any) -> Any:
    s = Slot()
    if x[0] < 0:
        s.a = x[1]
    return getattr(s, "a", 7.0) * x[0]


def dataclass_default(x: Any) -> Any:
    d = DC()
    for i in range(4):
        if x[i] < 0:
            d.k = d.k + x[i]
    return d.k * d.l * x[0]


def attribute_by_getattr(x: Any) -> Any:
    g = GA()
    if x[0] < 0:
        g.z = 1.0
    return g.z * x[0]


def loop_until_done(x: Any) -> Any:
    c = Conv()
    y = x[0]
    while not c.done:
        y = y * 2
        if y > 50:
            c.done = True
    return y


def counter_of_a_class(x: Any) -> Any:
    c = Conv()
    while c.n < 3:
        c.n = c.n + 1
    return x[0] * c.n


def get_of_a_dictionary(x: Any) -> Any:
    d = {}
    if x[0] < 0:
        d["k"] = 1.0
    return d.get("k", 5.0) * x[0]


def key_in_a_dictionary(x: Any) -> Any:
    d = {"a": 1.0}
    if x[0] > 0:
        d["k"] = x[1]
    return (2.0 if "k" in d else 3.0) * x[0] + len(d)


def attribute_of_a_function(x: Any) -> Any:
    def f():
        pass

    if x[0] < 0:
        f.calls = 3.0
    return getattr(f, "calls", 4.0) * x[0]


def asked_by_hasattr(x: Any) -> Any:
    a = A()
    if x[0] < 0:
        a.energy = 3.0
    return (2.0 if hasattr(a, "energy") else 3.0) * (5.0 if "energy" in vars(a) else 7.0) * x[0]


def deleted_attribute(x: Any) -> Any:
    a = A()
    a.energy = 2.0
    if x[0] > 0:
        del a.energy
    return a.energy * x[0]


def sum_on_a_class_default(x: Any) -> Any:
    a = A()
    for i in range(4):
        a.energy = a.energy + x[i]
    return a.energy**2


def changed_in_a_branch_of_a_loop(x: Any) -> Any:
    a = A()
    for i in range(4):
        if x[i] > 2:
            a.energy = x[i] * a.energy
    return a.energy * x[0]


def default_dictionary(x: Any) -> Any:
    d = collections.defaultdict(float)
    for i in range(4):
        if x[i] > 0:
            d["p"] += x[i]
        else:
            d["n"] += x[i] * 2
    return d["p"] * d["n"]


def unbound_variable(x: Any) -> Any:
    if x[0] < 0:
        q = 3.0
    try:
        return q * x[0]
    except UnboundLocalError:
        return x[1] * 5


def set_by_a_closure(x: Any) -> Any:
    a = A()

    def upd(v):
        if v < 0:
            a.energy = v

    for v in x:
        upd(v)
    return a.energy * x[0]


def loop_ends_by_a_caught_error(x: Any) -> Any:
    k = 0
    try:
        while x[k] < 10:
            k += 1
    except IndexError:
        return x[0] * k
    return x[1]


def loop_with_a_bound(x: Any) -> Any:
    k = 0
    while k < 4 and x[k] < 1:
        k += 1
    return x[k] ** 2


def loop_by_its_condition(x: Any) -> Any:
    k = 0
    while x[k] < 2:
        k += 1
    return x[k] ** 2


def best_so_far(x: Any) -> Any:
    class W:
        best = None

    w = W()
    for v in x:
        if w.best is None or v > w.best:
            w.best = v
    return w.best**2


def set_by_setattr(x: Any) -> Any:
    a = A()
    if x[0] > 0:
        setattr(a, "energy", x[1])
    return a.energy * x[0]


PROGRAMS = [
    class_default,
    inherited_default,
    lazy_attribute,
    cached_property,
    slot_set_on_the_path_that_runs,
    slot_with_a_default_of_getattr,
    dataclass_default,
    attribute_by_getattr,
    loop_until_done,
    counter_of_a_class,
    get_of_a_dictionary,
    key_in_a_dictionary,
    attribute_of_a_function,
    asked_by_hasattr,
    deleted_attribute,
    sum_on_a_class_default,
    changed_in_a_branch_of_a_loop,
    default_dictionary,
    unbound_variable,
    set_by_a_closure,
    loop_ends_by_a_caught_error,
    loop_with_a_bound,
    loop_by_its_condition,
    best_so_far,
    set_by_setattr,
]
