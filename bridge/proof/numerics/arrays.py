"""Arrays inside arguments and outputs: finding them, copying them, comparing them."""

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


def same_bits(a: Any, b: Any) -> bool:
    """Whether two arrays or numbers have the same shape, dtype and bits (NaNs and signed zeros too)."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def first_change(before: Any, after: Any) -> Path | None:
    """Path of the first array of `after` whose bits differ from those in `before`; None if all are as they were."""
    for (path, old), (_, new) in zip(leaves(before), leaves(after), strict=True):
        if isinstance(old, (np.ndarray, np.generic)) and not same_bits(old, new):
            return path
    return None


def alike(a: Sequence[Any], b: Sequence[Any], exactly: bool = True) -> bool:
    """Whether two lists of cotangents agree: bit for bit, or to five digits; `None` only agrees with `None`."""
    if any((x is None) != (y is None) for x, y in zip(a, b, strict=True)):
        return False
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None]
    if exactly:
        return all(same_bits(x, y) for x, y in pairs)
    return all(np.shape(x) == np.shape(y) and np.allclose(x, y, rtol=1e-5, equal_nan=True) for x, y in pairs)


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


def worst_difference(expected: Any, got: Any) -> tuple[float, tuple[int, ...]]:
    """Largest |expected - got| relative to the largest |expected|, and its index; inf where just one is NaN."""
    a, b = np.asarray(expected, dtype=wide(expected)), np.asarray(got, dtype=wide(got))
    if a.size == 0:
        return 0.0, ()
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    distance = np.where(same, 0.0, np.abs(a - b))
    distance = np.where(np.isnan(distance), np.inf, distance)
    finite = np.abs(a[np.isfinite(a)])
    scale = max(float(np.max(finite, initial=0.0)), 1e-300)
    where = np.unravel_index(int(np.argmax(distance)), distance.shape)
    return float(distance[where]) / scale, tuple(int(k) for k in where)


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
