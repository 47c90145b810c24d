"""The corpus of reported cases, with the rule book alone."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from tests.conformance import written
from tests.helpers import finite_differences as reference

CASES = json.loads((Path(__file__).parent / "cases.json").read_text(encoding="utf-8"))
GRADIENT = [case for case in CASES if case["kind"] == "gradient" and "numpy_program" in case]
KINKS = [case for case in CASES if case["kind"] == "convention" and "numpy_program" in case]
WORDS = [case for case in CASES if "numpy_program" not in case]

# What docs/conventions.md says at the kinks of the corpus: the mean of the subgradients, or the branch that ran.
AT_KINKS = {
    "k04-relu-spellings-at-zero": [0.5],
    "k05-abs-at-zero": [0.0],
    "k11-norm-at-zero-convention": [0.0, 0.0],
    "k12-cummax-ties": [3.0, 0.0, 0.0],
}
# Steep in x: finite differences and single precision say little there.
NOT_SINGLE = {"d06-expm1-tail", "r10-implicit-solve-factor-two"}


def name(case: dict[str, Any]) -> str:
    return case["id"]


def function(case: dict[str, Any], namespace: ModuleType) -> Any:
    scope: dict[str, Any] = {"np": namespace}
    exec(compile(case["numpy_program"], f"<{case['id']}>", "exec"), scope)
    return scope["f"]


def argument(case: dict[str, Any], dtype: Any = float) -> np.ndarray:
    return np.array(case["x"], dtype)


def differentiate(case: dict[str, Any], x: np.ndarray) -> tuple[Any, np.ndarray]:
    with np.errstate(all="ignore"):
        return bridge.value_and_grad(function(case, bridge.numpy), engine="native")(x)


def test_every_case_is_run_or_says_why() -> None:
    assert len(CASES) == 57
    assert len({case["id"] for case in CASES}) == len(CASES)
    unseen = {name(case) for case in WORDS} - set(written.CHECKS) - set(written.NOT_RUN)
    assert not unseen, f"neither written nor listed: {sorted(unseen)}"
    assert {name(case) for case in KINKS} == set(AT_KINKS)


@pytest.mark.parametrize("case", GRADIENT, ids=name)
def test_gradient(case: dict[str, Any]) -> None:
    x = argument(case)
    value, gradient = differentiate(case, x)
    expected = np.array(case["fd_gradient"])
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6 * np.max(np.abs(expected), initial=1.0))
    assert x.tobytes() == argument(case).tobytes(), "the caller's array changed"
    with np.errstate(all="ignore"):
        plain = function(case, np)(argument(case))
    assert np.asarray(value).tobytes() == np.asarray(plain).tobytes(), f"{value!r} is not plain NumPy's {plain!r}"


@pytest.mark.parametrize("case", GRADIENT, ids=name)
def test_forward_mode(case: dict[str, Any]) -> None:
    x = argument(case)
    (tangent,) = reference.random_tangents([x])
    with np.errstate(all="ignore"):
        _, derivative = bridge.jvp(function(case, bridge.numpy), (x,), (tangent,))
    assert derivative == pytest.approx(np.sum(np.array(case["fd_gradient"]) * tangent), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("case", [c for c in GRADIENT if name(c) not in NOT_SINGLE], ids=name)
def test_single_precision(case: dict[str, Any]) -> None:
    _, gradient = differentiate(case, argument(case, np.float32))
    expected = np.array(case["fd_gradient"])
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, expected, rtol=0.0, atol=2e-3 * np.max(np.abs(expected), initial=1.0))


@pytest.mark.parametrize("case", KINKS, ids=name)
def test_convention_at_a_kink(case: dict[str, Any]) -> None:
    _, gradient = differentiate(case, argument(case))
    np.testing.assert_array_equal(gradient, AT_KINKS[name(case)])
    assert np.all(gradient >= np.array(case["fd_left"])) and np.all(gradient <= np.array(case["fd_right"]))


@pytest.mark.parametrize("case", WORDS, ids=name)
def test_case_in_words(case: dict[str, Any]) -> None:
    if name(case) in written.NOT_RUN:
        pytest.skip(f"{name(case)}: {written.NOT_RUN[name(case)]}")
    written.CHECKS[name(case)]()
