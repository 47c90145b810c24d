"""Mutation: what is overwritten, when, and who read it before."""

from __future__ import annotations

import struct

import numpy

from bridge.errors import EscapeError
from tests.programs.record import Family

program = Family("mutation")

VECTOR = [0.4, -0.9, 1.3, 0.7]
MATRIX = [[1.1, -0.4, 0.3], [0.2, 1.4, -0.6], [0.5, 0.1, 1.7]]


@program(VECTOR, mutates=True)
def argument_is_its_own_scratch(np, x):
    x *= x
    np.sin(x, out=x)
    x[1:] += x[:-1]
    return np.sum(x * x)


@program(VECTOR, [9.0, 9.0, 9.0, 9.0], mutates=True)
def output_argument_is_filled_by_the_program(np, x, out):
    np.exp(x, out=out)
    out *= x
    return np.sum(out)


@program(VECTOR)
def scratch_is_reused_in_every_step(np, x):
    total, scratch = np.zeros_like(x), np.empty_like(x)
    for k in range(1, 5):
        np.multiply(x, 0.3 * k, out=scratch)
        np.sin(scratch, out=scratch)
        total += scratch * x
    return np.sum(total)


@program(VECTOR)
def value_is_read_before_and_after_a_write(np, x):
    a = x.copy()
    before = np.sum(a[:2] ** 2)
    a[1] = a[0] * a[2]
    return before * np.sum(a[:2] ** 3)


@program(MATRIX)
def rows_swapped_by_an_index_list_do_swap(np, x):
    a = x.copy()
    a[[0, 1]] = a[[1, 0]]
    return np.sum(a * a * np.array([[1.0], [2.0], [3.0]]))


@program(VECTOR)
def recurrence_writes_what_the_next_step_reads(np, x):
    a = x.copy()
    for i in range(1, a.size):
        a[i] += np.tanh(a[i - 1]) * a[i]
    return np.sum(a * a)


@program(VECTOR)
def masked_output_keeps_the_rest(np, x):
    y = x.copy() * 2.0
    np.log(x, out=y, where=x > 0.0)
    np.multiply(y, x, out=y, where=np.array([True, False, False, True]))
    return np.sum(y * y)


@program(VECTOR)
def every_method_of_writing(np, x):
    a = np.zeros_like(x)
    a.fill(x[0])
    np.copyto(a, x * x, where=np.array([False, True, True, False]))
    np.put(a, [3], x[2] * 2.0)
    np.putmask(a, np.array([True, False, False, False]), np.sin(x))
    return np.sum(a * a * x)


@program(MATRIX, [[0.3, 0.2, 0.1]] * 3)
def product_buffer_is_reused(np, x, y):
    product, second = np.empty_like(x), np.empty_like(x)
    np.matmul(x, y, out=product)
    np.matmul(product, x, out=second)
    np.dot(second, y, out=product)
    return np.sum(product * second)


@program([0.4, 0.9, 1.3, 0.7])
def power_in_place_and_back(np, x):
    a = x.copy()
    a **= 2
    b = np.exp(-a)
    a **= 0.5
    a **= b
    return np.sum(a * b)


@program(VECTOR)
def plain_weights_change_between_two_uses(np, x):
    weights = numpy.array([1.0, 2.0, 3.0, 4.0])
    first = np.sum(weights * x * x)
    weights *= -0.5
    weights[2] = 7.0
    second = np.sum(np.sin(x) * weights)
    weights[:] = numpy.nan
    return first * second


@program(VECTOR)
def ring_buffer(np, x):
    ring = np.zeros_like(x[:3])
    total = 0.0
    for k in range(8):
        ring[k % 3] = np.sin(x[k % 4] + ring[(k + 1) % 3])
        total = total + ring[(k + 2) % 3] * ring[k % 3]
    return total


@program(VECTOR)
def write_that_nobody_reads(np, x):
    a = x.copy()
    unused = np.zeros_like(x)
    unused[:] = np.exp(a)
    a[3] = 100.0
    return np.sum(a[:3] ** 2)


@program(VECTOR)
def accumulation_and_clip_in_place(np, x):
    a = x.copy()
    np.cumsum(a, out=a)
    np.clip(a, -0.45, 1.2, out=a)
    np.add.accumulate(a[::-1], out=a[::-1])
    return np.sum(a * x)


@program(MATRIX)
def elimination_in_place(np, x):
    a = x.copy()
    for k in range(2):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return np.sum(np.log(np.abs(np.diagonal(a)))) + a[2, 0]


@program(VECTOR)
def sort_in_place_then_write(np, x):
    a = x.copy()
    a.sort()
    a[0] *= a[-1]
    return np.sum(np.array([1.0, 2.0, 3.0, 4.0]) * a * a)


@program(VECTOR)
def plain_array_as_a_target(np, x):
    plain = numpy.zeros(4)
    plain[0] = x[0] * 2.0
    return np.sum(plain * x)


@program(VECTOR)
def math_function_of_a_tracked_value(np, x):
    import math

    return math.sin(x[0]) * x[1]


@program(VECTOR, raises=EscapeError)
def swallowed_escape(np, x):
    try:
        (shift,) = struct.unpack("d", struct.pack("d", x[0]))
    except (TypeError, struct.error):
        shift = 1.0
    return shift * np.sum(x)
