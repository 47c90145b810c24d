"""`python -m benchmarks.pyhpc CHECKOUT`: the NumPy backends of dionhaefner/pyhpc-benchmarks, as they stand.

Three parts of an ocean model: the equation of state, isoneutral mixing and turbulent kinetic energy. Their inputs are
drawn by the collection itself, and some of them are written. Masks, which are zero or one, are not differentiated.
"""

from __future__ import annotations

import inspect
import sys
from itertools import islice
from pathlib import Path

from benchmarks.published import command
from benchmarks.published.modules import load_module, load_precise
from benchmarks.published.program import Program, in_precision

TITLE = "pyhpc-benchmarks"
SIZES = {"S": 2**12, "M": 2**16, "L": 2**20}
PRESETS = tuple(SIZES)

# The module of each program, and the function in it that names the inputs.
PROGRAMS = {
    "equation_of_state": ("eos", "gsw_dHdT"),
    "isoneutral_mixing": ("isoneutral", "isoneutral_diffusion_pre"),
    "turbulent_kinetic_energy": ("tke", "integrate_tke"),
}


def names(checkout: Path) -> list[str]:
    """The programs that the checkout has."""
    return [name for name, (stem, _) in PROGRAMS.items() if (numpy_file(checkout, name, stem)).exists()]


def load(checkout: Path, name: str, preset: str, own_dtype: bool) -> Program:
    """One program with the inputs that the collection draws, which are in float64 anyway."""
    stem, named = PROGRAMS[name]
    path = numpy_file(checkout, name, stem)
    inputs = load_module(path.with_name("__init__.py"), f"pyhpc_{name}", package=True).generate_inputs(SIZES[preset])
    module = load_module(path, f"pyhpc_{stem}_numpy")
    arguments = dict(
        zip(islice(inspect.signature(getattr(module, named)).parameters, len(inputs)), inputs, strict=True)
    )
    if not own_dtype:
        arguments = {key: in_precision(value) for key, value in arguments.items()}
    masks = tuple(key for key in arguments if key.startswith("mask"))
    return Program(module.run, arguments, load_precise(path, f"pyhpc_{stem}_numpy").run, constant=masks)


def numpy_file(checkout: Path, name: str, stem: str) -> Path:
    """Where the NumPy backend of a program is."""
    return checkout / "benchmarks" / name / f"{stem}_numpy.py"


if __name__ == "__main__":
    sys.exit(command.main(sys.modules[__name__], "benchmarks.pyhpc"))
