"""Compiled programs beside their ports: one row a program, and what the rows come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from rich.table import Table

from benchmarks.published.engines import PORTED
from benchmarks.published.report import geometric_mean
from benchmarks.published.runs import Result
from benchmarks.report import duration


@dataclass(frozen=True)
class Known:
    """What a collection says of its programs: those that are made of loops, and figures that others have measured."""

    loops: Sequence[str] = ()
    quoted: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """One program compiled by bridge, and its port by JAX."""

    ours: Result
    port: Result

    @property
    def speed(self) -> float | None:
        """Time of the port in times of ours, in processor time."""
        return self.port.processor / self.ours.processor if self.both and self.ours.processor else None

    @property
    def compiling(self) -> float | None:
        """Compile time of ours in times of the port's."""
        return self.ours.compiling / self.port.compiling if self.both else None

    @property
    def is_of_one_program(self) -> bool:
        """Whether the port has the program's gradient; what another program costs says little of this one."""
        return self.port.verdict == "right"

    @property
    def both(self) -> bool:
        """Whether both were timed and ours is right; a port may be another algorithm, which has another gradient."""
        return self.ours.verdict == "right" and all(each.processor for each in (self.ours, self.port))


def pairs(results: Sequence[Result]) -> list[Pair]:
    """Programs that were run in both ways."""
    found = {(each.name, each.engine): each for each in results if each.differentiable}
    names = dict.fromkeys(each.name for each in results)
    keys = [((name, "xla"), (name, PORTED)) for name in names]
    return [Pair(found[ours], found[port]) for ours, port in keys if ours in found and port in found]


def table(results: Sequence[Result], known: Known) -> Table | None:
    """One row a program: times in processor time, ratios, compile times, temporary memory; None without programs."""
    rows = pairs(results)
    if not rows:
        return None
    shown = Table(title="xla beside jax.jit(jax.grad) of the port, in processor time", title_justify="left")
    shown.add_column("program")
    columns = ["xla", "jax", "jax / xla", "compile xla", "compile jax", "xla / jax", "memory xla", "memory jax"]
    for column in (*columns, *([known.quoted] if known.figures else [])):
        shown.add_column(column, justify="right")
    for pair in rows:
        shown.add_row(*cells(pair, known))
    return shown


def cells(pair: Pair, known: Known) -> list[str]:
    """The cells of one row; in place of a time that is missing, the verdict."""
    both = (pair.ours, pair.port)
    figure = known.figures.get(pair.ours.name)
    return [
        pair.ours.name,
        *(duration(each.processor) if each.processor else each.verdict for each in both),
        "-" if pair.speed is None else f"{pair.speed:.3g}",
        *("-" if each.compiling is None else duration(each.compiling) for each in both),
        "-" if pair.compiling is None else f"{pair.compiling:.3g}",
        *("-" if each.memory is None else f"{each.memory / 2**20:,.1f} MiB" for each in both),
        *([] if not known.figures else ["-" if figure is None else duration(figure / 1e3)]),
    ]


def summary(results: Sequence[Result], known: Known) -> Iterator[str]:
    """Lines: how many compile and are right, ratios of time and of compile time, the slowest."""
    rows = pairs(results)
    if not rows:
        return
    ours = [pair.ours for pair in rows]
    compiled = [each for each in ours if each.first is not None]
    right = [each for each in ours if each.verdict == "right"]
    yield f"{len(compiled)} of {len(ours)} compile, {len(right)} are right"
    compared = [pair for pair in rows if pair.speed is not None]
    if not compared:
        return
    loops = [pair for pair in compared if pair.ours.name in known.loops]
    asked = [pair for pair in rows if pair.ours.name in known.loops]
    yield f"jax takes {speeds(compared)} the time of xla, geometric mean of {len(compared)}" + (
        f"; {speeds(loops)} over {len(loops)} of the {len(asked)} made of loops" if loops else ""
    )
    strays = [pair for pair in compared if not pair.is_of_one_program]
    if strays:
        same, same_loops = ([pair for pair in rows if pair not in strays] for rows in (compared, loops))
        names = ", ".join(pair.ours.name for pair in strays)
        yield (
            f"{len(strays)} ports have another gradient than the program ({names}); "
            f"without them {speeds(same)}" + (f", {speeds(same_loops)} over {len(same_loops)}" if same_loops else "")
        )
    slowest = sorted(compared, key=lambda pair: pair.speed or 0)[:3]
    yield "slowest beside jax: " + ", ".join(f"{each.ours.name} {each.speed:.3g}" for each in slowest)
    longest = sorted(compared, key=lambda pair: -(pair.compiling or 0))[:3]
    yield (
        f"compiling takes {geometric_mean([pair.compiling or 1 for pair in compared]):.3g} times as long as for jax, "
        "geometric mean; longest: " + ", ".join(f"{each.ours.name} {each.compiling:.3g}" for each in longest)
    )
    quoted = [pair for pair in loops if pair.ours.name in known.figures]
    if quoted:
        best = [
            min(known.figures[pair.ours.name] / 1e3, (pair.port.processor or 0) if pair.is_of_one_program else inf)
            for pair in quoted
        ]
        ratios = [(pair.ours.processor or 0) / other for pair, other in zip(quoted, best, strict=True)]
        yield (
            f"xla takes {geometric_mean(ratios):.3g} times the time of the better of jax and {known.quoted}, "
            f"geometric mean of {len(quoted)} made of loops"
        )


def speeds(rows: Sequence[Pair]) -> str:
    """The geometric mean of the ports' times in times of ours."""
    return f"{geometric_mean([pair.speed for pair in rows if pair.speed]):.3g} times"
