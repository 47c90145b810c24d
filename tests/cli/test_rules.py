"""`python -m bridge rules`: what is listed, explained and proved, and what is said of names that mean nothing."""

from __future__ import annotations

import contextlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from bridge.cli import commands
from bridge.cli.entries import details, entries, entries_of
from tests.rulebook.test_guests import printed
from tests.rulebook.test_guests import run as run_with
from tests.rulebook.test_guests import site as site

pytest.importorskip("scipy")

RULES = """
import numpy as np
from bridge.extend import mutating_rule, rule

def cubed(x):
    return x ** 3

@rule(cubed, orders=1, dtypes="float64")
def cube(ct, out, x):
    '''Three squares.'''
    return 3 * x ** 2 * ct

def halved(x):
    return x / 2

@rule(halved)
def half(ct, out, x):
    return ct

@mutating_rule(mutates="a")
def doubled(a):
    a *= 2

@doubled.pull
def doubled_back(ct, a):
    return 2 * ct
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / f"kernels_of_{tmp_path.name}.py"
    path.write_text(RULES)
    return path


def test_each_function_has_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["rules", "list"]) == 0
    lines = {line.split()[0]: line.split(None, 1)[1] for line in capsys.readouterr().out.splitlines()}
    assert len(lines) == len(entries()) > 1000
    assert lines["np.tanh"].split() == ["rule", "rules/transcendental.py"]
    assert lines["np.sum"].split() == ["linear", "rule", "rules/reductions.py"]
    assert lines["scipy.integrate.solve_ivp"].split() == ["stand-in", "rules/integrate_ode.py"]
    assert lines["np.argmax"].split() == ["no", "gradient", "the", "rule", "book"]
    assert not any(name.startswith("bridge.") for name in lines)


def test_lines_with_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["rules", "list", "spline"]) == 0
    assert all("spline" in line for line in capsys.readouterr().out.splitlines())
    assert commands.main(["rules", "list", "no such text"]) == 2
    assert "no line has 'no such text'" in capsys.readouterr().err


def test_what_a_rule_reads_and_where_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["rules", "explain", "numpy.linalg.solve"]) == 0
    text = capsys.readouterr().out
    for line in ("np.linalg.solve: rule", "arguments    a, b", "pull reads   a, out", "fails on singular"):
        assert line in text
    line = next(line for line in text.splitlines() if line.startswith("  by "))
    path, _, number = line.split()[1].partition(":")
    code = (Path(__file__).parents[2] / path).read_text().splitlines()
    assert "np.linalg.solve" in code[int(number) - 1]
    assert "in Julia     rules/linalg.jl:" in text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("random.gauss", "stand-in"),
        ("scipy.optimize.fsolve", "stand-in"),
        ("np.argsort", "no gradient"),
        ("erf", "rule"),
    ],
)
def test_other_entries(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["rules", "explain", name]) == 0
    assert capsys.readouterr().out.partition("\n")[0].endswith(f": {said}")


def test_a_refusal_has_its_reason() -> None:
    refused = next(one for one in entries() if one.kind == "refused")
    assert entries_of(refused.name)[0] == refused


def test_rules_of_a_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["rules", "explain", f"{file}:cubed"]) == 0
    text = capsys.readouterr().out
    assert "derivatives  first derivatives only, float64" in text and "Three squares." in text and f"{file}:" in text
    assert commands.main(["rules", "explain", f"{file}:doubled"]) == 0
    assert "writes       a" in capsys.readouterr().out


def test_rules_are_proved(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["rules", "check", f"{file}:cube"]) == 0
    assert "checks passed" in capsys.readouterr().out
    again = file.rename(file.with_name(f"again_{file.name}"))
    assert commands.main(["rules", "check", f"{again}:halved", "--subprocess"]) == 1
    assert "[wrong-gradient]" in capsys.readouterr().out


def test_what_cannot_be_proved_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["rules", "check", "np.argmax"]) == 2
    assert "np.argmax has no rule to prove: no gradient" in capsys.readouterr().err
    assert commands.main(["rules", "explain", "np.tahn"]) == 2
    assert "nothing is said of np.tahn\n  remedy: did you mean np.tan" in capsys.readouterr().err
    assert commands.main(["rules", "explain", f"{__name__}:test_rules_of_a_file"]) == 2
    assert "write a rule for it" in capsys.readouterr().err


@pytest.mark.ci
def test_a_guests_rules_have_its_name(site: Path) -> None:
    text = "from bridge.cli.commands import main\n"
    text += "".join(
        f"main(['rules', {words}])\n" for words in ("'list', 'softly'", "'explain', 'softly'", "'check', 'softly'")
    )
    listed, explained = printed(site, text).split("fastkernels.softly: rule")
    assert listed.splitlines()[-1].split() == ["fastkernels.softly", "rule", "fast-kernels", "1.2"]
    assert "fast-kernels 1.2, " in explained and "checks passed" in explained


@pytest.mark.ci
def test_a_guest_that_cannot_be_imported(site: Path) -> None:
    (site / "fastkernels" / "__init__.py").write_text("1 / 0\n")
    done = run_with(site, "-m", "bridge", "rules", "list", "tanh")
    assert "fastkernels cannot be imported, and its rules are not listed: ZeroDivisionError" in done.stderr


def test_no_public_function_of_the_book_lacks_a_line() -> None:
    names = {one.name for one in entries()}
    assert {"np.fft.fft", "np.linalg.svd", "np.where", "np.add"} <= names
    assert np.tanh in {one.function for one in entries()}


def test_numpys_function_comes_first_and_the_others_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["rules", "explain", "sin"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("np.sin: rule\n")
    assert re.search(r"also +cmath\.sin, math\.sin\n", said)


def test_a_stand_in_has_its_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["rules", "explain", "scipy.linalg.solve"]) == 0
    assert re.search(r"arguments +a, b, lower.*\n +derivatives +those of", capsys.readouterr().out)


@pytest.mark.ci
def test_what_a_pull_reads_are_arguments_not_variables_of_its_own() -> None:
    for entry in entries():
        told = dict(details(entry)) if entry.kind in ("rule", "linear rule") else {}
        if told.get("pull reads", "nothing") == "nothing":
            continue
        known = {"out", *entry.rule.parameters, *(entry.rule.reads or ())}
        with contextlib.suppress(TypeError, ValueError):
            known |= set(inspect.signature(entry.function).parameters)
        assert set(told["pull reads"].split(", ")) <= known, entry.name
