"""Roots of functions, and fixed points: `scipy.optimize` finds them, and their equation gives their derivatives.

SciPy's iteration runs on plain values. The root `x` of `f(x, p) = 0` then has the derivative `-inv(df/dx) @ df/dp` with
respect to everything tracked that `f` reaches: `args`, captured variables, attributes. Starting values and brackets,
on which a root does not depend, are constants.
"""

from __future__ import annotations

import numpy as np

from bridge.extend import Aside, as_array, needs, refuse, solved, stand_in
from bridge.rules.optimize_results import bound, called_plainly, optimize, result_with
from bridge.rules.python_numbers import python_number

needs("scipy.optimize")


def _like(plain, root):
    """A root as SciPy hands out the `plain` one: a number of Python's or of NumPy's."""
    return python_number(root) if type(plain) is float and hasattr(root, "place") else root


def _bracketing(solver):
    name = f"scipy.optimize.{solver.__name__}"

    @stand_in(solver, calls=True)
    def bracketed(f, a, b, args=(), *positional, full_output=False, **options):
        search = Aside(name)
        residual = bound(f, args)
        if len(positional) > _FULL_OUTPUT[solver.__name__]:
            refuse(f"{name} with full_output by position", "give it by name: full_output=True")
        given = search.value_of((a, b))
        found, report = solver(search.plain(residual), *given, (), *positional, full_output=True, **options)
        root = _like(found, solved(search, residual, found))
        if not full_output:
            return root
        report.root = root
        return root, report

    return bracketed


# The number of arguments between `args` and `full_output`.
_FULL_OUTPUT = {"brentq": 3, "brenth": 3, "bisect": 3, "ridder": 3, "toms748": 4}
for _solver in (optimize.brentq, optimize.brenth, optimize.bisect, optimize.ridder, optimize.toms748):
    _bracketing(_solver)


@stand_in(optimize.newton, calls=True)
def newton(
    func, x0, fprime=None, args=(), tol=1.48e-8, maxiter=50, fprime2=None, x1=None, rtol=0.0, full_output=False,
    disp=True,
):  # fmt: skip
    name = "scipy.optimize.newton"
    search = Aside(name)
    residual = bound(func, args)
    given = called_plainly(search, {"x0": x0, "tol": tol, "x1": x1, "rtol": rtol})
    slopes = {
        key: None if slope is None else search.plain(bound(slope, args))
        for key, slope in (("fprime", fprime), ("fprime2", fprime2))
    }
    found = optimize.newton(
        search.plain(residual), maxiter=maxiter, full_output=full_output, disp=disp, **slopes, **given
    )
    x = found[0] if full_output else found
    _refuse_complex(name, x)
    root = solved(search, residual, x, elementwise=np.size(x) > 1)
    root = _like(x, root)
    if not full_output:
        return root
    if np.size(x) > 1:
        return type(found)(root, *found[1:])
    found[1].root = root
    return root, found[1]


@stand_in(optimize.root_scalar, calls=True)
def root_scalar(f, args=(), method=None, bracket=None, fprime=None, fprime2=None, x0=None, x1=None, **options):
    search = Aside("scipy.optimize.root_scalar")
    together = bool(fprime) and not callable(fprime)
    whole = bound(f, args)
    residual = (lambda x: whole(x)[0]) if together else whole
    slopes = {
        key: search.plain(bound(slope, args)) if callable(slope) else slope
        for key, slope in (("fprime", fprime), ("fprime2", fprime2))
    }
    given = search.value_of({"bracket": bracket, "x0": x0, "x1": x1, **options})
    report = optimize.root_scalar(search.plain(whole), method=method, **slopes, **given)
    _refuse_complex(search.name, report.root)
    report.root = _like(report.root, solved(search, residual, report.root))
    return report


@stand_in(optimize.root, calls=True)
def root(fun, x0, args=(), method="hybr", jac=None, tol=None, callback=None, options=None):
    search = Aside("scipy.optimize.root")
    whole = bound(fun, args)
    together = bool(jac) and not callable(jac)
    residual = (lambda x: whole(x)[0]) if together else whole
    found = optimize.root(
        search.plain(whole),
        search.value_of(x0),
        method=method,
        jac=search.plain(bound(jac, args)) if callable(jac) else jac,
        tol=tol,
        callback=None if callback is None else search.plain(callback),
        options=None if options is None else called_plainly(search, options),
    )
    x = solved(search, residual, found.x)
    # At the root the function is zero whatever it depends on: `fun` is a constant.
    return found if x is found.x else result_with(found, {"x": x}, ("fjac", "qtf", "r", "jac"))


@stand_in(optimize.fsolve, calls=True)
def fsolve(func, x0, args=(), fprime=None, full_output=0, *positional, **options):
    search = Aside("scipy.optimize.fsolve")
    residual = bound(func, args)
    slope = None if fprime is None else search.plain(bound(fprime, args))
    options = called_plainly(search, options)
    found, about, flag, message = optimize.fsolve(
        search.plain(residual), search.value_of(x0), (), slope, 1, *positional, **options
    )
    x = solved(search, lambda at: np.reshape(as_array(residual(at)), (-1,)), found)
    if not full_output:
        return x
    return x, about if x is found else result_with(about, {}, ("fjac", "qtf", "r")), flag, message


@stand_in(optimize.fixed_point, calls=True)
def fixed_point(func, x0, args=(), xtol=1e-8, maxiter=500, method="del2"):
    search = Aside("scipy.optimize.fixed_point")
    image = bound(func, args)
    found = optimize.fixed_point(search.plain(image), search.value_of(x0), xtol=xtol, maxiter=maxiter, method=method)
    return solved(search, lambda x: x - as_array(image(x)), found[()])


def _refuse_complex(name, x):
    if np.iscomplexobj(x):
        refuse(
            f"{name} found the complex root {x}, whose derivative is not computed",
            "solve for its real and imaginary part with scipy.optimize.root",
        )
