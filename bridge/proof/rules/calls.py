"""One call of a function whose rule is proved: run it, pull through it, run it tracked.

The proofs are written against `Call`, so that they serve rules of pure and of mutating functions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np

from bridge.proof.numerics.arrays import (
    Path,
    describe_call,
    float_arrays,
    float_leaves,
    is_inexact,
    laid_out,
    leaves,
    random_like,
    replace,
    wide,
)
from bridge.proof.numerics.sampling import (
    Differentiable,
    directions,
    magnitude,
    partials,
    rounding,
    samples_of,
)
from bridge.rewind.cotangents import sum_to_shape
from bridge.rulebook.supports import Supports

Handed = dict[str, Any]


class Call(Differentiable):
    """A call of a rule's function at certain arguments.

    `paths` lead to the arrays that are differentiated (the first step is the argument's position or
    keyword); `loss` maps the function's value to a number where single outputs are not defined, as in
    `bridge.extend.Case`.
    """

    def __init__(
        self, rule: Any, args: Sequence[Any], kwargs: dict[str, Any], loss: Callable[..., Any] | None, tolerance: float
    ) -> None:
        self.rule, self.loss, self.tolerance = rule, loss, tolerance
        self._take(self.bound(args, kwargs))

    def _take(self, arguments: dict[int | str, Any]) -> None:
        self.arguments = arguments
        found = float_arrays(arguments)
        self.paths = [path for path, _ in found]
        self.points = [leaf for _, leaf in found]
        self.labels = [self.name_of(path) for path in self.paths]
        self.others = [(p, x) for p, x in leaves(arguments) if isinstance(x, np.ndarray) and p not in self.paths]

    def bound(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[int | str, Any]:
        """All arguments in one dictionary, by position or keyword."""
        arguments: dict[int | str, Any] = dict(enumerate(args))
        arguments.update(kwargs)
        return arguments

    def __str__(self) -> str:
        return describe_call(self.rule.name, *split(self.arguments))

    def at(self, values: dict[Path, Any]) -> Call:
        """The same call with some of its arguments replaced."""
        moved = copy(self)
        moved._take(replace(self.arguments, values))
        return moved

    def arguments_at(self, values: Sequence[Any]) -> dict[int | str, Any]:
        """Fresh arguments with `values` for the differentiated arrays, laid out as those of this call."""
        return self.arguments_with([placed_like(v, like) for v, like in zip(values, self.points, strict=True)])

    def arguments_with(self, held: Sequence[Any]) -> dict[int | str, Any]:
        """The arguments with `held` themselves (arrays or Buffers) for the differentiated arrays."""
        placed = {path: laid_out(other, other) for path, other in self.others}
        placed.update(zip(self.paths, held, strict=True))
        arguments = {key: placed.get((key,), value) for key, value in self.arguments.items()}
        return arguments if all(len(path) == 1 for path in placed) else replace(arguments, placed)

    @property
    def supports(self) -> Supports:
        """What the rule supports: everything, unless it says otherwise."""
        return self.rule.supports or Supports()

    @property
    def elementwise(self) -> bool:
        """Whether each element of the output depends on one element of each argument."""
        return False

    @property
    def selects(self) -> bool:
        """Whether the pull only moves and adds cotangents."""
        return False

    @property
    def fitted_by_context(self) -> bool:
        """Whether the context sums cotangents over broadcast axes, and takes the real part for real arguments."""
        return False

    @abstractmethod
    def parameter(self, key: int | str) -> str:
        """The name of the argument at a position or keyword."""

    def name_of(self, path: Path) -> str:
        """How messages call the array at `path`: the parameter's name, and the place in a sequence."""
        return self.parameter(path[0]) + "".join(f"[{k!r}]" for k in path[1:])

    def without_written(self, arguments: dict[int | str, Any]) -> dict[int | str, Any]:
        """The arguments that the function may not write."""
        return arguments

    @abstractmethod
    def run(self, arguments: dict[int | str, Any]) -> Any:
        """Call the plain function on `arguments`, which it may write; its value, or what it wrote."""

    @abstractmethod
    def tracked(self, arguments: dict[int | str, Any]) -> Any:
        """The same as `run`, through the context: `arguments` hold Buffers."""

    @abstractmethod
    def hand(self, cts: Sequence[Any]) -> Handed:
        """Fresh copies of all that a pull gets, for the cotangents `cts` of the outputs."""

    @abstractmethod
    def pull(self, handed: Handed) -> list[Any]:
        """What the pull returns for each of `paths`, as it returns it (`None` where it has none)."""

    def misreadings(self, cts: Sequence[Any]) -> Iterator[tuple[list[np.ndarray], str]]:
        """What the pull would return under usual confusions, each with its remedy."""
        return iter(())

    def outputs(self, values: Sequence[Any] | None = None) -> list[Any]:
        """The floating outputs of the plain function at `values` (at this call's own by default)."""
        result = self.run(self.arguments_at(self.points if values is None else values))
        return float_leaves(result)

    def cotangents(self, cts: Sequence[Any]) -> list[np.ndarray]:
        """The cotangents of the differentiated arrays, as the context takes them from the pull."""
        return [self.fitted(raw, point) for raw, point in zip(self.pull(self.hand(cts)), self.points, strict=True)]

    def fitted(self, raw: Any, point: np.ndarray) -> np.ndarray:
        """A pull's cotangent in the shape and kind of its argument, in wide precision."""
        if raw is None:
            return np.zeros(point.shape, wide(point))
        made = np.asarray(raw)
        if self.fitted_by_context:
            made = np.asarray(sum_to_shape(made, point.shape))
        made = np.real(made) if point.dtype.kind != "c" else made
        return made.astype(wide(point))

    def seeds(self, rng: np.random.Generator) -> list[Any]:
        """Random cotangents of the outputs; where there is a `loss`, its gradient with respect to them."""
        if self.loss is None:
            return [random_like(out, rng) for out in self.outputs()]
        return _Loss(self.loss, self.run(self.arguments_at(self.points))).gradient()

    def weights(self, cts: Sequence[Any]) -> Sequence[Any]:
        """Cotangents of what `measured` returns, for cotangents `cts` of the outputs from `seeds`."""
        return cts if self.loss is None else [np.asarray(1.0)]

    def measured(self, values: Sequence[Any] | None = None) -> list[Any]:
        if self.loss is None:
            return self.outputs(values)
        return [np.real(self.loss(self.run(self.arguments_at(self.points if values is None else values))))]


def split(arguments: dict[int | str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments from the joint form in which a `Call` keeps them."""
    args = tuple(value for key, value in arguments.items() if isinstance(key, int))
    return args, {key: value for key, value in arguments.items() if isinstance(key, str)}


def placed_like(value: Any, like: Any) -> Any:
    """`value` in fresh memory, laid out as `like`; a NumPy scalar where `like` is one."""
    return laid_out(np.asarray(value), like) if isinstance(like, np.ndarray) else np.asarray(value)[()]


class _Loss(Differentiable):
    """A loss as a function of the floating leaves of what a function returned."""

    def __init__(self, loss: Callable[[Any], Any], result: Any) -> None:
        self.loss, self.result = loss, result
        found = [(path, leaf) for path, leaf in leaves(result) if is_inexact(leaf)]
        self.paths = [path for path, _ in found]
        self.points = [np.asarray(x, wide(x)) if isinstance(x, np.ndarray) else wide(x)(x) for _, x in found]

    def measured(self, values: Sequence[Any] | None = None) -> list[Any]:
        placed = dict(zip(self.paths, self.points if values is None else values, strict=True))
        return [np.real(self.loss(replace(self.result, placed)))]

    def gradient(self) -> list[np.ndarray]:
        """By finite differences along every coordinate."""
        every = sum(point.size for point in self.points)
        chosen = directions(self.points, np.random.default_rng(0), every, random=0)
        size = magnitude(self.measured(), [1.0])
        return partials(samples_of(self, [1.0], chosen, size, rounding(self)), self.points)
