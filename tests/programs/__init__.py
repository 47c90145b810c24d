"""Programs as data: each runs under plain NumPy and under every engine, and both must agree."""

from tests.programs import (
    aliasing,
    complex_numbers,
    control_flow,
    dtypes,
    indices,
    kinks,
    layout,
    linear_algebra,
    mutation,
    nonfinite,
    randomness,
    without_axes,
)
from tests.programs.record import Program

__all__ = ["PROGRAMS", "Program"]

FAMILIES = (
    mutation,
    aliasing,
    indices,
    nonfinite,
    kinks,
    complex_numbers,
    control_flow,
    randomness,
    dtypes,
    linear_algebra,
    layout,
    without_axes,
)
PROGRAMS: tuple[Program, ...] = tuple(each for family in FAMILIES for each in family.program.programs)
