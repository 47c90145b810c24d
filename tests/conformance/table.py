"""Every suite under every engine: passed, refused by name, wrong. The exit code is 1 where anything is wrong.

    python -m tests.conformance.table                        # the summary, and each answer that is not right
    python -m tests.conformance.table --engines native jax   # faster
    python -m tests.conformance.table --write docs           # also docs/conformance.md and docs/museum.md

The suites: the corpus of reported cases through `bridge.crosscheck`, the scenarios of tests/conformance/suites, the
museum. Engines that are not available are "not run": write the pages where Julia is set up.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import bridge
import bridge.numpy
from bridge.proof.report.model import Report
from tests.conformance import museum, pages, suites, written
from tests.conformance.pages import ENGINES, Found
from tests.conformance.scenario import Scenario, outcome
from tests.conformance.test_corpus import CASES, argument, function, name

AGREES, HOLDS, FAILS = "agrees", "holds", "fails"
CORPUS = "reported cases"

HEAD = """# Conformance: every suite under every engine

`python -m tests.conformance.table` runs what other systems test of mutation, what their users reported, and the corpus
of reported cases, under every engine that is there. Its exit code is 1 if any answer is wrong, 0 if not. `--engines`
and `--suites` choose; `--write docs` makes this page and [museum.md](museum.md). It printed:

```text
{summary}```

| answer | meaning |
|---|---|
| right | NumPy's value (native: to the bit), the gradient of differences or of a closed form; no argument changed |
| refused: ... | a named error in place of an answer: a function that the engine lacks, control flow while compiling |
| wrong: ... | anything else, also an error that is none of the package's |

## Reported cases

Each case is a gradient that went wrong in public, retold in our own words (tests/conformance/README.md); its name leads
to the report. Programs go through `bridge.crosscheck`, which compares each engine's value, gradient and forward mode
with plain NumPy, with finite differences and with the other engines.

| answer | meaning |
|---|---|
| agrees | value and gradients are those of plain NumPy, of differences and of the other engines |
| kink | the program has a kink there; the gradient lies between the one-sided slopes (docs/conventions.md) |
| precision | within rounding of the program itself |
| nan | this engine's rule answers NaN where the others do not; the report names the operation and its line |
| refused: ... | as above |
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
    kinds = [one.kind for one in report.differences if engine in one.suspects]
    return kinds[0] if kinds else AGREES


def in_words(case: dict[str, Any]) -> str:
    """The outcome of a case that exists in words only."""
    if name(case) in written.NOT_RUN:
        return "not run"
    with np.errstate(all="ignore"):
        try:
            written.CHECKS[name(case)]()
        except AssertionError:
            return FAILS
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


def corpus_section(found: Sequence[Found]) -> str:
    """The cases with their answers, and how many there are of each."""
    lines = [f"| case | program | {' | '.join(ENGINES)} |", "|---" * (2 + len(ENGINES)) + "|"]
    lines += [row(case, one) for case, one in zip(CASES, found, strict=True)]
    counted = {engine: Counter(one[engine].partition(":")[0] for one in found) for engine in ENGINES}
    total = [f"- {engine}: {', '.join(f'{n} {one}' for one, n in counted[engine].most_common())}" for engine in ENGINES]
    return f"{len(CASES)} cases:\n\n" + "\n".join(total) + "\n\n" + "\n".join(lines) + "\n"


def suites_to_run() -> dict[str, Sequence[Any]]:
    """The cases or scenarios of each suite, by its name."""
    scenarios = {suite.name: suite.scenarios for suite in suites.SUITES}
    return {CORPUS: CASES, **scenarios, "museum": museum.SCENARIOS}


def answers_of(one: Any, engines: Sequence[str]) -> Found:
    """What each engine answers for a case or a scenario."""
    if isinstance(one, Scenario):
        return {engine: outcome(one, engine) for engine in engines}
    return answers(one, tuple(engines))


def run(chosen: Sequence[str], engines: Sequence[str]) -> dict[str, list[Found]]:
    """The answers of all programs of the chosen suites; what is not right is told at once, on stderr."""
    found: dict[str, list[Found]] = {}
    for suite, programs in suites_to_run().items():
        if suite not in chosen:
            continue
        found[suite] = []
        for one in programs:
            found[suite].append(answers_of(one, engines))
            title = str(one) if isinstance(one, Scenario) else f"{suite}: {name(one)}"
            for engine, answer in found[suite][-1].items():
                if pages.counted_as(answer) not in (pages.PASSED, pages.NOT_RUN):
                    print(f"{title}, {engine}: {answer}", file=sys.stderr, flush=True)
    return found


def written_pages(found: dict[str, list[Found]]) -> dict[str, str]:
    """The text of each page, by its name."""
    by_name = {
        str(s): f for key, one in suites_to_run().items() if key != CORPUS for s, f in zip(one, found[key], strict=True)
    }
    sections = [pages.suite_section(suite.scenarios, by_name) for suite in suites.SUITES]
    conformance = HEAD.format(summary=pages.summary(found, ENGINES)) + corpus_section(found[CORPUS])
    return {
        "conformance.md": "\n".join([conformance, *sections]),
        "museum.md": pages.museum_page(museum.SCENARIOS, by_name),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the summary, write the pages if asked, and say how many answers are wrong: 0 or 1."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    options.add_argument("--suites", nargs="+", choices=tuple(suites_to_run()), default=tuple(suites_to_run()))
    options.add_argument("--write", type=Path, metavar="FOLDER")
    given = options.parse_args(arguments)
    complete = set(given.engines) == set(ENGINES) and set(given.suites) == set(suites_to_run())
    if given.write and not complete:
        options.error("--write needs every engine and every suite")
    found = run(given.suites, given.engines)
    print(pages.summary(found, given.engines), end="")
    if given.write:
        for file, text in written_pages(found).items():
            (given.write / file).write_text(text, encoding="utf-8")
    return int(pages.wrongs(found) > 0)


if __name__ == "__main__":
    sys.exit(main())
