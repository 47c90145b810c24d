"""What other systems test of mutation, and what their users reported: every record, under every engine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from tests.conformance import museum, pages, suites, table
from tests.conformance.scenario import Scenario, Suite, outcome
from tests.conformance.test_corpus import CASES
from tests.helpers import finite_differences as reference

SCENARIOS = [*suites.SCENARIOS, *museum.SCENARIOS]
DOCS = Path(__file__).parents[2] / "docs"
CONFORMANCE = (DOCS / "conformance.md").read_text(encoding="utf-8")
MUSEUM = (DOCS / "museum.md").read_text(encoding="utf-8")
CLOSED = [one for one in SCENARIOS if one.gradient is not None and not one.kink]


def on_the_page(scenario: Scenario, engine: str) -> str:
    """The answer that the pages have."""
    if scenario.suite == "museum":
        start = f"| {scenario.system} | [{pages.report_of(scenario.source)}]"
        (row,) = [line for line in MUSEUM.splitlines() if line.startswith(start)]
    else:
        section = CONFORMANCE.partition(f"## {scenario.suite}\n")[2].partition("\n## ")[0]
        (row,) = [line for line in section.splitlines() if line.startswith(f"| {scenario.name} |")]
    return dict(zip(pages.ENGINES, row.strip("| ").split(" | ")[-len(pages.ENGINES) :], strict=True))[engine]


def test_records_say_what_they_check_and_where_it_comes_from() -> None:
    assert len({str(one) for one in SCENARIOS}) == len(SCENARIOS)
    assert len(suites.SCENARIOS) >= 120
    assert all(one.checks.endswith(".") and one.source and one.system for one in SCENARIOS)


def test_every_exhibit_has_a_report_of_its_own() -> None:
    reports = [one.source for one in museum.SCENARIOS]
    assert len(reports) == len(set(reports)) >= 40
    assert all(re.fullmatch(r"https://github\.com/[^/]+/[^/]+/(issues|pull)/\d+", one) for one in reports)
    assert not set(reports) & {case["url"] for case in CASES}, "the corpus has it"


@pytest.mark.parametrize("scenario", CLOSED, ids=str)
def test_closed_forms_are_those_of_differences(scenario: Scenario) -> None:
    for stated, found in zip(scenario.expected, scenario.differences(), strict=True):
        np.testing.assert_allclose(np.broadcast_to(stated, found.shape), found, rtol=1e-6, atol=1e-6)


@pytest.mark.ci
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_under_the_rule_book(scenario: Scenario) -> None:
    assert outcome(scenario, "native") == scenario.answer == on_the_page(scenario, "native")


@pytest.mark.ci
@pytest.mark.parametrize("scenario", SCENARIOS[2:], ids=str)
def test_with_pulls_of_jax(scenario: Scenario) -> None:
    pytest.importorskip("jax")
    assert outcome(scenario, "jax") == on_the_page(scenario, "jax")


@pytest.mark.ci
@pytest.mark.parametrize("scenario", SCENARIOS[5:], ids=str)
def test_compiled(scenario: Scenario) -> None:
    pytest.importorskip("jax")
    assert outcome(scenario, "xla") == on_the_page(scenario, "xla")


@pytest.mark.julia
@pytest.mark.parametrize("scenario", SCENARIOS[7:], ids=str)
def test_with_pulls_of_julia(scenario: Scenario) -> None:
    assert outcome(scenario, "julia") == on_the_page(scenario, "julia")


@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if not one.refused], ids=str)
def test_second_derivatives(scenario: Scenario) -> None:
    """Forward over reverse against differences of the gradient."""
    positions = tuple(range(len(scenario.inputs)))
    tangents = reference.random_tangents(scenario.inputs, seed=1)
    gradient = bridge.grad(scenario.function, argnums=positions, engine="native")
    with np.errstate(all="ignore"):
        product: Any = bridge.hvp(scenario.function, reference.replicas(scenario.inputs), tangents)
        expected = reference.change_of(gradient, scenario.inputs, tangents)
    for found, change in zip(product if len(positions) > 1 else (product,), expected, strict=True):
        np.testing.assert_allclose(found, change, rtol=1e-5, atol=1e-6 * max(1.0, np.max(np.abs(change))))


def test_pages_have_every_record() -> None:
    for one in SCENARIOS:
        page = MUSEUM if one.suite == "museum" else CONFORMANCE
        assert f"| {pages.escaped(one.checks)} |" in page, str(one)
    assert all(pages.program_of(one) in MUSEUM for one in museum.SCENARIOS)
    assert "not run" not in MUSEUM


def test_pages_count_what_they_list() -> None:
    found = {str(one): {engine: on_the_page(one, engine) for engine in pages.ENGINES} for one in SCENARIOS}
    by_suite = {suite.name: [found[str(one)] for one in suite.scenarios] for suite in suites.SUITES}
    by_suite["museum"] = [found[str(one)] for one in museum.SCENARIOS]
    printed = [
        re.split(r"\s{2,}", line) for line in CONFORMANCE.partition("```text\n")[2].partition("```")[0].splitlines()
    ]
    for line in pages.summary(by_suite, pages.ENGINES).splitlines()[3:-1]:
        assert re.split(r"\s{2,}", line) in printed
    assert pages.wrongs(by_suite) == 0


def planted(function: Any) -> Scenario:
    suite = Suite("planted", "none", "here")
    suite(np.array([1.0, 2.0]))(function)
    return suite.scenarios[0]


def lost(x: Any) -> Any:
    """A gradient that is let go."""
    return np.sum(x * bridge.detach(x)) if isinstance(bridge.detach(x), np.ndarray) else np.sum(x)


def bare(x: Any) -> Any:
    """An error that is nobody's, once somebody differentiates."""
    if bridge.current_context() is not None:
        raise KeyError("x")
    return np.sum(x)


def refused(x: Any) -> Any:
    """An error of the package's."""
    if bridge.current_context() is not None:
        raise bridge.errors.RefusedError("no", remedy="none")
    return np.sum(x)


@pytest.mark.parametrize(
    ("function", "answer", "counted"),
    [
        (lost, "wrong: gradient", pages.WRONG),
        (bare, "wrong: bare KeyError", pages.WRONG),
        (refused, "refused: RefusedError", pages.REFUSED),
    ],
)
def test_what_counts_as_wrong(function: Any, answer: str, counted: str) -> None:
    found = outcome(planted(function), "native")
    assert (found, pages.counted_as(found)) == (answer, counted)


def test_unknown_kinds_and_unnamed_errors_are_wrong() -> None:
    assert {pages.counted_as(one) for one in ("mismatch", "primal", "refused: KeyError", "fails")} == {pages.WRONG}


@pytest.mark.parametrize(("function", "code"), [(refused, 0), (lost, 1)])
def test_exit_code(function: Any, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(table, "suites_to_run", lambda: {"planted": [planted(function)]})
    assert table.main(["--engines", "native"]) == code
    shown = capsys.readouterr()
    assert re.split(r"\s{2,}", shown.out.splitlines()[-1]) == ["all", "1", f"0 / {1 - code} / {code}"]
    assert shown.err.startswith("planted: ")
