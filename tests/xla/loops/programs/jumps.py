"""`break`, `continue`, `return`, `else`, loops without a turn, names that are bound on some ways only."""

from __future__ import annotations

import numpy as np

from tests.xla.loops.programs.record import Family

program = Family("jumps")


@program
def for_else_nested(x):
    s = 0.0
    for i in range(6):
        for j in range(i):
            if x[j] > x[i]:
                break
            if j == 3:
                continue
            s += x[j]
        else:
            s += 10 * x[i]
    return s


@program
def while_else(x):
    k = 0
    s = 0.0
    while k < 6:
        s += x[k]
        if s > 1:
            break
        k += 1
    else:
        s = s * 5
    return s * (k + 1)


@program
def break_outer_flag(x):
    s = 0.0
    done = False
    for i in range(6):
        for j in range(6):
            s += x[i] * x[j]
            if s > 2:
                done = True
                break
        if done:
            break
    return s + i + j


@program
def return_nested(x):
    for i in range(6):
        for j in range(6):
            if x[i] * x[j] > 0.9:
                return x[i] * i + x[j] * j
    return x[0]


@program
def loopvar_after(x):
    for i in range(6):
        pass
    s = x[i] * i
    for i in range(7, 2, -2):
        s += x[2] * i
    return s * i


@program
def loopvar_break(x):
    for i in range(6):
        if x[i] > 0.2:
            break
    return x[i] * i + x[0]


@program
def zero_trip(x):
    s = x[0] * 2
    for i in range(0):
        s = s * 3
        t = 5.0
    for i in range(3, 1):
        s = s * 3
    for v in x[6:]:
        s = s * v
    for v in []:
        s = 0.0
    return s


@program
def unbound_before(x):
    s = 0.0
    for i in range(6):
        if i > 0:
            s += t
        t = x[i]
    return s


@program
def deleted_name(x):
    s = 0.0
    for i in range(6):
        t = x[i]
        s += t
        del t
    return s


@program
def kept_from_before(x):
    t = 5 * x[0]
    for i in range(6):
        if x[i] > 100:
            t = x[i]
    return t * 2


@program
def pass2(x):
    t = 5 * x[0]
    for i in range(6):
        if x[i] > 0.2:
            t = x[i]
    return t * 2


@program
def pass3(x):
    t = 5 * x[0]
    for i in range(6):
        if i == 3:
            continue
        if x[i] < 0:
            continue
        t = x[i] * 2
    return t * 2


@program
def pass4(x):
    t = 5 * x[0]
    k = 0
    while k < 6:
        k += 1
        if x[k - 1] > 0.2:
            continue
        t = x[k - 1]
    return t * 2


@program
def pass5(x):
    t = 5 * x[0]
    for i in range(6):
        for j in range(i):
            t = x[j] * i
    for i in range(5):
        for j in range(i - 3):
            if x[j] > 0:
                t = t + x[j]
    return t * 2


@program
def zero_inner(x):
    for i in range(6):
        for j in range(int(x[i] > 0)):
            t = x[i]
    return t if x[5] > 0 else x[0]


@program
def inner_var(x):
    s = 0.0
    t = 0.0
    for i in range(6):
        for j in range(i):
            t = x[j]
        s += t
    return s


@program
def match_statement(x):
    s = 0.0
    for i in range(8):
        match i % 4:
            case 0:
                s += x[i % 6]
            case 1 | 2:
                s *= 1.5
            case _:
                s -= x[0]
    return s


@program
def with_statement(x):
    s = 0.0
    for i in range(8):
        with np.errstate(all="ignore"):
            s += x[i % 6] / (i + 1)
    return s


@program
def walrus(x):
    s = 0.0
    for i in range(6):
        if (y := x[i] * 2) > 0:
            s += y
    return s + y


@program
def walrus_while(x):
    k = 0
    s = 0.0
    while (v := x[k]) < 0.5 and k < 5:
        s += v
        k += 1
    return s * v


@program
def jumps_in_finally(x):
    s = 0.0
    for k in range(8):
        try:
            s += x[k % 6]
            if k == 9:
                raise ValueError
        finally:
            if k == 6:
                break
            continue
    return s


@program
def short_circuit_while(x):
    k = 0
    while k < 6 and x[k] < 0.3:
        k += 1
    return x[min(k, 5)] * k + x[0]


@program
def search(x):
    k = 0
    for i in range(5):
        if x[i] <= 0.7 < x[i + 1]:
            k = i
            break
    return x[k] * k + x[0]


@program
def empty_arr(x):
    s = x[0]
    for v in x[3:3]:
        s = s * v
    for r in np.zeros((0, 3)):
        s = s * r[0]
    for a, b in zip(x[:0], x):
        s = s * a
    return s


@program
def bool_and(x):
    s = 0.0
    for i in range(6):
        if x[i] > 0 and x[i - 1] > 0 or not x[i] > -0.5:
            s += x[i]
    return s


@program
def chain(x):
    s = 0.0
    for i in range(6):
        if -0.5 < x[i] <= 0.5 < x[5] + 1:
            s += x[i] * 3
    return s


@program
def short_circuit(x):
    s = 0.0
    for i in range(6):
        if i > 0 and x[i - 1] > 0:
            s += x[i]
        if i < 5 and x[i + 1] > 0:
            s += x[i] * 2
    return s


@program
def the_names_of_every_path(x):
    def inner(x, y):
        for i in range(6):
            if x[i] > 0.5:
                return x, y
            y = y * 2
            y[i] = x[i] * 2
        return x, y

    a, b = inner(x.copy(), x * 0.3)
    a[0], b[1] = 1.0, 2.0
    return np.sum(a) + 2 * np.sum(b)


@program
def a_result_that_a_block_leaves(x):
    def inner(x):
        s = x[0]
        with np.errstate(all="ignore"):
            for i in range(6):
                s = s + x[i]
                if s > 1:
                    return s, x
        s = s * 3
        return s, x

    s, y = inner(x)
    y[0] = 2.0
    return s + np.sum(x)


@program
def a_name_that_is_bound_where_it_is_returned(x):
    def inner(x):
        for i in range(6):
            if x[i] > 0.6:
                r = x[i] * 2
                return r
        r = -x[0]
        return r

    return inner(x) + inner(x * 0.1)


@program
def a_name_that_is_bound_after_it_is_returned(x):
    def inner(x):
        s = x[0]
        try:
            if x[1] > 0.2:
                return s
        finally:
            s = s * 100
        return s

    return inner(x)


@program
def an_index_that_is_returned(x):
    def inner(x):
        for i in range(6):
            if x[i] > 0.6:
                return i
        return i

    return x[inner(x)] * inner(x)


@program
def a_name_that_is_deleted(x):
    def inner(x):
        q = x[0]
        if x[1] > 5:
            return q
        del q
        q = x[2]
        return q

    return inner(x)


@program
def a_name_that_a_condition_binds(x):
    def inner(x):
        y = x[0]
        while (y := y * 0.5) > 0.01:
            if y < 0.1:
                return y
        return y

    return inner(x * x + 0.1)


@program
def names_from_loops_in_loops(x):
    def inner(x):
        y, s = x * 1.0, 0.0
        for i in range(6):
            for j in range(6):
                y, s = y * 0.9, s + y[j]
                if s > 3:
                    return y, s
            y, s = y + 0.1 * i, s * 0.7
        return y, s

    a, b = inner(x * x + 0.3)
    return np.sum(a) * b


@program
def an_array_that_is_written_on_the_way_out(x):
    class Writes:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            x[0] = 7.0

    def inner(x):
        y = x
        with Writes():
            if x[1] > 0.1:
                return y
            y = y * 2
        return y

    return np.sum(inner(x) * np.arange(6.0))
