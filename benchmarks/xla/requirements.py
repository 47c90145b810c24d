"""What `bridge.xla` has to reach, judged on the numbers of this run."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping

from benchmarks.requirements import Cells, Requirement
from benchmarks.timing import Cell

AGREEMENT = 1e-10

FASTER = ("writes-1e6", 50)
FLAT = ("writes-1e6", "writes-1e4", 3)
AS_FAST = {
    "heat-1e6": "heat 1e6",
    "heat-1e3": "heat 1e3",
    "recurrence-1e3": "recurrence of 1,000",
    "recurrence-1e4": "recurrence of 10,000",
    "digits": "digits",
}
NOT_SLOWER = 1.1


def of_times(cells: Cells, allocated: Mapping[str, list[float]]) -> Iterator[Requirement]:
    """Requirements whose times were all measured; `allocated` holds seconds of full-size allocations by workload."""
    name, bound = FASTER
    ours, theirs = pair(cells, name)
    if ours.samples and theirs.samples:
        yield Requirement(
            "slice-write gradient at 1e6, jax.grad against ours",
            bound,
            theirs.seconds / ours.seconds,
            at_least=True,
            note=f"{against(theirs, ours)}; {versus(cells, name, 'option', ours)}",
        )
    yield from flatness(cells, allocated)
    for name, title in AS_FAST.items():
        ours, theirs = pair(cells, name)
        if ours.samples and theirs.samples:
            note = f"{against(ours, theirs)}; {ours.fastest / theirs.fastest:.3g}x between the fastest"
            rewritten = cells[name].get("rewritten", Cell())
            if rewritten.samples:
                note += f"; {ours.seconds / rewritten.seconds:.3g}x of the program without writes"
            yield Requirement(f"{title}, against jax.grad", NOT_SLOWER, ours.seconds / theirs.seconds, note=note)


def flatness(cells: Cells, allocated: Mapping[str, list[float]]) -> Iterator[Requirement]:
    """How the time of the writes themselves grows with the array that they write into."""
    large, small, bound = FLAT
    ours = [cells.get(name, {}).get("xla", Cell()) for name in (large, small)]
    if not all(cell.samples for cell in ours):
        return
    full = [statistics.median(allocated[name]) for name in (large, small)]
    net = [cell.seconds - seconds for cell, seconds in zip(ours, full, strict=True)]
    yield Requirement(
        "slice-write gradient, 1e6 against 1e4, without allocations",
        bound,
        net[0] / net[1],
        note=f"({ours[0].seconds * 1e3:.3g} - {full[0] * 1e3:.3g}) ms against "
        f"({ours[1].seconds * 1e3:.3g} - {full[1] * 1e3:.3g}) ms; "
        f"{ours[0].seconds / ours[1].seconds:.3g}x with them",
    )


def pair(cells: Cells, name: str) -> tuple[Cell, Cell]:
    """Our cell and jax.grad's."""
    row = cells.get(name, {})
    return row.get("xla", Cell()), row.get("jax", Cell())


def against(upper: Cell, lower: Cell) -> str:
    """Both times."""
    return f"{upper.seconds * 1e3:.4g} ms against {lower.seconds * 1e3:.4g} ms"


def versus(cells: Cells, name: str, other: str, ours: Cell) -> str:
    """The ratio to a column that the requirement does not ask for."""
    cell = cells[name].get(other, Cell())
    return f"{cell.seconds / ours.seconds:.3g}x with XLA's option" if cell.samples else "no other column"


def disagreements(cells: Cells) -> list[str]:
    """The cells whose gradients are not those of the row's first column."""
    return [
        f"{name}, {key}: gradients differ by {cell.difference:.2g}"
        for name, row in cells.items()
        for key, cell in row.items()
        if cell.difference is not None and not cell.difference <= AGREEMENT
    ]
