"""Arrays inside arguments and outputs: finding them, copying them, writing them into messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Path = tuple[Any, ...]


def is_inexact(x: Any) -> bool:
    """Whether `x` is a real or complex floating array (tracked or not), NumPy scalar or Python number."""
    dtype = getattr(x, "dtype", None)
    return isinstance(x, (float, complex)) if dtype is None else dtype.kind in "fc"


def leaves(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything in nested lists, tuples and dictionaries, each with the path that leads to it."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, (*path, key))
    elif isinstance(tree, (list, tuple)):
        for k, value in enumerate(tree):
            yield from leaves(value, (*path, k))
    else:
        yield path, tree


def float_arrays(tree: Any) -> list[tuple[Path, Any]]:
    """The floating arrays and NumPy scalars of `tree` with their paths: what a proof differentiates."""
    return [(path, x) for path, x in leaves(tree) if isinstance(x, (np.ndarray, np.inexact)) and is_inexact(x)]


def float_leaves(tree: Any) -> list[Any]:
    """The real and complex floating arrays and numbers of `tree`, tracked or not: what of a result is proved."""
    return [leaf for _, leaf in leaves(tree) if is_inexact(leaf)]


def replace(tree: Any, values: dict[Path, Any], path: Path = ()) -> Any:
    """A copy of the containers of `tree`, with the leaves named in `values` replaced."""
    if path in values:
        return values[path]
    if isinstance(tree, dict):
        return {key: replace(value, values, (*path, key)) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        made = [replace(value, values, (*path, k)) for k, value in enumerate(tree)]
        if isinstance(tree, list):
            return made
        return type(tree)(*made) if hasattr(tree, "_fields") else tuple(made)
    return tree


def duplicate(tree: Any) -> Any:
    """A copy of `tree` in which every array is a copy with the same strides."""
    return replace(tree, {path: laid_out(leaf, leaf) for path, leaf in leaves(tree) if isinstance(leaf, np.ndarray)})


def laid_out(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """`values` in fresh memory with the strides of `like` (contiguous where elements of `like` overlap)."""
    gaps = like.size > 0 and not (like.flags.c_contiguous or like.flags.f_contiguous) and 0 not in like.strides
    if not gaps or values.shape != like.shape or values.dtype != like.dtype:
        return values.copy(order="K")
    low = sum(stride * (length - 1) for stride, length in zip(like.strides, like.shape, strict=True) if stride < 0)
    high = sum(stride * (length - 1) for stride, length in zip(like.strides, like.shape, strict=True) if stride > 0)
    memory = np.zeros(high - low + like.itemsize, np.uint8)
    copy = np.ndarray(like.shape, like.dtype, memory, offset=-low, strides=like.strides)
    copy[...] = values
    return copy


def inner(a: Sequence[Any], b: Sequence[Any]) -> float:
    """Real inner product of two lists of arrays: the sum of Re(conj(a) b)."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += float(np.sum(np.real(np.conj(x) * np.asarray(y, dtype=wide(y)))))
    return total


def wide(x: Any) -> type[np.generic]:
    """The widest ordinary dtype of the kind of `x`: complex128 or float64."""
    return np.complex128 if np.asarray(x).dtype.kind == "c" else np.float64


def random_like(x: Any, rng: np.random.Generator) -> Any:
    """Normal random numbers of the shape, dtype and kind (array or NumPy scalar) of `x`."""
    array = np.asarray(x)
    made = rng.standard_normal(array.shape)
    if array.dtype.kind == "c":
        made = made + 1j * rng.standard_normal(array.shape)
    made = np.asarray(made, dtype=array.dtype)
    return made if isinstance(x, np.ndarray) else made[()]


def describe(x: Any) -> str:
    """How messages write an argument: `float64[2, 3]` for arrays, `repr` for the rest."""
    if isinstance(x, np.ndarray):
        return f"{x.dtype}[{', '.join(map(str, x.shape))}]"
    if isinstance(x, (list, tuple)):
        inside = ", ".join(describe(each) for each in x)
        return f"[{inside}]" if isinstance(x, list) else f"({inside})"
    text = repr(x)
    return text if len(text) <= 40 else f"{text[:37]}..."


def describe_call(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """How messages write a call: `np.sum(float64[2, 3], axis=0)`."""
    inside = [describe(arg) for arg in args] + [f"{key}={describe(value)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(inside)})"


def short(x: Any) -> str:
    """How messages write a value: a number, or the first and last elements of an array."""
    if x is None:
        return "nothing"
    array = np.asarray(x)
    if array.shape == ():
        return f"{array[()]:.9g}" if array.dtype.kind in "fc" else str(array[()])
    return np.array2string(array, precision=5, threshold=6, edgeitems=2)
