"""The examples of docs/reports.md do what the page says."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

from bridge.proof.report.text import MARKS

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")


def test_trace_prints_what_the_page_says() -> None:
    ((code, output),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "reports.md", "exec"), {"__name__": "page"})
    assert printed.getvalue() == output


@pytest.mark.ci
def test_tests_of_the_page_pass(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax")
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (code,) = re.findall(r"```python\n# test_heat.py\n(.*?)```", TEXT, re.DOTALL)
    pytester.makepyfile(test_heat=code)
    result = pytester.runpytest_subprocess("-p", "pytest_mutation_bridge", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)


def test_page_names_every_kind_with_its_shape() -> None:
    for kind, mark in MARKS.items():
        assert re.search(rf"`{re.escape(mark)}`\s{kind}", TEXT), kind
