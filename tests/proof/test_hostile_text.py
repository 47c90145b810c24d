"""Names, values and messages that would end a page, drive a terminal or break a file: written out, everywhere."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, BridgeWarning, printable
from bridge.proof.report import html, rendering
from bridge.proof.report.json_form import from_json
from bridge.proof.report.model import Report, Run, Trace
from tests.helpers.accessibility import complaints
from tests.proof.report_samples import small_report

ROOT = Path(__file__).parents[2]
SMALL = small_report()

HOSTILE = {
    "a script": "<script>alert(1)</script>",
    "an image": "<img src=x onerror=alert(1)>",
    "the end of a script": "</script><!--",
    "quotes": "\"' onload=alert(1) `",
    "a template": "{{ 7 * 7 }}{% raw %}",
    "markup of rich": "[red]x[/red][link=file:///]",
    "a colour": "\x1b[31mred\x1b[0m",
    "a title of the terminal": "\x1b]0;owned\x07",
    "C1 control characters": "\x9b31m",
    "a carriage return": "agree\rdiffer",
    "an end of line": "f\n  xla: ran in 1 s",
    "a backspace": "wrong\x08\x08",
    "a null": "a\0b",
    "right to left": "\u202egnorw",
    "an isolate": "\u2066x\u2069",
    "a mark": "x\u200fy",
    "no width": "a\u200bb\ufeff",
    "half of a surrogate pair": "\ud800",
    "a line separator": "a\u2028b\u2029c",
}
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""What a terminal, or a reader of text from left to right, would obey."""

EACH = pytest.mark.parametrize("words", HOSTILE.values(), ids=HOSTILE)


def poisoned(words: str) -> Report:
    """A report in which every word comes from elsewhere."""
    timeline = SMALL.timeline
    assert timeline is not None
    operations = tuple(
        replace(one, name=words, where=f"{words}:3 in {words}", source=words) for one in timeline.operations
    )
    memory = tuple(replace(one, name=words, dtype=words) for one in timeline.memory)
    differences = [
        replace(
            one, engines=(words, words), what=words, found=words, expected=words, explanation=words, name=words,
            where=words, source=words,
        )
        for one in SMALL.differences
    ]  # fmt: skip
    runs = [Run(words, "refused", words, Named(words)), Run(words, "ran", "", words, (None,))]
    return Report(
        words, words, runs, differences, [words], replace(timeline, operations=operations, memory=memory), words
    )


class Named:
    """An object whose repr is hostile."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __repr__(self) -> str:
        return self.words


def shows(report: Any) -> dict[str, str]:
    """Every form of a report."""
    from rich.console import Console

    terminal = Console(file=io.StringIO(), width=200, color_system=None, force_terminal=True, legacy_windows=False)
    terminal.print(report)
    return {
        "text": repr(report),
        "tables": rendering.tables(report),
        "terminal": terminal.file.getvalue(),  # type: ignore[attr-defined]
        "page": report.to_html(),
        "fragment": report._repr_html_(),
        "JSON": report.to_json(),
    }


@EACH
def test_no_form_of_a_report_or_a_trace_obeys(words: str) -> None:
    report = poisoned(words)
    assert report.timeline is not None
    for shown in (report, Trace(words, Named(words), report.timeline)):
        for form, found in shows(shown).items():
            assert not OBEYED.search(found), f"{form} holds {OBEYED.search(found)!r}"
            found.encode("utf-8")


@EACH
def test_pages_and_fragments_have_no_element_of_a_name(words: str) -> None:
    report = poisoned(words)
    clean = poisoned("clean")
    several = html.page([report, report], [words, words], words)
    for found, expected in (
        (report.to_html(), clean.to_html()),
        (report._repr_html_(), clean._repr_html_()),
        (several, html.page([clean, clean], ["clean", "clean"], "clean")),
    ):
        assert elements(found) == elements(expected)
    assert complaints(report.to_html()) == []


def elements(page: str) -> list[str]:
    """The elements of a page in their order, with the names of their attributes, as a browser's parser finds them."""
    from html.parser import HTMLParser

    found: list[str] = []

    class Collector(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append(f"{tag} {[name for name, _ in attrs]}")

        def handle_comment(self, data: str) -> None:
            found.append("comment")

    Collector(convert_charrefs=True).feed(page)
    return found


@EACH
def test_json_gives_back_what_it_was_given(words: str, tmp_path: Path) -> None:
    report = poisoned(words)
    written = report.to_json(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == json.loads(written)
    read = from_json(written)
    assert (read.program, read.remarks, read.runs[1].value) == (words, [words], words)
    report.to_html(tmp_path / "report.html")


def test_no_name_adds_a_line_to_a_report() -> None:
    shown = poisoned(HOSTILE["an end of line"])
    shown.differences = [replace(one, explanation="why") for one in shown.differences]
    assert len(repr(shown).splitlines()) == len(repr(poisoned("f")).splitlines())


@EACH
def test_a_program_with_hostile_names_and_values(words: str) -> None:
    """From end to end: the function's name, keys of arguments, what it raises."""

    def f(p: Any) -> Any:
        return np.sum(p[words] ** 2)

    f.__name__ = f.__qualname__ = words
    report = bridge.crosscheck(f, engines=("native",))({words: np.array([1.0, 2.0])})
    for form, found in shows(report).items():
        assert not OBEYED.search(found), f"{form} holds {OBEYED.search(found)!r}"
    traced = bridge.trace(f)({words: np.array([1.0, 2.0])})
    for form, found in shows(traced).items():
        assert not OBEYED.search(found), f"{form} holds {OBEYED.search(found)!r}"


@EACH
def test_messages_of_errors_and_warnings(words: str) -> None:
    for error in (ArgumentError(words, where=words, remedy=words), BridgeWarning(words)):
        assert not OBEYED.search(str(error))
        str(error).encode("utf-8")


def test_errors_of_programs_with_hostile_keys() -> None:
    words = HOSTILE["a colour"] + HOSTILE["half of a surrogate pair"]
    with pytest.raises(bridge.errors.BridgeError) as caught:
        bridge.grad(lambda p: p[words])({words: "no number"})
    assert not OBEYED.search(str(caught.value))


def test_a_warning_that_is_printed() -> None:
    said = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        message = BridgeWarning(HOSTILE["a title of the terminal"])
        said.write(warnings.formatwarning(message, BridgeWarning, "file.py", 1, ""))
    assert not OBEYED.search(said.getvalue())


def test_printable_text_stays_what_it_is() -> None:
    for words in ("np.sum", "größer ≠ ∅ ✗ 数", "two\nlines\tand a tab", ""):
        assert printable(words) == words
    assert printable("two\nlines", lines=False) == r"two\nlines"
    assert printable("\x1b[0m\u202e\ud800") == r"\x1b[0m\u202e\ud800"


PROGRAM = """
import numpy as np

def raises(x):
    raise ValueError("\\x1b]0;owned\\x07 \\ud800 \\u202e")

def right(p):
    return np.sum(p["\\x1b[31m\\ud800"] ** 2)
"""


@pytest.mark.parametrize("function, argument", [("raises", "[1.0]"), ("right", r"{'\x1b[31m\ud800': [1.0, 2.0]}")])
def test_the_command_prints_what_a_terminal_may_get(function: str, argument: str, tmp_path: Path) -> None:
    file = tmp_path / "hostile.py"
    file.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "bridge", "check", f"{file}:{function}", "--arg", argument, "--engines", "native"]
    command += ["--html", str(tmp_path / "page.html"), "--json", str(tmp_path / "report.json")]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    said = found.stdout.decode("utf-8") + found.stderr.decode("utf-8")
    assert not OBEYED.search(said), said
    assert "Traceback" not in said
    assert found.returncode == (2 if function == "raises" else 0), said
