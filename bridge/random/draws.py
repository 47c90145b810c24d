"""Draws without parameters, and their keys, as operations of their own: computed by NumPy, or by what compiles.

None has a derivative: what is differentiated is the arithmetic on them. Each of these functions takes plain arrays,
or the stand-ins of a program that is being compiled, for which only shape and dtype of the answer count. Inside of
`held`, draws stay what they were, for those who compare a program at several points, as finite differences do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

import numpy as np

from bridge.code_position import here, span
from bridge.extend import nondifferentiable
from bridge.random import samplers, threefry
from bridge.rewind.snapshots import constant

Shape = tuple[int, ...]


def draw(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare that no gradient passes through a function, and answer stand-ins with zeros of the right shape."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, np.ndarray) and type(x) not in (np.ndarray, constant) for x in args):
            args = tuple(np.zeros(x.shape, x.dtype) if isinstance(x, np.ndarray) else x for x in args)
            if "shape" in kwargs:
                shape = kwargs["shape"]
                one = function(*args, **kwargs | {"shape": (1,) * len(shape)})
                return np.zeros((*shape, *np.shape(one)[len(shape) :]), np.result_type(one))[()]
        return function(*args, **kwargs)

    nondifferentiable(run)
    return run


@draw
def seeded(seed: Any) -> np.ndarray:
    """The key of an integer: its 64 bits as two words."""
    wide = np.asarray(seed).astype(np.int64).astype(np.uint64)
    return np.array([wide >> np.uint64(32), wide & np.uint64(0xFFFFFFFF)], np.uint64).astype(np.uint32)


@draw
def split_keys(key: np.ndarray, *, shape: Shape) -> np.ndarray:
    """New keys, in an array of `shape` with one axis more."""
    return np.stack(threefry.blocks(key, math.prod(shape)), axis=-1).reshape(*shape, 2)


@draw
def folded(key: np.ndarray, data: Any) -> np.ndarray:
    """A new key from a key and an integer, of which the low 32 bits count."""
    low = np.asarray(data).astype(np.int64).astype(np.uint32).reshape(1)
    return np.concatenate(threefry.cipher((key[:1], key[1:]), (np.zeros(1, np.uint32), low)))


@draw
def random_bits(key: np.ndarray, *, shape: Shape, dtype: Any) -> Any:
    """Unsigned integers all of whose bits are random."""
    return threefry.bits(key, shape, np.dtype(dtype).itemsize * 8)[()]


@draw
def unit_uniform(key: np.ndarray, *, shape: Shape, dtype: Any) -> Any:
    """Uniform numbers in [0, 1)."""
    return _units(key, shape, dtype).reshape(shape)[()]


@draw
def standard_normal(key: np.ndarray, *, shape: Shape, dtype: Any) -> Any:
    """Normal numbers of mean 0 and variance 1."""
    return samplers.normal(_units(key, shape, dtype)).reshape(shape)[()]


@draw
def standard_exponential(key: np.ndarray, *, shape: Shape, dtype: Any) -> Any:
    """Exponential numbers of mean 1."""
    return -np.log1p(-_units(key, shape, dtype)).reshape(shape)[()]


@draw
def standard_gumbel(key: np.ndarray, *, shape: Shape, dtype: Any) -> Any:
    """Gumbel numbers of location 0 and scale 1."""
    tiny = np.finfo(dtype).tiny
    units = np.maximum(_units(key, shape, dtype) * (np.ones((), dtype) - tiny) + tiny, tiny)
    return -np.log(-np.log(units)).reshape(shape)[()]


@draw
def standard_gamma(key: np.ndarray, a: Any) -> Any:
    """Gamma numbers of scale 1, one for each element of the shape parameters `a`."""
    a = np.asarray(a)
    flat = np.array(a).reshape(-1)
    return samplers.gamma(threefry.blocks(key, flat.size), flat).reshape(a.shape)[()]


@draw
def shuffled(key: np.ndarray, *, shape: Shape, axis: int = 0) -> np.ndarray:
    """Along one axis the integers 0, 1, 2, ... in random order, in each column anew."""
    own = tuple(-1 if k == axis else 1 for k in range(len(shape)))
    order = np.broadcast_to(np.arange(shape[axis]).reshape(own), shape).copy()
    for _ in range(rounds(math.prod(shape))):
        key, other = split_keys(key, shape=(2,))
        sorted_by = np.argsort(threefry.bits(other, shape, 32), axis=axis, kind="stable")
        order = np.take_along_axis(order, sorted_by, axis=axis)
    return order


def rounds(size: int) -> int:
    """How often JAX sorts `size` elements by 32 random bits each, so that equal ones no longer matter."""
    return math.ceil(3 * math.log(max(1, size)) / math.log(2**32 - 1))


def _units(key: np.ndarray, shape: Shape, dtype: Any) -> np.ndarray:
    """Numbers in [0, 1) in C order, in an array of one axis."""
    kind = np.dtype(dtype)
    return threefry.unit(threefry.bits(key, (math.prod(shape),), kind.itemsize * 8), kind)


_FIRST: ContextVar[dict[Any, Any] | None] = ContextVar("bridge.random.first", default=None)


@contextmanager
def held() -> Iterator[None]:
    """Inside, draws mean to a program that is run again what they mean to its derivatives.

    The first run is the reference, for each key, shape and line of the program: a frozen draw gives its numbers again
    whatever the parameters are, a gamma number keeps its quantile, and numbers of another dtype are the same, rounded.
    Finite differences agree with gradients inside; `check_gradient` and `crosscheck` run
    programs so.
    """
    token = _FIRST.set({})
    try:
        yield
    finally:
        _FIRST.reset(token)


def is_held(*values: Any) -> bool:
    """Whether draws are held; those from values that are known at run time only never are."""
    return _FIRST.get() is not None and not any(hasattr(x, "place") for x in values)


def first(name: str, key: Any, shape: tuple[int, ...], draw: Callable[[], Any]) -> Any:
    """What `draw` gave when it was first asked for at this line; only where draws are held. Not to be written."""
    known = _FIRST.get()
    assert known is not None
    asked = (name, key.tobytes(), shape, span(here()))
    if asked not in known:
        known[asked] = draw()
    return known[asked]


def noise(
    name: str, key: Any, shape: tuple[int, ...], kind: np.dtype[Any], draw: Callable[[], Any], *values: Any
) -> Any:
    """What `draw` makes, of the dtype `kind`; where draws are held and no value is traced, what came first."""
    return np.array(first(name, key, shape, draw), kind)[()] if is_held(key, *values) else draw()
