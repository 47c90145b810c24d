"""A function of parameters in containers as optimisers want it: of one vector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.code_position import warn
from bridge.errors import ArgumentError
from bridge.options import Engine
from bridge.transforms.entering import is_differentiable
from bridge.transforms.grad import value_and_grad
from bridge.transforms.jacobians import hvp
from bridge.trees import Mismatch, leaves_along, leaves_of, paths_of, rebuilt, shown

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


def objective(
    f: Callable[..., Any], start: Any, *args: Any, engine: Engine = "eager", source: bool | None = None
) -> Objective:
    """`f(parameters, *args)` with its derivatives, as a function of one vector: what `scipy.optimize` takes.

    Parameters
    ----------
    f : returns one real number; may write into its arguments.
    start : the parameters to begin with: an array, a number, or containers and objects of them. Real floats are what
        varies; integers, texts and the like stay as they are.
    args : further arguments of `f`, which stay.
    engine, source : as in `bridge.grad`; "xla" compiles value, gradient and products with the Hessian once.

    Raises
    ------
    ArgumentError : nothing in `start` can vary, or something complex is in it.
    """
    return Objective(f, start, args, engine, source)


class Objective:
    """A function of one vector, and its way back to containers; `bridge.objective` makes it.

    Attributes
    ----------
    x0 : the parameters to begin with, as a float64 vector: all floats in the order of their containers.
    """

    def __init__(
        self, f: Callable[..., Any], start: Any, args: tuple[Any, ...], engine: Engine, source: bool | None
    ) -> None:
        self._function, self._args, self._engine, self._source = f, args, engine, source
        self._both = value_and_grad(f, engine=engine, allow_int=True, source=source)
        self._leaves, self._structure = leaves_of(start)
        self._varies = [is_differentiable(leaf) for leaf in self._leaves]
        for leaf, (path, _) in zip(self._leaves, paths_of(self._structure), strict=True):
            if is_differentiable(leaf) and np.asarray(leaf).dtype.kind == "c":
                raise ArgumentError(
                    f"start{path} has dtype {np.asarray(leaf).dtype}, and an optimiser varies real numbers",
                    remedy="pass real and imaginary part apart, and put them together in the function",
                )
        still = [f"start{path}" for path in self._integers()]
        if still:
            warn(
                f"integers in start will not vary: {', '.join(still)}. Write floats (0.0), or leave them out of start "
                "and pass them as args"
            )
        if not any(self._varies):
            raise ArgumentError("start holds no float and no float array", remedy="convert what shall vary to float")
        self.x0: Vector = self.flattened(start)
        self._last: tuple[Vector, float, Vector] | None = None

    def _integers(self) -> Iterator[str]:
        """Where `start` holds integers, which somebody may have meant as numbers that vary."""
        for leaf, (path, held) in zip(self._leaves, paths_of(self._structure), strict=True):
            if not held and type(leaf) is not bool and np.asarray(leaf).dtype.kind in "iu":
                yield path

    def __repr__(self) -> str:
        return f"<objective({getattr(self._function, '__name__', 'function')}) of {self.x0.size} numbers>"

    def fun(self, x: Any) -> float:
        """The value at a vector."""
        return self._at(x)[1]

    def jac(self, x: Any) -> Vector:
        """The gradient at a vector, computed together with the value."""
        return self._at(x)[2].copy()

    def value_and_jac(self, x: Any) -> tuple[float, Vector]:
        """Both, for `minimize(..., jac=True)`."""
        _, value, gradient = self._at(x)
        return value, gradient.copy()

    def hessp(self, x: Any, v: Any) -> Vector:
        """The Hessian at a vector times another one."""
        tangent = self._in_containers(v, tangent=True)
        product = hvp(
            self._function,
            (self.parameters(x), *self._args),
            (tangent,),
            engine=self._engine,
            source=self._source,
            argnums=0,
        )
        return self.flattened(product)

    def parameters(self, x: Any) -> Any:
        """A vector in the containers, shapes and dtypes of `start`."""
        return self._in_containers(x)

    def flattened(self, tree: Any) -> Vector:
        """Containers like those of `start`, as a vector: bounds, scales, another start."""
        try:
            leaves = leaves_along(self._structure, tree)
        except Mismatch as error:
            raise ArgumentError(
                f"the structure is {error}, that of start is {shown(self._structure)}",
                remedy="give the containers of start",
            ) from error
        parts = []
        for leaf, own, varies in zip(leaves, self._leaves, self._varies, strict=True):
            if varies:
                parts.append(np.broadcast_to(np.asarray(leaf, np.float64), np.shape(own)).ravel())
        return np.concatenate(parts)

    def _at(self, x: Any) -> tuple[Vector, float, Vector]:
        last = self._last
        if last is None or not np.array_equal(last[0], x):
            point: Vector = np.array(x, np.float64)
            value, gradient = self._both(self.parameters(point), *self._args)
            last = self._last = point, float(value), self.flattened(gradient)
        return last

    def _in_containers(self, x: Any, tangent: bool = False) -> Any:
        x = np.asarray(x)
        if x.shape != self._shape:
            raise ArgumentError(
                f"a vector of shape {x.shape}, where {self._shape[0]} numbers vary", remedy="give one like x0"
            )
        leaves: list[Any] = []
        at = 0
        for own, varies in zip(self._leaves, self._varies, strict=True):
            if not varies:
                leaves.append(None if tangent else own)
                continue
            count = np.size(own)
            part = x[at : at + count].reshape(np.shape(own)).astype(np.result_type(own))
            leaves.append(part if isinstance(own, np.ndarray) else part[()])
            at += count
        return rebuilt(self._structure, leaves)

    @property
    def _shape(self) -> tuple[int]:
        return (sum(int(np.size(leaf)) for leaf, varies in zip(self._leaves, self._varies, strict=True) if varies),)
