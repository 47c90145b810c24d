"""The same NumPy source under PyTorch: a duck array whose memory is a functional tensor.

PyTorch has no negative strides, and not every aliasing that NumPy has. Here a root is a cell that holds a
one-dimensional tensor, and an array is a cell with the position of each of its elements in it. Views are
views of the positions, made by NumPy; a write replaces the tensor in the cell (PyTorch's clone), so
PyTorch differentiates a program without mutation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.lib.array_utils import byte_bounds
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

from tests.helpers.finite_differences import wide
from tests.random_programs.program import RandomProgram
from tests.random_programs.torch_functions import FUNCTIONS, UFUNCS


class NotWritten(Exception):
    """The program uses an operation that this twin does not have."""


class Cell:
    """Memory: the current values of a root."""

    def __init__(self, values: torch.Tensor) -> None:
        self.values = values


class TorchArray(NDArrayOperatorsMixin):
    """A tracked array, or (`scalar`) an immutable number as NumPy's full indexing gives."""

    def __init__(self, cell: Cell, positions: np.ndarray, scalar: bool = False) -> None:
        self.cell, self.positions, self.scalar = cell, positions, scalar

    shape = property(lambda self: self.positions.shape)
    ndim = property(lambda self: self.positions.ndim)
    size = property(lambda self: self.positions.size)
    dtype = property(lambda self: np.dtype(float))
    T = property(lambda self: self.rearranged(np.transpose))

    def read(self) -> torch.Tensor:
        return self.cell.values[torch.from_numpy(self.positions.reshape(-1).copy())].reshape(self.shape)

    def write(self, value: Any) -> None:
        values = torch.broadcast_to(tensor(value), self.shape).reshape(-1)
        flat = self.positions.reshape(-1)
        last = flat.size - 1 - np.unique(flat[::-1], return_index=True)[1]
        target = torch.from_numpy(flat[last].copy())
        self.cell.values = self.cell.values.index_put((target,), values[torch.from_numpy(last.copy())])

    def rearranged(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> TorchArray:
        """What `function` makes of the positions: a view if NumPy made one of them, else a copy."""
        positions = function(self.positions, *args, **kwargs)
        if not isinstance(positions, np.ndarray):
            return fresh(self.cell.values[int(positions)], positions)
        if np.shares_memory(positions, self.positions):
            return TorchArray(self.cell, positions)
        return fresh(TorchArray(self.cell, positions).read(), positions)

    def __getitem__(self, key: Any) -> TorchArray:
        return self.rearranged(lambda positions: positions[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        TorchArray(self.cell, np.asarray(self.positions[key])).write(value)

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.read())

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **kwargs: Any) -> Any:
        where = kwargs.pop("where", True)
        if method == "at":
            return _at(ufunc, *inputs)
        function = UFUNCS.get((ufunc.__name__, method))
        if function is None:
            raise NotWritten(f"{ufunc.__name__}.{method}")
        target = out[0] if out else None
        result = function(*(_tensors(x) for x in inputs), **kwargs)
        if result.dtype == torch.bool:
            return result.numpy()
        if target is None or target.scalar:
            return fresh(result, _prototype(getattr(ufunc, method), inputs, kwargs))
        target.write(result if where is True else torch.where(torch.from_numpy(where), result, target.read()))
        return target

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        kwargs = {name: value for name, value in kwargs.items() if name != "like"}
        if func in REARRANGING:
            return args[0].rearranged(func, *args[1:], **kwargs)
        if func in DIRECT:
            return DIRECT[func](*args, **kwargs)
        function = FUNCTIONS.get(func)
        if function is None:
            raise NotWritten(func.__name__)
        target = kwargs.pop("out", None)
        result = function(*(_tensors(x) for x in args), **kwargs)
        if target is None:
            return fresh(result, _prototype(func, args, kwargs))
        target.write(result)
        return target

    @property
    def flat(self) -> Flat:
        return Flat(self)

    def copy(self) -> TorchArray:
        return fresh(self.read(), np.zeros(self.shape))

    def reshape(self, *shape: int) -> TorchArray:
        return self.rearranged(np.reshape, shape)

    def transpose(self, *axes: int) -> TorchArray:
        return self.rearranged(np.transpose, axes)

    def sum(self, **kwargs: Any) -> Any:
        return np.sum(self, **kwargs)

    def mean(self, **kwargs: Any) -> Any:
        return np.mean(self, **kwargs)

    def fill(self, value: Any) -> None:
        self.write(value)

    def flatten(self) -> TorchArray:
        return self.reshape(-1).copy()


class Flat:
    """`a.flat`: the elements of any layout under one number."""

    def __init__(self, array: TorchArray) -> None:
        self.array = array

    def _index(self, key: Any) -> Any:
        return np.unravel_index(np.asarray(key) % self.array.size, self.array.shape)

    def __getitem__(self, key: Any) -> TorchArray:
        return self.array[self._index(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.array[self._index(key)] = value


def fresh(values: torch.Tensor, prototype: Any) -> TorchArray:
    """Memory of its own, in the order of axes of `prototype`; a number if that is not an array."""
    if not isinstance(prototype, np.ndarray):
        return TorchArray(Cell(values.reshape(1)), np.zeros((), int), scalar=True)
    positions = np.empty_like(prototype, dtype=int)
    positions.ravel(order="K")[...] = np.arange(positions.size)
    flat = torch.from_numpy(positions.reshape(-1).copy())
    storage = torch.zeros(positions.size, dtype=torch.float64)
    return TorchArray(Cell(storage.index_put((flat,), values.reshape(-1))), positions)


def argument(x: np.ndarray, leaf: torch.Tensor) -> TorchArray:
    """The array of `leaf`, laid out with the strides of `x`: they decide what aliases."""
    low, high = byte_bounds(x)
    first = (x.__array_interface__["data"][0] - low) // x.itemsize
    places = np.arange((high - low) // x.itemsize)
    strides = [step // x.itemsize * places.itemsize for step in x.strides]
    positions = as_strided(places[first:], x.shape, strides)
    storage = torch.zeros(places.size, dtype=torch.float64)
    flat = torch.from_numpy(positions.reshape(-1).copy())
    return TorchArray(Cell(storage.index_put((flat,), leaf.reshape(-1))), positions)


def tensor(x: Any) -> torch.Tensor:
    """The current values as a tensor in double precision; booleans stay booleans."""
    if isinstance(x, TorchArray):
        return x.read()
    if isinstance(x, torch.Tensor):
        return x
    values = np.array(x, order="C")
    return torch.from_numpy(values if values.dtype == bool else values.astype(float))


def gradient(program: RandomProgram) -> tuple[np.ndarray, ...]:
    """The gradient that PyTorch gives; `NotWritten` where the program has no twin."""
    leaves = [torch.from_numpy(np.array(x, float, order="C")).requires_grad_() for x in program.inputs]
    arguments = [argument(x, leaf) for x, leaf in zip(program.inputs, leaves, strict=True)]
    value = tensor(program.function(np)(*arguments))
    plain = program.function(np)(*(wide(x) for x in program.inputs))
    if abs(float(value.detach()) - float(plain)) > 1e-3 * max(1.0, abs(float(plain))):
        raise NotWritten("a result whose memory order, and so what aliases, is another than NumPy's")
    if not value.requires_grad:
        return tuple(np.zeros(x.shape) for x in program.inputs)
    gradients = torch.autograd.grad(value, leaves, allow_unused=True, materialize_grads=True)
    return tuple(each.numpy() for each in gradients)


def _prototype(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """An array as NumPy's `function` would lay it out: the order of its axes decides what aliases later."""

    def ones(x: Any) -> Any:
        if isinstance(x, TorchArray):
            return 1.0 if x.scalar else np.ones_like(x.positions, dtype=float)
        return [ones(each) for each in x] if isinstance(x, list | tuple) else x

    return function(*(ones(x) for x in args), **kwargs)


def _tensors(x: Any) -> Any:
    if isinstance(x, TorchArray | np.ndarray | float | int | bool):
        return tensor(x)
    if isinstance(x, list | tuple) and any(isinstance(each, TorchArray) for each in x):
        return [tensor(each) for each in x]
    return x


def _at(ufunc: np.ufunc, target: TorchArray, index: Any, value: Any) -> None:
    """One element after the other, so that duplicates accumulate."""
    chosen = np.asarray(target.positions[index])
    values = torch.broadcast_to(tensor(value), chosen.shape).reshape(-1)
    function = UFUNCS[ufunc.__name__, "__call__"]
    for position, one in zip(chosen.reshape(-1).tolist(), values, strict=True):
        place = torch.tensor([position])
        old = target.cell.values
        target.cell.values = old.index_put((place,), function(old[place], one.reshape(1)))


def _split(array: TorchArray, parts: int) -> list[TorchArray]:
    return [array.rearranged(lambda positions, k=k: np.split(positions, parts)[k]) for k in range(parts)]


def _put(array: TorchArray, places: list[int], values: Any) -> None:
    array[np.unravel_index(places, array.shape)] = values


def _copyto(target: TorchArray, value: Any, where: Any = True) -> None:
    old = target.read()
    new = torch.broadcast_to(tensor(value), old.shape)
    target.write(new if where is True else torch.where(torch.from_numpy(np.array(where)), new, old))


REARRANGING = {
    np.broadcast_to, np.diagonal, np.expand_dims, np.flip, np.moveaxis, np.ravel, np.repeat, np.roll, np.rot90,
    np.delete, np.swapaxes, np.take, np.take_along_axis, np.tile, np.lib.stride_tricks.sliding_window_view,
}  # fmt: skip
DIRECT: dict[Any, Callable[..., Any]] = {
    np.split: _split,
    np.put: _put,
    np.copyto: _copyto,
    np.array: lambda parts: fresh(torch.stack([tensor(each).reshape(()) for each in parts]), np.zeros(len(parts))),
    np.putmask: lambda a, mask, values: _copyto(a, values, mask),
    np.zeros: lambda shape, dtype=None: fresh(torch.zeros(shape, dtype=torch.float64), np.zeros(shape)),
    np.zeros_like: lambda a: fresh(torch.zeros(a.shape, dtype=torch.float64), a.positions),
    np.empty_like: lambda a: fresh(torch.full(a.shape, torch.nan, dtype=torch.float64), a.positions),
    np.full_like: lambda a, value: fresh(torch.full(a.shape, value, dtype=torch.float64), a.positions),
}
