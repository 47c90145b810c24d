"""PyTorch eager on the CPU, in its own in-place form, with two threads.

A `clone` stands only where autograd otherwise stops with "modified by an inplace operation".
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

# Waiting threads sleep: spinning ones take the second core from whoever is measured next, and on a busy
# machine make PyTorch itself many times slower. Read once, when the library is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch

from benchmarks.peers import Run
from benchmarks.programs import Workload

title = "PyTorch eager"
torch.set_num_threads(2)

Tensor = torch.Tensor


def version() -> str:
    """Version of PyTorch."""
    return str(torch.__version__)


def prepare(workload: Workload) -> Run:
    """Gradient by `torch.autograd.grad`, which accumulates nowhere."""
    inputs = [torch.tensor(array, requires_grad=True) for array in workload.inputs()]
    rest = (*(torch.tensor(array) for array in workload.data()), *workload.settings)
    program = PROGRAMS[workload.program]

    def run() -> Any:
        cotangents = torch.autograd.grad(program(*inputs, *rest), inputs)
        if workload.learning_rate:
            with torch.no_grad():
                for parameter, cotangent in zip(inputs, cotangents, strict=True):
                    parameter.sub_(cotangent, alpha=workload.learning_rate)
        return cotangents

    return run


def writes(x: Tensor, count: int, width: int) -> Tensor:
    """Slice writes; the slice of `b` that the product saves must be cloned."""
    b = torch.zeros_like(x)
    for i in range(count):
        s = (i * width) % (len(x) - 2 * width)
        saved = b[s : s + width].clone()
        b[s + width : s + 2 * width] = torch.sin(x[s : s + width]) * saved + x[s + width : s + 2 * width]
    return b.sum()


def heat(u: Tensor, steps: int) -> Tensor:
    """Heat equation; `add_` on the view spares the second write that `+=` on an index makes."""
    u = u.clone()
    for _ in range(steps):
        u[1:-1].add_(0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]))
    return (u**2).sum()


def recurrence(x: Tensor) -> Tensor:
    """Element writes; nothing saved is overwritten, because sums save nothing and tanh saves its own output."""
    y = x.clone()
    for i in range(1, len(y)):
        y[i] = torch.tanh(y[i] + 0.5 * y[i - 1])
    return y.sum()


def digits(
    w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, images: Tensor, labels: Tensor, hidden: Tensor, logits: Tensor
) -> Tensor:
    """The network; autograd refuses `out=`, so the buffers stay unused and the sums are in place."""
    activation = (images @ w1).add_(b1).tanh_()
    scores = (activation @ w2).add_(b2)
    scores -= scores.detach().amax(dim=1, keepdim=True)
    chosen = scores[torch.arange(len(labels)), labels]
    return (scores.exp_().sum(dim=1).log() - chosen).mean()


def chain(x: Tensor, steps: int) -> Tensor:
    """The same five operations a step."""
    y = x.clone()
    for _ in range(steps):
        y = torch.sin(y * x)
        y += x
        y *= 0.5
        y = y + x
    return y.sum()


def scalars(x: Tensor, steps: int) -> Tensor:
    """The same recurrence on 0-d tensors."""
    s = x[0]
    for i in range(steps):
        s = torch.tanh(s + 0.5 * x[i % 8])
    return s


PROGRAMS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (writes, heat, recurrence, digits, chain, scalars)
}
