"""What the files of this folder share: a number, weights, an object with an array, and how a factory is recorded."""

import numpy as np

from tests.programs_as_they_stand.record import Field

X = 0.7
W = np.array([1.0, 2.0, 3.0, 4.0])
program = Field("ways")


class Thing:
    pass


def thing():
    made = Thing()
    made.u = np.ones(4)
    return made


def write(a, x):
    a[1:3] = x * W[1:3]
    a[0] = 1 + x**2


def way(make=None, **options):
    """Record a factory: what it captured is made before the differentiated call."""
    if make is None:
        return lambda one: way(one, **options)
    program(make.__name__.replace("_", " "), make, X, **options)
    return make
