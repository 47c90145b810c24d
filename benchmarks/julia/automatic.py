"""Functions that write plain arrays, from Python as they stand, against Mooncake's own call in the same process.

Under `ad="auto"` Mooncake differentiates them. From Python a call also runs the function by itself, which tells what it
raises and whether it writes its arguments, and copies the arguments.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import numpy as np

import bridge
from bridge.errors import JuliaNotAvailable

PROGRAMS = {
    "scalar recurrence, N = 1000": ("recurrence_loop", 1000, 200),
    "slice reads and writes, N = 100000": ("writes_loop", 100_000, 10),
    "heat equation, 1e4 × 200": ("heat_loop(200)", 10_000, 3),
    "heat equation, 1e6 × 20": ("heat_loop(20)", 1_000_000, 2),
}
TIMERS = """
module JuliaAutomatic
using Mooncake
include(raw"{programs}")
function mooncake(f, x, n)
    cache = Mooncake.prepare_gradient_cache(f, x)
    _, (_, gradient) = Mooncake.value_and_gradient!!(cache, f, x)
    gradient, times = copy(gradient), [@elapsed(Mooncake.value_and_gradient!!(cache, f, x)) for _ in 1:n]
    return gradient, minimum(times)
end
plain(f, x, n) = (f(x); minimum(@elapsed(f(x)) for _ in 1:n))
end
"""


def measure(code: str, size: int, n: int, rounds: int = 3) -> tuple[float, float, float]:
    """Milliseconds: of a gradient from Python, of Mooncake's own inside Julia, of the function."""
    function = bridge.julia.function(f"JuliaAutomatic.Programs.{code}")
    gradient = bridge.value_and_grad(function)
    mooncake, plain = (bridge.julia.function(f"JuliaAutomatic.{name}") for name in ("mooncake", "plain"))
    x = np.random.default_rng(0).random(size)
    _, own = gradient(x)
    found: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        times = []
        for _ in range(n):
            start = time.perf_counter()
            gradient(x)
            times.append(time.perf_counter() - start)
        other, theirs = mooncake(function, x, n)
        np.testing.assert_allclose(own, other, rtol=1e-8)
        found.append((1e3 * min(times), 1e3 * float(theirs), 1e3 * float(plain(function, x, n))))
    ours, theirs, alone = (statistics.median(times) for times in zip(*found, strict=True))
    return ours, theirs, alone


def main() -> None:
    """Print the table, or what it needs."""
    try:
        bridge.julia.using("DifferentiationInterface")
        bridge.julia.using("Mooncake")
    except JuliaNotAvailable as error:
        print(f"functions that write plain arrays are left out: {error}")
        return
    bridge.julia.eval(TIMERS.format(programs=Path(__file__).with_name("programs.jl")))
    print(f"{'plain arrays, ad=auto (ms)':<36}{'Python':>10}{'Mooncake':>10}{'function':>10}{'Python/Mooncake':>17}")
    for name, (code, size, n) in PROGRAMS.items():
        ours, theirs, alone = measure(code, size, n)
        print(f"{name:<36}{ours:>10.3f}{theirs:>10.3f}{alone:>10.3f}{ours / theirs:>17.2f}", flush=True)
