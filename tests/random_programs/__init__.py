"""Random programs of views, in-place operations, aliases and loops, for every evaluator of NumPy source."""

from tests.random_programs.program import RandomProgram
from tests.random_programs.writing import programs

__all__ = ["RandomProgram", "programs"]
