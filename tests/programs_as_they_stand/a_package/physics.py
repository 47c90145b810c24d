"""Tendencies; imports the model late, as the model imports it."""

from . import state
from .constants import DEPTH, GRAVITY
from .operators import *


def forcing(wind, position):
    from .model import Ocean

    return wind * Ocean.wind_pattern[position]


def tendencies(wind, drag):
    flux = state.u * mean_to_faces(DEPTH + state.eta)
    state.tendencies["eta"][:] = -divergence(flux)
    dd(state.eta, out=state.tendencies["u"])
    state.tendencies["u"] *= -GRAVITY
    state.tendencies["u"] -= drag * state.u
    for k in range(2, 5):
        state.tendencies["u"][k] += forcing(wind, k)
