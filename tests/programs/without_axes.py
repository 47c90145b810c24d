"""Arrays without axes: memory like any other, of which `...` is a view, where an index of it is a number."""

from __future__ import annotations

import numpy

from tests.programs.record import Family

program = Family("without axes")

VECTOR = [0.7, 0.3, -0.4]


@program(VECTOR)
def function_whose_pull_reads_its_result(np, x):
    o = np.array(x[0])
    np.tanh(o, out=o)
    return o * np.cos(o)


@program(VECTOR)
def reduced_into_and_overwritten_twice(np, x):
    o = np.empty((), dtype=x.dtype)
    np.sum(x, out=o)
    np.exp(o, out=o)
    np.sqrt(o, out=o)
    return o * o * x[1]


@program(VECTOR)
def operators_in_place(np, x):
    o = np.array(x[0])
    o *= x[1]
    o /= x[2]
    o *= o
    return o * np.sin(o)


@program(VECTOR)
def operand_of_a_power_in_place(np, x):
    o = np.array(x[0])
    o **= x[1]
    return o * np.cos(o)


@program(VECTOR)
def view_of_a_row(np, x):
    y = x.copy()
    v = y[1, ...]
    np.exp(v, out=v)
    np.exp(y, out=y)
    return np.sum(y * y)


@program(VECTOR)
def reshaped_from_one_element(np, x):
    y = x.copy()
    v = y[:1].reshape(())
    np.exp(v, out=v)
    v *= y[0]
    return np.sum(y * np.cos(y))


@program(VECTOR)
def under_a_mask(np, x):
    o = np.array(x[0])
    np.exp(o, out=o, where=numpy.array(True))
    np.sin(o, out=o, where=numpy.array(False))
    return o * np.cos(o)


@program(VECTOR)
def accumulated_then_overwritten(np, x):
    o = np.array(x[0])
    np.add.at(o, (), x[1])
    np.exp(o, out=o)
    return o * o


@program(VECTOR)
def filled_then_scaled(np, x):
    o = np.array(x[0])
    before = o * o
    o.fill(2.0)
    o *= x[1]
    np.exp(o, out=o)
    return o * before


@program(VECTOR)
def overwritten_in_a_loop(np, x):
    o = np.array(x[0])
    for _ in range(3):
        np.tanh(o, out=o)
        o *= x[1]
    return o * o


@program(VECTOR)
def put_by_position(np, x):
    o = np.array(x[0])
    np.put(o, [0, -1], [x[2], x[1] * x[0]])
    before = o * o
    o.put(5, x[2] * x[1], mode="clip")
    np.put(o, [], x[0])
    return np.exp(o) * before
