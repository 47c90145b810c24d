"""HIPS autograd. It has no in-place writes: a program that writes is rewritten with `concatenate` and `stack`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as distribution_version
from typing import Any

import autograd
import autograd.numpy as np

from benchmarks.peers import CannotRun, Run
from benchmarks.programs import Workload

title = "HIPS autograd"

KEPT_BYTES = 5e8


def version() -> str:
    """Version of the distribution."""
    return distribution_version("autograd")


def prepare(workload: Workload) -> Run:
    """Gradient with respect to every input; slice writes only where the copies that it keeps fit in memory."""
    inputs = workload.inputs()
    rest = (*workload.data(), *workload.settings)
    if workload.program == "writes" and inputs[0].nbytes * workload.settings[0] > KEPT_BYTES:
        raise CannotRun("no in-place writes: it would keep a copy of the array for each write")
    gradient = autograd.grad(PROGRAMS[workload.program], argnum=tuple(range(len(inputs))))

    def run() -> Any:
        cotangents = gradient(*inputs, *rest)
        if workload.learning_rate:
            for parameter, cotangent in zip(inputs, cotangents, strict=True):
                parameter -= workload.learning_rate * cotangent
        return cotangents

    return run


def writes(x: Any, count: int, width: int) -> Any:
    """Each slice write makes a new array of three pieces."""
    b = np.zeros(len(x))
    for i in range(count):
        s = (i * width) % (len(x) - 2 * width)
        new = np.sin(x[s : s + width]) * b[s : s + width] + x[s + width : s + 2 * width]
        b = np.concatenate([b[: s + width], new, b[s + 2 * width :]])
    return np.sum(b)


def heat(u: Any, steps: int) -> Any:
    """Each step makes a new array."""
    for _ in range(steps):
        inner = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = np.concatenate([u[:1], inner, u[-1:]])
    return np.sum(u**2)


def recurrence(x: Any) -> Any:
    """The elements are collected in a list and stacked at the end."""
    y = [x[0]]
    for i in range(1, len(x)):
        y.append(np.tanh(x[i] + 0.5 * y[-1]))
    return np.sum(np.stack(y))


def digits(w1: Any, b1: Any, w2: Any, b2: Any, images: Any, labels: Any, hidden: Any, logits: Any) -> Any:
    """The network without buffers; the shift by the maximum has no gradient and needs none."""
    scores = np.tanh(images @ w1 + b1) @ w2 + b2
    scores = scores - np.max(autograd.tracer.getval(scores), axis=1, keepdims=True)
    chosen = scores[np.arange(len(labels)), labels]
    return np.mean(np.log(np.sum(np.exp(scores), axis=1)) - chosen)


def chain(x: Any, steps: int) -> Any:
    """The same five operations a step, each making a new array."""
    y = x
    for _ in range(steps):
        y = np.sin(y * x)
        y = y + x
        y = y * 0.5
        y = y + x
    return np.sum(y)


def scalars(x: Any, steps: int) -> Any:
    """The same recurrence on autograd's scalars."""
    s = x[0]
    for i in range(steps):
        s = np.tanh(s + 0.5 * x[i % 8])
    return s


PROGRAMS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (writes, heat, recurrence, digits, chain, scalars)
}
