"""Programs whose meaning NumPy 2.5 changed, or that it made possible."""

from __future__ import annotations

from typing import Any

import numpy as np

X = np.array([3.0, 1.0, 2.0, 5.0])
A = np.array([[1.0, 2.0, 0.3], [0.5, 3.0, -1.0], [0.2, 0.7, -2.0]])
R = np.array([[0.0, -2.0, 0.3], [1.5, 0.1, -1.0], [0.2, 0.7, -2.0]])
W = np.cos(np.arange(9.0)).reshape(3, 3)


def real_parts_of_vectors(a: Any) -> Any:
    return np.sum(np.linalg.eig(a)[1].real * W)


def all_parts(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    return np.sum(v.real * W + v.imag * W.T) + np.sum(w.real * W[0] + w.imag * W[1])


def sizes(a: Any) -> Any:
    found = np.linalg.eig(a)
    return np.sum(np.abs(found.eigenvectors) * W) + np.sum(np.abs(found.eigenvalues))


def values(a: Any) -> Any:
    return np.sum(np.linalg.eigvals(a).real * W[0]) + np.sum(np.linalg.eigvals(a).imag * W[1])


def determinant(a: Any) -> Any:
    return np.real(np.prod(np.linalg.eigvals(a)))


def batch(a: Any) -> Any:
    return np.sum(np.linalg.eigvals(np.stack([a, 2 * a]))[1].real * W[0])


def asks_the_dtype(a: Any) -> Any:
    w = np.linalg.eigvals(a)
    return 3.0 * np.sum(w).real if w.dtype.kind == "f" else np.sum(w * W[0]).real


def asks_whether_real(a: Any) -> Any:
    w = np.linalg.eigvals(a)
    return 3.0 * np.sum(w).real if np.isrealobj(w) else np.sum(w * W[0]).real


def exponential(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    return np.sum((v @ np.diag(np.exp(w)) @ np.linalg.inv(v)).real * W)


def in_a_loop(a: Any) -> Any:
    total = 0.0
    for i in range(3):
        total = total + np.sum(np.abs(np.linalg.eigvals(a * (i + 1.0))))
    return total


def stored(a: Any) -> Any:
    out = np.zeros(3, complex)
    out[:] = np.linalg.eigvals(a)
    return np.sum(np.abs(out) * W[0])


EIGENVALUES = [
    real_parts_of_vectors, all_parts, sizes, values, determinant, batch, asks_the_dtype, asks_whether_real,
    exponential, in_a_loop, stored,
]  # fmt: skip


def finite(x: Any) -> Any:
    return np.nansum(x * np.arange(1.0, 5.0))


def sort(x: Any) -> Any:
    return finite(np.sort(x, descending=True))


def sort_of_ties(x: Any) -> Any:
    return finite(np.sort(np.concatenate([x[:2], x[:2]]), descending=True))


def argsort(x: Any) -> Any:
    return finite(x[np.argsort(x, descending=True)])


def in_place(x: Any) -> Any:
    y = x * 1.0
    y.sort(descending=True)
    return finite(y)


def method_argsort(x: Any) -> Any:
    return finite(x[x.argsort(descending=True)])


def not_descending(x: Any) -> Any:
    return finite(np.sort(x, descending=False)) + finite(x[np.argsort(x, descending=False)])


def of_rows(x: Any) -> Any:
    return finite(np.sort(x.reshape(2, 2), axis=0, descending=True).ravel())


def flattened(x: Any) -> Any:
    return finite(np.sort(x.reshape(2, 2), axis=None, descending=1))


def sorted_in_a_loop(x: Any) -> Any:
    y = x * 1.0
    for i in range(3):
        y = np.sort(y * (1.0 - i), descending=True)
    return finite(y)


SORTED = [
    sort, sort_of_ties, argsort, in_place, method_argsort, not_descending, of_rows, flattened, sorted_in_a_loop,
]  # fmt: skip


def grid(x: Any) -> Any:
    found = np.meshgrid(x, x, sparse=True, copy=False)
    return np.sum(found[0] ** 2) * (2 if type(found) is tuple else 1)


def taken(x: Any) -> Any:
    out = np.zeros(2)
    np.take(x, [0, 2], out=out)
    return np.sum(out**2)


def triangle(x: Any) -> Any:
    return np.sum(np.ones((2, 2))[np.triu_indices(np.uint8(2))] * x[:3] ** 2)


def resized(x: Any) -> Any:
    return np.sum(np.resize(x, 6) * np.arange(6.0))


def small_integers(x: Any) -> Any:
    return np.sum(np.where(np.array([True, False, True, False]), np.arange(4, dtype=np.int8), 100) * x)


SAME = [grid, taken, resized, small_integers]


def plane_vectors(x: Any) -> Any:
    return np.sum(np.cross(x[:2], x[2:]))


def table_of_floats(x: Any) -> Any:
    return np.sum(np.bincount(np.array([0.0, 1.0, 1.0, 2.0]), weights=x))


def large_integers(x: Any) -> Any:
    return np.sum(np.where(np.array([True, False, True, False]), np.arange(4, dtype=np.int8), 300) * x)


def fraction_of_a_triangle(x: Any) -> Any:
    return np.sum(np.tri(2, 2, 0.5) * x[0])


RAISING = [plane_vectors, table_of_floats, large_integers, fraction_of_a_triangle, triangle]
