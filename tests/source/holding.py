"""Ways in which programs hold an array, write into it and read it; programs are composed of them, as text.

In the text, `A` is the array, of four numbers between 0.5 and 2, `x` the number that a program is differentiated by,
and `W` four weights. A way of holding names statements that make what holds the array, and the expression for `A`.
"""

from __future__ import annotations

import functools
import linecache
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.source.ways_to_hold import BESIDE, HOLDING, INSIDE
from tests.source.ways_to_use import FLOWING, READING, WRITING

PREAMBLE = '''
import array, collections, contextlib, contextvars, copy, dataclasses, functools, hashlib, heapq, io, itertools, json
import math, operator, pickle, queue, random, statistics, struct, threading, types, weakref
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import scipy.interpolate

W = np.array([0.4, 1.5, 2.5, 3.5])
UNREAD = {}
exec("""
import numpy as np
def total(a):
    return a.sum()
class Keeper:
    def __init__(self, u):
        self.u = u
    def get(self):
        return self.u
    def largest(self):
        return 2.0 if np.max(self.u) > 1.2 else 1.0
class Slots:
    __slots__ = ("u",)
    __init__, get = Keeper.__init__, Keeper.get
def largest(a):
    return 2.0 if np.max(a) > 1.2 else 1.0
def of_list(l):
    return 2.0 if np.max(l[0]) > 1.2 else 1.0
def of_dict(d):
    return 2.0 if np.max(d['u']) > 1.2 else 1.0
def of_object(o):
    return 2.0 if np.max(o.u) > 1.2 else 1.0
def called(g):
    return 2.0 if np.max(g()) > 1.2 else 1.0
""", UNREAD)

def made_with(a, result="a"):
    names = {"a": a, "np": np}
    exec(f"def get():\\n    return {result}", names)
    return names["get"]

class Once:
    def __init__(self, u):
        self.u = u

class Thing:
    pass

class Slotted:
    __slots__ = ("u",)

class WithProperty:
    def __init__(self, u):
        self._u = u
    @property
    def u(self):
        return self._u

class WithCached:
    @functools.cached_property
    def u(self):
        return np.array([1.1, 0.7, 1.3, 0.9])

class WithMethod:
    def __init__(self, u):
        self._u = u
    def get(self):
        return self._u

class Fields:
    def __init__(self, u):
        self._all = {"u": u}
    def __getitem__(self, name):
        return self._all[name]

class Lazy:
    def __init__(self, u):
        self.__dict__["all"] = {"u": u}
    def __getattr__(self, name):
        try:
            return self.__dict__["all"][name]
        except KeyError:
            raise AttributeError(name) from None

class List(list):
    pass

class Dict(dict):
    pass

@dataclasses.dataclass
class Data:
    u: np.ndarray

@dataclasses.dataclass(frozen=True)
class Frozen:
    u: np.ndarray

@dataclasses.dataclass(slots=True)
class SlottedData:
    u: np.ndarray

Pair = collections.namedtuple("Pair", "u n")

def identity(a):
    return a

def fill(a, x):
    a[1:3] = x * W[1:3]
    a[0] += x * x

def apply(function, a):
    return function(a)

def filled(a, x):
    for k in range(2):
        a[k] = x * (k + 1)
        yield a

@contextlib.contextmanager
def scaled(a, x):
    a[:] *= x
    yield a
    a[:] /= 1.5

def step(a, x):
    a[1] *= x
    return a

def saved(a):
    out = io.StringIO()
    np.savetxt(out, a)
    return out.getvalue()

def pool_map(function, values):
    with ThreadPoolExecutor(1) as pool:
        return list(pool.map(function, values))
'''


class Program:
    """A program as text: the names of its parts, and what makes it anew."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.names = dict(_preamble())
        _compiled(name, text, self.names)

    def make(self) -> tuple[Callable[[Any], Any], list[Any]]:
        """The function, on fresh state, and what holds that state."""
        made = self.names["make"]()
        return made, [made, self.names]


@functools.cache
def _preamble() -> dict[str, Any]:
    return _compiled("ways of holding", PREAMBLE, {"__name__": "ways_of_holding"})


def _compiled(name: str, text: str, names: dict[str, Any]) -> dict[str, Any]:
    """A module's names after a text has run there, which functions of it can be read from."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return names


def _indented(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


def _named(text: str, array: str, **others: str) -> str:
    """A text with the placeholders replaced; they are single capitals, which stand alone."""

    for name, found in others.items():
        text = re.sub(rf"(?<![\w.\"']){name}(?![\w\"'])", lambda _, found=found: found, text)
    return re.sub(r"(?<![\w.\"'])A(?![\w\"'])", lambda _: array, text)


def program(holding: str, beside: str, writing: str, reading: str, flowing: str, limit: float) -> Program:
    """The program of these parts; `limit` is what values are compared with."""
    setup, array = HOLDING[holding]
    body = _indented(INSIDE[holding], 8) if holding in INSIDE else ""
    other, read = (_named(text, array) for text in BESIDE[beside])
    if holding in INSIDE:
        body += _indented(other, 8)
    else:
        setup += f"\n{other}"
    if "KEPT" in READING[reading]:
        body += _indented(_named("KEPT = A[1:]", read), 8)
    body += _indented(_named(WRITING[writing], array), 8)
    body += _indented(_named(FLOWING[flowing], array, R=f"({_named(READING[reading], read)})", C=repr(limit)), 8)
    text = f"def make():\n{_indented(setup, 4)}\n    def f(x):\n{body}        return r + 0.0 * x\n    return f\n"
    return Program(f"{holding} | {beside} | {writing} | {reading} | {flowing} | {limit}", text)


def chosen(count: int, seed: int) -> Iterator[Program]:
    """Programs of parts that are drawn."""
    draw = random.Random(seed)
    for _ in range(count):
        parts = [draw.choice(list(one)) for one in (HOLDING, BESIDE, WRITING, READING, FLOWING)]
        yield program(*parts, limit=draw.choice([0.8, 1.2, 3.1]))
