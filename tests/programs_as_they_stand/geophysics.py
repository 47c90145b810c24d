"""Geophysics and hydrology."""

import math

import numpy as np
from scipy import ndimage
from scipy.interpolate import CubicSpline, RegularGridInterpolator, interp1d
from scipy.special import exp1

from tests.programs_as_they_stand.record import Field

program = Field("geophysics")


def ricker(t, f0):
    a = (np.pi * f0 * (t - 1.0 / f0)) ** 2
    return (1 - 2 * a) * np.exp(-a)


def acoustic(velocity, f0):
    nz = nx = 12
    nt, dt, h = 20, 0.002, 10.0
    vel = velocity * np.ones((nz, nx))
    vel[7:, :] *= 1.4
    p, pold, pnew, pxx, pzz = (np.zeros((nz, nx)) for _ in range(5))
    seismogram = np.zeros(nt)
    taper = np.ones(nx)
    taper[:2] = taper[-2:] = 0.9
    for it in range(nt):
        for i in range(1, nx - 1):
            pxx[:, i] = p[:, i + 1] - 2 * p[:, i] + p[:, i - 1]
        for j in range(1, nz - 1):
            pzz[j, :] = p[j + 1, :] - 2 * p[j, :] + p[j - 1, :]
        pnew = 2 * p - pold + vel**2 * dt**2 * (pxx + pzz) / h**2
        pnew[3, 5] = pnew[3, 5] + ricker(it * dt, f0)
        pold, p = p, pnew
        p *= taper
        seismogram[it] = p[3, 8]
    return 1e3 * np.sum(seismogram**2)


program("acoustic waves and a seismogram", lambda: acoustic, 2000.0, 40.0, argnums=(0, 1), step=1.0)


def magnetotellurics(resistivity, thickness, period=10.0):
    mu, w = 4e-7 * np.pi, 2 * np.pi / period
    n = len(resistivity)
    impedances = [None] * n
    impedances[n - 1] = np.sqrt(w * mu * resistivity[n - 1] * 1j)
    for j in range(n - 2, -1, -1):
        dj = np.sqrt(w * mu / resistivity[j] * 1j)
        wj = dj * resistivity[j]
        ej = np.exp(-2 * thickness[j] * dj)
        below = impedances[j + 1]
        rj = (wj - below) / (wj + below)
        re = rj * ej
        impedances[j] = wj * (1 - re) / (1 + re)
    Z = impedances[0]
    return np.log10(abs(Z) ** 2 / (mu * w)) + math.degrees(1) * np.arctan2(Z.imag, Z.real)


program(
    "layers under a magnetotelluric station",
    lambda: magnetotellurics,
    np.array([300.0, 2500.0, 0.8]),
    np.array([200.0, 400.0]),
    argnums=(0, 1),
    step=1e-2,
)


def fast_sweeping(slowness):
    ny, nx = slowness.shape
    T = np.full((ny, nx), 1e6)
    T[0, 0] = 0.0
    for sweep in range(2):
        for sy, sx in [(1, 1), (1, -1), (-1, -1), (-1, 1)]:
            for j in range(ny)[::sy]:
                for i in range(nx)[::sx]:
                    if i == j == 0:
                        continue
                    a = min(T[j, i - 1] if i > 0 else 1e6, T[j, i + 1] if i < nx - 1 else 1e6)
                    b = min(T[j - 1, i] if j > 0 else 1e6, T[j + 1, i] if j < ny - 1 else 1e6)
                    s = slowness[j, i]
                    if abs(a - b) >= s:
                        t = min(a, b) + s
                    else:
                        t = 0.5 * (a + b + math.sqrt(2 * s**2 - (a - b) ** 2))
                    T[j, i] = min(T[j, i], t)
    return T[-1, -1]


SLOWNESS = 1 + 0.3 * np.sin(np.arange(20).reshape(4, 5))
program("travel times by fast sweeping", lambda: fast_sweeping, SLOWNESS, step=1e-4)


def glacier(A, precipitation):
    n, dx_, dt = 14, 1000.0, 0.4
    bed = np.linspace(1500.0, 800.0, n)
    H = np.zeros(n)
    years, steps = 12, 0
    t = 0.0
    while t < years:
        s = bed + H
        mb = np.minimum(precipitation, 0.005 * (s - 1200.0))
        Hm = 0.5 * (H[1:] + H[:-1])
        D = A * 1e-3 * (Hm + 1) ** 3
        q = -D * (s[1:] - s[:-1]) / dx_
        H[1:-1] += dt * (mb[1:-1] - (q[1:] - q[:-1]) / dx_)
        H[0] = H[1]
        H[H < 0] = 0.0
        t, steps = t + dt, steps + 1
    return H.max() + H.sum() / steps


program("a glacier on a slope", lambda: glacier, 1.0, 1.1, argnums=(0, 1), step=1e-4)


def well_drawdown(T, S, times=(0.1, 0.5, 2.0)):
    Q, r = 100.0, 20.0
    observed = [0.9, 1.7, 2.5]
    misfit = 0.0
    for t, s_obs in zip(times, observed):
        u = r**2 * S / (4 * T * t)
        misfit += (Q / (4 * np.pi * T) * exp1(u) - s_obs) ** 2
    return misfit


program("Theis's well with exp1", lambda: well_drawdown, 12.0, 0.01, argnums=(0, 1), step=1e-3)


def snow_bucket(melt_factor, threshold, k):
    temp = 4 * np.sin(np.arange(30) / 5.0)
    rain = np.abs(np.cos(np.arange(30))) * 5
    snow, soil = 0.0, 10.0
    flow = np.zeros(30)
    for d in range(30):
        if temp[d] < threshold:
            snow += rain[d]
            liquid = 0.0
        else:
            melt = min(snow, melt_factor * (temp[d] - threshold))
            snow -= melt
            liquid = rain[d] + melt
        soil += liquid
        flow[d] = k * soil**1.2
        soil -= flow[d]
    observed = rain * 0.8
    return 1 - np.sum((flow - observed) ** 2) / np.sum((observed - observed.mean()) ** 2)


program(
    "snow and soil in buckets, Nash and Sutcliffe's score",
    lambda: snow_bucket,
    2.0,
    0.3,
    0.2,
    argnums=(0, 1, 2),
    step=1e-3,
)


def bent_ray(velocities, offset):
    thickness = np.array([1.0, 2.0, 1.5])
    low, high = 1e-6, 1 / np.max(velocities) - 1e-6
    p = 0.5 * (low + high)
    for _ in range(30):
        root = np.sqrt(1 - (p * velocities) ** 2)
        x = np.sum(thickness * p * velocities / root) - offset
        dxdp = np.sum(thickness * velocities / root**3)
        p_new = p - x / dxdp
        p = p_new if low < p_new < high else 0.5 * (p + (low if x > 0 else high))
        if abs(x) < 1e-13:
            break
    return np.sum(thickness / (velocities * np.sqrt(1 - (p * velocities) ** 2)))


program(
    "a ray through layers, its parameter by Newton",
    lambda: bent_ray,
    np.array([2.0, 3.0, 4.0]),
    3.0,
    argnums=(0, 1),
    step=1e-3,
)


def landscape(diffusivity, erodibility):
    rng = np.random.default_rng(6)
    z = rng.random((6, 6))
    z[0, :] = 0
    for _ in range(4):
        area = np.ones_like(z)
        order = np.argsort(-z, axis=None)
        for flat in order:
            j, i = divmod(int(flat), 6)
            neighbours = [
                (j + a, i + b) for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0)) if 0 <= j + a < 6 and 0 <= i + b < 6
            ]
            lowest = min(neighbours, key=lambda where: z[where])
            if z[lowest] < z[j, i]:
                area[lowest] += area[j, i]
                z[j, i] -= erodibility * np.sqrt(area[j, i]) * (z[j, i] - z[lowest])
        lap = ndimage.convolve(z, np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0.0]]), mode="nearest")
        z[1:] += diffusivity * lap[1:]
    return z.mean() + z.max()


program("hillslopes and rivers with ndimage.convolve", lambda: landscape, 0.1, 0.05, argnums=(0, 1), step=1e-4)


def gravity_profile(depth, density, width=2.0):
    G = 6.674
    stations = np.linspace(-5, 5, 9)
    g = np.zeros_like(stations)
    nodes, weights = np.polynomial.legendre.leggauss(4)
    for i, s in enumerate(stations):
        for xi, wx in zip(nodes, weights):
            for zeta, wz in zip(nodes, weights):
                x, z = width * xi - s, depth + 0.5 * zeta
                g[i] += 2 * G * density * wx * wz * width * 0.5 * z / (x**2 + z**2)
    smooth = ndimage.gaussian_filter1d(g, 1.0)
    return smooth.max() - g[0]


program("gravity over a prism, smoothed", lambda: gravity_profile, 2.0, 0.4, argnums=(0, 1), step=1e-3)


def rating_curve(levels, query):
    spline = CubicSpline([0.0, 1.0, 2.0, 3.5], levels)
    line = interp1d(np.array([0.0, 1.0, 2.0, 3.5]), levels)
    return spline(query).sum() + line(query[:2]).prod() + spline(1.3, 1)


program(
    "rating curves by interpolation",
    lambda: rating_curve,
    np.array([0.1, 0.9, 2.5, 3.0]),
    np.array([0.4, 1.7, 3.1]),
    argnums=(0, 1),
    step=1e-3,
)


def ocean_temperature(profile, where):
    lat, depth = np.linspace(-10, 10, 4), np.linspace(0, 100, 3)
    table = np.empty((4, 3))
    for k in range(3):
        table[:, k] = profile * np.exp(-depth[k] / 50)
    lookup = RegularGridInterpolator((lat, depth), table)
    return lookup(where).sum() ** 2


program(
    "a table of temperatures looked up in two dimensions",
    lambda: ocean_temperature,
    np.array([20.0, 25.0, 26.0, 21.0]),
    np.array([[1.0, 30.0], [-7.0, 70.0]]),
    argnums=(0, 1),
    step=1e-3,
)
