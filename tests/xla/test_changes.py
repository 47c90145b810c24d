"""What a program changes besides its result, a compiled one changes in each call: not in the first one alone.

Each record makes a function and what says in which state it has left the world. Compiled and plain calls, one after the
other, have to give the same values and leave the same state.
"""

from __future__ import annotations

import array
import collections
import csv
import io
import itertools
import random
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeWarning, ReplayError, TraceError

jax = pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.array([1.0, 2.0, 3.0])
State = Callable[[], Any]
Record = Callable[[], tuple[Callable[[Any], Any], State]]
RECORDS: dict[str, Record] = {}
CALLS = 4
total = 0


def record(make: Record) -> Record:
    RECORDS[make.__name__.strip("_").replace("_", " ")] = make
    return make


@record
def a_counter() -> Any:
    n = 0

    def f(x: Any) -> Any:
        nonlocal n
        n += 1
        return np.sum(x**2)

    return f, lambda: n


@record
def a_counter_that_is_read() -> Any:
    n = 0

    def f(x: Any) -> Any:
        nonlocal n
        n += 1
        return np.sum(x * n)

    return f, lambda: n


@record
def a_counter_of_a_helper() -> Any:
    n = 0

    def helper(x: Any) -> Any:
        nonlocal n
        n += 2
        return x**2

    return lambda x: np.sum(helper(x)), lambda: n


@record
def a_counter_of_turns() -> Any:
    n = 0

    def f(x: Any) -> Any:
        nonlocal n
        for _ in range(12):
            n += 1
            x = x * 1.1
        return np.sum(x)

    return f, lambda: n


@record
def a_counter_of_a_body() -> Any:
    n = 0

    def body(i: Any, c: Any) -> Any:
        nonlocal n
        n += 1
        return c * 1.1

    return lambda x: np.sum(bridge.fori_loop(0, 5, body, x)), lambda: n


@record
def a_counter_beside_a_loop_of_unknown_length() -> Any:
    n = 0

    def f(x: Any) -> Any:
        nonlocal n
        n += 1
        y = x * 1.0
        while np.sum(y) < 1000.0:
            y = y * 1.01
        return np.sum(y)

    return f, lambda: n


@record
def a_global_variable() -> Any:
    global total
    total = 0

    def f(x: Any) -> Any:
        global total
        total = total + 1
        return np.sum(x**total)

    return f, lambda: total


@record
def an_attribute() -> Any:
    state = types.SimpleNamespace(count=0)

    def f(x: Any) -> Any:
        state.count += 1
        return np.sum(x**2) + state.count

    return f, lambda: state.count


@record
def an_attribute_of_a_class() -> Any:
    class Counted:
        count = 0

    def f(x: Any) -> Any:
        Counted.count += 1
        return np.sum(x**2) * Counted.count

    return f, lambda: Counted.count


@record
def an_attribute_of_the_function() -> Any:
    def f(x: Any) -> Any:
        f.calls += 1  # type: ignore[attr-defined]
        return np.sum(x**2)

    f.calls = 0  # type: ignore[attr-defined]
    return f, lambda: f.calls  # type: ignore[attr-defined]


@record
def a_flag() -> Any:
    first = True

    def f(x: Any) -> Any:
        nonlocal first
        if first:
            first = False
            return np.sum(x)
        return np.sum(x**2)

    return f, lambda: first


@record
def a_list() -> Any:
    log: list[int] = []

    def f(x: Any) -> Any:
        log.append(1)
        return np.sum(x**2) * len(log)

    return f, lambda: list(log)


@record
def an_element() -> Any:
    held = [0]

    def f(x: Any) -> Any:
        held[0] += 1
        return np.sum(x**2)

    return f, lambda: list(held)


@record
def a_stack() -> Any:
    numbers = [1.0, 2.0, 3.0, 4.0, 5.0]
    return lambda x: np.sum(x * numbers.pop()), lambda: list(numbers)


@record
def a_dictionary() -> Any:
    held: dict[str, int] = {}

    def f(x: Any) -> Any:
        held["n"] = held.get("n", 0) + 1
        return np.sum(x**2)

    return f, lambda: dict(held)


@record
def a_counter_of_words() -> Any:
    held: collections.Counter[str] = collections.Counter()

    def f(x: Any) -> Any:
        held["a"] += 1
        return np.sum(x**2)

    return f, lambda: dict(held)


@record
def a_set() -> Any:
    held: set[int] = set()

    def f(x: Any) -> Any:
        held.discard(len(held) - 5)
        held.add(len(held))
        return np.sum(x**2)

    return f, lambda: set(held)


@record
def a_deque() -> Any:
    held = collections.deque([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        held.rotate(1)
        return np.sum(x * held[0])

    return f, lambda: list(held)


@record
def bytes_that_change() -> Any:
    held, other = bytearray(3), array.array("d", [0.0])

    def f(x: Any) -> Any:
        held[1] += 1
        other[0] += 0.5
        return np.sum(x * other[0])

    return f, lambda: (bytes(held), other.tolist())


@record
def a_plain_array() -> Any:
    held = np.zeros(2)

    def f(x: Any) -> Any:
        held[1] += 1
        return np.sum(x**2) * held[1]

    return f, lambda: held.tolist()


@record
def a_list_deep_inside() -> Any:
    outer = types.SimpleNamespace(inner=types.SimpleNamespace(seen=[]))

    def f(x: Any) -> Any:
        outer.inner.seen.append(len(outer.inner.seen))
        return np.sum(x**2)

    return f, lambda: list(outer.inner.seen)


@record
def a_generator_of_random_numbers() -> Any:
    rng = np.random.default_rng(0)
    return lambda x: np.sum(x * rng.normal()), lambda: rng.bit_generator.state["state"]["state"]


@record
def random_numbers_of_an_object() -> Any:
    held = types.SimpleNamespace(old=np.random.RandomState(0), python=random.Random(0))
    return lambda x: np.sum(x * held.old.normal(size=3)) * held.python.random(), lambda: held.python.getstate()


@record
def everybodys_random_numbers() -> Any:
    random.seed(0)
    np.random.seed(0)
    return lambda x: np.sum(x * random.random()) + np.random.normal(), random.getstate


@record
def an_iterator() -> Any:
    numbers = iter([1.0, 2.0, 3.0, 4.0])
    return lambda x: np.sum(x * next(numbers)), lambda: numbers.__length_hint__()  # type: ignore[attr-defined]


@record
def a_generator_that_counts_elsewhere() -> Any:
    n = [0]

    def numbers() -> Any:
        while True:
            n[0] += 1
            yield n[0]

    asked = numbers()
    return lambda x: np.sum(x) * next(asked), lambda: n[0]


@record
def a_generator_with_a_list() -> Any:
    def numbers() -> Any:
        waiting = [8.0, 7.0, 6.0, 5.0, 4.0, 3.0]
        while True:
            yield waiting.pop()

    asked = numbers()
    return lambda x: np.sum(x) * next(asked), lambda: None


@record
def a_function_with_a_sentinel() -> Any:
    n = [0]

    def count() -> int:
        n[0] += 1
        return n[0]

    asked = iter(count, 100)
    return lambda x: np.sum(x) * next(asked), lambda: n[0]


@record
def a_reader_of_lines() -> Any:
    rows = csv.reader(["1,2", "3,4", "5,6", "7,8", "9,10"])
    return lambda x: np.sum(x) * float(next(rows)[1]), lambda: rows.line_num


@record
def elements_one_by_one() -> Any:
    flat = np.arange(8.0).flat
    return lambda x: np.sum(x) * next(flat), lambda: flat.index


@record
def an_object_whose_loop_ends_by_an_error() -> Any:
    held = types.SimpleNamespace(k=0)

    def step() -> int:
        held.k += 1
        if held.k % 5 == 0:
            raise ValueError
        return held.k

    def f(x: Any) -> Any:
        s = 0.0
        for j in range(10):
            try:
                while True:
                    s += step() * x[j % 3]
            except ValueError:
                pass
        return s

    return f, lambda: held.k


@record
def iterators_of_iterators() -> Any:
    pairs = zip(itertools.count(1), map(abs, itertools.cycle([-2.0, 5.0])), strict=False)

    def f(x: Any) -> Any:
        number, factor = next(pairs)
        return np.sum(x * factor) + number

    return f, lambda: None


@record
def a_generator() -> Any:
    def counting() -> Any:
        k = 0
        while True:
            k += 1
            yield k

    numbers = counting()
    return lambda x: np.sum(x * next(numbers)), lambda: None


@record
def a_file() -> Any:
    text = io.StringIO("1.0\n2.0\n3.0\n4.0\n")
    return lambda x: np.sum(x * float(text.readline())), text.tell


def runs(make: Record, transform: Callable[[Any], Callable[[Any], Any]]) -> list[Any]:
    f, state = make()
    run = transform(f)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BridgeWarning)
        for k in range(CALLS):
            value = run((k + 1) * X)
            found.append((np.asarray(value, float).round(9).tolist(), state()))
    return found


def pulled(f: Any, engine: str) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        value, pull = bridge.vjp(f, x, engine=engine)
        return np.array([float(value), *pull(1.0)[0]])

    return run


@pytest.mark.ci
@pytest.mark.parametrize("name", RECORDS)
def test_values(name: str) -> None:
    assert runs(RECORDS[name], bridge.xla) == runs(RECORDS[name], lambda f: f)


@pytest.mark.ci
@pytest.mark.parametrize("name", RECORDS)
def test_gradients(name: str) -> None:
    found = runs(RECORDS[name], lambda f: bridge.grad(f, engine="xla"))
    assert found == runs(RECORDS[name], bridge.grad)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["a counter", "a counter that is read", "a list", "a stack", "an attribute", "a flag",
                                  "a plain array", "a generator of random numbers", "a set"])  # fmt: skip
def test_pulls(name: str) -> None:
    assert runs(RECORDS[name], lambda f: pulled(f, "xla")) == runs(RECORDS[name], lambda f: pulled(f, "native"))


@pytest.mark.ci
def test_an_iterator_cannot_be_asked_again_by_a_pull() -> None:
    numbers = iter([1.0, 2.0])
    _, pull = bridge.vjp(lambda x: np.sum(x * next(numbers)), X, engine="xla")
    with pytest.raises(TraceError, match="a second time, and asks a list_iterator, which cannot give again") as told:
        pull(1.0)
    assert "make a list of it" in str(told.value)


@pytest.mark.ci
def test_what_changes_between_a_value_and_its_pull_is_told() -> None:
    held = [2.0]
    _, pull = bridge.vjp(lambda x: np.sum(x * held[0]), X, engine="xla")
    held[0] = 3.0
    with pytest.raises(ReplayError, match="element 0 of a list has changed"):
        pull(1.0)


@pytest.mark.ci
def test_often_is_told() -> None:
    run = bridge.xla(RECORDS["a counter"]()[0])
    with pytest.warns(BridgeWarning, match="8 times more because n, which it changes itself, has changed") as told:
        for _ in range(9):
            run(X)
    assert "pass it as an argument, and return what the program changes" in str(told[0].message)


@pytest.mark.ci
def test_a_table_that_is_filled_once_is_traced_once_more() -> None:
    tables: dict[int, Any] = {}

    def f(x: Any) -> Any:
        if len(x) not in tables:
            tables[len(x)] = np.arange(len(x)) * 2.0
        return np.sum(x * tables[len(x)])

    run = bridge.xla(f)
    assert [float(run(X)) for _ in range(4)] == [16.0] * 4
    assert not run.watch(X).changes


@pytest.mark.ci
@pytest.mark.parametrize("transform", [bridge.xla, lambda f: bridge.grad(f, engine="xla")])
def test_generators_that_the_program_makes_are_its_own(transform: Any) -> None:
    def f(x: Any) -> Any:
        rng, numbers = np.random.default_rng(3), iter([1.0, 2.0])
        return np.sum(x * rng.normal(size=3)) * next(numbers)

    run = transform(f)
    assert np.array_equal(run(X), run(X))
    assert not run.watch(X).changes if transform is bridge.xla else True


LEFT: dict[str, Callable[[Any], Callable[[Any], Any]]] = {}


def left(make: Any) -> Any:
    LEFT[make.__name__.replace("_", " ")] = make
    return make


@left
def an_index(held: Any) -> Any:
    def f(x: Any) -> Any:
        held.k = np.argmax(x)
        return np.sum(x)

    return f


@left
def a_truth(held: Any) -> Any:
    def f(x: Any) -> Any:
        held.k = bool(x[0] > 1.5)
        return np.sum(x)

    return f


@left
def steps(held: Any) -> Any:
    def f(x: Any) -> Any:
        y, held.k = x * 1.0, 0
        while np.sum(y) < 100.0:
            y = y * 1.5
            held.k += 1
        return np.sum(y)

    return f


@pytest.mark.ci
@pytest.mark.parametrize("name", LEFT)
@pytest.mark.parametrize("transform", [bridge.xla, lambda f: bridge.grad(f, engine="xla")])
def test_what_is_known_only_at_run_time_is_left_and_told(name: str, transform: Any) -> None:
    held = types.SimpleNamespace(k=-1)
    with pytest.warns(BridgeWarning, match=r"compiled calls leave SimpleNamespace\.k as it was") as told:
        transform(LEFT[name](held))(X)
    assert "return that, and put it there after the call" in str(told[0].message)
    assert held.k == -1


@pytest.mark.ci
@pytest.mark.parametrize("how", ["attribute", "in place", "list", "variable"])
def test_values_are_left_and_told(how: str) -> None:
    held = types.SimpleNamespace(w=np.ones(3))
    log: list[Any] = []
    last = None

    def f(x: Any) -> Any:
        nonlocal last
        if how == "attribute":
            held.w = held.w * 0.5 + x
        elif how == "in place":
            held.w[:] = held.w * 0.5 + x
        elif how == "list":
            log.append(np.sum(x))
        else:
            last = np.sum(x)
        return np.sum(x)

    with pytest.warns(BridgeWarning, match="compiled calls leave"):
        bridge.xla(f)(X)
    assert held.w.tolist() == [1, 1, 1] and log == [] and last is None


@pytest.mark.ci
def test_nothing_is_told_of_what_the_program_made() -> None:
    def f(x: Any) -> Any:
        log, held, table, last = [], types.SimpleNamespace(), np.linspace(0.0, 1.0, 3), None

        def helper() -> None:
            nonlocal last
            last = np.sum(x) * 2
            log.append(last)
            held.w = x * 2

        helper()
        table[0] = x[1]
        return np.sum(table) + log[0] + last + np.sum(held.w)

    assert bridge.xla(f)(X) == pytest.approx(float(f(X)))


@pytest.mark.ci
def test_an_array_of_objects() -> None:
    held = np.array([1.0, None], object)

    def f(x: Any) -> Any:
        held[1] = len(x) if held[1] is None else held[1] + 1
        return np.sum(x) * held[1]

    run = bridge.xla(f)
    assert [float(run(X)) for _ in range(3)] == [18.0, 24.0, 30.0] and held[1] == 5
