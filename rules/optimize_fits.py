"""Least squares: `scipy.optimize` finds the parameters that fit best, and their normal equations give the derivatives.

The parameters are differentiated as a minimiser is (`optimize_minima`): with the full Hessian of the sum of squares,
not Gauss's and Newton's part of it, which is right at fits that are not exact.
"""

from __future__ import annotations

import numpy as np

from bridge.extend import Aside, as_array, as_left, carries_gradient, jacobian, needs, refuse, stand_in
from bridge.rules.optimize_minima import limits, minimiser
from bridge.rules.optimize_results import called_plainly, optimize, refuse_others, result_with

needs("scipy.optimize")

# What a squared residual costs, as SciPy's documentation defines the losses.
_LOSSES = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.where(z <= 1, 1, z)) - 1),
    "cauchy": lambda z: np.log1p(z),
    "arctan": lambda z: np.arctan(z),
}


@stand_in(optimize.least_squares, calls=True)
def least_squares(
    fun, x0, jac="2-point", bounds=(-np.inf, np.inf), method="trf", *positional, loss="linear", f_scale=1.0, args=(),
    kwargs=None, **options,
):  # fmt: skip
    name = "scipy.optimize.least_squares"
    if positional:
        refuse(f"{name} with more than five arguments by position", "give them by name")
    search = Aside(name)
    named = kwargs or {}

    def residuals(x):
        return as_array(fun(x, *args, **named))

    def slopes(x):
        return jac(x, *args, **named)

    given = called_plainly(search, {"f_scale": f_scale, **options})
    found = optimize.least_squares(
        search.plain(residuals),
        search.value_of(x0),
        search.plain(slopes) if callable(jac) else jac,
        search.value_of(bounds),
        method,
        loss=loss,
        **given,
    )
    if not search.tracked and not carries_gradient([bounds, f_scale]):
        return found
    if callable(loss):
        refuse(f"{name} with a function as loss", f"use one of {', '.join(map(repr, _LOSSES))}")

    def cost(x):
        return 0.5 * f_scale**2 * np.sum(_LOSSES[loss]((residuals(x) / f_scale) ** 2))

    passed_on = as_left(search, fun)
    x = minimiser(search, cost, found.x, _sides(bounds, found.x.size))
    if x is found.x:
        return found
    # The gradient of the cost vanishes whatever it depends on; it is a constant where no bound is active.
    result = result_with(found, {"x": x, "fun": residuals(x), "cost": cost(x)}, ("jac", "grad"))
    return passed_on(result, lambda: residuals(x))


def _sides(bounds, size):
    """Lower and upper bounds as two lists, from a pair of them; None where there are none."""
    if isinstance(bounds, optimize.Bounds):
        return limits(bounds, size)
    sides = [list(side) if side.shape else [side[()]] * size for side in map(as_array, bounds)]
    return None if all(np.isinf(limit) for side in sides for limit in side) else sides


@stand_in(optimize.curve_fit, calls=True)
def curve_fit(
    f, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, check_finite=None, bounds=(-np.inf, np.inf),
    method=None, jac=None, *, full_output=False, nan_policy=None, **kwargs,
):  # fmt: skip
    name = "scipy.optimize.curve_fit"
    if nan_policy == "omit":
        refuse(f"{name} with nan_policy='omit'", "leave the points out with a mask: xdata[keep], ydata[keep]")
    search = Aside(name)
    given = search.value_of({"p0": p0, "sigma": sigma, "bounds": bounds})
    popt, pcov, *about = optimize.curve_fit(
        search.plain(f), search.value_of(xdata), search.value_of(ydata), absolute_sigma=absolute_sigma,
        check_finite=check_finite, method=method, jac=search.plain(jac) if callable(jac) else jac,
        full_output=full_output, nan_policy=nan_policy, **given, **kwargs,
    )  # fmt: skip
    search.tracked = search.tracked or carries_gradient([xdata, ydata, sigma, bounds])
    if not search.tracked:
        return (popt, pcov, *about)

    def residuals(parameters):
        apart = as_array(f(as_array(xdata), *parameters)) - as_array(ydata)
        if sigma is None:
            return np.reshape(apart, (-1,))
        scale = as_array(sigma)
        if scale.ndim < 2:
            return np.reshape(apart / scale, (-1,))
        return np.linalg.solve(np.linalg.cholesky(scale), apart)

    def cost(parameters):
        return 0.5 * np.sum(residuals(parameters) ** 2)

    passed_on = as_left(search, f)
    found = minimiser(search, cost, popt, _sides(bounds, popt.size))
    if full_output:
        about[0] = result_with(about[0], {}, ("fvec", "fjac", "qtf", "r"))
    covariance = _covariance(search, residuals, found, pcov, absolute_sigma)
    return passed_on((found, covariance, *about), lambda: residuals(found))


def _covariance(search, residuals, found, pcov, absolute_sigma):
    """The covariance of the parameters, of SciPy's value and with the derivative of `inv(J.T @ J) * s²`."""
    if not np.all(np.isfinite(pcov)):
        return pcov
    slopes = jacobian(residuals, found)
    covariance = np.linalg.inv(np.transpose(slopes) @ slopes)
    surplus = slopes.shape[0] - slopes.shape[1]
    if not absolute_sigma and surplus > 0:
        covariance = covariance * (np.sum(residuals(found) ** 2) / surplus)
    # SciPy's slopes are differences: their rounding belongs to the value.
    return covariance + (pcov - search.value_of(covariance))


refuse_others("leastsq", "use scipy.optimize.least_squares", optimize)
