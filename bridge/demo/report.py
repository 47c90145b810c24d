"""What the demo runs and prints: both jobs under progress bars, and the table of results against what is required."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bridge.demo import digits, plots, reaction_diffusion
from bridge.demo.digits import TEST_IMAGES, Trained
from bridge.demo.proof import Proof
from bridge.demo.reaction_diffusion import INITIAL, NAMES, NOISE, TRUE, Calibrated

LEAST_ACCURACY = 0.95
LARGEST_PARAMETER_ERROR = 0.02
LARGEST_GRADIENT_ERROR = 1e-6
LARGEST_VALUE_ERROR = 1e-12


@dataclass(frozen=True)
class Check:
    """One row of the table: what was measured, what is required, and whether that holds."""

    job: str
    quantity: str
    measured: str
    required: str
    passed: bool


def run(output: Path, quick: bool) -> int:
    """Run both jobs, print the results and save the plots; 0 if every requirement of the table holds, else 1."""
    console = Console()
    steps = 40 if quick else 80
    problem = reaction_diffusion.QUICK if quick else reaction_diffusion.FULL
    with progress(console) as bar:
        with counting(bar, "training on the digits", steps) as on_step:
            trained = digits.train(steps, on_step)
        with counting(bar, "calibrating Gray-Scott", reaction_diffusion.MOST_STEPS) as on_step:
            calibrated = reaction_diffusion.calibrate(problem, on_step)

    checks = [*digits_checks(trained), *calibration_checks(calibrated)]
    print_results(console, checks, calibrated)
    for path in (plots.draw_digits(trained, output), plots.draw_calibration(calibrated, output)):
        console.print(f"saved {path}", soft_wrap=True, highlight=False)
    return 0 if all(check.passed for check in checks) else 1


def digits_checks(trained: Trained) -> list[Check]:
    """Rows of the training: the accuracy on images that it has not seen, and its gradient."""
    job = "digits"
    accuracy = Check(
        job,
        f"test accuracy, {TEST_IMAGES} images",
        f"{trained.accuracy:.2%}",
        f">= {LEAST_ACCURACY:.0%}",
        trained.accuracy >= LEAST_ACCURACY,
    )
    return [accuracy, *_proof_checks(job, trained.proof)]


def calibration_checks(calibrated: Calibrated) -> list[Check]:
    """Rows of the calibration: each parameter's error, and its gradient."""
    job = "Gray-Scott"
    parameters = [
        Check(job, f"error of {name}", f"{error:.2%}", f"<= {LARGEST_PARAMETER_ERROR:.0%}", bool(passed))
        for name, error, passed in zip(
            NAMES, calibrated.errors, calibrated.errors <= LARGEST_PARAMETER_ERROR, strict=True
        )
    ]
    return [*parameters, *_proof_checks(job, calibrated.proof)]


def _proof_checks(job: str, proof: Proof) -> Iterator[Check]:
    for quantity, error, largest in (
        ("gradient error", proof.gradient_error, LARGEST_GRADIENT_ERROR),
        ("value error", proof.value_error, LARGEST_VALUE_ERROR),
    ):
        yield Check(job, quantity, f"{error:.1e}", f"<= {largest:.0e}", error <= largest)
    ratio = proof.gradient_seconds / proof.forward_seconds
    cost = f"{proof.gradient_seconds * 1e3:.3g} ms ({ratio:.1f}x)"
    yield Check(job, "time of gradient (x plain)", cost, "", True)


def print_results(console: Console, checks: list[Check], calibrated: Calibrated) -> None:
    """Print the table of checks, and that of the recovered parameters."""
    table = Table(
        title="Results",
        title_justify="left",
        caption="gradient error: against finite differences along random directions\n"
        "value error: of the value under differentiation against the plain program's",
        caption_justify="left",
    )
    for heading in ("job", "quantity", "measured", "required", ""):
        table.add_column(heading, justify="right" if heading in ("measured", "required") else "left")
    for row, check in enumerate(checks):
        last_of_job = row + 1 == len(checks) or checks[row + 1].job != check.job
        verdict = ("[green]ok" if check.passed else "[red]FAILED") if check.required else ""
        table.add_row(check.job, check.quantity, check.measured, check.required, verdict, end_section=last_of_job)
    console.print(table)

    misfits = [misfit / NOISE**2 for misfit in calibrated.misfits]
    recovered = Table(
        title="Gray-Scott parameters",
        title_justify="left",
        caption=f"misfit / noise variance: {misfits[0]:.2f}, after {len(misfits) - 1} steps {misfits[-1]:.3f}",
        caption_justify="left",
    )
    recovered.add_column("parameter")
    for heading in ("true", "initial", "recovered", "error"):
        recovered.add_column(heading, justify="right")
    for name, true, initial, found in zip(NAMES, TRUE, INITIAL, calibrated.parameters[-1], strict=True):
        recovered.add_row(name, f"{true:.4f}", f"{initial:.4f}", f"{found:.4f}", f"{found / true - 1:+.2%}")
    console.print(recovered)


def progress(console: Console) -> Progress:
    """A progress display with the number of steps and the time that they took."""
    return Progress(
        TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
    )


@contextmanager
def counting(bar: Progress, description: str, most: int) -> Iterator[Callable[[], None]]:
    """Add a line of at most `most` steps to the display; what is yielded counts one step."""
    task = bar.add_task(description, total=most)
    yield lambda: bar.advance(task)
    bar.update(task, total=bar.tasks[task].completed)
