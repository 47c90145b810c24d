"""Where did it rain? A storm found from the depths that six gauges saw, on the terrain of a fault in Tennessee.

Water runs over a real elevation model (SRTM, 90 m, which comes with matplotlib), by the local inertial form of the
shallow water equations (Bates, Horritt and Fewtrell 2010), and every array is overwritten in each step. The storm is
six numbers: where it begins, where to and how fast it goes, how wide and how strong it is. The program is compiled,
with its loop, and SciPy's L-BFGS follows its gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

import bridge

COARSE = 6
CELL = 90.0 * COARSE
GRAVITY, FRICTION = 9.81, 0.035
STEP, STEPS = 60.0, 240
NOISE = 0.002
TRUTH = np.array([0.25, 0.30, 0.45, 0.35, 0.14, 40.0])
START = np.array([0.45, 0.50, 0.20, 0.10, 0.20, 20.0])
NAMES = ("x", "y", "x speed", "y speed", "width", "mm/h")


def terrain() -> np.ndarray:
    """Elevations in metres, averaged over cells of 540 m."""
    from matplotlib.cbook import get_sample_data

    with np.load(get_sample_data("jacksboro_fault_dem.npz", asfileobj=False)) as file:
        fine = file["elevation"].astype(float)
    rows, columns = (n // COARSE for n in fine.shape)
    blocks = fine[: rows * COARSE, : columns * COARSE].reshape(rows, COARSE, columns, COARSE)
    return blocks.mean(axis=(1, 3))


def depths(storm: np.ndarray, z: np.ndarray, gauges: tuple[np.ndarray, np.ndarray], steps: int) -> tuple[Any, Any]:
    """Depths in metres at the gauges, step by step, and everywhere at the end."""
    rows, columns = z.shape
    y, x = np.mgrid[0 : 1 : rows * 1j, 0 : 1 : columns * 1j]
    h = np.full(z.shape, 1e-3)
    qx, qy = np.zeros((rows, columns - 1)), np.zeros((rows - 1, columns))
    seen = np.zeros((steps, len(gauges[0])))
    for k in range(steps):
        hours = k * STEP / 3600
        away = (x - storm[0] - storm[2] * hours) ** 2 + (y - storm[1] - storm[3] * hours) ** 2
        h += storm[5] / 1000 / 3600 * STEP * np.exp(-away / (2 * storm[4] ** 2))
        surface = z + h
        for q, low, high in ((qx, np.s_[:, :-1], np.s_[:, 1:]), (qy, np.s_[:-1], np.s_[1:])):
            room = np.maximum(surface[low], surface[high]) - np.maximum(z[low], z[high])
            room = np.maximum(room, 1e-4)
            q -= GRAVITY * room * STEP * (surface[high] - surface[low]) / CELL
            q /= 1 + GRAVITY * STEP * FRICTION**2 * np.abs(q) / room ** (7 / 3)
            # No more leaves a cell than half of what is there.
            most = h * CELL / STEP / 8
            q[...] = np.minimum(np.maximum(q, -most[high]), most[low])
        h[:, :-1] -= STEP / CELL * qx
        h[:, 1:] += STEP / CELL * qx
        h[:-1] -= STEP / CELL * qy
        h[1:] += STEP / CELL * qy
        seen[k] = h[gauges]
    return seen, h


def misfit(storm: np.ndarray, z: np.ndarray, gauges: Any, observed: np.ndarray) -> Any:
    """Mean square of the differences, in units of the noise."""
    seen, _ = depths(storm, z, gauges, len(observed))
    seen -= observed
    return np.mean((seen / NOISE) ** 2)


def deepest(h: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the deepest cells that are at least ten cells apart."""
    left, found = np.zeros_like(h), []
    left[3:-3, 3:-3] = h[3:-3, 3:-3]
    for _ in range(count):
        row, column = np.unravel_index(left.argmax(), h.shape)
        found.append((row, column))
        left[max(0, row - 9) : row + 10, max(0, column - 9) : column + 10] = 0
    rows, columns = np.array(found).T
    return rows, columns


def run(steps: int = STEPS) -> tuple[str, Any]:
    """Find the storm; what was found, in words, and a picture."""
    z = terrain()
    _, end = depths(TRUTH, z, (np.array([0]), np.array([0])), 2 * STEPS)
    gauges = deepest(end, 6)
    clean, _ = depths(TRUTH, z, gauges, steps)
    observed = clean + NOISE * np.random.default_rng(0).standard_normal(clean.shape)
    fit = bridge.objective(misfit, START, z, gauges, observed, engine="xla")
    bounds = [(0, 1), (0, 1), (-1, 1), (-1, 1), (0.05, 0.5), (1, 100)]
    found = minimize(fit.fun, fit.x0, jac=fit.jac, method="L-BFGS-B", bounds=bounds)
    lines = [f"{'':8} {'start':>8} {'found':>8} {'true':>8}"]
    lines += [
        f"{name:8} {a:8.3f} {b:8.3f} {c:8.3f}" for name, a, b, c in zip(NAMES, START, found.x, TRUTH, strict=True)
    ]
    lines += [f"misfit {found.fun:.3f} after {found.nfev} runs of {steps} steps and their gradients"]
    return "\n".join(lines), _picture(z, gauges, observed, found.x, steps)


def _picture(z: np.ndarray, gauges: Any, observed: np.ndarray, storm: np.ndarray, steps: int) -> Any:
    import matplotlib.pyplot as plt
    from matplotlib.colors import LightSource

    seen, h = depths(storm, z, gauges, steps)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    left.imshow(LightSource(315, 45).hillshade(z, vert_exag=2, dx=CELL, dy=CELL), cmap="gray", alpha=0.6)
    water = left.imshow(1000 * h, cmap="Blues", alpha=0.6, vmin=0, vmax=1000 * np.quantile(h, 0.995))
    figure.colorbar(water, ax=left, label="water, mm", shrink=0.8)
    scale = np.array(z.shape[::-1]) - 1
    hours = steps * STEP / 3600
    for one, style, name in ((TRUTH, "c-", "true track"), (storm, "r--", "found"), (START, "k:", "start")):
        ends = np.array([one[:2], one[:2] + hours * one[2:4]]) * scale
        left.plot(*ends.T, style, linewidth=4 if one is TRUTH else 1.5, label=name)
    left.plot(gauges[1], gauges[0], "y^", markeredgecolor="k", label="gauges")
    left.set(xlim=(0, scale[0]), ylim=(scale[1], 0), xticks=[], yticks=[], title="The storm over the terrain")
    left.legend(loc="lower left", fontsize=8)
    time = np.arange(steps) * STEP / 3600
    for k in range(len(gauges[0])):
        right.plot(time, 1000 * observed[:, k], ".", markersize=1.5, color=f"C{k}")
        right.plot(time, 1000 * seen[:, k], color=f"C{k}")
    right.set(xlabel="hours", ylabel="depth, mm", title="Gauges: measured (dots) and found (lines)")
    return figure
