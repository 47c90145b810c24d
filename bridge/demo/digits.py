"""Handwritten digits: a network that computes in reused buffers, trained by SciPy's L-BFGS with our gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from sklearn.datasets import load_digits

import bridge
from bridge.demo.proof import Proof, prove

PIXELS, UNITS, CLASSES = 64, 32, 10
SHAPES = ((PIXELS, UNITS), (UNITS,), (UNITS, CLASSES), (CLASSES,))
WEIGHT_DECAY = 1e-3
TEST_IMAGES = 360
SEED = 0


@dataclass(frozen=True)
class Images:
    """Pixels in [0, 1], one image of 8 x 8 pixels a row, and the digit that each shows."""

    pixels: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class Trained:
    """A finished training: the loss and the test accuracy after each step, and the last step's predictions."""

    losses: list[float]
    accuracies: list[float]
    test: Images
    predictions: np.ndarray
    proof: Proof

    @property
    def accuracy(self) -> float:
        """Share of the test images that are recognised."""
        return float(np.mean(self.predictions == self.test.labels))


def layers(parameters: np.ndarray) -> list[np.ndarray]:
    """Views of the flat parameter vector: weights and bias of the hidden layer, then of the output layer."""
    views, start = [], 0
    for shape in SHAPES:
        stop = start + math.prod(shape)
        views.append(parameters[start:stop].reshape(shape))
        start = stop
    return views


def write_log_probabilities(parameters: np.ndarray, pixels: np.ndarray, hidden: np.ndarray, scores: np.ndarray) -> None:
    """Fill `scores` with each image's log-probability of each digit; `hidden` is overwritten too.

    `hidden` has shape (images, UNITS), `scores` (images, CLASSES); what they held before does not matter.
    """
    weights_in, bias_in, weights_out, bias_out = layers(parameters)
    np.matmul(pixels, weights_in, out=hidden)
    hidden += bias_in
    np.tanh(hidden, out=hidden)
    np.matmul(hidden, weights_out, out=scores)
    scores += bias_out
    scores -= np.max(scores, axis=1, keepdims=True)
    scores -= np.log(np.sum(np.exp(scores), axis=1, keepdims=True))


def loss(parameters: np.ndarray, pixels: np.ndarray, labels: np.ndarray, hidden: np.ndarray, scores: np.ndarray) -> Any:
    """Mean cross-entropy of the labels, plus weight decay."""
    write_log_probabilities(parameters, pixels, hidden, scores)
    weights_in, _, weights_out, _ = layers(parameters)
    decay = 0.5 * WEIGHT_DECAY * (np.sum(weights_in**2) + np.sum(weights_out**2))
    return decay - np.mean(scores[np.arange(len(labels)), labels])


def buffers(images: Images) -> tuple[np.ndarray, np.ndarray]:
    """Memory for the hidden units and the scores of `images`."""
    count = len(images.labels)
    return np.empty((count, UNITS)), np.empty((count, CLASSES))


def load() -> tuple[Images, Images]:
    """Load the training and the test images of scikit-learn's digits, always split the same way."""
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(SEED).permutation(len(labels))
    test, training = order[:TEST_IMAGES], order[TEST_IMAGES:]
    return Images(pixels[training] / 16, labels[training]), Images(pixels[test] / 16, labels[test])


def initial_parameters() -> np.ndarray:
    """Small random weights and zero biases, as one flat vector."""
    rng = np.random.default_rng(SEED)
    parameters = np.zeros(sum(math.prod(shape) for shape in SHAPES))
    for view in layers(parameters):
        if view.ndim == 2:
            view += rng.normal(scale=1 / math.sqrt(len(view)), size=view.shape)
    return parameters


def train(steps: int, on_step: Callable[[], None]) -> Trained:
    """Train for `steps` steps of L-BFGS at most, calling `on_step` after each."""
    training, test = load()
    arguments = (training.pixels, training.labels, *buffers(training))
    hidden, scores = buffers(test)
    losses: list[float] = []
    accuracies: list[float] = []

    def predict(parameters: np.ndarray) -> np.ndarray:
        write_log_probabilities(parameters, test.pixels, hidden, scores)
        return np.argmax(scores, axis=1)

    def record(intermediate_result: OptimizeResult) -> None:
        losses.append(float(intermediate_result.fun))
        accuracies.append(float(np.mean(predict(intermediate_result.x) == test.labels)))
        on_step()

    start = initial_parameters()
    best = minimize(
        bridge.value_and_grad(loss),
        start,
        args=arguments,
        jac=True,
        method="L-BFGS-B",
        callback=record,
        options={"maxiter": steps},
    )
    return Trained(losses, accuracies, test, predict(best.x), prove(loss, start, *arguments))
