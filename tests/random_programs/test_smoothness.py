"""Programs whose gradients nobody could check are unfit, and none that is only wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.random_programs.program import RandomProgram
from tests.random_programs.smoothness import kink, steep, unevenness
from tests.random_programs.test_hazards import program
from tests.random_programs.verdict import DIFFERS, UNFIT, Verdict, judged

KINKED = {
    # At 0, 3 * x is a whole number: the slope is 0 on the one side and -1 on the other.
    "floor": ("y = 0.5 * (x - 0.5)", "y *= np.floor(3.0 * y)", "x += y"),
    # The two are equal: each is the larger on one side.
    "a tie of a sorted index": ("y = np.stack([x[0], x[3] - 0.25])", "x[:2] = y[np.argsort(y)]", "x[0] *= 3.0"),
    "a largest": ("x *= max(x[0], x[3] - 0.25)",),
}
STEEP = {
    "a root of 0": ("y = x - x[0]", "y[2:] = 0.0", "y[1] = 0.0", "x *= np.sqrt(y)[0] + 1.0"),
    "a root of 0 in place": ("y = 0.0 * x", "with np.errstate(all='raise'):\n    np.sqrt(y, out=y)", "x += y"),
}


def as_double(dtype: Any = np.float64) -> RandomProgram:
    return program("x[1:] = np.sin(x[:-1])", dtype=dtype)


@pytest.mark.parametrize("name", KINKED)
def test_kinks(name: str) -> None:
    verdict = judged(program(*KINKED[name]), "native")
    assert verdict == Verdict(UNFIT, "the slopes ahead and behind do not agree")


@pytest.mark.parametrize("name", STEEP)
def test_infinite_slopes(name: str) -> None:
    verdict = judged(program(*STEEP[name]), "native")
    assert verdict == Verdict(UNFIT, "np.sqrt has an infinite slope at what it is given")


def test_a_gradient_that_is_wrong_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smooth program has no kink, and hardly moves with its rounding: nothing excuses it."""
    monkeypatch.setattr("tests.random_programs.verdict.reference.inner", lambda gradient, tangents: 0.25)
    assert judged(as_double(), "native").kind == DIFFERS
    monkeypatch.setattr("tests.random_programs.verdict.reference.inner", lambda gradient, tangents: float("nan"))
    assert judged(as_double(), "native").kind == DIFFERS


def test_a_value_of_another_program_stays_so() -> None:
    found = judged(as_double(), "xla", lambda one: (1.0, [np.zeros(4)], one.inputs))
    assert found.kind == DIFFERS and found.what == "value"


def test_measures() -> None:
    smooth = program("x *= np.cos(x)")
    assert kink(smooth, [np.ones(4)]) < 1e-8
    assert steep(smooth) == ""
    assert unevenness(smooth, lambda inputs: smooth.plain(*inputs)) < 1e-14
    floored = program("y = 0.5 * (x - 0.5)", "y *= np.floor(3.0 * y)", result="np.sum(y)")
    assert kink(floored, [np.array([1.0, 0.0, 0.0, 0.0])]) == pytest.approx(0.5)
    decided = program("y = np.floor(x * 3.0 * (1.0 / 0.75)) + 0.0 * x", result="np.sum(y)")
    assert unevenness(decided, lambda inputs: decided.plain(*inputs)) >= 1.0
    assert steep(program("with np.errstate(all='ignore'):\n    y = np.log(x - x)")) == "log"


def test_a_jump_that_single_precision_rounds_across() -> None:
    """tanh rounds to 1.0 there, and three times that is a whole number; in double precision it is less."""
    steps = ("y = np.tanh(20.0 + x)", "y *= np.floor(3.0 * y)", "x *= np.cos(y)")
    assert judged(program(*steps, dtype=np.float32), "native").kind in (UNFIT, "right")
