"""`python -m benchmarks.cliffs`: what a gradient costs beside the plain program, per element, and how that grows.

One line a function: nanoseconds of the gradient for an element at both sizes, growth between them, and how many times
the plain program that is, all in one run. Beyond 100 times plain NumPy is a cliff, and the exit code is 1.

    python -m benchmarks.cliffs                       # all, at 10,000 and 1,000,000 elements
    python -m benchmarks.cliffs --only reduce --sizes 1000 100000
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import bridge

CLIFF = 100.0


def written(write: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """The sum of a copy that was written into."""

    def program(x: Any) -> Any:
        y = x.copy()
        write(y, x)
        return np.sum(y)

    return program


def in_columns(join: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Columns of four, each computed by itself, as one array."""
    return lambda x: np.sum(join([c * 2 for c in x.reshape(-1, 4)]) ** 2)


_BINS = np.arange(10_000_000) % 7

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "add.reduceat": lambda x: np.sum(np.add.reduceat(x, np.arange(0, x.size, 3))),
    "add.reduceat, two segments": lambda x: np.sum(np.add.reduceat(x, [0, x.size // 2])),
    "add.reduceat, overlapping": lambda x: np.sum(np.add.reduceat(x, [0, x.size // 2, 1, 5])),
    "maximum.reduceat": lambda x: np.sum(np.maximum.reduceat(x, np.arange(0, x.size, 3))),
    "subtract.reduceat, two segments": lambda x: np.sum(np.subtract.reduceat(x, [0, x.size // 2])),
    "minimum.reduceat, two segments": lambda x: np.sum(np.minimum.reduceat(x, [0, x.size // 2])),
    "multiply.reduceat, two segments": lambda x: np.sum(np.multiply.reduceat(x, [0, x.size // 2])),
    "fmax.reduceat, overlapping": lambda x: np.sum(np.fmax.reduceat(x, [0, x.size // 2, 1, 5])),
    "maximum.reduceat, columns": lambda x: np.sum(np.maximum.reduceat(x.reshape(100, -1), [0, 50], axis=1)),
    "minimum.reduce": np.minimum.reduce,
    "fmin.reduce": np.fmin.reduce,
    "maximum.accumulate": lambda x: np.sum(np.maximum.accumulate(x)),
    "subtract.reduce": np.subtract.reduce,
    "logaddexp.reduce": np.logaddexp.reduce,
    "cumprod": lambda x: np.sum(np.cumprod(x)),
    "cumsum": lambda x: np.sum(np.cumsum(x)),
    "maximum.at": written(lambda y, x: np.maximum.at(y, np.arange(x.size) % 7, x)),
    "multiply.at": written(lambda y, x: np.multiply.at(y, np.arange(x.size) % 7, x)),
    "multiply.at, ready index": written(lambda y, x: np.multiply.at(y, _BINS[: x.size], x)),
    "add.at": written(lambda y, x: np.add.at(y, np.arange(x.size) % 7, x)),
    "sort": lambda x: np.sum(np.sort(x)),
    "unique": lambda x: np.sum(np.unique(x)),
    "median": np.median,
    "quantiles": lambda x: np.sum(np.quantile(x, np.linspace(0, 1, 9))),
    "take": lambda x: np.sum(np.take(x, np.arange(x.size)[::-1])),
    "mask": lambda x: np.sum(x[x > 0.5]),
    "interp": lambda x: np.sum(np.interp(np.linspace(0, 1, x.size), np.arange(x.size) / x.size, x)),
    "convolve": lambda x: np.sum(np.convolve(x, np.ones(5))),
    "diff": lambda x: np.sum(np.diff(x) ** 2),
    "prod": np.prod,
    "nanmedian": np.nanmedian,
    "bincount": lambda x: np.sum(np.bincount(np.arange(x.size) % 9, weights=x) ** 2),
    "pad": lambda x: np.sum(np.pad(x, 4, mode="reflect")),
    "fft": lambda x: np.sum(np.abs(np.fft.fft(x))),
    "i0": lambda x: np.sum(np.i0(x)),
    "piecewise": lambda x: np.sum(np.piecewise(x, [x < 0.5], [np.sin, np.cos])),
    "put": written(lambda y, x: np.put(y, np.arange(x.size)[::-1], x)),
    "place": written(lambda y, x: np.place(y, np.arange(x.size) % 2 == 0, x[:5])),
    "column_stack": in_columns(np.column_stack),
    "stack": in_columns(np.stack),
    "concatenate": in_columns(np.concatenate),
}


def seconds(run: Callable[[], Any]) -> float:
    """Processor time of the best of three runs, or of the first if that is long."""
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
        if best > 1:
            break
    return best


def measured(program: Callable[[Any], Any], size: int) -> tuple[float, float]:
    """Nanoseconds of the gradient for an element, and how many times the plain program that is."""
    x = 1 + np.random.default_rng(0).uniform(-1e-3, 1e-3, size)
    gradient = bridge.grad(program)
    gradient(x)
    spent = seconds(lambda: gradient(x))
    return spent / size * 1e9, spent / seconds(lambda: program(x))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each program; 1 if one of them is a cliff at the larger size."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="part of a name")
    options.add_argument("--sizes", type=int, nargs=2, default=(10_000, 1_000_000))
    chosen = options.parse_args(arguments)
    cliffs = 0
    print(f"{'program':32} {'ns/element':>24} {'growth':>8} {'times NumPy':>20}")
    for name, program in PROGRAMS.items():
        if chosen.only not in name:
            continue
        (small, few), (large, many) = (measured(program, size) for size in chosen.sizes)
        cliffs += many > CLIFF
        print(f"{name:32} {small:12.1f}{large:12.1f} {large / small:8.2f} {few:10.1f}{many:10.1f}", flush=True)
    return int(cliffs > 0)


if __name__ == "__main__":
    sys.exit(main())
