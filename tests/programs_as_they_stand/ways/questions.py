"""Questions that a program asks of a value's type and shape: each must be answered as for the plain value."""

from collections.abc import Iterable
from numbers import Number, Real

import numpy as np

from tests.programs_as_they_stand.ways.record import way


@way
def what_a_number_is():
    def f(x):
        answers = [
            isinstance(x, float),
            isinstance(x, (int, float, complex)) and not isinstance(x, (bool, np.ndarray)),
            isinstance(x, Number) and isinstance(x, Real),
            type(x) is float and type(x) in (int, float) and type(x).__name__ == "float",
            issubclass(type(x), float),
            np.ndim(x) == 0 and np.shape(x) == () and np.isscalar(x) and not np.iterable(x),
            not hasattr(x, "__len__") and not callable(x),
            type(x * 2) is float and type(-x) is float and type(x**2) is float and type(abs(x)) is float,
            type(max(x, 0.1)) is float and isinstance(x * 2.0, float) and not isinstance(x * 2.0, np.floating),
        ]
        return x**2 if all(answers) else x

    return f


@way
def what_an_array_is():
    def f(x):
        y = x * np.ones(3)
        answers = [
            isinstance(y, np.ndarray) and isinstance(y, (list, np.ndarray)) and isinstance(y, Iterable),
            not isinstance(y, (float, int, np.generic)),
            type(y) is np.ndarray and type(y) == type(np.ones(2)),
            type(y).__name__ == "ndarray" and issubclass(type(y), np.ndarray),
            y.flags["C_CONTIGUOUS"] and y.flags.c_contiguous and y.flags.writeable and not np.isfortran(y),
            (y.nbytes, y.itemsize, y.strides, y.ndim, y.size, len(y)) == (24, 8, (8,), 1, 3, 3),
            np.iterable(y) and not np.isscalar(y) and np.isrealobj(y) and not np.iscomplexobj(y),
            np.issubdtype(y.dtype, np.floating) and y.dtype == float and y.dtype is np.dtype(float),
            type((y > 0).all()) is np.bool_ and (y > 0).dtype == bool and isinstance(y.argmax(), np.integer),
            hasattr(y, "__array__") and hasattr(y, "__len__") and callable(y.sum) and "sum" in dir(y),
        ]
        return (y**2).sum() if all(answers) else x

    return f


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


@way
def the_class_of_a_number():
    def f(x):
        return x**2 if x.__class__ is float and x.__class__.__name__ == "float" else x

    return f


@way
def the_class_of_an_array():
    def f(x):
        y = x * np.ones(3)
        return (y**2).sum() if y.__class__ is np.ndarray else x

    return f


@way
def whether_a_number_can_be_iterated():
    def f(x):
        return sum(x) if isinstance(x, Iterable) else x**2

    return f
