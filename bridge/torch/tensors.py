"""The memory of tensors as arrays, and of arrays as tensors: nothing is copied that both can show."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from bridge.errors import ArgumentError


def is_float(tensor: Any) -> bool:
    """Whether a tensor may carry a gradient."""
    return bool(tensor.is_floating_point() or tensor.is_complex())


def is_numeric(leaf: Any) -> bool:
    """Whether something that a program returns becomes a tensor."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype.kind in "biufc"
    return type(leaf) in (float, complex)


def array_of(tensor: Any, name: str) -> np.ndarray:
    """The memory of a tensor as an array."""
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        lies = f"on {tensor.device}" if tensor.device.type != "cpu" else f"in the layout {tensor.layout}"
        raise ArgumentError(
            f"a tensor of shape {tuple(tensor.shape)} given to {name} is {lies}, and it runs on NumPy arrays",
            remedy="move it: tensor.cpu()" if tensor.device.type != "cpu" else "make it dense: tensor.to_dense()",
        )
    try:
        return tensor.detach().resolve_conj().resolve_neg().numpy()
    except TypeError as error:
        raise ArgumentError(
            f"a tensor of dtype {tensor.dtype}, which NumPy lacks, and shape {tuple(tensor.shape)} given to {name}",
            remedy="convert it: tensor.float()",
        ) from error


def tensor_of(value: Any, name: str) -> Any:
    """A tensor that is the memory of an array, where PyTorch can have it so; else of a copy."""
    array = np.asarray(value)
    native = array.dtype.newbyteorder("=")
    if not (array.flags.writeable and array.flags.forc and array.dtype == native):
        array = np.array(array, native)
    try:
        return torch.from_numpy(array)
    except TypeError as error:
        raise ArgumentError(
            f"{name} returned an array of dtype {array.dtype} and shape {array.shape}: PyTorch has no such dtype",
            remedy="convert it: x.astype(float)",
        ) from error
