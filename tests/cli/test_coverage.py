"""Every public function of NumPy is classified, the page says so, and the verdicts are what happens."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from bridge.arrays import dispatch, functions
from bridge.cli import coverage
from bridge.errors import BridgeError, EscapeError, NoRuleError, RefusedError
from bridge.extend import REFUSED, RULES, ZERO_PULL
from bridge.rulebook import book

book.read_book()

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"

TURNED_PLAIN: dict[str, Callable[[Any], Any]] = {
    "asmatrix": np.asmatrix,
    "bmat": lambda b: np.bmat([[b, b]]),
    "broadcast": np.broadcast,
    "flatiter": lambda b: np.array([b]).flat,
    "matrix": np.matrix,
    "ndenumerate": np.ndenumerate,
    "nditer": np.nditer,
    "nested_iters": lambda b: np.nested_iters(np.reshape(b, (3, 1)), [[0], [1]]),
    "record": np.record,
    "require": np.require,
    "vectorize": lambda b: np.vectorize(lambda one: one * one)(b),
}


def listed(verdict: str, note: str = "") -> list[str]:
    names = [entry[1].split() for entry in coverage.BEYOND_DISPATCH if entry[2] == verdict and note in entry[3]]
    return [name for part in names for name in part]


@pytest.fixture(scope="module")
def rows() -> list[coverage.Row]:
    """The table, classified once for all tests of the page."""
    return coverage.rows()


@pytest.fixture
def classified(rows: list[coverage.Row], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "rows", lambda: rows)


def test_no_function_is_left_over() -> None:
    assert coverage.leftovers() == []


@pytest.mark.usefixtures("classified")
def test_page_is_up_to_date() -> None:
    assert coverage.complaint(PAGE) is None


@pytest.mark.usefixtures("classified")
def test_stale_page_is_found(tmp_path: Path) -> None:
    stale = tmp_path / "coverage.md"
    assert "out of date" in str(coverage.complaint(stale))
    text = coverage.page()
    stale.write_text(text, encoding="utf-8")
    assert coverage.complaint(stale) is None
    row = next(line for line in text.splitlines() if line.startswith("| `np.tanh` |"))
    stale.write_text(text.replace(row, "| `np.tanh` | refused | no |"), encoding="utf-8")
    assert "np.tanh: refused | no -> rule | `rules/" in str(coverage.complaint(stale))
    stale.write_text(text.replace(row + "\n", ""), encoding="utf-8")
    assert "np.tanh: not there -> rule" in str(coverage.complaint(stale))


@pytest.mark.usefixtures("classified")
def test_page_of_other_versions_is_compared_where_both_know_a_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "coverage.md"
    page.write_text(coverage.page().replace("np.tanh`", "np.function_of_another_version`"), encoding="utf-8")
    assert coverage.complaint(page) is not None
    monkeypatch.setattr(coverage, "_versions", lambda: "NumPy 9.9")
    assert coverage.complaint(page) is None
    page.write_text(
        page.read_text(encoding="utf-8").replace("| `np.tan` | rule", "| `np.tan` | creation"), encoding="utf-8"
    )
    assert "np.tan: creation" in str(coverage.complaint(page))


def test_what_dispatch_knows_is_not_listed_by_hand() -> None:
    known = {*RULES, *ZERO_PULL, *REFUSED, *functions.HANDLED}
    modules = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft}
    for module, names, _, _ in coverage.BEYOND_DISPATCH:
        for name in names.split():
            function = getattr(modules[module], name, None) if name in dir(modules[module]) else None
            assert function is None or function not in known, name


def test_every_function_that_turns_its_argument_plain_is_tried() -> None:
    assert sorted(TURNED_PLAIN) == sorted(listed(coverage.REFUSAL, "plain memory"))


@pytest.mark.parametrize("name", sorted(TURNED_PLAIN))
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_turned_plain_is_an_escape(name: str) -> None:
    def swallows(x: Any) -> Any:
        with contextlib.suppress(BridgeError):
            TURNED_PLAIN[name](x)
        return np.sum(x)

    with pytest.raises(EscapeError):
        bridge.grad(swallows, source=False)(np.ones(3))


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: getattr(f, "__name__", str(f)))
def test_refused_function_says_why(function: Any) -> None:
    with bridge.Context() as context, pytest.raises(RefusedError, match="remedy"):
        dispatch.call(function, (context.buffer(np.ones(3)),), {})


@pytest.mark.filterwarnings("ignore")
def test_function_without_a_rule_shows_how_to_write_one(rows: list[coverage.Row]) -> None:
    special = pytest.importorskip("scipy.special", reason="scipy is needed: python -m pip install -e '.[test]'")
    without = [row.name for row in rows if row.verdict == coverage.NO_RULE and row.name.startswith("scipy.")]
    assert without
    for name in (full.rpartition(".")[2] for full in without):
        ufunc = getattr(special, name)
        inputs = max((kinds.partition("->")[0] for kinds in ufunc.types), key=lambda kinds: kinds.count("d"))
        with bridge.Context() as context, pytest.raises(NoRuleError, match=rf"@rule\(scipy\.special\.{name}\)"):
            ufunc(*[context.buffer(np.full(2, 0.5)) if kind == "d" else 1 for kind in inputs])


def test_creation_functions_return_buffers_in_a_context() -> None:
    with bridge.Context():
        for name, args in {
            "zeros": (3,),
            "full": ((2,), 1.0),
            "linspace": (0.0, 1.0, 4),
            "array": ([1.0, 2.0],),
        }.items():
            assert isinstance(getattr(bridge.numpy, name)(*args), bridge.Buffer)
