"""The benchmark programs in plain NumPy, and the sizes at which they run.

`bridge` differentiates these functions as they stand; the plain forward time is theirs too.
Each peer in `benchmarks/peers` writes the same programs, under the same names, in its own words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def writes(x: Array, count: int, width: int) -> Any:
    """Write `count` slices of `width` elements into an array as long as `x`, each from an earlier slice."""
    b = np.zeros_like(x)
    for i in range(count):
        s = (i * width) % (len(x) - 2 * width)
        b[s + width : s + 2 * width] = np.sin(x[s : s + width]) * b[s : s + width] + x[s + width : s + 2 * width]
    return np.sum(b)


def heat(u: Array, steps: int) -> Any:
    """Explicit steps of the heat equation, in place; the loss is the squared norm of the result."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def recurrence(x: Array) -> Any:
    """Overwrite an array element by element, each from the one before it."""
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = np.tanh(y[i] + 0.5 * y[i - 1])
    return np.sum(y)


def digits(
    w1: Array, b1: Array, w2: Array, b2: Array, images: Array, labels: Array, hidden: Array, logits: Array
) -> Any:
    """Cross-entropy of a network with one hidden layer, computed inside two preallocated buffers."""
    np.matmul(images, w1, out=hidden)
    hidden += b1
    np.tanh(hidden, out=hidden)
    np.matmul(hidden, w2, out=logits)
    logits += b2
    logits -= np.max(logits, axis=1, keepdims=True)
    chosen = logits[np.arange(len(labels)), labels]
    np.exp(logits, out=logits)
    return np.mean(np.log(np.sum(logits, axis=1)) - chosen)


def chain(x: Array, steps: int) -> Any:
    """Small elementwise operations, five a step, two of them in place.

    None overwrites a value that PyTorch has saved, so that it needs no copies either.
    """
    return np.sum(chain_steps(x.copy(), x, steps))


def chain_steps(y: Array, x: Array, steps: int) -> Array:
    """The loop of `chain`, from `y`."""
    for _ in range(steps):
        y = np.sin(y * x)
        y += x
        y *= 0.5
        y = y + x
    return y


def scalars(x: Array, steps: int) -> Any:
    """A recurrence in Python scalars, four operations a step (a read, a product, a sum, a tanh)."""
    s = x[0]
    for i in range(steps):
        s = np.tanh(s + 0.5 * x[i % 8])
    return s


PROGRAMS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (writes, heat, recurrence, digits, chain, scalars)
}


@dataclass(frozen=True)
class Workload:
    """One program at one size: one row of the table.

    Attributes
    ----------
    name : what `--only` matches and the JSON file calls it.
    program : its name in `PROGRAMS` here and in every peer.
    inputs : makes the arrays to differentiate with respect to.
    settings : the program's remaining arguments, plain numbers.
    data : makes the arrays that stand between inputs and settings and carry no gradient.
    learning_rate : if not 0, a call is a training step: the gradient, then an update of the inputs.
    operations : logged operations of one run; if not 0, times are shown for one operation.
    slow : the effort from which on a slow peer runs: 1, not under `--quick`; 2, only under `--full`.
    """

    name: str
    title: str
    program: str
    inputs: Callable[[], tuple[Array, ...]]
    settings: tuple[int, ...] = ()
    data: Callable[[], tuple[Array, ...]] = field(default=tuple)
    learning_rate: float = 0.0
    operations: int = 0
    slow: Mapping[str, int] = field(default_factory=dict)


def random_vector(size: int) -> Callable[[], tuple[Array, ...]]:
    """Maker of one vector of uniform numbers, the same on every call."""
    return lambda: (np.random.default_rng(0).random(size),)


def digits_parameters() -> tuple[Array, ...]:
    """Weights and biases of a 64-64-10 network."""
    rng = np.random.default_rng(0)
    return rng.normal(0, 0.1, (64, 64)), np.zeros(64), rng.normal(0, 0.1, (64, 10)), np.zeros(10)


def digits_batch() -> tuple[Array, ...]:
    """256 of scikit-learn's digits with their labels, and the two buffers that the network fills."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return images[:256] / 16.0, labels[:256], np.zeros((256, 64)), np.zeros((256, 10))


def writes_at(exponent: int, slow: Mapping[str, int]) -> Workload:
    """The slice-write workload into an array of 10**exponent elements."""
    return Workload(
        f"writes-1e{exponent}",
        f"1,000 slice writes of 100 into 1e{exponent}",
        "writes",
        random_vector(10**exponent),
        (1000, 100),
        slow=slow,
    )


WORKLOADS = (
    writes_at(4, {}),
    writes_at(5, {}),
    writes_at(6, {"torch": 1, "jax": 1}),
    writes_at(7, {"torch": 2, "jax": 2}),
    Workload("heat-1e3", "heat equation 1e3, 200 steps", "heat", random_vector(1000), (200,)),
    Workload("heat-1e6", "heat equation 1e6, 20 steps", "heat", random_vector(1_000_000), (20,)),
    Workload("recurrence", "recurrence in an array, 1,000 steps", "recurrence", random_vector(1000)),
    Workload(
        "digits",
        "digits training step, batch of 256",
        "digits",
        digits_parameters,
        data=digits_batch,
        learning_rate=0.1,
    ),
    Workload("chain", "per operation: 5,000, 8 elements", "chain", random_vector(8), (1000,), operations=5000),
    Workload("scalars", "per operation: 4,000, scalars", "scalars", random_vector(8), (1000,), operations=4000),
)
