"""`python -m benchmarks.reading`: what it costs that programs are read from their source.

Each program runs in two ways, in turns and in one process: as it stands, read, and unread with `bridge.numpy` in the
place of NumPy, so that its arrays are tracked from the beginning. It is the same text. The gradients must be the same
bits.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from types import FunctionType
from typing import Any

import numpy as np

import bridge
import bridge.numpy

Array = np.ndarray[Any, Any]


def slices(u: Array, steps: int) -> Any:
    """Explicit steps of diffusion, with scratch that is made once and written in place."""
    u = u.copy()
    flux = np.zeros(len(u) - 1)
    for _ in range(steps):
        flux[:] = u[1:] - u[:-1]
        u[1:-1] += 0.1 * (flux[1:] - flux[:-1])
    return np.sum(u**2)


def elements(x: Array) -> Any:
    """An array that is filled element by element, each from the one before it."""
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = np.tanh(x[i] + 0.5 * y[i - 1])
    return np.sum(y)


def _derivative(y: Array, rate: Any, out: Array) -> Array:
    out[0] = -rate * y[0]
    out[1:] = rate * (y[:-1] - y[1:])
    return out


def helpers(x: Array, steps: int) -> Any:
    """Runge-Kutta steps of a chain of reactions, whose right-hand side is a function of its own."""
    y = x.copy()
    first, second = np.empty(len(x)), np.empty(len(x))
    for _ in range(steps):
        _derivative(y, 0.3, first)
        _derivative(y + 0.05 * first, 0.3, second)
        y += 0.1 * second
    return np.sum(y * y)


def nothing(x: Array) -> Any:
    """A program that does next to nothing."""
    return x[0]


WORKLOADS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "slices of 1,000": (slices, (np.linspace(0.0, 1.0, 1_000) ** 2, 200)),
    "slices of 100,000": (slices, (np.linspace(0.0, 1.0, 100_000) ** 2, 20)),
    "elements": (elements, (np.linspace(-1.0, 1.0, 500),)),
    "helpers": (helpers, (np.linspace(0.0, 1.0, 50), 100)),
    "nothing": (nothing, (np.ones(3),)),
}


def with_tracked_arrays(f: Callable[..., Any]) -> Callable[..., Any]:
    """The same function in a module that has `import bridge.numpy as np`."""
    assert isinstance(f, FunctionType)
    names = {**f.__globals__, "np": bridge.numpy}
    found = FunctionType(f.__code__, names, f.__name__, f.__defaults__, f.__closure__)
    names.update({name: FunctionType(x.__code__, names, name) for name, x in names.items() if x is _derivative})
    return found


def seconds(call: Callable[[], Any]) -> float:
    """How long a call keeps this thread busy; others on the machine count less so than by the clock on the wall."""
    begin = time.thread_time()
    call()
    return time.thread_time() - begin


def measured(f: Callable[..., Any], args: tuple[Any, ...], repeats: int) -> tuple[float, list[float], list[float]]:
    """Seconds of the first call, which reads; then of repeated calls, read and unread."""
    read = bridge.grad(f)
    unread = bridge.grad(with_tracked_arrays(f), source=False)
    expected = unread(*args)
    first = seconds(lambda: read(*args))
    np.testing.assert_array_equal(read(*args), expected)
    samples: tuple[list[float], list[float]] = ([], [])
    for number in range(repeats):
        if number % 10 == 0:
            gc.collect()
        turns = ((0, read), (1, unread)) if number % 2 else ((1, unread), (0, read))
        for which, gradient in turns:
            samples[which].append(seconds(lambda gradient=gradient: gradient(*args)))  # type: ignore[misc]
    return first, *samples


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each program."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description=__doc__)
    parser.add_argument("--repeats", type=int, default=30, help="calls of each, after the first ones")
    repeats = parser.parse_args(arguments).repeats
    print(f"{'program':20}{'first call':>12}{'read':>12}{'unread':>12}{'ratio':>10}{'of fastest':>12}")
    for name, (f, args) in WORKLOADS.items():
        first, read, unread = measured(f, args, repeats if f is not nothing else 100 * repeats)
        figures = [1e3 * first, 1e3 * median(read), 1e3 * median(unread)]
        ratios = median(read) / median(unread), min(read) / min(unread)
        print(
            f"{name:20}{figures[0]:9.3f} ms{figures[1]:9.3f} ms{figures[2]:11.3f} ms{ratios[0]:8.3f}{ratios[1]:12.3f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
