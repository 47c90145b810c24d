"""`python -m bridge demo`: train on real data and calibrate a simulation, with gradients of in-place NumPy code."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from bridge.errors import install_line

__all__ = ["run"]

NEEDED = ("scipy", "sklearn", "matplotlib", "rich")


def run(output: Path, quick: bool = False) -> int:
    """Run both jobs, print the table of results and save the plots into the folder `output`.

    Returns the exit status: 0 if every requirement of the table holds, 1 if one does not or the demo cannot run: a
    package is missing, or `output` cannot be made.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(f"The demo needs {', '.join(missing)}. Type:\n  {install_line('demo')}", file=sys.stderr)
        return 1
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"The plots cannot be saved into {output}: {error.strerror}.", file=sys.stderr)
        return 1

    # By name: its modules import what was looked for above.
    status: int = import_module("bridge.demo.report").run(output, quick)
    return status
