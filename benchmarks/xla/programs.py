"""The benchmark programs in NumPy style, with `bridge.fori_loop` for the loops that a compiler should keep as loops.

MutationBridge differentiates these functions as they stand, compiled and not. `in_jax.py` and `in_torch.py` hold the
same programs, under the same names, as users of those systems write them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import bridge
from benchmarks.programs import Workload, digits, digits_batch, digits_parameters, random_vector

Array = np.ndarray[Any, Any]

WIDTH = 100
WRITES = 1000


def writes(x: Array, count: int, width: int) -> Any:
    """Write `count` slices of `width` elements into an array as long as `x`, each from an earlier slice."""
    b = np.zeros_like(x)

    def step(i: Any, b: Array) -> Array:
        s = (i * width) % (len(x) - 2 * width)
        b[s + width : s + 2 * width] = np.sin(x[s : s + width]) * b[s : s + width] + x[s + width : s + 2 * width]
        return b

    return np.sum(bridge.fori_loop(0, count, step, b))


def heat(u: Array, steps: int) -> Any:
    """Explicit steps of the heat equation, in place; the loss is the squared norm of the result."""

    def step(_: Any, u: Array) -> Array:
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return u

    return np.sum(bridge.fori_loop(0, steps, step, u.copy()) ** 2)


def recurrence(x: Array) -> Any:
    """Fill an array element by element, each from the one before it."""
    b = np.zeros_like(x)

    def step(i: Any, b: Array) -> Array:
        b[i + 1] = np.sin(b[i]) * x[i] + b[i]
        return b

    b[0] = x[-1]
    return np.sum(bridge.fori_loop(0, len(x) - 1, step, b))


PROGRAMS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (writes, heat, recurrence, digits)
}


def writes_at(exponent: int, slow: Mapping[str, int]) -> Workload:
    """The slice-write workload into an array of 10**exponent elements."""
    return Workload(
        f"writes-1e{exponent}",
        f"{WRITES:,} slice writes of {WIDTH} into 1e{exponent}",
        "writes",
        random_vector(10**exponent),
        (WRITES, WIDTH),
        slow=slow,
    )


LONG = dict.fromkeys(("xla", "jax", "option", "ref", "native"), 1)
"""Who leaves the largest array out under --quick: JAX's gradient takes up to 25 s a call there."""

WORKLOADS = (
    writes_at(4, {}),
    writes_at(5, {}),
    writes_at(6, {"torch": 1}),
    writes_at(7, LONG),
    Workload("heat-1e6", "heat equation 1e6, 20 steps", "heat", random_vector(1_000_000), (20,)),
    Workload("heat-1e3", "heat equation 1e3, 200 steps", "heat", random_vector(1000), (200,)),
    Workload("recurrence-1e3", "scalar recurrence of 1,000", "recurrence", random_vector(1000)),
    Workload("recurrence-1e4", "scalar recurrence of 10,000", "recurrence", random_vector(10_000), slow={"torch": 1}),
    Workload("digits", "digits, one step, batch of 256", "digits", digits_parameters, data=digits_batch),
)

CALLS = {"heat-1e3": 20, "recurrence-1e3": 20, "digits": 20}
"""Calls that make one sample: what takes less than a millisecond is timed in a row, as a training loop runs it."""
