"""How fast is the river? Speeds and decay in four reaches, from a dye seen at three bridges, through a Numba kernel.

The kernel overwrites the concentrations. Its adjoint, another Numba kernel, is its rule, so that both directions run in
compiled code of Numba's; `check_rule` proves the two before they are used. The loop around them is Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from scipy.optimize import minimize

import bridge

CELLS, STEPS = 160, 520
REACHES = 4
STATIONS = np.array([45, 95, 150])
TRUTH = {"speed": np.array([0.55, 0.30, 0.70, 0.45]), "decay": np.array([0.001, 0.004, 0.002, 0.0005])}
START = {"speed": np.full(REACHES, 0.4), "decay": np.full(REACHES, 0.001)}
NOISE = 0.004


@njit(cache=False)
def _advance(c: Any, speed: Any, decay: Any) -> None:
    for i in range(c.size - 1, 0, -1):
        c[i] -= speed[i] * (c[i] - c[i - 1]) + decay[i] * c[i]


@njit(cache=False)
def _advance_adjoint(ct: Any, c: Any, speed: Any, decay: Any) -> Any:
    of_c, of_speed, of_decay = np.zeros_like(c), np.zeros_like(c), np.zeros_like(c)
    of_c[0] = ct[0]
    for i in range(1, c.size):
        of_c[i] += ct[i] * (1 - speed[i] - decay[i])
        of_c[i - 1] += ct[i] * speed[i]
        of_speed[i] = -ct[i] * (c[i] - c[i - 1])
        of_decay[i] = -ct[i] * c[i]
    return of_c, of_speed, of_decay


@bridge.mutating_rule(mutates="c", orders=1, dtypes=np.float64, layouts="C", empty=False)
def advance(c: Any, speed: Any, decay: Any) -> None:
    """One step of an upwind scheme: what flows in from the cell before, and what decays, in place."""
    _advance(c, speed, decay)


@advance.pull
def _(ct: Any, c: Any, speed: Any, decay: Any) -> Any:
    return _advance_adjoint(ct, c, speed, decay)


def concentrations(p: Any, steps: int = STEPS) -> Any:
    """What the stations see of a dye that is let in for thirty steps, one row a step."""
    speed, decay = np.zeros(CELLS), np.zeros(CELLS)
    for reach in range(REACHES):
        part = slice(reach * CELLS // REACHES, (reach + 1) * CELLS // REACHES)
        speed[part] = p["speed"][reach]
        decay[part] = p["decay"][reach]
    c, seen = np.zeros(CELLS), np.zeros((steps, len(STATIONS)))
    for k in range(steps):
        c[0] = 1.0 if k < 30 else 0.0
        advance(c, speed, decay)
        seen[k] = c[STATIONS]
    return seen


def misfit(p: Any, observed: np.ndarray) -> Any:
    """Mean square of the differences, in units of the noise."""
    return np.mean(((concentrations(p, len(observed)) - observed) / NOISE) ** 2)


def run(steps: int = STEPS) -> tuple[str, Any]:
    """Prove the kernels, calibrate the river; what was found, in words, and a picture."""
    proof = bridge.check_rule(advance, np.array([1.0, 0.4, 0.2]), np.full(3, 0.5), np.full(3, 0.1))
    rng = np.random.default_rng(1)
    observed = concentrations(TRUTH, steps)
    observed += NOISE * rng.standard_normal(observed.shape)
    fit = bridge.objective(misfit, START, observed)
    scale = fit.flattened({"speed": np.full(REACHES, 0.5), "decay": np.full(REACHES, 0.002)})
    limits = [(0, 1 / one) for one in scale]
    found = minimize(
        lambda z: fit.fun(z * scale),
        fit.x0 / scale,
        jac=lambda z: fit.jac(z * scale) * scale,
        bounds=limits,
        method="L-BFGS-B",
    )
    p = fit.parameters(found.x * scale)
    lines = [f"kernels proved: {len(proof.checks)} checks", f"{'':8} {'found':^31} {'true':^31}"]
    for name, digits in (("speed", 3), ("decay", 4)):
        both = (" ".join(f"{x:7.{digits}f}" for x in one[name]) for one in (p, TRUTH))
        lines.append(f"{name:8} {next(both)} {next(both)}")
    lines.append(f"misfit {found.fun:.3f} after {found.nfev} gradients through {steps} calls of the kernel")
    return "\n".join(lines), _picture(observed, p, steps)


def _picture(observed: np.ndarray, p: Any, steps: int) -> Any:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
    before, after = concentrations(START, steps), concentrations(p, steps)
    for k, station in enumerate(STATIONS):
        axes.plot(observed[:, k], ".", color=f"C{k}", markersize=2, label=f"measured, cell {station}")
        axes.plot(before[:, k], ":", color=f"C{k}")
        axes.plot(after[:, k], color=f"C{k}")
    axes.set(xlabel="step", ylabel="concentration", title="Dye at three bridges: start (dotted) and calibrated (lines)")
    axes.legend()
    return figure
