"""PyTorch eager, in place: the programs of `benchmarks.peers.pytorch`, and the recurrence of this benchmark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.peers import Run, pytorch
from benchmarks.programs import Workload

Tensor = torch.Tensor


def recurrence(x: Tensor) -> Tensor:
    """Element writes; the sine saves the element that it reads, so this one is cloned."""
    b = torch.zeros_like(x)
    b[0] = x[-1]
    for i in range(len(x) - 1):
        last = b[i].clone()
        b[i + 1] = torch.sin(last) * x[i] + last
    return b.sum()


PROGRAMS: dict[str, Callable[..., Tensor]] = {
    "writes": pytorch.writes,
    "heat": pytorch.heat,
    "digits": pytorch.digits,
    "recurrence": recurrence,
}


def prepare(workload: Workload) -> Run:
    """Gradient by `torch.autograd.grad`, which accumulates nowhere; a small one first starts its threads."""
    small = torch.ones(8, requires_grad=True)
    torch.autograd.grad(pytorch.heat(small, 1), small)
    inputs = [torch.tensor(array, requires_grad=True) for array in workload.inputs()]
    rest = (*(torch.tensor(array) for array in workload.data()), *workload.settings)
    program = PROGRAMS[workload.program]

    def run() -> Any:
        return torch.autograd.grad(program(*inputs, *rest), inputs)

    return run
