"""`lstm`: the loss of a recurrent network that predicts the bits of the next character of a text.

All of its matrices are diagonal. The state is overwritten from character to character.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import bridge
from benchmarks.gradbench.evaluation import Eval, Function, Input


def sigmoid(x: np.ndarray) -> Any:
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + np.exp(-x))


def advance(weight: np.ndarray, bias: np.ndarray, hidden: np.ndarray, cell: np.ndarray, given: np.ndarray) -> None:
    """One layer, one character: `hidden` and `cell` become their next values.

    The rows of `weight` and `bias` are the gates that forget, let in and let out, and the change of the cell.
    """
    entering = sigmoid(hidden * weight[1] + bias[1])
    change = np.tanh(hidden * weight[3] + bias[3])
    cell *= sigmoid(given * weight[0] + bias[0])
    cell += entering * change
    hidden[:] = sigmoid(given * weight[2] + bias[2]) * np.tanh(cell)


def objective(main: np.ndarray, extra: np.ndarray, state: np.ndarray, sequence: np.ndarray) -> Any:
    """The mean of the negative log likelihood over all characters but the first, and over their bits."""
    layers, (length, bits) = len(main) // 2, sequence.shape
    gates = main.reshape(layers, 2, 4, bits)
    memory = state.copy()
    loss = 0.0
    for t in range(length - 1):
        given = sequence[t] * extra[0]
        for layer in range(layers):
            hidden = memory[2 * layer]
            advance(gates[layer, 0], gates[layer, 1], hidden, memory[2 * layer + 1], given)
            given = hidden
        predicted = given * extra[1] + extra[2]
        predicted -= np.log(np.sum(np.exp(predicted)) + 2.0)
        loss -= np.sum(sequence[t + 1] * predicted)
    return loss / ((length - 1) * bits)


jacobian = bridge.grad(objective, argnums=("main", "extra"), engine="native")


def prepare(given: Input) -> tuple[np.ndarray, ...]:
    """The parameters, the state at the beginning, and the text."""
    names = ("main_params", "extra_params", "state", "sequence")
    return tuple(np.array(given[name], dtype=float) for name in names)


def told(gradients: tuple[np.ndarray, np.ndarray]) -> list[float]:
    """Both gradients, row by row, as one list."""
    return [number for each in gradients for number in each.ravel().tolist()]


EVAL = Eval(prepare, {"objective": Function(objective, float), "jacobian": Function(jacobian, told)})
