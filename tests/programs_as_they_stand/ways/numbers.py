"""Numbers that are compared, rounded, listed and asked for their type."""

import math

import numpy as np

from tests.programs_as_they_stand.ways.record import way


@way
def lists_given_to_numpy():
    def f(x):
        A = [[x, 1.0], [0.5, 2.0]]
        return (
            np.linalg.solve(A, [1.0, x])[0]
            + np.linalg.norm([x, 1.0])
            + np.cross([x, 0, 1], [0, 1, x])[0]
            + np.interp(x, [0, 1], [x, 2])
            + np.outer([x, 1], [1, x]).sum()
            + np.kron([x], [x]).sum()
            + np.polyval([x, 1], x)
            + np.trapezoid([0, x, 1])
        )

    return f


@way
def a_list_of_numbers_in_conditions():
    def f(x):
        l = [x, x**2, 0.5]
        if np.argmax(l) == 0 and np.any(np.array(l) > 0.6) and np.max(l) == x and not np.allclose(l, 0):
            return (
                np.min(l)
                + np.ptp(l)
                + np.median(l)
                + np.clip(l, 0.55, 0.65).sum()
                + np.where(np.array(l) > 0.6, l, 0).sum()
            )
        return x

    return f


@way
def indices_computed_from_floats():
    def f(x):
        t = np.linspace(0, 2, 9)
        i = int(x / 0.25)
        j = round(x / 0.25)
        k = math.floor(x * 4)
        l = int(np.floor(x * 4))
        m = np.searchsorted(t, x)
        return (t[i] + t[j] + t[k] + t[l] + t[m]) * x + divmod(x, 0.3)[1] + x // 0.3 + x % 0.3

    return f


@way
def ranges_computed_from_floats():
    def f(x):
        n = 0
        t = 0.0
        while t < x + 0.05:
            t += 0.1
            n += 1
        for k in range(int(10 * x + 0.5)):
            t += x * k
        for a in np.arange(0, x + 0.05, 0.1):
            t += a * x
        return t * n

    return f


@way
def the_type_of_a_number():
    def f(x):
        if isinstance(x, float) and not isinstance(x, int) and type(x) in (float, np.float64):
            return x**2
        return x

    return f


@way
def min_max_sum_and_round():
    def f(x):
        return (
            min(x, 1.0)
            + max(0.5, x, 0.2)
            + min([x, 2.0])
            + max((x, 0.1), key=lambda v: -v)
            + sum([x, x], start=x)
            + abs(-x)
            + round(x * 10) / 10
        )

    return f


@way
def the_random_module():
    import random

    def f(x):
        random.seed(0)
        return random.choice([x, x**2]) + random.uniform(0, x)

    return f
