"""Central differences of programs whose arguments are numbers, arrays and containers of them; each on fresh state."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

ONE_BY_ONE = 8


def directions(values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Each unit vector if there are few, else as many random directions; in the containers of `values`."""
    size = sum(leaf.size for leaf in leaves(values))
    rng = np.random.default_rng(0)
    for k in range(min(size, ONE_BY_ONE)):
        numbers = np.eye(size)[k] if size <= ONE_BY_ONE else rng.uniform(-1, 1, size)
        yield filled(values, iter(numbers))


def leaves(value: Any) -> Iterator[np.ndarray]:
    """The float numbers and arrays in `value`, in order."""
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    elif dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            yield from leaves(getattr(value, each.name))
    elif is_differentiable(value):
        yield np.asarray(value)


def is_differentiable(value: Any) -> bool:
    return isinstance(value, (float, np.ndarray, np.floating)) and np.asarray(value).dtype.kind == "f"


def filled(value: Any, numbers: Iterator[float]) -> Any:
    """The containers of `value`, with the next of `numbers` in place of each float."""
    return mapped(
        lambda leaf: np.array([next(numbers) for _ in range(leaf.size)]).reshape(leaf.shape), value, otherwise=0.0
    )


def mapped(function: Callable[..., Any], value: Any, *others: Any, otherwise: Any = None) -> Any:
    """`function` of the floats of `value` and their counterparts, in the containers of `value`."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(function, *each, otherwise=otherwise) for each in zip(value, *others, strict=True)))
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(function, *each, otherwise=otherwise) for each in zip(value, *others))
    if isinstance(value, dict):
        return {k: mapped(function, value[k], *(each[k] for each in others), otherwise=otherwise) for k in value}
    if dataclasses.is_dataclass(value):
        made = copy.copy(value)
        for name in [each.name for each in dataclasses.fields(value)]:
            parts = (getattr(value, name), *(getattr(each, name) for each in others))
            object.__setattr__(made, name, mapped(function, *parts, otherwise=otherwise))
        return made
    if is_differentiable(value):
        return function(np.asarray(value), *others)
    return value if otherwise is None else otherwise


def shifted(value: Any, direction: Any, step: float) -> Any:
    """A copy of `value`, moved by `step` along `direction`: floats stay floats."""

    def move(leaf: np.ndarray, along: np.ndarray) -> Any:
        moved = leaf + step * along
        return np.asarray(moved) if leaf.ndim else float(moved)

    return copy.deepcopy(mapped(move, value, direction))


def inner(gradient: Any, direction: Any, value: Any) -> float:
    """The derivative along `direction` that `gradient` predicts."""
    total = []
    mapped(lambda leaf, g, t: total.append(np.sum(np.asarray(g) * t)), value, gradient, direction)
    return float(sum(total))


def derivative(function: Callable[[float], Any], step: float) -> float:
    """The derivative at 0 of `function`, extrapolated from central differences by Richardson's rule."""
    best, least = np.nan, np.inf
    previous: list[float] = []
    for level in range(5):
        h = step / 2**level
        row = [(float(function(h)) - float(function(-h))) / (2 * h)]
        for order, earlier in enumerate(previous):
            row.append(row[-1] + (row[-1] - earlier) / (4 ** (order + 1) - 1))
        for order in range(1, len(row)):
            error = max(abs(row[order] - row[order - 1]), abs(row[order] - previous[order - 1]))
            if error < least:
                best, least = row[order], error
        previous = row
    return best
