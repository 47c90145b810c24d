"""docs/conformance.md is what `tests.conformance.table` answers for a sample of the corpus."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bridge.proof.report.model import Difference, Report, Run
from tests.conformance import table
from tests.conformance.test_corpus import CASES, name

PAGE = (Path(__file__).parents[2] / "docs" / "conformance.md").read_text(encoding="utf-8")
ROWS = {found[1]: found for found in re.finditer(r"^\| \[([^\]]+)\]\(([^)]+)\) \| .* \|$", PAGE, re.MULTILINE)}
WITH_PROGRAMS = [case for case in CASES if "numpy_program" in case]


def on_the_page(case: dict[str, Any]) -> dict[str, str]:
    cells = ROWS[name(case)][0].strip("| ").split(" | ")[-len(table.ENGINES) :]
    return dict(zip(table.ENGINES, cells, strict=True))


def test_every_case_is_on_the_page_with_its_report() -> None:
    assert list(ROWS) == [name(case) for case in CASES]
    assert [ROWS[name(case)][2] for case in CASES] == [case["url"] for case in CASES]
    assert "not run" not in PAGE.partition("| case |")[2], "the page was made without one of the engines"


def test_no_engine_gives_a_wrong_number() -> None:
    """Refusals and NaNs are named; values and gradients that are wrong have other kinds."""
    allowed = {"agrees", "kink", "precision", "nan", "refused", "holds", "-"}
    for case in CASES:
        found = {one.partition(":")[0] for one in on_the_page(case).values()}
        assert found <= allowed, (name(case), found)
    assert all(on_the_page(case)["native"] in ("agrees", "kink", "holds") for case in CASES)


@pytest.mark.parametrize("case", WITH_PROGRAMS[::6], ids=name)
def test_sample_of_the_eager_engines(case: dict[str, Any]) -> None:
    pytest.importorskip("jax")
    engines = ("native", "jax")
    assert table.answers(case, engines) == {engine: on_the_page(case)[engine] for engine in engines}


@pytest.mark.ci
@pytest.mark.parametrize("case", WITH_PROGRAMS[3::16], ids=name)
def test_sample_of_the_compiled_engine(case: dict[str, Any]) -> None:
    pytest.importorskip("jax")
    assert table.answers(case, ("native", "xla"))["xla"] == on_the_page(case)["xla"]


@pytest.mark.julia
@pytest.mark.parametrize("case", WITH_PROGRAMS[5::16], ids=name)
def test_sample_of_julia(case: dict[str, Any]) -> None:
    assert table.answers(case, ("native", "julia"))["julia"] == on_the_page(case)["julia"]


def test_answers_are_read_from_the_report() -> None:
    runs = [Run("native", "ran"), Run("xla", "refused", "TraceError: no"), Run("jax", "not available", "no JAX")]
    wrong = Difference("mismatch", ("native", "finite differences"), "gradient of x[0]", 1.0, "1", "2", "", 0.9)
    report = Report("f", "x", runs, [wrong])
    assert [table.answer(report, engine) for engine in ("native", "xla", "jax", "julia")] == [
        "mismatch",
        "refused: TraceError",
        "not run",
        "not run",
    ]


def test_a_case_with_a_wrong_gradient_would_be_seen() -> None:
    """A program that lets a gradient go is no "agrees"."""
    program = "def f(x):\n    import bridge\n    return np.sum(x * bridge.detach(x))\n"
    case = {"id": "planted", "numpy_program": program, "x": [1.0, 2.0]}
    with np.errstate(all="ignore"):
        assert table.answers(case, ("native",))["native"] not in ("agrees", "kink", "precision")
