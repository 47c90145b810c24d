"""How long a process waits for its first gradient of a Julia function: 3 seconds at most.

Every line is a median of new processes.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

BOUND = 3.0
FUNCTIONS = {
    "sum of squares": "x -> sum(abs2, x)",
    "a broadcast": "x -> sum(tanh.(2 .* x .+ 1))",
    "a Buffer": """
        function (x)
            b = MutationBridge.Buffer(x)
            b[1] *= b[2]
            b[3:4] .= x[1:2]
            sum(copy(b))
        end""",
    "a loop over a Buffer": """
        function (x)
            b, total = MutationBridge.Buffer(x), 0.0
            for i in 2:length(x)
                b[i] += b[i-1] * x[i]
                total += b[i]^2
            end
            total
        end""",
}
PROCESS = """
import sys, time
begun = time.perf_counter()
import numpy as np
import bridge
from bridge.julia.session import session
session()
started = time.perf_counter()
bridge.grad(bridge.julia.function(sys.argv[1]))(np.linspace(0.1, 1.0, 4))
print(started - begun, time.perf_counter() - started)
"""


def measure(code: str) -> tuple[float, float]:
    """Seconds until Julia has started with its packages, and from there to the gradient."""
    done = subprocess.run([sys.executable, "-c", PROCESS, code], stdout=subprocess.PIPE, text=True, check=True)
    start, gradient = map(float, done.stdout.split())
    return start, gradient


def main(rounds: int = 5) -> None:
    """Print the table."""
    measure(FUNCTIONS["sum of squares"])  # what was never loaded before is compiled by Julia, once
    print(f"{'first gradient (s)':<32}{'start':>10}{'gradient':>10}{'together':>10}{'required':>14}")
    for name, code in FUNCTIONS.items():
        times = zip(*(measure(code) for _ in range(rounds)), strict=True)
        start, gradient = map(statistics.median, times)
        together = start + gradient
        verdict = "ok" if together <= BOUND else "NO"
        print(f"{name:<32}{start:>10.2f}{gradient:>10.2f}{together:>10.2f}{BOUND:>14.1f}  {verdict}", flush=True)
