"""State in objects and containers, of the program and of the call."""

from __future__ import annotations

import collections
import dataclasses

import numpy as np

from tests.xla.loops.programs.record import Family

program = Family("state")


class Body:
    def __init__(self):
        self.n = 0
        self.v = 0.0
        self.hist = []
        self.a = np.zeros(6)

    def add(self, v):
        self.n += 1
        self.v = self.v * 0.5 + v * self.n
        self.a[self.n % 6] += v

    @property
    def twice(self):
        return 2 * self.v


class Slotted:
    __slots__ = ("n", "v")


@dataclasses.dataclass
class Particle:
    pos: float
    vel: float


@dataclasses.dataclass(frozen=True)
class Frozen:
    pos: float
    vel: float


class Weights:
    w = np.arange(6.0)
    k = 2


WEIGHTS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
COUNT = 0
FACTOR = 1.0


@program
def deque_of_three(x):
    d = collections.deque([0.0, 0.0, 0.0], maxlen=3)
    for i in range(10):
        d.append(x[i % 6] * (i + 1))
    return d[0] + 2 * d[1] + 3 * d[2]


@program
def deque_rotate(x):
    d = collections.deque([x[0], x[1], x[2]])
    for i in range(10):
        d.rotate(1)
        d[0] = d[0] * 0.5 + x[3]
    return d[0] + 2 * d[1] + 3 * d[2]


@program
def set_of_keys(x):
    seen = set()
    s = 0.0
    for i in range(10):
        if i % 3 not in seen:
            s += x[i % 6]
            seen.add(i % 3)
        else:
            s *= 1.1
    return s


@program
def dict_new_keys(x):
    d = {}
    for i in range(10):
        d[i] = x[i % 6] * i
    return sum(d.values()) * len(d)


@program
def counter_global(x):
    global COUNT
    COUNT = 0
    s = 0.0
    for i in range(10):
        COUNT += 1
        s += x[i % 6] * COUNT
    return s * COUNT


@program
def dictcount(x):
    c = collections.Counter()
    dd = collections.defaultdict(float)
    for i in range(10):
        c[i % 3] += 1
        dd[i % 3] += x[i % 6]
    return dd[0] * c[0] + dd[1] * c[1] * 2


@program
def generator(x):
    def g():
        for i in range(6):
            yield x[i] * i

    s = 0.0
    for v in g():
        s = s * 0.9 + v
    return s


@program
def gen_next(x):
    def g():
        k = 0
        while True:
            yield k
            k += 1

    it = g()
    s = 0.0
    for i in range(10):
        s += x[i % 6] * next(it)
    return s


@program
def iter_zip_gen(x):
    s = 0.0
    for a, b in zip(x, (i * i for i in range(6))):
        s += a * b
    return s


@program
def append_slice(x):
    h = []
    for i in range(8):
        h.append(x[i % 6])
        if len(h) > 3:
            h.pop(0)
    return h[0] + 2 * h[1] + 3 * h[2] + 4 * sum(h)


@program
def len_grows(x):
    h = [1.0]
    s = 0.0
    for i in range(8):
        s += x[i % 6] * len(h)
        h.append(2.0)
    return s


@program
def str_state(x):
    name = "a"
    s = 0.0
    for i in range(8):
        s += x[i % 6] * len(name)
        name += "b"
    return s


@program
def none_flag(x):
    last = None
    s = 0.0
    for i in range(8):
        if last is not None and x[i % 6] > last:
            s += x[i % 6] - last
        last = x[i % 6]
    return s


@program
def bool_flag(x):
    found = False
    s = 0.0
    for i in range(8):
        if not found and x[i % 6] > 0.3:
            found = True
            s += 10 * x[i % 6]
        elif found:
            s += x[i % 6]
    return s


@program
def best_index(x):
    b = 0
    for i in range(1, 6):
        if x[i] > x[b]:
            b = i
    return x[b] * b + x[0]


@program
def tuple_state(x):
    st = (0.0, 1)
    for i in range(8):
        st = (st[0] + x[i % 6] * st[1], st[1] + 1)
    return st[0] * st[1]


@program
def object_with_method(x):
    o = Body()
    for i in range(8):
        o.add(x[i % 6])
    return o.v * o.n + np.sum(o.a**2) + o.twice


@program
def obj_hist(x):
    o = Body()
    for i in range(8):
        o.add(x[i % 6])
        o.hist.append(o.v)
    return sum(o.hist) * len(o.hist)


@program
def obj_branch(x):
    o = Body()
    for i in range(8):
        if x[i % 6] > 0:
            o.add(x[i % 6])
    return o.v * o.n + np.sum(o.a**2)


@program
def obj_replace(x):
    o = Body()
    for i in range(8):
        p = Body()
        p.v = o.v * 0.5 + x[i % 6]
        o = p
    return o.v


@program
def obj_alias(x):
    o = Body()
    q = o
    for i in range(8):
        o.add(x[i % 6])
        q.v *= 0.5
    return o.v + q.n * x[0]


@program
def obj_swap(x):
    o = Body()
    q = Body()
    q.v = x[0]
    for i in range(7):
        o.add(x[i % 6])
        o, q = q, o
    return o.v + 2 * q.v * q.n


@program
def slotted_object(x):
    o = Slotted()
    o.v = x[0]
    o.n = 1
    for i in range(8):
        o.v = o.v * 0.5 + x[i % 6] * o.n
        o.n += 1
    return o.v * o.n


@program
def particles(x):
    ps = [Particle(x[0], x[1]), Particle(x[2], x[3]), Particle(x[4], x[5])]
    for t in range(10):
        for p in ps:
            p.vel -= 0.1 * p.pos
            p.pos += 0.1 * p.vel
    return sum(p.pos**2 + p.vel for p in ps)


@program
def frozen_object(x):
    p = Frozen(x[0], x[1])
    for t in range(10):
        p = dataclasses.replace(p, pos=p.pos + 0.1 * p.vel, vel=p.vel * 0.9)
    return p.pos


@program
def list_of_lists(x):
    g = [[x[0], x[1]], [x[2], x[3]]]
    for t in range(6):
        g[t % 2][1] = g[(t + 1) % 2][0] * 0.5 + x[4]
        g[0][0] += g[1][1]
    return g[0][0] + 2 * g[0][1] + 3 * g[1][0] + 4 * g[1][1]


@program
def list_index_runtime(x):
    g = [x[0], x[1], x[2]]
    for t in range(8):
        k = t % 3
        g[k] = g[k] * 0.5 + x[t % 6]
    return g[0] + 2 * g[1] + 3 * g[2]


@program
def list_const_runtime(x):
    g = [1.0, 2.0, 3.0]
    s = 0.0
    for t in range(8):
        s += x[t % 6] * g[t % 3]
    return s


@program
def dict_runtime(x):
    g = {0: 1.0, 1: 2.0, 2: 3.0}
    s = 0.0
    for t in range(8):
        s += x[t % 6] * g[t % 3]
    return s


@program
def dict_items(x):
    g = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 5.0}
    s = 0.0
    for k, v in g.items():
        s = s * 0.5 + v * x[len(k)]
    for k in g:
        g[k] = g[k] * x[0]
    return s + sum(g.values())


@program
def zip_lists(x):
    ws = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    s = 0.0
    for w, v in zip(ws, x):
        s = s * 0.5 + w * v
    for i, (w, v) in enumerate(zip(ws, x), start=3):
        s += i * w * v
    return s


@program
def const_list_in_loop(x):
    s = 0.0
    for i in range(6):
        tmp = []
        for j in range(3):
            tmp.append(x[i] * j)
        s += sum(tmp) * len(tmp)
    return s


@program
def const_arr_in_loop(x):
    s = 0.0
    for i in range(6):
        tmp = np.zeros(3)
        for j in range(3):
            tmp[j] = x[i] * j
        s += np.sum(tmp**2)
    return s


@program
def attr_changed_later(x):
    o = Weights()
    o.k = 3
    s = 0.0
    for i in range(6):
        s += x[i] * x[i] * o.k * o.w[i]
    o.k = 5
    Weights.k = 2
    return s * o.k


@program
def list_changed_later(x):
    held = list(WEIGHTS)
    s = 0.0
    for i in range(6):
        s += x[i] * x[i] * held[i] * held[0]
    held[0] = 100.0
    for i in range(6):
        s = s * x[i] * held[0] * 0.01 + x[0]
    held.clear()
    return s


@program
def global_changed_later(x):
    global FACTOR
    FACTOR = 2.0
    s = 0.0
    for i in range(6):
        s += x[i] * x[i] * FACTOR
    FACTOR = 5.0
    return s * FACTOR


@program
def a_while_that_counts_and_takes_from_a_list(x):
    waiting, k, s = [3, 2, 1], 0, 0.0
    while waiting and k < 5:
        waiting.pop()
        k += 1
        s = s + x[k]
    return s


@program
def a_while_that_counts_and_changes_an_object(x):
    left, k, s = {"n": 3}, 0, 0.0
    while left["n"] > 0 and k < 5:
        left["n"] -= 1
        k += 1
        s = s + x[k]
    return s
