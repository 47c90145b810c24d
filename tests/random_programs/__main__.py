"""`python -m tests.random_programs COUNT`: random programs that mutate, under the engines; the text of those that fail.

A program is known by its seed: `--first` goes on where another run ended.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import compile_quickly
from tests.random_programs.hazards import HAZARDS
from tests.random_programs.hosts import HOSTS
from tests.random_programs.program import RandomProgram
from tests.random_programs.reduction import smallest
from tests.random_programs.verdict import FAILURES, UNFIT, Verdict, judged
from tests.random_programs.writing import STATEMENTS, program_of

JOINED = "xla"
FAMILIES = {"arrays": STATEMENTS, "hazards": HAZARDS, "hosts": HOSTS}
# Seeds that a process runs before it reports, if no more are compiled together.
AT_ONCE = 50

Ended = list[tuple[str, Verdict, str]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs", description=__doc__)
    parser.add_argument("count", type=int, help="how many programs to run; those that are unfit do not count")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the seed to begin with")
    parser.add_argument("--engines", nargs="+", default=["native"], metavar="ENGINE")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES, help="kinds of statements")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--output", type=Path, metavar="FILE", help="append the programs that fail to FILE")
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="compile N programs as one, under xla (1)")
    parser.add_argument("--optimised", action="store_true", help="let XLA optimise programs, as it does for users")
    options = parser.parse_args()
    if not options.optimised:
        compile_quickly()
    work = Work(tuple(options.engines), tuple(options.families), options.batch)
    ended, refused = {engine: Counter[str]() for engine in options.engines}, Counter[str]()
    start, seed, shown = time.monotonic(), options.first, 0.0
    with suppress(KeyboardInterrupt):
        for seed, batch in batches(options.first, work, options.jobs):
            for engine, verdict, text in batch:
                ended[engine][verdict.kind] += 1
                refused[f"{engine}: {verdict.what}"] += bool(verdict.what)
                if text:
                    report = f"seed and engine: {text}"
                    print(report, flush=True)
                    if options.output:
                        with options.output.open("a", encoding="utf-8") as file:
                            file.write(report + "\n")
            done = max(counted.total() - counted[UNFIT] for counted in ended.values())
            rate = done / (time.monotonic() - start)
            if time.monotonic() - shown > 10 or done >= options.count:
                shown = time.monotonic()
                print(f"{done} programs, {rate:.1f} a second, seeds to {seed}: {describe(ended)}", flush=True)
            if done >= options.count:
                break
    for what, count in refused.most_common(40):
        print(f"{count:7} {what}")
    print(f"seeds {options.first} to {seed - 1}: {describe(ended)}")
    return 1 if any(counted[kind] for counted in ended.values() for kind in FAILURES) else 0


@dataclass(frozen=True)
class Work:
    """What is done to each seed."""

    engines: tuple[str, ...]
    families: tuple[str, ...]
    together: int = 1

    @property
    def seeds(self) -> int:
        return max(AT_ONCE, self.together)


def batches(first: int, work: Work, jobs: int) -> Iterator[tuple[int, Ended]]:
    """What came of the seeds from `first` on, and the seed that is next."""
    if jobs == 1:
        while True:
            yield first + work.seeds, run(first, work)
            first += work.seeds
    with ProcessPoolExecutor(jobs) as pool:
        waiting = [pool.submit(run, first + k * work.seeds, work) for k in range(2 * jobs)]
        try:
            while True:
                yield first + work.seeds, waiting.pop(0).result()
                first += work.seeds
                waiting.append(pool.submit(run, first + (2 * jobs - 1) * work.seeds, work))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def run(first: int, work: Work) -> Ended:
    """Each program of some seeds under each engine: what came of it, and the text of one that fails, made small."""
    statements = [statement for family in work.families for statement in FAMILIES[family]]
    written = [(seed, program_of(seed, statements)) for seed in range(first, first + work.seeds)]
    programs = [(seed, program) for seed, program in written if program is not None]
    ended: Ended = []
    for engine in work.engines:
        for (seed, program), verdict in zip(programs, verdicts([p for _, p in programs], engine, work), strict=True):
            text = ""
            if verdict.kind in FAILURES:
                alike = (verdict.kind, verdict.what)
                small = smallest(program, lambda one, engine=engine, alike=alike: ends(one, engine) == alike)
                text = f"{seed} {engine}: {judged(small, engine).detail or verdict.detail}\n{small!r}"
            ended.append((engine, verdict, text))
    return ended


def verdicts(programs: list[RandomProgram], engine: str, work: Work) -> Iterator[Verdict]:
    if engine != JOINED or work.together == 1:
        yield from (judged(program, engine) for program in programs)
        return
    from tests.random_programs.together import judged_together

    for first in range(0, len(programs), work.together):
        yield from judged_together(programs[first : first + work.together])


def describe(ended: dict[str, Counter[str]]) -> str:
    return "; ".join(f"{engine} {dict(counted)}" for engine, counted in ended.items())


def ends(program: RandomProgram, engine: str) -> tuple[str, str]:
    verdict = judged(program, engine)
    return verdict.kind, verdict.what


if __name__ == "__main__":
    sys.exit(main())
