"""Control flow: loops, branches on values, exceptions, recursion, generators, containers."""

from __future__ import annotations

import functools
import itertools

from tests.programs.record import Family

program = Family("control flow")

VECTOR = [0.4, -0.9, 1.3, 0.7]


@program(VECTOR)
def loop_until_small(np, x):
    a = x.copy()
    steps = 0
    while np.sum(a * a) > 0.5:
        a *= 0.7
        a[0] += 0.01 * steps
        steps += 1
    return np.sum(np.sin(a)) * steps


@program([2.7])
def newton_iteration_with_a_stopping_rule(np, x):
    root = np.ones_like(x)
    for _ in range(100):
        step = (root**3 - x) / (3.0 * root**2)
        root -= step
        if np.abs(step[0]) < 1e-14:
            break
    return np.sum(root * root)


@program(VECTOR)
def branch_for_each_element(np, x):
    a = np.zeros_like(x)
    for i, v in enumerate(x):
        if v > 1.0:
            a[i] = v * v
        elif v < 0.0:
            continue
        else:
            a[i] = a[i - 1] + np.cos(v)
    return np.sum(a * a)


@program(VECTOR)
def exception_caught_after_a_partial_write(np, x):
    a = x.copy()
    try:
        a[0] = a[1] * a[2]
        a[9] = 1.0
    except IndexError:
        a[1] *= a[0]
    finally:
        a[3] += a[1]
    return np.sum(a * a)


@program(VECTOR)
def rollback_to_a_saved_copy(np, x):
    a = x.copy()
    for factor in (0.5, 3.0, 0.8):
        saved = a.copy()
        a *= factor
        if np.max(np.abs(a)) > 1.5:
            a[...] = saved
    return np.sum(a**3)


@program(VECTOR)
def recursion_over_halves_in_place(np, x):
    a = x.copy()

    def combine(v):
        if v.size == 1:
            v *= v
            return v[0]
        middle = v.size // 2
        left, right = combine(v[:middle]), combine(v[middle:])
        v[0] += left * right
        return np.sin(v[0]) + right

    return combine(a) * np.sum(a)


@program(VECTOR)
def generators_and_lazy_pipelines(np, x):
    def shifted(v):
        for i in range(v.size):
            yield v[i] * v[i - 1]

    a = x.copy()
    lazily = (v * a[1] for v in shifted(a))
    first = next(lazily)
    a[1] = 2.0 * a[0]
    return first + sum(lazily)


@program(VECTOR)
def standard_library_folds(np, x):
    product = functools.reduce(lambda u, v: u * np.cos(v), x)
    running = list(itertools.accumulate(x, lambda u, v: u * 0.5 + v))
    ordered = sorted(x)
    return product + running[-1] * running[1] + ordered[0] * ordered[-1] ** 2 + max(x) * min(x) + sum(x)


@program(VECTOR)
def closures_made_in_a_loop(np, x):
    a = x.copy()
    late = [lambda: a[k] * 2.0 for k in range(3)]  # noqa: B023
    early = [lambda k=k: a[k] * 3.0 for k in range(3)]
    a[2] = a[0] * a[1]
    return sum(f() * f() for f in late) + sum(f() for f in early)


@program(VECTOR)
def memory_of_computed_values(np, x):
    known = {}

    def value(k):
        if k not in known:
            known[k] = x[k % 4] if k < 2 else value(k - 1) * 0.5 + np.sin(value(k - 2)) * x[k % 4]
        return known[k]

    return value(7) * value(5)


@program(VECTOR)
def three_levels_rotate_their_names(np, x):
    old, now, new = x * 0.0, x.copy(), np.empty_like(x)
    for _ in range(4):
        new[...] = 2.0 * now - old
        new -= 0.1 * np.sin(now)
        old, now, new = now, new, old
    return np.sum(now * old) + np.sum(new)


@program(VECTOR)
def bisection_steers_but_carries_no_gradient(np, x):
    low, high = 0.0, 2.0
    for _ in range(4):
        middle = 0.5 * (low + high)
        if middle**2 > np.abs(x[2]):
            high = middle
        else:
            low = middle
    return low * np.sum(x * x)


@program(VECTOR, [1.5, 0.5])
def stack_machine(np, x, y):
    stack = [x[0], y[0]]
    for code in (0, 1, 2, 0, 1):
        if code == 0:
            stack.append(np.sin(stack[-1]))
        elif code == 1:
            stack.append(stack.pop() * stack[-1])
        else:
            stack[0], stack[-1] = stack[-1] + x[2], stack[0] * y[1]
    return stack[0] * stack[-1]


@program(VECTOR)
def nothing_depends_on_the_argument(np, x):
    return np.sum(np.ones(3)) + 0.0 * x.shape[0]
