"""Computational fluid dynamics: grids, copies of the last step, boundary conditions by slices."""

import numpy as np
from numpy import sqrt, zeros
from scipy.linalg import solve_banded

from tests.programs_as_they_stand.record import Field

program = Field("cfd")

nx, ny = 9, 8
dx, dy = 2.0 / (nx - 1), 2.0 / (ny - 1)
GAMMA = 1.4


def linear_convection(c, sigma):
    nt, dt = 12, 0.02
    u = np.ones(nx)
    u[int(0.5 / dx) : int(1 / dx + 1)] = 2
    un = np.ones(nx)
    for n in range(nt):
        un = u.copy()
        for i in range(1, nx):
            u[i] = un[i] - c * dt / dx * (un[i] - un[i - 1]) + sigma * dt * un[i] ** 2
    return np.trapezoid(u**2, dx=dx)


program("convection, point by point", lambda: linear_convection, 1.1, 0.3, argnums=(0, 1))


def burgers(nu):
    x = np.linspace(0, 2 * np.pi, 21)
    h, dt = x[1] - x[0], 0.03
    u = np.empty((15, 21))
    u[0] = np.sin(x) + 1.5
    for n in range(14):
        for i in range(1, 20):
            u[n + 1, i] = (
                u[n, i]
                - u[n, i] * dt / h * (u[n, i] - u[n, i - 1])
                + nu * dt / h**2 * (u[n, i + 1] - 2 * u[n, i] + u[n, i - 1])
            )
        u[n + 1, 0] = (
            u[n, 0] - u[n, 0] * dt / h * (u[n, 0] - u[n, -2]) + nu * dt / h**2 * (u[n, 1] - 2 * u[n, 0] + u[n, -2])
        )
        u[n + 1, -1] = u[n + 1, 0]
    return u[-1].max() + np.mean(u[-1] ** 3)


program("Burgers, periodic, the whole history in one array", lambda: burgers, 0.07)


def diffuse(nt, nu, u):
    dt = 0.25 * dx * dy / 0.5
    for n in range(nt + 1):
        un = u.copy()
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            + nu * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
            + nu * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1])
        )
        u[0, :] = 1
        u[-1, :] = 1
        u[:, 0] = 1
        u[:, -1] = 1
    return u


def heated_plate(nu, hat):
    u = np.ones((ny, nx))
    u[2:5, 3:6] = hat
    return diffuse(6, nu, u).sum() + np.linalg.norm(u)


program("diffusion of a hat in two dimensions", lambda: heated_plate, 0.05, 2.0, argnums=(0, 1))


def build_up_b(b, rho, dt, u, v):
    b[1:-1, 1:-1] = rho * (
        1 / dt * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
    )
    return b


def pressure_poisson(p, b, nit=8):
    pn = np.empty_like(p)
    pn = p.copy()
    for q in range(nit):
        pn = p.copy()
        p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    return p


def cavity(lid, nu):
    rho, dt = 1.0, 0.01
    u, v, p, b = (np.zeros((ny, nx)) for _ in range(4))
    u[-1, :] = lid
    for n in range(4):
        un, vn = u.copy(), v.copy()
        b = build_up_b(b, rho, dt, u, v)
        p = pressure_poisson(p, b)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + nu * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1])
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1])
            + nu * dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, 0:-2])
        )
        u[0, :] = u[:, 0] = u[:, -1] = 0
        u[-1, :] = lid
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0
    return np.sum(u**2 + v**2) + p[2, 3]


program("lid-driven cavity with helpers that write into their arguments", lambda: cavity, 1.0, 0.1, argnums=(0, 1))


def primitive(U):
    rho = U[0]
    u = U[1] / rho
    p = (GAMMA - 1) * (U[2] - 0.5 * rho * u**2)
    return rho, u, p


def flux(U):
    rho, u, p = primitive(U)
    F = np.zeros_like(U)
    F[0] = rho * u
    F[1] = rho * u**2 + p
    F[2] = (U[2] + p) * u
    return F


def sod_tube(p_left, rho_right, n=16):
    U = np.zeros((3, n))
    h, t, dt = 1.0 / n, 0.0, 0.01
    for i in range(n):
        if i < n // 2:
            rho, u, p = 1.0, 0.0, p_left
        else:
            rho, u, p = rho_right, 0.0, 0.1
        U[:, i] = [rho, rho * u, p / (GAMMA - 1) + 0.5 * rho * u**2]
    while t < 0.1 - 1e-12:
        rho, u, p = primitive(U)
        a = np.abs(u) + sqrt(GAMMA * p / rho)
        F = flux(U)
        Fi = np.zeros((3, n + 1))
        amax = np.maximum(a[1:], a[:-1])
        Fi[:, 1:-1] = 0.5 * (F[:, 1:] + F[:, :-1]) - 0.5 * amax * (U[:, 1:] - U[:, :-1])
        Fi[:, 0], Fi[:, -1] = F[:, 0], F[:, -1]
        U -= dt / h * (Fi[:, 1:] - Fi[:, :-1])
        t += dt
    return U[0, 10] + primitive(U)[2].dot(np.arange(n)) / n


program("Sod's shock tube with Rusanov's flux", lambda: sod_tube, 1.0, 0.125, argnums=(0, 1), step=1e-3)


def minmod(a, b):
    return np.where(a * b > 0, np.where(np.abs(a) < np.abs(b), a, b), 0.0)


def muscl(q, speed):
    dt, h = 0.2, 1.0
    for step in range(5):
        left = q - np.roll(q, 1)
        right = np.roll(q, -1) - q
        slope = minmod(left, right)
        face = q + 0.5 * (1 - speed * dt / h) * slope
        q = q - speed * dt / h * (face - np.roll(face, 1))
    return np.sum(q * np.linspace(0, 1, len(q)) ** 2)


PULSE = np.exp(-(((np.arange(14) - 5.3) / 2.1) ** 2))
program("MUSCL with a minmod limiter", lambda: muscl, PULSE, 0.9, argnums=(0, 1), step=1e-4)


def thomas(a, b, c, d):
    n = len(d)
    cp, dp, x = zeros(n), zeros(n), zeros(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


def implicit_diffusion(alpha, left):
    n, h, dt = 10, 0.1, 0.02
    T = np.full(n, 20.0)
    for _ in range(5):
        r = alpha * dt / h**2
        a = -r * np.ones(n)
        b = (1 + 2 * r) * np.ones(n)
        c = -r * np.ones(n)
        b[0], c[0] = 1.0, 0.0
        a[-1], b[-1] = 0.0, 1.0
        d = T.copy()
        d[0] = left
        T = thomas(a, b, c, d)
    return T[4]


program("implicit diffusion with Thomas's algorithm", lambda: implicit_diffusion, 0.4, 80.0, argnums=(0, 1))


def crank_nicolson(k, source):
    n = 9
    ab = np.zeros((3, n))
    r = 0.5 * k
    ab[0, 1:] = -r
    ab[1, :] = 1 + 2 * r
    ab[2, :-1] = -r
    T = np.zeros(n)
    for step in range(4):
        rhs = (1 - 2 * r) * T + source
        rhs[1:] += r * T[:-1]
        rhs[:-1] += r * T[1:]
        T = solve_banded((1, 1), ab, rhs)
    return T @ T


program("Crank-Nicolson with solve_banded", lambda: crank_nicolson, 0.8, np.linspace(0, 1, 9), argnums=(0, 1))

W = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
E = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])


def equilibrium(rho, u):
    feq = np.zeros((9,) + rho.shape)
    usq = 1.5 * (u[0] ** 2 + u[1] ** 2)
    for k in range(9):
        eu = 3 * (E[k, 0] * u[0] + E[k, 1] * u[1])
        feq[k] = rho * W[k] * (1 + eu + 0.5 * eu**2 - usq)
    return feq


def lattice_boltzmann(tau, force):
    rho, u = np.ones((5, 4)), np.zeros((2, 5, 4))
    u[0] = 0.05 * np.sin(np.arange(4))
    f = equilibrium(rho, u)
    for step in range(5):
        for k in range(9):
            f[k] = np.roll(np.roll(f[k], E[k, 0], axis=0), E[k, 1], axis=1)
        rho = f.sum(axis=0)
        u[:] = np.einsum("kd,kxy->dxy", E.astype(float), f) / rho
        u[0] += force / rho
        f += (equilibrium(rho, u) - f) / tau
    return np.sum(u**2) * 100


program("lattice Boltzmann, D2Q9", lambda: lattice_boltzmann, 0.8, 0.01, argnums=(0, 1), step=1e-3)


def sor(omega, rhs, tol=1e-9):
    psi = np.zeros((6, 7))
    err, it = 1.0, 0
    while err > tol and it < 60:
        err = 0.0
        for colour in (0, 1):
            for j in range(1, 5):
                for i in range(1 + (j + colour) % 2, 6, 2):
                    old = psi[j, i]
                    new = 0.25 * (psi[j, i - 1] + psi[j, i + 1] + psi[j - 1, i] + psi[j + 1, i] + rhs[j, i])
                    psi[j, i] = (1 - omega) * old + omega * new
                    err = max(err, abs(psi[j, i] - old))
        it += 1
        if it == 6:
            break
    return psi[2, 3] ** 2 + err


program("red-black relaxation until converged", lambda: sor, 1.3, np.outer(np.ones(6), np.arange(7.0)), step=1e-4)


def shallow_water(depth, tilt):
    n, h, dt, g = 12, 1.0, 0.05, 9.81
    H, HU = np.full(n, depth), np.zeros(n)
    H += tilt * np.linspace(-1, 1, n)
    for _ in range(10):
        Hn, HUn = np.copy(H), np.copy(HU)
        F1 = HUn
        F2 = HUn**2 / Hn + 0.5 * g * Hn**2
        H[1:-1] = 0.5 * (Hn[2:] + Hn[:-2]) - dt / (2 * h) * (F1[2:] - F1[:-2])
        HU[1:-1] = 0.5 * (HUn[2:] + HUn[:-2]) - dt / (2 * h) * (F2[2:] - F2[:-2])
        H[[0, -1]] = H[[1, -2]]
        HU[[0, -1]] = -HU[[1, -2]]
    return float(len(H)) * np.var(H) + np.sum(HU)


program("shallow water with reflecting walls", lambda: shallow_water, 1.0, 0.1, argnums=(0, 1))
