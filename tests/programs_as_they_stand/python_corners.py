"""What looks at programs from outside, or at names by strings; exceptions in the middle of things."""

import abc
import asyncio
import dataclasses
import inspect
import itertools
import operator
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from numbers import Number
from types import MappingProxyType
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from tests.programs_as_they_stand.record import Field

program = Field("python")

X = np.array([0.4, 0.9, 1.3, 0.7])
u = np.zeros(4)
EXPRESSIONS = {"growth": "r * y * (1 - y / K)", "decay": "-0.3 * y"}


def from_text(r, K):
    y = np.array([0.3, 0.5])
    for _ in range(4):
        rate = sum(eval(text, {"r": r, "K": K, "y": y}) for text in EXPRESSIONS.values())
        y = y + 0.2 * rate
    return y.prod()


program("rates as strings", lambda: from_text, 0.8, 2.0, argnums=(0, 1))


def by_names(x):
    globals()["u"][:] = x
    local = {name: getattr(np, name)(u) for name in ("sin", "cumsum", "tanh")}
    result = sum(np.sum(v) for v in local.values())
    frame = inspect.currentframe()
    assert frame.f_code.co_name == "by_names" and "result" in locals()
    return result * len(inspect.getsource(by_names).splitlines()[0]) / 16


program("getattr, globals and locals", lambda: by_names, X)


class Base(abc.ABC):
    registry = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.registry[cls.__name__] = cls

    def __init__(self, n):
        self.__hidden = np.zeros(n)

    @abc.abstractmethod
    def rate(self, y): ...

    def store(self, y):
        self.__hidden[...] = y
        return self.__hidden

    def run(self, y, n=3):
        for _ in range(n):
            y = self.store(y) + 0.1 * self.rate(y)
        return (self.__hidden * y).sum()


class Decay(Base):
    def rate(self, y):
        return -y


class Feedback(Decay):
    def __init__(self, n, gain):
        super().__init__(n)
        self.gain = gain

    def rate(self, y):
        return super().rate(y) + self.gain * np.roll(y, 1) * __class__.registry["Decay"].rate(self, y)


program("private names, abstract classes and super in the middle", lambda: Feedback(4, 0.5).run, X)


class HasArea(Protocol):
    def area(self) -> float: ...


class Disc(NamedTuple):
    radius: float
    colour: str = "red"

    def area(self):
        return np.pi * self.radius**2


@dataclasses.dataclass(slots=True, kw_only=True)
class Box:
    width: float
    height: float
    tags: tuple = ()

    def __post_init__(self):
        if not isinstance(self.width, Number) or self.width <= 0:
            raise ValueError(f"width must be a positive number, got {self.width!r}")

    def area(self):
        return self.width * self.height


T = TypeVar("T")


class Stack(Generic[T]):
    def __init__(self):
        self._items: list[T] = []

    def push(self, item: T) -> "Stack[T]":
        self._items.append(item)
        return self

    def __iter__(self):
        return reversed(self._items)

    def __contains__(self, item):
        return any(item is each for each in self._items)


def shapes(r, w):
    box = Box(width=w, height=2.0)
    stack = Stack[HasArea]().push(Disc(r)).push(box).push(dataclasses.replace(box, width=r + w))
    assert box in stack
    plain = dataclasses.asdict(box)
    return sum(s.area() * k for k, s in enumerate(stack, 1)) + plain["width"] * Disc(r)._replace(radius=w).area()


program("named tuples, slotted dataclasses and generics", lambda: shapes, 0.7, 1.2, argnums=(0, 1))


def functional(x):
    running = list(itertools.accumulate(x, lambda a, b: 0.5 * a + b))
    pairs = map(operator.mul, running, x)
    total = reduce(lambda a, b: a + b, filter(lambda v: v > 0.2, pairs), 0.0)
    longest = max(zip(running, itertools.count()), key=operator.itemgetter(0))
    evens, odds = (list(itertools.islice(x, k, None, 2)) for k in (0, 1))
    return total + longest[0] * longest[1] + sum(map(pow, evens, [2, 3])) + divmod(odds[0], 0.5)[1]


program("map, filter, accumulate and reduce", lambda: functional, X, step=1e-3)


async def relax(name, value, out):
    for k in range(3):
        value = value * 0.5 + np.sin(value)
        await asyncio.sleep(0)
    out[name] = value


def concurrent(x):
    out = np.zeros(len(x))

    async def everything():
        await asyncio.gather(*(relax(k, v, out) for k, v in enumerate(x)))

    asyncio.run(everything())
    return out @ out


program("coroutines that write into one array", lambda: concurrent, X)


def threaded(x):
    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(lambda v: np.sin(v) * v, x))
    return sum(parts)


program("threads within the function", lambda: threaded, X, expected="ContextError: thread")


class Node:
    def __init__(self, value, parent=None):
        self.value, self.children = value, []
        self.parent = weakref.ref(parent) if parent else None
        if parent:
            parent.children.append(self)

    def depth(self):
        return 0 if self.parent is None else 1 + self.parent().depth()

    def evaluate(self):
        return self.value + sum(c.evaluate() * 0.5 ** c.depth() for c in self.children)


def tree_of(x):
    root = Node(x[0])
    left = Node(x[1], root)
    right = Node(x[2] ** 2, root)
    leaf = Node(x[3] * x[0], left)
    return root.evaluate() * leaf.depth() * right.value


program("a tree with weak references", lambda: tree_of, X)


def frozen_settings(x):
    settings = MappingProxyType({"damping": 0.8, "limits": (0.0, 2.0), "order": frozenset({1, 2})})
    history = np.zeros((3, *x.shape))
    for order, slot in zip(sorted(settings["order"]), history):
        slot[:] = np.clip(x**order * settings["damping"], *settings["limits"])
    history[-1] -= history[:-1].sum(axis=0)
    return np.abs(history).sum()


program("settings that cannot change, rows unpacked from an array", lambda: frozen_settings, X)


class Integrator:
    def __init__(self):
        self.y, self.log, self.n = np.zeros(4), [], 0

    def advance(self, x, dt):
        self.n += 1
        self.y += dt * x * np.cos(self.y)
        self.log.append(self.y.sum())
        if self.y.max() > 0.5:
            raise OverflowError("y is too large in step %d: %s" % (self.n, self.y))

    def solve(self, x, steps=12):
        self.__init__()
        for _ in range(steps):
            self.advance(x, 0.1)
        return self.y @ self.y


program(
    "an exception in the middle, with the array in its message",
    lambda: Integrator().solve,
    X,
    expected="OverflowError: y is too large in step 4: [0.15955",
)
program(
    "the same object, short of the exception",
    lambda: lambda x, solver=Integrator(): solver.solve(x, 3),
    X,
    effects=True,
)


def singular(x):
    u[:] = x
    A = np.outer(u, u)
    return np.linalg.solve(A[:2, :2] * 0, u[:2]).sum()


program("a singular matrix", lambda: singular, X, expected="LinAlgError: Singular matrix")


def failing_assertion(x):
    u[1:] = x[:-1] ** 2
    assert u[1] > 1.0, f"u[1] = {u[1]:.2f}"
    return u.sum()


program("an assertion that fails", lambda: failing_assertion, X, expected="AssertionError: u[1] = 0.16")


def cleaning_up(x):
    buffers = []

    def acquire(n):
        buffers.append(np.zeros(n))
        return buffers[-1]

    try:
        a = acquire(4)
        a[:] = x
        try:
            a[9] = 1.0
        except IndexError as error:
            a *= len(str(error)) > 0
            raise ValueError("no such cell") from error
        finally:
            a += 1.0
    except ValueError:
        a *= 2
    else:
        a *= 100
    finally:
        buffers.clear()
    return np.prod(a) * sys.getrefcount(buffers) / sys.getrefcount(buffers)


program("try, except, else and finally around writes", lambda: cleaning_up, X)
