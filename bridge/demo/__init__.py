"""`python -m bridge demo`: train on real data and calibrate a simulation, with gradients of in-place NumPy code."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from bridge.cli.doctor import install_line

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

    from rich.console import Console

    from bridge.demo import digits, plots, reaction_diffusion, report

    console = Console()
    steps = 40 if quick else 80
    problem = reaction_diffusion.QUICK if quick else reaction_diffusion.FULL
    with report.progress(console) as bar:
        with report.counting(bar, "training on the digits", steps) as on_step:
            trained = digits.train(steps, on_step)
        with report.counting(bar, "calibrating Gray-Scott", reaction_diffusion.MOST_STEPS) as on_step:
            calibrated = reaction_diffusion.calibrate(problem, on_step)

    checks = [*report.digits_checks(trained), *report.calibration_checks(calibrated)]
    report.print_results(console, checks, calibrated)
    for path in (plots.draw_digits(trained, output), plots.draw_calibration(calibrated, output)):
        console.print(f"saved {path}", soft_wrap=True, highlight=False)
    return 0 if all(check.passed for check in checks) else 1
