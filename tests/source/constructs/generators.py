# ruff: noqa
# fmt: off
"""Generators, coroutines and asynchronous functions."""

import asyncio
import contextlib
import inspect
import itertools
import types

from tests.source.constructs.objects import said


def row_generator(log):
    def up(n):
        log.append("begins")
        for k in range(n):
            got = yield k
            log.append(got)
        return "value"
    g = up(2)
    log.append("made")
    first = next(g), g.send("sent")
    try:
        g.send("last")
    except StopIteration as e:
        return first, e.value, list(up(2)), log


def row_throw_and_close(log):
    def g():
        try:
            while True:
                try:
                    yield 1
                except ValueError as e:
                    log.append(str(e))
                    yield "caught"
        finally:
            log.append("closed")
    a = g()
    found = next(a), a.throw(ValueError("thrown")), next(a)
    a.close()
    b = g()
    next(b)
    try:
        b.throw(KeyError("k"))
    except KeyError:
        log.append("through")
    del b
    return found, log, inspect.getgeneratorstate(a)


def row_yield_from(log):
    def inner():
        x = yield 1
        log.append(x)
        y = yield 2
        return x, y
    def outer():
        found = yield from inner()
        yield found
        yield from [3, 4]
        return (yield from iter("a")) or "end"
    g = outer()
    return next(g), g.send("x"), g.send("y"), list(g)


def row_yield_in_stores(log):
    def g():
        x, t = [0, 0], {}
        x[(yield "key")] = yield "value"
        x[1] += yield "add"
        t["a"], t["b"] = (yield 1), (yield 2)
        for t["k"] in (yield "items"): log.append(t["k"])
        yield x, t
    a = g()
    return [next(a)] + [a.send(v) for v in (5, 0, 7, "p", "q", [1, 2])], log


def row_stop_iteration_in_a_generator(log):
    def g():
        yield 1
        next(iter([]))
    list(g())


def row_generator_that_raises(log):
    def g():
        yield 1
        yield 1 / 0
    list(g())


def row_generator_expression(log):
    g = (said(log, k) * n for k in said(log, range(3)) if k for n in [2, 3])
    log.append("made")
    return next(g), list(log), list(g), sum(x for x in [1, 2]), max((k for k in "abc"), default=None), any(said(log, k) for k in (0, 1, 2))


def row_generator_sees_changes(log):
    n = 1
    x = [1, 2]
    g = (k * n for k in x)
    n = 10
    x.append(3)
    def later():
        yield n
    h = later()
    n = 20
    return list(g), list(h)


def row_infinite_generators(log):
    def primes():
        n, seen = 2, []
        while True:
            if all(n % p for p in seen):
                seen.append(n)
                yield n
            n += 1
    return list(itertools.islice(primes(), 8)), list(itertools.takewhile(lambda p: p < 12, primes()))


def row_recursive_generator(log):
    def walk(x):
        for k in x:
            if isinstance(k, list): yield from walk(k)
            else: yield k
    return list(walk([1, [2, [3]], 4]))


def row_generator_as_a_method(log):
    class A:
        def __init__(self): self.x = [1, 2]
        def __iter__(self):
            for k in self.x: yield k
        def pairs(self): yield from zip(self, self)
        @staticmethod
        def fixed(): yield 5
        @property
        def items(self): yield from self.x
    a = A()
    return list(a), [*a], list(a.pairs()), list(a.fixed()), list(a.items), 2 in a


def row_state_of_a_generator(log):
    def g(x):
        y = x
        yield y
    a = g(1)
    return inspect.getgeneratorstate(a), next(a), dict(inspect.getgeneratorlocals(a)), a.gi_frame.f_lineno, a.gi_code.co_name, inspect.isgeneratorfunction(g), a.__name__, a.__qualname__


def row_async(log):
    async def inner(x):
        log.append(f"inner {x}")
        await asyncio.sleep(0)
        return x * 2
    async def numbers(n):
        for k in range(n):
            yield k
            await asyncio.sleep(0)
    class Manager:
        async def __aenter__(self): log.append("enter"); return 5
        async def __aexit__(self, *e): log.append("exit")
    async def main():
        x = [0, 0]
        x[0] = await inner(1)
        x[1] += await inner(2)
        async with Manager() as x[0], Manager() as m:
            log.append(x[0])
        async for x[1] in numbers(3):
            log.append(x[1])
        found = [k async for k in numbers(3) if k], {k: await inner(k) async for k in numbers(2)}, [await inner(k) for k in range(2)]
        both = await asyncio.gather(inner(10), inner(20))
        agen = numbers(3)
        first = await anext(agen)
        await agen.aclose()
        return x, m, found, both, first
    return asyncio.run(main()), log


def row_async_that_raises(log):
    async def f():
        await asyncio.sleep(0)
        raise ValueError("async")
    async def main():
        return await f()
    asyncio.run(main())


def row_coroutine_by_hand(log):
    @types.coroutine
    def step(x):
        got = yield x
        return got
    async def f():
        a = await step(1)
        b = await step(a)
        return a, b
    c = f()
    found = [c.send(None), c.send("a")]
    try:
        c.send("b")
    except StopIteration as e:
        return found, e.value


def row_async_generator_manager(log):
    @contextlib.asynccontextmanager
    async def managed():
        log.append("enter")
        try: yield 3
        finally: log.append("exit")
    async def main():
        async with managed() as x:
            return x
    return asyncio.run(main()), log


def row_context_manager_generator_that_raises(log):
    @contextlib.contextmanager
    def managed():
        yield
    with managed():
        raise KeyError("through")
