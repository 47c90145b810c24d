"""Linear algebra: degenerate spectra, triangles, wide and tall, batches, and algorithms written in place."""

from __future__ import annotations

import numpy

from tests.programs.record import Family

program = Family("linear algebra", defaults={"tolerance": 1e-6})

MATRIX = [[2.1, -0.4, 0.3], [0.2, 1.4, -0.6], [0.5, 0.1, 1.7]]
VECTOR = [0.4, -0.9, 1.3]
BATCH = [[[2.0, 0.5], [0.3, 1.5]], [[1.2, -0.7], [0.4, 2.5]]]
TALL = [[1.0, 2.0], [0.5, -1.0], [2.0, 0.3], [-0.7, 1.1]]


@program([[1.0, 2.0], [2.0, 4.0]], gradient=[[[4.0, -2.0], [-2.0, 1.0]]], second_order=False, tolerance=1e-12)
def determinant_of_a_singular_matrix(np, a):
    return np.linalg.det(a)


@program(numpy.outer([1.0, 2.0, 3.0], [1.0, 1.0, 2.0]), gradient=[numpy.zeros((3, 3))], second_order=False)
def determinant_of_a_matrix_of_rank_one(np, a):
    return np.linalg.det(a)


@program(MATRIX, VECTOR)
def solve_inverse_and_log_determinant(np, a, b):
    sign, logarithm = np.linalg.slogdet(a)
    return sign * logarithm + np.sum(np.linalg.solve(a, b) * b) + np.trace(np.linalg.inv(a) @ a.T)


@program(BATCH, [[[1.0], [2.0]]], [[0.3, -1.0], [0.2, 0.8]])
def batches_broadcast_in_solve(np, a, b, c):
    return np.sum(np.linalg.solve(a, b) ** 2) + np.sum(np.linalg.solve(a, c) * c) + np.sum(np.linalg.solve(a[0], b))


@program(BATCH)
def batches_through_every_factorisation(np, a):
    gram = a @ np.swapaxes(a, -1, -2) + np.eye(2)
    values = np.linalg.svd(a, compute_uv=False)
    eigenvalues, vectors = np.linalg.eigh(gram)
    rebuilt = (vectors * np.sqrt(eigenvalues)[:, None, :]) @ np.swapaxes(vectors, -1, -2)
    q, r = np.linalg.qr(a)
    return (
        np.sum(np.linalg.cholesky(gram) * np.array([[1.0, 0.0], [2.0, 3.0]]))
        + np.sum(values * np.array([1.0, 2.0]))
        + np.sum(rebuilt**2 * a)
        + np.sum(np.abs(r) * a)
        + np.sum((q @ np.swapaxes(q, -1, -2)) * a)
    )


@program([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 5.0]], second_order=False)
def matrix_function_with_equal_eigenvalues(np, a):
    symmetric = 0.5 * (a + a.T)
    values = np.linalg.eigvalsh(symmetric)
    return np.sum(values**3) + np.sum(np.exp(-values))


@program([[2.0, 9.0, 7.0], [0.5, 3.0, 8.0], [0.1, -0.4, 5.0]])
def triangles_that_are_not_read(np, a):
    lower = np.linalg.eigvalsh(a)
    upper = np.linalg.eigvalsh(a.T, UPLO="U")
    factor = np.linalg.cholesky(a)
    return np.sum(lower * np.array([1.0, 2.0, 3.0])) + upper[0] + np.sum(factor * factor[0, 0])


@program([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], second_order=False)
def nuclear_norm_of_an_orthogonal_matrix(np, a):
    return np.sum(np.linalg.svd(a, compute_uv=False)) + np.linalg.norm(a, "nuc")


@program(TALL, [1.0, -2.0, 0.5, 3.0])
def least_squares_and_pseudo_inverse(np, a, b):
    solution, residual, _, _ = np.linalg.lstsq(a, b, rcond=None)
    return np.sum(solution**2) + residual[0] + np.sum(np.linalg.pinv(a).T * a * a)


@program(MATRIX)
def norms_of_every_order(np, a):
    return (
        np.linalg.norm(a, 2)
        + np.linalg.norm(a, 1)
        + np.linalg.norm(a, numpy.inf)
        + np.linalg.norm(a, "nuc")
        + np.linalg.norm(a, -2)
        + np.linalg.norm(a[0], 3)
        + np.sum(np.linalg.norm(a, axis=0) * a[1])
        + np.sum(np.linalg.norm(a, numpy.inf, axis=1, keepdims=True) * a)
    )


@program(MATRIX)
def powers_of_a_matrix(np, a):
    return (
        np.trace(np.linalg.matrix_power(a, 3))
        + np.sum(np.linalg.matrix_power(a, -2) * a)
        + np.sum(np.linalg.matrix_power(a, 0))
        + np.sum(np.linalg.multi_dot([a, a.T, a]) * a)
    )


@program(MATRIX)
def eigenvalues_of_a_matrix_that_is_not_symmetric(np, a):
    return np.sum(np.linalg.eigvals(a) ** 2).real + np.sum(np.abs(np.linalg.eig(a)[0]))


@program(MATRIX, VECTOR)
def products_of_every_rank(np, a, v):
    stack = np.stack([a, a.T])
    return (
        v @ a @ v
        + np.sum(np.dot(stack, v) ** 2)
        + np.sum(np.matmul(v, stack) * v)
        + np.sum(np.tensordot(stack, a, axes=([2], [0])) * a[0])
        + np.sum(np.inner(a, v) * v)
    )


@program(MATRIX)
def gram_schmidt_in_place(np, a):
    q = a.copy()
    for k in range(3):
        for j in range(k):
            q[:, k] -= (q[:, j] @ q[:, k]) * q[:, j]
        q[:, k] /= np.sqrt(q[:, k] @ q[:, k])
    return np.sum(q * a) + np.sum(q[0] ** 3)


@program(MATRIX)
def cholesky_in_place(np, a):
    s = a @ a.T + 2.0 * np.eye(3)
    for k in range(3):
        s[k, k] = np.sqrt(s[k, k])
        s[k + 1 :, k] /= s[k, k]
        for j in range(k + 1, 3):
            s[j:, j] -= s[j:, k] * s[j, k]
    return np.sum(np.tril(s) * np.array([[1.0, 0.0, 0.0], [2.0, 3.0, 0.0], [4.0, 5.0, 6.0]]))


@program(MATRIX, VECTOR)
def back_substitution_in_place(np, a, b):
    x = b.copy()
    for k in (2, 1, 0):
        x[k] -= a[k, k + 1 :] @ x[k + 1 :]
        x[k] /= a[k, k]
    return np.sum(x * x)


@program(MATRIX, VECTOR)
def conjugate_gradients_in_place(np, a, b):
    s = a @ a.T + np.eye(3)
    x, r = np.zeros_like(b), b.copy()
    p, old = r.copy(), np.dot(r, r)
    for _ in range(2):
        image = s @ p
        step = old / np.dot(p, image)
        x += step * p
        r -= step * image
        new = np.dot(r, r)
        p *= new / old
        p += r
        old = new
    return np.sum(x * b)


@program(MATRIX)
def power_iteration_in_one_buffer(np, a):
    v, w = np.ones_like(a[0]), np.empty_like(a[0])
    for _ in range(6):
        np.matmul(a, v, out=w)
        v[...] = w / np.linalg.norm(w)
    return v @ a @ v


@program([[1.0, 2.0], [2.0, 4.0]], raises=numpy.linalg.LinAlgError)
def solve_with_a_singular_matrix(np, a):
    return np.sum(np.linalg.solve(a, np.ones(2)))
