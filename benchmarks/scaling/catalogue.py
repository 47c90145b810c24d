"""The programs as a collection that the harness of published programs can run: `stencil/steps=100/size=1000`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.published.modules import load_module, load_precise
from benchmarks.published.program import Program

FILE = Path(__file__).with_name("programs.py")


def named(program: str, steps: int, size: int) -> str:
    """The name of one point."""
    return f"{program}/steps={steps}/size={size}"


def load(checkout: Path, name: str, preset: str, own_dtype: bool) -> Program:
    """The program of a point with an array of its size; the other arguments are those of every collection."""
    program, steps, size = name.split("/")
    arguments = {
        "steps": int(steps.removeprefix("steps=")),
        "u": np.random.default_rng(0).uniform(0.2, 1.0, int(size.removeprefix("size="))),
    }
    modules = load_module(FILE, "scaling_programs"), load_precise(FILE, "scaling_programs")
    function, precise = (getattr(module, program) for module in modules)
    return Program(function, arguments, precise)
