"""The pytest plugin, run by pytest itself on test files that are right and wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.accessibility import complaints

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[1]

RIGHT = """
import numpy as np

def program(x):
    y = np.zeros_like(x)
    y[1:] = np.sin(x[:-1])
    return np.sum(y)
"""

WRONG = """
import numpy as np
import pytest
from bridge.extend import rule

def twice(x):
    return np.asarray(x) * 2.0

@rule(twice)
def doubled(ct, out, x):
    return ct * 3.0

def program(x):
    y = x.copy()
    y[1:] = doubled(x[1:])
    return np.sum(y)
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester


def run(project: pytest.Pytester, code: str, *options: str) -> pytest.RunResult:
    """The file `test_it.py` under pytest in a process of its own."""
    project.makepyfile(test_it=code)
    plugins = ["-p", "pytest_mutation_bridge", "-p", "no:cacheprovider", "--strict-markers"]
    return project.runpytest_subprocess(*plugins, *options)


def test_programs_that_agree_pass_and_hand_out_the_report(project: pytest.Pytester) -> None:
    code = RIGHT + (
        "def test_it(crosscheck):\n"
        "    report = crosscheck(program, engines=('native',))(np.linspace(0.1, 1.0, 4))\n"
        "    assert report.ok and report.timeline.operations\n"
    )
    run(project, code).assert_outcomes(passed=1)


def test_wrong_program_fails_with_the_reports_text_file_and_line(project: pytest.Pytester) -> None:
    code = WRONG + "def test_it(crosscheck):\n    crosscheck(program, engines=('native',))(np.ones(3))\n"
    result = run(project, code)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        "*crosscheck(program, engines=('native',))(np.ones(3))",
        "E*Failed: crosscheck of *program(*): engines part in 1 place",
        "E*mismatch: gradient of *",
        "E*blamed: *twice (operation *), test_it.py:14 in program",
        "E*y[[]1:] = doubled(x[[]1:])",
        "test_it.py:17: Failed",
    ])  # fmt: skip
    assert "pytest_mutation_bridge.py" not in result.stdout.str()


def test_rules_are_proved_by_a_fixture(project: pytest.Pytester) -> None:
    code = WRONG + (
        "@rule(lambda x: x * 2)\n"
        "def right(ct, out, x):\n"
        "    return ct * 2\n"
        "def test_right(check_rule):\n"
        "    assert check_rule(right, np.ones(3)).ok\n"
        "def test_wrong(check_rule):\n"
        "    check_rule(doubled, np.ones(3))\n"
    )
    result = run(project, code)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*check_rule(doubled, np.ones(3))", "E*[[]wrong-gradient] *", "E*remedy: *"])
    assert "pytest_mutation_bridge.py" not in result.stdout.str()


def test_gradients_are_proved_by_a_fixture(project: pytest.Pytester) -> None:
    code = WRONG + (
        "def test_right(check_gradient):\n"
        "    assert check_gradient(lambda x, s: np.sum(np.sin(x) * s), (0, 1))(np.ones(3), 2.0).ok\n"
        "def test_wrong(check_gradient):\n"
        "    check_gradient(program, seed=3)(np.ones(3))\n"
    )
    result = run(project, code)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*check_gradient(program, seed=3)(np.ones(3))", "E*check_gradient(*: 1 failure*"])


def test_a_check_that_was_never_called_fails_its_test(project: pytest.Pytester) -> None:
    code = RIGHT + (
        "import pytest\n"
        "def test_forgotten(check_gradient):\n"
        "    check_gradient(program)\n"
        "def test_forgotten_too(crosscheck):\n"
        "    crosscheck(program, engines=('native',))\n"
        "def test_called(check_gradient, crosscheck):\n"
        "    check_gradient(program)(np.ones(3))\n"
        "    crosscheck(program, engines=('native',))(np.ones(3))\n"
        "def test_failed_before(check_gradient):\n"
        "    check = check_gradient(program)\n"
        "    assert False\n"
    )
    result = run(project, code)
    result.assert_outcomes(passed=3, errors=2, failed=1)
    for fixture in ("check_gradient", "crosscheck"):
        said = f"{fixture}(program) was never called with arguments, and has checked nothing"
        result.stdout.fnmatch_lines([f"{said}: write {fixture}(program)(x)"])


def test_marker_chooses_engines_and_options(project: pytest.Pytester) -> None:
    code = RIGHT + (
        "import pytest\n"
        "@pytest.mark.crosscheck(engines=('native',), fd=False)\n"
        "def test_it(crosscheck):\n"
        "    report = crosscheck(program)(np.ones(3))\n"
        "    assert {run.engine for run in report.runs} == {'numpy', 'native'}\n"
        "@pytest.mark.crosscheck('native')\n"
        "def test_positional(crosscheck):\n"
        "    pass\n"
    )
    result = run(project, code)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*takes keywords only, and has ('native',): write engines=(...)*"])


def test_an_engine_that_is_named_and_refuses_fails_the_test(project: pytest.Pytester) -> None:
    code = RIGHT + (
        "import pytest\n"
        "def refused(x):\n"
        "    a = np.zeros(3, int)\n"
        "    a[:] = x\n"
        "    return np.sum(x)\n"
        "def test_argument(crosscheck):\n"
        "    crosscheck(refused, engines=('native',))(np.ones(3))\n"
        "@pytest.mark.crosscheck(engines=['native'])\n"
        "def test_marker(crosscheck):\n"
        "    crosscheck(refused)(np.ones(3))\n"
        "def test_default(crosscheck):\n"
        "    crosscheck(refused)(np.ones(3))\n"
        "def test_empty(crosscheck, check_gradient):\n"
        "    for fixture in (crosscheck, check_gradient):\n"
        "        with pytest.raises(pytest.fail.Exception, match='nothing'):\n"
        "            fixture(program)(np.ones(0))\n"
    )
    result = run(project, code, "--bridge-engines=native")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["*native gave no answer (refused)*"])


def test_command_line_restricts_engines(project: pytest.Pytester) -> None:
    code = RIGHT + (
        "import pytest\n"
        "def engines(report):\n"
        "    return {run.engine for run in report.runs if run.engine in ('native', 'jax', 'xla', 'julia')}\n"
        "def test_all(crosscheck):\n"
        "    assert engines(crosscheck(program)(np.ones(3))) == {'native'}\n"
        "def test_some(crosscheck):\n"
        "    assert engines(crosscheck(program, engines=('native', 'jax'))(np.ones(3))) == {'native'}\n"
        "@pytest.mark.crosscheck(engines='jax')\n"
        "def test_none(crosscheck):\n"
        "    crosscheck(program)(np.ones(3))\n"
    )
    result = run(project, code, "--bridge-engines=native", "-rs")
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["*--bridge-engines=native leaves none of the engines that the test asks for*jax*"])


def test_engine_that_does_not_exist_is_named(project: pytest.Pytester) -> None:
    code = RIGHT + "def test_it(crosscheck):\n    crosscheck(program)(np.ones(3))\n"
    result = run(project, code, "--bridge-engines=nativ")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*nativ*"])


@pytest.mark.ci
@pytest.mark.parametrize("names", ["nativ", "native,typo", ","])
def test_a_typo_does_not_skip_tests_that_ask_for_engines(project: pytest.Pytester, names: str) -> None:
    code = RIGHT + "def test_it(crosscheck):\n    crosscheck(program, engines=('native', 'jax'))(np.ones(3))\n"
    result = run(project, code, f"--bridge-engines={names}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*--bridge-engines={names} names *choose among 'native', *'xla'*"])


@pytest.mark.ci
def test_engine_from_outside_is_used_and_named(project: pytest.Pytester) -> None:
    project.makeconftest("from bridge.engines import registry\nregistry.register('mirror', 'tests.engines.mirror')\n")
    code = RIGHT + (
        "def test_it(crosscheck):\n"
        "    report = crosscheck(program)(np.ones(3))\n"
        "    assert [run.engine for run in report.runs][:2] == ['numpy', 'mirror']\n"
    )
    run(project, code, "--bridge-engines=mirror").assert_outcomes(passed=1)
    result = run(project, code, "--bridge-engines=mirrored")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*choose among 'native', *'mirror'*"])


@pytest.mark.ci
def test_failures_are_written_into_one_page(project: pytest.Pytester) -> None:
    code = WRONG + (
        "@pytest.mark.parametrize('n', [2, 3])\n"
        "def test_wrong(crosscheck, n):\n"
        "    crosscheck(program, engines=('native',))(np.ones(n))\n"
        "def test_right(crosscheck):\n"
        "    crosscheck(lambda x: np.sum(x * x), engines=('native',))(np.ones(2))\n"
        "def test_of_something_else():\n"
        "    assert False\n"
    )
    result = run(project, code, "--bridge-report=out/failures.html")
    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines(["2 failed cross-checks in out*failures.html"])
    page = (project.path / "out" / "failures.html").read_text(encoding="utf-8")
    assert complaints(page) == []
    assert "test_it.py::test_wrong[2]" in page
    assert "test_it.py::test_wrong[3]" in page
    assert "test_right" not in page


@pytest.mark.ci
def test_failures_come_from_the_workers_of_xdist(project: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    code = WRONG + "def test_it(crosscheck):\n    crosscheck(program, engines=('native',))(np.ones(2))\n"
    result = run(project, code, "-p", "xdist.plugin", "-n", "2", "--bridge-report=out.html")
    result.stdout.fnmatch_lines(["1 failed cross-check in out.html"])
    assert "test_it.py::test_it" in (project.path / "out.html").read_text(encoding="utf-8")


def test_page_without_failures_says_so(project: pytest.Pytester) -> None:
    (project.path / "out.html").write_text("of the run before", encoding="utf-8")
    run(project, "def test_it():\n    pass\n", "--bridge-report=out.html").assert_outcomes(passed=1)
    page = (project.path / "out.html").read_text(encoding="utf-8")
    assert "<h1>0 failed cross-checks</h1>" in page
    assert complaints(page) == []


def test_programs_own_error_is_the_tests_error(project: pytest.Pytester) -> None:
    code = RIGHT + "def test_it(crosscheck):\n    crosscheck(lambda x: x.no_such_thing, engines='native')(np.ones(3))\n"
    result = run(project, code)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no_such_thing*"])


def test_errors_of_bridge_come_without_its_lines(project: pytest.Pytester) -> None:
    code = RIGHT + "\ndef test_it(crosscheck):\n    crosscheck(program)(np.arange(3))\n"
    code += "\ndef test_other(check_gradient):\n    check_gradient(program)(np.arange(3))\n"
    result = run(project, code)
    assert result.ret == 1
    said = result.stdout.str()
    assert said.count("ArgumentError") >= 2
    assert "bridge/proof" not in said and len(said.splitlines()) < 60


def test_fixture_and_options_describe_themselves(project: pytest.Pytester) -> None:
    result = run(project, "", "--help")
    result.stdout.fnmatch_lines(["*--bridge-engines=NAMES*", "*--bridge-report=FILE*"])
    run(project, "", "--markers").stdout.fnmatch_lines(["@pytest.mark.crosscheck(engines=*"])
    run(project, "", "--fixtures").stdout.fnmatch_lines(["crosscheck*", "*the Report if the engines agree*"])


def test_runs_that_do_not_use_it_import_neither_bridge_nor_numpy(project: pytest.Pytester) -> None:
    code = (
        "import sys\n"
        "def test_it():\n"
        "    assert not {'bridge', 'numpy', 'jax', 'rich.table', 'jinja2'} & set(sys.modules)\n"
    )
    run(project, code).assert_outcomes(passed=1)


def test_importing_the_plugin_loads_only_pytest() -> None:
    code = (
        "import pytest, sys; before = set(sys.modules); import pytest_mutation_bridge; print(set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{'pytest_mutation_bridge'}"
