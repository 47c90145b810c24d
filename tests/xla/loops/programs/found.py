"""What random programs have found: loops of no turn, names of the next turn, indices on the way back."""

from __future__ import annotations

import numpy as np

from tests.xla.loops.programs.record import Family

program = Family("found")


@program
def no_turn_around_a_long_loop(x):
    s = x[0]
    for i in range(3, 3):
        s = x[1] * i
        for j in range(100):
            x[j % 6] *= 1.5
    return s + np.sum(x)


@program
def no_row_around_a_long_loop(x):
    s, r = x[0], x[2]
    for r in x.reshape(1, 6)[:0]:
        s = r[0]
        for j in range(100):
            s = s * x[j % 6]
    return s * r


@program
def an_index_kept_by_an_outer_loop(x):
    s, k = 0.0, 6
    while True:
        if not k > 0:
            break
        k //= 2
        for i in range(0, k, 2):
            x[k] = x[i + 1] * 0.1
        s += 0.1 * i * x[0]
    return s + np.sum(np.sin(x))


@program
def an_index_that_counts_down_from_another(x):
    c = 0
    if np.sum(x[4:]) > -9:
        for i in range(x.size):
            for k in range(i - 1, -1, -1):
                if 0 < i < 5 and np.max(x) > 0:
                    x[k] = 0.1 * c + np.sin(x[i])
                elif c % 2 == 0:
                    c -= 1
    return np.sum(x * x) + c


@program
def a_name_that_only_the_next_turn_reads(x):
    s, k = x[0], 6
    while k > 0 and np.abs(x).sum() > 1e6:
        for i in range(1, 6):
            x[:-1] = x[1:] * x[i - 1]
        s += 0.1 * i
        k //= 2
    return s + np.sum(x * x)


@program
def a_column_from_a_row_that_it_crosses(x):
    A = np.outer(x, x) + np.arange(36.0).reshape(6, 6)
    for i in range(6):
        A[5 - i : min(i + 2, 6), max(i - 1, 0)] = A[abs(i - 2)][5 - i : min(i + 2, 6)]
    return np.sum(A * np.cos(np.arange(36.0).reshape(6, 6)))


@program
def a_column_copied_from_a_row(x):
    A = np.outer(x, x) + np.arange(36.0).reshape(6, 6)
    for i in range(1, 6):
        np.copyto(A[1 : i + 1, i - 1], A[i - 1, :i])
    return np.sum(A * np.cos(np.arange(36.0).reshape(6, 6)))


@program
def a_name_bound_in_some_turns(x):
    u = x.copy()
    for i in range(1, 5):
        if x[i] > -9:
            if np.abs(x - u).sum() < 1.0:
                u[1] *= 0.1
                fresh = u.copy()
                for _ in range(6):
                    fresh[1:-1] = u[1:-1] + 0.1
                    u, fresh = fresh, u
            elif u[i + 1] > 0.3:
                for _ in x[: i - 1]:
                    u = (u + x) * 1.0
    return np.sum(u * u) + np.sum(x)


@program
def a_short_loop_that_may_return(x):
    k = 6
    while k > 0 and np.abs(x * 0.5).sum() < 1e6:
        for i in range(1, 5):
            x[:-1] = np.where(x[i] > 0.5, x[:-1] * np.cos(x[i - 1]), 0.25)
            if k % 2 == 0 and x[i] > 0.2:
                return np.sum(x)
        k //= 2
    return np.sum(x * x)


@program
def returns_in_branches_in_each_other(x):
    s = 0.0
    for i in range(6):
        if x[i] > 0:
            s += x[i]
            if s > 9:
                return s
            if x[i - 1] > 0.1:
                x[i - 1] *= 0.5
                if s > 8:
                    return s * 2
                if x[i - 2] > 0.2:
                    x[i - 2] *= 0.5
                    if s > 7:
                        return s * 3
                    if x[i - 3] > 0.3:
                        x[i - 3] *= 0.5
                        if s > 6:
                            return s * 4
    return s + np.sum(x)


@program
def a_row_from_a_column_that_numpy_reads_backwards(x):
    A = np.outer(x, x) + np.arange(36.0).reshape(6, 6)
    for i in reversed(range(6)):
        A[i] = A[:, min(i + 1, 5)]
    return np.sum(A * np.cos(np.arange(36.0).reshape(6, 6)))
