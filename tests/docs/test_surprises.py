"""docs/surprises.md is what examples/surprises.py prints, and what `bridge` answers there is right or an error."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "surprises.md"


@pytest.fixture(scope="module")
def surprises() -> ModuleType:
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        import surprises
    finally:
        sys.path.remove(str(ROOT / "examples"))
    return surprises


KEYS = (
    "where", "gather", "norm", "outside", "ties", "abs", "relu", "overwritten", "behind", "copies", "twice", "complex",
    "power", "coin", "cancelling", "triangle",
)  # fmt: skip
# The value itself is rounding noise there: what crosscheck says of it is asked below.
NOISE = "cancelling"


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| \d+\. ", line)]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_program_is_in_every_system_and_on_the_page(surprises: ModuleType) -> None:
    assert tuple(one.key for one in surprises.SURPRISES) == KEYS
    recorded = json.loads(surprises.RECORD.read_text(encoding="utf-8"))
    assert set(recorded) == {*KEYS, "version", "date"}
    programs = re.findall(r'^    "(\w+)" => ', (ROOT / "examples" / "surprises.jl").read_text(encoding="utf-8"), re.M)
    assert tuple(programs) == KEYS
    assert len(rows()) == len(KEYS)
    for surprise, row in zip(surprises.SURPRISES, rows(), strict=True):
        assert surprise.text in row[0]
        assert surprise.why in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("number", range(len(KEYS)), ids=KEYS)
def test_bridge_answers_as_the_page_says_and_right(surprises: ModuleType, number: int) -> None:
    surprise = surprises.SURPRISES[number]
    found = surprises.answer(surprises.by_bridge, surprise)
    assert surprises.written(found) == rows()[number][-1].strip("*")
    assert surprises.is_right(found, surprises.slopes(surprise)) == (surprise.key != NOISE)


@pytest.mark.ci
@pytest.mark.parametrize("number", range(len(KEYS)), ids=KEYS)
def test_compiled_answers_are_the_same(surprises: ModuleType, number: int) -> None:
    pytest.importorskip("jax")
    surprise = surprises.SURPRISES[number]
    eager, compiled = (
        surprises.answer(lambda s, e=engine: surprises.by_bridge(s, e), surprise) for engine in ("native", "xla")
    )
    if isinstance(eager, str):
        assert compiled.split(":")[0] == "error"
    elif surprise.key != NOISE:
        np.testing.assert_allclose(compiled, eager, rtol=1e-12)


@pytest.mark.ci
@pytest.mark.parametrize(("system", "column", "module"), [("by_jax", 2, "jax"), ("by_torch", 3, "torch")])
def test_other_systems_answer_as_the_page_says(surprises: ModuleType, system: str, column: int, module: str) -> None:
    library = pytest.importorskip(module)
    if f" {library.__version__}" not in PAGE.read_text(encoding="utf-8"):
        pytest.skip(f"the page was made with another version than {module} {library.__version__}")
    for surprise, row in zip(surprises.SURPRISES, rows(), strict=True):
        found = surprises.answer(getattr(surprises, system), surprise)
        assert surprises.written(found) == row[column].strip("*"), surprise.key


def test_zygote_s_answers_on_the_page_are_the_recorded_ones(surprises: ModuleType) -> None:
    recorded = json.loads(surprises.RECORD.read_text(encoding="utf-8"))
    assert recorded["version"] in PAGE.read_text(encoding="utf-8")
    for surprise, row in zip(surprises.SURPRISES, rows(), strict=True):
        assert surprises.written(surprises.parsed(recorded[surprise.key])) == row[4].strip("*"), surprise.key


@pytest.mark.julia
def test_zygote_answers_as_recorded(surprises: ModuleType) -> None:
    found = surprises.run_zygote()
    recorded = json.loads(surprises.RECORD.read_text(encoding="utf-8"))
    if found["version"] != recorded["version"]:
        pytest.skip(f"recorded with {recorded['version']}, and here is {found['version']}")
    for key in KEYS:
        one, other = (surprises.written(surprises.parsed(answers[key])) for answers in (found, recorded))
        assert one == other, key


def test_where_the_value_is_noise_crosscheck_says_so(surprises: ModuleType) -> None:
    import bridge

    surprise = next(one for one in surprises.SURPRISES if one.key == NOISE)
    report = bridge.crosscheck(lambda x: surprise.numpy(np, x), engines=("native",))(surprises.point(surprise))
    assert any(one.kind == "precision" for one in report.differences), str(report)


@pytest.mark.parametrize("found", [[np.nan, 0.25], [0.0, 0.3], None])
def test_wrong_answers_are_seen(surprises: ModuleType, found: object) -> None:
    sides = surprises.slopes(surprises.SURPRISES[0])
    assert not surprises.is_right(None if found is None else np.array(found), sides)
    assert surprises.is_right(np.array([0.0, 0.25]), sides)
    assert surprises.is_right("error: ValueError: no", sides)
