"""Loops as programs: functions of a matrix, a vector and a number, and whether their loops run in C."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]
COMPILED: dict[str, Function] = {}
PYTHON: dict[str, tuple[Function, str]] = {}
RAISING: dict[str, Function] = {}
LIMIT = 3.0


def compiled(function: Function) -> Function:
    """A program all of whose loops run in C."""
    COMPILED[function.__name__.replace("_", " ")] = function
    return function


def python(reason: str) -> Callable[[Function], Function]:
    """A program with a loop that Python runs, for this reason."""

    def record(function: Function) -> Function:
        PYTHON[function.__name__.replace("_", " ")] = function, reason
        return function

    return record


def raising(function: Function) -> Function:
    """A program whose compiled loop stops where Python raises."""
    RAISING[function.__name__.replace("_", " ")] = function
    return function


@compiled
def a_recurrence_in_place(A, v, a):
    for i in range(1, A.shape[0]):
        for j in range(1, A.shape[1]):
            A[i, j] = A[i, j] * A[i - 1, j - 1] + a
    return np.sum(A)


@compiled
def a_stencil_that_overlaps_itself(A, v, a):
    for i in range(1, A.shape[0] - 1):
        A[i, 1:-1] += (A[i - 1, :-2] + A[i + 1, 2:]) * a
    return np.sum(A * A)


@compiled
def a_factorisation(A, v, a):
    A += 6.0 * np.eye(4)
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])
    return np.sum(A)


@compiled
def an_array_of_the_program_is_lent(A, v, a):
    out = np.zeros(4)
    for i in range(4):
        out[i] = A[i, 0] * v[i]
    return np.sum(out * out)


@compiled
def numbers_are_carried(A, v, a):
    s, r = a, 1.0
    for i in range(4):
        s, r = r * v[i], s + A[i, i]
    return s * r


@compiled
def an_array_is_made_in_each_iteration(A, v, a):
    for i in range(1, 4):
        row = A[i - 1] * v
        A[i] += row * row[0]
    return np.sum(A) + np.sum(row)


@compiled
def lengths_depend_on_the_iteration(A, v, a):
    for i in range(4):
        part = v[:i] * A[i, :i]
        v[i] += np.sum(part)
    return np.sum(v)


@compiled
def a_while_with_break_and_continue(A, v, a):
    k = 0
    while k < 10:
        k += 1
        if k % 2 == 0:
            continue
        if k > 7:
            break
        v[k % 4] *= a
    return np.sum(v) + k


@compiled
def a_break_decides(A, v, a):
    for i in range(4):
        if v[i] > 0.3:
            break
        v[i] = v[i] * v[i]
    return np.sum(v) + i


@compiled
def branches_depend_on_values(A, v, a):
    for i in range(4):
        for j in range(4):
            if A[i, j] > 0.0 and i != j:
                A[i, j] = np.sin(A[i, j])
            elif A[i, j] < -1.0:
                A[i, j] *= a
            else:
                v[j] += A[i, j]
    return np.sum(A) * np.sum(v)


@compiled
def backwards_and_in_steps(A, v, a):
    for i in range(3, -1, -1):
        v[i] += 2.0 * v[(i + 1) % 4]
    for i in range(0, 4, 2):
        v[i] = v[i] * v[i + 1]
    return np.sum(v)


@compiled
def a_global_and_an_attribute_of_an_array(A, v, a):
    for i in range(v.size):
        v[i] = v[i] * LIMIT + len(v)
    return np.sum(v)


@compiled
def a_denominator_that_is_overwritten(A, v, a):
    for i in range(4):
        v[i] = a / v[i]
        A[i, i] /= A[i, i]
        A[i, :] *= A[i, 1] + 1.5
    return np.sum(A) * np.sum(v)


@compiled
def columns_and_transposes(A, v, a):
    for j in range(4):
        A[:, j] *= v
        v += A.T[j] * 0.1
    return np.sum(A) + np.sum(v)


@compiled
def a_variable_that_may_stay_unbound(A, v, a):
    for i in range(4):
        for j in range(i):
            v[j] *= A[i, j]
    return np.sum(v) * j


@compiled
def what_it_overwrites_is_read_before(A, v, a):
    before = np.sum(v * v)
    for i in range(4):
        v[i] = a * v[i] ** 2
    return before * np.sum(v)


def squared(x):
    return x * x


def swept(u, factor=0.5):
    for j in range(1, len(u)):
        u[j] += factor * squared(u[j - 1])
    return u[0], u[-1]


def returns_early(x):
    if x > 0.0:
        return x
    return -x


@compiled
def functions_of_the_program(A, v, a):
    total = 0.0
    for i in range(4):
        first, last = swept(A[i], factor=a)
        total = total + squared(first) * squared(squared(last) * 0.1)
        swept(v)
    return total + np.sum(A) * np.sum(v)


@compiled
def functions_of_elements(A, v, a):
    for i in range(4):
        A[i] = np.exp(np.minimum(A[i], 1.0)) + np.arctan2(A[i], v) * np.log1p(v**2)
        v += np.where(A[i] > v, np.hypot(A[i], v), 0.5 * v) - np.clip(A[i], -0.5, a)
        A[:, i] *= np.tan(v * 0.1) ** 3 + (v > 0.0) * np.power(np.abs(v) + 0.1, a)
    return np.sum(A) + np.sum(v)


@compiled
def functions_of_numbers(A, v, a):
    total = 0.0
    for i in range(4):
        x = float(v[i])
        total += math.exp(math.sin(x)) * max(x, a) + math.atan2(x, a) ** 2 * math.pi
        k = int(10 * x) % 4
        v[k] = math.sqrt(x) * a if x > 0.1 else x**3
        v[k] += round(x)
        A[i, k] += x % 0.7 + min(v[k], A[i, i])
    return total + np.sum(A) + np.sum(v)


@compiled
def reductions_along_axes(A, v, a):
    for i in range(3):
        v += np.sum(A, axis=0) * np.mean(A * v, axis=1) - np.max(A, axis=0)
        A[i] += v * np.prod(A[i]) + A.min(axis=1) * A.max()
        A *= 0.1 + a * np.mean(A) / (1.0 + np.sum(v > 0.0) + np.sum(A * A))
    return np.sum(A) + np.sum(v)


@compiled
def products_of_matrices(A, v, a):
    for i in range(3):
        w = A @ v + np.dot(v, A) * a
        A += 0.1 * np.outer(w, v) - 0.1 * A @ A
        v[:] = np.dot(A, w * 0.1) + (A[:, :2] @ A[1:3])[i] + np.dot(A, A.T)[0]
    return np.sum(A) + np.sum(v)


@compiled
def new_axes(A, v, a):
    for i in range(3):
        A += v[:, None] * A[i][np.newaxis, :] * a
        column = A[:, i, None]
        v += np.sum(column * v[None], axis=0) + np.max(v[:, None] - v, axis=1)
        column *= 0.5
    return np.sum(A) + np.sum(v)


@compiled
def ties_and_choices(A, v, a):
    for i in range(3):
        v[i] = v[i + 1]
        A[i] = np.maximum(A[i], np.minimum(v, A[i])) + np.clip(v, v[i], v[i] + 1.0)
        v += np.where(np.logical_or(A[i] == v, ~(v > a)), A[i], np.maximum(v, a)) * a
    return np.sum(A) + np.sum(v)


@python("exp of an array backwards")
def a_function_of_an_array_backwards(A, v, a):
    for i in range(4):
        A[i] = np.exp(v[::-1]) * a
    return np.sum(A)


@python("sum of a part of an array")
def a_sum_of_a_part(A, v, a):
    for i in range(3):
        v[i] += np.sum(A[1:, 1:]) * a
    return np.sum(v)


@python("sum of an array whose axes are not in the order of its memory")
def a_sum_of_a_transpose(A, v, a):
    for i in range(3):
        turned = A.T * a
        v[i] += np.sum(turned)
    return np.sum(v)


@python("a product of an array whose memory has an order that is not known")
def a_product_of_a_computed_transpose(A, v, a):
    for _ in range(3):
        v += (A.T * a) @ v
    return np.sum(v)


@python("a call with keywords")
def a_sum_that_keeps_its_axes(A, v, a):
    for _ in range(3):
        v += np.sum(A, axis=1, keepdims=True)[0] * a
    return np.sum(v)


@python("where of numbers")
def a_choice_of_numbers_by_where(A, v, a):
    for i in range(4):
        v[i] = np.where(v[i] > 0.0, v[i], a)
    return np.sum(v)


@python("a power of an integer")
def a_power_of_an_integer(A, v, a):
    for i in range(4):
        v[i] *= i**2
    return np.sum(v)


@python("math.exp of an array")
def a_function_of_numbers_of_an_array(A, v, a):
    for i in range(4):
        v[i] *= math.exp(v[i : i + 1])
    return np.sum(v)


@python("a statement of kind return")
def a_function_that_returns_early(A, v, a):
    for i in range(4):
        v[i] = returns_early(v[i]) * a
    return np.sum(v)


@python("in an expression of swept, which writes arrays")
def a_writing_call_in_an_expression(A, v, a):
    for i in range(3):
        v[i] = v[3] + swept(v)[1]
    return np.sum(v)


@compiled
def names_like_those_of_compiled_code(A, v, a):
    p1, t1_, as_, ct, k, count = a, 1.0, 0.5, v[0], 2.0, 0
    for q1_ in range(1, 4):
        row = A[q1_]
        A[q1_ - 1, 1:] += row[1:] * ct * as_
        as_ = as_ * t1_ + A[q1_, 0]
        t1_ = p1 * ct + k
        ct, p1 = ct * as_ * 0.3, v[q1_] * t1_
        k = k * v[q1_ - 1]
        count += q1_
    return np.sum(A) * ct + p1 * t1_ + k * count


@python("a call for its effect")
def output(A, v, a):
    for i in range(4):
        v[i] *= a
        print(end="")
    return np.sum(v)


@python("it goes over something else than a range")
def elements(A, v, a):
    s = 0.0
    for x in v:
        s += x * x
    return s


@python("a statement of kind return")
def jumps_out(A, v, a):
    for i in range(4):
        v[i] *= a
        if i == 2:
            return np.sum(v)
    return a


class Meter:
    """An object with an attribute that is computed."""

    def __init__(self, v):
        self.v = v

    @property
    def total(self):
        return 2.0 + float(len(self.v))


@python("the attribute total, which may be computed")
def a_property(A, v, a):
    meter = Meter(v)
    for i in range(4):
        v[i] *= meter.total
    return np.sum(v)


@python("the truth of this")
def a_list_that_may_change(A, v, a):
    flags = []
    for i in range(4):
        if flags:
            v[i] *= a
    return np.sum(v)


@python("overlaps another array")
def two_views_of_one_array(A, v, a):
    first, last = v[:3], v[1:]
    for i in range(3):
        first[i] += last[i] * a
    return np.sum(v)


@raising
def an_index_that_does_not_exist(A, v, a):
    for i in range(6):
        v[i] *= a
    return np.sum(v)


@raising
def a_division_by_zero(A, v, a):
    for i in range(4):
        v[i] = 1 / (i - 2)
    return np.sum(v)


@raising
def the_maximum_of_nothing(A, v, a):
    for i in range(4):
        v[i] += np.max(v[i + 1 :])
    return np.sum(v)


@raising
def a_product_of_shapes_that_differ(A, v, a):
    for i in range(4):
        v += A[:, : i + 1] @ v[: 4 - i]
    return np.sum(v)


@raising
def a_logarithm_of_zero(A, v, a):
    for i in range(4):
        v[i] *= math.log(float(i))
    return np.sum(v)


@raising
def an_integer_of_what_is_no_number(A, v, a):
    for i in range(4):
        v[i] *= int(v[i] * np.inf)
    return np.sum(v)


@raising
def a_variable_with_the_name_of_a_global(A, v, a):
    for i in range(4):
        v[i] *= LIMIT  # noqa: F823
        if i == 3:
            LIMIT = 2.0  # noqa: F841
    return np.sum(v)


@raising
def shapes_that_differ(A, v, a):
    for i in range(4):
        v[:i] += A[0, :2]
    return np.sum(v)


@raising
def a_name_without_value(A, v, a):
    for i in range(4):
        v[i] *= missing  # noqa: F821
    return np.sum(v)
