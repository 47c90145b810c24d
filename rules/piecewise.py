"""Piecewise polynomials of `scipy.interpolate`, with tracked coefficients, or evaluated at tracked points."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.extend import TrackedObject, is_abstract, is_tracked, needs, refuse, stand_in, without_gradient
from bridge.rules.contractions import as_operand

interpolate = needs("scipy.interpolate")

PPoly = interpolate.PPoly
_REMEDY = "take the plain values of the data with bridge.detach"


def intervals(breaks: Any, x: Any, last: int) -> Any:
    """The number of the interval that each of `x` lies in; what lies beyond the ends counts to the outermost ones."""
    return np.clip(np.searchsorted(breaks, x, side="right") - 1, 0, last)


def in_period(x: Any, first: Any, last: Any) -> Any:
    """`x` moved by periods into the first one."""
    return x - (last - first) * np.floor((x - first) / (last - first))


def laid_out(values: Any, ndim: int, axis: int) -> Any:
    """Values at points of `ndim` axes, with these where the axis of the data was."""
    if axis == 0:
        return values
    order = list(range(values.ndim))
    return np.transpose(values, order[ndim : ndim + axis] + order[:ndim] + order[ndim + axis :])


def spread(x: Any, ndim: int) -> Any:
    """`x` with so many axes of length 1 behind its own."""
    return np.reshape(x, (*x.shape, *(1,) * ndim))


def taken(values: Any, number: Any) -> Any:
    """`np.take(values, number, axis=0)`; NumPy asks `values` alone who answers, and only `number` may be traced."""
    if not is_abstract(number) or is_tracked(values):
        return np.take(values, number, axis=0)
    places = np.reshape(number, (-1, *(1,) * (values.ndim - 1)))
    return np.reshape(np.take_along_axis(values, places, axis=0), (*number.shape, *values.shape[1:]))


def float_points(x: Any) -> Any:
    """Points of evaluation as an array of floats."""
    x = as_operand(x)
    return x if x.dtype.kind == "f" and x.dtype.itemsize == 8 else x.astype(np.float64)


class Piecewise(TrackedObject):
    """A piecewise polynomial: `c` of shape `(order, intervals, ...)`, highest powers first, between the breaks `x`."""

    def __init__(self, c: Any, x: Any, extrapolate: Any, axis: int) -> None:
        self.c, self.x, self.extrapolate, self.axis = c, x, extrapolate, axis

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "place":
            raise AttributeError(name)
        refuse(f"{name} of a piecewise polynomial with tracked coefficients", _REMEDY)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        if nu:
            return self.derivative(nu)(x, 0, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        x = float_points(x)
        points = in_period(x, self.x[0], self.x[-1]) if extrapolate == "periodic" else x
        number = intervals(self.x, points, self.c.shape[1] - 1)
        step = spread(points - taken(self.x, number), self.c.ndim - 2)
        total = taken(self.c[0], number) + 0 * step
        for k in range(1, self.c.shape[0]):
            total = total * step + taken(self.c[k], number)
        if not extrapolate:
            outside = spread((x < self.x[0]) | (x > self.x[-1]), self.c.ndim - 2)
            total = np.where(outside, np.nan, total)
        return laid_out(total, x.ndim, self.axis)

    def derivative(self, nu: int = 1) -> Piecewise:
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c
        for _ in range(nu):
            powers = spread(np.arange(c.shape[0] - 1.0, 0, -1), c.ndim - 1)
            c = c[:-1] * powers if c.shape[0] > 1 else 0 * c
        return Piecewise(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Piecewise:
        if nu <= 0:
            return self.derivative(-nu)
        c = self.c
        for _ in range(nu):
            powers = spread(np.arange(float(c.shape[0]), 0, -1), c.ndim - 1)
            raised = c / powers
            step = spread(np.diff(self.x), c.ndim - 2)
            gained = 0 * step
            for k in range(c.shape[0]):
                gained = (gained + raised[k]) * step
            start = np.concatenate([0 * gained[:1], np.cumsum(gained, axis=0)[:-1]])
            c = np.concatenate([raised, start[None]])
        return Piecewise(c, self.x, False if self.extrapolate == "periodic" else self.extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = self.antiderivative()
        a, b = as_operand(a), as_operand(b)
        if extrapolate != "periodic":
            return whole(b, 0, extrapolate) - whole(a, 0, extrapolate)
        first, last = self.x[0], self.x[-1]
        period = whole(last, 0, True)

        def up_to(x: Any) -> Any:
            return period * np.floor((x - first) / (last - first)) + whole(in_period(x, first, last), 0, True)

        return up_to(b) - up_to(a)


def of_plain(function: Any) -> Piecewise:
    """A piecewise polynomial of SciPy, to be evaluated at tracked points."""
    if not isinstance(function, PPoly):
        refuse(f"a {type(function).__name__} at tracked points", "convert it: PPoly.from_bernstein_basis")
    if function.x[-1] < function.x[0]:
        refuse("a piecewise polynomial of descending breakpoints at tracked points", "reverse them")
    return Piecewise(function.c.copy(), function.x.copy(), function.extrapolate, function.axis)


@stand_in(PPoly.__call__)
def evaluate(function: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    return of_plain(function)(x, nu, extrapolate)


@stand_in(PPoly.integrate)
def integrate(function: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    return of_plain(function).integrate(a, b, extrapolate)


@stand_in(PPoly)
def make(c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Piecewise:
    x = without_gradient(x, "scipy.interpolate.PPoly with tracked breakpoints", "pass bridge.detach(x)")
    if axis:
        c = np.moveaxis(np.moveaxis(c, axis + 1, 0), axis + 1, 1)
    x = np.asarray(x, np.float64)
    if c.ndim < 2 or c.shape[1] != x.size - 1 or not np.all(np.diff(x) > 0):
        raise ValueError(f"coefficients of shape {c.shape} between {x.size} breakpoints, which must increase")
    return Piecewise(c, x, True if extrapolate is None else extrapolate, axis)
