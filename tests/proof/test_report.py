"""Reports as text, tables, JSON and HTML, at 10 and at 10,000 operations."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, BridgeError
from bridge.proof.report import html, rendering, text
from bridge.proof.report.json_form import from_json, to_json
from bridge.proof.report.model import KINDS, Report, Run, Trace
from tests.helpers.accessibility import complaints, contrast
from tests.proof.report_samples import agreeing_report, difference, large_report, report_of, small_report

ROOT = Path(__file__).parents[2]
SMALL, AGREEING = small_report(), agreeing_report()


LARGE = pytest.param(large_report, marks=pytest.mark.ci)


@pytest.fixture(params=[small_report, LARGE, agreeing_report], ids=["small", "large", "agreeing"])
def report(request: pytest.FixtureRequest) -> Report:
    return request.param()


def same(a: Any, b: Any) -> bool:
    """Equality in which arrays count by their contents, and NaN is NaN."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (np.isnan(a) and np.isnan(b))
    if hasattr(a, "__dataclass_fields__"):
        return type(a) is type(b) and all(same(getattr(a, k), getattr(b, k)) for k in a.__dataclass_fields__)
    return type(a) is type(b) and bool(a == b)


def test_report_says_what_where_and_the_values() -> None:
    words = repr(SMALL)
    assert words.startswith("crosscheck of small(float64 (6,), float64 (6,)): engines part in 6 places, and 2 at kinks")
    for kind in KINDS:
        assert (
            f"{text.MARKS[kind]} {kind}: gradient of x[3] differs between jax and native, relative difference 1.25"
            in words
        )
    assert "blamed: np.sin (operation 0), tests/proof/report_samples.py:" in words.replace("\\", "/")
    assert "y[1:-1] = np.sin(x[2:]) * w[:-2]" in words
    assert "jax: 2.5   native: 1.25" in words
    assert "smallest input that shows it: x = np.array([0.0])" in words
    assert "julia: not available: no Julia is set up here" in words
    assert repr(AGREEING).startswith(
        "crosscheck of small(float64 (6,), float64 (6,)): native, jax agree, beside no differences\n"
    )


def test_report_says_what_was_differentiated_and_what_was_not() -> None:
    report = bridge.crosscheck(lambda y, rate: np.sum(y) * rate, engines="native")(np.ones(2), 0.1)
    assert (report.differentiated, report.left_out) == (["y"], ["rate"])
    for shown in (" ".join(one.split()) for one in (repr(report), str(report), report.to_html())):
        assert "native, complex step agree; not differentiated: rate" in shown
        assert "y; not rate (argnums names others)" in shown
    again = from_json(report.to_json())
    assert (again.differentiated, again.left_out) == (["y"], ["rate"])
    both = bridge.crosscheck(lambda y, rate: np.sum(y) * rate, "native", argnums=(0, 1))(np.ones(2), 0.1)
    assert (both.differentiated, both.left_out) == (["y", "rate"], [])


@pytest.mark.ci
def test_engines_that_part_at_a_kink_do_not_agree() -> None:
    def smallest(x: np.ndarray) -> np.floating:
        return np.sort(x)[0]

    report = bridge.crosscheck(smallest, engines=("native", "jax"))(np.ones(3))
    assert "agree but for" in text.verdict(report) and "native, jax" in text.verdict(report)


def test_without_differences_the_verdict_does_not_vouch_for_kinks() -> None:
    def stepped(x: np.ndarray) -> np.floating:
        return np.sum(np.where(x > 0, x, 2 * x))

    report = bridge.crosscheck(stepped, engines="native", fd=False)(np.zeros(2))
    assert text.verdict(report) == "numpy, native agree, beside no differences"
    assert any("stands at a kink, and without differences nobody says" in remark for remark in report.remarks)


def test_every_kind_has_a_shape_of_its_own() -> None:
    assert set(text.MARKS) == set(KINDS)
    assert len(set(text.MARKS.values())) == len(KINDS)


def test_report_that_compared_nothing_does_not_say_that_engines_agree() -> None:
    alone = Report("f", "1.0", [Run("native", "ran"), Run("jax", "not available", "no JAX")])
    assert "nothing was compared: native ran" in repr(alone)
    without_gradients = Report("f", "1.0", [Run("numpy", "ran"), Run("native", "ran")])
    assert "nothing was compared: numpy, native ran" in repr(without_gradients)


def test_kinks_and_rounding_are_no_failure() -> None:
    assert AGREEING.ok
    assert report_of(None, [(None, "kink"), (None, "precision")]).ok
    assert not any(report_of(None, [(None, kind)]).ok for kind in KINDS if kind not in ("kink", "precision"))


def test_tables_hold_what_the_text_says(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    table = str(report)
    assert text.verdict(report) in table
    for run in report.runs:
        assert run.engine in table
    for one in report.differences:
        assert f"{text.MARKS[one.kind]} {one.kind}" in table
    assert "\x1b" not in table


def test_terminal_gets_colours() -> None:
    from rich.console import Console

    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=160)
    console.print(SMALL)
    assert "\x1b[" in console.file.getvalue()  # type: ignore[attr-defined]


def test_markup_in_names_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    one = replace(difference(), what="gradient of p['[red]w[/red]']", name="[bold]f")
    assert "p['[red]w[/red]']" in str(Report("f", "x", list(SMALL.runs), [one]))


def test_without_rich_lines_of_text_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert rendering.tables(SMALL) == repr(SMALL)


def test_json_is_strict_complete_and_read_back(report: Report) -> None:
    def refused(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    content = json.loads(to_json(report), parse_constant=refused)
    assert (content["format"], content["version"], content["ok"]) == ("mutation-bridge-report", 1, report.ok)
    assert set(content) == {"format", "version", "ok", *report.__dataclass_fields__}
    assert same(from_json(to_json(report)), report)


VALUES = [
    None, True, 3, 2.5, np.nan, -np.inf, 1 + 2j, complex(np.nan, np.inf), "NaN", (1.0, [2.0, "a"]),
    {"w": (np.arange(3),), 2: None}, np.float32(0.1), np.zeros((0, 3)), np.array([[1 + np.nan * 1j, np.inf]]),
    np.array([True, False]), np.arange(3, dtype=np.int8),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_are_read_back(value: Any) -> None:
    report = Report("f", "x", [Run("native", "ran", "", value)])
    back = from_json(to_json(report)).runs[0].value
    assert repr(back) == repr(np.asarray(value) if isinstance(value, np.generic) else value)


def test_json_of_others_is_refused() -> None:
    later = to_json(SMALL).replace('"version": 1', '"version": 99')
    for wrong in ("[]", "{}", later, '{"format": "another", "version": 1}'):
        with pytest.raises(ArgumentError, match="no report of version 1"):
            from_json(wrong)


def test_page_is_accessible_and_needs_no_network(report: Report) -> None:
    page = report.to_html()
    assert complaints(page) == []
    assert "http" not in re.sub(r"http-equiv", "", page)
    assert "default-src 'none'" in page


WRONG_PAGES = {
    "html without lang": ("<html lang='en'>", "<html>"),
    "th without scope": ('<th scope="col">', "<th>"),
    "button without text": (">Zoom in</button>", "></button>"),
    "table without caption": ("<caption>What each engine answered</caption>", ""),
    "a heading of level 4 follows one of level 2": ("h3>Differences</h3>", "h4>Differences</h4>"),
    "canvas takes the focus without a role and a name": (' role="slider"', ""),
    "input without a label": ("<label>Find", "<span>Find"),
    "needs the network": ("<main>", '<main><a href="https://example.org">x</a>'),
    "id title-1 occurs twice": ("<main>", '<main id="title-1">'),
    "is referred to and missing": ('id="keys-1"', 'id="keys-x"'),
    "0 headings of the first level": ("h1>", "h2>"),
    "is not closed": ("</nav></main>", ""),
}


@pytest.mark.parametrize("complaint", WRONG_PAGES)
def test_accessibility_check_finds_what_is_wrong(complaint: str) -> None:
    old, new = WRONG_PAGES[complaint]
    page = SMALL.to_html().replace('<html lang="en">', "<html lang='en'>").replace("</main>", "</nav></main>")
    page = page.replace("<main>", "<main><nav>")
    assert complaints(page) == []
    assert any(complaint in one for one in complaints(page.replace(old, new)))


def test_colours_have_enough_contrast_in_both_themes() -> None:
    style = (html.TEMPLATES / "page.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"--(\w+): light-dark\((#\w{6}, #\w{6})\)", style))
    for theme in (0, 1):
        shade = {name: pair.split(", ")[theme] for name, pair in colours.items()}
        for words in ("ink", "faint", "focus", "right", "wrong", "over"):
            for ground in ("paper", "band"):
                assert contrast(shade[words], shade[ground]) >= 4.5, (words, ground, theme)
        for drawn in ("read", "write", "over", "bar"):
            for ground in ("paper", "life"):
                assert contrast(shade[drawn], shade[ground]) >= 3, (drawn, ground, theme)


def test_text_of_a_program_cannot_end_the_page() -> None:
    wicked = replace(SMALL.timeline.operations[0], source="x = '</script><script>alert(1)</script>'")  # type: ignore[union-attr]
    timeline = replace(SMALL.timeline, operations=(wicked, *SMALL.timeline.operations[1:]))  # type: ignore[type-var, union-attr]
    page = replace(SMALL, program="<img src=x>", timeline=timeline).to_html()
    assert "<img" not in page
    assert "alert(1)</script>" not in page
    assert "An explanation of &lt;b&gt;nan&lt;/b&gt;" in page


def test_page_of_several_reports_links_to_each() -> None:
    page = html.page([SMALL, AGREEING], ["tests/test_a.py::test_one", "tests/test_b.py::test_two"], "2 cross-checks")
    assert complaints(page) == []
    assert '<a href="#report-2">tests/test_b.py::test_two</a>' in page
    assert complaints(html.page([], heading="0 failed cross-checks")) == []


def test_report_without_timeline_says_so() -> None:
    assert "no engine recorded" in report_of(None, [(None, "primal")]).to_html()


def test_without_jinja_the_line_to_type_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    html._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(BridgeError, match=re.escape('pip install "mutation-bridge[report]"')):
        SMALL.to_html()


def test_files_hold_what_is_returned(report: Report, tmp_path: Any) -> None:
    for write, name in ((report.to_html, "a.html"), (report.to_json, "a.json")):
        assert write(tmp_path / name) == (tmp_path / name).read_text(encoding="utf-8")


def test_notebook_gets_a_fragment(report: Report) -> None:
    fragment = report._repr_html_()
    assert text.verdict(report) in fragment
    assert "<script" not in fragment
    assert complaints(f"<html lang=en><title>t</title><main><h1>n</h1>{fragment}</main></html>".replace(
        "<table>", "<table><caption>c</caption>")) == []  # fmt: skip


def test_notebook_opens_the_page_below_its_tables(report: Report) -> None:
    fragment = report._repr_html_()
    assert report.timeline is not None
    if len(report.timeline.operations) > html.IN_A_CELL:
        assert "<iframe" not in fragment
        return
    (framed,) = re.findall(r'<iframe .*sandbox="allow-scripts".* srcdoc="([^"]*)"></iframe>', fragment, re.DOTALL)
    assert unescape(framed) == report.to_html()


def test_a_narrow_terminal_gets_lines_that_hold_everything(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = str(report)
    assert max(map(len, shown.splitlines())) <= 40
    words = " ".join(shown.split())
    for run in report.runs:
        assert run.engine in words
        assert run.status != "ran" or f"✓ {run.engine}: ran in" in words
    for one in report.differences:
        assert f"{text.MARKS[one.kind]} {one.kind}: {one.what}" in words
    narrow = " ".join(str(Trace("f", None, small_report().timeline)).split())  # type: ignore[arg-type]
    assert "0 np.sin, " in narrow and "overwrites" in narrow


@pytest.mark.ci
def test_long_texts_leave_out_the_middle() -> None:
    trace = Trace("heat", None, large_report().timeline)  # type: ignore[arg-type]
    assert "9,945 more: .to_html(path)" in repr(trace)
    assert len(repr(trace).splitlines()) == 62


def test_data_and_text_load_neither_rich_nor_jinja() -> None:
    code = (
        "import sys, numpy as np, bridge; trace = bridge.trace(np.sin)(np.ones(2)); repr(trace); trace.to_json();"
        "print(sorted({'rich', 'jinja2', 'jax', 'pytest'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
