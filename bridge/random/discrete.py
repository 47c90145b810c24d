"""Draws of integers and booleans, which have no derivative along their path, and permutations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bridge.arrays.creation import array
from bridge.arrays.dispatch import call
from bridge.arrays.operands import context_of
from bridge.random import draws
from bridge.random.checking import (
    Gradient,
    checked_dtype,
    checked_shape,
    in_dtype,
    is_integer,
    known_integer,
    parameter,
    refuse_complex,
    wrong,
)
from bridge.random.draws import noise
from bridge.random.keys import checked_key


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, *, gradient: Gradient = "pathwise") -> NDArray[Any]:
    """Booleans that are true with probability `p`, as `jax.random.bernoulli`: `uniform(key, shape, dtype of p) < p`.

    A `p` that carries a gradient raises RandomGradientError, except under `gradient="frozen"`.
    """
    own = checked_key("bernoulli", key)
    chosen = parameter("bernoulli", "p", p, gradient, discrete=True)
    refuse_complex("bernoulli", "p", chosen)
    kind = checked_dtype("bernoulli", None, chosen)
    sides = checked_shape("bernoulli", shape, {"p": chosen})

    def unit() -> Any:
        return call(draws.unit_uniform, (own,), {"shape": sides, "dtype": kind})

    def below() -> Any:
        return noise("bernoulli", own, sides, kind, unit) < in_dtype(chosen, kind)

    return noise("frozen bernoulli", own, sides, np.dtype(bool), below, chosen) if gradient == "frozen" else below()


def categorical(
    key: Any, logits: Any, axis: int = -1, shape: Any = None, *, gradient: Gradient = "pathwise"
) -> NDArray[Any]:
    """Indices drawn with the probabilities `softmax(logits, axis)`, as `jax.random.categorical` with replacement.

    Parameters
    ----------
    key : uint32 array of shape (2,).
    logits : unnormalised log probabilities along `axis`, an array with at least one axis.
    shape : of the draw, which ends with the shape of `logits` without `axis` (the default).
    gradient : logits that carry a gradient raise RandomGradientError, except under "frozen".
    """
    own = checked_key("categorical", key)
    chosen = parameter("categorical", "logits", logits, gradient, discrete=True)
    refuse_complex("categorical", "logits", chosen)
    kind = checked_dtype("categorical", None, chosen)
    sizes = tuple(np.shape(chosen))
    if not sizes or not -len(sizes) <= axis < len(sizes):
        raise wrong("categorical", f"logits of shape {sizes} have no axis {axis}", "give an axis that they have")
    axis %= len(sizes)
    batch = sizes[:axis] + sizes[axis + 1 :]
    sides = batch if shape is None else checked_shape("categorical", shape, {"each draw": np.empty(batch)})
    own_sides = sides[len(sides) - len(batch) :]
    noisy = (*sides[: len(sides) - len(batch)], *own_sides[:axis], sizes[axis], *own_sides[axis:])

    def gumbel() -> Any:
        return call(draws.standard_gumbel, (own,), {"shape": noisy, "dtype": kind})

    def largest() -> Any:
        perturbed = noise("categorical", own, noisy, kind, gumbel) + in_dtype(chosen, kind)
        return np.argmax(perturbed, axis=axis - len(sizes))

    if gradient == "frozen":
        return noise("frozen categorical", own, noisy, np.dtype(np.intp), largest, chosen)
    return largest()


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> NDArray[Any]:
    """The integers below `x` in random order, or an array with its parts along `axis` in random order.

    As `jax.random.permutation`: with `independent`, each column along `axis` has an order of its own. Gradients pass
    through the elements of `x`, which only change their places.
    """
    own = checked_key("permutation", key)
    if is_integer(x):
        count = known_integer(x)
        if count is None:
            raise wrong("permutation", "the length is not known while the program is compiled", "give a plain integer")
        return call(draws.shuffled, (own,), {"shape": checked_shape("permutation", count)})
    if not hasattr(x, "place"):
        x = array(x) if context_of((x,)) is not None else np.asarray(x)
    if not -len(x.shape) <= axis < len(x.shape):
        raise wrong("permutation", f"an array of shape {x.shape} has no axis {axis}", "give an axis that it has")
    axis %= len(x.shape)
    if not independent:
        order = call(draws.shuffled, (own,), {"shape": (x.shape[axis],)})
        return call(np.take, (x, order), {"axis": axis})
    order = call(draws.shuffled, (own,), {"shape": tuple(x.shape), "axis": axis})
    return call(np.take_along_axis, (x, order), {"axis": axis})
