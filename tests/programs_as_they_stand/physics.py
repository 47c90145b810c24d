"""Physics: particles, waves and matrices."""

import itertools
import math
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm

from tests.programs_as_they_stand.record import Field

program = Field("physics")

G = 1.0
SOFTENING = 1e-2


@dataclass
class Body:
    mass: float
    position: np.ndarray
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(2))

    def kinetic(self):
        return 0.5 * self.mass * self.velocity @ self.velocity


def three_bodies(mass, speed):
    bodies = [
        Body(mass, np.array([0.0, 0.0])),
        Body(0.1, np.array([1.0, 0.0]), np.array([0.0, speed])),
        Body(0.05, np.array([-1.5, 0.2]), np.array([0.1, -0.7])),
    ]
    dt = 0.05
    for _ in range(12):
        forces = [np.zeros(2) for _ in bodies]
        for (i, a), (j, b) in itertools.combinations(enumerate(bodies), 2):
            r = b.position - a.position
            f = G * a.mass * b.mass * r / (r @ r + SOFTENING) ** 1.5
            forces[i] += f
            forces[j] -= f
        for body, force in zip(bodies, forces):
            body.velocity += dt * force / body.mass
            body.position += dt * body.velocity
    return sum(b.kinetic() for b in bodies) + bodies[2].position[1]


program("three bodies as dataclasses", lambda: three_bodies, 1.0, 0.9, argnums=(0, 1))


def pendulum_derivatives(state, m1, m2, L1, L2, g=9.81):
    th1, w1, th2, w2 = state
    delta = th2 - th1
    den1 = (m1 + m2) * L1 - m2 * L1 * np.cos(delta) ** 2
    den2 = (L2 / L1) * den1
    out = np.empty(4)
    out[0] = w1
    out[1] = (
        m2 * L1 * w1**2 * np.sin(delta) * np.cos(delta)
        + m2 * g * np.sin(th2) * np.cos(delta)
        + m2 * L2 * w2**2 * np.sin(delta)
        - (m1 + m2) * g * np.sin(th1)
    ) / den1
    out[2] = w2
    out[3] = (
        -m2 * L2 * w2**2 * np.sin(delta) * np.cos(delta)
        + (m1 + m2) * (g * np.sin(th1) * np.cos(delta) - L1 * w1**2 * np.sin(delta) - g * np.sin(th2))
    ) / den2
    return out


def double_pendulum(lengths):
    y = np.array([np.pi / 2, 0.0, np.pi / 4, 0.0])
    h = 0.02
    trajectory = [y]
    for n in range(15):
        k1 = h * pendulum_derivatives(y, 1.0, 0.8, *lengths)
        k2 = h * pendulum_derivatives(y + 0.5 * k1, 1.0, 0.8, *lengths)
        k3 = h * pendulum_derivatives(y + 0.5 * k2, 1.0, 0.8, *lengths)
        k4 = h * pendulum_derivatives(y + k3, 1.0, 0.8, *lengths)
        y = y + (k1 + 2 * k2 + 2 * k3 + k4) / 6
        trajectory.append(y)
    th1, _, th2, _ = np.array(trajectory).T
    return lengths[0] * np.sum(np.sin(th1)) + lengths[1] * np.sum(np.sin(th2))


program("a double pendulum, stacked at the end", lambda: double_pendulum, (1.0, 0.7))


def schroedinger(strength, k0):
    n, dt = 32, 0.02
    x = np.linspace(-5, 5, n, endpoint=False)
    k = 2 * np.pi * np.fft.fftfreq(n, d=x[1] - x[0])
    psi = np.exp(-((x + 1) ** 2)) * np.exp(1j * k0 * x)
    V = strength * x**2
    half = np.exp(-0.5j * V * dt)
    full = np.exp(-0.5j * k**2 * dt)
    for _ in range(10):
        psi *= half
        psi = np.fft.ifft(full * np.fft.fft(psi))
        psi *= half
    density = np.abs(psi) ** 2
    return np.sum(density * x) / np.sum(density)


program("a wave packet by split steps", lambda: schroedinger, 0.5, 1.5, argnums=(0, 1))


def lennard_jones(eps, sigma):
    grid = np.array(list(itertools.product(range(2), repeat=3)), dtype=float) * 1.2
    pos, vel = grid.copy(), np.zeros_like(grid)
    force = np.zeros_like(grid)

    def compute(pos, force):
        force[...] = 0.0
        energy = 0.0
        for i in range(len(pos)):
            for j in range(i):
                r = pos[i] - pos[j]
                r2 = np.dot(r, r)
                if r2 > 2.5**2:
                    continue
                s6 = (sigma * sigma / r2) ** 3
                energy += 4 * eps * (s6 * s6 - s6)
                pair = 24 * eps * (2 * s6 * s6 - s6) / r2 * r
                force[i] += pair
                force[j] -= pair
        return energy

    compute(pos, force)
    for _ in range(3):
        vel += 0.5 * 0.01 * force
        pos += 0.01 * vel
        potential = compute(pos, force)
        vel += 0.5 * 0.01 * force
    return potential + 0.5 * np.sum(vel**2)


program("molecular dynamics with one array of forces", lambda: lennard_jones, 1.0, 1.0, argnums=(0, 1), step=1e-3)


def rope(gravity, length):
    n = 6
    x = np.stack([np.linspace(0, 1, n), np.zeros(n)], axis=1)
    old = x.copy()
    for _ in range(6):
        x, old = 2 * x - old, x
        x[1:, 1] -= gravity * 0.01
        for _ in range(4):
            x[0] = 0
            for i in range(n - 1):
                d = x[i + 1] - x[i]
                dist = np.hypot(*d)
                corr = 0.5 * d * (dist - length) / dist
                x[i] += corr
                x[i + 1] -= corr
    return np.sum(x[:, 1]) + x[-1, 0]


program("a rope with constraints", lambda: rope, 9.81, 0.2, argnums=(0, 1))


def boris(E0, B0):
    q_m, dt = 1.0, 0.1
    x, v = np.zeros(3), np.array([1.0, 0.5, 0.2])
    trail = np.empty((0, 3))
    for step in range(20):
        E = np.array([0.0, E0 * np.cos(x[0]), 0.0])
        B = np.array([0.0, 0.1 * x[1], B0])
        t = 0.5 * q_m * dt * B
        s = 2 * t / (1 + t @ t)
        v_minus = v + 0.5 * q_m * dt * E
        v_prime = v_minus + np.cross(v_minus, t)
        v = v_minus + np.cross(v_prime, s) + 0.5 * q_m * dt * E
        x = x + dt * v
        trail = np.vstack([trail, x])
    return np.sum(np.ptp(trail, axis=0))


program("Boris's pusher, np.array of computed numbers", lambda: boris, 0.3, 1.1, argnums=(0, 1), step=1e-3)


def tight_binding(hopping, disorder):
    n = disorder.size
    H = np.zeros((n, n))
    for i in range(n):
        H[i, i] = disorder[i]
        H[i, (i + 1) % n] = H[(i + 1) % n, i] = -hopping
    E = np.linalg.eigvalsh(H)
    filled = E[: n // 2].sum()
    gap = E[n // 2] - E[n // 2 - 1]
    return filled + gap**2


program(
    "a ring of atoms, eigenvalues",
    lambda: tight_binding,
    1.0,
    np.array([0.3, -0.2, 0.5, 0.1, -0.6]),
    argnums=(0, 1),
    step=1e-3,
)


def kuramoto(K, omega):
    theta = np.linspace(0, 3, omega.size)
    r = []
    for _ in range(15):
        coupling = np.array([sum(np.sin(other - own) for other in theta) for own in theta])
        theta = (theta + 0.1 * (omega + K / omega.size * coupling)) % (2 * np.pi)
        r.append(abs(np.exp(1j * theta).mean()))
    return r[-1] + np.median(r)


program("coupled oscillators", lambda: kuramoto, 1.2, np.array([0.2, 0.4, 0.1, 0.5]), argnums=(0, 1), step=1e-3)


@dataclass(frozen=True)
class Layer:
    n: float
    d: float

    def matrix(self, k):
        phase = k * self.n * self.d
        return np.array([[np.cos(phase), 1j * np.sin(phase) / self.n], [1j * self.n * np.sin(phase), np.cos(phase)]])


def reflectance(n_high, thickness):
    high = Layer(n_high, thickness)
    stack = [high, replace(high, n=1.45), replace(high, d=0.8 * thickness)]
    M = reduce(np.matmul, (layer.matrix(2 * np.pi / 0.6) for layer in stack))
    (a, b), (c, d) = M
    r = (a + b * 1.5 - c - d * 1.5) / (a + b * 1.5 + c + d * 1.5)
    return abs(r) ** 2


program("a stack of thin films", lambda: reflectance, 2.3, 0.07, argnums=(0, 1), step=1e-3)


def fdtd(eps_r, loss):
    ke, nsteps = 24, 30
    ex, hy = np.zeros(ke), np.zeros(ke)
    ca, cb = np.ones(ke), np.full(ke, 0.5)
    ca[14:] = (1 - loss) / (1 + loss)
    cb[14:] = 0.5 / (eps_r * (1 + loss))
    low = [0, 0]
    for step in range(1, nsteps + 1):
        for k in range(1, ke):
            ex[k] = ca[k] * ex[k] + cb[k] * (hy[k - 1] - hy[k])
        ex[5] += math.exp(-0.5 * ((12 - step) / 4) ** 2)
        ex[0] = low.pop(0)
        low.append(ex[1])
        for k in range(ke - 1):
            hy[k] = hy[k] + 0.5 * (ex[k] - ex[k + 1])
    return np.sum(ex[:10] ** 2) + np.sum(hy**2)


program("Maxwell in one dimension, absorbing by a list", lambda: fdtd, 4.0, 0.02, argnums=(0, 1))


def period(amplitude, g):
    integral, _ = quad(lambda phi: 1 / np.sqrt(1 - (np.sin(amplitude / 2) * np.sin(phi)) ** 2), 0, np.pi / 2)
    return 4 * np.sqrt(1.0 / g) * integral


program("a pendulum's period with quad", lambda: period, 1.2, 9.81, argnums=(0, 1))


def qubit(amplitude, detuning):
    sx, sy, sz = np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]]), np.diag([1.0, -1.0])
    psi = np.array([1, 0], dtype=complex)
    for n in range(4):
        H = 0.5 * detuning * sz + amplitude * (np.cos(n) * sx + np.sin(n) * sy)
        psi = expm(-0.3j * H) @ psi
    return np.real(np.vdot(psi, sz @ psi))


program("a driven qubit with expm", lambda: qubit, 0.7, 0.4, argnums=(0, 1))


def stiff_spring(k, damping):
    def f(t, y, k, c):
        return np.array([y[1], -k * y[0] - c * y[1]])

    sol = solve_ivp(
        f, [0, 2], np.array([1.0, 0.0]), t_eval=np.linspace(0, 2, 5), args=(k, damping), rtol=1e-10, atol=1e-12
    )
    return np.sum(sol.y[0] ** 2)


program(
    "a spring with solve_ivp at given times", lambda: stiff_spring, 4.0, 0.3, argnums=(0, 1), tolerance=1e-5, step=1e-3
)


def cooling_rod(k, h):
    n = 7
    K = np.zeros((n, n))
    element = k * np.array([[1, -1], [-1, 1]])
    for e in range(n - 1):
        K[e : e + 2, e : e + 2] += element
    K[-1, -1] += h
    F = np.zeros(n)
    F[-1] = h * 20.0
    K[0, :] = 0
    K[0, 0], F[0] = 1, 100.0
    T = np.linalg.solve(K, F)
    return T[3] + T.min()


program("finite elements, assembled and solved", lambda: cooling_rod, 2.0, 0.5, argnums=(0, 1))
