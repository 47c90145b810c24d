"""NumPy's functions in PyTorch, as far as random programs use them; operands arrive as tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

Tensor = torch.Tensor


def _reduced(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """NumPy's spelling of a reduction: `axis` and `keepdims`, everything by default."""

    def run(x: Tensor, axis: int | None = None, keepdims: bool = False, dtype: Any = None) -> Tensor:
        return function(x.reshape(-1), dim=0) if axis is None else function(x, dim=axis, keepdim=keepdims)

    return run


def _sum(x: Tensor, axis: int | None = None, keepdims: bool = False, where: Any = None, initial: float = 0.0) -> Tensor:
    kept = x if where is None else torch.where(torch.from_numpy(where), x, 0.0)
    return _reduced(torch.sum)(kept, axis, keepdims) + initial


def _pad(x: Tensor, width: Tensor, mode: str) -> Tensor:
    if mode == "constant":
        return torch.nn.functional.pad(x, (int(width), int(width)) * x.ndim)
    for axis, length in enumerate(x.shape):
        places = np.pad(np.arange(length), int(width), mode=mode)  # type: ignore[call-overload]
        x = torch.index_select(x, axis, torch.from_numpy(places))
    return x


def _convolve(a: Tensor, b: Tensor) -> Tensor:
    products = torch.flip(torch.outer(a, b), [1])
    last = len(b) - 1
    return torch.stack([torch.diagonal(products, offset=last - k).sum() for k in range(len(a) + last)])


def _accumulated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def run(x: Tensor, axis: int = 0, dtype: Any = None) -> Tensor:
        return function(x, dim=axis)

    return run


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return a * b if a.ndim == 0 or b.ndim == 0 else torch.matmul(a, b)


def _where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch.where(condition, a, b)


def _einsum(subscripts: str, *operands: Tensor) -> Tensor:
    return torch.einsum(subscripts, *operands)


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return torch.outer(a, b)


UFUNCS: dict[tuple[str, str], Callable[..., Tensor]] = {
    ("add", "__call__"): torch.add,
    ("subtract", "__call__"): torch.subtract,
    ("multiply", "__call__"): torch.multiply,
    ("divide", "__call__"): torch.divide,
    ("power", "__call__"): torch.pow,
    ("matmul", "__call__"): torch.matmul,
    ("greater", "__call__"): torch.gt,
    ("less", "__call__"): torch.lt,
    ("add", "reduce"): _reduced(torch.sum),
    ("add", "accumulate"): _accumulated(torch.cumsum),
    ("multiply", "outer"): _outer,
    ("subtract", "outer"): lambda a, b: a.reshape(a.shape + (1,) * b.ndim) - b,
}
UFUNCS |= {
    (name, "__call__"): getattr(torch, name)
    for name in ("sin", "cos", "tanh", "exp", "expm1", "log", "sqrt", "square", "arctan", "negative", "positive")
}
FUNCTIONS: dict[Any, Callable[..., Tensor]] = {
    np.sum: _sum,
    np.mean: _reduced(torch.mean),
    np.prod: _reduced(torch.prod),
    np.cumsum: _accumulated(torch.cumsum),
    np.cumprod: _accumulated(torch.cumprod),
    np.diff: lambda x, axis=-1: torch.diff(x, dim=axis),
    np.concatenate: lambda parts, axis=0: torch.concatenate(parts, dim=axis),
    np.stack: lambda parts, axis=0: torch.stack(parts, dim=axis),
    np.where: _where,
    np.pad: _pad,
    np.triu: torch.triu,
    np.convolve: _convolve,
    np.append: lambda a, b: torch.cat([a.reshape(-1), b.reshape(-1)]),
    np.trapezoid: lambda x, dx, axis: torch.trapezoid(x, dx=dx, dim=axis),
    np.einsum: _einsum,
    np.dot: _dot,
    np.outer: _outer,
}
