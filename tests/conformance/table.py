"""Every case of the corpus under every engine through `bridge.crosscheck`, as the page docs/conformance.md.

    python -m tests.conformance.table --write docs/conformance.md

Engines that are not available here are left as "not run": make the page where Julia is set up.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import bridge
import bridge.numpy
from bridge.proof.report.model import Report
from tests.conformance import written
from tests.conformance.test_corpus import CASES, argument, function, name

ENGINES = ("native", "julia", "jax", "xla")
AGREES, HOLDS = "agrees", "holds"

HEAD = """# The corpus of reported cases under every engine

`python -m tests.conformance.table --write docs/conformance.md` makes this page. Each case is a gradient that went wrong
in public, retold in our own words (tests/conformance/README.md); its name leads to the report. Programs go through
`bridge.crosscheck`, which compares each engine's value, gradient and forward mode with plain NumPy, with finite
differences and with the other engines.

| answer | meaning |
|---|---|
| agrees | value and gradients are those of plain NumPy, of differences and of the other engines |
| kink | the program has a kink there; the gradient lies between the one-sided slopes (docs/conventions.md) |
| precision | within rounding of the program itself |
| nan | this engine's rule answers NaN where the others do not; the report names the operation and its line |
| refused: ... | a named error in place of an answer: a function that the engine lacks, control flow while compiling |
| holds | a case in words: its test in tests/conformance/written.py passes under the rule book |
| - | not asked of this engine |
| not run | the engine was not available when the page was made |

"""


def checked(case: dict[str, Any], engines: tuple[str, ...] = ENGINES) -> Report:
    """The cross-check of a case that has a program."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bridge.crosscheck(function(case, bridge.numpy), engines=engines)(argument(case))


def answer(report: Report, engine: str) -> str:
    """What the report says of one engine, in a word."""
    run = next((one for one in report.runs if one.engine == engine), None)
    if run is None or run.status == "not available":
        return "not run"
    if run.status == "refused":
        return f"refused: {run.why.partition(':')[0].strip() or 'error'}"
    kinds = [one.kind for one in report.differences if engine in one.engines[:1]]
    return kinds[0] if kinds else AGREES


def in_words(case: dict[str, Any]) -> str:
    """The outcome of a case that exists in words only."""
    if name(case) in written.NOT_RUN:
        return "not run"
    with np.errstate(all="ignore"):
        written.CHECKS[name(case)]()
    return HOLDS


def answers(case: dict[str, Any], engines: tuple[str, ...] = ENGINES) -> dict[str, str]:
    """What every engine answers for a case."""
    if "numpy_program" not in case:
        return {engine: in_words(case) if engine == "native" else "-" for engine in engines}
    report = checked(case, engines)
    return {engine: answer(report, engine) for engine in engines}


def row(case: dict[str, Any], found: dict[str, str]) -> str:
    """A case as a line of the table."""
    program = case["program"].replace("|", "\\|").replace("\n", " ")
    cells = " | ".join(found[engine] for engine in ENGINES)
    return f"| [{name(case)}]({case['url']}) | {program} | {cells} |"


def page() -> str:
    """The whole page."""
    lines = [f"| case | program | {' | '.join(ENGINES)} |", "|---" * (2 + len(ENGINES)) + "|"]
    counted: dict[str, Counter[str]] = {engine: Counter() for engine in ENGINES}
    for case in CASES:
        found = answers(case)
        lines.append(row(case, found))
        for engine, one in found.items():
            counted[engine][one.partition(":")[0]] += 1
    total = [f"- {engine}: {', '.join(f'{n} {one}' for one, n in counted[engine].most_common())}" for engine in ENGINES]
    return HEAD + f"{len(CASES)} cases:\n\n" + "\n".join(total) + "\n\n" + "\n".join(lines) + "\n"


def main() -> None:
    """Print the page, or write it."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--write", type=Path, metavar="FILE")
    given = options.parse_args()
    if given.write:
        given.write.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")


if __name__ == "__main__":
    main()
