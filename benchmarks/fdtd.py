"""`python -m benchmarks.fdtd CHECKOUT`: simulations by the package fdtd (flaport/fdtd), as it stands.

The package solves Maxwell's equations in time: a grid object holds the fields, which boundaries, sources and objects
write in place, step by step, through a table of functions that stands for NumPy or PyTorch. It needs tqdm, matplotlib
and SciPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.published import command
from benchmarks.published.program import Program

TITLE = "fdtd"
SIZES = {"S": 40, "M": 100, "L": 250}
PRESETS = tuple(SIZES)


def names(checkout: Path) -> list[str]:
    """The simulations, if the checkout has the package."""
    return list(SIMULATIONS) if (checkout / "fdtd" / "grid.py").exists() else []


def load(checkout: Path, name: str, preset: str, own_dtype: bool) -> Program:
    """One simulation with its arguments, which are in float64 anyway."""
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))
    import fdtd

    function, arguments = SIMULATIONS[name](fdtd, SIZES[preset])
    return Program(function, arguments, function)


def scattering(fdtd: ModuleType, size: int) -> tuple[Callable[..., Any], dict[str, Any]]:
    """How fields depend on the permittivity of an object between a source and absorbing borders."""
    middle = slice(size // 3, 2 * size // 3)
    width = middle.stop - middle.start

    def run(permittivity: Any) -> Any:
        grid = fdtd.Grid((size, size, 1))
        grid[:5, :, :] = fdtd.PML()
        grid[-5:, :, :] = fdtd.PML()
        grid[:, :5, :] = fdtd.PML()
        grid[:, -5:, :] = fdtd.PML()
        grid[middle, middle, 0] = fdtd.Object(permittivity)
        grid[7, 8 : size - 8, 0] = fdtd.LineSource(period=12)
        grid.run(2 * size, progress_bar=False)
        return grid.E, grid.H

    draw = np.random.default_rng(0).uniform
    return run, {"permittivity": draw(1.5, 4.0, (width, width, 1))}


def initial_fields(fdtd: ModuleType, size: int) -> tuple[Callable[..., Any], dict[str, Any]]:
    """How fields depend on the fields at the beginning, in a periodic grid that was made before."""
    random = np.random.default_rng(0)
    grid = fdtd.Grid((size, size, 1), permittivity=random.uniform(1.0, 3.0, (size, size, 1)))
    grid[0, :, :] = fdtd.PeriodicBoundary()
    grid[:, 0, :] = fdtd.PeriodicBoundary()

    def run(electric: Any, magnetic: Any) -> Any:
        grid.E[...] = electric
        grid.H[...] = magnetic
        grid.run(2 * size, progress_bar=False)
        return grid.E.copy(), grid.H.copy()

    shape = (size, size, 1, 3)
    return run, {"electric": random.standard_normal(shape), "magnetic": random.standard_normal(shape)}


SIMULATIONS = {"scattering": scattering, "initial_fields": initial_fields}


if __name__ == "__main__":
    sys.exit(command.main(sys.modules[__name__], "benchmarks.fdtd"))
