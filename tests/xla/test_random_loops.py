"""Random loops with run-time indices, compiled: values and derivatives are those of the rule book."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy

pytest.importorskip("jax", reason="JAX is not installed: random loops were not compiled (pip install jax)")

N = 12
STEPS = 5


class Source:
    """The text of a random program: statements on `a` and `b` (12 elements), `m` (3 by 4), and integers `k`."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines = [
            "def f(x):",
            "    a, b, m = x.copy(), np.cos(x), np.reshape(x * 0.5, (3, 4)).copy()",
            "    k = np.array([3, 0, 7, 5, 2], like=x).astype(int)",
            "    def body(i, carried):",
            "        a, b, m, s = carried",
        ]
        for _ in range(self.random.randint(1, 5)):
            self.statement("        ", depth=0)
        self.lines += [
            "        return a, b, m, s",
            f"    a, b, m, s = bridge.fori_loop(0, {STEPS}, body, (a, b, m, x[0]))",
            "    return np.sum(a * a) + np.sum(np.sin(b)) * s + np.sum(m * m[::-1])",
        ]
        self.text = "\n".join(self.lines)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def integer(self, below: int) -> str:
        """An index from 0 up to `below`, not included."""
        one, two = self.random.randint(1, 4), self.random.randint(0, 9)
        found = self.pick(
            "i", f"(i * {one} + {two})", "k[i]", f"(k[i] + {two})", f"({two} - i)", f"{two}", "(i + k[0])"
        )
        return f"({found} % {below})"

    def read(self) -> str:
        """Something of one number."""
        return self.pick(
            f"a[{self.integer(N)}]", f"b[{self.integer(N)}]", f"m[{self.integer(3)}, {self.integer(4)}]", "s",
            "np.sum(b[k])", f"x[{self.integer(N)}]",
        )  # fmt: skip

    def window(self, width: int) -> str:
        """Something of `width` elements."""
        start = self.integer(N - width + 1)
        return self.pick(
            f"a[{start}:{start} + {width}]", f"b[{start}:{start} + {width}]", f"x[{start} + np.arange({width})]",
            f"a[::-1][{start}:{start} + {width}]", f"b[k[:{width}]]",
            *([f"m[{self.integer(3)}]", f"m[:, {self.integer(4)}].sum() * m[{self.integer(3)}]"] if width == 4 else []),
            *([f"m[:, {self.integer(4)}]"] if width == 3 else []),
        )  # fmt: skip

    def statement(self, indent: str, depth: int) -> None:
        kind = self.random.randint(0, 9 if depth == 0 else 7)
        name = self.pick("a", "b")
        width = self.random.randint(2, 4)
        start = self.integer(N - width + 1)
        target = self.pick(f"{name}[{start}:{start} + {width}]", f"{name}[::-1][{start}:{start} + {width}]")
        operation = self.pick("=", "+=", "*=", "-=")
        if kind <= 2:
            value = f"np.sin({self.window(width)}) * {self.window(width)}"
            self.lines.append(f"{indent}{target} {operation} {value}")
        elif kind <= 4:
            self.lines.append(
                f"{indent}{name}[{self.integer(N)}] {operation} np.sin({self.read()}) + 0.5 * {self.read()}"
            )
        elif kind == 5:
            cell = self.pick(
                f"m[{self.integer(3)}, {self.integer(4)}]", f"m[{self.integer(3)}]", f"m[:, {self.integer(4)}]"
            )
            self.lines.append(f"{indent}{cell} {operation} np.cos({self.read()}) + 0.3")
        elif kind == 6:
            keys = self.pick("k", "(k + i) % 12", "k[::-1]", "k * 2 % 12")
            self.lines.append(
                f"{indent}" + self.pick(f"np.add.at({name}, {keys}, b[k])", f"{name}[{keys}] {operation} a[k] * 0.5")
            )
        elif kind == 7:
            self.lines.append(
                f"{indent}s = s * 0.5 + np.tanh({self.read()})" if depth == 0 else f"{indent}{name}[0] += s"
            )
        elif kind == 8:
            self.lines.append(f"{indent}def inner(j, w):")
            self.lines.append(f"{indent}    w[(i + j) % 10 : (i + j) % 10 + 2] *= 1 + 0.1 * w[j : j + 2]")
            self.lines.append(f"{indent}    return w")
            self.lines.append(f"{indent}bridge.fori_loop(0, {self.pick('3', 'i + 1', 'k[i] % 3')}, inner, {name})")
        else:
            self.lines.append(f"{indent}def yes():")
            self.statement(indent + "    ", 1)
            self.lines.append(f"{indent}def no():")
            self.statement(indent + "    ", 1)
            self.lines.append(f"{indent}bridge.cond({self.read()} > {self.read()}, yes, no)")


def program(seed: int) -> tuple[Callable[[Any], Any], str]:
    """A random program and its text."""
    text = Source(seed).text
    names: dict[str, Any] = {"np": bridge.numpy, "bridge": bridge}
    exec(compile(text, f"program {seed}", "exec"), names)
    return names["f"], text


def derivatives(f: Callable[[Any], Any], engine: str) -> list[Any]:
    x = np.random.default_rng(5).uniform(0.2, 1.5, N)
    v = np.random.default_rng(6).normal(size=N)
    value, gradient = bridge.value_and_grad(f, engine=engine)(x)
    return [value, gradient, bridge.jvp(f, (x,), (v,), engine=engine)[1], bridge.hvp(f, (x,), (v,), engine=engine)]


def check(seed: int) -> None:
    f, text = program(seed)
    with np.errstate(all="ignore"):
        expected = derivatives(f, "native")
    for name, one, other in zip(("value", "grad", "jvp", "hvp"), derivatives(f, "xla"), expected, strict=True):
        np.testing.assert_allclose(
            one, other, rtol=1e-8, atol=1e-9 * np.max(np.abs(other)), err_msg=f"{name} of program {seed}:\n{text}"
        )


@pytest.mark.ci
@pytest.mark.parametrize("seed", (1, 0, 3, 2, 4, 5))
def test_random_loops(seed: int) -> None:
    check(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_random_loops(seed: int) -> None:
    check(seed)
