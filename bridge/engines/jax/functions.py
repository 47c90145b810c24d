"""Functions written in JAX, as a cross-check runs them: in reverse mode, in forward mode, and in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.trees import containers_of, rebuilt
from bridge.xla.lowering.lower import x64

Real = Callable[[Sequence[Any]], Any]


def plain(f: Callable[..., Any]) -> Callable[..., Any]:
    """A JAX function that gives NumPy's arrays and numbers, in the precision of its arguments."""

    @wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        with x64():
            leaves, structure = containers_of(called(f, args, kwargs))
            return rebuilt(structure, [np.array(x)[()] if isinstance(x, jax.Array) else x for x in leaves])

    return run


def called(f: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """A call whose NumPy arrays are JAX's: indexing means what it means there."""
    leaves, structure = containers_of((args, kwargs))
    args, kwargs = rebuilt(structure, [jnp.asarray(x) if isinstance(x, np.ndarray) else x for x in leaves])
    return f(*args, **kwargs)


def value_and_gradient(real: Real, points: Sequence[Any]) -> tuple[Any, list[np.ndarray]]:
    """Value and gradient of a real function of a list of arrays, by `jax.vjp`.

    The gradient is this package's at complex points: the conjugate of JAX's.
    """
    with x64():
        value, gradient = jax.value_and_grad(lambda xs: real(xs))([jnp.asarray(p) for p in points])
        return np.array(value)[()], [_own(g) for g in gradient]


def derivative(real: Real, points: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, float]:
    """Value and derivative along tangents, by `jax.jvp`."""
    with x64():
        primals = [jnp.asarray(p) for p in points]
        along = [jnp.asarray(t, p.dtype) for t, p in zip(tangents, primals, strict=True)]
        value, moved = jax.jvp(lambda xs: real(xs), (primals,), (along,))
        return np.array(value)[()], float(np.real(moved))


def batched(real: Real, batches: Sequence[Sequence[Any]]) -> list[tuple[Any, list[np.ndarray]]]:
    """Values and gradients at several points at once, by `jax.vmap`."""
    with x64():
        stacked = [jnp.stack([jnp.asarray(p) for p in parts]) for parts in zip(*batches, strict=True)]
        values, gradients = jax.vmap(jax.value_and_grad(lambda xs: real(xs)))(stacked)
        return [(np.array(values[k])[()], [_own(g[k]) for g in gradients]) for k in range(len(batches))]


def weighted(result: Any, cotangents: Sequence[Any] | None) -> Any:
    """What a JAX function returned as one real number."""
    outputs = [leaf for leaf in containers_of(result)[0] if jnp.result_type(leaf).kind in "fc"]
    if cotangents is None:
        return outputs[0]
    return sum(jnp.sum(jnp.real(jnp.conj(ct) * out)) for ct, out in zip(cotangents, outputs, strict=True))


def _own(gradient: Any) -> np.ndarray:
    return np.array(jnp.conj(gradient) if gradient.dtype.kind == "c" else gradient)
