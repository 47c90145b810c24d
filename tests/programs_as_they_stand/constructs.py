"""What Python offers, as people use it: generators, closures, exceptions, patterns, unpacking."""

import contextlib
import enum
import itertools
import operator
from collections import ChainMap, Counter, namedtuple

import numpy as np

from tests.programs_as_they_stand.record import Field

program = Field("constructs")

X = np.array([0.4, -0.9, 1.3, 0.7])
_work = np.zeros(16)
calls = 0


def euler(f, y, h):
    while True:
        yield y
        y = y + h * f(y)


def with_generator(rate):
    solution = euler(lambda y: -rate * y + np.sin(y), np.array([1.0, 0.5]), 0.1)
    kept = list(itertools.islice(solution, 2, 12, 3))
    return sum(np.prod(y) for y in kept)


program("an endless generator", lambda: with_generator, 0.8)


def averager():
    total, count, average = 0.0, 0, None
    while True:
        value = yield average
        total += value
        count += 1
        average = total / count


def with_coroutine(x):
    running = averager()
    next(running)
    return sum(running.send(v**2) * k for k, v in enumerate(x, 1))


program("a generator that is sent values", lambda: with_coroutine, X)


def traverse(tree):
    match tree:
        case ("+", left, right):
            return traverse(left) + traverse(right)
        case ("*", *factors):
            product = 1.0
            for each in factors:
                product *= traverse(each)
            return product
        case {"sin": inner}:
            return np.sin(traverse(inner))
        case [single]:
            return traverse(single)
        case _:
            return tree


program(
    "an expression tree with match",
    lambda: lambda x, y: traverse(("+", {"sin": ("*", x, y, 0.5)}, ("*", x, [("+", y, 1.0)]))),
    0.7,
    1.4,
    argnums=(0, 1),
)


def with_walrus(x, limit=3.0):
    total, i = 0.0, 0
    while i < len(x) and (square := x[i] ** 2) < limit:
        total += square
        i += 1
    if (n := len(x)) > 3 and 0 < (mean := total / n) < 10:
        return mean * n**0.5
    return total


program("assignment expressions and chained comparisons", lambda: with_walrus, X)


def global_scratch(x):
    global calls
    calls += 1
    n = len(x)
    _work[:n] = x
    for k in range(n, len(_work)):
        _work[k] = 0.7 * _work[k - 1] - 0.2 * _work[k - n]
    return _work[n:].dot(_work[n:])


program("a module's scratch and a global counter", lambda: global_scratch, X, effects=True)


def counting_closure():
    count, history, memory = 0, [], np.zeros(4)

    def objective(x):
        nonlocal count
        count += 1
        memory[:] = 0.5 * memory * 0 + np.cumsum(x)
        history.append(count)
        return memory[::-1] @ x

    return objective


program("a closure that counts and remembers", counting_closure, X, effects=True)


class Stop(Exception):
    def __init__(self, state):
        super().__init__("stopped")
        self.state = state


def march(x, wall):
    position, velocity = 0.0, x[0]
    for kick in itertools.cycle(x):
        velocity += 0.1 * kick
        position += abs(velocity)
        if position > wall:
            raise Stop((position, velocity))


def by_exception(x, wall):
    try:
        march(x, wall)
    except Stop as stop:
        position, velocity = stop.state
        return (position - wall) * velocity
    finally:
        _work[0] = 0.0


program("an exception that carries the state", lambda: by_exception, X, 5.0, argnums=(0, 1), step=1e-3)


def retry_on_singular(A):
    shift = 0.0
    while True:
        try:
            return np.log(np.linalg.inv(A + shift * np.eye(2))[0, 0]) + shift
        except np.linalg.LinAlgError:
            shift += 0.5


program(
    "a singular matrix, shifted and tried again",
    lambda: lambda a: retry_on_singular(np.array([[1.0, 1.0], [1.0, 1.0]]) * a),
    1.2,
)


class Timer:
    def __init__(self, name, log):
        self.name, self.log = name, log

    def __enter__(self):
        self.log.append(f"{self.name} starts")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append(f"{self.name} ends with {kind}")
        return kind is ZeroDivisionError


@contextlib.contextmanager
def borrowed(pool, n):
    array = pool.pop() if pool else np.empty(n)
    try:
        yield array
    finally:
        pool.append(array)


def with_contexts():
    log, pool = [], [np.zeros(4), np.zeros(4)]

    def f(x):
        with Timer("outer", log), borrowed(pool, 4) as a, borrowed(pool, 4) as b:
            np.multiply(x, 2, out=a)
            b[:] = a[::-1] * x
            with contextlib.suppress(IndexError):
                b[7] = 0.0
            with Timer("inner", log):
                1 / 0
            result = np.sum(b * np.cos(a))
        log.clear()
        return result

    return f


program("arrays borrowed from a pool", with_contexts, X)


class Scheme(enum.Enum):
    UPWIND = "upwind"
    CENTRAL = "central"


ADVANCE = {
    Scheme.UPWIND: lambda u, c: u - c * (u - np.roll(u, 1)),
    Scheme.CENTRAL: lambda u, c: u - 0.5 * c * (np.roll(u, -1) - np.roll(u, 1)),
}


def by_table(x, courant):
    u = {scheme: x.copy() for scheme in Scheme}
    for _ in range(3):
        for scheme, f in ADVANCE.items():
            u[scheme] = f(u[scheme], courant)
    return np.linalg.norm(u[Scheme.UPWIND] - u[Scheme.CENTRAL])


program("functions in a table of enumerated schemes", lambda: by_table, X, 0.4, argnums=(0, 1))


def unpacking(x, *weights, power=2, **terms):
    first, *middle, last = x
    options = ChainMap({"a": first}, terms)
    result = sum(w * m**power for w, m in zip(weights, middle, strict=True))
    names = Counter("abca")
    for name, times in names.items():
        result += times * options.get(name, 0.0) * last
    return result


program(
    "stars on both sides",
    lambda: lambda x, b: unpacking(x, *[0.5, 2.0], power=3, **{"b": b, "c": 1.5}),
    X,
    0.3,
    argnums=(0, 1),
)


def remembered(k, cache={}):
    if k not in cache:
        cache[k] = np.zeros(k)
    return cache[k]


def with_mutable_default(x):
    scratch = remembered(4)
    scratch[0] = x[0]
    for i in range(1, 4):
        scratch[i] = scratch[i - 1] * x[i] + x[0]
    return float(len(scratch)) * scratch[-1]


program("scratch in a mutable default", lambda: with_mutable_default, X, effects=True)


def late_binding(x):
    powers = [lambda v, p=p: v**p for p in range(1, 4)]
    shared = [lambda v: v * k for k in (1, 2, 3)]
    table = np.array([[f(v) for v in x] for f in powers])
    return np.linalg.slogdet(table @ table.T)[1] + sum(f(x[0]) for f in shared)


program("lambdas made in a loop", lambda: late_binding, X, step=1e-3)


def fibonacci_like(a, b, n=9, memo=None):
    memo = {0: a, 1: b} if memo is None else memo
    if n not in memo:
        memo[n] = 0.6 * fibonacci_like(a, b, n - 1, memo) + 0.5 * fibonacci_like(a, b, n - 2, memo) ** 2
    return memo[n]


program("recursion with a memo", lambda: fibonacci_like, 0.5, 0.8, argnums=(0, 1))

Point = namedtuple("Point", "x y")


class Polygon(list):
    def edges(self):
        yield from zip(self, self[1:] + self[:1])

    def area(self):
        return abs(sum(operator.mul(p.x, q.y) - operator.mul(q.x, p.y) for p, q in self.edges())) / 2

    def inside(self, point):
        odd = False
        for p, q in self.edges():
            if (p.y > point.y) != (q.y > point.y) and point.x < (q.x - p.x) * (point.y - p.y) / (q.y - p.y) + p.x:
                odd = not odd
        return odd


def polygon(x, y):
    shape = Polygon(Point(*each) for each in zip(x, y))
    shape.append(Point(x[0] - 1, y.mean()))
    if shape.inside(Point(0.5, 0.5)):
        return shape.area()
    return -shape.area()


program(
    "a polygon that is a list of named tuples",
    lambda: polygon,
    np.array([0.0, 2.0, 1.8, 0.1]),
    np.array([0.0, 0.2, 1.5, 1.4]),
    argnums=(0, 1),
)


class Dual:
    """The program's own forward mode: numbers with overloaded operators."""

    def __init__(self, value, slope=0.0):
        self.value, self.slope = value, slope

    def __add__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    __radd__ = __add__

    def __mul__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    __rmul__ = __mul__

    def __pow__(self, n):
        return Dual(self.value**n, n * self.value ** (n - 1) * self.slope)


def newton_by_duals(c):
    x = 1.5
    for _ in range(6):
        d = Dual(x, 1.0)
        y = d**3 + -2 * d + -1 * c
        x = x - y.value / y.slope
    return x


program("operators of the program's own numbers", lambda: newton_by_duals, 1.1)


def in_place_on_containers(x):
    totals, state = [0.0] * 3, {"sum": 0, "all": []}
    holder = type("Holder", (), {})()
    holder.value = holder.peak = 0.0
    for i, v in enumerate(x):
        totals[i % 3] += v
        totals[-1] *= 1.1
        state["sum"] += v * totals[0]
        state["all"] += [v, v**2]
        holder.value += state["sum"]
        holder.peak = v if v > holder.peak else holder.peak
    a = b = np.array(state["all"])
    b[0] *= 3
    del state["all"]
    return holder.value * holder.peak + a.sum() + np.prod(totals)


program("augmented assignment to elements and attributes", lambda: in_place_on_containers, X, step=1e-3)
