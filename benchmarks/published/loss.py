"""A number made of a program's results, without a change to the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import bridge
from benchmarks.published.program import Array, NoDerivative, Program, inexact_leaves


class Loss:
    """The program's float results, weighted at random and summed.

    Every element of every result counts, with a weight of random sign between a half and one and a half times the
    inverse of its array's size, so that no result hides behind a larger one. `kept` are the positions of the results
    that count, all of them unless some are named.
    """

    def __init__(self, program: Program, seed: int = 0, kept: Sequence[int] | None = None) -> None:
        random = np.random.default_rng(seed)
        self.program = program
        results = program.results(tuple(program.arguments.values()))
        if not results:
            raise NoDerivative("no float among the results")
        weights = [weights_for(result, random) for result in results]
        self.kept = tuple(range(len(results)) if kept is None else kept)
        self.plain = [results[k] for k in self.kept]
        self.weights = [bridge.constant(weights[k]) for k in self.kept]

    def __call__(self, *arguments: Any) -> Any:
        """The loss for arrays, or for what stands for arrays while they are tracked."""
        return self.weighing(self.weights, *arguments)

    @property
    def weighing(self) -> Callable[..., Any]:
        """The loss as a function of weights and arguments: a compiled program has no arrays of its own to look at."""
        function, written, kept = self.program.function, self.program.written, self.kept
        are_complex = [np.iscomplexobj(plain) for plain in self.plain]

        def loss(weights: Sequence[Any], *arguments: Any) -> Any:
            results = [*inexact_leaves(function(*arguments)), *(arguments[k] for k in written)]
            return weighted(weights, [results[k] for k in kept], are_complex)

        return loss

    def changed(self, before: Sequence[Any], after: Sequence[Any]) -> float:
        """The change of the loss from the program's results before to those after."""
        return float(self.total(self.weights, [after[k] - before[k] for k in self.kept]))

    @property
    def plainly(self) -> float:
        """The loss of the program as plain NumPy computes it."""
        return float(self.total(self.weights, self.plain))

    def total(self, weights: Sequence[Any], results: Sequence[Any]) -> Any:
        """The sum of weights times results."""
        return weighted(weights, results, [np.iscomplexobj(plain) for plain in self.plain])

    @property
    def magnitude(self) -> float:
        """The size of what is subtracted in finite differences, from which their rounding follows."""
        squares = (np.sum(np.abs(w * r) ** 2) for w, r in zip(self.weights, self.plain, strict=True))
        return float(np.sqrt(sum(squares)))


def weighted(weights: Sequence[Any], results: Sequence[Any], are_complex: Sequence[bool]) -> Any:
    """The sum of weights times results; of complex ones the real part, with conjugate weights."""
    total = 0.0
    for weight, result, is_complex in zip(weights, results, are_complex, strict=True):
        product = np.sum(weight * result)
        total = total + (np.real(product) if is_complex else product)
    return total


def weights_for(result: Array, random: np.random.Generator) -> Array:
    """Random weights for one result."""
    size = typical(result)
    signs = random.choice([-1.0, 1.0], result.shape)
    real = signs * random.uniform(0.5, 1.5, result.shape) / size
    if not np.iscomplexobj(result):
        return np.asarray(real)
    return np.asarray(real * np.exp(1j * random.uniform(0, 2 * np.pi, result.shape)))


def typical(values: Any) -> float:
    """The root mean square of an array or a number; 1 where that is zero or not finite."""
    with np.errstate(all="ignore"):
        found = float(np.sqrt(np.mean(np.abs(np.asarray(values)) ** 2)))
    return found if np.isfinite(found) and found > 0 else 1.0
