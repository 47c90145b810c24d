"""Random programs of loops, branches and windows mean compiled what they mean in plain Python, or are refused by name.

`python -m tests.random_programs.control_flow 2000` is the long run, and shrinks what fails.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from tests.random_programs.control_flow import blocks, idioms
from tests.random_programs.control_flow.blocks import program
from tests.random_programs.control_flow.program import Program, Unfit, ran
from tests.random_programs.control_flow.running import described, run
from tests.random_programs.control_flow.shrinking import smallest
from tests.random_programs.control_flow.verdict import DIFFERS, REFUSED, RIGHT, UNFIT, Different, agree, judged
from tests.random_programs.control_flow.writer import RESULTS, Writer

pytest.importorskip("jax", reason="JAX is not installed: random programs were not compiled (pip install jax)")

LONGEST = 60


@pytest.mark.ci
def test_random_programs_mean_compiled_what_they_mean(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    # From the seventh: the sixth takes twenty seconds to be refused, and is one of the long run's.
    count, seed = max(3, request.config.getoption("--programs") // 30), 6
    ended, refused = Counter[str](), Counter[str]()
    while ended.total() < count:
        found, verdict = run(seed, tmp_path, LONGEST, shrink=60.0)
        seed += 1
        if found is not None:
            assert verdict.kind in (RIGHT, REFUSED), described(found, verdict)
            ended[verdict.kind] += 1
            if verdict.kind == REFUSED:
                refused[verdict.what] += 1
    print(dict(ended), dict(refused))


def test_programs_are_those_of_their_seeds_and_many_are_fit(tmp_path: Path) -> None:
    assert program(3).text == program(3).text != program(4).text
    fit = 0
    for seed in range(40):
        one = program(seed)
        with one.loaded(tmp_path) as module:
            try:
                found = ran(module, one.arguments(), longest=400)
            except Unfit:
                continue
        fit += 1
        assert len(found) == len(RESULTS) + 1 and np.isfinite(found[-1])
    assert fit > 20
    assert not list(tmp_path.iterdir())


def alone(number: int) -> Program:
    """An algorithm by itself."""
    writer = Writer(3)
    with blocks.inside(writer, "def state(x, A, a):"):
        writer.put("n, u, v, s, t, c, p = len(x), 0.5 * x, np.cos(x), 0.1, a, 1, np.arange(len(x))")
        blocks.idiom(writer, idioms.IDIOMS[number])
        writer.put(blocks.RETURN)
    return Program(number, writer.size, tuple(writer.lines), RESULTS)


@pytest.mark.parametrize("number", range(len(idioms.IDIOMS)))
def test_algorithms_as_people_write_them_run(number: int, tmp_path: Path) -> None:
    """What random programs are made of has no mistakes of its own."""
    with alone(number).loaded(tmp_path) as module:
        ran(module, alone(number).arguments(), longest=2000)


@pytest.mark.ci
@pytest.mark.parametrize("number", range(len(idioms.IDIOMS)))
def test_algorithms_as_people_write_them_compile(number: int, tmp_path: Path) -> None:
    found = judged(alone(number), tmp_path, longest=2000, slopes=True)
    assert found.kind == RIGHT, described(alone(number), found)


def written(*rows: str) -> Program:
    """A program of a few lines."""
    writer = Writer(0)
    writer.put_block(["def state(x, A, a):", *(f"    {row}" for row in rows), "    return x, a"])
    return Program(0, 5, tuple(writer.lines), ("x", "a"))


def test_a_program_that_is_compiled_into_another_is_found_and_made_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the run looks for, planted: where an element is written, the compiled program writes another number."""

    def planted(function: Any) -> Any:
        def compiled(x: Any, *rest: Any) -> Any:
            before = x.copy()
            after, *others = function(x, *rest)
            return (after + (after != before), *others)

        return compiled

    monkeypatch.setattr(bridge, "xla", planted)
    one = written("for i in range(2):", "    x[i] *= 0.5", "    a += x[i]", "a *= 2.0")
    found = judged(one, tmp_path, LONGEST)
    assert (found.kind, found.what) == (DIFFERS, "bridge.xla(state): results x") and "expected" in found.detail
    small = smallest(one, lambda candidate: judged(candidate, tmp_path, LONGEST).what == found.what, seconds=20.0)
    assert "for i in range(2):\n        x[i] *= 0.5\n    return x, a" in small.text


def test_a_refusal_is_told_by_its_kind_and_a_chaotic_program_is_none(tmp_path: Path) -> None:
    refused = judged(written("x = np.unique(x)"), tmp_path, LONGEST)
    assert refused.kind == REFUSED and refused.what.startswith("bridge.xla(state): RefusedError: "), refused
    rough = judged(written("x[0] = math.sin(1e12 * x[0]) * 1e-3", "x[1] = x[0] ** 2"), tmp_path, LONGEST)
    assert rough.kind in (UNFIT, RIGHT), rough


def test_shapes_and_numbers_are_compared() -> None:
    agree("value", [1.0, np.ones(2)], [1.0 + 1e-12, np.ones(2)], ("a", "b"))
    with pytest.raises(Different, match=r"results b: the shape is \(2,\), expected \(3,\)"):
        agree("results", [1.0, np.ones(2)], [1.0, np.ones(3)], ("a", "b"))
    with pytest.raises(Different, match=r"gradient x:\nnan\nexpected\n1.0"):
        agree("gradient", [float("nan")], [1.0], ("x",))
