"""Functions of numbers and of elements, at ordinary and at special values: C against Python, with their gradients."""

from __future__ import annotations

import itertools
import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.loops_in_c import tiers
from bridge.source import looping
from tests.loops_in_c.test_loops import loops, outcome  # noqa: F401

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: cc, gcc or clang"
)

OF_ELEMENTS = (
    *(f"np.{name}(x)" for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
        "sinh", "cosh", "tanh", "sqrt", "square", "reciprocal", "abs", "fabs", "sign", "floor", "ceil", "trunc", "rint",
        "negative", "positive",
    )),
    *(f"np.{name}(x, y)" for name in (
        "arctan2", "hypot", "power", "maximum", "minimum", "remainder", "floor_divide", "add", "subtract", "multiply",
        "divide",
    )),
    "x % y", "x // y", "x ** y", "x ** 2", "x ** 3", "x ** 0.5", "x ** -1", "x ** 0", "x ** 1", "2.0 ** x",
    "1.0 * np.isnan(x)", "1.0 * np.isinf(x)", "1.0 * np.isfinite(x)", "x * (x < y)",
)  # fmt: skip
OF_ARRAYS = (
    "np.where(x > y, x, y)", "np.where(x, x * y, 0)", "np.where(x > 0, np.sqrt(x), 0.0)", "np.clip(x, y, 1.0)",
    "np.clip(x, 0, 1)", "np.clip(x, -1.0, y)", "np.clip(x, y, x)", "np.clip(x, None, y)", "np.clip(x, y, None)",
    "x ** a", "np.power(x, 2)", "np.power(x, a)", "np.power(2.0, x)", "x * np.logical_and(x, y)",
    "x * np.logical_not(y > x)", "np.where((x > 0) & ~(y > 0) | (x == y), x, 2.0 * y)",
)  # fmt: skip
OF_NUMBERS = (
    *(f"math.{name}(x)" for name in (
        "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
        "tanh", "sqrt", "fabs", "floor", "ceil", "trunc",
    )),
    "math.atan2(x, y)", "math.pow(x, y)", "int(x) + 0.5", "float(x) * y", "round(x) * y", "bool(x) * y", "min(x, y)",
    "max(x, y)", "x * math.isnan(y)", "math.sqrt(x) if x > 0 else float(y)",
    "float(x) ** float(y)", "float(x) % float(y)", "float(x) // float(y)", "float(x) / float(y)",
)  # fmt: skip
OF_WHOLE_ARRAYS = (
    "x * np.sum(x)", "x * np.mean(x * y)", "x + np.max(x)", "y * np.min(x * y)", "x + np.prod(x)", "x * np.sum(x > y)",
    "np.sum(x[:, None] * y[None, :], axis=0)", "np.sum(x[:, None] * y, axis=1)", "np.max(x[:, None] + y, axis=0) + a",
    "np.min(x * y[:, np.newaxis], axis=1)", "np.prod(0.5 * x * y[:, None], axis=0)", "np.outer(x, y)[0] + x.max()",
    "(x[:, None] * y) @ x", "y @ (x[:, None] * y)", "np.dot(np.outer(x, y), y)", "(np.outer(x, y) @ np.outer(y, x))[0]",
    "np.mean(x[:, None] * y, axis=0)", "np.sqrt(x * np.where(x > np.min(y), 1.0, 0.0))",
    "np.where(x == np.max(x), np.sqrt(np.max(np.abs(x))), x)",
)  # fmt: skip
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 2.5, -2.5, 1e-320, 1e300, np.inf, -np.inf, np.nan)

ELEMENTS = """
import math

import numpy as np


def f(v, w, a):
    for i in range(len(v)):
        x, y = v[i], w[i]
        v[i] = {expression}
    return np.sum(v)
"""
ARRAYS = """
import numpy as np


def f(x, y, a):
    for i in range(1):
        x[i:] = {expression}
    return np.sum(x)
"""


@pytest.fixture
def compared(tmp_path: Path, loops: Callable[[str], list[int]], monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: F811
    """Compares a program that is made of an expression, run by Python and in C; returns how often C ran it."""
    monkeypatch.setattr(tiers, "_STOPS", 1 << 30)

    def compare(template: str, expression: str, dtype: Any = np.float64) -> int:
        path = tmp_path / "of_an_expression.py"
        path.write_text(template.format(expression=expression), encoding="utf-8")
        names: dict[str, Any] = {"__name__": path.stem}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
        generator = np.random.default_rng(0)
        # Others for each expression: all of them would take minutes.
        chosen = random.Random(expression).sample(list(itertools.product(SPECIAL, SPECIAL)), 60)
        smallest, largest = (1e-320, 1e300) if dtype is np.float64 else (1e-40, 1e30)
        chosen = [[{1e-320: smallest, 1e300: largest}.get(x, x) for x in one] for one in chosen]
        pairs = [np.array(one) for one in chosen]
        inputs = [(pair[:1], pair[1:]) for pair in pairs]
        inputs += [(scale * generator.standard_normal(37), generator.standard_normal(37)) for scale in (0.3, 3.0)]
        inputs += [(np.abs(v) + 0.1, np.abs(w) + 0.1) for v, w in inputs[-2:]]
        inputs += [(generator.uniform(-1, 1, 37), np.full(37, exponent)) for exponent in (2.0, -1.0)]
        inputs += [(np.round(generator.standard_normal(9)), np.round(generator.standard_normal(9))) for _ in range(3)]
        # NumPy's inner loops compute vectors of 256 elements.
        inputs += [(0.3 * generator.standard_normal(600), generator.standard_normal(600))]
        count, (rtol, atol) = 0, (1e-11, 0.0) if dtype is np.float64 else (1e-4, 1e-4)
        for number, (v, w) in enumerate((one.astype(dtype), other.astype(dtype)) for one, other in inputs):
            a = SPECIAL[number % len(SPECIAL)]
            for zeros in ("strong", "ieee"):
                found, ran = [], []
                for who in ("python", "c"):
                    ran = loops(who)
                    with np.errstate(all="ignore"), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        differentiated = bridge.value_and_grad(names["f"], argnums=(0, 1, 2), zeros=zeros)
                        found.append(outcome(differentiated, (v, w, a)))
                assert not looping.REASONS
                count += len(ran)
                expected, other = found
                if isinstance(expected[0], type):
                    assert other == expected, (v, w, a)
                    continue
                assert type(other[0]) is type(expected[0])
                assert np.asarray(other[0]).tobytes() == np.asarray(expected[0]).tobytes(), (v, w, a, found)
                for one, of_python in zip(other[1], expected[1], strict=True):
                    assert np.asarray(one).dtype == np.asarray(of_python).dtype
                    np.testing.assert_allclose(one, of_python, rtol, atol, err_msg=str((v, w, a, zeros)))
        return count

    return compare


@pytest.mark.ci
@pytest.mark.parametrize("dtype", (np.float64, np.float32))
@pytest.mark.parametrize("expression", (*OF_ELEMENTS, *OF_NUMBERS))
def test_functions_of_numbers(expression: str, dtype: Any, compared: Callable[..., int]) -> None:
    if dtype is np.float32 and expression == "math.trunc(x)":
        pytest.skip("a float32 has none")
    assert compared(ELEMENTS, expression, dtype) > 10


@pytest.mark.ci
@pytest.mark.parametrize("dtype", (np.float64, np.float32))
@pytest.mark.parametrize("expression", (*OF_ELEMENTS, *OF_ARRAYS, *OF_WHOLE_ARRAYS))
def test_functions_of_arrays(expression: str, dtype: Any, compared: Callable[..., int]) -> None:
    assert compared(ARRAYS, expression, dtype) > 10
