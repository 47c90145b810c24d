"""Programs that lean on SciPy."""

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy import fft, integrate, ndimage, optimize, signal, special, stats
from scipy.interpolate import UnivariateSpline
from scipy.sparse.linalg import cg, spsolve
from scipy.spatial.distance import cdist

from tests.programs_as_they_stand.record import Field

program = Field("scipy")

X = np.array([0.4, 0.9, 1.3, 0.7, 0.2, 1.1])
BAND = sp.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(6, 6), format="csr")


def darcy(conductivity, source):
    n = len(source)
    rows, cols, values = [], [], []
    for i in range(n):
        total = 0.1
        for j in (i - 1, i + 1):
            if 0 <= j < n:
                k = 2 / (1 / conductivity[i] + 1 / conductivity[j])
                rows.append(i)
                cols.append(j)
                values.append(-k)
                total += k
        rows.append(i)
        cols.append(i)
        values.append(total)
    A = sp.csr_matrix((values, (rows, cols)), shape=(n, n))
    head = spsolve(A, source)
    return head.max() + head @ head


program(
    "Darcy's law, a sparse matrix assembled from lists",
    lambda: darcy,
    X + 0.5,
    np.linspace(1, 0, 6),
    argnums=(0, 1),
    step=1e-3,
)


def implicit_steps(u, steps=3):
    trajectory = np.empty((steps + 1, len(u)))
    trajectory[0] = u
    for k in range(steps):
        trajectory[k + 1] = spsolve(BAND.tocsc(), trajectory[k] + BAND @ trajectory[k])
    return np.sum(trajectory[1:] ** 2)


program("implicit steps with a constant sparse matrix", lambda: implicit_steps, X)


def pagerank(links, damping):
    n = len(links)
    P = links / links.sum(axis=0)
    rank = la.solve(np.eye(n) - damping * P, (1 - damping) / n * np.ones(n))
    return -np.sum(rank * np.log(rank))


program(
    "page rank with scipy.linalg.solve",
    lambda: pagerank,
    np.array([[0.1, 1, 2], [1, 0.2, 1], [3, 1, 0.3]]),
    0.85,
    argnums=(0, 1),
)


def riccati_steps(q, r):
    A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.005], [0.1]])
    P = np.diag([q, 1.0])
    Q = np.zeros((2, 2))
    Q[0, 0] = q
    for _ in range(8):
        lu = la.lu_factor(r * np.eye(1) + B.T @ P @ B)
        K = la.lu_solve(lu, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
    return np.trace(P) + K[0, 1]


program("a regulator by Riccati's recursion", lambda: riccati_steps, 2.0, 0.5, argnums=(0, 1))


def cosine_compression(image, threshold=0.2):
    coefficients = fft.dctn(image, norm="ortho")
    coefficients[np.abs(coefficients) < threshold] = 0
    return np.sum((fft.idctn(coefficients, norm="ortho") - image) ** 2) + np.sum(np.abs(coefficients))


program("compression by cosines", lambda: cosine_compression, np.outer(X, X[:4]) + 0.3, step=1e-4)


def light_curve(amplitude, period):
    t = np.linspace(0, 3, 60)
    flux = 1 + amplitude * np.sin(2 * np.pi * t / period)
    flux[20:26] -= 0.1
    trend = signal.savgol_filter(flux, 11, 2)
    return integrate.simpson((flux - trend) ** 2, x=t) * 1e3 + integrate.trapezoid(flux, t)


program("a light curve, detrended and integrated", lambda: light_curve, 0.3, 1.1, argnums=(0, 1), step=1e-3)


def blackbody(temperature):
    def planck(x):
        return x**3 / np.expm1(x / temperature)

    total, error = integrate.quad(planck, 0.01, 12.0, epsabs=1e-12)
    mean = integrate.quad(lambda x: x * planck(x), 0.01, 12.0, epsabs=1e-12)[0] / total
    return total / temperature**4 + mean


program("black-body radiation with nested functions in quad", lambda: blackbody, 1.3)


def fitted_rate(data):
    def residuals(p):
        return p[0] * np.exp(-p[1] * np.arange(6.0)) - data

    fit = optimize.least_squares(residuals, [1.0, 0.1], xtol=1e-14, ftol=1e-14, gtol=1e-14)
    return fit.x[1]


program(
    "a fit with least_squares", lambda: fitted_rate, np.array([2.0, 1.3, 0.9, 0.5, 0.4, 0.2]), tolerance=1e-4, step=1e-3
)


def bayes_factor(data, a, b):
    k, n = data.sum(), len(data)
    log_marginal = special.betaln(k + a, n - k + b) - special.betaln(a, b)
    posterior_mean = special.expit(special.digamma(k + a) - special.digamma(n - k + b))
    return log_marginal + posterior_mean + stats.beta.logpdf(0.4, a, b)


program("a beta-binomial with betaln", lambda: bayes_factor, X / 2, 2.0, 1.5, argnums=(0, 1, 2), step=1e-3)


def registered(image, shift):
    ys, xs = np.mgrid[0:4, 0:6].astype(float)
    moved = ndimage.map_coordinates(image, [ys + shift[0], xs + shift[1]], order=1, mode="nearest")
    blurred = ndimage.gaussian_filter(moved, sigma=0.8)
    return np.sum(blurred[1:-1] ** 2)


program(
    "an image moved and blurred",
    lambda: registered,
    np.outer(X[:4], X),
    np.array([0.3, -0.4]),
    argnums=(0, 1),
    step=1e-3,
)


def smoothing_spline(y):
    spline = UnivariateSpline(np.arange(6.0), y, s=0.1)
    return spline(2.5)


program("a spline without a rule", lambda: smoothing_spline, X, expected="EscapeError: UnivariateSpline")


def kriging(points, nugget):
    D = cdist(points, points)
    K = np.exp(-D) + nugget * np.eye(len(points))
    return np.linalg.solve(K, np.ones(len(points))).sum()


program(
    "distances by cdist",
    lambda: kriging,
    np.column_stack([X, X[::-1] ** 2]),
    0.1,
)


def iterative(x):
    solution, info = cg(BAND, x, rtol=1e-13)
    assert info == 0
    return solution @ solution


program("conjugate gradients of SciPy", lambda: iterative, X)


def orbit_transfer(speed):
    def rhs(t, s):
        r3 = np.hypot(s[0], s[1]) ** 3
        return [s[2], s[3], -s[0] / r3, -s[1] / r3]

    solution = integrate.odeint(lambda s, t: rhs(t, s), [1.0, 0.0, 0.0, speed], [0.0, 0.5, 1.0], rtol=1e-11, atol=1e-11)
    return solution[-1, 0] * solution[1, 1]


program("an orbit with odeint", lambda: orbit_transfer, 1.1, tolerance=1e-5, step=1e-3)
