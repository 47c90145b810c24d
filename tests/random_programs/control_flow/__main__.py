"""`python -m tests.random_programs.control_flow COUNT`: many random programs, and the text of those that fail."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

from tests.conftest import compile_quickly

_NAMED = 5
"""How many seeds are named for each reason to refuse a program."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs.control_flow", description=__doc__)
    parser.add_argument("count", type=int, help="how many programs to run; those that are unfit do not count")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the seed to begin with")
    parser.add_argument("--longest", type=int, default=150, metavar="LINES", help="lines that a program may run (150)")
    parser.add_argument(
        "--shrink", type=float, default=60.0, metavar="SECONDS", help="for each program that fails (60)"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="append the programs that fail to FILE")
    parser.add_argument("--optimised", action="store_true", help="let XLA optimise programs, as it does for users")
    options = parser.parse_args()
    if not options.optimised:
        compile_quickly()
    from tests.random_programs.control_flow.running import FAILURES, described, run

    ended, refused, failures, slow = Counter[str](), defaultdict[str, list[int]](list), 0, []
    seed = options.first
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory() as folder:
        while ended.total() < options.count:
            start = time.monotonic()
            program, verdict = run(seed, Path(folder), options.longest, options.shrink)
            seconds = time.monotonic() - start
            seed += 1
            if program is None:
                continue
            ended[verdict.kind] += 1
            if verdict.what:
                refused[verdict.what].append(seed - 1)
                print(f"seed {seed - 1}: {verdict.kind}, {verdict.what}", flush=True)
            slow = sorted([*slow, (seconds, seed - 1)], reverse=True)[:5]
            if verdict.kind in FAILURES:
                failures += 1
                print(described(program, verdict), flush=True)
                if options.output:
                    with options.output.open("a", encoding="utf-8") as file:
                        file.write(described(program, verdict) + "\n")
            if ended.total() % 10 == 0:
                print(f"{ended.total()} programs, seeds to {seed}: {dict(ended)}", flush=True)
    print(f"seeds {options.first} to {seed - 1}: {dict(ended)}")
    for what, seeds in sorted(refused.items(), key=lambda one: -len(one[1])):
        print(f"{len(seeds):5} {what} (seeds {', '.join(map(str, seeds[:_NAMED]))})")
    print("longest: " + ", ".join(f"seed {which} {seconds:.0f} s" for seconds, which in slow))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
