"""Random programs whose memory without a gradient is written by themselves and by code that is not read."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge

X, B = np.array([0.3, 0.6, 0.9, 1.1, 0.7]), np.array([0.5, 0.8, 1.2, 0.4, 0.9])

UNREAD: dict[str, Any] = {"np": np, "bridge": bridge}
exec(
    compile(
        """
def scaled(v):
    v *= 1.5
    return v

def reversed_by(v):
    v[...] = v[::-1].copy()
    return v

def raised(b):
    with np.nditer(b, op_flags=[["readwrite"]]) as iterator:
        for one in iterator:
            one[...] = one + 0.5
    return b

class Keeper:
    def __init__(self, b):
        self.v = np.require(b)

    def grow(self):
        self.v *= 1.25
        return float(self.v.sum())
""",
        "<unread>",
        "exec",
    ),
    UNREAD,
)

HANDED_OUT = [
    "v = np.require(b)", "v = np.require(b[1:])", "v = np.require(b[::2])", "v = np.require(c)", "k = Keeper(b)",
    "k = Keeper(c[1:4])", "m = np.ma.masked_array(b)", "v = None", "k = None", "m = None",
]  # fmt: skip
WRITES = [
    "b *= 2.0", "b[1] = 3.0", "b[1:3] = 0.5", "b[{i}] += 0.75", "b += c", "c *= 0.5", "c = b * 2.0", "c[2] = b[1]",
    "b[:] = b[::-1].copy()", "b[[0, 3]] = c[[1, 2]]", "np.add.at(b, [0, 1, 1], 0.5)", "np.copyto(b, c)", "b.sort()",
    "np.multiply(b, 0.5, out=b)", "b[b > 1.3] = 0.3", "if v is not None: v *= 1.5", "if v is not None: v[0] = 0.125",
    "if m is not None: m[0] = 2.0", "if k is not None: k.grow()", "raised(b)", "scaled(np.require(c))",
    "reversed_by(np.require(b))",
]  # fmt: skip
READS = [
    "y = y * b", "y = y + x * c", "y += b * x", "y *= b", "y[1:3] = b[1:3] * x[0]", "y = np.sin(y) * b[0]",
    "y = np.maximum(y, b)", "t = t + np.sum(x * b)", "t = t + np.dot(b, y)", "t = t + x[{i}] * b[{j}]",
    "t = t + np.sum(x[:2] * b[1:3])", "t = t + np.linalg.norm(x - b)", "t = t + np.sum(np.stack([x, b]) ** 2)",
    "if v is not None: t = t + np.sum(x[: len(v)] * v)", "if m is not None: t = t + np.sum(x * m.data)",
    "if k is not None: t = t + k.grow() * x[2]", "t = t + bridge.checkpoint(lambda z: np.sum(z * b * c))(y)",
    "t = t + bridge.checkpoint(lambda z: np.sum(z * raised(b)) + np.sum(z * c))(y)",
    "t = t + np.sum(bridge.grad(lambda z: np.sum(z**2 * b))(y) * b)", "if v is not None: kept.append(v)",
    "if k is not None: kept.append(k.v)",
]  # fmt: skip


def text_of(seed: int) -> str:
    drawn = random.Random(seed)
    lines = ["def f(x, b):", "c, y, t = b * 1.0, x * 1.0, np.sum(x) * 0.0", "v = k = m = None"]
    for _ in range(drawn.randint(4, 14)):
        line = drawn.choice(drawn.choice([HANDED_OUT, WRITES, READS]))
        line = line.format(i=drawn.randrange(5), j=drawn.randrange(5))
        lines += ["for _ in range(2):", "    " + line] if drawn.random() < 0.1 else [line]
    return "\n    ".join([*lines, "return t + np.sum(y * y)"]) + "\n"


def program_of(seed: int, file: str) -> tuple[Callable[..., Any], list[Any]]:
    names: dict[str, Any] = {**UNREAD, "kept": []}
    exec(compile(text_of(seed), file, "exec"), names)
    return names["f"], names["kept"]


def check(seed: int, file: str = "<unread>") -> None:
    f, kept = program_of(seed, file)
    value = f(X.copy(), B.copy())
    left = [one.copy() for one in kept]
    steps = 1e-6 * np.eye(5)
    sides = np.array([f(X + h, B.copy()) - f(X - h, B.copy()) for h in steps]) / 2e-6
    allowed = {"rtol": 1e-4, "atol": 1e-5 + 1e-8 * abs(value)}
    options: dict[str, Any] = {"engine": "native", "source": None if file != "<unread>" else False}
    for memory in (None, "1GB"):
        kept.clear()
        found, gradient = bridge.value_and_grad(f, memory=memory, **options)(X, B)
        np.testing.assert_allclose(found, value, rtol=1e-9)
        np.testing.assert_allclose(gradient, sides, **allowed)
        for one, expected in zip(kept, left, strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-9)
    _, pull = bridge.vjp(lambda x: f(x, np.zeros_like(x) + B), X, **options)
    first, second = pull(1.0)[0], pull(1.0)[0]
    np.testing.assert_allclose(first, gradient, rtol=1e-9)
    assert first.tobytes() == second.tobytes()
    np.testing.assert_allclose(bridge.jacfwd(f, **options)(X, B), sides, **allowed)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_programs(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 20):
        check(seed)
    file = tmp_path / f"program_{first}.py"
    file.write_text(text_of(first))
    check(first, str(file))


@pytest.mark.ci
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_more_random_programs(first: int) -> None:
    for seed in range(first, first + 100):
        check(seed)
