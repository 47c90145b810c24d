"""Gray-Scott reaction and diffusion, advanced in place: its parameters recovered from a noisy run.

Two substances on a periodic grid: `u` is fed in and consumed, `v` grows where both meet and is killed off,

    du/dt = Du lap(u) - u v^2 + F (1 - u)
    dv/dt = Dv lap(v) + u v^2 - (F + k) v

with unit grid spacing and unit time step (Pearson, Complex patterns in a simple system, Science 261, 1993).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

import bridge
from bridge.demo.proof import Proof, prove

NAMES = ("feed F", "kill k", "diffusion Du", "diffusion Dv")
TRUE = np.array([0.035, 0.060, 0.16, 0.08])
INITIAL = np.array([0.050, 0.054, 0.12, 0.06])
# Diffusion stays below the 1/4 beyond which the explicit time step blows up; a line search would find that out.
BOUNDS = np.array([(0.01, 0.1), (0.03, 0.08), (0.02, 0.2), (0.02, 0.2)])
NOISE = 0.05
MOST_STEPS = 60
SEED = 0


@dataclass(frozen=True)
class Problem:
    """Size of a run: a `cells` x `cells` grid, seen `snapshots` times, every `interval` time steps."""

    cells: int
    snapshots: int
    interval: int


FULL = Problem(cells=64, snapshots=12, interval=20)
QUICK = Problem(cells=32, snapshots=10, interval=10)


@dataclass(frozen=True)
class Calibrated:
    """A finished calibration.

    Attributes
    ----------
    parameters, misfits : parameters (F, k, Du, Dv) and misfit, at the start and after each step.
    observed : the last noisy snapshot of `v`.
    runs : `v` at that time, free of noise, with the true, the initial and the recovered parameters.
    """

    parameters: list[np.ndarray]
    misfits: list[float]
    observed: np.ndarray
    runs: dict[str, np.ndarray]
    proof: Proof

    @property
    def errors(self) -> np.ndarray:
        """Relative errors of the recovered parameters."""
        return np.abs(self.parameters[-1] / TRUE - 1)


def wrap(field: np.ndarray) -> None:
    """Fill the border of ghost cells, so that the grid is periodic."""
    field[0], field[-1] = field[-2], field[1]
    field[:, 0], field[:, -1] = field[:, -2], field[:, 1]


def write_laplacian(field: np.ndarray, out: np.ndarray) -> None:
    """Fill `out` with the five-point Laplacian of `field`, which has a border of ghost cells around it."""
    np.add(field[2:, 1:-1], field[:-2, 1:-1], out=out)
    out += field[1:-1, 2:]
    out += field[1:-1, :-2]
    out -= 4 * field[1:-1, 1:-1]


def advance(u: np.ndarray, v: np.ndarray, rates: Any, steps: int, scratch: list[np.ndarray]) -> None:
    """Advance `u` and `v` in place by `steps` time steps, with F, k, Du and Dv as `rates`."""
    feed, kill, diffusion_u, diffusion_v = rates
    change_u, change_v, reaction = scratch
    for _ in range(steps):
        wrap(u)
        wrap(v)
        write_laplacian(u, out=change_u)
        write_laplacian(v, out=change_v)
        change_u *= diffusion_u
        change_v *= diffusion_v
        np.square(v[1:-1, 1:-1], out=reaction)
        reaction *= u[1:-1, 1:-1]
        change_u -= reaction
        change_u += feed * (1 - u[1:-1, 1:-1])
        change_v += reaction
        change_v -= (feed + kill) * v[1:-1, 1:-1]
        u[1:-1, 1:-1] += change_u
        v[1:-1, 1:-1] += change_v


def misfit(log_parameters: np.ndarray, u: np.ndarray, v: np.ndarray, observations: np.ndarray, interval: int) -> Any:
    """Mean squared difference between a run from the state (u, v) and `observations` (snapshots, 2, cells, cells)."""
    u, v = u.copy(), v.copy()
    rates = np.exp(log_parameters)
    scratch = [np.empty_like(u[1:-1, 1:-1]) for _ in range(3)]
    total = 0.0
    for observed_u, observed_v in observations:
        advance(u, v, rates, interval, scratch)
        total += np.mean((u[1:-1, 1:-1] - observed_u) ** 2) + np.mean((v[1:-1, 1:-1] - observed_v) ** 2)
    return total / (2 * len(observations))


def initial_state(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Squares of the second substance, scattered over a grid of the first; ghost cells included."""
    rng = np.random.default_rng(SEED)
    u, v = np.ones((cells + 2, cells + 2)), np.zeros((cells + 2, cells + 2))
    for row, column in rng.integers(1, cells - 5, size=(cells**2 // 400, 2)):
        u[row : row + 6, column : column + 6] = 0.5
        v[row : row + 6, column : column + 6] = 0.25
    return u, v


def snapshots(parameters: np.ndarray, u: np.ndarray, v: np.ndarray, problem: Problem) -> np.ndarray:
    """Run from the state (u, v), and collect what `misfit` compares: (snapshots, 2, cells, cells)."""
    u, v = u.copy(), v.copy()
    scratch = [np.empty((problem.cells, problem.cells)) for _ in range(3)]
    seen = np.empty((problem.snapshots, 2, problem.cells, problem.cells))
    for snapshot in seen:
        advance(u, v, parameters, problem.interval, scratch)
        snapshot[:] = u[1:-1, 1:-1], v[1:-1, 1:-1]
    return seen


def calibrate(problem: Problem, on_step: Callable[[], None]) -> Calibrated:
    """Recover the parameters from a noisy run, starting from INITIAL; call `on_step` after each step of L-BFGS."""
    u, v = initial_state(problem.cells)
    exact = snapshots(TRUE, u, v, problem)
    observations = exact + np.random.default_rng(SEED).normal(scale=NOISE, size=exact.shape)
    arguments = (u, v, observations, problem.interval)
    start = np.log(INITIAL)
    parameters, misfits = [INITIAL], [float(misfit(start, *arguments))]

    def record(intermediate_result: OptimizeResult) -> None:
        parameters.append(np.exp(intermediate_result.x))
        misfits.append(float(intermediate_result.fun))
        on_step()

    minimize(
        bridge.value_and_grad(misfit),
        start,
        args=arguments,
        jac=True,
        method="L-BFGS-B",
        bounds=np.log(BOUNDS),
        callback=record,
        options={"maxiter": MOST_STEPS, "ftol": 1e-9, "gtol": 1e-7},
    )
    runs = {
        name: snapshots(chosen, u, v, problem)[-1, 1]
        for name, chosen in (("true", TRUE), ("initial", INITIAL), ("recovered", parameters[-1]))
    }
    return Calibrated(parameters, misfits, observations[-1, 1], runs, prove(misfit, start, *arguments))
