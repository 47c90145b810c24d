"""What `bridge` has to reach, judged on the numbers of this run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks import memory
from benchmarks.programs import WORKLOADS
from benchmarks.timing import Cell

Cells = dict[str, dict[str, Cell]]

LARGE_LOG = 1.5e9
CHECKPOINTED_LOG = 150e6


@dataclass(frozen=True)
class Requirement:
    """One bound, what was measured, and whether it holds; `note` says what the number is made of."""

    title: str
    bound: float
    measured: float
    unit: str = "x"
    at_least: bool = False
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether the bound holds."""
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound


def of_times(cells: Cells) -> Iterator[Requirement]:
    """Requirements on speed whose two times were both measured in this run."""
    operations = {workload.name: workload.operations for workload in WORKLOADS}

    def compare(
        title: str, bound: float, upper: tuple[str, str], lower: tuple[str, str], *, at_least: bool = False
    ) -> Iterator[Requirement]:
        above, below = (cells.get(name, {}).get(peer, Cell()) for name, peer in (upper, lower))
        if not above.samples or not below.samples:
            return
        each = operations[upper[0]]
        scale, unit = (1e6 / each, "µs") if each else (1.0, "s")
        shown = f"{above.seconds * scale:.4g} {unit} against {below.seconds * scale:.4g} {unit}"
        fastest = f"{above.fastest / below.fastest:.3g}x between the fastest"
        yield Requirement(title, bound, above.seconds / below.seconds, at_least=at_least, note=f"{shown}; {fastest}")

    yield from compare("slice-write gradient, 1e7 against 1e4", 5, ("writes-1e7", "bridge"), ("writes-1e4", "bridge"))
    yield from compare(
        "slice-write gradient at 1e6, PyTorch against bridge",
        100,
        ("writes-1e6", "torch"),
        ("writes-1e6", "bridge"),
        at_least=True,
    )
    yield from compare("per operation, 8 elements, against PyTorch", 1, ("chain", "bridge"), ("chain", "torch"))
    yield from compare("per operation, scalars, against PyTorch", 1, ("scalars", "bridge"), ("scalars", "torch"))
    yield from compare("heat 1e6, gradient against NumPy forward", 5, ("heat-1e6", "bridge"), ("heat-1e6", "numpy"))


def of_memory(wanted: Callable[[str], bool], say: Callable[[str], None], *, long: bool) -> Iterator[Requirement]:
    """Requirements on memory for the `wanted` cases; `say` is told of each before its processes start."""
    for workload in WORKLOADS:
        if workload.name in memory.MEASURED and wanted(workload.name):
            say(f"memory of {workload.name}")
            count = memory.footprint(workload)
            peak = memory.measure(workload.name, "tracemalloc")
            note = (
                f"peak {megabytes(peak)}, counted {megabytes(count.total)}; "
                f"{peak / count.total_with_arguments:.2f}x with the arguments' copies"
            )
            yield Requirement(f"peak memory of {workload.name} against its count", 1.2, peak / count.total, note=note)
    if not long:
        return
    for case, bound in ((memory.LONG, LARGE_LOG), (memory.LONG_CHECKPOINTED, CHECKPOINTED_LOG)):
        if wanted(case):
            say(f"memory of {case}")
            for meter in memory.METERS:
                measured = memory.measure(case, meter) / 1e6
                yield Requirement(f"1,000,000 entries, {case}, {meter}", bound / 1e6, measured, "MB")


def megabytes(size: float) -> str:
    """A size in MB."""
    return f"{size / 1e6:.4g} MB"
