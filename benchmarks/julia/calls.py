"""What a gradient of a Julia function costs from Python: against the same call inside Julia, in one process.

Two figures: one call of a small function's gradient (at most 3 times the call inside Julia, plus 10 µs), and the
gradient of a function of 10^7 numbers (within 30 % of native Zygote). Every line is a median of interleaved rounds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import bridge

SMALL = {
    "sum of squares, 3 numbers": ("x -> sum(abs2, x)", (np.array([0.3, -0.8, 1.2]),)),
    "one layer, 3 x 4": ("(w, x) -> sum(abs2, tanh.(w * x))", (np.full((3, 4), 0.1), np.linspace(0, 1, 4))),
    "two layers, in a dictionary": (
        "p -> sum(abs2, p.w * tanh.(p.v * p.x))",
        ({"w": np.full((2, 4), 0.2), "v": np.full((4, 3), 0.1), "x": np.ones(3)},),
    ),
}
LARGE = {
    "sum of squares": "x -> sum(abs2, x)",
    "sum(tanh.(x) .^ 2)": "x -> sum(tanh.(x) .^ 2)",
    "sum(x .* x .+ sin.(x))": "x -> sum(x .* x .+ sin.(x))",
}
TIMERS = """
module JuliaCallsTimers
using MutationBridge, Zygote
function per_call(gradient::G, f::F, args::A, n) where {G,F,A}
    gradient(f, args...)
    start = time_ns()
    for _ in 1:n
        gradient(f, args...)
    end
    return (time_ns() - start) / n / 1e3
end
ours(f, n, args...) = per_call(MutationBridge.withgradient, f, args, n)
zygote(f, n, args...) = per_call(Zygote.withgradient, f, args, n)
end
"""


def per_call(run: Callable[[], Any], n: int) -> float:
    """Microseconds of one call."""
    run()
    start = time.perf_counter_ns()
    for _ in range(n):
        run()
    return (time.perf_counter_ns() - start) / n / 1e3


def measure(code: str, args: tuple[Any, ...], n: int, rounds: int) -> tuple[float, float, float]:
    """Microseconds of a gradient: from Python, inside Julia by MutationBridge, inside Julia by Zygote."""
    function = bridge.julia.function(code)
    gradient = bridge.value_and_grad(function)
    timers = [bridge.julia.function(f"JuliaCallsTimers.{name}") for name in ("ours", "zygote")]
    found: list[list[float]] = [[], [], []]
    for _ in range(rounds):
        found[0].append(per_call(lambda: gradient(*args), n))
        for times, timer in zip(found[1:], timers, strict=True):
            times.append(float(timer(function, n, *args)))
    python, ours, zygote = (statistics.median(times) for times in found)
    return python, ours, zygote


def main() -> None:
    """Print both figures."""
    bridge.julia.eval(TIMERS)
    print(f"{'one call (µs)':<32}{'Python':>10}{'Julia':>10}{'Zygote':>10}{'3 Julia + 10':>14}")
    for name, (code, args) in SMALL.items():
        python, ours, zygote = measure(code, args, 2000, 7)
        bound = 3 * ours + 10
        verdict = "ok" if python <= bound else "NO"
        print(f"{name:<32}{python:>10.2f}{ours:>10.2f}{zygote:>10.2f}{bound:>14.2f}  {verdict}")
    print(f"\n{'10^7 numbers (ms)':<32}{'Python':>10}{'Julia':>10}{'Zygote':>10}{'Python/Zygote':>14}")
    x = np.linspace(-1, 1, 10_000_000)
    for name, code in LARGE.items():
        python, ours, zygote = (one / 1e3 for one in measure(code, (x,), 3, 5))
        ratio = python / zygote
        print(f"{name:<32}{python:>10.1f}{ours:>10.1f}{zygote:>10.1f}{ratio:>14.3f}  {'ok' if ratio <= 1.3 else 'NO'}")
