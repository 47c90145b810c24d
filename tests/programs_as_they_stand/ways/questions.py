"""Questions that a program asks of a value's type and shape: each must be answered as for the plain value."""

from collections.abc import Iterable
from numbers import Number, Real

import numpy as np

from tests.programs_as_they_stand.ways.record import way


@way
def what_an_element_is():
    def f(x):
        y = x * np.ones(3)
        answers = [
            isinstance(y[0], np.float64) and isinstance(y[0], np.generic) and isinstance(y[0], float),
            isinstance(y.sum(), np.floating) and type(y.sum()) == np.float64 and np.isscalar(y[0]),
            type(np.sin(x)) is np.float64 and type(x + y[0]) is np.float64,
            y[0].dtype == float and y[0].shape == () and y[0].ndim == 0,
            type(float(y[0])) is float and y[0] == y[1] and y[0] in y.tolist(),
        ]
        return y[0] ** 2 if all(answers) else x

    return f
