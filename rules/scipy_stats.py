"""Densities and distribution functions of `scipy.stats`, for the distributions that have formulas here.

`scipy.stats.norm.logpdf(x, loc, scale)` and `scipy.stats.norm(loc, scale).logpdf(x)`: what stands in is of the methods
that all distributions share; it finds the formulas by the class of the distribution. Where an argument lies outside of
the support, or a parameter is not valid, the value is the one that SciPy gives, and the gradient there is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bridge.extend import TrackedObject, as_array, needs, refuse, stand_in

stats = needs("scipy.stats")

_REMEDY = "write it with NumPy and scipy.special, or let the parameters go with bridge.detach"


def positive(*shapes: Any) -> Any:
    """Whether all shape parameters are positive."""
    found = True
    for shape in shapes:
        found = found & (shape > 0)
    return found


@dataclass(frozen=True)
class Formulas:
    """A distribution with location 0 and scale 1; each formula takes a number inside the support, and the shapes.

    `inside` is a number in the support for all valid shapes, or makes one of them. What is not given follows from
    the others: pdf from logpdf, sf from cdf, logarithms from these.
    """

    log_density: Callable[..., Any]
    cdf: Callable[..., Any] | None = None
    sf: Callable[..., Any] | None = None
    logcdf: Callable[..., Any] | None = None
    logsf: Callable[..., Any] | None = None
    ppf: Callable[..., Any] | None = None
    isf: Callable[..., Any] | None = None
    mean: Callable[..., Any] | None = None
    var: Callable[..., Any] | None = None
    inside: Any = 0.5
    valid: Callable[..., Any] = positive

    def find(self, name: str) -> Callable[..., Any] | None:
        """The formula of this name, made of others if it is not given."""
        given = getattr(self, name, None)
        cdf, sf, ppf = self.cdf, self.sf, self.ppf
        if given is not None:
            return given
        if name == "sf" and cdf is not None:
            return lambda x, *shapes: 1 - cdf(x, *shapes)
        if name == "logcdf" and cdf is not None:
            return lambda x, *shapes: np.log(cdf(x, *shapes))
        if name == "logsf" and (cdf is not None or sf is not None):
            survival = self.find("sf")
            return lambda x, *shapes: np.log(survival(x, *shapes))
        if name == "isf" and ppf is not None:
            return lambda q, *shapes: ppf(1 - q, *shapes)
        return None


FORMULAS: dict[type, Formulas] = {}


def formulas(distribution: Any, **given: Any) -> None:
    """Enter the formulas of a distribution."""
    FORMULAS[type(distribution)] = Formulas(**given)


def _formula(distribution: Any, name: str) -> tuple[Formulas, Callable[..., Any]]:
    found = FORMULAS.get(type(distribution))
    formula = None if found is None else found.find(name)
    if found is None or formula is None:
        refuse(f"scipy.stats.{distribution.name}.{name} of tracked numbers has no derivative here", _REMEDY)
    return found, formula


def _double(x: Any) -> Any:
    x = as_array(x)
    return x if x.dtype == np.float64 else x.astype(np.float64)


def _parsed(distribution: Any, x: Any, args: Any, kwds: Any) -> tuple[Any, tuple[Any, ...], Any, Any]:
    """A method's arguments as arrays of float64: the number, the shapes, location and scale."""
    shapes, loc, scale = distribution._parse_args(*args, **kwds)
    return _double(x), tuple(map(_double, shapes)), _double(loc), _double(scale)


def _within(x: Any, low: Any, high: Any, ends: bool) -> Any:
    return (low <= x) & (x <= high) if ends else (low < x) & (x < high)


def _number_if_scalar(x: Any) -> Any:
    return x[()] if x.ndim == 0 else x


def _chosen(given: Formulas, formula: Any, usable: Any, x: Any, shapes: tuple[Any, ...]) -> Any:
    """The formula where it is `usable`; elsewhere at a harmless number."""
    inside = given.inside(*shapes) if callable(given.inside) else given.inside
    return formula(np.where(usable, x, inside), *shapes)


def _log_density(distribution: Any, x: Any, args: Any, kwds: Any, discrete: bool) -> Any:
    given, formula = _formula(distribution, "log_density")
    x, shapes, loc, scale = _parsed(distribution, x, args, kwds)
    y = x - loc if discrete else (x - loc) / scale
    good = given.valid(*shapes) & (scale > 0)
    ends = type(distribution)._support_mask is not stats.rv_continuous._open_support_mask
    usable = good & _within(y, *distribution._get_support(*shapes), ends)
    if discrete:
        usable = usable & (np.floor(y) == y)
    value = _chosen(given, formula, usable, y, shapes)
    if not discrete:
        value = value - np.log(np.where(scale > 0, scale, 1))
    return np.where(good & ~np.isnan(y), np.where(usable, value, -np.inf), np.nan)


def _of_density(logarithm: bool, discrete: bool) -> Callable[..., Any]:
    def method(distribution, x, *args, **kwds):
        found = _log_density(distribution, x, args, kwds, discrete)
        return _number_if_scalar(found if logarithm else np.exp(found))

    return method


# What a distribution function is below the support and above it.
_BOUNDS = {"cdf": (0.0, 1.0), "sf": (1.0, 0.0), "logcdf": (-np.inf, 0.0), "logsf": (0.0, -np.inf)}


def _of_probability(name: str, discrete: bool) -> Callable[..., Any]:
    def method(distribution, x, *args, **kwds):
        given, formula = _formula(distribution, name)
        x, shapes, loc, scale = _parsed(distribution, x, args, kwds)
        y = x - loc if discrete else (x - loc) / scale
        good = given.valid(*shapes) & (scale > 0)
        low, high = distribution._get_support(*shapes)
        if discrete:
            y = np.where(np.isfinite(y), np.floor(y), y)
            usable = good & (y >= low) & (y < high)
        else:
            usable = good & _within(y, low, high, False)
        below, above = _BOUNDS[name]
        value = np.where(usable, _chosen(given, formula, usable, y, shapes), np.where(y >= high, above, below))
        return _number_if_scalar(np.where(good & ~np.isnan(y), value, np.nan))

    return method


def _of_quantile(name: str) -> Callable[..., Any]:
    def method(distribution, q, *args, **kwds):
        given, formula = _formula(distribution, name)
        q, shapes, loc, scale = _parsed(distribution, q, args, kwds)
        good = given.valid(*shapes) & (scale > 0) & (loc == loc)
        usable = good & (q > 0) & (q < 1)
        value = formula(np.where(usable, q, 0.5), *shapes) * scale + loc
        low, high = (_end(end, loc, scale) for end in distribution._get_support(*shapes))
        first, last = (low, high) if name == "ppf" else (high, low)
        value = np.where(usable, value, np.where(q == 0, first, np.where(q == 1, last, np.nan)))
        return _number_if_scalar(np.where(good, value, np.nan))

    return method


def _end(end: Any, loc: Any, scale: Any) -> Any:
    """An end of the support, at a location and a scale, which do not move an infinite one."""
    infinite = np.isinf(end)
    return np.where(infinite, end, np.where(infinite, 0, end) * scale + loc)


def _of_moment(name: str) -> Callable[..., Any]:
    def method(distribution, *args, **kwds):
        given, formula = _formula(distribution, "mean" if name == "mean" else "var")
        _, shapes, loc, scale = _parsed(distribution, 0, args, kwds)
        good = given.valid(*shapes) & (scale > 0) & (loc == loc)
        value = formula(*shapes)
        value = {"mean": value * scale + loc, "var": value * scale * scale, "std": np.sqrt(value) * scale}[name]
        return _number_if_scalar(np.where(good, value, np.nan))

    return method


def _without_formula(name: str) -> Callable[..., Any]:
    def method(distribution, *args, **kwds):
        label = getattr(distribution, "name", None) or distribution.dist.name
        refuse(f"scipy.stats.{label}.{name} of tracked numbers has no derivative here", _REMEDY)

    return method


_DENSITIES = {"pdf": _of_density(False, False), "logpdf": _of_density(True, False)}
_MASSES = {"pmf": _of_density(False, True), "logpmf": _of_density(True, True)}
_CONTINUOUS = _DENSITIES | {name: _of_probability(name, False) for name in _BOUNDS}
_CONTINUOUS |= {name: _of_quantile(name) for name in ("ppf", "isf")}
_DISCRETE = _MASSES | {name: _of_probability(name, True) for name in _BOUNDS}
_MOMENTS = {name: _of_moment(name) for name in ("mean", "var", "std")}
_REFUSED = ("rvs", "fit", "expect", "interval", "median", "entropy", "moment", "stats", "ppf", "isf")

_GENERIC = stats.rv_continuous.__mro__[1]
_FROZEN = (type(stats.norm()), type(stats.poisson(1)))


class Frozen(TrackedObject):
    """A distribution with parameters of which some are tracked: what `scipy.stats.norm(loc, scale)` gives."""

    def __init__(self, distribution: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
        self.dist, self.args, self.kwds = distribution, args, kwds

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "place":
            raise AttributeError(name)
        methods = _of_distribution(self.dist)
        if name not in methods:
            if hasattr(type(self.dist), name):
                return partial(_without_formula(name), self.dist)
            raise AttributeError(f"a frozen {self.dist.name} has no {name}")
        if name in _MOMENTS:
            return lambda: methods[name](self.dist, *self.args, **self.kwds)
        return lambda x: methods[name](self.dist, x, *self.args, **self.kwds)


def _of_distribution(distribution: Any) -> dict[str, Callable[..., Any]]:
    return _MOMENTS | (_CONTINUOUS if isinstance(distribution, stats.rv_continuous) else _DISCRETE)


def _of_frozen(name: str) -> Callable[..., Any]:
    """The method of SciPy's frozen distributions, whose own parameters are plain numbers."""

    def method(frozen, *args, **kwds):
        found = _of_distribution(frozen.dist).get(name) or _without_formula(name)
        return found(frozen.dist, *args, *frozen.args, **kwds, **frozen.kwds)

    return method


def _register(owner: type, name: str, method: Callable[..., Any]) -> None:
    """Register what stands in for a method of a class, or of those above it."""
    stand_in(getattr(owner, name))(method)


for _owner, _methods in ((stats.rv_continuous, _CONTINUOUS), (stats.rv_discrete, _DISCRETE)):
    for _name in _REFUSED:
        if hasattr(_owner, _name):
            _register(_owner, _name, _without_formula(_name))
    for _name, _method in (_methods | _MOMENTS).items():
        _register(_owner, _name, _method)
for _owner, _methods in zip(_FROZEN, (_CONTINUOUS, _DISCRETE), strict=True):
    for _name in _methods:
        _register(_owner, _name, _of_frozen(_name))
stand_in(_GENERIC.__call__, _GENERIC.freeze)(lambda distribution, *args, **kwds: Frozen(distribution, args, kwds))
