"""A Julia function inside JAX programs: under `jit`, `vmap`, and every transform that differentiates, to any order.

The host computes value and derivatives, by this package's own transforms, for the primitives of `jax_primitives.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bridge.errors import ArgumentError, EngineNotAvailable
from bridge.rewind.cotangents import conj
from bridge.transforms.jvp import jvp
from bridge.transforms.vjp import vjp

if TYPE_CHECKING:
    from bridge.julia.jax_primitives import Part


def to_jax(function: Callable[..., Any], result: Any = None) -> Callable[..., Any]:
    """A function of JAX arrays that runs `function`, a `julia.function`, on the host, with its derivatives.

    Parameters
    ----------
    function : what `bridge.julia.function` returned; any callable that `bridge.vjp` and `bridge.jvp` take will do.
    result : what it returns, since JAX must know before it runs: an array, a `jax.ShapeDtypeStruct`, a container of
        them, or a function from the arguments' `ShapeDtypeStruct`s to one. Without it: one number, of the dtype of
        the first float argument.

    Arguments are arrays or containers of arrays; integer and boolean ones carry no derivative. float32 stays float32,
    and float64 needs JAX's own `jax_enable_x64`. Derivatives of any order; where Julia has none, its error is raised.

    Raises
    ------
    EngineNotAvailable : JAX is not installed.
    ArgumentError : a value has another shape or dtype than `result` says; inside `jit`, JAX raises it as its own
        runtime error with the same message.
    """
    jax = _jax()
    from bridge.julia.jax_primitives import value

    name = getattr(function, "__name__", repr(function))

    def called(*args: Any) -> Any:
        leaves, container = jax.tree.flatten(args)
        arrays = [jax.numpy.asarray(leaf) for leaf in leaves]
        structs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays]
        declared = _declared(jax, result, jax.tree.unflatten(container, structs), structs)
        shapes, of_result = jax.tree.flatten(declared)
        program = _Program(function, name, container, tuple((s.shape, np.dtype(s.dtype)) for s in shapes), of_result)
        traced = any(isinstance(x, jax.core.Tracer) for x in arrays)
        values = value(program, arrays) if traced else map(jax.numpy.asarray, program.value(arrays))
        return jax.tree.unflatten(of_result, values)

    called.__name__ = called.__qualname__ = name
    called.__doc__ = f"{name}, a Julia function, for JAX arrays."
    return called


def _jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise EngineNotAvailable(
            "julia.to_jax needs JAX, which is not installed", remedy='pip install "mutation-bridge[jax]"'
        ) from error
    return jax


def _declared(jax: Any, result: Any, args: Any, structs: Sequence[Any]) -> Any:
    """The result's shapes and dtypes, as `ShapeDtypeStruct`s in its containers."""
    if result is None:
        floats = [s.dtype for s in structs if jax.numpy.issubdtype(s.dtype, jax.numpy.inexact)]
        if not floats:
            raise ArgumentError("no float argument", remedy="say what comes back: to_jax(function, result=...)")
        return jax.ShapeDtypeStruct((), floats[0])
    if callable(result):
        result = result(*args)
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(np.shape(x), x.dtype), result)


class _Program:
    """One function at one signature, as the primitives see it; equal ones share their compiled programs."""

    def __init__(self, function: Any, name: str, container: Any, results: tuple[Any, ...], of_result: Any) -> None:
        self.function, self.name, self.container = function, name, container
        self.results, self.of_result = results, of_result
        self.floats = [k for k, (_, dtype) in enumerate(results) if _jax().numpy.issubdtype(dtype, np.inexact)]
        self._key = (id(function), container, results, of_result)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Program) and self._key == other._key

    def value(self, leaves: Sequence[Any]) -> list[np.ndarray]:
        return self._checked(self.function(*self._arguments(leaves)), range(len(self.results)))

    def push(self, leaves: Sequence[Any], directions: Sequence[Part]) -> list[np.ndarray]:
        derivative = self._derived(leaves, directions)
        return self._checked(derivative(*self._arguments(leaves)), self.floats)

    def along(
        self, leaves: Sequence[Any], directions: Sequence[Part], cts: Part, asked: Sequence[int]
    ) -> list[np.ndarray]:
        # JAX's cotangents are the conjugates of ours where they are complex.
        given = [conj(np.asarray(cts[k])) if k in cts else np.zeros(*look) for k, look in enumerate(self.results)]
        _, pull = vjp(self._derived(leaves, directions), *self._arguments(leaves))
        jax = _jax()
        pulled = jax.tree.leaves(pull(jax.tree.unflatten(self.of_result, given)), is_leaf=lambda x: x is None)
        return [_gradient(pulled[k], np.asarray(leaves[k])) for k in asked]

    def _derived(self, leaves: Sequence[Any], directions: Sequence[Part]) -> Callable[..., Any]:
        """The derivative once along each direction, as a function of the arguments."""
        found = self.function
        for direction in directions:
            tangents = [direction.get(k) for k in range(len(leaves))]
            found = partial(_derivative, found, self._arguments(tangents))
        return found

    def _arguments(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        arrays = [None if leaf is None else np.asarray(leaf) for leaf in leaves]
        return tuple(_jax().tree.unflatten(self.container, arrays))

    def _checked(self, value: Any, wanted: Sequence[int]) -> list[np.ndarray]:
        """The results at the numbers `wanted`, which have to be as they were declared."""
        leaves, container = _jax().tree.flatten(value)
        found = [np.asarray(leaf) for leaf in leaves]
        if container != self.of_result or any((found[k].shape, found[k].dtype) != self.results[k] for k in wanted):
            raise ArgumentError(
                f"{self.name} returned {_described([(x.shape, x.dtype) for x in found])}, "
                f"and to_jax was told {_described(self.results)}",
                remedy="give to_jax the result's shape and dtype: to_jax(function, result=jax.ShapeDtypeStruct(...))",
            )
        return [found[k] for k in wanted]


def _derivative(function: Callable[..., Any], tangents: tuple[Any, ...], *args: Any) -> Any:
    return jvp(function, args, tangents)[1]


def _gradient(found: Any, argument: np.ndarray) -> np.ndarray:
    return np.zeros_like(argument) if found is None else conj(np.asarray(found, argument.dtype))


def _described(results: Sequence[Any]) -> str:
    return ", ".join(f"{np.dtype(dtype).name} of shape {shape}" for shape, dtype in results) or "nothing"
