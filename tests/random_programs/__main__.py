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
from pathlib import Path

from tests.random_programs.hazards import HAZARDS
from tests.random_programs.hosts import HOSTS
from tests.random_programs.program import RandomProgram
from tests.random_programs.reduction import smallest
from tests.random_programs.verdict import FAILURES, UNFIT, Verdict, judged
from tests.random_programs.writing import STATEMENTS, program_of

FAMILIES = {"arrays": STATEMENTS, "hazards": HAZARDS, "hosts": HOSTS}
# Seeds that a process runs before it reports.
BATCH = 50

Ended = list[tuple[str, Verdict, str]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs", description=__doc__)
    parser.add_argument("count", type=int, help="how many programs to run; those that are unfit do not count")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the seed to begin with")
    parser.add_argument("--engines", nargs="+", default=["native"], metavar="ENGINE")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES, help="kinds of statements")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--output", type=Path, metavar="FILE", help="append the programs that fail to FILE")
    options = parser.parse_args()
    ended, refused = {engine: Counter[str]() for engine in options.engines}, Counter[str]()
    start, seed, shown = time.monotonic(), options.first, 0.0
    with suppress(KeyboardInterrupt):
        for seed, batch in batches(options.first, options.engines, options.families, options.jobs):
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


def batches(first: int, engines: list[str], families: list[str], jobs: int) -> Iterator[tuple[int, Ended]]:
    """What came of the seeds from `first` on, and the seed that is next."""
    if jobs == 1:
        while True:
            yield first + BATCH, run(first, engines, families)
            first += BATCH
    with ProcessPoolExecutor(jobs) as pool:
        waiting = [pool.submit(run, first + k * BATCH, engines, families) for k in range(2 * jobs)]
        try:
            while True:
                yield first + BATCH, waiting.pop(0).result()
                first += BATCH
                waiting.append(pool.submit(run, first + (2 * jobs - 1) * BATCH, engines, families))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def run(first: int, engines: list[str], families: list[str]) -> Ended:
    """Each program of a batch under each engine: what came of it, and the text of one that fails, made small."""
    statements = [statement for family in families for statement in FAMILIES[family]]
    ended: Ended = []
    for seed in range(first, first + BATCH):
        program = program_of(seed, statements)
        if program is None:
            continue
        for engine in engines:
            verdict, text = judged(program, engine), ""
            if verdict.kind in FAILURES:
                alike = (verdict.kind, verdict.what)
                small = smallest(program, lambda one, engine=engine, alike=alike: ends(one, engine) == alike)
                text = f"{seed} {engine}: {judged(small, engine).detail}\n{small!r}"
            ended.append((engine, verdict, text))
    return ended


def describe(ended: dict[str, Counter[str]]) -> str:
    return "; ".join(f"{engine} {dict(counted)}" for engine, counted in ended.items())


def ends(program: RandomProgram, engine: str) -> tuple[str, str]:
    verdict = judged(program, engine)
    return verdict.kind, verdict.what


if __name__ == "__main__":
    sys.exit(main())
