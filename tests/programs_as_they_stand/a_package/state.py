"""The model's fields: module-level arrays that the other modules write into."""

import numpy as np

from . import constants

eta = np.zeros(constants.N)
u = np.zeros(constants.N + 1)
eta_old = np.zeros_like(eta)
tendencies = {"eta": np.zeros(constants.N), "u": np.zeros(constants.N + 1)}
steps_taken = 0


def reset(amplitude):
    eta[:] = amplitude * np.exp(-((np.arange(constants.N) - 3.0) ** 2))
    u.fill(0.0)
    eta_old[...] = eta
