"""Gradients with known answers, one of each kind of traffic between Python and Julia."""

from __future__ import annotations

import gc
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import bridge
from bridge.errors import JuliaError

Job = Callable[[Random], None]
LARGE = 200_000


RULES = """
stress_back(x) = sum(x)
function MutationBridge.ChainRulesCore.rrule(::typeof(stress_back), x)
    return sum(x), ct -> error("on the way back")
end
stress_call(f) = f()
MutationBridge.ChainRulesCore.rrule(::typeof(stress_call), f) =
    f(), ct -> (MutationBridge.ChainRulesCore.NoTangent(), MutationBridge.ChainRulesCore.NoTangent())
nothing
"""
"""A rule whose pull raises, and one that lets Python be called where nothing is differentiated."""


class Functions:
    """The Julia functions of the jobs, made once. They write what is theirs alone."""

    def __init__(self) -> None:
        julia = bridge.julia
        julia.eval(RULES)
        self.has_mooncake = "Mooncake" in julia.status().engines
        self.squares = julia.function("x -> sum(abs2, x)")
        self.product = julia.function("(x, y) -> sum(x .* y)")
        self.buffer = julia.function(
            "x -> (b = MutationBridge.Buffer(x); for i in 2:length(x); b[i] += b[i-1] / 2; end; sum(abs2, copy(b)))"
        )
        self.plain = julia.function("x -> (y = copy(x); for i in 2:length(x); y[i] += y[i-1] / 2; end; sum(abs2, y))")
        self.smooth = julia.function(
            "function stress_smooth!(u, a); for i in 2:length(u); u[i] += a * u[i-1]; end; end", mutates="u"
        )
        self.failing = julia.function('x -> (x[1] < 0 && error("on purpose"); sum(abs2, x))')
        self.failing_back = julia.function(
            "x -> (b = MutationBridge.Buffer(x); b[1] = b[2]; stress_back(copy(b)))", ad="zygote"
        )
        self.calling = julia.function("(x, f) -> (stress_call(f); sum(abs2, x))")
        self.collect = julia.function("full -> (GC.gc(full); 0)")


def jobs(functions: Functions) -> dict[str, Job]:
    """Each makes one gradient (or none, and an error), and raises AssertionError if it is wrong."""
    f = functions

    def point(random: Random, n: int = 5) -> np.ndarray:
        return np.array([random.uniform(0.1, 1.0) for _ in range(n)])

    def collect(random: Random) -> None:
        """Python's youngest objects mostly, all of them now and then; the same in Julia."""
        gc.collect(random.choice([0, 0, 0, 1, 2]))
        f.collect(random.random() < 0.1)

    def small(random: Random) -> None:
        x = point(random)
        _same(bridge.grad(f.squares)(x), 2 * x)

    def large(random: Random) -> None:
        k = random.uniform(0.5, 2)
        by_x, by_y = bridge.grad(f.product, argnums=(0, 1))(np.full(LARGE, k), np.full(LARGE, 2.0))
        collect(random)
        assert np.all(by_x == 2) and np.all(by_y == k), "memory of a large gradient was used again"

    def buffers(random: Random) -> None:
        x = point(random)
        _same(bridge.grad(f.buffer)(x), _scanned(x))

    def plain(random: Random) -> None:
        x = point(random)
        _same(bridge.grad(f.plain)(x), _scanned(x))

    def in_a_program(random: Random) -> None:
        x = point(random)

        def program(u: Any) -> Any:
            f.smooth(u[1:], 0.5)
            return np.sum(u**2)

        expected = _scanned(x[1:])
        _same(bridge.grad(program)(x), np.concatenate([2 * x[:1], expected]))

    def pulls_kept(random: Random) -> None:
        x = point(random, 40_000)
        expected = 2 * x
        _, pull = bridge.vjp(f.squares, x)
        x[:] = 0
        del x
        collect(random)
        for _ in range(random.randrange(3)):  # also dropped without a pull
            _same(pull(1.0)[0], expected)

    def raising(random: Random) -> None:
        x = -point(random)
        before = x.copy()
        _raises(lambda: bridge.grad(f.failing)(x), "on purpose")
        _raises(lambda: bridge.grad(f.failing_back)(x), "on the way back")
        assert np.array_equal(x, before), "an argument was changed by an error"

    def callback(random: Random) -> None:
        x = point(random)
        _same(bridge.grad(f.calling)(x, lambda: collect(random)), 2 * x)

    def callback_raising(random: Random) -> None:
        def broken() -> None:
            raise ValueError("raised by a callback")

        _raises(lambda: bridge.grad(f.calling)(point(random), broken), "raised by a callback")

    def second_order(random: Random) -> None:
        x = point(random, 3)
        _same(bridge.hessian(f.squares)(x), 2 * np.eye(3))

    def collected(random: Random) -> None:
        x = point(random)
        gradient = bridge.grad(f.squares)(x)
        collect(random)
        _same(gradient, 2 * x)

    numbers = [small, large, buffers, in_a_program, pulls_kept, second_order, collected]
    if f.has_mooncake:
        numbers.append(plain)
    return {job.__name__: job for job in [*numbers, raising, callback, callback_raising]}


def _scanned(x: np.ndarray) -> np.ndarray:
    """The gradient of the sum of squares of `y[i] = x[i] + y[i - 1] / 2`."""
    n = len(x)
    scan = np.tril(0.5 ** np.maximum(np.subtract.outer(np.arange(n), np.arange(n)), 0))
    return 2 * scan.T @ (scan @ x)


def _same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def _raises(run: Callable[[], Any], words: str) -> None:
    try:
        run()
    except JuliaError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no error that says {words!r}")
