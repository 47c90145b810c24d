"""A small ocean model in several modules."""

from .constants import DEFAULTS
from .model import Ocean, run

__all__ = ["DEFAULTS", "Ocean", "run"]
