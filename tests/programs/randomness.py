"""Random numbers: the draw is a constant, the noise array may be one buffer, a tracked parameter is refused."""

from __future__ import annotations

import numpy

from bridge.errors import EscapeError
from tests.programs.record import Family

program = Family("random")

VECTOR = [0.4, 0.9, 1.3, 0.7]


@program(VECTOR)
def noise_drawn_into_one_buffer(np, x):
    rng = numpy.random.default_rng(3)
    noise = numpy.empty(4)
    total = 0.0
    for _ in range(3):
        rng.standard_normal(out=noise)
        total = total + np.sum((x + x * noise) ** 2)
    noise.fill(numpy.nan)
    return total


@program(VECTOR)
def dropout_in_place(np, x):
    rng = numpy.random.default_rng(4)
    hidden = np.tanh(x)
    keep = rng.random(4) < 0.6
    hidden *= keep
    hidden /= 0.6
    keep[:] = ~keep
    hidden[keep] += x[keep] ** 2
    return np.sum(hidden * hidden)


@program(VECTOR)
def permutation_and_shuffled_batches(np, x):
    rng = numpy.random.default_rng(5)
    order = numpy.arange(4)
    total = 0.0
    for step in range(3):
        rng.shuffle(order)
        batch = x[order[:2]]
        total = total + np.sum(batch * batch) * (step + 1.0)
    return total


@program(VECTOR)
def reparameterised_normal_with_a_tracked_scale(np, x):
    rng = numpy.random.default_rng(6)
    sample = x[:2] + np.exp(x[2:]) * rng.normal(size=(5, 2))
    return np.mean(np.logaddexp(0.0, sample))


@program(VECTOR)
def metropolis_steers_by_values(np, x):
    rng = numpy.random.default_rng(7)
    state = x.copy()
    for _ in range(6):
        k, jump, threshold = rng.integers(4), rng.normal(), rng.random()
        proposal = state[k] + 0.5 * jump
        if np.exp(state[k] ** 2 - proposal**2) > threshold:
            state[k] = proposal * (1.0 + 0.1 * state[k - 1])
    return np.sum(state * state)


@program(VECTOR, raises=EscapeError)
def tracked_scale_given_to_a_generator(np, x):
    rng = numpy.random.default_rng(8)
    return np.sum(x + rng.normal(0.0, x))
