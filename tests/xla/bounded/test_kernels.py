"""Triangular algorithms, and others whose slices grow and shrink: compiled as one loop, against plain Python loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import bridge

N = 6
Loop = Callable[[int, int, Callable[[Any, Any], Any], Any], Any]


def plain(lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """A loop of Python's."""
    for i in range(lower, upper):
        init = body(i, init)
    return init


def forward_substitution(loop: Loop, L: Any, b: Any) -> Any:
    def row(i: Any, x: Any) -> Any:
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
        return x

    return np.sum(loop(0, N, row, np.zeros(N)) ** 2)


def back_substitution(loop: Loop, U: Any, b: Any) -> Any:
    def row(k: Any, x: Any) -> Any:
        i = N - 1 - k
        x[i] = (b[i] - np.dot(U[i, i + 1 :], x[i + 1 :])) / U[i, i]
        return x

    return np.sum(np.sin(loop(0, N, row, np.zeros(N))))


def cholesky(loop: Loop, A: Any, b: Any) -> Any:
    A = A @ A.T + np.diag(b**2)

    def row(i: Any, A: Any) -> Any:
        def entry(j: Any, A: Any) -> Any:
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
            return A

        A = loop(0, i, entry, A)
        A[i, i] = np.sqrt(A[i, i] - np.dot(A[i, :i], A[i, :i]))
        return A

    return np.sum(np.tril(loop(0, N, row, A)) ** 3)


def cholesky_by_columns(loop: Loop, A: Any, b: Any) -> Any:
    A = A @ A.T + np.diag(b**2)

    def column(j: Any, A: Any) -> Any:
        A[j:, j] -= A[j:, :j] @ A[j, :j]
        A[j:, j] /= np.sqrt(A[j, j])
        return A

    return np.sum(np.tril(loop(0, N, column, A)) ** 3)


def lu(loop: Loop, A: Any, b: Any) -> Any:
    def row(i: Any, A: Any) -> Any:
        def left(j: Any, A: Any) -> Any:
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
            return A

        def right(j: Any, A: Any) -> Any:
            A[i, j] -= A[i, :i] @ A[:i, j]
            return A

        return loop(i, N, right, loop(0, i, left, A))

    return np.sum(loop(0, N, row, A.copy()) * b)


def lu_by_outer_products(loop: Loop, A: Any, b: Any) -> Any:
    def step(k: Any, A: Any) -> Any:
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
        return A

    return np.sum(loop(0, N - 1, step, A.copy()) * b)


def levinson(loop: Loop, r: Any) -> Any:
    def step(k: Any, state: Any) -> Any:
        y, alpha, beta = state
        beta = beta * (1.0 - alpha * alpha)
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
        return y, alpha, beta

    y = np.zeros_like(r)
    y[0] = -r[0]
    y, _, _ = loop(1, N, step, (y, -r[0], 1.0))
    return np.sum(np.cos(y))


def triangular_product(loop: Loop, A: Any, B: Any) -> Any:
    def row(i: Any, B: Any) -> Any:
        def entry(j: Any, B: Any) -> Any:
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
            return B

        return loop(0, N, entry, B)

    return np.sum(loop(0, N, row, B.copy()) ** 2)


def symmetric_product(loop: Loop, A: Any, B: Any) -> Any:
    def row(i: Any, state: Any) -> Any:
        def entry(j: Any, state: Any) -> Any:
            C, temporary = state
            C[:i, j] += 1.5 * B[i, j] * A[i, :i]
            temporary[j] = B[:i, j] @ A[i, :i]
            return C, temporary

        C, temporary = loop(0, N, entry, state)
        C[i, :] += 1.5 * B[i, :] * A[i, i] + 1.5 * temporary
        return C, temporary

    C, _ = loop(0, N, row, (A * B, np.zeros(N)))
    return np.sum(C**2)


def rank_two_update(loop: Loop, A: Any, B: Any) -> Any:
    def row(i: Any, C: Any) -> Any:
        C[i, : i + 1] *= 0.7

        def column(k: Any, C: Any) -> Any:
            C[i, : i + 1] += A[: i + 1, k] * 1.5 * B[i, k] + B[: i + 1, k] * 1.5 * A[i, k]
            return C

        return loop(0, N, column, C)

    return np.sum(loop(0, N, row, A * B) ** 2)


def covariance(loop: Loop, data: Any) -> Any:
    data = data - np.mean(data, axis=0)

    def column(i: Any, c: Any) -> Any:
        c[i:N, i] = c[i, i:N] = data[:, i] @ data[:, i:N] / (N - 1.0)
        return c

    return np.sum(loop(0, N, column, np.zeros((N, N))) ** 2)


def gram_schmidt(loop: Loop, A: Any) -> Any:
    def column(k: Any, Q: Any) -> Any:
        Q[:, k] -= Q[:, :k] @ (Q[:, :k].T @ Q[:, k])
        Q[:, k] /= np.linalg.norm(Q[:, k])
        return Q

    return np.sum(loop(0, N, column, A.copy()) ** 3)


ROWS = np.array([0, 2, 2, 5, 6, 9])
COLUMNS = np.array([1, 4, 0, 3, 5, 2, 2, 0, 1])


def sparse_product(loop: Loop, values: Any, x: Any) -> Any:
    rows, columns = bridge.numpy.array(ROWS), bridge.numpy.array(COLUMNS)

    def row(i: Any, y: Any) -> Any:
        here = slice(rows[i], rows[i + 1])
        y[i] = values[here] @ x[columns[here]]
        return y

    return np.sum(np.sin(loop(0, 5, row, np.zeros(5))))


def sparse_product_transposed(loop: Loop, values: Any, x: Any) -> Any:
    rows, columns = bridge.numpy.array(ROWS), bridge.numpy.array(COLUMNS)

    def row(i: Any, y: Any) -> Any:
        here = slice(rows[i], rows[i + 1])
        np.add.at(y, columns[here], values[here] * x[i])
        return y

    return np.sum(np.sin(loop(0, 5, row, np.zeros(N))))


def prefix_and_suffix_sums(loop: Loop, x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        y[i] = np.sum(x[:i] ** 2) * np.prod(x[i:]) + np.max(x[i:])
        return y

    return np.sum(np.sin(loop(0, N, step, np.zeros(N))))


def insertion_sort(loop: Loop, x: Any) -> Any:
    """Numbers are inserted by shifting those that follow: source and target overlap."""

    def step(k: Any, x: Any) -> Any:
        key = x[k] * 1.0
        j = np.sum(x[:k] < key)
        x[j + 1 : k + 1] = x[j:k]
        x[j] = key
        return x

    return np.sum(loop(1, N, step, x.copy()) * np.arange(1.0, N + 1))


def moving_mean(loop: Loop, x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        window = x[np.maximum(0, i - 2) : np.minimum(N, i + 3)]
        y[i] = window.mean() * np.std(window)
        return y

    return np.sum(loop(0, N, step, np.zeros(N)) ** 2)


class Program(NamedTuple):
    f: Any
    shapes: tuple[tuple[int, ...], ...]

    def arguments(self) -> list[np.ndarray]:
        rng = np.random.default_rng(3)
        made = [rng.uniform(0.2, 1.0, shape) * rng.choice([-1, 1], shape) for shape in self.shapes]
        return [x + 3 * np.eye(N) if x.shape == (N, N) else x for x in made]


SQUARE, LONG = (N, N), (N,)
PROGRAMS = [
    Program(forward_substitution, (SQUARE, LONG)),
    Program(back_substitution, (SQUARE, LONG)),
    Program(cholesky, (SQUARE, LONG)),
    Program(cholesky_by_columns, (SQUARE, LONG)),
    Program(lu, (SQUARE, LONG)),
    Program(lu_by_outer_products, (SQUARE, LONG)),
    Program(levinson, (LONG,)),
    Program(triangular_product, (SQUARE, SQUARE)),
    Program(symmetric_product, (SQUARE, SQUARE)),
    Program(rank_two_update, (SQUARE, SQUARE)),
    Program(covariance, (SQUARE,)),
    Program(gram_schmidt, (SQUARE,)),
    Program(sparse_product, ((9,), LONG)),
    Program(sparse_product_transposed, ((9,), (5,))),
    Program(prefix_and_suffix_sums, (LONG,)),
    Program(insertion_sort, (LONG,)),
    Program(moving_mean, (LONG,)),
]


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.f.__name__)
def test_value_and_derivatives(program: Program) -> None:
    arguments = program.arguments()
    directions = [np.cos(np.arange(x.size)).reshape(x.shape) for x in arguments]
    everything = tuple(range(len(arguments)))

    def eager(*args: Any) -> Any:
        return program.f(plain, *args)

    def compiled(*args: Any) -> Any:
        return program.f(bridge.fori_loop, *args)

    np.testing.assert_allclose(bridge.xla(compiled)(*arguments), eager(*arguments), rtol=1e-10)
    wanted = bridge.grad(eager, argnums=everything)(*arguments)
    found = bridge.grad(compiled, argnums=everything, engine="xla")(*arguments)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
    wanted = bridge.jvp(eager, tuple(arguments), tuple(directions))
    found = bridge.jvp(compiled, tuple(arguments), tuple(directions), engine="xla")
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.f.__name__)
def test_second_derivatives(program: Program) -> None:
    arguments = program.arguments()
    directions = [np.cos(np.arange(x.size)).reshape(x.shape) for x in arguments]

    def product(loop: Loop, engine: str) -> Any:
        return bridge.hvp(lambda *args: program.f(loop, *args), arguments, directions, engine=engine)

    found, wanted = product(bridge.fori_loop, "xla"), product(plain, "native")
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
