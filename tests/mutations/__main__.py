"""`python -m tests.mutations FILE-OR-FOLDER...`: mutants of the package, and how many of them the tests find.

A mutant changes one thing in one function: a comparison, an operator, a number, a condition, what is returned, or it
leaves a statement out. It is killed if one of the tests that run its line fails; tests are taken as long as they take
no more than `--seconds` together. Those that `equivalent.toml` explains do the same as what they replace.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.mutations.mutants import Mutant, mutants_of

ROOT = Path(__file__).parents[2]
FOLDERS = ("bridge/rewind", "bridge/arrays", "rules")
# Tests that run without JAX and Julia, and quickly, by the folder that they are about.
TESTS = {
    "bridge": (
        *("tests/rewind", "tests/programs", "tests/arrays", "tests/transforms", "tests/reported"),
        *("tests/faults/test_faults.py", "tests/random_programs/test_eager.py", "tests/docs/test_semantics.py"),
        *("tests/rules/test_rules_of_users.py", "tests/rulebook/test_book.py", "tests/docs/test_solvers.py"),
        *("tests/rules/test_scipy_integrate.py", "tests/rules/test_scipy_optimize.py", "tests/random/test_random.py"),
        *("tests/source/test_texts.py", "tests/source/test_floats.py", "tests/rules/test_mutating.py"),
    ),
    "rules": (
        *("tests/rules/test_rules.py", "tests/rules/test_edges.py", "tests/rules/test_mutating.py"),
        "tests/programs",
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("what", nargs="+", help="files or folders with them, such as bridge/rewind")
    parser.add_argument("--sample", type=int, metavar="N", help="at most N mutants of a file, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--seconds", type=float, default=20.0, help="of tests for a mutant (20)")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="which tests to ask; else those of the folder")
    parser.add_argument("--ci", action="store_true", help="also tests that only CI runs")
    parser.add_argument("--jax", action="store_true", help="tests may run JAX; they take longer")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="keeps who was killed, who is not asked again")
    parser.add_argument("--measured", type=Path, metavar="FILE", help="keeps what tests take and run, for other runs")
    parser.add_argument("--match", default="", metavar="TEXT", help="only mutants with this in their description")
    options = parser.parse_args()
    mutants = [
        mutant
        for what in options.what
        for mutant in sample(what, options.sample, options.seed)
        if options.match in str(mutant)
    ]
    known, dead = explained(), read(options.kept)
    counts: dict[str, Counter[str]] = {mutant.file: Counter() for mutant in mutants}
    start, asked = time.monotonic(), []
    for mutant in mutants:
        if (mutant.file, mutant.source, mutant.change) in known:
            counts[mutant.file]["equivalent"] += 1
        elif mutant.key in dead:
            counts[mutant.file]["killed"] += 1
        else:
            asked.append(mutant)

    def ended(mutant: Mutant, how: str, by: str) -> None:
        if how == "killed" and options.kept is not None:
            with options.kept.open("a", encoding="utf-8") as file:
                file.write(mutant.key + "\n")
        counts[mutant.file][how] += 1
        if how != "killed":
            print(f"{how} ({by}): {mutant}" if by else f"{how}: {mutant}", flush=True)

    if not options.jax:
        sys.modules["jax"] = None  # type: ignore[assignment]
    # Forks of a process in which threads of BLAS run would hang.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from tests.mutations.warm import Run

    tests = options.tests or TESTS[options.what[0].split("/")[0]]
    marked = ["-m", "not nightly"] if options.ci else []
    arguments = [*tests, *marked, "-n", "0", "-q", "-s", "-p", "no:cacheprovider", "--no-header"]
    pytest.main(arguments, plugins=[Run(ROOT, FOLDERS, asked, ended, options.seconds, options.measured)])
    report(counts, time.monotonic() - start)
    return 0


def sample(what: str, count: int | None, seed: int) -> list[Mutant]:
    """The mutants of a file or of a folder; of each file at most `count`, the same ones for the same seed."""
    found = []
    path = ROOT / what
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        name = file.relative_to(ROOT).as_posix()
        mutants = mutants_of(name, file.read_text(encoding="utf-8"))
        if count is not None and len(mutants) > count:
            chosen = random.Random(f"{seed} {name}").sample(range(len(mutants)), count)
            mutants = [mutants[k] for k in sorted(chosen)]
        found += mutants
    return found


def read(kept: Path | None) -> set[str]:
    return set(kept.read_text(encoding="utf-8").splitlines()) if kept is not None and kept.exists() else set()


def explained() -> set[tuple[str, str, str]]:
    """File, line and change of those that are told to be equivalent."""
    text = (Path(__file__).parent / "equivalent.toml").read_text(encoding="utf-8")
    return {(one["file"], one["line"], one["change"]) for one in tomllib.loads(text).get("equivalent", [])}


def report(counts: dict[str, Counter[str]], seconds: float) -> None:
    print(f"\n{'file':40s} mutants  equivalent  killed  survived  score")
    for file, counted in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        asked = counted.total() - counted["equivalent"]
        score = f"{100 * counted['killed'] / asked:5.1f}" if asked else "    -"
        row = f"{counted.total():7d}  {counted['equivalent']:10d}  {counted['killed']:6d}"
        print(f"{file:40s} {row}  {asked - counted['killed']:8d}  {score}")
    print(f"{seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
