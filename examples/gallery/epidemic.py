"""When did the measures begin? A Julia model of an epidemic, as SciML's users write them, fitted by SciPy.

The right-hand side is Julia's and overwrites `du`; the Runge–Kutta steps around it are NumPy's and overwrite the state.
Its derivative is Zygote's, run over Buffers; nobody writes a rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

import bridge

RIGHT_HAND_SIDE = """
function seir!(du, u, p, t)
    S, E, I, R = u
    β = p[1] + (p[2] - p[1]) / (1 + exp(-(t - p[3]) / 2))
    du[1] = -β * S * I
    du[2] = β * S * I - E / 3
    du[3] = E / 3 - I / 7
    du[4] = I / 7
    return nothing
end
"""
NAMES = ("contacts before", "contacts after", "day of change")
TRUTH, START = np.array([0.55, 0.12, 38.0]), np.array([0.45, 0.25, 30.0])
SCALE = np.array([1.0, 1.0, 50.0])
DAYS = 90


def infected(p: Any, seir: Any, days: int = DAYS) -> Any:
    """The share of people who are infectious, day by day: one step of Runge and Kutta's a day."""
    u, seen, stages = np.array([0.999, 0.0, 0.001, 0.0]), np.zeros(days), np.zeros((4, 4))
    for day in range(days):
        for k, part in enumerate((0.0, 0.5, 0.5, 1.0)):
            at = u + part * stages[k - 1] if k else u
            seir(stages[k], at, p, day + part)
        u += (stages[0] + 2 * stages[1] + 2 * stages[2] + stages[3]) / 6
        seen[day] = u[2]
    return seen


def misfit(scaled: Any, seir: Any, observed: np.ndarray) -> Any:
    """Mean square of relative differences."""
    off = infected(scaled * SCALE, seir, len(observed))
    off -= observed
    return np.mean((off / (0.001 + 0.05 * observed)) ** 2)


def run(days: int = DAYS) -> tuple[str, Any]:
    """Fit the model; what was found, in words, and a picture."""
    seir = bridge.julia.function(RIGHT_HAND_SIDE, mutates="du")
    clean = infected(TRUTH, seir, days)
    observed = clean + (0.001 + 0.05 * clean) * np.random.default_rng(3).standard_normal(days)
    fit = bridge.objective(misfit, START / SCALE, seir, observed)
    found = minimize(fit.fun, fit.x0, jac=fit.jac, method="L-BFGS-B", bounds=[(0.05, 1), (0.05, 1), (0, 2)])
    p = fit.parameters(found.x) * SCALE
    lines = [f"{'':16} {'start':>7} {'found':>7} {'true':>7}"]
    lines += [f"{name:16} {a:7.3f} {b:7.3f} {c:7.3f}" for name, a, b, c in zip(NAMES, START, p, TRUTH, strict=True)]
    lines.append(f"misfit {found.fun:.3f} after {found.nfev} gradients through {4 * days} calls of Julia")
    return "\n".join(lines), _picture(observed, p, seir)


def _picture(observed: np.ndarray, p: np.ndarray, seir: Any) -> Any:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
    days = len(observed)
    axes.plot(100 * observed, "k.", label="counted")
    axes.plot(100 * infected(START, seir, days), "C0:", label="start")
    axes.plot(100 * infected(p, seir, days), "C3", label="fitted")
    axes.axvline(p[2], color="C3", alpha=0.4, label=f"contacts change, day {p[2]:.1f}")
    axes.set(xlabel="day", ylabel="infectious, %", ylim=(0, 130 * observed.max()))
    axes.legend()
    return figure
