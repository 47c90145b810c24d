"""The suites under every engine as text: the summary that the command prints, and the tables of the pages."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from bridge import errors
from tests.conformance.scenario import ENGINES, NOT_ASKED, NOT_RUN, Scenario

PASSED, REFUSED, WRONG = "passed", "refused", "wrong"
# What an answer counts as. Whatever is not here is wrong: a new kind of difference cannot pass unseen.
COUNTS = {
    "right": PASSED,
    "agrees": PASSED,
    "kink": PASSED,
    "precision": PASSED,
    "holds": PASSED,
    "refused": REFUSED,
    "nan": "nan",
    NOT_ASKED: NOT_RUN,
    NOT_RUN: NOT_RUN,
}

Found = dict[str, str]  # an answer for each engine

MUSEUM = """# The museum of lost gradients

Gradients through mutation that users of other systems reported as wrong, or as refused. Each is retold in our own
words from its report, with a program of the same kind in NumPy (tests/conformance/museum/), and is run under every
engine: value against plain NumPy, gradient against finite differences or a closed form, forward mode (native, jax), and
the arguments must be left as they were. What was wrong or refused there may be mended by now: the reports say.

`python -m tests.conformance.table --write docs` makes this page; [conformance.md](conformance.md) has the other suites.

"""


def counted_as(answer: str) -> str:
    """ "passed", "refused", "nan", "not run" or "wrong". A refusal counts as one only with a name of the package's."""
    kind, _, error = answer.partition(": ")
    if kind == REFUSED and not isinstance(getattr(errors, error, None), type):
        return WRONG
    return COUNTS.get(kind, WRONG)


def summary(suites: dict[str, Sequence[Found]], engines: Sequence[str]) -> str:
    """A line for each suite, and for all of them: passed, refused by name and wrong under each engine."""
    rows = [("suite", "programs", *engines)]
    rows += [(name, str(len(found)), *_cells(found, engines)) for name, found in suites.items()]
    everything = [one for found in suites.values() for one in found]
    rows.append(("all", str(len(everything)), *_cells(everything, engines)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "passed / refused by name / wrong\n\n" + "\n".join(lines) + "\n"


def _cells(found: Iterable[Found], engines: Sequence[str]) -> list[str]:
    cells = []
    for engine in engines:
        counts = Counter(counted_as(one[engine]) for one in found)
        asked = counts[PASSED] + counts[REFUSED] + counts[WRONG] + counts["nan"]
        named = f" (nan {counts['nan']})" if counts["nan"] else ""
        cells.append(f"{counts[PASSED]} / {counts[REFUSED]} / {counts[WRONG]}{named}" if asked else NOT_RUN)
    return cells


def wrongs(suites: dict[str, Sequence[Found]]) -> int:
    """How many answers are wrong."""
    return sum(counted_as(answer) == WRONG for found in suites.values() for one in found for answer in one.values())


def escaped(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|").replace("*", "\\*")


def table_of(scenarios: Sequence[Scenario], found: dict[str, Found]) -> str:
    """A suite of tests: what each program checks, and the answers."""
    lines = [f"| program | what it checks | {' | '.join(ENGINES)} |", "|---" * (2 + len(ENGINES)) + "|"]
    for one in scenarios:
        answers = " | ".join(found[str(one)][engine] for engine in ENGINES)
        lines.append(f"| {one.name} | {escaped(one.checks)} | {answers} |")
    return "\n".join(lines) + "\n"


def suite_section(scenarios: Sequence[Scenario], found: dict[str, Found]) -> str:
    """The section of a suite: what its ideas came from, and its table."""
    sources = dict.fromkeys(f"{one.system}: `{one.source}`" for one in scenarios)
    return f"## {scenarios[0].suite}\n\nAfter {'; '.join(sources)}.\n\n" + table_of(scenarios, found)


def report_of(source: str) -> str:
    """The name of a report: `owner/name#number`."""
    owner, name, _, number = source.removeprefix("https://github.com/").split("/")
    return f"{owner}/{name}#{number}"


def museum_page(scenarios: Sequence[Scenario], found: dict[str, Found]) -> str:
    """The page of reports: a table, and below it the programs."""
    lines = [
        f"{len(scenarios)} reports of users of {len({one.system for one in scenarios})} systems.\n",
        f"| system | report | what went wrong there | {' | '.join(ENGINES)} |",
        "|---" * (3 + len(ENGINES)) + "|",
    ]
    for one in scenarios:
        answers = " | ".join(found[str(one)][engine] for engine in ENGINES)
        report = f"[{report_of(one.source)}]({one.source})"
        lines.append(f"| {one.system} | {report} | {escaped(one.checks)} | {answers} |")
    programs = [f"{report_of(one.source)}, {one.system}:\n\n```python\n{program_of(one)}```\n" for one in scenarios]
    return MUSEUM + "\n".join(lines) + "\n\n## The programs\n\n" + "\n".join(programs)


def program_of(scenario: Scenario) -> str:
    """The source of a program, without its record and its words."""
    source = textwrap.dedent(inspect.getsource(scenario.function))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    lines = source.splitlines(keepends=True)
    head = lines[function.lineno - 1 : function.body[0].lineno - 1]
    return "".join(head + lines[function.body[0].end_lineno :])
