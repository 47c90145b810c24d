"""A program's value as one real number: what `check_gradient` differentiates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge.proof.numerics.arrays import Path, is_inexact, leaves, random_like
from bridge.proof.numerics.compare import Differentiable
from bridge.transforms.entering import is_differentiable
from bridge.trees import leaves_of, rebuilt


class Weighted(Differentiable):
    """`f` with its outputs weighted to one real number, as a function of the differentiated leaves."""

    def __init__(
        self, f: Callable[..., Any], argnums: int | Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.f, self.argnums, self.args, self.kwargs = f, argnums, args, kwargs
        positions = (argnums,) if isinstance(argnums, (int, np.integer)) else tuple(argnums)
        self.positions = [int(k) % len(args) for k in positions if -len(args) <= k < len(args)]
        self.flat = {k: leaves_of(args[k]) for k in self.positions}
        self.paths: list[Path] = []
        self.points: list[Any] = []
        for k, (found, _) in self.flat.items():
            chosen = [(j, leaf) for j, leaf in enumerate(found) if is_differentiable(leaf)]
            self.paths += [(k, j) if len(found) > 1 else (k,) for j, _ in chosen]
            self.points += [leaf if isinstance(leaf, np.ndarray) else np.asarray(leaf)[()] for _, leaf in chosen]
        self.cotangents: list[Any] | None = None

    def tangents(self, values: Sequence[Any]) -> list[Any]:
        """`values` for the differentiated leaves in the containers of the positional arguments; None elsewhere."""
        given = iter(values)
        trees: list[Any] = [None] * len(self.args)
        for k, (found, structure) in self.flat.items():
            trees[k] = rebuilt(structure, [next(given) if is_differentiable(leaf) else None for leaf in found])
        return trees

    def arguments(self, values: Sequence[Any]) -> list[Any]:
        """All positional arguments, as copies, with `values` for the differentiated leaves."""
        given = iter(values)
        args = [copied(arg) for arg in self.args]
        for k, (found, structure) in self.flat.items():
            made = [_as_given(next(given), leaf) if is_differentiable(leaf) else copied(leaf) for leaf in found]
            args[k] = rebuilt(structure, made)
        return args

    def raw(self) -> list[Any]:
        """The floating outputs of the plain function."""
        result = self.f(*self.arguments(self.points), **copied(self.kwargs))
        return [leaf for _, leaf in leaves(result) if is_inexact(leaf)]

    def weigh(self, rng: np.random.Generator) -> None:
        """Choose random weights, unless the output is one real number."""
        outputs = self.raw()
        if len(outputs) != 1 or np.shape(outputs[0]) or np.iscomplexobj(outputs[0]):
            self.cotangents = [np.asarray(random_like(out, rng)) for out in outputs]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`f`, weighted to one real number; runs on Buffers, too."""
        result = self.f(*args, **kwargs)
        if self.cotangents is None:
            return result
        outputs = [leaf for _, leaf in leaves(result) if is_inexact(leaf)]
        terms = [np.sum(np.real(np.conj(ct) * out)) for ct, out in zip(self.cotangents, outputs, strict=True)]
        return sum(terms[1:], terms[0])

    def measured(self, values: Sequence[Any] | None = None) -> list[Any]:
        args = self.arguments(self.points if values is None else values)
        return [leaf for _, leaf in leaves(self(*args, **copied(self.kwargs)))]


def copied(tree: Any) -> Any:
    """The containers of `tree` around copies of its arrays."""
    found, structure = leaves_of(tree)
    return rebuilt(structure, [leaf.copy(order="K") if isinstance(leaf, np.ndarray) else leaf for leaf in found])


def _as_given(value: Any, leaf: Any) -> Any:
    return np.array(value, copy=True, order="K") if isinstance(leaf, np.ndarray) else np.asarray(value)[()]
