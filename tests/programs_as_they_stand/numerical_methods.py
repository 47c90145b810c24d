"""Numerical methods as students write them: index by index, rows swapped, tables filled."""

import math

import numpy as np

from tests.programs_as_they_stand.record import Field

program = Field("numerical methods")

MATRIX = np.array([[0.5, 2.0, -1.0, 0.3], [3.0, 1.0, 0.4, -0.2], [1.0, -2.5, 4.0, 0.8], [0.2, 0.7, -0.6, 2.2]])
SPD = MATRIX @ MATRIX.T + np.eye(4)
RHS = np.array([1.0, -0.5, 2.0, 0.7])


def gauss(A, b):
    n = len(b)
    A, b = A.copy(), b.copy()
    for k in range(n - 1):
        p = k + int(np.argmax(np.abs(A[k:, k])))
        if p != k:
            A[[k, p]] = A[[p, k]]
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            A[i, k:] -= f * A[k, k:]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x @ [1, 2, 3, 4]


program("elimination with pivots swapped", lambda: gauss, MATRIX, RHS, argnums=(0, 1))


def cholesky_loops(A):
    n = A.shape[0]
    L = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            s = sum(L[i][k] * L[j][k] for k in range(j))
            if i == j:
                L[i][j] = math.sqrt(A[i][i] - s)
            else:
                L[i][j] = (A[i][j] - s) / L[j][j]
    return sum(math.log(L[i][i]) for i in range(n)) + L[3][1]


program("Cholesky in lists of lists", lambda: cholesky_loops, SPD)


def determinant(M):
    if len(M) == 2:
        return M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]
    total = 0
    for c in range(len(M)):
        minor = np.delete(M[1:], c, axis=1)
        total += (-1) ** c * M[0, c] * determinant(minor)
    return total


program("a determinant by minors", lambda: determinant, MATRIX)


def gram_schmidt(A):
    Q, R = np.zeros_like(A), np.zeros((4, 4))
    for j in range(A.shape[1]):
        v = A[:, j]
        for i in range(j):
            R[i, j] = np.dot(Q[:, i], A[:, j])
            v = v - R[i, j] * Q[:, i]
        R[j, j] = np.linalg.norm(v)
        Q[:, j] = v / R[j, j]
    return np.trace(R) + Q[0] @ Q[:, 1]


program("Gram and Schmidt", lambda: gram_schmidt, MATRIX)


def power_iteration(A):
    x = np.ones(len(A))
    eigenvalue, difference = 0.0, np.inf
    while difference > 1e-13:
        y = A @ x
        new = x @ y / (x @ x)
        difference, eigenvalue = abs(new - eigenvalue), new
        x = y / np.linalg.norm(y, np.inf)
    return eigenvalue


program("a power iteration until it stands", lambda: power_iteration, SPD, tolerance=1e-4, step=1e-3)


def conjugate_gradients(A, b, tol=1e-12):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for iteration in range(10 * len(b)):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        rs_new = r @ r
        if np.sqrt(rs_new) < tol:
            break
        p = r + (rs_new / rs) * p
        rs = rs_new
    return x.sum()


program(
    "conjugate gradients",
    lambda: lambda M, b: conjugate_gradients(M @ M.T + np.eye(4), b),
    MATRIX,
    RHS,
    argnums=(0, 1),
    tolerance=1e-5,
    step=1e-3,
)


def simpson_adaptive(f, a, b, eps):
    c = (a + b) / 2

    def simpson(fa, fm, fb, a, b):
        return (b - a) / 6 * (fa + 4 * fm + fb)

    def recurse(a, b, eps, whole, fa, fm, fb, depth):
        m = (a + b) / 2
        flm, frm = f((a + m) / 2), f((m + b) / 2)
        left, right = simpson(fa, flm, fm, a, m), simpson(fm, frm, fb, m, b)
        if depth <= 0 or abs(left + right - whole) <= 15 * eps:
            return left + right + (left + right - whole) / 15
        return recurse(a, m, eps / 2, left, fa, flm, fm, depth - 1) + recurse(
            m, b, eps / 2, right, fm, frm, fb, depth - 1
        )

    fa, fm, fb = f(a), f(c), f(b)
    return recurse(a, b, eps, simpson(fa, fm, fb, a, b), fa, fm, fb, 8)


def arc_length(stretch):
    return simpson_adaptive(lambda x: math.sqrt(1 + (stretch * math.cos(x)) ** 2), 0.0, math.pi * stretch, 1e-7)


program("Simpson's rule, adaptive and recursive", lambda: arc_length, 0.9, tolerance=1e-5, step=1e-4)


def romberg(omega):
    R = np.zeros((6, 6))
    h = 1.0
    R[0, 0] = h / 2 * (np.exp(0) + np.exp(-omega))
    for i in range(1, 6):
        h /= 2
        total = 0
        for k in range(1, 2**i, 2):
            total += np.exp(-omega * (k * h) ** 2)
        R[i, 0] = 0.5 * R[i - 1, 0] + h * total
        for j in range(1, i + 1):
            R[i, j] = R[i, j - 1] + (R[i, j - 1] - R[i - 1, j - 1]) / (4**j - 1)
    return R[5, 5] + abs(R[5, 5] - R[4, 4])


program("Romberg's triangle", lambda: romberg, 1.7)


def newton_system(target):
    def F(x):
        return np.array([x[0] ** 2 + x[1] ** 2 - target[0], x[0] * x[1] - target[1]])

    def jacobian(x, h=1e-6):
        J = np.zeros((2, 2))
        for j in range(2):
            e = np.zeros(2)
            e[j] = h
            J[:, j] = (F(x + e) - F(x - e)) / (2 * h)
        return J

    x = np.array([2.0, 0.5])
    for k in range(20):
        fx = F(x)
        if np.linalg.norm(fx) < 1e-13:
            return x[0] - x[1] ** 3
        x = x - np.linalg.solve(jacobian(x), fx)
    raise RuntimeError("no convergence")


program("Newton's method with a Jacobian by differences", lambda: newton_system, np.array([5.0, 1.5]), step=1e-3)


def bubble_median(values):
    a = values.copy()
    n = len(a)
    swapped = True
    while swapped:
        swapped = False
        for i in range(n - 1):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
                swapped = True
    return a[n // 2] * a[0] + a[-1] ** 2


program("bubble sort of an array", lambda: bubble_median, np.array([0.3, -1.2, 2.1, 0.9, -0.4]), step=1e-3)


def quicksort(items):
    if len(items) <= 1:
        return items
    pivot, *rest = items
    return [*quicksort([x for x in rest if x < pivot]), pivot, *quicksort([x for x in rest if x >= pivot])]


def trimmed(values):
    ordered = quicksort(list(values))
    core = ordered[1:-1]
    return sum(core) / len(core) * ordered[-1]


program("quicksort of a list", lambda: trimmed, np.array([0.3, -1.2, 2.1, 0.9, -0.4]), step=1e-3)


def de_boor(control, t):
    knots, degree = [0, 0, 0, 0, 1, 2, 2, 2, 2], 3

    def basis(i, k, x):
        if k == 0:
            return 1.0 if knots[i] <= x < knots[i + 1] else 0.0
        left = right = 0.0
        if knots[i + k] != knots[i]:
            left = (x - knots[i]) / (knots[i + k] - knots[i]) * basis(i, k - 1, x)
        if knots[i + k + 1] != knots[i + 1]:
            right = (knots[i + k + 1] - x) / (knots[i + k + 1] - knots[i + 1]) * basis(i + 1, k - 1, x)
        return left + right

    point = np.zeros(2)
    for i, c in enumerate(control):
        point += basis(i, degree, t) * c
    return np.hypot(point[0], point[1])


program(
    "a B-spline by recursion",
    lambda: de_boor,
    np.array([[0.0, 0.1], [1.0, 2.0], [2.0, -1.0], [3.0, 0.5], [4.0, 0.0]]),
    0.83,
    argnums=(0, 1),
)


def divided_differences(x, y):
    n = len(x)
    coef = np.zeros([n, n])
    coef[:, 0] = y
    for j in range(1, n):
        for i in range(n - j):
            coef[i][j] = (coef[i + 1][j - 1] - coef[i][j - 1]) / (x[i + j] - x[i])
    p = coef[0][n - 1]
    for k in range(2, n + 1):
        p = coef[0][n - k] + (1.2 - x[n - k]) * p
    return p


program(
    "Newton's divided differences, written through rows",
    lambda: divided_differences,
    np.array([0.0, 0.7, 1.5, 2.2]),
    np.array([1.0, 0.2, -0.5, 0.9]),
    argnums=(0, 1),
)


def strassen(A, B):
    n = len(A)
    if n == 1:
        return A * B
    m = n // 2
    a, b, c, d = A[:m, :m], A[:m, m:], A[m:, :m], A[m:, m:]
    e, f, g, h = B[:m, :m], B[:m, m:], B[m:, :m], B[m:, m:]
    p1, p2, p3, p4 = strassen(a, f - h), strassen(a + b, h), strassen(c + d, e), strassen(d, g - e)
    p5, p6, p7 = strassen(a + d, e + h), strassen(b - d, g + h), strassen(a - c, e + f)
    C = np.empty((n, n))
    C[:m, :m] = p5 + p4 - p2 + p6
    C[:m, m:] = p1 + p2
    C[m:, :m] = p3 + p4
    C[m:, m:] = p1 + p5 - p3 - p7
    return C


program("Strassen's product", lambda: lambda A, B: np.sum(strassen(A, B) ** 2), MATRIX, SPD, argnums=(0, 1))


def jacobi_eigenvalues(A, tol=1e-12):
    a = A.copy()
    n = len(a)
    for sweep in range(20):
        if np.sqrt(np.sum(np.tril(a, -1) ** 2)) < tol:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(a[p, q]) < 1e-300:
                    continue
                theta = (a[q, q] - a[p, p]) / (2 * a[p, q])
                t = np.copysign(1.0, theta) / (abs(theta) + np.sqrt(theta**2 + 1))
                c = 1 / np.sqrt(t**2 + 1)
                s = t * c
                rotation = np.eye(n)
                rotation[p, p] = rotation[q, q] = c
                rotation[p, q], rotation[q, p] = s, -s
                a = rotation.T @ a @ rotation
    return np.sort(np.diag(a))[0]


program("Jacobi's rotations", lambda: lambda M: jacobi_eigenvalues(M @ M.T), MATRIX, tolerance=1e-4, step=1e-3)
