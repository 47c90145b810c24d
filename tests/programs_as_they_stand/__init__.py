"""Programs as they stand: plain NumPy, SciPy and the standard library, in the style of real code."""

from tests.programs_as_they_stand import (
    agents,
    cfd,
    classes_with_state,
    constructs,
    decorators,
    ecology,
    finance,
    geophysics,
    habits,
    machine_learning,
    notebooks,
    numerical_methods,
    numpy_corners,
    packages,
    physics,
    python_corners,
    scipy_users,
    signal_processing,
    statistics_models,
    ways,
)
from tests.programs_as_they_stand.record import Program

__all__ = ["PROGRAMS", "Program"]

FIELDS = (
    cfd,
    ecology,
    signal_processing,
    finance,
    agents,
    physics,
    python_corners,
    statistics_models,
    ways,
    machine_learning,
    classes_with_state,
    geophysics,
    numerical_methods,
    numpy_corners,
    constructs,
    decorators,
    habits,
    notebooks,
    packages,
    scipy_users,
)
PROGRAMS: tuple[Program, ...] = tuple(each for field in FIELDS for each in field.program.programs)
