"""Julia functions as users write them: the gradient is that of central differences, or an error says what to do.

The functions are of the kinds that issues of Zygote, Mooncake, Enzyme, ReverseDiff and SciML's packages about mutation
are about. Each is asked at several points, the first of them twice, since what an engine or the function keeps from one
call must not be seen in the next.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeError, JuliaNotAvailable
from tests.julia_python.as_written.table import CASES, Case

pytestmark = pytest.mark.julia

FOLDER = Path(__file__).parent / "as_written"
ENGINES = ("zygote", "mooncake", "forwarddiff", "reversediff")


@pytest.fixture(scope="module", autouse=True)
def functions() -> None:
    try:
        bridge.julia.using("StaticArrays", "SparseArrays")
    except JuliaNotAvailable as missing:
        pytest.skip(str(missing))
    for file in sorted(FOLDER.glob("*.jl")):
        bridge.julia.include(file)


def test_a_hundred_and_each_once() -> None:
    names = [case.name for case in CASES]
    assert len(names) >= 100 and len(set(names)) == len(names)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_whoever_differentiates(case: Case) -> None:
    verdicts = [verdict(case, args, "auto") for args in case.points()]
    if "Mooncake" not in bridge.julia.status().engines:
        return
    if case.says:
        assert any(case.says in one for one in verdicts), verdicts
    else:
        assert not any(verdicts), "\n".join(verdicts)


@pytest.mark.parametrize("ad", ENGINES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_engines_by_name(case: Case, ad: str) -> None:
    verdicts = [verdict(case, args, ad) for args in case.points()]
    if ad in case.by_name:
        assert all(case.by_name[ad] in one for one in verdicts), verdicts


def verdict(case: Case, args: tuple[Any, ...], ad: str) -> str:
    """What the error says, nothing if there is none; the gradient must be right, and the error have a remedy."""
    try:
        function = bridge.julia.function(case.name, ad=ad)
    except JuliaNotAvailable as missing:
        pytest.skip(str(missing))
    before = [np.array(leaf) for leaf in bridge.trees.leaves_of(args)[0]]
    try:
        gradient = bridge.grad(lambda first: function(first, *args[1:], **case.keywords))(args[0])
        if not case.keywords:
            alone = bridge.grad(function)(*args)
            np.testing.assert_allclose(floats(alone), floats(gradient), rtol=1e-10, atol=1e-12)
    except BridgeError as error:
        assert error.remedy, str(error)
        return str(error)
    finally:
        after = bridge.trees.leaves_of(args)[0]
        assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
    expected = bridge.julia.function(f"Differences.of({case.name})")(*args, **case.keywords)
    tolerance = 2e-3 if case.single else 1e-6
    floor = tolerance * max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(floats(gradient), expected, rtol=tolerance, atol=floor, err_msg=function.explain())
    return ""


def floats(value: Any) -> np.ndarray:
    """The floats of a gradient in one vector; of a complex array the real parts first."""
    parts = []
    for leaf in bridge.trees.leaves_of(value)[0]:
        array = np.asarray(leaf).ravel(order="F")
        parts += [array.real, array.imag] if np.iscomplexobj(array) else [array]
    return np.concatenate(parts).astype(float)
