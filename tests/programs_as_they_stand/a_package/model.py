"""The time loop, as functions on the module's state and as a class."""

import numpy as np

from . import constants as c
from . import physics, state
from .operators import dd


def step(dt, wind, drag):
    physics.tendencies(wind, drag)
    state.eta_old[:] = state.eta
    state.eta += dt * state.tendencies["eta"]
    state.u[1:-1] += dt * state.tendencies["u"][1:-1]


def run(wind, drag, amplitude=0.1):
    state.reset(amplitude)
    for _ in range(c.DEFAULTS["steps"]):
        step(c.DEFAULTS["dt"], wind, drag)
    return 100 * (np.sum(state.eta**2) + np.sum((state.eta - state.eta_old) ** 2))


def counted_run(wind):
    state.steps_taken += 1
    result = run(wind, 0.5)
    state.eta = np.zeros(c.N)
    return result


class Ocean:
    wind_pattern = np.sin(np.arange(c.N + 1))

    def __init__(self, **settings):
        self.settings = {**c.DEFAULTS, **settings}
        self.eta = state.eta.copy()
        self.schemes = {"leapfrog": self._leapfrog, "euler": self._euler}

    def _euler(self, before, now, wind):
        return now + self.settings["dt"] * self._rate(now, wind)

    def _leapfrog(self, before, now, wind):
        return before + 2 * self.settings["dt"] * self._rate(now, wind)

    def _rate(self, eta, wind):
        slope = dd(eta)
        return wind * self.wind_pattern[:-1] - c.GRAVITY * 0.1 * (slope[1:] + slope[:-1])

    def __call__(self, wind):
        advance = self.schemes[self.settings["scheme"]]
        before = self.eta * 0
        before[:] = 0.1 * np.arange(c.N)
        now = self._euler(before, before, wind)
        for _ in range(self.settings["steps"]):
            before, now = now, advance(before, now, wind)
        self.eta[...] = now
        return self.eta @ self.eta
