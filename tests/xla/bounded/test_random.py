"""Random loops over windows of run-time length: compiled against plain Python loops, errors included."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import IndexRangeError

N = 6
X = np.random.default_rng(8).uniform(0.3, 1.2, N)
A = np.random.default_rng(9).normal(size=(N, N))
S = np.array([0, 2, 1, 5, 3, 6])

BOUNDS = ["i", "i + 1", "i - 2", "6 - i", "i // 2", "s[i]", "s[i] - 3", "2 * i", "-2", "1", "4", "", "8 - s[i]"]
REDUCTIONS = [
    "np.sum({})", "np.prod({})", "np.sum({0} * {0})", "({0} @ {0})", "np.sum(np.cumsum({}))", "np.linalg.norm({} + 2)",
    "np.sum({}) / (1 + {}.shape[0])", "np.sum(np.where({0} > 0.5, {0}, 1.0))", "np.sum(np.flip({0})[1:] * {0}[:-1])",
    "np.max({})", "np.mean({})", "{}[0]", "np.sum({}[::2])", "np.sum(np.sort({})[:2])",
]  # fmt: skip
MAPS = [
    "{} * 0.7", "np.sin({})", "{0} * {0}", "{}[::-1]", "{} + y[i]", "np.cumsum({})", "{} / (2.0 + {}**2)", "-{}.copy()",
    "{} * np.cumsum(np.ones_like({}))", "np.minimum({}, 0.8)", "{} - np.sum({})",
]  # fmt: skip


class Writer:
    """Writes the body of a loop, line by line."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.lines: list[str] = []

    def window(self) -> str:
        step = self.draw.choice(["", "", "", "", ":2", ":-1", ":-2"])
        return f"{self.draw.choice(BOUNDS)}:{self.draw.choice(BOUNDS)}{step}"

    def source(self, window: str) -> str:
        return self.draw.choice(["x[{}]", "y[{}]", "A[i, {}]", "A[{}, i]", "x[{}]", "y[{}]"]).format(window)

    def some(self, texts: list[str], window: str) -> str:
        """A text, all of its gaps filled with one window of one array."""
        text, filling = self.draw.choice(texts), self.source(window)
        return text.replace("{0}", filling).replace("{}", filling)

    def statement(self) -> str:
        window = self.window()
        kind = self.draw.randrange(6)
        if kind == 0:
            return f"y[i] {self.draw.choice(['=', '+=', '*='])} 0.5 * {self.some(REDUCTIONS, window)}"
        if kind == 1:
            target = self.source(window).replace("x[", "y[")
            return f"{target} {self.draw.choice(['+=', '*=', '-='])} {self.some(MAPS, window)}"
        if kind == 2:
            return f"A[i, {window}] = {self.some(MAPS, window)} + A[{window}, i]"
        if kind == 3:
            return f"y[{window}] = {self.some(MAPS, self.window())}"
        if kind == 4:
            return f"A[{window}, {window}] += 0.1 * np.outer({self.source(window)}, {self.some(MAPS, window)})"
        return f"w = y[{window}]; w *= 0.9; y[i] += np.sum(w * w)"

    def program(self) -> str:
        body = "\n        ".join(self.statement() for _ in range(self.draw.randint(1, 3)))
        return (
            f"def program(loop, x, A, s):\n    def body(i, state):\n        y, A = state\n        {body}\n"
            f"        return y, A\n\n    y, A = loop(0, {N}, body, (x * 0.8, A * 1.0))\n"
            "    return np.sum(np.sin(y)) + np.sum(np.cos(A))\n"
        )


def plain(lower: int, upper: int, body: Any, init: Any) -> Any:
    for i in range(lower, upper):
        init = body(i, init)
    return init


def check(text: str) -> bool:
    """Whether a program runs; it does the same compiled, and its gradients are the same."""
    names: dict[str, Any] = {"np": np}
    exec(compile(text, "<random>", "exec"), names)

    def eager(x: Any, A: Any, s: Any) -> Any:
        return names["program"](plain, x, A, s)

    def compiled(x: Any, A: Any, s: Any) -> Any:
        return names["program"](bridge.fori_loop, x, A, s)

    run = bridge.value_and_grad(compiled, argnums=(0, 1), engine="xla", source=False)
    try:
        with np.errstate(all="ignore"):
            wanted = bridge.value_and_grad(eager, argnums=(0, 1), source=False)(X, A, S)
    except (ValueError, IndexError):
        with pytest.raises((ValueError, IndexError)):
            run(X, A, S)
        return False
    try:
        found = run(X, A, S)
    except IndexRangeError:
        return False  # a window of fixed width that NumPy would shorten is one that lies outside
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-9, err_msg=text)
    for one, other in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9, err_msg=text)
    return True


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("seed", range(60))
def test_random_program(seed: int) -> None:
    check(Writer(seed).program())
