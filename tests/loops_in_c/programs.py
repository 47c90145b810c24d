"""Loops as programs: functions of a matrix, a vector and a number, and whether their loops run in C."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

Function = Callable[..., Any]
COMPILED: dict[str, Function] = {}
PYTHON: dict[str, tuple[Function, str]] = {}
RAISING: dict[str, Function] = {}
LIMIT = 3.0
TOTAL = 0.0


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
def systems_of_equations(A, v, a):
    A += 6.0 * np.eye(4)
    for _ in range(3):
        v = v + 0.1 * np.linalg.solve(A, v)
        a = a + np.linalg.norm(v) * np.linalg.det(A) * 1e-3
    return a + np.sum(v)


@compiled
def eigenvalues_and_vectors(A, v, a):
    for k in range(3):
        w, V = np.linalg.eigh(A @ A.T)
        a = a + w[0] * k + np.sum(w**2) * 1e-3 + np.abs(V[0, 0])
        A = A * 0.9
    return a + np.sum(A)


@compiled
def sorted_elements(A, v, a):
    for _ in range(3):
        w = np.sort(v)
        a = a + w[-1] * np.std(v) + np.einsum("ij,ij->", A, A) + np.interp(0.3, np.array([0.0, 1.0]), w[:2])
        v = v * 1.1
    return a + np.sum(v)


@compiled
def integers_that_python_computes(A, v, a):
    for _ in range(3):
        i, j = np.indices((3, 3))
        order = np.argsort(v)
        v = v * 0.9 + np.sort(v)[order] * a
        k = np.searchsorted(np.sort(v), v)
        A[i + 1, j] = A[i, j] * v[order][j] + k[0]
        a = a + np.linalg.norm(v) * 0.1
    return np.sum(A) + np.sum(v)


@compiled
def a_view_that_numpy_returns(A, v, a):
    for k in range(3):
        B = np.swapaxes(A, 0, 1)
        a = a + B[0, 1] * k
        A = A * 1.1
    return a + np.sum(A)


@compiled
def elements_by_masks(A, v, a):
    for k in range(4):
        m = v > 0.3 * k - 0.5
        v = v + 0.1 * np.sum(v[m])
        v[m] = v[m] * 1.5
        v[v > 1.0] -= v[v > 1.0] * a
        A[A > 0.2] = np.sqrt(A[A > 0.2])
    return np.sum(v) + np.sum(A)


@compiled
def rows_by_a_mask(A, v, a):
    for k in range(3):
        held = A[v > 0.1 * k, :]
        held = held[:, [1, 0, 3, 2]]
        A = A * a
        A[v > 0.1 * k, :] = held
    return np.sum(A * A)


@compiled
def places_of_a_condition(A, v, a):
    for k in range(3):
        out = np.where(v > 0.2)
        v[out] *= a
        i, j = np.nonzero(0.1 * k > A)
        A[i, j] += 0.5 * A[j, i]
    return np.sum(v) + np.sum(A)


@compiled
def columns_and_rows(A, v, a):
    for _ in range(3):
        x, y = A[:, 0:1], A[:, -1:]
        d = x.T - x + y.reshape((1, 4)) * a
        v = v + (d @ A[:, :1])[:, 0]
        A = A + np.hstack((x, y, np.zeros((4, 2)))) + np.vstack([v, v, v, v]) * 0.1
    return np.sum(A) + np.sum(np.concatenate((v, v[1:])))


@compiled
def axes_of_one_element(A, v, a):
    w = v.reshape(4, 1)
    total = np.zeros((4, 4))
    for _ in range(3):
        total += (w * w.T) * a
        w = w + total[:, :1]
    return np.sum(total) + np.sum(np.triu(total, 1)) + np.sum(w)


@compiled
def rolls_along_an_axis(A, v, a):
    for k in range(3):
        A = A + a * (np.roll(A, k, axis=0) - np.roll(A, -1, axis=1))
        v += np.sum(np.triu(A, 1) - np.tril(A, -1), axis=0)
    return np.sum(A * A) + np.sum(v)


@compiled
def whole_numbers_of_an_array(A, v, a):
    for _ in range(3):
        j = np.floor(np.abs(v) * 3.0).astype(int)
        v = v * 1.1 + A[np.minimum(j, 3), 0]
    return np.sum(v)


@compiled
def an_array_that_is_written_out(A, v, a):
    for k in range(3):
        F = np.array([[1.0, a], [-np.sin(v[k]), 2]])
        a = a + (F @ np.array([v[0], v[1]]))[1]
        v[:2] = F[0] * 0.1
    return a + np.sum(v)


@compiled
def parts_of_one_array(A, v, a):
    inner, first = A[1:-1, 1:-1], A[0]
    for k in range(4):
        inner += a * (A[:-2, 1:-1] - A[2:, 1:-1])
        first *= 1.0 + 0.1 * inner[0, 0]
        A[k % 4, 3] += first[0]
    return np.sum(A * A)


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
        return x * 2.0
    elif x < -1.0:
        y = x * x
        if y > 2.0:
            return y
    else:
        x = x + 1.0
    return x * 3.0


def returns_two(u, x):
    if x > 0.0:
        u = u * x
        return u, x
    return u, -x


def returns_nothing(u, i):
    if i == 1:
        return
    u[i] *= 2.0


def returns_from_a_loop(u):
    for x in range(len(u)):
        if u[x] > 0.0:
            return u[x]
    return u[0]


def root_of(x, steps=20):
    y = 1.0
    for _ in range(steps):
        for _ in range(2):
            new = 0.5 * (y + (x * x + 1.0) / y)
            if abs(new - y) < 1e-9:
                return new
            y = new
        else:
            y = y * 1.0
    return y * 0.5


def returns_nothing_at_times(x):
    if x > 0.0:
        return x


def sunk(u):
    if u[0] > 0.0:
        u = u * 0.5
    return u


def twins(u):
    t = u * 2.0
    return t, t


@python("a store into an array that may be another one's, too")
def an_array_that_a_function_may_have_made(A, v, a):
    for i in range(3):
        x = sunk(v)
        x[1] = a * v[i]
        v[0] = v[0] - 1.0
    return np.sum(v)


@compiled
def a_function_that_returns_one_array_twice(A, v, a):
    for i in range(3):
        x, y = twins(v)
        x[1] = a * v[i]
        v[0] = v[0] - y[1]
    return np.sum(v)


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
        v[:] = np.dot(A, w * 0.1) + (A[:, :2] @ A[1:3])[i] + (A @ A.T)[0] + np.dot(A, A * a)[0]
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
def arrays_of_indices(A, v, a):
    order, twice = np.array([2, 0, 3]), np.array([1, -1, 1])
    for i in range(3):
        v[order] += A[i, order] * v[twice]
        v[twice] = A[order, i] * a + v[order]
        A[order] *= 0.5 + A[twice]
        A[i, twice] += np.sum(v[order]) * a
        np.add.at(v, twice, A[order, 0] * v[i])
        order[i] = i
    return np.sum(A) + np.sum(v)


@compiled
def masks(A, v, a):
    for i in range(3):
        v[v > A[i]] *= a
        A[(A < 0.0) & (v < A)] = v[i]
        A[i] += v
        A[~(A > 0.2)] -= a * v[0]
    return np.sum(A * A) + np.sum(v)


@compiled
def neighbours_and_places(A, v, a):
    for i in range(3):
        v += np.cumsum(np.roll(A[i], i + 1)) * 0.3
        v[1:] -= np.diff(v) * a
        A[i, np.argmax(v)] += v[A[:, i].argmin()] ** 2
    return np.sum(A) + np.sum(v)


@compiled
def ties_and_choices(A, v, a):
    for i in range(3):
        v[i] = v[i + 1]
        A[i] = np.maximum(A[i], np.minimum(v, A[i])) + np.clip(v, v[i], v[i] + 1.0)
        v += np.where(np.logical_or(A[i] == v, ~(v > a)), A[i], np.maximum(v, a)) * a
    return np.sum(A) + np.sum(v)


@compiled
def a_function_of_an_array_backwards(A, v, a):
    for i in range(4):
        A[i] = np.exp(v[::-1]) * a
    return np.sum(A)


@compiled
def a_sum_of_a_part(A, v, a):
    for i in range(3):
        v[i] += np.sum(A[1:, 1:]) * a
    return np.sum(v)


@compiled
def a_sum_of_a_transpose(A, v, a):
    for i in range(3):
        turned = A.T * a
        v[i] += np.sum(turned)
    return np.sum(v)


@compiled
def a_product_of_a_computed_transpose(A, v, a):
    for _ in range(3):
        v += (A.T * a) @ v
    return np.sum(v)


@compiled
def a_sum_that_keeps_its_axes(A, v, a):
    for _ in range(3):
        v += np.sum(A, axis=1, keepdims=True)[0] * a
    return np.sum(v)


@compiled
def a_mask_and_an_array(A, v, a):
    for i in range(3):
        v[v > -9.0] *= A[i] * a
    return np.sum(v)


@python("add.at of values of the same array")
def what_several_indices_read_and_change(A, v, a):
    places = np.array([1, 1, 2])
    for _ in range(3):
        np.add.at(v, places, np.sin(v[places]) * a)
    return np.sum(v)


@compiled
def a_table_with_two_names_is_written(A, v, a):
    table = np.ones(4)
    same = table
    for i in range(4):
        same += 0.5 * i
        A[i] *= table * v
        same[1] = table[0] * 0.5
        v[i] *= a * table[1]
    return np.sum(A) + np.sum(v)


@python("overlaps another array")
def a_table_that_overlaps_another_is_written(A, v, a):
    table = np.ones(5)
    part = table[1:]
    for i in range(4):
        table += 0.5 * i
        A[i] *= part * v
    return np.sum(A)


@compiled
def the_elements_of_a_mask(A, v, a):
    for i in range(3):
        v[i] += np.sum(A[i][v > 0.0]) * a
    return np.sum(v)


@compiled
def the_maximum_by_python(A, v, a):
    for i in range(3):
        A[i] *= max(v) * a
    return np.sum(A)


@python("a call with such a result")
def a_choice_of_numbers_by_where(A, v, a):
    for i in range(4):
        v[i] = np.where(v[i] > 0.0, v[i], a)
    return np.sum(v)


@compiled
def inner_loops_over_numbers_that_are_written_out(A, v, a):
    for i in range(3):
        for colour in (0, 1, -1):
            for weight in [0.5, -0.0, 2.0]:
                if weight > 1.0 and colour == 1:
                    break
                A[i, colour] += weight * v[i] * a
            v[colour] *= 1.5
    return np.sum(v) + np.sum(A) + colour


@compiled
def arrays_that_exchange_their_names(A, v, a):
    u, new = v.copy(), np.zeros(4)
    for k in range(5):
        for i in range(1, 3):
            new[i] = u[i] + a * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        if k == 1:
            continue
        u, new = new, u
        new[0] = u[1] * A[k % 4, 1]
        if k == 3:
            break
    return np.sum(u * A) + np.sum(new[:2]) * u[1]


@compiled
def an_argument_with_two_names_that_are_exchanged(A, v, a):
    w, x = A[0] * a, v
    for _ in range(4):
        v, w, x = x, v, w
        v[:] = v * w
    return np.sum(v * w) + np.sum(x)


@compiled
def arguments_that_exchange_their_names(A, v, a):
    w, u = A[1], v
    for _ in range(3):
        w[1:-1] += u[:-2] * u[2:] * a
        u, w = w, u
    u[0] = 2.0
    return np.sum(A) + np.sum(v) * np.sum(u * w)


@compiled
def arrays_that_go_round(A, v, a):
    x, y, z = A[0].copy(), A[1] * a, v
    n = 0
    while n < 7:
        z[1:] = x[:-1] * y[1:] + a
        x, y, z = y, z, x
        n += 1
    return np.sum(x) + 2.0 * np.sum(y) + 3.0 * np.sum(z)


class Grid:
    """State of a simulation."""

    def __init__(self, u, rate):
        self.u, self.flux, self.rate_ = u, np.zeros(4), rate
        self.inner = self.table = None
        self.count, self.shown = 4, np.arange(4)

    def advance(self, steps):
        for _ in range(steps):
            for i in range(1, self.count):
                self.flux[i] = self.rate_ * (self.u[i - 1] - self.u[i])
            self.u[:-1] += self.flux[:-1] - self.flux[1:]

    @property
    def computed(self):
        return self.count


@compiled
def attributes_of_objects(A, v, a):
    grid = Grid(v, a)
    grid.inner = Grid(A[1] * 1.0, 0.5)
    grid.advance(3)
    for i in range(grid.inner.u.shape[0]):
        grid.inner.u[i] *= grid.u[grid.inner.shown[-i - 1]] + grid.flux.sum() * grid.inner.rate_
    return np.sum(grid.inner.u * A) + np.sum(grid.u)


@compiled
def one_object_with_two_names(A, v, a):
    grid = Grid(v, a)
    other, u = grid, grid.u
    for i in range(1, 4):
        grid.u[i] += other.u[i - 1] * u[0]
        u[0] *= other.rate_
    return np.sum(A) + np.sum(other.u)


@compiled
def a_computed_attribute(A, v, a):
    grid = Grid(v, a)
    for i in range(3):
        grid.u[i] *= grid.computed
    return np.sum(v)


@compiled
def attributes_that_are_set(A, v, a):
    grid = Grid(v, a)
    grid.total, grid.time = 0.0, np.float64(0.0)
    for i in range(3):
        grid.count -= 1
        grid.u[i] *= grid.count * grid.rate_
        if i > 0:
            grid.total += grid.u[i]
        grid.time = grid.time + 0.5
        grid.rate_ = grid.rate_ * 0.5
    return np.sum(v) * grid.total + grid.count * grid.time + grid.rate_


@compiled
def an_attribute_of_an_object_with_two_names(A, v, a):
    grid = Grid(v, a)
    other = grid
    for i in range(3):
        grid.count -= 1
        grid.u[i] *= other.count
    return np.sum(v)


@compiled
def an_array_that_becomes_an_attribute(A, v, a):
    grid = Grid(v, a)
    for i in range(3):
        grid.u = grid.u * A[i]
    return np.sum(grid.u)


def counted(grid, x):
    return x * grid.count


@compiled
def an_attribute_that_a_function_reads(A, v, a):
    grid = Grid(v, a)
    for i in range(3):
        grid.count -= 1
        v[i] *= counted(grid, a)
    return np.sum(v)


@compiled
def sums_of_copies_that_were_bound_before(A, v, a):
    before, change = A.copy(), 1.0
    k = 0
    while change > -9.0 and k < 3:
        before = A.copy()
        A[1:] += A[:-1] * a
        change = (np.sum(A) - np.sum(before)) / np.sum(A)
        k += 1
    return change + np.sum(before * A)


@compiled
def powers_of_integers(A, v, a):
    for i in range(4):
        v[i] *= i**2 + (-1) ** (i + 100) * 2**i - (i - 5) ** 3
        A[i] = A[i] / (4**i + 1) + min(i, 2, 3**i) + max(v[0] * a, v[1], v[2])
    return np.sum(v) + np.sum(A) + 7**i


@python("a power of an integer that is not Python's")
def a_power_of_a_numpy_integer(A, v, a):
    n = np.arange(4)
    for i in range(4):
        v[i] *= n[i] ** 2
    return np.sum(v)


@python("a call that raises for other values")
def a_function_of_numbers_of_an_array(A, v, a):
    for i in range(4):
        v[i] *= math.exp(v[i : i + 1])
    return np.sum(v)


def rate(t, y, a):
    found = np.zeros_like(y)
    found[0] = y[1] * a
    found[1:] = -y[:-1] * t
    return found


def advanced(t, y, h, a):
    first = rate(t, y, a)
    second = rate(t + h, y + h * first, a)
    return y + 0.5 * h * (first + second)


@compiled
def arrays_that_are_rebound(A, v, a):
    x, t, total = v, 0.0, 0.0
    for i in range(6):
        before = x
        x = x + 0.1 * (a * x - x * x)
        x = advanced(t, x, 0.1, a)
        x[-1] = before[0] * x[1]
        A[i % 4] += x - before
        t = t + 0.1
    for _ in range(3):
        v = v[1:] * v[:-1] + len(v)
        total = total + v.size * np.sum(v)
    return np.sum(A * A) * np.sum(x) + total


@compiled
def arrays_that_are_rebound_in_inner_loops(A, v, a):
    for i in range(3):
        x, y = A[i], v
        for j in range(i):
            if x[0] > y[j]:
                x, y = y, x * v + a
            else:
                x = x + y
        part = x[0] * a
        A[3] = x * y
        v[i] = part
    return np.sum(A * A) + np.sum(v)


@compiled
def names_of_one_array(A, v, a):
    for n in range(3):
        x = y = v * A[n]
        x[0] = 7.0
        v = y * a
        y = x
        x = x * v
        y[1] = 3.0
        A[n] = x * y
    return np.sum(A) + np.sum(v)


@compiled
def an_array_made_in_place_of_another(A, v, a):
    u = v * 1.0
    for _ in range(4):
        new = u.copy()
        for i in range(1, 3):
            new[i] = 0.5 * (u[i - 1] + u[i + 1]) * a
        u = new
    return np.sum(u * u)


@compiled
def an_array_that_the_loop_makes_is_written(A, v, a):
    for i in range(4):
        row = A[i] * v
        row *= row
        row[:] = row * row
        A[i] = row * (np.sum(row) * row[0] * 1e-3)
        row = len(row) * A[i, i:]
        v[0] += np.sum(row)
    return np.sum(A) + v[0]


def bounded(u):
    u[0] = 0.5
    u[-1] *= 0.25


@compiled
def an_array_written_before_it_is_rebound(A, v, a):
    first, u = v, v * a
    for i in range(3):
        v[0] = a + v[3]
        bounded(u)
        part = v[1:]
        part += u[:-1]
        part[1] = v[2]
        if i > 0:
            v = v * v[1]
            u = u + v
    return np.sum(v * u) + np.sum(first)


@python("a store into an array that may be another one's, too")
def arrays_that_are_swapped_and_written(A, v, a):
    new = np.zeros(4)
    for _ in range(3):
        new[1:-1] = v[2:] * a + v[:-2]
        if a > 0.0:
            v, new = new, v
    return np.sum(v) + np.sum(new)


@python("is not the same kind of thing in each iteration")
def a_copy_whose_original_is_written(A, v, a):
    x = v * 1.0
    for i in range(3):
        A[0] *= x
        x = A[0]
        if i == 1:
            x = x * a
        A[0] += 1.0
        A[1] = x
    return np.sum(A)


@compiled
def a_loop_that_may_leave_the_array_it_began_with(A, v, a):
    x, y = v, A[0]
    for _ in range(50):
        if np.sum(x * x) < 1e-4:
            break
        x = x * 0.5 * a
    for i in range(3):
        for j in range(i - 2):
            y = y * A[j]
        v[i] += y[0]
    y[1] = 3.0
    return np.sum(x * x) * np.sum(A)


@python("may be another array, or a view of it, when the loop is over")
def a_loop_that_may_leave_an_array_with_two_names(A, v, a):
    for _ in range(3):
        w = v
        v = v * a + A[0]
    w[0] = 2.0
    return np.sum(v * w)


@compiled
def an_array_in_a_tuple(A, v, a):
    for i in range(3):
        row = v * 1.0
        pair = (row, 1)
        row = row * 2.0
        v[i] = pair[0][i] * row[0]
    return np.sum(v)


@compiled
def functions_that_return_early(A, v, a):
    for i in range(4):
        v[i] = returns_early(v[i]) * a
        w, s = returns_two(v, A[i, i])
        A[i] = w * s
        returns_nothing(v, i)
    return np.sum(v) * np.sum(A)


@compiled
def a_function_that_returns_from_a_loop(A, v, a):
    for i in range(4):
        v[i] = returns_from_a_loop(v) * a
        A[i] *= root_of(v[i]) + root_of(v[i], 1)
    return np.sum(v) * np.sum(A)


@python("does not return the same kind of thing each time")
def a_function_that_returns_nothing_at_times(A, v, a):
    for i in range(4):
        v[i] = returns_nothing_at_times(v[i] * v[i]) * a
    return np.sum(v)


@compiled
def conditions_that_guard_others(A, v, a):
    n, count = len(v), 0
    for i in range(n):
        if i < n - 1 and v[i + 1] > 0.0:
            v[i] *= a
        if not (i < n - 1 and v[i + 1] > 0.0) and i:
            v[i] += returns_early(v[i]) if i > 1 and returns_early(A[i, i]) > 0.0 else v[0]
        A[i] = A[i] * 0.5 if -0.5 < v[i] <= a < 5.0 else v * 2.0
        inside = 0 < i < 3
        if inside:
            count += 1
    for i in range(1, n):
        j = i
        while j > 0 and v[j - 1] > v[j]:
            v[j - 1], v[j] = v[j], v[j - 1]
            j -= 1
    return np.sum(v * A[0]) * count + np.sum(A)


@compiled
def loops_with_else(A, v, a):
    for i in range(4):
        for j in range(4):
            if A[i, j] > 1.0:
                v[i] *= a
                break
        else:
            v[i] = 2.0 * v[i]
            if i == 2:
                continue
        k = 3
        while k > i:
            k -= 1
            if A[i, k] > 0.5:
                break
        else:
            v[0] += 1.0
        A[i, 0] = v[i] * k
    return np.sum(v) * np.sum(A)


@compiled
def inner_loops_over_arrays(A, v, a):
    s = v[0] * a
    for i in range(2):
        for x in v:
            s = s + x * A[i, 0]
            v[3] = v[3] * x
        for row in A:
            row *= a
            s = s + row[0]
        for x in reversed(A[0] * 2.0):
            s = s * 0.5 + x
        for x, y, _, w in A:
            s = s + x * y - w
    return s * np.sum(A) * np.sum(v) + x


@compiled
def inner_loops_with_several_variables(A, v, a):
    s = v[0] * a
    for i in range(3):
        for j, x in enumerate(A[i] * 2.0):
            if j == 1:
                continue
            v[j] += x * s
        for k, row in enumerate(A, start=i):
            row[k % 4] = v[k % 4]
        for k, (x, row) in enumerate(zip(v, A, strict=True), 1):
            s = s + x * row[k - 1]
            if k > 3:
                break
        else:
            s = s * 2.0
        for x, y, j in zip(v[1:], v, range(0, 10, 3), strict=False):
            s = s + x * y * j
        for j in reversed(range(1, 4)):
            v[j] += v[j - 1] * s * 0.1
        for j in range(3):
            j = j + 1
            v[j] *= 0.5
    return np.sum(v) * s + k * j


@compiled
def an_array_that_is_rebound_while_a_loop_goes_over_it(A, v, a):
    w = v * 1.0
    for i in range(2):
        for x in w:
            w = w * x + a
        A[i] = w
    return np.sum(A)


@compiled
def arrays_that_are_unpacked(A, v, a):
    x, y, z, w = v
    for i in range(3):
        part = y * a
        x, y, z, w = x + part, y - x, A[i, 0], w * z
        first, _, _, last = A
        first *= x
        last[0] = y
        x, y, z, w = v
    return np.sum(A) * x * y + z * w


@compiled
def two_names_of_one_array_that_are_written(A, v, a):
    w = v
    for i in range(3):
        v[i] = v[i] * w[i + 1]
        w[i + 1] = w[i] * w[i + 1] * a
        for row in A:
            row *= v[i]
            A[i] = A[i] * row[0]
    for row in A:
        row *= a
        A[1] = row * row
    return np.sum(v * w) + np.sum(A)


@compiled
def a_jump_under_a_condition_that_is_known(A, v, a):
    for i in range(4):
        if not None:
            if v[i] > 0.0:
                continue
            v[i] *= 2.0
        v[i] *= a
    return np.sum(v * v)


@compiled
def a_break_before_a_condition_that_raises(A, v, a):
    k = 0
    while v[k] > -100.0:
        v[k] *= a
        k += 1
        if k == 4:
            break
    return np.sum(v) * k


@python("in an expression of swept, which writes what the expression reads")
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
def no_branch_is_compiled(A, v, a):
    for i in range(4):
        v[i] *= a
        if v[i] > 0.0:
            print(end="")
        else:
            print("", end="")
    return np.sum(v)


@python("an array is appended that may be a view")
def a_history_of_views(A, v, a):
    rows = []
    for i in range(4):
        rows.append(A[i])
        A[i] *= v[i]
    return np.sum(rows[0] * rows[1])


@python("appended to in several places")
def a_history_with_two_places(A, v, a):
    found = []
    for i in range(4):
        found.append(v[i])
        found.append(v[i] * a)
    return sum(found)


@python("something else than numbers and arrays is appended")
def a_history_of_texts(A, v, a):
    found = []
    for i in range(4):
        found.append(("a", v[i]))
    return sum(x for _, x in found)


@python("may lie otherwise in memory when the loop is over")
def a_transposed_array_is_read_later(A, v, a):
    x = A
    for i in range(4):
        x = A.T * v[i]
    return np.sum(x)


def one_of_two(u, w):
    if u[0] > 0.0:
        w = u
    return w


@python("is not the same kind of thing in each iteration")
def a_function_that_may_return_an_argument(A, v, a):
    s = a
    for i in range(4):
        w = one_of_two(v, v * 2.0)
        v[1] = 5.0 * i
        s = s + w[1]
    return s


@python("may have another name")
def the_last_item_of_a_list_with_two_names(A, v, a):
    found = [v[0]]
    same = found
    for i in range(4):
        same.append(v[i])
        v[0] = found[-1] * a
    return sum(found)


@python("a function appends to a list whose last item the loop reads")
def the_last_item_of_a_list_that_a_function_appends_to(A, v, a):
    found = [v[0]]
    for i in range(4):
        noted(found, v[i])
        v[0] = found[-1] * a
    return sum(found)


@compiled
def a_history_of_what_a_function_returns(A, v, a):
    found, x = [], v * a
    for _ in range(4):
        x = x * v
        y = one_of_two(v, x)
        found.append(y)
    x[0] = a
    return np.sum(found[1] * found[2])


@python("compiled code stops too often")
def a_branch_that_is_taken_each_time(A, v, a):
    for i in range(20000):
        v[i % 4] *= a
        if i >= 0:
            print(end="")
    return np.sum(v)


@python("it goes over something else than a range or an array")
def pairs_of_a_list(A, v, a):
    s = a
    for x, k in zip(v, [1, 2, 3], strict=False):
        s = s + x * k
    return s


@compiled
def goes_over_a_part_of_what_it_writes(A, v, a):
    for k, row in enumerate(A[1:]):
        row -= A[k]
    return np.sum(A)


@python("a call for its effect")
def output(A, v, a):
    for i in range(4):
        v[i] *= a
        print(end="")
    return np.sum(v)


@compiled
def outermost_loops_over_arrays(A, v, a):
    s, k, B, order = 0.0, 0, A.T, np.array([2, 0, 1])
    for x in v:
        v[3] = v[3] * x
        s += x * x
    for row in A:
        row *= a
        row[k] = v[k] + x
        k = k + 1
    for first, _, _, last in B:
        s = s + first * last
    for i in order:
        s = s + v[i] * i
    for j in range(4):
        s = s * a + j
        j = j * 2
    return s * j + np.sum(A)


@python("it goes over something else than a range or an array")
def a_list(A, v, a):
    s, numbers = 0.0, [1, 2]
    for x in numbers:
        s += v[x] * a
    return s


@compiled
def an_array_that_is_written_meanwhile(A, v, a):
    w = np.zeros(4)
    for x in w:
        w[1] = x + v[0]
        w[2] = x * a
    return np.sum(w)


@compiled
def jumps_out(A, v, a):
    for i in range(4):
        v[i] *= a
        if i == 2:
            return np.sum(v)
    return a


def checked(x, low=-50.0):
    if x < low:
        raise ValueError(f"{x} is too low")
    elif x > 50.0:
        print("high")
    return x * 0.5


@compiled
def branches_that_python_runs(A, v, a):
    kept, best, name, verbose, method = [], None, "", False, "mean"
    for i in range(6):
        v[i % 4] = checked(v[i % 4]) * a
        if verbose or method == "sum" or best is v:
            print(i, f"{v[0]:.3f}")
        if i % 3 == 1:
            name = f"step {i}"
            best = [v.copy(), i]
            kept.append((i, v[0], name))
        if best is not None and v[0] > 90.0:
            best.clear()
        if i % 4:
            continue
        kept.append((i, np.sum(v), ""))
    else:
        v[0] = v[0] * len(kept)
    return np.sum(v) + sum(k * x * len(text) for k, x, text in kept) + np.sum(best[0]) * best[1]


def noted(history, x):
    history.append(x)


@compiled
def histories(A, v, a):
    numbers, arrays, several, same, t = [], [v[0]], [], [], 0.0
    other = same
    for i in range(40):
        v[i % 4] = v[i % 4] * 0.5 + a
        t = t + 0.1
        numbers.append(np.sum(v) * t)
        if i % 3 == 1:
            arrays.append(A * v[i % 4])
        several.append((i, v[: i % 4 + 1].copy(), t > 1.0, v[0]))
        noted(other, v[i % 4] * a)
    total = np.sum(np.array(numbers) * np.arange(40)) + sum(same) * len(same)
    return total + sum(np.sum(x) for x in arrays) + sum(i * np.sum(x) * y * late for i, x, late, y in several)


def rate_of_three(y, a):
    found = np.zeros(4)
    found[0], found[1], found[2:] = y[1] * a, -y[0], y[:2]
    return found


@compiled
def histories_of_arrays_with_names(A, v, a):
    times, states, before, same, zeros, x, t, w = [0.0], [v], [], [], [], v * a, 0.0, np.ones(4)
    for i in range(12):
        before.append((x, i))
        rate = rate_of_three(x, a)
        x = x + 0.1 * (rate + rate_of_three(x + 0.1 * rate, a))
        w = w * 0.5
        t = t + 0.1
        states.append(x)
        times.append(t)
        same.append(v)
        if i % 5 == 0:
            zeros.append(w)
        v[i % 4] *= a
    is_same = states[-1] is x and before[-1][0] is states[-2] and same[0] is v and type(zeros[0]) is np.ndarray
    x[0] = 2.0 * a
    v[1] = 3.0 * a
    total = np.sum(np.array(states) * np.array(times)[:, None]) * is_same + np.sum(same[0] * same[5])
    return total + sum(np.sum(y) * i for y, i in before) + np.sum(zeros[1] * A[0])


class Recorder:
    """An object with lists."""

    def __init__(self, v):
        self.states, self.count = [v[0]], [0]


@compiled
def last_items_of_lists(A, v, a):
    t, x, recorder = [0.0], [v], Recorder(v)
    for i in range(12):
        x.append(x[-1] + 0.1 * np.sin(x[-1] * a) * t[-1])
        t.append(t[-1] + 0.1)
        if i % 3 == 0:
            recorder.states.append(np.sum(x[-1]) * v[i % 4])
            recorder.count.append(i)
    while t[-1] < 2.0:
        t.append(t[-1] * 1.3 + v[1] ** 2)
    x[-1][0] = 3.0
    total = np.sum(np.array(x) * np.array(t)[: len(x), None]) * len(t) * t[-1]
    return total * recorder.states[-1] * recorder.states[2] * recorder.count[-1]


@python("may have another name")
def the_last_item_of_a_list_of_an_object(A, v, a):
    recorder = Recorder(v)
    for i in range(4):
        recorder.states.append(recorder.states[-1] * v[i])
    return np.sum(recorder.states[-1])


@python("may have another name")
def a_list_of_an_object_under_another_name(A, v, a):
    recorder = Recorder(v)
    states = recorder.states
    for _ in range(4):
        states.append(v * a)
        v = v + recorder.states[0]
    return np.sum(states[-1]) + np.sum(v)


@compiled
def an_array_in_a_list_is_written(A, v, a):
    found, x = [], v * a
    for i in range(4):
        x = x * v
        found.append(x)
        if i == 2:
            x[0] = 3.0
    return sum(np.sum(y) * k for k, y in enumerate(found))


@compiled
def a_history_of_which_a_part_is_infinite(A, v, a):
    roots = []
    for i in range(4):
        roots.append((np.sqrt(v[i] * 0.0), v * a))
    return roots[1][0] * 0.0 + np.sum(roots[2][1]) + len(roots)


@compiled
def a_while_that_returns(A, v, a):
    k = 0
    while True:
        k += 1
        v[k % 4] = v[k % 4] * 0.5 + a
        if np.sum(v * v) < 9.0 * a and k > 3:
            return v[0] * k


@compiled
def a_break_that_an_outermost_else_depends_on(A, v, a):
    for i, x in enumerate(v):
        if i == 2:
            break
        v[i] = x * a
    else:
        a = 1.0
    return np.sum(v) * i * a


@compiled
def outermost_loops_over_several(A, v, a):
    s, w = a, np.linspace(0.0, 1.0, 7)
    for i, x in enumerate(v):
        v[i - 1] = x * a + s
        s = s + x * i
    for i, (x, y) in enumerate(zip(v, reversed(A[0] * 2.0), strict=True), start=-2):
        s = s + x * y * i
    for x, y, k in zip(v, w, range(10, 0, -2), strict=False):
        s = s + x * y * k
    for k in reversed(range(4)):
        v[k] = v[k - 1] * a
    for row in reversed(A):
        row *= a
        v += row
    for t in np.linspace(0.0, 1.0, 5):
        s = s + np.sin(t * a) * v[0]
    for k in np.arange(4):
        s = s + v[k] * k
    for k, row in enumerate(A[1:]):
        s = s + row[k]
    return s * np.sum(A) + i * k * t


class Meter:
    """An object with an attribute that is computed."""

    def __init__(self, v):
        self.v = v

    @property
    def total(self):
        return 2.0 + float(len(self.v))


@compiled
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


@compiled
def two_views_of_one_array(A, v, a):
    first, last = v[:3], v[1:]
    for i in range(3):
        first[i] += last[i] * a
    return np.sum(v)


class Plain:
    """An object with an attribute, which compares as it likes and cannot be hashed."""

    def __init__(self, rate):
        self.rate = rate

    def __eq__(self, other):
        return True

    def __call__(self, x):
        return x * self.rate


doubled_by_an_object = Plain(2.0)
changed = 1.0
k = 5


@compiled
def texts_are_no_numbers(A, v, a):
    order, side = "f", ""
    for i in range(4):
        v[i] *= 2.0 if order else 3.0
        v[i] += 2.0 if side else a
    return np.sum(v)


@compiled
def zero_and_minus_zero(A, v, a):
    for i in range(4):
        A[i, 0] = min(v[i] * v[i] * -0.0, 1.0)
        A[i, 1] = math.atan2(min(v[i] * v[i] * 0.0, 1.0), -1.0) + math.atan2(A[i, 0], -1.0)
    return np.sum(A)


@compiled
def a_number_in_the_place_of_an_array(A, v, a):
    x = v * a
    for i in range(4):
        x = v[0] * a
        A[i] *= x
    return np.sum(A) + x


@compiled
def a_while_with_an_else(A, v, a):
    k = 0
    while k < 3:
        v[k] *= a
        k += 1
    else:
        v[0] += k * a
    return np.sum(v)


@python("the same kind of thing")
def tuples_of_zero_and_minus_zero(A, v, a):
    for i in range(4):
        pair = 0.0, 1.0
        if v[i] > 0.0:
            pair = -0.0, 1.0
        A[i, 0] = math.atan2(pair[0] * pair[1], -1.0)
    return np.sum(A)


@python("the same kind of thing")
def objects_that_are_equal(A, v, a):
    one, other = Plain(2.0), Plain(3.0)
    for i in range(4):
        chosen = one
        if v[i] > 0.0:
            chosen = other
        v[i] *= chosen.rate
    return np.sum(v)


@compiled
def a_call_of_an_object(A, v, a):
    for i in range(4):
        v[i] = doubled_by_an_object(v[i])
    return np.sum(v)


def changed_by_others():
    return changed


@python("changed is not a local variable")
def a_global_variable_is_assigned(A, v, a):
    global changed
    changed = 1.0
    for i in range(4):
        changed = changed + 1.0
        v[i] *= changed_by_others()
    return np.sum(v)


@compiled
def a_comprehension_has_its_own_variable(A, v, a):
    k = 2
    for i in range(4):
        v[i] *= sum([k for k in range(3)]) + k
    return np.sum(v) * k


@compiled
def lists_of_numbers(A, v, a):
    n = len(v)
    for t in range(1, 4):
        for s in range(n):
            x = [A[s_, t - 1] * np.tanh(A[s_, s]) - v[s] for s_ in range(n)]
            m = max(x)
            A[s, t] = m + np.log(sum([np.exp(v - m) for v in x])) + min(x) * 0.1 + x[-1] * x[t] * 0.1 + len(x) * 0.1
            v[s] += a * np.array([y * w for y, w in zip(x, A[s], strict=True)])[t] * 0.1 - np.sum(x) * 0.01
    return np.sum(A) + np.sum(v)


@compiled
def folds_of_generators(A, v, a):
    for k in range(4):
        if any(x > 1.0 for x in v) or all(A[k, j] > v[k] for j in range(4)):
            a = a * 1.1
        a = a + sum(x * a for x in v) * 0.1 + max(abs(x) for x in A[k]) + min(v) * sum(v)
        v[k] = sum(sum(A[i, j] * v[i] for i in range(j + 1)) for j in range(3))
    return a + np.sum(v)


@compiled
def a_list_that_another_name_holds(A, v, a):
    for k in range(3):
        x = [one * a for one in v]
        y = x
        x = [one * y[k] for one in x]
        a = a + y[0] * x[1] + sum([one * one for one in y])
    return a


@compiled
def arrays_of_nested_lists(A, v, a):
    for k in range(3):
        F = np.array([[1, 0, -a, np.cos(a)], [0.0, 1.0, k, v[k]]])
        H = np.array([[1, 0, 0, k], [0, 2, 0, 0]])
        A = (np.eye(4) - (F.T @ H) * 0.1) @ A
        v = A @ H.T @ np.array([v[1], a]) * 0.1 + np.full(4, v[0]) * 0.5 + np.concatenate([[a, 1], v[[0, -1]]])
        rows = np.array([v, A[k], v * a])
        a = a + np.sum(rows[[2, 0]] @ np.array([0, 1, 2, k])) * 0.01
    return np.sum(A) + np.sum(v) + a


@compiled
def lists_and_tuples_as_indices(A, v, a):
    for k in range(3):
        both = [k, 1]
        pair = (k, 1)
        a = a + A[pair] + np.sum(A[both]) + A[:, both][0, 1]
    return a


def _with_a_list_in_a_function(x_, y):
    pair_ = [x_ * y, [y, x_]]
    x_ = x_ * pair_[1][0]
    for k_ in range(2):
        x_ = x_ * pair_[0] + pair_[1][1] * k_
    return [x_, pair_[0]]


@compiled
def lists_that_functions_return(A, v, a):
    for k in range(3):
        one, other = _with_a_list_in_a_function(v[k], a)
        a = a * 0.5 + one * other * 0.1
    return a


WEIGHTS = np.array([1.0, 0.5, -0.3, 2.0])


def _weighted(u):
    return u * WEIGHTS + WEIGHTS[1]


@compiled
def global_arrays_of_functions(A, v, a):
    for k in range(3):
        v = _weighted(v) * a
        a = a + sum([_weighted(u)[k] for u in A])
    return np.sum(v) + a


def _doubled(u, k):
    u[k] *= 2.0
    return u[k]


@python("which writes what the expression reads")
def a_comprehension_that_writes_what_is_read_before(A, v, a):
    for _ in range(3):
        a = v[0] + sum([_doubled(v, j) for j in range(4)])
    return a


@python("x is a view, or not the same kind of thing")
def a_list_that_outlives_its_loop(A, v, a):
    for k in range(3):
        x = [one * a for one in v]
        a = a + x[k]
    return a + x[0]


@python("a comprehension with conditions")
def a_comprehension_with_a_condition(A, v, a):
    for _ in range(3):
        a = a + sum([one for one in v if one > 0.0])
    return a


@python("a list of numbers of Python's and of NumPy's")
def a_list_of_two_types(A, v, a):
    for _ in range(3):
        a = a + sum([1.0 / one if one > 0.1 else 1.5 for one in v]) * 0.1
    return a


@raising
def the_largest_of_nothing(A, v, a):
    for k in range(4):
        a = a + max([one * a for one in v[k:3]])
    return a


@raising
def a_list_is_no_axis(A, v, a):
    for k in range(4):
        a = a + np.sum(np.sum(A, axis=[0, 1] if k == 2 else (0, 1)))
    return a


@raising
def a_name_that_is_a_statement(A, v, a):
    for i in range(4):
        v[i] *= a
        if i == 2:
            missing  # noqa: B018, F821
    return np.sum(v)


@raising
def a_power_that_does_not_fit(A, v, a):
    for i in range(4):
        v[i] *= (10**20) ** i
        v[i] = np.sqrt(2 ** (40 * i) * v[i]) + 2.0 ** (-i) + 2 ** (-i)
        v[i + 1] = v[i]
    return np.sum(v)


@raising
def an_index_that_does_not_exist(A, v, a):
    for i in range(6):
        v[i] *= a
    return np.sum(v)


def bound_at_first(x, i):
    if i == 0:
        y = x
    return y


@raising
def a_variable_that_an_earlier_call_has_bound(A, v, a):
    for i in range(3):
        v[i] = bound_at_first(v[i], i)
    return np.sum(v)


@raising
def a_variable_that_each_iteration_skips(A, v, a):
    for i in range(4):
        if v[i] > -100.0:
            continue
        y = v[i]
    return y


@raising
def too_many_values(A, v, a):
    for i in range(4):
        v[i] *= 2.0
        x, y = A[i, i:]
        v[i] = x * y
    return np.sum(v)


@raising
def a_division_by_zero(A, v, a):
    for i in range(4):
        v[i] = 1 / (i - 2)
    return np.sum(v)


@raising
def an_array_of_indices_beyond_the_end(A, v, a):
    places = np.array([0, 1])
    for _ in range(4):
        v[places] += a * A[1, places]
        places[1] += 1
    return np.sum(v)


@raising
def a_mask_of_another_length(A, v, a):
    for i in range(1, 4):
        v[:i][A[0] > 0.0] = a
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


@compiled
def a_while_whose_else_runs_once(A, v, a):
    k, s = 0, v[0] * a
    while k < 4:
        k += 1
        r = v[k - 1] * a
    else:
        s = s * 3.0 + r
    return s


@compiled
def an_array_that_overlaps_two_others(A, v, a):
    base = np.arange(8.0)
    high, low, span = base[4:], base[:4], base[2:6]
    for _ in range(2):
        high[:] = span + high
        low[:] = span[::-1] + 1.0
        span[:] = high * span[::-1]
    return np.sum(base * 1.0) * a + v[0]


@compiled
def an_array_with_two_names_is_lent(A, v, a):
    table, out = np.zeros(4), np.zeros(4)
    same = table
    for i in range(4):
        table[i] = v[i] * a
        out[i] = same[i]
    return np.sum(out * v)


@python("has elements in the same place")
def an_array_that_overlaps_itself(A, v, a):
    base = np.arange(6.0)
    rows = np.lib.stride_tricks.as_strided(base, (3, 2), (8, 8))
    for _ in range(3):
        rows += rows[::-1]
    return np.sum(base * v[0]) * a


@python("TOTAL is not a local variable, and it is assigned")
def a_global_variable_is_summed_up(A, v, a):
    global TOTAL
    TOTAL = 0.0
    for i in range(4):
        TOTAL = TOTAL + v[i] * a
    found, TOTAL = TOTAL, 0.0
    return found


@python("may lie otherwise in memory when the loop is over")
def columns_in_another_order(A, v, a):
    for _ in range(3):
        p = np.argsort(v)
        A = A[p][:, p] * a
    return np.sum(A * A) + a


@python("may lie otherwise in memory when the loop is over")
def an_array_that_is_transposed_again_and_again(A, v, a):
    for _ in range(3):
        A = A.T * v
    return np.sum(A * A) + a


@python("lie otherwise in memory")
def a_sum_of_columns_of_a_computed_matrix(A, v, a):
    p = np.array([1, 0, 3, 2])
    for _ in range(3):
        w = (v[:, None] * v[None, :])[:, p]
        a = a + np.sum(w)
        v = v * 0.9
    return a + np.sum(A)


@python("lie otherwise in memory")
def a_product_of_a_column_of_a_computed_matrix(A, v, a):
    for _ in range(3):
        w = (A * A)[:, 0]
        a = a + np.dot(w, v) + np.sum(w)
    return a


@python("an array like one whose memory has an order that is not known")
def an_array_like_a_transposed_one(A, v, a):
    for _ in range(3):
        A = np.ones_like(A.T) * v + A * a
    return np.sum(A * A)


@compiled
def lists_of_numbers_as_arrays(A, v, a):
    rows, columns, weights = [0, 2, 1, -1], [1, 1, 0, 3], [0.5, 1.5, -1.0, 2.0]
    for k in range(3):
        d = A[rows, :] - A[columns, :]
        v[columns] += 0.1 * d[:, 0]
        v = v * weights + np.dot(weights, v)
        a = a + v[rows[k]] * weights[k] + sum(weights) + max(rows)
        for one in weights:
            a = a * 0.9 + one
    return a + np.sum(v)


@python("it sets items of a list that it also reads as an array")
def a_list_of_numbers_that_changes(A, v, a):
    rows = [0, 2, 1, 3]
    for k in range(3):
        a = a + np.sum(v[rows])
        rows[1] = k
    return a


@python("an index that is no integer")
def a_list_of_several_types_as_an_index(A, v, a):
    rows = [0, True, 1, 3]
    for _ in range(3):
        a = a + np.sum(v[rows])
    return a


@compiled
def arguments_with_stars(A, v, a):
    def scaled(x, *factors, shift=0.5, **others):
        for one in factors:
            x = x * one
        return x + shift

    def passed(x, *args, **keywords):
        return scaled(x, *args, **keywords)

    keywords, pair = {"shift": 0.25}, (0.5, 2.0)
    for i in range(4):
        a = a + passed(v[i]) + passed(v[i], a, 0.1) + scaled(v[i], *pair) + scaled(v[i], **keywords)
    return a + np.sum(v)


@python("a call of scaled with such keywords")
def other_keywords(A, v, a):
    def scaled(x, **others):
        return x * len(others)

    for i in range(4):
        a = a + scaled(v[i], shift=1.0)
    return a


@compiled
def classes_and_measures(A, v, a):
    def number_of(x):
        if isinstance(x, (list, tuple)):
            return 1.0
        if isinstance(x, float):
            return 2.0
        return 3.0 if np.isscalar(x) else 4.0 + np.ndim(x)

    for i in range(4):
        a = a + number_of(v[i]) * v[i] + number_of(v) + number_of((i, a)) + number_of(i) + number_of(float(v[i]))
        a = a + np.size(A) + np.shape(A)[0] + np.ndim(v[i]) + np.size(v[i])
    return a


@compiled
def statements_of_try(A, v, a):
    for i in range(6):
        try:
            if i == 4:
                continue
            a = a + math.sqrt(v[i % 4] * v[i % 4])
        except ValueError:
            a = a - 1.0
        else:
            a = a * 1.5
        assert i < 6, "too far"
        a = min(a, float("inf"))
    return a


@compiled
def copies_and_a_sum_with_a_start(A, v, a):
    for i in range(3):
        w, M = np.copy(v), A.T.copy()
        w[i] = a
        M[0] = w
        a = a + copy.deepcopy(a) * 0.1 + sum(w, 0.5) + np.sum(sum(M, 0)) + np.sum(M)
    return a


@compiled
def arrays_in_reverse_order(A, v, a):
    for _ in range(3):
        B = (A * a - 1.0).T
        a = a + np.sum(B @ A) * 0.01 + np.linalg.norm(B) + np.dot((A + B.T).T, v)[1] + np.linalg.det(np.copy(A.T))
        v = v * 0.9 + 0.01 * (B @ v)
    return a + np.sum(v)


@compiled
def functions_with_stand_ins(A, v, a):
    for i in range(3):
        B = scipy.linalg.inv(A + 7.0 * np.eye(4))
        a = a + math.hypot(v[i], a) + math.erf(v[i]) + np.sum(B)
        v = v + 0.1 * scipy.linalg.solve(A + 7.0 * np.eye(4), v)
    return a + np.sum(v)


@python("a call with such keywords")
def a_function_that_may_overwrite(A, v, a):
    for _ in range(3):
        a = a + np.sum(scipy.linalg.inv(A + 7.0 * np.eye(4), overwrite_a=True))
    return a


@python("a call that may write into its operands")
def a_function_that_may_overwrite_by_its_place(A, v, a):
    for _ in range(3):
        a = a + np.sum(scipy.linalg.inv(A + 7.0 * np.eye(4), True))
    return a


@python("a call that raises for other values (ValueError)")
def a_result_that_is_given_by_its_place(A, v, a):
    w = v * 2.0
    for i in range(3):
        u = np.add(v, v * i, w)
        a = a + np.sum(w) + np.sum(u)
    return a


@python("a call that raises for other values (ValueError)")
def a_result_of_a_method_that_is_given_by_its_place(A, v, a):
    w = v * 2.0
    for _ in range(3):
        u = A.sum(0, None, w)
        a = a + np.sum(w) + np.sum(u)
    return a


@compiled
def another_type_after_the_first_iteration(A, v, a):
    gain = 0
    for i in range(4):
        a = a + np.sum(gain * v)
        gain = v * (0.1 * i)
    return a + np.sum(gain)


@raising
def an_assertion(A, v, a):
    for i in range(4):
        a = a + v[i]
        assert i < 2, "too far"
    return a


@compiled
def callbacks_of_arrays_that_are_swapped(A, v, a):
    w = np.zeros(4, dtype=A.dtype)
    for _ in range(4):
        v, w = w, v
        a = a * 0.5 + np.median(w)
    return a + np.sum(v * w)
