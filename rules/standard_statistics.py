"""`statistics` of tracked numbers: values are those of Python's functions, to the bit."""

from __future__ import annotations

import numpy as np

from bridge.extend import Aside, as_array, is_tracked, needs, refuse, stand_in
from bridge.rules.python_numbers import python_number, with_value

statistics = needs("statistics")


def _statistic(function, composition):
    """A function of `statistics`: of its value, with the derivative of a composition of NumPy's functions."""

    @stand_in(function, calls=True)
    def found(*args, **kwargs):
        args = tuple(list(one) if hasattr(one, "__next__") else one for one in args)
        if not any(map(is_tracked, (*args, *kwargs.values()))):
            return function(*args, **kwargs)
        plain = Aside(f"statistics.{function.__name__}").value_of
        value = function(*map(plain, args), **{name: plain(one) for name, one in kwargs.items()})
        tracked = composition(*map(_data, args), **{name: _data(one) for name, one in kwargs.items()})
        shifted = with_value(tracked, value)
        return python_number(shifted) if type(value) is float else shifted


def _data(values):
    """The numbers as one array; anything else as it is."""
    return as_array(list(values)) if isinstance(values, (list, tuple, set, dict, range)) else values


def _weighted_mean(data, weights=None):
    return np.mean(data) if weights is None else np.sum(data * weights) / np.sum(weights)


def _harmonic_mean(data, weights=None):
    weights = np.ones(data.shape) if weights is None else weights
    return np.sum(weights) / np.sum(weights / data)


def _variance(data, xbar=None, surplus=1):
    # The mean that is given is taken for the data's own: its derivative is that of the sum of squares in it.
    centre = np.mean(data) if xbar is None else xbar
    return np.sum((data - centre) ** 2) / (data.shape[0] - surplus)


def _population_variance(data, mu=None):
    return _variance(data, mu, 0)


def _at_rank(data, rank):
    return np.sort(data)[rank]


def _covariance(x, y):
    return np.sum((x - np.mean(x)) * (y - np.mean(y))) / (x.shape[0] - 1)


def _correlation(x, y, *, method="linear"):
    if method != "linear":
        refuse(f"statistics.correlation(method={method!r}) of tracked numbers", 'use method="linear"')
    return _covariance(x, y) / np.sqrt(_covariance(x, x) * _covariance(y, y))


for _function, _composition in (
    (statistics.mean, np.mean),
    (statistics.fmean, _weighted_mean),
    (statistics.geometric_mean, lambda data: np.exp(np.mean(np.log(data)))),
    (statistics.harmonic_mean, _harmonic_mean),
    (statistics.median, np.median),
    (statistics.median_low, lambda data: _at_rank(data, (data.shape[0] - 1) // 2)),
    (statistics.median_high, lambda data: _at_rank(data, data.shape[0] // 2)),
    (statistics.variance, _variance),
    (statistics.pvariance, _population_variance),
    (statistics.stdev, lambda data, xbar=None: np.sqrt(_variance(data, xbar))),
    (statistics.pstdev, lambda data, mu=None: np.sqrt(_population_variance(data, mu))),
    (statistics.covariance, _covariance),
    (statistics.correlation, _correlation),
):
    _statistic(_function, _composition)


def _refused(name):
    def refused(*args, **kwargs):
        refuse(f"statistics.{name} of a tracked number", "use NumPy's function (np.quantile, np.polyfit)")

    return refused


for _one in (statistics.mode, statistics.multimode, statistics.quantiles, statistics.median_grouped,
             statistics.linear_regression, statistics.NormalDist):  # fmt: skip
    stand_in(_one)(_refused(_one.__name__))
