"""Assignments of every form, functions that write into arrays."""

import warnings

import numpy as np

from tests.programs_as_they_stand.ways.record import W, way


@way
def an_array_unpacked():
    def f(x):
        a = np.zeros(3)
        a[:] = x, x**2, x**3
        p, q, r = a
        [s, *t] = a
        (u, v), w = (a[:2], a[2])
        return p * q + r + s + sum(t) + u * v * w

    return f


@way
def several_targets():
    def f(x):
        a = np.zeros(3)
        b = c = a
        b[0] = c[1] = x
        a[2], y = x**2, x
        return a.sum() + b[1] * c[0] + y

    return f


@way
def every_augmented_operator():
    def f(x):
        a = np.ones((2, 2))
        a += x
        a *= x
        a -= 0.1
        a /= 2
        a **= 2
        a @= np.array([[1.0, x], [0, 1]])
        a //= 0.01
        a %= 3.0
        return a.sum() + x

    return f


@way
def integer_arrays_beside():
    def f(x):
        a = np.arange(4)
        b = a * x
        a += 1
        i = a[1]
        b[i] += x
        b[a[0] :] *= 2
        n = np.zeros(4, int)
        n[i] += 1
        n[a < 3] = 5
        return b @ n

    return f


@way
def boolean_masks():
    def f(x):
        a = np.zeros(4)
        m = np.array([True, False, True, False])
        a[m] = x
        a[~m] = [x**2, 1]
        a[a > 0.6] *= 2
        m &= a > 0.5
        return a @ W + a[m].sum()

    return f


@way
def out_and_where():
    def f(x):
        a = np.zeros(4)
        np.sqrt(x * W, out=a, where=W > 2)
        np.exp(a, a)
        b = np.empty(4)
        b = np.add(a, x, b)
        np.clip(b, 0, 5, out=b)
        np.cumsum(b, out=b)
        np.dot(np.eye(4), a, out=b)
        np.sum(b, axis=0, out=(c := np.zeros(())))
        return b @ W + c[()]

    return f


@way
def methods_with_out():
    def f(x):
        a = np.zeros((3, 2))
        s = np.zeros(2)
        a[:, 0] = x
        a[:, 1] = x**2
        a.sum(axis=0, out=s)
        a.mean(0, None, s)
        t = a.copy()
        t.sort(axis=0)
        t.resize((6,), refcheck=False) if False else None
        a.fill(x)
        return s @ [1, 2] + a.sum() + t.sum()

    return f


@way
def functions_that_write():
    a, b = np.ones(4), np.ones(4)

    def f(x):
        a[:] = 1.0
        np.add(a, x * W, out=a)
        np.multiply(a, a, a)
        np.copyto(b, a)
        b.sort()
        np.put(b, [0], [x])
        np.place(b, b > 10, [x * 2])
        np.fill_diagonal(b.reshape(2, 2), x)
        b.partition(2)
        return b @ W

    return f


@way
def rows_shuffled():
    def f(x):
        a = np.arange(6.0).reshape(3, 2) * x
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.random.default_rng(1).shuffle(a)
        return (a * np.arange(6.0).reshape(3, 2)).sum()

    return f


@way
def rows_of_a_captured_array_shuffled():
    a = np.arange(6.0).reshape(3, 2)

    def f(x):
        a[0] = x
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.random.default_rng(1).shuffle(a)
        return (a * np.arange(6.0).reshape(3, 2)).sum()

    return f
