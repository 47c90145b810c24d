"""How NumPy's decompositions look of arrays that hold nothing: found on others, which no decomposition fails on."""

from __future__ import annotations

import math
import mmap
import threading
from contextlib import suppress
from typing import Any

import numpy as np

from bridge.options import as_text


class StandIn(np.ndarray):
    """An array whose contents mean nothing."""


def regular(x: Any) -> Any:
    """Instead of an abstract array an array of its shape and dtype that no decomposition fails on."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(regular, x))
    if not isinstance(x, StandIn):
        return x
    shape = x.shape[-2:] if x.ndim > 1 else (*x.shape, 1)
    return np.broadcast_to(np.eye(*shape, dtype=x.dtype).reshape(x.shape[-2:]), x.shape)


_FACTORING = frozenset(
    getattr(np.linalg, name)
    for name in ("cholesky", "det", "eigh", "eigvalsh", "inv", "pinv", "qr", "slogdet", "solve", "svd")
)
_SMALL = 16


def first_row(x: Any) -> Any:
    """Instead of an abstract array one whose first row is one: as a band, the main one where that comes first."""
    return _one_row(x, 0)


def last_row(x: Any) -> Any:
    """Likewise where that comes last."""
    return _one_row(x, -1)


def _one_row(x: Any, row: int) -> Any:
    if not isinstance(x, StandIn):
        return x
    made = np.zeros(x.shape, x.dtype)
    made[(..., row, slice(None)) if x.ndim > 1 else ...] = 1
    return made


def of_any(function: Any, args: Any, kwargs: Any) -> Any:
    """What a function that raises LinAlgError gives for the first kind of stand-ins that it accepts."""
    kinds = (regular, distinct, first_row, last_row)
    for stand_in in kinds[:-1]:
        with suppress(np.linalg.LinAlgError):
            return of_matrices(function, stand_in, args, kwargs)
    return of_matrices(function, kinds[-1], args, kwargs)


def of_linalg(function: Any, stand_in: Any, args: Any, kwargs: Any) -> Any:
    """What a function of `np.linalg` gives for stand-ins."""
    if function not in _FACTORING:
        return function(*map(stand_in, args), **kwargs)
    return of_matrices(function, stand_in, args, kwargs)


def of_matrices(function: Any, stand_in: Any, args: Any, kwargs: Any) -> Any:
    """What a function that factorizes gives for stand-ins; of large matrices it looks as of small ones, in no time.

    Large lengths become small ones in the same order, and what has one of these in the result is as long as they were.
    """
    large = sorted({n for x in args if _is_one(x) for n in x.shape if n > _SMALL})
    short = {n: _SMALL + 1 + k for k, n in enumerate(large)}

    def small(x: Any) -> Any:
        if not _is_one(x):
            return x
        return np.ascontiguousarray(stand_in(np.empty([short.get(n) or n for n in x.shape], x.dtype).view(StandIn)))

    try:
        return _resized(function(*map(small, args), **kwargs), {k: n for n, k in short.items()})
    except Exception:  # in the words for these lengths; or the result has others
        return function(*map(stand_in, args), **kwargs)


def _is_one(x: Any) -> bool:
    """Whether an operand is an array; how a factorization looks follows from shapes alone, also of a known one."""
    return isinstance(x, StandIn) or type(x) is np.ndarray


def _resized(found: Any, lengths: dict[int, int]) -> Any:
    if isinstance(found, tuple):
        parts = [_resized(part, lengths) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
    if not isinstance(found, np.ndarray) or not found.ndim:
        return found
    if any(n > _SMALL and n not in lengths for n in found.shape):
        raise LookupError(f"a length of {found.shape} is none of the operands'")
    order = sorted(range(found.ndim), key=lambda axis: -abs(found.strides[axis]))
    packed = untouched(tuple(lengths.get(found.shape[axis], found.shape[axis]) for axis in order), found.dtype)
    return packed.transpose(np.argsort(order))


def distinct(x: Any) -> Any:
    """Instead of an abstract array positive numbers: no two are alike, and no matrix made of them is singular."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(distinct, x))
    if not isinstance(x, (StandIn, np.generic)):
        return x
    count = np.arange(1.0, x.size + 1)
    numbers = count if x.dtype.kind in "biu" else 1 + count * count * 0.6180339887 % 1
    return numbers.astype(x.dtype).reshape(x.shape)[()]


def untouched(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Zeros on addresses of their own, for which a large array takes no memory as long as nobody writes there.

    NumPy's own zeros take memory once the C library has found that the program frees large arrays.
    """
    count = math.prod(shape)
    if count * dtype.itemsize < _LARGE or not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(shape, dtype)
    wanted = -(-count * dtype.itemsize // _LINE) * _LINE
    if wanted > _POOL // 4:
        return np.frombuffer(_mapped(wanted), dtype, count).reshape(shape)
    pool, used = _pool.memory, _pool.used
    if pool is None or used + wanted > _POOL:
        pool, used = _mapped(_POOL), 0
    _pool.memory, _pool.used = pool, used + wanted
    return np.frombuffer(pool, dtype, count, used).reshape(shape)


def _mapped(size: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError) as error:
        raise MemoryError(f"no addresses for an array of {as_text(size)} in a program that is compiled") from error


class _Pool(threading.local):
    """Addresses for the next arrays: a process gets no more than some 65,000 mappings, and a long program has more."""

    memory: mmap.mmap | None = None
    used = 0


_pool = _Pool()
_POOL = 1 << 26
_LINE = 64

_LARGE = 1 << 17
"""Bytes from which on an abstract array asks the system for addresses."""
