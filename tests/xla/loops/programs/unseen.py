"""State that changes without a statement of the program that says so: by libraries, by iterators, by other names."""

from __future__ import annotations

import array
import collections
import contextlib
import contextvars
import functools
import heapq
import io
import itertools
import operator

import numpy as np

from tests.xla.loops.programs.record import Family

program = Family("unseen")


@program
def a_heap(x):
    heap, s = [3.0, 1.0, 2.0], 0.0
    for i in range(6):
        s = s + x[i] * heapq.heappop(heap)
        heapq.heappush(heap, float(i + 1))
    return s


@program
def a_counter_of_a_library(x):
    counted, s = collections.Counter(), 0.0
    for i in range(6):
        counted.update("ab")
        s = s + x[i]
    return s * counted["a"]


@program
def bytes_and_arrays_of_python(x):
    few, numbers, s = bytearray(2), array.array("d", [0.0]), 0.0
    for i in range(6):
        few[0] += 1
        numbers[0] += 2.0
        s = s + x[i] * few[0]
    return s * numbers[0]


@program
def operators_as_functions(x):
    held, s = [0], 0.0
    for i in range(6):
        operator.iadd(held, [i])
        s = s + x[i]
    return s * len(held)


@program
def deleted_elements(x):
    held, s = [0, 1, 2, 3, 4, 5, 6], 0.0
    for i in range(6):
        del held[0]
        s = s + x[i]
    return s * held[0]


@program
def sets_in_place(x):
    held, s = {0}, 0.0
    for i in range(6):
        held |= {len(held)}
        s = s + x[i]
    return s * len(held)


@program
def a_context_variable(x):
    variable, s = contextvars.ContextVar("variable", default=0), 0.0
    for i in range(6):
        variable.set(variable.get() + 1)
        s = s + x[i]
    return s * variable.get()


@program
def lines_of_a_file(x):
    file, s = io.StringIO("1\n2\n3\n4\n5\n6\n7\n"), 0.0
    for i in range(6):
        s = s + x[i] * float(file.readline())
    return s * float(file.readline())


@program
def a_masked_array(x):
    held, s = np.ma.array([1.0, 2.0], mask=[0, 1]), 0.0
    for i in range(6):
        held[0] = held[0] + 1.0
        s = s + x[i]
    return s * float(held[0])


@program
def a_cached_function_that_counts(x):
    calls = [0]

    @functools.lru_cache
    def number(i):
        calls[0] += 1
        return calls[0]

    s = 0.0
    for i in range(6):
        s = s + x[i] * number(i % 3)
    return s


@program
def a_view_is_written_and_what_it_shows_is_rebound(x):
    u = x.copy()
    w = u[1:4]
    for _ in range(6):
        w[0] += u[0]
        u = u * 1.01
    return np.sum(u) + np.sum(w)


@program
def an_error_that_is_caught_half_way(x):
    y = x.copy()
    for i in range(6):
        try:
            y[i] *= 2
            if i == 3:
                raise ValueError
            y[i] += 1
        except ValueError:
            y[i] = 0.0
    return np.sum(y * x)


@program
def an_error_that_is_suppressed(x):
    y = x.copy()
    for i in range(6):
        with contextlib.suppress(ValueError):
            if i == 3:
                raise ValueError
            y[i] += 1
    return np.sum(y * x)


@program
def counted(x):
    numbers, s = itertools.count(), 0.0
    for i in range(6):
        for k in numbers:
            break
        s = s + x[i] * k
    return s


@program
def zipped(x):
    pairs, s = zip([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 0.0
    for i in range(6):
        for (v,) in pairs:
            s = s + x[i] * v
            break
    return s


@program
def sliced(x):
    numbers, s = (2.0 * v for v in range(6)), 0.0
    for i in range(6):
        s = s + x[i] * sum(itertools.islice(numbers, 1))
    return s


def caught_by_value(x):
    y = x.copy()
    for i in range(6):
        try:
            if x[i] > 0.5:
                raise ValueError
            y[i] *= 3
        except ValueError:
            y[i] = 7.0 * x[0]
    return np.sum(y)


REFUSED = {
    caught_by_value: "raises ValueError, which the program may catch",
}
